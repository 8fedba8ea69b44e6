"""Splits, cross-validation, searches, learning curves: scikit-learn's, handed on."""

from typing import TYPE_CHECKING

from didact.core.handed_on import hand_on

if TYPE_CHECKING:
    from sklearn.model_selection import *  # noqa: F403

__getattr__, __dir__ = hand_on(__name__)
