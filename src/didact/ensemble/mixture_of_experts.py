r"""Mixture of experts: a softmax network hands each row to linear or logistic models, and both are learnt by EM.

.. math:: p(y\mid x) = \sum_m g_m(x)\,p_m(y\mid x),\qquad g(x) = \mathrm{softmax}(Vx + v_0)

The E step finds how much each expert answers for each row, the M step fits experts and gate to that; the likelihood
never falls. Other than with clusters of x alone, the regions are chosen so that the experts fit within them.

Jacobs, Jordan, Nowlan, Hinton (1991), doi:10.1162/neco.1991.3.1.79; Jordan, Jacobs (1994),
doi:10.1162/neco.1994.6.2.181.
"""

from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if

from didact.core.backend import float_type, to_numpy
from didact.core.errors import InputError
from didact.core.estimator import Estimator, report_convergence
from didact.core.overflow import refuse_overflow
from didact.core.parameters import at_least, attr, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import streams
from didact.core.rows import Block, MemoryRows, Rows
from didact.core.rows.memory import require_finite
from didact.core.typing import Array
from didact.engines.components.em import em
from didact.engines.components.experts import Frame, Mixture, expectation, improved, log_softmax, penalty
from didact.engines.loop.result import Result
from didact.parts.statistics.counts import label_counts
from didact.parts.statistics.moments import moments

FAR = 8.0  # standard deviations along a direction of length 1 that the first gates still part without harm
EQUAL = 16 * np.finfo(float).eps  # relative deviation of equal values from their mean
WIDTH = 0.5  # how sharply the first gates part the rows, in standard deviations


def frame_of(rows: Rows, classify: bool) -> tuple[Frame, float, Array]:
    """How to standardise the rows, their weight, and the first principal direction of the standardised rows.

    That has length 1, or less where rows spread more than `FAR` along it: gates that are too sharp learn nothing.
    """
    classes = rows.reduce(label_counts).values if classify else None
    rows = rows.prepared(_codes, classes) if classify else rows
    if rows.is_wide:
        return _wide_frame(rows, classes)
    S = rows.reduce(moments)
    scale = _scales(rows, np.diag(S.xx) / S.weight)
    values, vectors = np.linalg.eigh(S.xx / scale[:, None] / scale)
    first = vectors[:, -1] * np.sign(vectors[np.argmax(np.abs(vectors[:, -1])), -1])
    first = first / max(1.0, np.sqrt(max(values[-1], 0.0) / S.weight) / FAR)
    spread = _scales(rows, S.yy / S.weight)[0]
    return (
        Frame(mean=S.mean_x, scale=scale, centre=float(S.mean_y[0]), spread=float(spread), classes=classes),
        S.weight,
        first,
    )


def _wide_frame(rows: Rows, classes: Array | None) -> tuple[Frame, float, Array]:
    """`frame_of` for more columns than rows: by an SVD (n²p), with directions in the span of the centred rows."""
    X, y, w, *_ = rows.whole()
    require_finite(X, rows.names)
    X, w = _dense(X), np.ones(len(y)) if w is None else w
    share = w / w.sum()
    with np.errstate(over="ignore", invalid="ignore"):
        mean, centre = share @ X, float(share @ y)
        variances, spread = share @ (X - mean) ** 2, _scales(rows, np.array([share @ (y - centre) ** 2]))
    scale = _scales(rows, np.where(np.sqrt(variances) > EQUAL * np.abs(mean), variances, 0.0))
    _, sizes, V = np.linalg.svd(np.sqrt(share)[:, None] * (X - mean) / scale, full_matrices=False)
    basis = V[: max(1, np.count_nonzero(sizes > 8 * len(X) * np.finfo(float).eps * sizes[0]))].T
    first = np.zeros(basis.shape[1])
    first[0] = np.sign(basis[np.argmax(np.abs(basis[:, 0])), 0]) / max(1.0, sizes[0] / FAR)
    return (
        Frame(mean=mean, scale=scale, centre=centre, spread=float(spread[0]), classes=classes, basis=basis),
        float(w.sum()),
        first,
    )


def _scales(rows: Rows, variances: Array) -> Array:
    """Standard deviations, 1 in place of 0."""
    refuse_overflow(rows, variances)
    return np.where(variances > 0, np.sqrt(variances), 1.0)


def narrowed(rows: Rows, frame: Frame) -> tuple[Rows, Frame]:
    """Rows along the frame's basis, with the frame that belongs to them; as they are where it has none."""
    if frame.basis is None or rows.n_rows is None:
        return rows, frame
    X, *columns = rows.whole()
    return MemoryRows(frame.design(X)[:, :-1], *columns), frame.flat()


