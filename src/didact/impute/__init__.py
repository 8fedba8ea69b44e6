"""Filling in missing values: scikit-learn's imputers, as they are.

>>> import numpy as np
>>> from didact.impute import SimpleImputer
>>> SimpleImputer(strategy="median").fit_transform(np.array([[1.0], [np.nan], [3.0]])).ravel()
array([1., 2., 3.])
"""

from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer

__all__ = ["KNNImputer", "MissingIndicator", "SimpleImputer"]
