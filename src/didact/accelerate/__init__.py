"""Run programs that were written for scikit-learn on didact's models, unchanged.

``python -m didact.accelerate script.py`` is all that it takes; in a program, call `enable` before the names are
imported, since ``from sklearn.linear_model import Ridge`` keeps the class that it finds.

>>> import didact.accelerate
>>> with didact.accelerate.accelerated():
...     from sklearn.linear_model import Ridge
...
...     model = Ridge(alpha=2.0).fit([[-1.0], [1.0]], [-2.0, 2.0])
>>> didact.accelerate.runs_here(model)
True
"""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from didact.accelerate.names import MODULES

__all__ = ["accelerated", "disable", "enable", "runs_here"]

_kept: dict[str, Any] = {}  # scikit-learn's own, while ours stand in their place


def enable() -> None:
    """Put our classes into scikit-learn's public modules, for all imports from now on.

    A class imported before stays scikit-learn's own; so do the ones that scikit-learn uses inside itself.

    >>> import didact.accelerate, sklearn.linear_model
    >>> didact.accelerate.enable()
    >>> didact.accelerate.runs_here(sklearn.linear_model.Ridge().fit([[0.0], [1.0]], [0.0, 1.0]))
    True
    >>> didact.accelerate.disable()
    """
    from didact.accelerate import proxies

    for name, module in MODULES.items():
        package = importlib.import_module(f"sklearn.{module}")
        if name not in _kept:
            proxy = getattr(proxies, name)
            _kept[name] = getattr(package, name)
            setattr(package, name, proxy)


def disable() -> None:
    """Put scikit-learn's own classes back; models made in between keep computing where they did.

    >>> import didact.accelerate
    >>> didact.accelerate.enable()
    >>> didact.accelerate.disable()
    >>> from sklearn.linear_model import Ridge
    >>> Ridge.__module__
    'sklearn.linear_model._ridge'
    """
    while _kept:
        name, own = _kept.popitem()
        setattr(importlib.import_module(f"sklearn.{MODULES[name]}"), name, own)


@contextmanager
def accelerated() -> Iterator[None]:
    """A ``with`` block in which imports from scikit-learn find our classes.

    >>> import didact.accelerate
    >>> with didact.accelerate.accelerated():
    ...     from sklearn.naive_bayes import GaussianNB
    >>> GaussianNB.__module__
    'didact.accelerate.proxies'
    """
    outermost = not _kept
    enable()
    try:
        yield
    finally:
        if outermost:
            disable()


def runs_here(model: Any) -> bool:
    """Whether a fitted model computes with didact: False where scikit-learn's own class made the fit.

    >>> from sklearn.linear_model import Ridge
    >>> from didact.accelerate import runs_here
    >>> runs_here(Ridge().fit([[0.0], [1.0]], [0.0, 1.0]))
    False
    """
    from didact.accelerate.proxies import INNER
    from didact.core.estimator import Estimator

    return isinstance(model, Estimator) or INNER in vars(model)