def _codes(block: Block, classes: Array) -> Block:
    return block._replace(y=np.searchsorted(classes, block.y).astype(np.float64))


def started(direction: Array, n_experts: int, n_classes: int) -> Mixture:
    """Gates that part the rows along a direction, at the quantiles of a Gaussian; experts without an opinion."""
    places = ndtri((np.arange(n_experts) + 0.5) / n_experts)
    gates = np.column_stack([np.outer(places, direction), -0.5 * places**2]) / WIDTH**2
    shape = (n_experts, n_classes, len(direction) + 1) if n_classes else (n_experts, len(direction) + 1)
    return Mixture(gates, np.zeros(shape), np.ones(n_experts))


def run(rows: Rows, start: Mixture, frame: Frame, weight: float, alpha: float, tol: float, max_iter: int,
        report: Any = None) -> Result:  # fmt: skip
    """EM from a start; `value` is minus the penalised log-likelihood of a unit of weight."""

    def expect(theta: Mixture) -> tuple[float, Any]:
        total, *statistics = rows.reduce(expectation, theta, frame).parts
        return (total - penalty(theta, alpha)) / weight, statistics

    return em(expect, lambda theta, S: improved(theta, S, alpha), start, tol, max_iter, report, Mixture.towards)


def gates_of(X: Any, coef: Array, intercept: Array) -> Array:
    """The share of each expert in each row, (n, M)."""
    return np.exp(log_softmax(_dense(X) @ coef.T.astype(np.float64) + intercept)).astype(X.dtype, copy=False)


def numbers(X: Any, gate: Array, gate0: Array, coef: Array, intercept: Array) -> Array:
    """Σ g_m(x) (b_m·x + b_m0)."""
    Z = _dense(X)
    G = np.exp(log_softmax(Z @ gate.T.astype(np.float64) + gate0))
    return (G * (Z @ coef.T.astype(np.float64) + intercept)).sum(axis=1).astype(X.dtype, copy=False)


def probabilities(X: Any, gate: Array, gate0: Array, coef: Array, intercept: Array) -> Array:
    """Σ g_m(x) softmax(B_m x + b_m0)."""
    Z = _dense(X)
    G = np.exp(log_softmax(Z @ gate.T.astype(np.float64) + gate0))
    parts = (g[:, None] * np.exp(log_softmax(Z @ B.T + b)) for g, B, b in zip(G.T, coef, intercept, strict=True))
    return sum(parts).astype(X.dtype, copy=False)


def labels(X: Any, gate: Array, gate0: Array, coef: Array, intercept: Array, classes: Array) -> Array:
    """The most probable class."""
    return classes[probabilities(X, gate, gate0, coef, intercept).argmax(axis=1)]


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)


def _classifies(self: Any) -> bool:
    return self.experts == "logistic"


FITTED = ("gate_coef_", "gate_intercept_", "expert_coef_", "expert_intercept_")


