r"""Mixtures of any family of components: the E step on blocks of rows, and the nouns of Gaussians and Bernoullis.

.. math:: p(x) = \sum_k \pi_k\,p_k(x),\qquad r_{ik} = \pi_kp_k(x_i)\big/\sum_j\pi_jp_j(x_i)

A family says how rows are scored (:math:`\log\pi_kp_k(x)`), what its M step needs of rows with responsibilities, and
what parameters follow from it: all that it needs is the one statistic of components. One pass over the rows is an E
step with the sums of the M step: compiled where the rows are many, dense and in memory, else by array functions.

Dempster, Laird, Rubin (1977), doi:10.1111/j.2517-6161.1977.tb01600.x; Celeux, Govaert (1992), A classification EM
algorithm, doi:10.1016/0167-9473(92)90042-E (hard assignments).
"""

from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from didact.core.backend import is_sparse, is_tensor, like, namespace, to_host, to_numpy
from didact.core.errors import ParameterError, Singular
from didact.core.rows import Block, Rows
from didact.core.rows.memory import block_by_block, compiled_pass
from didact.core.typing import Array
from didact.distributions.multivariate import factor, log_det
from didact.engines.components.em import em
from didact.engines.components.low_rank import LowRank, low_rank_of
from didact.engines.components.mixture_loops import mixture_sums
from didact.engines.components.scores import diagonal_joint, gaussian_joint
from didact.engines.components.tuning import COMPILED_WORK
from didact.engines.loop.iterate import Keep, Report
from didact.engines.loop.result import Result
from didact.engines.scores.score_tables import in_memory, line_tables, scored_by, tables_of
from didact.parts.families.log_densities import gaussian_log_density
from didact.parts.statistics.components import MATRICES, Components, complete, components
from didact.parts.statistics.gaps import Parameters, expected_components
from didact.parts.statistics.members import NO_RESPONSIBILITY

LARGE_ADDED = 1e-3  # of the variance of all rows: what is added to variances is then no mere safeguard
LEAST_SHARE = 1e-15  # the least probability of a value of a Bernoulli component, so that its logarithm stays finite


class MixtureStep(NamedTuple):
    """An E step: the weighted sum of log p(x) or, of hard assignments, of log p(x, k); the statistic of components."""

    value: float
    statistic: Any

    def merge(self, other: "MixtureStep") -> "MixtureStep":
        """The step of both sets of rows together."""
        return MixtureStep(self.value + other.value, self.statistic.merge(other.statistic))


class Gaussians(NamedTuple):
    """Parameters of Gaussian components; covariances in the shape of the statistic."""

    weights: Array  # (K,)
    means: Array  # (K, p)
    covariances: Array  # (K, p, p), (1, p, p), (K, p) or (K, 1)
    whiten: Array  # W with W Wᵀ = Σ⁻¹, upper triangles; 1/σ of variances
    log_dets: Array  # (K,), or (1,) if tied


