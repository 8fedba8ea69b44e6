r"""What mixtures share: the start, restarts, EM, posteriors of components, and what is said of a fit.

1. One pass gives the total weight and the means of the columns. 2. For each start, one pass gives the statistic of rows
in the components of their nearest centres (`engines.components.starts`), and its M step the first parameters. 3. EM:
one pass a step. 4. The best start counts.
"""

from typing import Any

import numpy as np
from sklearn.base import DensityMixin

from didact.core.backend import float_type, to_numpy
from didact.core.errors import InputError
from didact.core.estimator import Estimator, report_convergence, warn_convergence
from didact.core.parameters import at_least, attr, is_bool, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import streams
from didact.core.rows import Batches, Block, Rows, is_dask
from didact.core.threads import blas_for
from didact.core.typing import Array
from didact.engines.components.mixture import fit_mixture
from didact.engines.components.posterior import log_density, log_posterior, most_probable, posterior
from didact.engines.components.starts import (
    COMPONENT_NUMBERS,
    check_codes,
    coded_means,
    nearest_sums,
    placed_by_codes,
    random_shares_of,
    start_centres,
)
from didact.engines.loop.result import Result
from didact.parts.statistics.moments import Sums
from didact.parts.statistics.row_components import require_values, row_components


class _Mixture(DensityMixin, Estimator):
    """A mixture of components of one family, fitted by EM. Abstract."""

    _sparse = False
    _missing = True
    _test_clusters = True

    n_components: int = param(1, whole(1), "Number K of components.")
    tol: float = param(1e-3, at_least(0), "Gain of the mean log-likelihood of a row at which EM ends.")
    max_iter: int = param(100, whole(0), "Most steps of EM from a start.")
    n_init: int = param(1, whole(1), "Number of starts; the best counts, and one without collapsed components first.")
    init_params: str = param(
        "kmeans",
        one_of("kmeans", "k-means++", "random", "random_from_data"),
        "Start: rows belong to the nearest centre of k-means, k-means++ or rows drawn, or in random parts to all.",
    )
    random_state: Any = param(None, random_state, "Seed of the starts, and of `sample`.")
    warm_start: bool = param(False, is_bool, "Whether to begin with the parameters of the last fit.")
    hard: bool = param(
        False, is_bool, "Whether rows belong wholly to their most probable component (classification EM)."
    )
    use_labels: bool = param(
        False,
        is_bool,
        "Whether y holds the number of each row's component, and -1 where it is not known; otherwise y is ignored.",
    )

    _attrs = [
        attr("weights_", "(n_components,)", "Share π of each component."),
        attr("means_", "(n_components, n_features)", "Means of the components."),
        attr("converged_", "bool", "Whether the last step of the best start gained less than tol."),
        attr("n_iter_", "int", "Steps of EM from the best start."),
        attr(
            "lower_bound_", "float", "Mean log-likelihood of a row, at the end of the best start; if hard, its bound."
        ),
        attr("lower_bounds_", "list of float", "The same after each step: it never falls."),
    ]

    @property
    def _family(self) -> Any:
        raise NotImplementedError

    def _attributes(self, theta: Any, dtype: Any) -> dict[str, Any]:
        """The fitted attributes that hold parameters."""
        raise NotImplementedError

    def _parameters(self) -> Any:
        """The parameters, read from fitted attributes."""
        raise NotImplementedError

    def _given(self, theta: Any) -> Any:
        """The start with what the user has given in place of what was found."""
        return theta

    def _faults(self, theta: Any) -> Array:
        """Which components have collapsed, (K,)."""
        return np.zeros(self.n_components, np.bool_)

    def _centres(self) -> Array | None:
        """Centres that the user has given."""
        return None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to rows X; sample_weight counts rows, and y is ignored unless `use_labels`."""
        again = self.warm_start and hasattr(self, "converged_")
        rows = self._coded_rows(X, y, sample_weight)
        with blas_for(rows.n_features):  # threads of BLAS that wait for more would take the cores from the passes
            return self._fitted(rows, again, X, y)

    def _fitted(self, rows: Rows, again: bool, X: Any, y: Any) -> Any:
        """Set the attributes of the best of all starts."""
        total, fill = self._overview(rows)
        dtype, runs = float_type(rows), 1 if again else self.n_init
        attributes = lambda theta: self._attributes(theta, dtype)  # noqa: E731
        results: list[Result] = []
        with FitProgress(self, runs * self.max_iter, X=X, y=y, attributes=attributes) as progress:
            for rng in streams(self.random_state, runs):
                start = self._parameters() if again else self._start(rows, rng, fill)
                how = total, self.tol, self.max_iter, progress.report, self.hard
                results.append(fit_mixture(rows, self._family, start, *how))
        best = min(results, key=lambda result: (bool(self._faults(result.x).any()), result.value))
        return self._finish(best, dtype)

    def _finish(self, best: Result, dtype: Any) -> Any:
        self.__dict__.update(self._attributes(best.x, dtype))
        self.lower_bounds_ = [-float(value) for value in best.history[1:]]
        self.lower_bound_, self.converged_ = -float(best.value), best.converged
        self.n_iter_ = int(best.n_iter)
        if self.max_iter > 0:
            report_convergence(self, best)
        self._report_faults(best.x)
        return self

    def _report_faults(self, theta: Any) -> None:
        bad = np.flatnonzero(self._faults(theta))
        if len(bad):
            named = ", ".join(f"{k} (weight {theta.weights[k]:.3g})" for k in bad[:5]) + (", …" if len(bad) > 5 else "")
            warn_convergence(
                self,
                f"{len(bad)} of {len(theta.weights)} components collapsed onto equal rows or a plane, or have no rows "
                f"left, and only reg_covar keeps their covariances regular: component {named}. Take fewer components, "
                "more starts (n_init), a simpler covariance_type, or a larger reg_covar.",
            )

    def _coded_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """The rows, with codes of components in place of y."""
        if not self.use_labels:
            return self._rows(X, None, sample_weight, target="none")
        if not (isinstance(X, Batches) or is_dask(X)):  # whose y comes in blocks
            require_numbers(y, self.n_components)
        rows = self._rows(X, y, sample_weight, target="numeric")
        return rows.prepared(_with_codes, self.n_components)

    def _overview(self, rows: Rows) -> tuple[float, Array]:
        """The total weight and the means of the columns; refuses too few rows and columns without any value."""
        S = row_components(rows.prepared(_without_codes), "diagonal")
        require_values(S, rows)
        (n,) = rows.reduce(count_rows).parts
        if n < self.n_components:
            raise InputError(
                f"Expected n_samples >= n_components but got n_components = {self.n_components}, n_samples = {n}."
            )
        return float(S.weight[0]), S.mean[0]

    def _start(self, rows: Rows, rng: np.random.Generator, fill: Array) -> Any:
        """The first parameters of a start."""
        K, family, centres = self.n_components, self._family, self._centres()
        if centres is None and self.init_params == "random":
            S = rows.reduce(random_shares_of, family, int(rng.integers(1 << 62)), K, fill)
            return self._given(family.maximize(None, S))
        if centres is None:
            centres = start_centres(rows, K, self.init_params, rng, fill)
            if self.use_labels:
                centres = placed_by_codes(centres, rows.reduce(coded_means, K))
        S = rows.reduce(nearest_sums, family, centres, fill)
        S = S._replace(mean=np.where(S.weight[:, None] > 0, S.mean, centres))
        return self._given(family.maximize(None, S))

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and the most probable component of each row."""
        return self.fit(X, y, sample_weight).predict(X)

    def _scores(self) -> tuple[Any, ...]:
        fn, args = self._family.scores(self._parameters())
        return fn, *args

    def predict(self, X: Any) -> Any:
        """The number of the most probable component of each row."""
        return self._after_fit()._map_rows(X, most_probable, np.arange(len(self.weights_)), *self._scores())

    def predict_proba(self, X: Any) -> Any:
        """The probability of each component for each row, (n, K)."""
        return self._after_fit()._map_rows(X, posterior, *self._scores())

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the probabilities of the components."""
        return self._after_fit()._map_rows(X, log_posterior, *self._scores())

    def score_samples(self, X: Any) -> Any:
        """The log density of each row."""
        return self._after_fit()._map_rows(X, log_density, *self._scores())

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean log density of the rows X."""
        value, weight = self._sums(X, sample_weight)
        return value / weight

    def _sums(self, X: Any, sample_weight: Any = None) -> tuple[float, float]:
        """The sum of log densities, and of weights."""
        rows = self._after_fit()._rows(X, None, sample_weight, target="none", reset=False)
        fn, *args = self._scores()
        value, weight = rows.reduce(summed, fn, args).parts
        return float(value), float(weight)

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Bayes' information criterion on rows X, −2 ℓ + m log n with m free parameters: lower is better."""
        value, weight = self._sums(X, sample_weight)
        return float(-2 * value + self._n_parameters() * np.log(weight))

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Akaike's information criterion on rows X, −2 ℓ + 2 m with m free parameters: lower is better."""
        return -2 * self._sums(X, sample_weight)[0] + 2 * self._n_parameters()

    def _n_parameters(self) -> int:
        raise NotImplementedError

    def _drawn(self, n_samples: int, seed: Any) -> tuple[Any, Array]:
        """A generator, and how many of some rows are drawn from each component."""
        self._after_fit()
        if n_samples < 1:
            raise InputError(f"Invalid value for 'n_samples': {n_samples} . The sampling requires at least one sample.")
        rng = streams(self.random_state if seed is None else seed, 1)[0]
        shares = np.asarray(self.weights_, np.float64)
        return rng, rng.multinomial(n_samples, shares / shares.sum())


