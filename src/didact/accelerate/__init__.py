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

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from didact.accelerate.imports import put_back, replace, watch

__all__ = ["accelerated", "disable", "enable", "runs_here"]


def enable() -> None:
    """Put our classes into scikit-learn's public modules, into those not yet imported when they are.

    A class imported before stays scikit-learn's own; so do the ones that scikit-learn uses inside itself.

    >>> import didact.accelerate, sklearn.linear_model
    >>> didact.accelerate.enable()
    >>> didact.accelerate.runs_here(sklearn.linear_model.Ridge().fit([[0.0], [1.0]], [0.0, 1.0]))
    True
    >>> didact.accelerate.disable()
    """
    replace()
    if watch not in sys.meta_path:
        sys.meta_path.insert(0, watch)


def disable() -> None:
    """Put scikit-learn's own classes back; models made in between keep computing where they did.

    >>> import didact.accelerate
    >>> didact.accelerate.enable()
    >>> didact.accelerate.disable()
    >>> from sklearn.linear_model import Ridge
    >>> Ridge.__module__
    'sklearn.linear_model._ridge'
    """
    if watch in sys.meta_path:
        sys.meta_path.remove(watch)
    put_back()


@contextmanager
def accelerated() -> Iterator[None]:
    """A ``with`` block in which imports from scikit-learn find our classes.

    >>> import didact.accelerate
    >>> with didact.accelerate.accelerated():
    ...     from sklearn.naive_bayes import GaussianNB
    >>> GaussianNB.__module__
    'didact.accelerate.proxies'
    """
    outermost = watch not in sys.meta_path
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
