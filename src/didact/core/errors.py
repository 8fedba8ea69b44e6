"""Types of errors: bad input, bad parameters, an optional library that is not installed."""

import importlib
from types import ModuleType


class DidactError(Exception):
    """Base of all errors that didact raises on purpose."""


class InputError(DidactError, ValueError):
    """The data cannot be used as they are; the message names the column or row and what to do."""


class ParameterError(DidactError, ValueError):
    """A hyper-parameter, or a combination of hyper-parameters, is invalid."""


class MissingExtra(DidactError, ImportError):
    """An optional library is needed but not installed."""


def need(module: str, extra: str) -> ModuleType:
    """Import an optional library, or raise an error that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtra(
            f"This needs the package '{package}', which is not installed: pip install 'didact[{extra}]'."
        ) from error
