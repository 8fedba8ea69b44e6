r"""Independent sources behind white rows: fixed-point iterations for non-Gaussian projections, and greatest likelihood.

FastICA: :math:`w \leftarrow E[g(w^Tz)z] - E[g'(w^Tz)]w`, after which the rows of W are made orthonormal, all at once
(:math:`(WW^T)^{-1/2}W`) or one after the other.

Likelihood: with sources of density p and score :math:`\psi = -(\log p)'`,

.. math:: \ell(W) = \log|\det W| + E\Big[\sum_j\log p(w_j^Tz)\Big],\qquad
    \nabla\ell\,W^T = I - E[\psi(y)y^T],\quad y = Wz

A step is :math:`W \leftarrow (I + \alpha\mathcal E)W`, with :math:`\mathcal E` this natural gradient, or
divided pair by pair by the curvature that it has where sources are independent, :math:`h_{ij} = E[\psi'(y_i)]E[y_j^2]`.

Hyvärinen (1999), doi:10.1109/72.761722; Amari (1998), doi:10.1162/089976698300017746; Pham, Garat (1997),
doi:10.1109/78.599941; Ablin, Cardoso, Gramfort (2018), doi:10.1109/TSP.2018.2844203.
"""

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import like, namespace, small_product, to_host, to_numpy
from didact.core.errors import InputError, ParameterError
from didact.core.rows import Block, Rows
from didact.core.rows.memory import block_by_block, compiled_pass
from didact.core.typing import Array
from didact.engines.factors.source_loops import BELL, CUBE, LOGCOSH, LOGISTIC_SOURCE, source_sums
from didact.engines.loop.iterate import Report, iterate
from didact.engines.loop.line_search import NOISE
from didact.engines.loop.result import Result

CONTRASTS = {"logcosh": LOGCOSH, "exp": BELL, "cube": CUBE, "logistic": LOGISTIC_SOURCE}
LEAST_PAIR_CURVATURE = 1e-2  # of a pair of sources
MOST_HALVINGS = 20
WHOLE_STEPS = 50  # of the fixed point before it goes half the way: most data need fewer


class Contrast(NamedTuple):
    """A function g of projections: one of `CONTRASTS`, or the user's, and its argument α.

    The user's gets projections (K, n) and gives g and the mean of g' along rows or, as a `density`, log p, the score
    (log p)' and perhaps its slope, all of them (K, n).
    """

    fun: Any
    alpha: float = 1.0
    arguments: Any = ()
    density: bool = False


class SourceSums(NamedTuple):
    """Σ ω g(y)zᵀ (K, K), Σ ω g'(y) (K,), Σ ω log p(y), and Σ ω."""

    products: Array
    slopes: Array
    value: float
    weight: float

    def merge(self, other: "SourceSums") -> "SourceSums":
        """Add them."""
        value, weight = self.value + other.value, self.weight + other.weight
        return SourceSums(self.products + other.products, self.slopes + other.slopes, value, weight)


@compiled_pass
def source_sums_of(block: Block, W: Array, contrast: Contrast) -> SourceSums:
    """The statistic of white rows at W."""
    X, w = block.X, block.weight
    if not isinstance(X, np.ndarray) or callable(contrast.fun):
        return block_by_block(array_sums, block, W, contrast)
    total = float(len(X) if w is None else w.sum())
    return SourceSums(*source_sums(X, w, W, CONTRASTS[contrast.fun], contrast.alpha), total)


