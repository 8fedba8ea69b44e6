"""What can go wrong, as types: bad input, bad parameters, an extra that is not installed."""

import importlib
from types import ModuleType


class DidactError(Exception):
    """Base of all errors that didact raises on purpose."""


class InputError(DidactError, ValueError):
    """The data cannot be used as they are; the message names the column or row and what to do."""


class ParameterError(DidactError, ValueError):
    """A hyper-parameter, or a combination of them, has no meaning."""


class MissingExtra(DidactError, ImportError):
    """An optional library is needed and not installed."""


def need(module: str, extra: str) -> ModuleType:
    """Import an optional library, or say in one sentence how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtra(
            f"This needs the package '{package}', which is not installed: pip install 'didact[{extra}]'."
        ) from error
