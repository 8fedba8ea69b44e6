"""Several classes from classifiers for two: one against the rest, pairs of classes, and error-correcting codes."""

from sklearn.multiclass import OneVsRestClassifier

from didact.core.handed_on import hand_on
from didact.multiclass.codes import code_matrix
from didact.multiclass.one_vs_one import OneVsOneClassifier
from didact.multiclass.output_code import OutputCodeClassifier

__all__ = ["OneVsOneClassifier", "OneVsRestClassifier", "OutputCodeClassifier", "code_matrix"]
__getattr__, __dir__ = hand_on(__name__)
