"""Optimisation: functions of several variables, nonlinear least squares, and a check of gradients."""

from didact.engines.line_search import Armijo, Fixed, StrongWolfe, WeakWolfe
from didact.engines.result import Result
from didact.optimize.check_gradient import GradientCheck, check_gradient
from didact.optimize.least_squares import least_squares
from didact.optimize.minimize import minimize
from didact.optimize.trace import Trace

__all__ = [
    "Armijo",
    "Fixed",
    "GradientCheck",
    "Result",
    "StrongWolfe",
    "Trace",
    "WeakWolfe",
    "check_gradient",
    "least_squares",
    "minimize",
]
