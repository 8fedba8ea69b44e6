r"""What each row contributes to a fitted likelihood: score, information, leverage, residuals.

With the linear predictor η = u·β of a row, u = (1, x − c) and any centre c, the row's score is s = −a g u and its
information a h u uᵀ, where g and h are the loss's derivative and expected curvature in η. A row stands for f equal
observations of weight a: for most families f is `sample_weight` and a = 1; for the binomial and the multinomial a row
is one observation (f = 1) of a = `sample_weight` trials. Then, with the inverse information A = BBᵀ,

* leverage :math:`\ell = a h\,\|B^Tu\|^2`, whose sum Σfℓ is the number of coefficients;
* Cook's distance :math:`D = r_P^2\,\ell/(\phi k(1-\ell)^2)` with the Pearson residual r_P of one of k coefficients;
* robust covariance :math:`A\big(\sum f\,s s^T/(1-\ell)^m\big)A`, m = 0 (HC0, HC1), 1 (HC2), 2 (HC3).

Block functions are pure; centring at the mean keeps the sums accurate for columns far from zero. Williams (1987),
doi:10.2307/2347550; MacKinnon, White (1985), doi:10.1016/0304-4076(85)90158-7; Cook (1977), doi:10.2307/1268249.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import zeta

from didact.core.backend import is_sparse, like, to_numpy
from didact.core.errors import InputError
from didact.core.rows import Block
from didact.core.typing import Array
from didact.engines.linear.least_squares import Triangle, triangle
from didact.engines.linear.objective import linear_predictor
from didact.parts.families import Gaussian, Multinomial, Tweedie
from didact.parts.links import Identity
from didact.parts.losses.classification import Softmax
from didact.parts.statistics.moments import Moments, Sums, moments


class Point(NamedTuple):
    """A fitted model as block functions need it: small, and able to travel to workers."""

    loss: Any  # GLMLoss, or Softmax for several classes
    table: Array  # coefficients and, last, the intercept (1, p + 1), or (K−1, p + 1) relative to the last class
    fit_intercept: bool = True
    trials: bool = False

    @property
    def family(self) -> Any:
        """The distribution of y."""
        return Multinomial() if self.several else self.loss.family

    @property
    def several(self) -> bool:
        """Whether there are more than two classes."""
        return isinstance(self.loss, Softmax)

    @property
    def gaussian(self) -> bool:
        """Whether y is normal."""
        return self.family in (Gaussian(), Tweedie(0.0))

    @property
    def least_squares(self) -> bool:
        """Whether the model is least squares."""
        return self.gaussian and isinstance(self.loss.link, Identity)


class Terms(NamedTuple):
    """A block of rows seen from a fitted model, (n,) each; y, mu and g are (n, K) for K classes."""

    y: Array
    eta: Array
    mu: Array
    count: Array  # type: ignore[assignment]  # f: equal observations
    size: Array  # a: trials of each
    g: Array  # derivative of the loss in η
    h: Array  # its expected curvature


def terms(block: Block, point: Point) -> Terms:
    """Linear predictors, means and derivatives of a block."""
    y, w = block.y, block.weight
    eta = linear_scores(block.X, block.offset, point)
    n = len(eta)
    weight = np.ones(n) if w is None else np.asarray(to_numpy(w), np.float64)
    count, size = ((weight > 0) * 1.0, weight) if point.trials else (weight, np.ones(n))
    y = to_numpy(y)
    if point.several:
        Y = np.asarray(y, np.float64) if y.ndim == 2 else (y[:, None] == np.arange(eta.shape[1])).astype(np.float64)
        mu = point.loss.probabilities(eta)
        return Terms(y=Y, eta=eta, mu=mu, count=count, size=size, g=mu - Y, h=np.ones(n))
    y = np.asarray(y, np.float64)
    g, h = point.loss.grad_hess(y, eta)
    return Terms(y=y, eta=eta, mu=point.loss.mean(eta), count=count, size=size, g=g, h=h)


def linear_scores(X: Any, offset: Any, point: Point) -> Array:
    """η (n,), or (n, K) with zeros for the last class."""
    eta = np.asarray(to_numpy(linear_predictor(X, point.table, None, point.loss, point.several)), np.float64)
    return eta if offset is None else eta + np.asarray(to_numpy(offset), np.float64)


def design(X: Any, centre: Array, fit_intercept: bool) -> Array:
    """Rows u = (1, x − c), dense."""
    U = (X.toarray() if is_sparse(X) else to_numpy(X)) - centre
    return np.column_stack([np.ones(len(U)), U]) if fit_intercept else U


def row_deviance(family: Any, y: Array, mu: Array) -> Array:
    """The unit deviance of each row, never below zero by rounding."""
    return np.maximum(family.deviance(y, mu), 0.0)


def pearson(t: Terms, family: Any) -> Array:
    """√a (y − μ)/√V(μ)."""
    if isinstance(family, Multinomial):
        return np.sqrt(t.size)[:, None] * (t.y - t.mu) / np.sqrt(t.mu)
    return np.sqrt(t.size) * (t.y - t.mu) / np.sqrt(family.variance(t.mu))


class Totals(NamedTuple):
    """Information and score (as moments), with sums for dispersion, deviance and the null model."""

    moments: Moments
    sums: Sums

    def merge(self, other: "Totals") -> "Totals":
        """Part by part."""
        return Totals(self.moments.merge(other.moments), self.sums.merge(other.sums))


def totals(block: Block, point: Point) -> Totals:
    """Moments of x (and of −g/h) with weights f·a·h; sums of f, f·a, f·a·y, deviance, Pearson's χ², η², offset."""
    X, offset = block.X, block.offset
    t = terms(block, point)
    weight = t.count * t.size
    several = t.g.ndim == 2
    step = np.zeros(len(weight)) if several else np.divide(-t.g, t.h, out=np.zeros_like(t.g), where=t.h > 0)
    S = moments(Block(X, like(step, X), like(weight * t.h, X)))
    chi = pearson(t, point.family)
    sums = (
        float(t.count.sum()),
        float(weight.sum()),
        weight @ t.y,
        float(weight @ row_deviance(point.family, t.y, t.mu)),
        float(t.count @ (np.sum(chi * chi, axis=1) if several else chi * chi)),
        0.0 if several else float((weight * t.h) @ (t.eta * t.eta)),
        0.0 if offset is None else float(np.abs(to_numpy(offset)).sum()),
    )
    return Totals(S, Sums(sums))