class GaussianFamily(NamedTuple):
    """How Gaussian components are scored and estimated; `added` goes onto the diagonals of covariances."""

    shape: str
    added: float = 0.0

    def scores(self, theta: Gaussians) -> tuple[Any, tuple[Array, ...]]:
        """The function of rows that gives log π_k p_k(x), and its arguments."""
        if self.shape in MATRICES:
            return gaussian_joint, (logs(theta.weights), theta.means, theta.whiten, theta.log_dets)
        variances = np.broadcast_to(theta.covariances, theta.means.shape)
        return diagonal_joint, (logs(theta.weights), theta.means, variances)

    def statistic(self, X: Any, R: Any, w: Any, theta: Gaussians | None) -> Components:
        """The statistic of rows; that of rows with gaps is the expected one, for which full and tied need θ."""
        S = components(X, R, self.shape, w)
        if theta is None or self.shape not in MATRICES or not (S.gaps > 0).any():
            return S
        precision = np.stack([W @ W.T for W in theta.whiten])
        given = Parameters(np.arange(len(theta.means)), theta.means, precision, theta.log_dets)
        filled = expected_components(np.asarray(X), to_numpy(R), given, w).statistic
        return S._replace(weight=S.present[:, 0]).merge(filled)

    def of_sums(self, theta: Gaussians, weight: Array, first: Array, second: Array) -> Components:
        """The statistic from sums about the means of θ."""
        shift = first / np.maximum(weight, NO_RESPONSIBILITY)[:, None]
        if self.shape in MATRICES:
            scatter = second - first[:, :, None] * shift[:, None, :]
            scatter = scatter.sum(axis=0, keepdims=True) if self.shape == "tied" else scatter
        else:
            scatter = np.maximum(second - first * shift, 0.0)
            scatter = scatter.sum(axis=1, keepdims=True) if self.shape == "spherical" else scatter
        return complete(np.arange(len(weight)), weight, theta.means + shift, scatter, self.shape)

    def maximize(self, theta: Gaussians | None, S: Components) -> Gaussians:
        """The M step, with `added` on the diagonals; a component without weight stays as it was."""
        return gaussians(*self._estimate(theta, S, S.covariances(self.added)), self.shape)

    def exact(self, theta: Gaussians | None, S: Components) -> Gaussians:
        """The greatest expected likelihood of covariances whose eigenvalues are at least `added`."""
        return gaussians(*self.bounded(theta, S), self.shape)

    def bounded(self, theta: Gaussians | None, S: Components) -> tuple[Array, Array, Array]:
        """Shares, means and covariances of `exact`, whose factors nobody may need."""
        found = S.covariances()
        if self.shape not in MATRICES:
            return self._estimate(theta, S, np.maximum(found, self.added))
        return self._estimate(theta, S, np.stack([lifted(C, self.added) for C in found]))

    def _estimate(self, theta: Gaussians | None, S: Components, covariances: Array) -> tuple[Array, Array, Array]:
        """Shares, means and covariances from a statistic and its covariances."""
        means, empty = S.mean, S.weight <= NO_RESPONSIBILITY
        if empty.any():
            means, covariances = np.array(means), np.array(covariances)
            if theta is not None:
                means[empty] = theta.means[empty]
            if self.shape != "tied":
                covariances[empty] = covariances[~empty].mean(axis=0) if theta is None else theta.covariances[empty]
        return S.weight / S.weight.sum(), means, covariances

    def log_prior(self, theta: Gaussians) -> float:
        """Added to the log-likelihood: nothing."""
        return 0.0


def lifted(C: Array, least: float) -> Array:
    """A covariance with its smaller eigenvalues raised to `least`."""
    thin = low_rank_of(C)
    if thin is None:
        values, vectors = np.linalg.eigh(C)
        return np.asarray(np.maximum(values, least) * vectors @ vectors.T)
    axes, scales, _ = linalg.svd(thin.factor, full_matrices=False)
    return LowRank(np.full(len(C), least), axes * np.sqrt(np.maximum(scales**2 - least, 0.0))).dense()


def gaussians(weights: Array, means: Array, covariances: Array, shape: str) -> Gaussians:
    """Parameters with their factors; an error names a covariance that has none."""
    if shape not in MATRICES:
        bad = np.flatnonzero(~(covariances > 0).all(axis=1))
        if len(bad):
            raise _failed(bad[0], shape)
        log_dets = np.log(np.broadcast_to(covariances, means.shape)).sum(axis=1)
        whiten = 1.0 / np.sqrt(covariances)
        return Gaussians(weights=weights, means=means, covariances=covariances, whiten=whiten, log_dets=log_dets)
    whiten, log_dets = np.empty_like(covariances), np.empty(len(covariances))
    identity = np.eye(means.shape[1])
    for k, C in enumerate(covariances):
        try:
            L = factor(C)
        except (ParameterError, ValueError) as error:
            raise _failed(k, shape) from error
        whiten[k], log_dets[k] = linalg.solve_triangular(L, identity, lower=True).T, log_det(L)
    return Gaussians(weights=weights, means=means, covariances=covariances, whiten=whiten, log_dets=log_dets)


def _failed(k: int, shape: str) -> Singular:
    whose = "that the components share" if shape == "tied" else f"of component {k}"
    return Singular(
        "Fitting the mixture model failed because some components have ill-defined empirical covariance (for instance "
        "caused by singleton or collapsed samples). Try to decrease the number of components, increase reg_covar, or "
        f"scale the input data. The covariance {whose} is singular."
    )


class Bernoullis(NamedTuple):
    """Parameters of components of independent columns of zeros and ones."""

    weights: Array  # (K,)
    means: Array  # (K, p) probabilities of a one


