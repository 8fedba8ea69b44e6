"""scikit-learn's kernel objects, as they are: the processes here compute with `didact.kernels` of the same values."""

from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    ExpSineSquared,
    Hyperparameter,
    Kernel,
    Matern,
    PairwiseKernel,
    Product,
    RationalQuadratic,
    Sum,
    WhiteKernel,
)

__all__ = [
    "RBF",
    "CompoundKernel",
    "ConstantKernel",
    "DotProduct",
    "ExpSineSquared",
    "Exponentiation",
    "Hyperparameter",
    "Kernel",
    "Matern",
    "PairwiseKernel",
    "Product",
    "RationalQuadratic",
    "Sum",
    "WhiteKernel",
]
