r"""From a fitted model and its rows to everything that statistical inference rests on.

1. One pass: information, score, deviance and Pearson's χ² at the fitted coefficients.
2. A root B of the inverse information BBᵀ: Cholesky, or a second pass of triangular factors (TSQR) where the condition
   is poor. Covariance φ·BBᵀ, or the sandwich B·M·Bᵀ with M, the scores' second moments, from one more pass.
3. The null model (a constant and the offset), then one pass for both log-likelihoods.

Cost n p² + p³; all sums merge over blocks of rows, so rows may be in memory, in batches or on a cluster.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from didact.core.errors import InputError, ParameterError
from didact.core.overflow import refuse_overflow
from didact.core.rows import Rows
from didact.core.rows.memory import refuse_square
from didact.core.typing import Array
from didact.engines.linear.least_squares import DEPENDENT_COLUMN, solve_normal
from didact.linear_model.glm_deviance import null_constant
from didact.linear_model.inference.influence import (
    Point,
    Totals,
    group_scores,
    information_factor,
    likelihoods,
    meat,
    precision_information,
    softmax_information,
    totals,
)
from didact.parts.families import Beta

FLAT = 1e-10  # a column whose spread is this share of its size counts as constant
ASTRAY = 0.1  # standard errors between the coefficients and the optimum of the rows: more is another data set
HETEROSCEDASTIC = {"HC0": 0, "HC1": 0, "HC2": 1, "HC3": 2}


class Options(NamedTuple):
    """What the user asked for."""

    covariance: str = "model"
    dispersion: Any = None
    estimated: bool = False  # whether the family has a parameter that was estimated beside the coefficients
    null_constant: bool = True  # whether the null model has a constant


class Facts(NamedTuple):
    """The numbers of one fit; matrices refer to rows u = (1, x − centre)."""

    n: float
    k: int
    centre: Array
    root: Array  # B, with BBᵀ the inverse information at dispersion 1
    spread: Array  # D, with DDᵀ the covariance
    dispersion: float
    estimated: bool
    df_inference: float
    deviance: float
    null_deviance: float
    log_likelihood: float
    null_log_likelihood: float


def facts(rows: Rows, point: Point, options: Options) -> Facts:
    """All sums of a fitted model over its rows."""
    refuse_square(rows.n_features, "choose some of the columns")
    total = rows.reduce(totals, point)
    n, weight, _, deviance, chi, _, _ = total.sums.parts
    if weight <= 0:
        raise InputError("All sample weights are zero.")
    refuse_overflow(rows, total)
    centre, root, score = (_softmax_root if point.several else _root)(rows, total, point)
    k = len(root)
    free = n * len(point.table) - k  # a row of K classes has K − 1 numbers that can vary
    dispersion, estimated = _dispersion(options.dispersion, point, chi, free)
    _check_optimum(root, score, dispersion, total)
    spread, df = _spread(rows, point, options, centre, root, dispersion, n)
    if not (estimated and point.gaussian):
        df = np.inf
    null = _null_point(rows, point, total, options.null_constant)
    null_deviance, likelihood, null_likelihood = _likelihoods(rows, point, null, dispersion, estimated, deviance, n)
    return Facts(
        n=n, k=k, centre=centre, root=root, spread=spread, dispersion=dispersion, estimated=estimated, df_inference=df,
        deviance=deviance, null_deviance=null_deviance, log_likelihood=likelihood, null_log_likelihood=null_likelihood,
    )  # fmt: skip


def _root(rows: Rows, total: Totals, point: Point) -> tuple[Array, Array, Array]:
    """Centre, root of the inverse information and score of one linear predictor."""
    S = total.moments
    sizes = np.sqrt(np.diag(S.xx) + S.weight * S.mean_x**2)
    S = S if point.fit_intercept else S.about_zero()
    p = len(sizes)
    with np.errstate(over="ignore", invalid="ignore"):
        inverse, safe = solve_normal(S.xx, np.eye(p))
    if not safe or bool((np.sqrt(np.diag(S.xx)) <= FLAT * sizes).any()):
        R = rows.reduce(information_factor, point, S.mean_x).R[:p, :p]
        scaled = R / np.where(sizes > 0, sizes, 1.0)
        rank = int((linalg.svdvals(scaled) > DEPENDENT_COLUMN).sum())
        if rank < p:
            raise InputError(_deficient(rank, p, point.fit_intercept))
        root = linalg.solve_triangular(scaled, np.eye(p)) / sizes[:, None]
    else:
        if not np.isfinite(inverse).all():
            raise InputError("Values of X or weights are so small that their squares vanish: rescale them.")
        root = linalg.cholesky(inverse, lower=True)
    if not point.fit_intercept:
        return S.mean_x, root, S.xy[:, 0]
    score = np.append(S.weight * S.mean_y, S.xy[:, 0])
    return S.mean_x, linalg.block_diag(1.0 / np.sqrt(S.weight), root), score


def _softmax_root(rows: Rows, total: Totals, point: Point) -> tuple[Array, Array, Array]:
    """Centre, root of the inverse information and score of K−1 linear predictors."""
    centre = total.moments.mean_x * point.fit_intercept
    score, H = rows.reduce(softmax_information, point, centre).parts
    inverse, safe = solve_normal(H, np.eye(len(H)))
    if safe:
        return centre, linalg.cholesky(inverse, lower=True), score
    scale = np.sqrt(np.maximum(np.diag(H), np.finfo(float).tiny))
    values, V = linalg.eigh(H / scale[:, None] / scale)
    rank = int((values > len(H) * np.finfo(float).eps).sum())
    if rank < len(H):
        raise InputError(
            f"The information matrix has rank {rank} < {len(H)}: columns of X depend on each other, or the classes can "
            "be separated. Drop columns, or set a penalty and do without inference."
        )
    return centre, V / np.sqrt(values) / scale[:, None], score


def _deficient(rank: int, p: int, fit_intercept: bool) -> str:
    where = " beside the intercept" if fit_intercept else ""
    return (
        f"X has rank {rank} < {p}{where}, so its coefficients cannot be told apart and have no standard errors: drop "
        "columns that are constant or depend on others."
    )


def _dispersion(asked: Any, point: Point, chi: float, df: float) -> tuple[float, bool]:
    """The dispersion, and whether it was estimated from Pearson's χ²."""
    if asked is None:
        asked = 1.0 if point.family.fixed_dispersion else "estimate"
    if asked != "estimate":
        if isinstance(asked, str) or not asked > 0:
            raise ParameterError(f"dispersion must be None, 'estimate' or a positive number, got {asked!r}.")
        return float(asked), False
    if df <= 0:
        raise InputError("There are no more rows than coefficients, so the dispersion cannot be estimated.")
    return chi / df, True