def information_factor(block: Block, point: Point, centre: Array) -> Triangle:
    """The triangular factor of the rows √(f a h)(x − c): the information without squaring its condition."""
    X = block.X
    t = terms(block, point)
    zeros = like(np.zeros(len(t.eta)), X)
    return triangle(Block(X, zeros, like(t.count * t.size * t.h, X)), centre, np.zeros(1))


def softmax_information(block: Block, point: Point, centre: Array) -> Sums:
    """Score (q,) and information (q, q) of K−1 vectors relative to the last class, one after the other."""
    X = block.X
    t = terms(block, point)
    U = design(X, centre, point.fit_intercept)
    weight, K, width = t.count * t.size, t.mu.shape[1] - 1, U.shape[1]
    H = np.empty((K, width, K, width))
    for k in range(K):
        for m in range(k + 1):
            h = weight * point.loss.pair_curvature(t.mu, k, m)
            H[k, :, m] = U.T @ (h[:, None] * U)
            H[m, :, k] = H[k, :, m].T
    score = (weight[:, None] * -t.g[:, :K]).T @ U
    return Sums((score.ravel(), H.reshape(K * width, K * width)))


def precision_information(block: Block, point: Point, centre: Array) -> Sums:
    """The beta family's expected information between η and the precision φ (as a vector), and of φ itself."""
    X = block.X
    t = terms(block, point)
    phi, mu = point.family.precision, t.mu
    low, high = zeta(2.0, mu * phi), zeta(2.0, (1.0 - mu) * phi)  # ψ′
    cross = phi * (mu * low - (1.0 - mu) * high) * point.loss.link.derivative(t.eta)
    own = mu**2 * low + (1.0 - mu) ** 2 * high - zeta(2.0, phi)
    return Sums(((t.count * cross) @ design(X, centre, point.fit_intercept), float(t.count @ own)))


