"""Callbacks of scikit-learn's estimators, handed on; `didact.EarlyStopping` and `ProgressLog` are ours."""

from typing import TYPE_CHECKING

from didact.core.handed_on import hand_on

if TYPE_CHECKING:
    from sklearn.callback import *  # noqa: F403

__getattr__, __dir__ = hand_on(__name__)