def _check_optimum(root: Array, score: Array, dispersion: float, total: Totals) -> None:
    """Refuse rows whose likelihood has its maximum elsewhere, by more than rounding and the solver's tolerance."""
    distance, slack = float(np.sum((root.T @ score) ** 2)), 1e-10 * total.sums.parts[5]
    if distance > ASTRAY**2 * dispersion + slack:
        raise InputError(
            f"The coefficients are {np.sqrt(distance / dispersion):.2g} standard errors away from the best ones for "
            "these rows: pass the rows, sample_weight and offset of the fit, and if it did not converge, fit with a "
            "smaller tol or a larger max_iter."
        )


def _spread(
    rows: Rows, point: Point, options: Options, centre: Array, root: Array, dispersion: float, n: float
) -> tuple[Array, float]:
    """A root of the coefficients' covariance, and the degrees of freedom of their t statistics."""
    kind, k = options.covariance, len(root)
    joint = options.estimated and isinstance(point.family, Beta)
    if kind == "model":
        return np.sqrt(dispersion) * (_beside_precision(rows, point, centre, root) if joint else root), n - k
    if joint:
        raise ParameterError("A beta regression with estimated precision has the model's covariance only.")
    if kind == "clustered":
        return _clustered(rows, point, centre, root, n)
    power = HETEROSCEDASTIC[kind]
    if power and point.several:
        raise ParameterError(f"{kind} needs leverages, which several classes do not have: use HC0, HC1 or clustered.")
    (M,) = rows.reduce(meat, point, centre, root, power).parts
    values, V = linalg.eigh(M * (n / (n - k) if kind == "HC1" else 1.0))
    return root @ (V * np.sqrt(np.maximum(values, 0.0))), n - k


def _clustered(rows: Rows, point: Point, centre: Array, root: Array, n: float) -> tuple[Array, float]:
    """Sandwich of the groups' summed scores, with the factor G/(G−1) · (n−1)/(n−k) for few groups."""
    sums = rows.reduce(group_scores, point, centre, root).sums
    S = sums[sums[:, 0] > 0, 1:]
    G, k = len(S), len(root)
    if G < 2:
        raise InputError("Clustered standard errors need at least two groups.")
    factor = G / (G - 1) * (n - 1) / (n - k)
    return np.sqrt(factor) * (root @ linalg.qr(S, mode="r")[0][: min(G, k)].T), G - 1.0


def _beside_precision(rows: Rows, point: Point, centre: Array, root: Array) -> Array:
    """A root of the coefficients' block of the inverse joint information with the precision (Sherman–Morrison)."""
    cross, own = rows.reduce(precision_information, point, centre).parts
    half = root.T @ cross
    return np.column_stack([root, root @ half / np.sqrt(own - half @ half)])


def _null_point(rows: Rows, point: Point, total: Totals, constant: bool) -> Point:
    """The model of a constant (and the offset) alone, by maximum likelihood."""
    table = np.zeros_like(point.table)
    if not constant:
        return point._replace(table=table)
    _, weight, y, *_, offset = total.sums.parts
    start = null_constant(rows, point.loss, weight, y, offset > 0)
    table[:, -1] = start[:-1] - start[-1] if point.several else start
    return point._replace(table=table)


def _likelihoods(
    rows: Rows, point: Point, null: Point, dispersion: float, estimated: bool, deviance: float, n: float
) -> tuple[float, float, float]:
    """Null deviance, log-likelihood and null log-likelihood; NaN where the family has no density."""
    profile = estimated and point.gaussian
    density = not profile and dispersion > 0 and _has_density(point.family)
    value, null_value, null_deviance = rows.reduce(likelihoods, point, null, dispersion, density).parts
    if profile:  # at the variance that maximises it
        values = [_profile(deviance, n), _profile(null_deviance, n)]
        return null_deviance, values[0], values[1]
    return (null_deviance, value, null_value) if density else (null_deviance, np.nan, np.nan)


def _profile(deviance: float, n: float) -> float:
    """The normal log-likelihood at variance deviance/n."""
    return -0.5 * n * float(np.log(2.0 * np.pi * deviance / n) + 1.0) if deviance > 0 else np.inf


def _has_density(family: Any) -> bool:
    try:
        family.log_likelihood(np.full((1, 2), 0.5), np.full((1, 2), 0.5), np.ones(1))
    except ParameterError:
        return False
    return True
