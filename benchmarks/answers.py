"""Did the libraries find the same answer? Objectives in float64, and the distance of each answer from the best one.

With z = X w + b the objectives, all to be minimised, are (mean over rows of loss) + penalty / n:
least squares ‖y − z‖², ridge + α‖w‖², logistic and softmax C Σ loss + ½‖w‖², Poisson Σ(eᶻ − y z), gamma Σ(z + y e⁻ᶻ).
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse, special

from benchmarks import data

AGREE = 1e-6
Answer = dict[str, Any]

LOSSES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "squared": lambda y, z: (y - z) ** 2,
    "logistic": lambda y, z: np.logaddexp(0, z) - y * z,
    "softmax": lambda y, z: special.logsumexp(z, axis=1) - z[np.arange(len(y)), y],
    "poisson": lambda y, z: np.exp(z) - y * z,
    "gamma": lambda y, z: z + y * np.exp(-z),
}


def blocks(folder: Path, size: int = 50_000) -> Iterator[tuple[Any, np.ndarray]]:
    X, y = data.load(folder, mapped=True)
    for start in range(0, X.shape[0], size):
        rows = slice(start, start + size)
        yield (X[rows] if sparse.issparse(X) else np.asarray(X[rows])), np.asarray(y[rows])


def objective(loss: str, l2: float, answer: Answer, folder: Path) -> float:
    """Mean loss + l2 ‖w‖² / n; a chosen penalty in the answer (RidgeCV) takes the place of l2."""
    coef, intercept = np.asarray(answer["coef"], float), np.asarray(answer["intercept"], float)
    several = coef.ndim == 2 and coef.shape[0] > 1
    W = coef.T if several else coef.ravel()
    b = intercept.ravel() if several else intercept.item()
    total, n = 0.0, 0
    for X, y in blocks(folder):
        total += LOSSES[loss](y, X @ W + b).sum()
        n += len(y)
    return float(total + answer.get("alpha", l2) * (coef**2).sum()) / n


def parameters(answer: Answer) -> np.ndarray:
    return np.concatenate([np.ravel(answer["coef"]), np.ravel(answer["intercept"])])


def grade(candidates: list[dict[str, Any]], loss: str, l2: float, compare: str, folder: Path) -> None:
    """Give every candidate with an answer its ``gap``: the distance from the candidate with the lowest objective."""
    candidates = [c for c in candidates if "answer" in c]
    for c in candidates:
        value = objective(loss, l2, c["answer"], folder)
        c["objective"] = value if np.isfinite(value) else np.inf
    if not candidates:
        return
    best = min(candidates, key=lambda c: c["objective"])
    truth = parameters(best["answer"])
    for c in candidates:
        if compare == "objective":
            gap = (c["objective"] - best["objective"]) / abs(best["objective"])
        else:
            gap = np.abs(parameters(c["answer"]) - truth).max() / np.abs(truth).max()
        c["gap"] = float(gap) if np.isfinite(gap) else np.inf
