r"""Locally weighted regression: for every query point a polynomial of its own, fitted to the points around it.

.. math:: \hat y(x) = \beta_0,\quad
    \beta = \arg\min_\beta \sum_i w_i\,K\Big(\frac{\|x_i-x\|}{h(x)}\Big)\big(y_i - \beta^T\phi(x_i-x)\big)^2

with φ all monomials up to the degree, K the tricube :math:`(1-u^3)^3` on u < 1 or the Gaussian :math:`e^{-u^2/2}`, and
h(x) a number or the distance of the k-th nearest point (loess).

1. `fit` keeps the rows (sorted, if there is one feature); it has no parameters.
2. A bandwidth is chosen by leave-one-out errors, :math:`(y_i - \hat y_i)/(1 - L_{ii})` with L the matrix that takes y
   to the fitted values: one fit for each candidate, not n.
3. A robust round fits the rows and gives row i the factor :math:`(1-(r_i/6m)^2)^2`, m the median of the :math:`|r_i|`.

Cleveland (1979), Robust locally weighted regression and smoothing scatterplots, doi:10.1080/01621459.1979.10481038;
Cleveland, Devlin (1988), doi:10.1080/01621459.1988.10478639.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import float_type, like
from didact.core.errors import ParameterError
from didact.core.estimator import Estimator
from didact.core.parameters import above, array_like, attr, is_bool, none, one_of, param, whole
from didact.core.progress import FitProgress
from didact.core.rows import Rows
from didact.core.rows.gather import dense
from didact.core.rows.memory import refuse_square
from didact.core.typing import Array
from didact.engines.smoothing.local_regression import (
    LocalPoints,
    LocalRule,
    bisquare_weights,
    local_left_out,
    local_smooth,
)
from didact.parts.statistics.weights import in_cases

CANDIDATES = 12  # bandwidths, or numbers of neighbours, that are tried by default


def stored(rows: Rows) -> LocalPoints:
    """The rows as a smoother wants them: in float64, and sorted if there is one feature."""
    X, y, w = (column.astype(np.float64, copy=False) for column in rows.gather())
    order = np.argsort(X[:, 0], kind="stable") if X.shape[1] == 1 else slice(None)
    return LocalPoints(X[order], y[order], in_cases(w)[0][order], np.ones(len(y)))


def predict_smooth(X: Any, kernel: str, degree: int, bandwidth: float, neighbors: float, scale: Array,
                   *columns: Array) -> Any:  # fmt: skip
    """Local fits at rows X; what is not finite is refused by the caller."""
    points = LocalPoints(*columns)
    points = points._replace(X=points.X / scale)
    Q = np.nan_to_num(dense(X, np.float64) / scale, posinf=0.0, neginf=0.0)
    return like(local_smooth(points, Q, LocalRule(kernel, degree, bandwidth, neighbors)).value.astype(float_type(X)), X)


def choose(points: LocalPoints, rules: list[LocalRule], robust: bool, report: Any) -> tuple[LocalRule, Array]:
    """The rule of least mean leave-one-out error: squared, or absolute where outliers are expected."""
    errors = np.empty(len(rules))
    for k, rule in enumerate(rules):
        error = np.abs(points.y - local_left_out(points, local_smooth(points, points.X, rule)))
        errors[k] = np.average(error if robust else error**2, weights=points.w)
        if report(k + 1, float(errors[: k + 1].min()), None):
            errors[k + 1 :] = np.inf
            break
    return rules[int(np.argmin(errors))], errors


class LocallyWeightedRegression(RegressorMixin, Estimator):
    r"""Regression by local constants, lines or parabolas; LOWESS and loess.

    .. math:: \hat y(x) = \beta_0,\quad
        \beta = \arg\min_\beta \sum_i w_i\,K(\|x_i-x\|/h)\,\big(y_i - \beta^T\phi(x_i-x)\big)^2

    Notes
    -----
    Cost of a prediction: with one feature and the tricube O(log n), whatever the span, as long windows are summed from
    moments; else the k points around it, times the square of the number of local coefficients, and with several
    features also all n distances, unless k is small. All rows are kept, dense and in memory. Sample weights are turned
    into numbers of rows: in units of the smallest one above zero if all are whole multiples of it, else so that their
    mean is 1. Shape of computation: pairs. A fixed bandwidth is widened where it holds fewer points than a local fit
    has coefficients; a fit that its points still do not determine leaves out its last terms.

    References
    ----------
    Cleveland (1979), doi:10.1080/01621459.1979.10481038; Cleveland, Devlin (1988), doi:10.1080/01621459.1988.10478639.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.linear_model import LocallyWeightedRegression
    >>> x = np.linspace(0.0, 6.0, 200)
    >>> model = LocallyWeightedRegression(span=0.2, degree=2).fit(x[:, None], np.sin(x))
    >>> model.predict([[1.0], [4.0]]).round(3), np.sin([1.0, 4.0]).round(3)
    (array([ 0.841, -0.757]), array([ 0.841, -0.757]))
    """

    # The default span takes two thirds of all rows for each prediction: minutes on the largest of the checks.
    _test_params = [{"span": 30}, {"span": 40, "degree": 0, "robust_rounds": 1}]

    degree: int = param(1, whole(0), "Degree of the local polynomials: 0, 1 or 2.")
    kernel: str = param("tricube", one_of("tricube", "gaussian"), "Weights by distance: compact support, or Gaussian.")
    span: Any = param(
        2 / 3,
        [above(0), one_of("cv")],
        "Neighbours that set the bandwidth: a share of the rows, a whole number of rows, or 'cv' to choose one.",
    )
    bandwidth: Any = param(
        None,
        [above(0), one_of("cv"), none],
        "Fixed bandwidth, in units of the features: the support of the tricube, the standard deviation of the "
        "Gaussian; 'cv' to choose one. It replaces span.",
    )
    grid: Any = param(None, [array_like, none], "Candidates for 'cv', spans or bandwidths; None: a geometric grid.")
    robust_rounds: int = param(0, whole(0), "Rounds in which rows with large residuals lose weight.")
    scale: bool = param(False, is_bool, "Whether to divide features by their standard deviations first.")

    _attrs = [
        attr("X_fit_", "(n_samples, n_features)", "The rows of positive weight, sorted if there is one feature."),
        attr("y_fit_", "(n_samples,)", "Their targets."),
        attr("sample_weight_", "(n_samples,)", "Their weights."),
        attr("robustness_", "(n_samples,)", "Their factors from robust rounds: 0 for outliers, 1 without such rounds."),
        attr("scale_", "(n_features,)", "What features are divided by."),
        attr("bandwidth_", "float", "The fixed bandwidth, given or chosen; 0 if neighbours set it."),
        attr("neighbors_", "float", "The number of neighbours, given or chosen; 0 if the bandwidth is fixed."),
        attr("grid_", "ndarray", "Candidates of cross-validation.", when="span='cv'"),
        attr("cv_errors_", "ndarray", "Their mean leave-one-out errors, squared or robust.", when="span='cv'"),
    ]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "LocallyWeightedRegression":
        """Keep the rows X with targets y, choose the bandwidth, find outliers; sample_weight counts rows."""
        self._check()
        rows = self._rows(X, y, sample_weight, target="numeric")
        points = stored(rows)
        self.scale_ = _deviations(points) if self.scale else np.ones(rows.n_features)
        points = points._replace(X=points.X / self.scale_)
        rules = self._rules(points)
        search = len(rules) if len(rules) > 1 else 0
        with FitProgress(self, search + self.robust_rounds, X=X, y=y) as progress:
            rule, errors = choose(points, rules, self.robust_rounds > 0, progress.report) if search else (rules[0], [])
            points = self._robust(points, rule, search, progress.report)
        self._keep(points, rule, rules, errors)
        return self

    def _check(self) -> None:
        if self.degree > 2:
            raise ParameterError(f"degree is 0, 1 or 2, not {self.degree!r}.")
        if isinstance(self.span, Real) and not isinstance(self.span, Integral) and float(self.span) > 1:
            raise ParameterError(f"span is a share of the rows up to 1, or a whole number of rows, not {self.span!r}.")

    def _robust(self, points: LocalPoints, rule: LocalRule, done: int, report: Any) -> LocalPoints:
        """The points with the weights of the last robust round."""
        for k in range(self.robust_rounds):
            residuals = points.y - local_smooth(points, points.X, rule).value
            points = points._replace(factors=bisquare_weights(residuals, points.w))
            if report(done + k + 1, float(np.average(np.abs(residuals), weights=points.w)), None):
                break
        return points

    def _keep(self, points: LocalPoints, rule: LocalRule, rules: list[LocalRule], errors: Any) -> None:
        self.X_fit_, self.y_fit_ = points.X * self.scale_, points.y
        self.sample_weight_, self.robustness_ = points.w, points.factors
        self.bandwidth_, self.neighbors_ = rule.bandwidth, rule.neighbours
        if len(errors):
            self.grid_, self.cv_errors_ = np.asarray([r.bandwidth or r.neighbours for r in rules]), errors

    def _rules(self, points: LocalPoints) -> list[LocalRule]:
        """The rule, or all candidates for it."""
        total, base = float(points.w.sum()), LocalRule(self.kernel, int(self.degree), 0.0, 0.0)
        terms = base.terms(points.X.shape[1])
        refuse_square(terms, "use degree=0, or fewer columns")
        least = min(2.0 + terms, total)
        fixed = self.bandwidth is not None
        wanted = self.bandwidth if fixed else self.span
        if wanted == "cv":
            wanted = self._grid(points, base, least, total)
        wanted = list(np.atleast_1d(np.asarray(wanted, object)))
        if fixed:
            return [base._replace(bandwidth=float(h)) for h in wanted]
        counts = [k if isinstance(k, Integral) else int(k * total + 1e-10) for k in wanted]
        return [base._replace(neighbours=min(max(2.0, float(k)), total)) for k in counts]

    def _grid(self, points: LocalPoints, base: LocalRule, least: float, total: float) -> Any:
        """Candidates: as given, or from the fewest neighbours that determine a fit to all of them."""
        fixed = self.bandwidth is not None
        if self.grid is not None:
            grid = list(self.grid)
            good = all(
                isinstance(g, Real) and float(g) > 0 and (fixed or isinstance(g, Integral) or g <= 1) for g in grid
            )
            if not grid or not good:
                raise ParameterError("grid is a list of bandwidths above 0, or of spans: shares up to 1, or numbers.")
            return grid
        counts = np.unique(np.geomspace(2 * least, total, CANDIDATES).astype(int)) if 2 * least < total else [total]
        if not fixed:
            return [int(k) for k in counts]
        extent = float(np.sqrt((np.ptp(points.X, axis=0) ** 2).sum())) or 1.0
        share = (2 * least / total) ** (1 / points.X.shape[1])
        return np.geomspace(0.5 * extent * min(share, 1.0), extent, CANDIDATES)

    def predict(self, X: Any) -> Any:
        """The local fit at each row of X."""
        self._after_fit()
        rule = self.kernel, self.degree, self.bandwidth_, self.neighbors_, self.scale_
        return self._map_rows(X, predict_smooth, *rule, self.X_fit_, self.y_fit_, self.sample_weight_, self.robustness_)

    def leave_one_out(self) -> Array:
        """Predictions of y_fit_ without the row itself, in closed form: windows and factors stay as they are."""
        check_is_fitted(self)
        points = LocalPoints(self.X_fit_ / self.scale_, self.y_fit_, self.sample_weight_, self.robustness_)
        rule = LocalRule(self.kernel, self.degree, self.bandwidth_, self.neighbors_)
        return local_left_out(points, local_smooth(points, points.X, rule))


def _deviations(points: LocalPoints) -> Array:
    """Standard deviations of the features; 1 for constant ones."""
    centred = points.X - np.average(points.X, axis=0, weights=points.w)
    size = np.sqrt(np.average(centred**2, axis=0, weights=points.w))
    return np.where(size > 1e-12 * np.abs(points.X).max(axis=0), size, 1.0)
