"""Support vector machines, and other models with a kernel."""

from didact.core.handed_on import hand_on
from didact.svm.classification import SVC
from didact.svm.kernel_logistic import KernelLogisticRegression
from didact.svm.kernel_perceptron import KernelPerceptron
from didact.svm.kernel_sgd import KernelSGDRegressor
from didact.svm.least_squares import LSSVC
from didact.svm.linear_classification import LinearSVC
from didact.svm.linear_regression import LinearSVR
from didact.svm.one_class import OneClassSVM
from didact.svm.regression import SVR

__all__ = [
    "LSSVC",
    "SVC",
    "SVR",
    "KernelLogisticRegression",
    "KernelPerceptron",
    "KernelSGDRegressor",
    "LinearSVC",
    "LinearSVR",
    "OneClassSVM",
]
__getattr__, __dir__ = hand_on(__name__)
