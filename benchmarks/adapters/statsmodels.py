"""statsmodels: generalised linear models, and locally weighted regression."""

import numpy as np
import statsmodels.api as sm


class GLM:
    """Iteratively reweighted least squares, with a constant column in front and the log link."""

    def __init__(self, family: str, tol: float = 1e-8):
        self.family, self.tol = family, tol

    def fit(self, X: np.ndarray, y: np.ndarray) -> "GLM":
        family = getattr(sm.families, self.family)(link=sm.families.links.Log())
        result = sm.GLM(y, sm.add_constant(X, has_constant="add"), family=family).fit(tol=self.tol)
        self.intercept_, self.coef_ = result.params[0], result.params[1:]
        self.n_iter_ = result.fit_history["iteration"]
        return self


class Lowess:
    """Values at the data's own points, in their order, every one of them computed (delta = 0)."""

    def __init__(self, span: float, rounds: int):
        self.span, self.rounds = span, rounds

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Lowess":
        lowess = sm.nonparametric.lowess
        values = lowess(y, X[:, 0], frac=self.span, it=self.rounds, delta=0.0, return_sorted=False)
        self.answer_ = {"values": values}
        return self
