"""Linear models: least squares, ridge, generalized linear models, logistic regression."""

from didact.linear_model.glm import GammaRegressor, GeneralizedLinearRegressor, PoissonRegressor, TweedieRegressor
from didact.linear_model.glm_cv import GeneralizedLinearRegressorCV
from didact.linear_model.linear_regression import LinearRegression
from didact.linear_model.logistic import LogisticRegression
from didact.linear_model.logistic_cv import LogisticRegressionCV
from didact.linear_model.ridge import Ridge, ridge_bias_covariance
from didact.linear_model.ridge_cv import RidgeCV

__all__ = [
    "GammaRegressor",
    "GeneralizedLinearRegressor",
    "GeneralizedLinearRegressorCV",
    "LinearRegression",
    "LogisticRegression",
    "LogisticRegressionCV",
    "PoissonRegressor",
    "Ridge",
    "RidgeCV",
    "TweedieRegressor",
    "ridge_bias_covariance",
]