class BernoulliFamily(NamedTuple):
    """How components of zeros and ones are scored and estimated; `alpha` ones and zeros are added to each column.

    Unless the threshold is NaN, values above it are scored as ones, and others as zeros.
    """

    alpha: float = 0.0
    threshold: float = np.nan

    def scores(self, theta: Bernoullis) -> tuple[Any, tuple[Any, ...]]:
        """The function of rows that gives log π_k p_k(x), and its arguments."""
        return bernoulli_joint, (logs(theta.weights), theta.means, self.threshold)

    def statistic(self, X: Any, R: Any, w: Any, theta: Bernoullis | None) -> Components:
        """The statistic of rows: weights and means, of the values that are there."""
        return components(X, R, "diagonal", w)

    def of_sums(self, theta: Bernoullis, weight: Array, first: Array, second: Array) -> Components:
        """The statistic from sums about the means of θ."""
        return GaussianFamily("diagonal").of_sums(theta, weight, first, second)  # type: ignore[arg-type]

    def maximize(self, theta: Bernoullis | None, S: Components) -> Bernoullis:
        """The M step; a component without weight stays as it was."""
        present = np.broadcast_to(S.present, S.mean.shape)
        total = present + 2 * self.alpha
        means = (present * S.mean + self.alpha) / np.maximum(total, NO_RESPONSIBILITY)
        means = np.where(total > 0, means, 0.5 if theta is None else theta.means)
        return self.clipped(Bernoullis(S.weight / S.weight.sum(), means))

    def clipped(self, theta: Bernoullis) -> Bernoullis:
        """Parameters without probabilities of 0 and 1."""
        return theta._replace(means=np.clip(theta.means, LEAST_SHARE, 1 - LEAST_SHARE))

    def log_prior(self, theta: Bernoullis) -> float:
        """The logarithm of the conjugate prior whose counts are `alpha`, up to a constant."""
        return self.alpha * float((np.log(theta.means) + np.log1p(-theta.means)).sum()) if self.alpha else 0.0


def _bernoulli_tables(log_prior: Array, means: Array, threshold: float) -> Any:
    none = np.log1p(-means)
    return line_tables(np.log(means) - none, log_prior + none.sum(axis=1), threshold) if len(means) > 1 else None


@scored_by(_bernoulli_tables)
def bernoulli_joint(X: Any, log_prior: Array, means: Array, threshold: float) -> Any:
    """log π_k + Σ_j log p(x_j) of zeros and ones (n, K), summed over the columns that are present."""
    xp, none = namespace(X), np.log1p(-means)
    missing = xp.isnan(X)
    there = xp.astype(~missing, X.dtype) if is_tensor(X) else (~missing).astype(X.dtype)
    X = X if threshold != threshold else zeros_and_ones(X, threshold)
    filled = xp.where(missing, xp.zeros_like(X), X)
    return filled @ like((np.log(means) - none).T, X) + there @ like(none.T, X) + like(log_prior, X)


def zeros_and_ones(X: Any, threshold: float) -> Any:
    """1 for numbers above the threshold, 0 for others; NaN stays."""
    xp = namespace(X)
    above = xp.astype(threshold < X, X.dtype) if is_tensor(X) else (threshold < X).astype(X.dtype)
    return xp.where(xp.isnan(X), X, above)


def logs(weights: Array) -> Array:
    """Logarithms of weights, which may be 0."""
    with np.errstate(divide="ignore"):
        return np.log(weights)


def responsibilities(joint: Any, codes: Any = None, hard: bool = False) -> tuple[Any, Any]:
    """Responsibilities (n, K) from joint log probabilities, and log p(x) of each row (n,).

    A row with a code of at least 0 belongs to that component, and if `hard` every row to its most probable one: the
    second result then is log p(x, k).
    """
    xp = namespace(joint)
    top = xp.max(joint, axis=1)
    shares = xp.exp(joint - top[:, None])
    total = xp.sum(shares, axis=1)
    R, each = shares / total[:, None], top + xp.log(total)
    if codes is None and not hard:
        return R, each
    numbers = xp.arange(joint.shape[1]) if not is_tensor(joint) else xp.arange(joint.shape[1], device=joint.device)
    best = xp.argmax(joint, axis=1)
    known = (best >= 0) if codes is None else xp.asarray(codes >= 0)
    code = best if codes is None else xp.where(known, xp.asarray(codes), best)
    known = known | hard
    one = xp.astype(code[:, None] == numbers, joint.dtype) if is_tensor(joint) else code[:, None] == numbers
    R = xp.where(known[:, None], one, R)
    return R, xp.where(known, xp.sum(xp.where(one > 0, joint, xp.zeros_like(joint)), axis=1), each)


