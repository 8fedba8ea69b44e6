"""Whether a kernel is one: looked at on some of the fitted rows, and told to the user."""

import warnings
from collections.abc import Callable
from typing import Any

from didact.core.backend import to_numpy
from didact.core.errors import users_level
from didact.core.typing import AnyArray
from didact.kernels import RBF, Linear, is_positive_semidefinite

SOME = 200  # rows on which a kernel is looked at
NEGATIVE = 1e-6  # of the largest value: what rounding may do to eigenvalues, and to symmetry


def warn_indefinite(model: Any, kernel: Any, values: Callable[[], AnyArray]) -> None:
    """Say that the kernel is none, if its values (n, n) have a negative eigenvalue on the first rows."""
    if isinstance(kernel, (RBF, Linear)) or is_positive_semidefinite(to_numpy(values()[:SOME, :SOME]), tol=NEGATIVE):
        return
    warnings.warn(
        f"{type(model).__name__}: the kernel is not positive semidefinite on the fitted rows, so that the problem is "
        "not convex and what was found need not be the best: take another kernel, or other parameters of it.",
        stacklevel=users_level(),
    )
