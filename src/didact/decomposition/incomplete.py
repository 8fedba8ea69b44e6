r"""Models of hidden factors fitted to rows with missing values, by EM.

The missing values are further hidden variables. The E step computes the expected mean and covariance of the rows, given
the values that are there (`parts.statistics.gaps`); the M step is the model's own fit to them, as if they were those
of complete rows. So the likelihood of the values that are there never falls.

Little, Rubin (2019), Statistical Analysis with Missing Data, doi:10.1002/9781119482260; Ilin, Raiko (2010), Practical
approaches to principal component analysis in the presence of missing values, JMLR 11.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from didact.core.rows import Block, Rows
from didact.core.rows.memory import refuse_square
from didact.core.typing import Array
from didact.decomposition.spread import Spread, require_variance
from didact.engines.components.em import em
from didact.engines.components.gaps import expected_of, further, with_gaps
from didact.engines.components.leaps import Leaps
from didact.engines.components.low_rank import LowRank, Whitener
from didact.engines.loop.iterate import Report
from didact.engines.loop.result import Result
from didact.engines.spectral.principal import cases_of
from didact.parts.families.log_densities import gaussian_log_density
from didact.parts.statistics.components import Components, complete
from didact.parts.statistics.gaps import Parameters
from didact.parts.statistics.row_components import require_values, row_components

# The relative rounding error of a likelihood's squares, which are large where a column has little noise of its own.
ROUNDING = 1000 * float(np.finfo(float).eps)

LEAST_WITH_GAPS = 1e-6  # of the noise, relative to the variances of the values that are there
FLAT = 1e-6  # gain of a row's log-likelihood at which EM ends where the noise is at its least

# The parameters of greatest likelihood for a covariance, found from others that are near, and the covariance they give.
# Last come the variances of the values that are there, for the least noise: expected ones can shrink with it.
Model = Callable[[Spread, Any, Array], tuple[Any, LowRank]]


class Guess(NamedTuple):
    """Expected sums of the rows as a covariance, and the parameters that are fitted to it."""

    sums: Components
    spread: Spread
    theta: Any
    covariance: LowRank


def parameters(S: Spread, x: Any) -> tuple[Spread, Any]:
    """A covariance and what was fitted to it: S and x or, if x is a guess, its own."""
    return (x.spread, x.theta) if isinstance(x, Guess) else (S, x)


def fit_incomplete(rows: Rows, model: Model, tol: float, max_iter: int, report: Report) -> Result:
    """A `Guess` of greatest likelihood; the `value` is minus the log-likelihood of all rows, which stand for as many
    cases as their weights say, and EM ends where a step gains at most `tol`. If the noise has sunk to its least, as the
    factors fit all values, the likelihood is in units of that, and steps are as short: then it ends at `FLAT` a row."""
    refuse_square(rows.n_features, "use fewer columns, or fill the missing values first")
    cases, start = cases_of(rows), row_components(rows, "diagonal")
    require_values(start, rows)
    require_variance(start.scatter)
    scale, variances = cases / float(start.weight[0]), (start.scatter / start.present)[0]
    labelled = rows.only(_with_value).prepared(_of_one_class)
    S, incomplete = row_components(labelled, "full"), labelled.only(with_gaps)
    weight = scale * float(S.weight[0])

    def fitted(sums: Components, theta: Any = None) -> Guess:
        C = sums.covariances()[0]
        spread = Spread(weight=weight, mean=sums.mean[0], variances=np.diag(C).copy(), matrix=C, rows=None)
        return Guess(sums, spread, *model(spread, theta, variances))

    def expect(now: Guess) -> tuple[float, Components]:
        V = Whitener.of(now.covariance)
        precision = V.solve(np.eye(rows.n_features))
        theta = Parameters(S.labels, now.sums.mean, precision[None], np.array([V.log_det]))
        value, found = expected_of(incomplete, S, theta)
        return scale * value, found

    def blended(old: Guess, new: Guess, share: float) -> Guess:
        return fitted(further(old.sums, new.sums, share), new.theta)

    def watched(iteration: int, value: float, now: Guess) -> bool:
        values[:] = [values[1], value]
        return report(iteration, value, now) or (values[0] - value <= FLAT * weight and _noiseless(now, variances))

    def leap(now: Guess, sums: Components) -> Guess | None:
        found = leaps(now.sums, sums)
        return None if found is None else fitted(found, now.theta)

    first = complete(S.labels, S.weight, start.mean, S.weight[:, None, None] * np.diag(variances)[None], "full")
    values, leaps, m_step = [np.inf, np.inf], Leaps(first), lambda now, sums: fitted(sums, now.theta)
    result = em(expect, m_step, fitted(first), tol, max_iter, watched, blended, leap=leap)
    gain = weight * float((result.x.spread.variances / result.x.covariance.diagonal).sum())
    at_rest = result.optimality <= ROUNDING * gain or _noiseless(result.x, variances)
    return dataclasses.replace(result, status="converged") if at_rest and result.status == "no progress" else result


def _noiseless(now: Guess, variances: Array) -> bool:
    """Whether the noise of all columns is at its least."""
    return float(now.covariance.diagonal.sum()) <= (1.0 + 1e-9) * LEAST_WITH_GAPS * float(variances.sum())


def _of_one_class(block: Block) -> Block:
    return block._replace(y=np.zeros(len(block.X), np.int64))


def _with_value(X: Array) -> Any:
    """Which rows have a value: others say nothing, and only slow EM down."""
    return ~np.isnan(X).all(axis=1)


def factors_given(X: Array, mean: Array, loadings: Array, noise: Array, prior: Array) -> Array:
    """Factors (n, k) of rows by the values that are there: expected where `prior` is Φ⁻¹, where it is 0 Bartlett's."""
    b = (np.where(np.isnan(X), 0.0, X - mean) @ (loadings / noise).T)[:, :, None]
    precision = _precisions(X, loadings, noise, prior)
    return (np.linalg.solve(precision, b) if prior.any() else np.linalg.pinv(precision, hermitian=True) @ b)[:, :, 0]


def _precisions(X: Array, loadings: Array, noise: Array, prior: Array) -> Array:
    """Φ⁻¹ + ΛΨ⁻¹Λᵀ of the columns that each row has, (n, k, k)."""
    k = len(loadings)
    products = ((loadings / noise)[:, None] * loadings).reshape(k * k, len(noise))
    return (~np.isnan(X) @ products.T).reshape(len(X), k, k) + prior


def marginal_densities(X: Array, mean: Array, covariance: LowRank) -> Array:
    """log p of the values that are there, of each row."""
    noise, F = covariance
    there, prior = ~np.isnan(X), np.eye(F.shape[1])
    Z = factors_given(X, mean, F.T, noise, prior)
    rest = np.where(there, X - mean - Z @ F.T, 0.0)
    squares = rest**2 @ (1.0 / noise) + np.einsum("ij,ij->i", Z, Z)
    log_dets = there @ np.log(noise) + np.linalg.slogdet(_precisions(X, F.T, noise, prior))[1]
    return gaussian_log_density(squares, log_dets, there.sum(axis=1))


def in_slabs(fn: Callable[..., Array], X: Array, size: int, *args: Any) -> Array:
    """fn(X, *args) of so many rows at a time that `size` numbers for each of them fit into a cache."""
    step = max(1, (1 << 20) // max(size, 1))
    return np.concatenate([fn(X[a : a + step], *args) for a in range(0, len(X), step)])
