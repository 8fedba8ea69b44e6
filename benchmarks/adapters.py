"""Peers that do not have scikit-learn's ``fit``, given it; what the adapter does is part of the timed fit."""

import numpy as np
import statsmodels.api as sm


class StatsmodelsGLM:
    """statsmodels' GLM by iteratively reweighted least squares, with a constant column in front and the log link."""

    def __init__(self, family: str, tol: float = 1e-8):
        self.family, self.tol = family, tol

    def fit(self, X: np.ndarray, y: np.ndarray) -> "StatsmodelsGLM":
        family = getattr(sm.families, self.family)(link=sm.families.links.Log())
        result = sm.GLM(y, sm.add_constant(X, has_constant="add"), family=family).fit(tol=self.tol)
        self.intercept_, self.coef_ = result.params[0], result.params[1:]
        self.n_iter_ = result.fit_history["iteration"]
        return self
