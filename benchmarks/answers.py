"""Did the libraries find the same answer? Objectives in float64, and how far each answer is from what it should be.

With z = X w + b the objectives, all to be minimised, are (mean over rows of loss) + penalty / n: least squares
‖y − z‖², ridge + α‖w‖², logistic and softmax C Σ loss + ½‖w‖², Poisson Σ(eᶻ − y z), gamma Σ(z + y e⁻ᶻ). The lasso's and
the elastic net's are ½ mean (y − z)² + α(ρ‖w‖₁ + ½(1 − ρ)‖w‖²), that of stochastic gradients mean loss + ½α‖w‖².
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse, special

from benchmarks import data, problems

US = "didact"
Answer = dict[str, Any]
Record = dict[str, Any]

LOSSES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "squared": lambda y, z: (y - z) ** 2,
    "logistic": lambda y, z: np.logaddexp(0, z) - y * z,
    "hinge": lambda y, z: np.maximum(0, 1 - (2 * y - 1) * z),
    "signs": lambda y, z: ((2.0 * (y[:, None] == np.arange(z.shape[1])) - 1.0 - z) ** 2).sum(axis=1),
    "softmax": lambda y, z: special.logsumexp(z, axis=1) - z[np.arange(len(y)), y],
    "poisson": lambda y, z: np.exp(z) - y * z,
    "gamma": lambda y, z: z + y * np.exp(-z),
}


def blocks(folder: Path, entries: int = 20_000_000) -> Iterator[tuple[Any, np.ndarray]]:
    """The rows, at most 50,000 at a time, and fewer where they are long and dense."""
    X, y = data.load(folder, mapped=True)
    size = 50_000 if sparse.issparse(X) else min(50_000, max(1, entries // X.shape[1]))
    for start in range(0, X.shape[0], size):
        rows = slice(start, start + size)
        yield (X[rows] if sparse.issparse(X) else np.asarray(X[rows])), np.asarray(y[rows])


def mean_loss(loss: str, answer: Answer, folder: Path) -> tuple[float, int]:
    """The mean loss and the number of rows."""
    coef, intercept = np.asarray(answer["coef"], float), np.asarray(answer["intercept"], float)
    several = coef.ndim == 2 and coef.shape[0] > 1
    W = coef.T if several else coef.ravel()
    b = intercept.ravel() if several else intercept.item()
    total, n = 0.0, 0
    for X, y in blocks(folder):
        total += LOSSES[loss](y, X @ W + b).sum()
        n += len(y)
    return float(total) / n, n


def squares(answer: Answer) -> float:
    return float((np.asarray(answer["coef"], float) ** 2).sum())


def parameters(answer: Answer) -> np.ndarray:
    return np.concatenate([np.ravel(answer["coef"]), np.ravel(answer["intercept"])])


@dataclass(frozen=True)
class Check:
    """Gives every answer its ``gap``; up to ``agree`` it counts as the answer that was asked for."""

    agree: float = 1e-6

    def grade(self, candidates: list[Record], folder: Path) -> None:
        candidates = [c for c in candidates if "answer" in c]
        if not candidates:
            return
        for c, gap in zip(candidates, self.gaps(candidates, folder), strict=True):
            c["gap"] = float(gap) if np.isfinite(gap) else np.inf

    def gaps(self, candidates: list[Record], folder: Path) -> list[float]:
        raise NotImplementedError


def relative(values: list[float], best: float, scale: float = 0.0) -> list[float]:
    return [(value - best) / max(abs(best), scale) if np.isfinite(value) else np.inf for value in values]


@dataclass(frozen=True)
class SameAnswer(Check):
    """The distance from the candidate with the lowest mean loss + l2‖w‖²/n: in that objective, or in parameters.

    A penalty that was chosen (RidgeCV) takes the place of l2.
    """

    loss: str = "squared"
    l2: float = 0.0
    compare: str = "coef"

    def gaps(self, candidates: list[Record], folder: Path) -> list[float]:
        for c in candidates:
            mean, n = mean_loss(self.loss, c["answer"], folder)
            c["objective"] = mean + c["answer"].get("alpha", self.l2) * squares(c["answer"]) / n
        best = min(candidates, key=lambda c: c["objective"] if np.isfinite(c["objective"]) else np.inf)
        if self.compare == "objective":
            return relative([c["objective"] for c in candidates], best["objective"])
        truth = parameters(best["answer"])
        return [np.abs(parameters(c["answer"]) - truth).max() / np.abs(truth).max() for c in candidates]


@dataclass(frozen=True)
class SmallDualityGap(Check):
    """The lasso's objective less the highest dual value that an answer gives, relative to ½‖y − ȳ‖²/n.

    Every dual value is a lower bound of the minimum, so that the best one is the fairest: a library that keeps a better
    dual point than the residual of its answer is not held to the residual.
    """

    def gaps(self, candidates: list[Record], folder: Path) -> list[float]:
        values = [primal_dual(c["answer"], c["fit"].options["alpha"], folder) for c in candidates]
        for c, (primal, dual) in zip(candidates, values, strict=True):
            c["objective"], c["own_gap"] = primal, primal - dual
        best = max(dual for _, dual in values)
        return [primal - best for primal, _ in values]


def primal_dual(answer: Answer, alpha: float, folder: Path) -> tuple[float, float]:
    """The lasso's objective and its dual value at the centred, scaled residual, relative to ½‖y − ȳ‖²/n.

    With several targets the penalty is on the lengths of the columns' rows of coefficients (the multi-task lasso).
    """
    W, b = np.atleast_2d(np.asarray(answer["coef"], float)).T, np.ravel(answer["intercept"]).astype(float)
    y = np.concatenate([part for _, part in blocks(folder)])
    y = y.reshape(len(y), -1)
    residual = y - np.concatenate([X @ W + b for X, _ in blocks(folder)])
    n, y = len(y), y - y.mean(axis=0)
    centred = residual - residual.mean(axis=0)
    products, first = np.zeros_like(W), 0
    for X, part in blocks(folder):
        products += X.T @ centred[first : first + len(part)]
        first += len(part)
    shrink = min(1.0, alpha * n / np.linalg.norm(products, axis=1).max())
    primal = 0.5 * np.vdot(residual, residual) / n + alpha * np.linalg.norm(W, axis=1).sum()
    rest = y - shrink * centred
    dual = 0.5 * (np.vdot(y, y) - np.vdot(rest, rest)) / n
    scale = 0.5 * float(np.vdot(y, y)) / n
    return float(primal) / scale, float(dual) / scale


@dataclass(frozen=True)
class SameChoice(Check):
    """The penalty that most candidates chose, and their lowest elastic-net objective on all rows with it."""

    l1_ratio: float = 1.0

    def gaps(self, candidates: list[Record], folder: Path) -> list[float]:
        chosen = [c["answer"]["alpha"] for c in candidates]
        alpha = max(chosen, key=lambda a: np.isclose(chosen, a).sum())
        for c in candidates:
            c["objective"] = 0.5 * mean_loss("squared", c["answer"], folder)[0] + alpha * (
                self.l1_ratio * np.abs(c["answer"]["coef"]).sum() + 0.5 * (1 - self.l1_ratio) * squares(c["answer"])
            )
        best = min(c["objective"] for c, a in zip(candidates, chosen) if np.isclose(a, alpha))
        off = [abs(a / alpha - 1) if not np.isclose(a, alpha) else 0.0 for a in chosen]
        return np.maximum(relative([c["objective"] for c in candidates], best), off).tolist()


@dataclass(frozen=True)
class NotWorse(Check):
    """How much higher than the best peer's the training objective, mean loss + ½ alpha ‖w‖², is.

    The variants of a library are seeds: by its mean over them a library is judged, as single seeds scatter.
    """

    agree: float = 0.01
    loss: str = "hinge"
    alpha: float = 1e-4

    def gaps(self, candidates: list[Record], folder: Path) -> list[float]:
        for c in candidates:
            mean, _ = mean_loss(self.loss, c["answer"], folder)
            c["objective"] = mean + 0.5 * self.alpha * squares(c["answer"])
        names = {c["library"] for c in candidates}
        means = {name: np.mean([c["objective"] for c in candidates if c["library"] == name]) for name in names}
        best = min(means[c["library"]] for c in peers(candidates))
        return [max(gap, 0.0) for gap in relative([means[c["library"]] for c in candidates], best)]


@dataclass(frozen=True)
class SameValues(Check):
    """The largest difference from the peer's values, relative to the largest of them."""

    def gaps(self, candidates: list[Record], folder: Path) -> list[float]:
        truth = np.asarray(peers(candidates)[0]["answer"]["values"])
        return [np.abs(np.asarray(c["answer"]["values"]) - truth).max() / np.abs(truth).max() for c in candidates]


