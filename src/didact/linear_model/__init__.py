"""Linear models: least squares, ridge, generalized linear models, logistic regression."""

from didact.linear_model.glm import GammaRegressor, GeneralizedLinearRegressor, PoissonRegressor, TweedieRegressor
from didact.linear_model.linear_regression import LinearRegression
from didact.linear_model.logistic import LogisticRegression
from didact.linear_model.ridge import Ridge, ridge_bias_covariance

__all__ = [
    "GammaRegressor",
    "GeneralizedLinearRegressor",
    "LinearRegression",
    "LogisticRegression",
    "PoissonRegressor",
    "Ridge",
    "TweedieRegressor",
    "ridge_bias_covariance",
]
