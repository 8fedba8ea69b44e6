"""Losses: the cost of predicting z where y is true, with gradient and curvature in z.

Each is an immutable value with its parameters as fields; solvers call `value_grad_hess(y, z)`, compiled loops the
scalars `value1` and `grad1`. y has the dtype of z (the softmax loss also takes class codes), results have it, too, and
arguments are not modified. Every array form costs a few passes over the rows: O(n).
"""

from didact.parts.losses.classification import Logistic, Softmax, SquaredLogistic, SquaredSoftmax
from didact.parts.losses.foreign import as_loss
from didact.parts.losses.log_link import Gamma, Poisson, Tweedie
from didact.parts.losses.margin import ExponentialLoss, Hinge, ModifiedHuber, Perceptron, SquaredHinge
from didact.parts.losses.regression import (
    Absolute,
    EpsilonInsensitive,
    HalfSquared,
    Huber,
    Quantile,
    SquaredEpsilonInsensitive,
)
from didact.parts.noun import Loss

__all__ = [
    "Absolute",
    "EpsilonInsensitive",
    "ExponentialLoss",
    "Gamma",
    "HalfSquared",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "ModifiedHuber",
    "Perceptron",
    "Poisson",
    "Quantile",
    "Softmax",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "SquaredLogistic",
    "SquaredSoftmax",
    "Tweedie",
    "as_loss",
]