@dataclass(frozen=True)
class SameDensity(Check):
    """The largest relative error of Gaussian kernel densities at the first 100 places, against all pairs."""

    agree: float = 1e-10
    bandwidth: float = 1.0
    queries: int = 1000

    def gaps(self, candidates: list[Record], folder: Path) -> list[float]:
        X, _ = data.load(folder)
        n, p = X.shape
        squares = [((X - q) ** 2).sum(axis=1) for q in data.places(self.queries, p)[:100]]
        sums = special.logsumexp(-0.5 * np.array(squares) / self.bandwidth**2, axis=1)
        truth = sums - np.log(n) - p * np.log(self.bandwidth * np.sqrt(2 * np.pi))
        return [np.abs(np.expm1(np.asarray(c["answer"]["log_density"])[:100] - truth)).max() for c in candidates]


@dataclass(frozen=True)
class SameScore(Check):
    """How much lower than the best one the score on held-out rows is: share of right classes, or R²."""

    agree: float = 0.005

    def gaps(self, candidates: list[Record], folder: Path) -> list[float]:
        scores = [c["answer"]["score"] for c in candidates]
        return [max(scores) - score for score in scores]


@dataclass(frozen=True)
class SameNeighbours(Check):
    """The largest excess of a neighbour's distance over the least that any candidate found in its place, relative."""

    def gaps(self, candidates: list[Record], folder: Path) -> list[float]:
        X, _ = data.load(folder)
        found = []
        for c in candidates:
            rows = np.asarray(c["answer"]["rows"])
            tables = X, data.queries(X.shape[1], len(rows))
            if c["fit"].options.get("single") or c["library"] == "faiss":
                tables = tuple(table.astype(np.float32).astype(np.float64) for table in tables)
            columns = [np.linalg.norm(tables[1] - tables[0][column], axis=1) for column in rows.T]
            found.append(np.sort(np.column_stack(columns), axis=1))
        least = np.min(found, axis=0)
        return [float((distances / least).max() - 1.0) for distances in found]


