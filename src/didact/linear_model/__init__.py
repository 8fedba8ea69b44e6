"""Linear models: least squares, ridge, generalized linear models, logistic regression."""

from didact.core.handed_on import hand_on
from didact.linear_model.bayesian import BayesianLinearRegression
from didact.linear_model.generalized_least_squares import GeneralizedLeastSquares
from didact.linear_model.glm import GammaRegressor, GeneralizedLinearRegressor, PoissonRegressor, TweedieRegressor
from didact.linear_model.glm_cv import GeneralizedLinearRegressorCV
from didact.linear_model.hebbian import HebbianLayer
from didact.linear_model.huber import HuberRegressor
from didact.linear_model.lasso import ElasticNet, Lasso
from didact.linear_model.lasso_cv import ElasticNetCV, LassoCV
from didact.linear_model.lasso_path import enet_path, lasso_path
from didact.linear_model.least_squares_classifier import LeastSquaresClassifier
from didact.linear_model.linear_regression import LinearRegression
from didact.linear_model.locally_weighted import LocallyWeightedRegression
from didact.linear_model.logistic import LogisticRegression
from didact.linear_model.logistic_cv import LogisticRegressionCV
from didact.linear_model.multi_task import MultiTaskElasticNet, MultiTaskElasticNetCV, MultiTaskLasso, MultiTaskLassoCV
from didact.linear_model.neurons import McCullochPittsNeuron
from didact.linear_model.nonlinear import NonlinearRegressor
from didact.linear_model.perceptron import Perceptron
from didact.linear_model.quantile import QuantileRegressor
from didact.linear_model.ridge import Ridge, ridge_bias_covariance
from didact.linear_model.ridge_classifier import RidgeClassifier, RidgeClassifierCV
from didact.linear_model.ridge_cv import RidgeCV
from didact.linear_model.sgd_classifier import SGDClassifier
from didact.linear_model.sgd_regressor import SGDRegressor
from didact.linear_model.total_least_squares import TotalLeastSquares

__all__ = [
    "BayesianLinearRegression",
    "ElasticNet",
    "ElasticNetCV",
    "GammaRegressor",
    "GeneralizedLeastSquares",
    "GeneralizedLinearRegressor",
    "GeneralizedLinearRegressorCV",
    "HebbianLayer",
    "HuberRegressor",
    "Lasso",
    "LassoCV",
    "LeastSquaresClassifier",
    "LinearRegression",
    "LocallyWeightedRegression",
    "LogisticRegression",
    "LogisticRegressionCV",
    "McCullochPittsNeuron",
    "MultiTaskElasticNet",
    "MultiTaskElasticNetCV",
    "MultiTaskLasso",
    "MultiTaskLassoCV",
    "NonlinearRegressor",
    "Perceptron",
    "PoissonRegressor",
    "QuantileRegressor",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "SGDClassifier",
    "SGDRegressor",
    "TotalLeastSquares",
    "TweedieRegressor",
    "enet_path",
    "lasso_path",
    "ridge_bias_covariance",
]
__getattr__, __dir__ = hand_on(__name__)
