"""Support vector machines."""

from didact.svm.classification import SVC
from didact.svm.one_class import OneClassSVM
from didact.svm.regression import SVR

__all__ = ["SVC", "SVR", "OneClassSVM"]