def peers(candidates: list[Record]) -> list[Record]:
    return [c for c in candidates if c["library"] != US] or candidates


@dataclass(frozen=True)
class SameMinimum(Check):
    """How much higher than the lowest value Rosenbrock's function is at x: relative, below 1 absolute."""

    def gaps(self, candidates: list[Record], folder: Path) -> list[float]:
        for c in candidates:
            c["objective"] = problems.rosenbrock(np.asarray(c["answer"]["x"]))[0]
        values = [c["objective"] for c in candidates]
        return relative(values, min(values), 1.0)


@dataclass(frozen=True)
class SameProgram(Check):
    """A quadratic program's value against the lowest feasible one, or the worst violation if that is larger."""

    agree: float = 1e-8

    def gaps(self, candidates: list[Record], folder: Path) -> list[float]:
        G, h = data.load(folder)
        P, q = data.quadratic(G.shape[1])
        wrong = []
        for c in candidates:
            x = np.asarray(c["answer"]["x"])
            c["objective"] = float(x @ (0.5 * (P @ x) + q))
            wrong.append(float(np.max((G @ x - h) / np.maximum(1.0, np.abs(h)))))
        values = [c["objective"] for c in candidates]
        best = min((v for v, off in zip(values, wrong) if off <= self.agree), default=min(values))
        return np.maximum(np.abs(relative(values, best)), wrong).tolist()


@dataclass(frozen=True)
class LowestObjective(Check):
    """How much higher than the lowest the objective is that an adapter computes from its model, relative."""

    agree: float = 1e-4

    def gaps(self, candidates: list[Record], folder: Path) -> list[float]:
        for c in candidates:
            c["objective"] = float(c["answer"]["objective"])
        values = [c["objective"] for c in candidates]
        return relative(values, min(values))
