"""Kernels as immutable values with an algebra, on vectors and on strings; Gram matrices, gradients, validity."""

from didact.kernels.algebra import Fixed, Power, Product, Scaled, Sum, Warped
from didact.kernels.base import Kernel, is_positive_semidefinite
from didact.kernels.cosines import Cosines
from didact.kernels.products import Constant, Linear, Polynomial, Sigmoid, White, Wiener
from didact.kernels.radial import RBF, Laplacian, Matern, Periodic, RationalQuadratic
from didact.kernels.strings import StringSpectrum, StringSubsequence, WordOverlap
from didact.kernels.tabulated import Tabulated

__all__ = [
    "RBF",
    "Constant",
    "Cosines",
    "Fixed",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Periodic",
    "Polynomial",
    "Power",
    "Product",
    "RationalQuadratic",
    "Scaled",
    "Sigmoid",
    "StringSpectrum",
    "StringSubsequence",
    "Sum",
    "Tabulated",
    "Warped",
    "White",
    "Wiener",
    "WordOverlap",
    "is_positive_semidefinite",
]
