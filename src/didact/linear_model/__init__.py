"""Linear models: least squares, ridge, generalized linear models, logistic regression."""

from didact.linear_model.linear_regression import LinearRegression
from didact.linear_model.logistic import LogisticRegression
from didact.linear_model.ridge import Ridge, ridge_bias_covariance

__all__ = ["LinearRegression", "LogisticRegression", "Ridge", "ridge_bias_covariance"]
