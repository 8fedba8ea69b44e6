"""Models with a kernel, with what their answers are compared by: the objective, computed anew from the model."""

import importlib
from typing import Any

import numpy as np

from benchmarks import data

TILE = 1000


def made(path: str, **options: Any) -> Any:
    module, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(module), name)(**options)


def quadratic_form(V: np.ndarray, beta: np.ndarray, gamma: float) -> float:
    """βᵀKβ for the Gaussian kernel exp(−γ|x − z|²), in tiles."""
    squares, total = np.einsum("ij,ij->i", V, V), 0.0
    for a in range(0, len(V), TILE):
        part = slice(a, a + TILE)
        distance = np.maximum(squares[part, None] + squares - 2.0 * V[part] @ V.T, 0.0)
        total += float(beta[part] @ (np.exp(-gamma * distance) @ beta))
    return total


class Machine:
    """A support vector machine with gamma='scale' and one decision."""

    def __init__(self, path: str, **options: Any):
        self.model = made(path, **options)

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Machine":
        self.X, self.y = X, y
        self.model.fit(X) if "OneClass" in type(self.model).__name__ else self.model.fit(X, y)
        return self

    @property
    def answer_(self) -> dict[str, Any]:
        """The objective of the dual."""
        beta = np.asarray(self.model.dual_coef_, np.float64).ravel()
        rows = self.X[np.asarray(self.model.support_)]
        value = 0.5 * quadratic_form(rows, beta, 1.0 / (self.X.shape[1] * self.X.var()))
        if hasattr(self.model, "classes_"):
            value -= np.abs(beta).sum()
        elif "OneClass" not in type(self.model).__name__:
            value += self.model.epsilon * np.abs(beta).sum() - self.y[np.asarray(self.model.support_)] @ beta
        return {"objective": value, "n_support": len(beta)}


class Predictions:
    """Many rows that are predicted by a machine that is fitted before."""

    def __init__(self, path: str, queries: int, **options: Any):
        self.model, self.queries = made(path, **options), queries

    def prepare(self, X: np.ndarray, y: np.ndarray) -> None:
        self.Q = data.waves(np.random.default_rng([data.SEED, X.shape[1], data.HELD]), self.queries, X.shape[1])[0]
        self.model.fit(X, y)

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Predictions":
        self.model.predict(self.Q)
        return self

    @property
    def answer_(self) -> dict[str, Any]:
        """Decision values of the first queries."""
        return {"values": self.model.decision_function(self.Q[:1000])}


class OneHot:
    """A classifier of columns some of which, by number, are categories; the others are brought to unit variance."""

    def __init__(self, path: str, categorical: list[int], **options: Any):
        self.model, self.categorical = made(path, **options), categorical

    def prepare(self, X: np.ndarray, y: np.ndarray) -> None:
        from sklearn.compose import ColumnTransformer
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        rest = [j for j in range(X.shape[1]) if j not in self.categorical]
        hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        self.columns = ColumnTransformer([("n", StandardScaler(), rest), ("c", hot, self.categorical)])
        self.X = self.columns.fit_transform(X)

    def fit(self, X: np.ndarray, y: np.ndarray) -> "OneHot":
        self.model.fit(self.X, y)
        return self

    def predict(self, X: np.ndarray) -> Any:
        return self.model.predict(self.columns.transform(X))


class Linear:
    """A linear machine with the squared hinge and a constant column."""

    def __init__(self, path: str, **options: Any):
        self.model = made(path, **options)

    def fit(self, X: Any, y: np.ndarray) -> "Linear":
        self.X, self.y = X, y
        self.model.fit(X, y)
        return self

    @property
    def answer_(self) -> dict[str, Any]:
        """The objective of the primal."""
        w, b = np.ravel(self.model.coef_), float(np.ravel(self.model.intercept_)[0])
        slack = np.maximum(0.0, 1.0 - (2.0 * self.y - 1.0) * (self.X @ w + b))
        return {"objective": 0.5 * (w @ w + b * b) + self.model.C * float(slack @ slack), "n_iter": self.model.n_iter_}


class Joint:
    """A linear machine of all classes jointly (Crammer and Singer) with a constant column."""

    def __init__(self, path: str, **options: Any):
        self.model = made(path, multi_class="crammer_singer", **options)

    def fit(self, X: Any, y: np.ndarray) -> "Joint":
        self.X, self.y = X, y
        self.model.fit(X, y)
        return self

    @property
    def answer_(self) -> dict[str, Any]:
        """The objective of the primal."""
        W, b, own = self.model.coef_, self.model.intercept_, np.searchsorted(self.model.classes_, self.y)
        values, rows = self.X @ W.T + b, np.arange(len(own))
        true = values[rows, own].copy()
        values += 1.0
        values[rows, own] -= 1.0
        loss = self.model.C * float((values.max(axis=1) - true).sum())
        return {"objective": 0.5 * float((W**2).sum() + b @ b) + loss, "n_iter": int(self.model.n_iter_)}


class Folds:
    """scikit-learn's kernel ridge regression, with the penalty chosen by a grid over five folds."""

    def __init__(self, alphas: list[float], gamma: float):
        from sklearn.kernel_ridge import KernelRidge
        from sklearn.model_selection import GridSearchCV

        self.model = GridSearchCV(KernelRidge(kernel="rbf", gamma=gamma), {"alpha": alphas}, cv=5)

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Folds":
        self.model.fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> Any:
        return self.model.predict(X)
