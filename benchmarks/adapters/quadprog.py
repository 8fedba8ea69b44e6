"""quadprog: the dual active-set method, for constraints Cᵀx ≥ b."""

import numpy as np
import quadprog

from benchmarks.data import quadratic


class QuadraticProgram:
    def prepare(self, X: np.ndarray, y: np.ndarray) -> None:
        self.P, self.q = quadratic(X.shape[1])
        self.C, self.b = np.ascontiguousarray(-X.T), -y

    def fit(self, X: np.ndarray, y: np.ndarray) -> "QuadraticProgram":
        x, _, _, (steps, _), _, _ = quadprog.solve_qp(self.P, -self.q, self.C, self.b)
        self.answer_ = {"x": x, "n_iter": int(steps)}
        return self