def require_numbers(y: Any, count: int) -> None:
    """Refuse labels that are missing, or names."""
    if y is None:
        raise InputError(f"y is None, and with use_labels=True {COMPONENT_NUMBERS.format(count - 1)}.")
    values = np.asarray(to_numpy(y))
    if values.dtype.kind in "OUS":
        for row, value in enumerate(values.ravel()):
            if isinstance(value, (str, bytes)):
                known = COMPONENT_NUMBERS.format(count - 1)
                raise InputError(f"{known}; it holds {str(value)!r} in row {row}: number the components first.")


def _without_codes(block: Block) -> Block:
    return Block(block.X, None, block.weight)


def _with_codes(block: Block, count: int) -> Block:
    codes = np.asarray(to_numpy(block.y), np.float64)
    check_codes(codes, count)
    return block._replace(y=codes.astype(np.int64))


def count_rows(block: Block) -> Sums:
    """The number of rows with weight."""
    return Sums((block.X.shape[0] if block.weight is None else int((to_numpy(block.weight) > 0).sum()),))


def summed(block: Block, fn: Any, args: Any) -> Sums:
    """The sum of log densities, and of weights."""
    each = to_numpy(log_density(block.X, fn, *args)).astype(np.float64)
    if block.weight is None:
        return Sums((float(each.sum()), float(len(each))))
    w = to_numpy(block.weight).astype(np.float64)
    return Sums((float(w @ each), float(w.sum())))