class MixtureOfExperts(Estimator):
    r"""Linear or logistic models, each for a region of its own that a softmax gate learns: by EM.

    .. math:: p(y\mid x) = \sum_m g_m(x)\,p_m(y\mid x),\qquad g(x) = \mathrm{softmax}(Vx + v_0)

    With ``experts="linear"`` a regressor (Gaussian noise), with ``experts="logistic"`` a classifier.

    Notes
    -----
    Cost: one pass an iteration, n q²M² for q = p + 1 (logistic experts: n q²(M² + MK²)), where q is at most n + 1. Data
    are standardised, so that `alpha` has no units. There are several maxima: the first start parts the rows along their
    first principal axis, others along random directions; the best of `n_init` counts. Shape of computation: iterate.

    References
    ----------
    Jordan, Jacobs (1994), doi:10.1162/neco.1994.6.2.181.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.ensemble import MixtureOfExperts
    >>> X = np.linspace(-3, 3, 61)[:, None]
    >>> model = MixtureOfExperts(n_experts=2).fit(X, np.abs(X[:, 0]))
    >>> model.predict([[-2.0], [2.5]]).round(2)
    array([2. , 2.5])
    """

    _test_params = [{}, {"experts": "logistic"}]
    _test_skips = {
        "weight_scale": "The penalty stands beside the weighted log-likelihood, in which weights count rows.",
        "constant_columns": "EM ends when a step gains little: two fits with different tol differ by more than 1e-4.",
    }

    n_experts: int = param(2, whole(1), "Number M of experts.")
    experts: str = param("linear", one_of("linear", "logistic"), "Regression, or classification.")
    alpha: float = param(1e-2, at_least(0), "Strength of the L2 penalty on gate and experts, on standardised data.")
    n_init: int = param(1, whole(1), "Number of starts; the best counts.")
    tol: float = param(1e-6, at_least(0), "Gain in log-likelihood of a unit of weight at which EM ends.")
    max_iter: int = param(2000, whole(1), "Most EM iterations of a start.")
    random_state: Any = param(None, random_state, "Seed of the starts after the first.")

    _attrs = [
        attr("classes_", "(n_classes,)", "Labels, sorted.", when="experts='logistic'"),
        attr("gate_coef_", "(n_experts, n_features)", "Coefficients V of the gate."),
        attr("gate_intercept_", "(n_experts,)", "Its constant terms."),
        attr("expert_coef_", "(n_experts[, n_classes], n_features)", "Coefficients of the experts."),
        attr("expert_intercept_", "(n_experts,) or (n_experts, n_classes)", "Their constant terms."),
        attr("noise_variance_", "(n_experts,)", "Variances of the noise.", when="experts='linear'"),
        attr("log_likelihood_", "float", "Penalised log-likelihood of a unit of weight, on standardised data."),
        attr("n_iter_", "int", "EM iterations of the best start."),
    ]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.estimator_type = "classifier" if _classifies(self) else "regressor"
        tags.classifier_tags = ClassifierTags() if _classifies(self) else None
        tags.regressor_tags = None if _classifies(self) else RegressorTags()
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "MixtureOfExperts":
        """Fit to rows X with targets or labels y; sample_weight counts rows."""
        rows = self._rows(X, y, sample_weight, target="labels" if _classifies(self) else "numeric")
        frame, weight, first = frame_of(rows, _classifies(self))
        narrow, own = narrowed(rows, frame)
        if frame.classes is not None and len(frame.classes) < 2:
            raise InputError("MixtureOfExperts needs at least 2 classes, but y has one class only.")
        dtype = float_type(rows)
        attributes = lambda theta: self._fitted(theta, frame, dtype)  # noqa: E731
        with FitProgress(self, self.max_iter, X=X, y=y, attributes=attributes) as progress:
            how = (own, weight, self.alpha, self.tol, self.max_iter, progress.report)
            best = min((run(narrow, s, *how) for s in self._starts(first, frame)), key=lambda result: result.value)
        self.__dict__.update(attributes(best.x), log_likelihood_=-best.value)
        report_convergence(self, best)
        return self

    def _starts(self, first: Array, frame: Frame) -> list[Mixture]:
        random = [rng.normal(size=len(first)) for rng in streams(self.random_state, self.n_init - 1)]
        K = 0 if frame.classes is None else len(frame.classes)
        length = np.linalg.norm(first)
        return [started(d * (length / np.linalg.norm(d)), self.n_experts, K) for d in (first, *random)]

    def _fitted(self, theta: Mixture, frame: Frame, dtype: Any) -> dict[str, Any]:
        """The fitted attributes, in the units of the data."""
        scale = 1.0 if _classifies(self) else frame.spread
        coefs = [frame.raised(table[..., :-1]) for table in (theta.gates, scale * theta.experts)]
        shifts = [table[..., -1] - coef @ frame.mean for table, coef in
                  zip((theta.gates, scale * theta.experts), coefs, strict=True)]  # fmt: skip
        if not _classifies(self):
            shifts[1] = shifts[1] + frame.centre
        values = dict(zip(FITTED, (coefs[0], shifts[0], coefs[1], shifts[1]), strict=True))
        fitted = {name: np.asarray(value, dtype) for name, value in values.items()}
        if _classifies(self):
            return fitted | {"classes_": frame.classes}
        return fitted | {"noise_variance_": np.asarray(theta.variances * scale**2, dtype)}

    def _tables(self) -> tuple[Array, ...]:
        return self.gate_coef_, self.gate_intercept_, self.expert_coef_, self.expert_intercept_

    def predict(self, X: Any) -> Any:
        """The mean of the mixture, or its most probable class."""
        if _classifies(self):
            return self._after_fit()._map_rows(X, labels, *self._tables(), self.classes_)
        return self._after_fit()._map_rows(X, numbers, *self._tables())

    @available_if(_classifies)
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes (n, K)."""
        return self._after_fit()._map_rows(X, probabilities, *self._tables())

    def gate(self, X: Any) -> Any:
        """The share of each expert in each row, (n, M)."""
        return self._after_fit()._map_rows(X, gates_of, self.gate_coef_, self.gate_intercept_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of a classifier, R² of a regressor."""
        measure = accuracy_score if _classifies(self) else r2_score
        w = None if sample_weight is None else to_numpy(sample_weight)
        return float(measure(to_numpy(y), to_numpy(self.predict(X)), sample_weight=w))
