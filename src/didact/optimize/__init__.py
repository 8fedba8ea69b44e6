"""Optimisation: functions with and without constraints, least squares, linear and quadratic programs."""

from didact.engines.constrained.kkt import KKTResidual, Multipliers
from didact.engines.loop.line_search import Armijo, Fixed, StrongWolfe, WeakWolfe
from didact.engines.loop.result import Result
from didact.optimize.check_gradient import GradientCheck, check_gradient
from didact.optimize.kkt import kkt_residual
from didact.optimize.least_squares import least_squares
from didact.optimize.linear_program import linear_program
from didact.optimize.minimize import minimize
from didact.optimize.minimize_constrained import minimize_constrained
from didact.optimize.quadratic_program import quadratic_program
from didact.optimize.trace import Trace

__all__ = [
    "Armijo",
    "Fixed",
    "GradientCheck",
    "KKTResidual",
    "Multipliers",
    "Result",
    "StrongWolfe",
    "Trace",
    "WeakWolfe",
    "check_gradient",
    "kkt_residual",
    "least_squares",
    "linear_program",
    "minimize",
    "minimize_constrained",
    "quadratic_program",
]
