"""Types of errors: bad input, bad parameters, an optional library that is not installed."""

import importlib
import sys
from types import ModuleType

from numpy.linalg import LinAlgError


class DidactError(Exception):
    """Base of all errors that didact raises on purpose."""


class InputError(DidactError, ValueError):
    """The data cannot be used as they are; the message names the column or row and what to do."""


class ParameterError(DidactError, ValueError):
    """A hyper-parameter, or a combination of hyper-parameters, is invalid."""


class NotCovered(ParameterError, NotImplementedError):
    """A combination of hyper-parameters that could have a meaning and has none here."""


class Malformed(InputError):
    """Data whose parts contradict each other, as indices outside a sparse matrix: to follow them ends the process."""


class Singular(InputError, LinAlgError):
    """A matrix that has to be inverted is singular; scikit-learn's programs catch NumPy's `LinAlgError`."""


class Disconnected(InputError, RuntimeError):
    """A graph of neighbours falls into parts that nothing connects; scikit-learn raises a `RuntimeError`."""


class WrongType(InputError, TypeError):
    """The data are of a kind that cannot be used here at all."""


class MissingExtra(DidactError, ImportError):
    """An optional library is needed but not installed."""


def users_level() -> int:
    """The `stacklevel` of a warning that its caller raises, for it to point at the line of the user's own code."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ("didact", "sklearn"):
        frame, level = frame.f_back, level + 1
    return level


def need(module: str, extra: str) -> ModuleType:
    """Import an optional library, or raise an error that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtra(
            f"This needs the package '{package}', which is not installed: pip install 'didact[{extra}]'."
        ) from error
