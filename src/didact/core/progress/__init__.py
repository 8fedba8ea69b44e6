"""Progress of iterative fits, on scikit-learn's callback protocol: reports, early stopping and a plain log.

An estimator opens `FitProgress` around its solver and passes it `report`. All callbacks that the user has set, on the
model or on a search or pipeline around it, are then called after each iteration and may stop the fit.
"""

from didact.core.progress.early_stopping import EarlyStopping
from didact.core.progress.fit import FitProgress
from didact.core.progress.log import ProgressLog

__all__ = ["EarlyStopping", "FitProgress", "ProgressLog"]
