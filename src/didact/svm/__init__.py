"""Support vector machines."""

from didact.svm.classification import SVC
from didact.svm.linear_classification import LinearSVC
from didact.svm.linear_regression import LinearSVR
from didact.svm.one_class import OneClassSVM
from didact.svm.regression import SVR

__all__ = ["SVC", "SVR", "LinearSVC", "LinearSVR", "OneClassSVM"]