def array_sums(block: Block, W: Array, contrast: Contrast) -> SourceSums:
    """`source_sums_of` by array functions: of tensors, and of functions of the user's."""
    X, w = block.X, block.weight
    xp, y = namespace(X), X @ like(W.T, X)
    weight = xp.ones_like(X[:, 0]) if w is None else w
    if callable(contrast.fun):
        if w is not None and not contrast.density:
            raise InputError("A function of your own averages over rows by itself: it takes no sample_weight.")
        g, slope, value = _users(contrast, to_numpy(y).T, to_numpy(weight))
        g, slope = like(g.T, X), like(slope, X)
    else:
        g, each, value = _function_of(contrast, y)
        slope, value = weight @ each, 0.0 if value is None else float((weight[:, None] * value).sum())
    products, slope, total = to_host(small_product((g * weight[:, None]).T, X), slope, weight.sum())
    return SourceSums(products, slope, float(value), float(total))


def _function_of(contrast: Contrast, y: Any) -> tuple[Any, Any, Any]:
    """g, g' and log p of projections."""
    xp, fun, alpha = namespace(y), contrast.fun, contrast.alpha
    if fun == "logcosh":
        g = xp.tanh(alpha * y)
        return g, alpha * (1.0 - g * g), None
    if fun == "exp":
        bell = xp.exp(-0.5 * y * y)
        return y * bell, (1.0 - y * y) * bell, None
    if fun == "cube":
        return y**3, 3.0 * y * y, None
    g = xp.tanh(0.5 * y)
    return g, 0.5 * (1.0 - g * g), -xp.abs(y) - 2.0 * xp.log1p(xp.exp(-xp.abs(y)))


def _users(contrast: Contrast, y: Array, w: Array) -> tuple[Array, Array, float]:
    """g (K, n), Σ ω g' (K,) and Σ ω log p of a user's function."""
    found = contrast.fun(np.array(y), **dict(contrast.arguments))
    if not isinstance(found, tuple) or len(found) < 2:
        what = "(log p, (log p)') or (log p, (log p)', (log p)'')" if contrast.density else "(g, mean of g')"
        raise ParameterError(f"The function of projections has to return a tuple {what}; got {type(found).__name__}.")
    if not contrast.density:
        return np.asarray(found[0]), np.atleast_1d(found[1]) * len(w), 0.0
    value, score = np.asarray(found[0], np.float64), np.asarray(found[1], np.float64)
    if value.shape != y.shape or score.shape != y.shape:
        raise ParameterError(f"The density has to return arrays of the shape {y.shape} of its argument.")
    bend = -np.asarray(found[2], np.float64) if len(found) > 2 else score * score  # equal in the mean under p itself
    return -score, bend @ w, float((value @ w).sum())


def log_densities_of(contrast: Contrast, y: Array) -> Array:
    """log p of projections."""
    return np.asarray(contrast.fun(y)[0] if callable(contrast.fun) else _function_of(contrast, y)[2])


def score_of(contrast: Contrast, y: Array) -> Array:
    """(log p)' of projections."""
    return np.asarray(contrast.fun(y)[1] if callable(contrast.fun) else -_function_of(contrast, y)[0])


def orthonormal_rows(W: Array) -> Array:
    """(WWᵀ)^(−1/2) W."""
    U, _, V = np.linalg.svd(W, full_matrices=False)
    return U @ V


class SourceState(NamedTuple):
    """W, how non-Gaussian its projections are, with a minus, and how far its rows have turned."""

    x: Array
    value: float
    optimality: float


def _next(rows: Rows, W: Array, contrast: Contrast) -> tuple[Array, float]:
    S = rows.reduce(source_sums_of, W, contrast)
    new = S.products / S.weight - (S.slopes / S.weight)[:, None] * W
    return new, -float(np.abs(np.einsum("ij,ij->i", new, W)).sum())


def fixed_point(rows: Rows, W: Array, contrast: Contrast, tol: float, max_iter: int, report: Report) -> Result:
    """All sources at once. Iterations that go on for long may go in circles: later ones go half the way."""
    turn = itertools.count(1)

    def step(state: SourceState) -> SourceState:
        new, value = _next(rows, state.x, contrast)
        new = orthonormal_rows(new)
        cosines = np.einsum("ij,ij->i", new, state.x)
        if next(turn) > WHOLE_STEPS:
            new = orthonormal_rows(new * np.sign(cosines)[:, None] + state.x)
        return SourceState(new, value, float(np.abs(np.abs(cosines) - 1.0).max()))

    return iterate(SourceState(orthonormal_rows(W), 0.0, np.inf), step, tol, max_iter, report)