@compiled_pass
def e_step(block: Block, family: Any, theta: Any, hard: bool) -> MixtureStep:
    """The E step of a block, with the statistic of the M step; y holds codes of components that are known, or None."""
    X, codes, w = block.X, block.y, block.weight
    if is_tensor(X) and X.is_cuda and codes is None and not hard and getattr(family, "shape", None) == "full":
        step = gpu_step(X, w, family, theta)
        if step is not None:
            return step
    fn, args = family.scores(theta)
    n, p = X.shape
    large = in_memory(X) and hasattr(family, "of_sums") and n * p * p * len(theta.means) >= COMPILED_WORK
    tables = tables_of(X, fn, args) if large else None
    if tables is None:
        return block_by_block(array_step, block, family, theta, hard)
    value, *sums, lost = mixture_sums(X, w, codes, tables, np.ascontiguousarray(theta.means, np.float64), hard)
    step = MixtureStep(value, family.of_sums(theta, *sums))
    if len(lost):
        rest = Block(X[lost], None if codes is None else codes[lost], None if w is None else w[lost])
        step = step.merge(block_by_block(array_step, rest, family, theta, hard))
    return step


def gpu_step(X: Any, w: Any, family: GaussianFamily, theta: Gaussians) -> MixtureStep | None:
    """`e_step` by the kernel for GPUs; None if it does not take these rows, or found NaN."""
    from didact.engines.components.cuda import mixture_fits, tensor_sums

    if not mixture_fits(X, len(theta.means)):
        return None
    constants = logs(theta.weights) + gaussian_log_density(0.0, theta.log_dets, X.shape[1])
    value, *sums = tensor_sums(X, w, constants, theta.means, theta.whiten)
    return MixtureStep(value, family.of_sums(theta, *sums)) if np.isfinite(value) else None


def array_step(block: Block, family: Any, theta: Any, hard: bool) -> MixtureStep:
    """`e_step` by array functions."""
    X = block.X.toarray() if is_sparse(block.X) else block.X
    X = X if is_tensor(X) or (X.dtype.kind == "f" and X.itemsize == 8) else np.asarray(X, np.float64)
    fn, args = family.scores(theta)
    R, each = responsibilities(fn(X, *args), block.y, hard)
    w = block.weight
    if is_tensor(X):
        xp = namespace(X)
        each = xp.astype(each, xp.float64)
        total = xp.sum(each if w is None else each * xp.asarray(w, dtype=xp.float64, device=X.device))
        (value,) = to_host(total)
    else:
        value = each.sum() if w is None else np.asarray(w, np.float64) @ each
    return MixtureStep(float(value), family.statistic(X, R, w, theta))


def fit_mixture(
    rows: Rows, family: Any, start: Any, total: float, tol: float, max_iter: int, report: Report | None = None,
    hard: bool = False, keep: Keep = None,
) -> Result:  # fmt: skip
    """EM from these parameters; `value` is minus the log-likelihood of a unit of weight, of which `total` are there."""

    def expect(theta: Any) -> tuple[float, Any]:
        value, statistic = rows.reduce(e_step, family, theta, hard)
        return (value + family.log_prior(theta)) / total, statistic

    exact = family.exact if getattr(family, "added", 0.0) > 0 else None
    return em(expect, family.maximize, start, tol, max_iter, report, exact=exact, keep=keep)


def collapsed(theta: Gaussians, shape: str, added: float, share: float = 1e-8) -> Array:
    """Which components have no weight, or a variance below a share of that of all rows in some direction, (K,).

    Directions in which the rows do not vary at all do not count, nor do variances that `added` drowns. If the
    components share a covariance, all or none have collapsed.
    """
    w, d = theta.weights, theta.means - theta.weights @ theta.means
    own = theta.covariances - (added * np.eye(d.shape[1]) if shape in MATRICES else added)
    if shape in MATRICES:
        each = own if shape == "full" else np.broadcast_to(own, (len(w), *own.shape[1:]))
        T = reduce(np.add, (a * (C + np.outer(m, m)) for a, C, m in zip(w, each, d, strict=True)))
        share = share if added < LARGE_ADDED * np.trace(T) / len(T) else -np.inf
        values, V = np.linalg.eigh(T)
        V = V[:, values > len(T) * np.finfo(float).eps * max(values[-1], 0.0)]
        half = V / np.sqrt(np.einsum("ij,ij->j", V, T @ V))
        low = np.array([np.linalg.eigvalsh(half.T @ C @ half)[0] if half.size else 1.0 for C in each])
    else:
        own = np.broadcast_to(own, d.shape)
        T = w @ (own + d * d)
        share = share if added < LARGE_ADDED * T.mean() else -np.inf
        T = np.full_like(T, T.mean()) if shape == "spherical" else T
        low = np.where(T > 0, own / np.where(T > 0, T, 1.0), 1.0).min(axis=1)
    return (low < share) | (w <= NO_RESPONSIBILITY)