def likelihoods(block: Block, point: Point, null: Point, dispersion: float, density: bool) -> Sums:
    """Log-likelihoods of the model and the null model, and the null model's deviance."""
    t, family = terms(block, point), point.family
    mu = terms(block, null).mu
    deviance = float((t.count * t.size) @ row_deviance(family, t.y, mu))
    if not density:
        return Sums((0.0, 0.0, deviance))
    weight = t.count * t.size
    values = [np.where(weight > 0, family.log_likelihood(t.y, m, weight, dispersion), 0.0) for m in (t.mu, mu)]
    return Sums((float(values[0].sum()), float(values[1].sum()), deviance))


def row_scores(t: Terms, U: Array) -> Array:
    """s = −a g u of each row (n, k); for classes the Kronecker product of g and u."""
    G = -t.size[:, None] * (t.g[:, :-1] if t.g.ndim == 2 else t.g[:, None])
    return (G[:, :, None] * U[:, None, :]).reshape(len(U), -1)


def leverages(t: Terms, white: Array) -> Array:
    """ℓ = a h ‖Bᵀu‖² of rows uᵀB."""
    return t.size * t.h * (white * white).sum(axis=1)


def meat(block: Block, point: Point, centre: Array, root: Array, power: int) -> Sums:
    """Σ f Bᵀs sᵀB/(1 − ℓ)^power of a block: scores in coordinates in which the information is the unit matrix."""
    X = block.X
    t, U = terms(block, point), design(X, centre, point.fit_intercept)
    S, weight = row_scores(t, U) @ root, t.count
    if power:
        weight = weight / np.maximum(1.0 - leverages(t, U @ root), np.finfo(np.float64).eps) ** power
    return Sums(((S * weight[:, None]).T @ S,))


class GroupSums(NamedTuple):
    """One vector for each distinct group."""

    groups: Array
    sums: Array

    def merge(self, other: "GroupSums") -> "GroupSums":
        """The union of the groups; vectors of common ones add."""
        return sum_by(np.concatenate([self.groups, other.groups]), np.concatenate([self.sums, other.sums]))


def sum_by(labels: Array, rows: Array) -> GroupSums:
    """The sums of rows with equal labels."""
    groups, where = np.unique(labels, return_inverse=True)
    member = csr_array((np.ones(len(where)), (where, np.arange(len(where)))), shape=(len(groups), len(where)))
    return GroupSums(groups, member @ rows)


def group_scores(block: Block, point: Point, centre: Array, root: Array) -> GroupSums:
    """For each group (Σ f, Σ f Bᵀs)."""
    X, groups = block.X, block.groups
    if groups is None:
        raise InputError("Clustered standard errors need groups; a batch is (X, y, sample_weight, offset, groups).")
    t = terms(block, point)
    S = row_scores(t, design(X, centre, point.fit_intercept)) @ root
    return sum_by(to_numpy(groups), t.count[:, None] * np.column_stack([np.ones(len(S)), S]))


def residuals(t: Terms, family: Any, kind: str, leverage: Any, dispersion: float, left_out: Any) -> Array:
    """Residuals of a kind; `left_out` is (deviance, df) where the dispersion is to be estimated without the row."""
    if kind == "response":
        return t.y - t.mu
    if kind == "working":
        return -t.g / t.h
    if kind == "pearson":
        return pearson(t, family)
    squared = t.size * row_deviance(family, t.y, t.mu)
    sign = np.sign(t.y - t.mu)
    if kind == "deviance":
        return sign * np.sqrt(squared)
    rest = 1.0 - leverage
    with np.errstate(divide="ignore", invalid="ignore"):  # a row with leverage 1 has no residual to speak of
        r = pearson(t, family)
        if kind == "standardized":
            return r / np.sqrt(dispersion * rest)
        if left_out is not None:
            deviance, df = left_out
            dispersion = (deviance - squared / rest) / (df - 1.0)
        return sign * np.sqrt((squared + leverage * r * r / rest) / dispersion)
