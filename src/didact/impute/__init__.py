"""Filling in missing values: scikit-learn's imputers, as they are.

>>> import numpy as np
>>> from didact.impute import SimpleImputer
>>> SimpleImputer(strategy="median").fit_transform(np.array([[1.0], [np.nan], [3.0]])).ravel()
array([1., 2., 3.])
"""

from typing import TYPE_CHECKING

from didact.core.handed_on import hand_on

if TYPE_CHECKING:
    from sklearn.impute import *  # noqa: F403

__getattr__, __dir__ = hand_on(__name__)