def deflation(rows: Rows, W: Array, contrast: Contrast, tol: float, max_iter: int, report: Report) -> Result:
    """One source after the other, each orthogonal to those before."""
    found, results = np.zeros((0, W.shape[1])), []

    def unit(w: Array) -> Array:
        w = w - found.T @ (found @ w)
        return w / (np.linalg.norm(w) or 1.0)

    for start in W:

        def step(state: SourceState) -> SourceState:
            new, value = _next(rows, state.x[None], contrast)
            w = unit(new[0])
            return SourceState(w, value, float(abs(abs(w @ state.x) - 1.0)))

        first = start / (np.linalg.norm(start) or 1.0)
        results.append(iterate(SourceState(first, 0.0, np.inf), step, tol, max_iter))
        found = np.vstack([found, results[-1].x])
        if report(len(found), results[-1].value, found):
            break
    worst = max(results, key=lambda result: (not result.converged, result.n_iter))
    return Result(found, worst.value, max(r.n_iter for r in results), worst.status, worst.optimality)


class LikelihoodState(NamedTuple):
    """W, minus the mean log-likelihood of a row, the largest slope, and the statistic that both come from."""

    x: Array
    value: float
    optimality: float
    slopes: Array  # I − E[ψ(y)yᵀ]
    curvature: Array  # E[ψ'(y_i)]E[y_j²]


def likelihood_state(rows: Rows, W: Array, contrast: Contrast) -> LikelihoodState:
    """The state at W, one pass over white rows."""
    S = rows.reduce(source_sums_of, W, contrast)
    gradient = np.eye(len(W)) - S.products @ W.T / S.weight
    return LikelihoodState(
        x=W,
        value=-float(np.linalg.slogdet(W)[1] + S.value / S.weight),
        optimality=float(np.abs(gradient).max()),
        slopes=gradient,
        curvature=np.outer(S.slopes / S.weight, (W * W).sum(axis=1)),
    )


def quasi_newton(state: LikelihoodState) -> Array:
    """The direction with the curvature of independent sources, pair by pair; no curvature is below a bound."""
    h, G = state.curvature, state.slopes
    # Of the pair (i, j) the curvature is [[h_ij, 1], [1, h_ji]]; its smaller eigenvalue is raised to the bound.
    middle, gap = 0.5 * (h + h.T), np.sqrt(0.25 * (h - h.T) ** 2 + 1.0)
    h = h + np.maximum(LEAST_PAIR_CURVATURE - (middle - gap), 0.0)
    np.fill_diagonal(h, 2.0)
    direction = (h.T * G - G.T) / (h * h.T - 1.0)
    np.fill_diagonal(direction, np.diag(G) / np.maximum(1.0 + np.diag(state.curvature), LEAST_PAIR_CURVATURE))
    return direction


def greatest_likelihood(
    rows: Rows, W: Array, contrast: Contrast, direction: Callable[[LikelihoodState], Array], rate: float, tol: float,
    max_iter: int, report: Report,
) -> Result:  # fmt: skip
    """Steps (I + α𝓔)W of which each raises the likelihood, α = rate or less, until the largest slope is within tol."""

    def step(state: LikelihoodState) -> LikelihoodState | None:
        way, length = direction(state), rate
        for _ in range(MOST_HALVINGS):
            new = likelihood_state(rows, state.x + length * way @ state.x, contrast)
            same = abs(new.value - state.value) <= NOISE * abs(state.value)
            if new.value < state.value or (same and new.optimality < state.optimality):
                return new
            length *= 0.5
        return None

    return iterate(likelihood_state(rows, W, contrast), step, tol, max_iter, report)
