r"""What linear models that learn by (stochastic) gradient descent share: parameters, and the course of a fit.

.. math:: \min_{w, b}\; \frac1n\sum_i s_i\,\ell(y_i, x_i^Tw + b) + \alpha R(w)

A step moves the weights against the gradient of one row, of a batch or of all rows: with the squared loss and one row
it is the rule of Widrow and Hoff, :math:`w \leftarrow w + \eta\,(y_i - x_i^Tw)\,x_i`. The cost of a pass is about two
multiply-adds per entry of X.

Widrow, Hoff (1960), Adaptive switching circuits, doi:10.21236/AD0241531; Robbins, Monro (1951),
doi:10.1214/aoms/1177729586; Bottou (2012), Stochastic gradient descent tricks, doi:10.1007/978-3-642-35289-8_25.
"""

import dataclasses
import math
from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from didact.core.backend import to_numpy
from didact.core.compat import deprecated
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Estimator, remember, report_convergence, warn_convergence
from didact.core.parameters import (
    Attribute,
    above,
    at_least,
    attr,
    between,
    is_bool,
    none,
    one_of,
    param,
    random_state,
    whole,
)
from didact.core.progress import FitProgress
from didact.core.random import first_seed, seed_sequence
from didact.core.rows import Block, Rows
from didact.core.typing import Array
from didact.engines.loop.result import MESSAGES, Result
from didact.engines.stochastic.passes import full, losses_and_slopes, row_blocks, stochastic
from didact.engines.stochastic.sgd import Rate, Stopping, Training, Weights, run_passes
from didact.engines.stochastic.sgd_loops import BIAS, NUMBERS, TIME
from didact.parts import losses
from didact.parts.penalties import L1, L2, ElasticNet, Penalty, PNorm
from didact.parts.statistics.counts import Counts, label_counts

TINY = float(np.finfo(np.float64).tiny)

LOSSES = {
    "squared_error": losses.HalfSquared,
    "absolute_error": losses.Absolute,
    "huber": losses.Huber,
    "epsilon_insensitive": losses.EpsilonInsensitive,
    "squared_epsilon_insensitive": losses.SquaredEpsilonInsensitive,
    "hinge": losses.Hinge,
    "squared_hinge": losses.SquaredHinge,
    "modified_huber": losses.ModifiedHuber,
    "log_loss": losses.Logistic,
    "exponential": losses.ExponentialLoss,
    "perceptron": losses.Perceptron,
}


RATES = ("constant", "optimal", "invscaling", "adaptive", "inverse_time", "pa1", "pa2")
RATES_IN_WORDS = (
    "Rate of step t: eta0; 1/(alpha·(t0 + t)); eta0/t^power_t; eta0, cut to a fifth whenever progress ends; "
    "rate_scale/(rate_offset + t). 'pa1' and 'pa2' are passive-aggressive steps, which take the loss of a row to 0 "
    "if their length ℓ/‖x‖² is at most eta0, or with length ℓ/(‖x‖² + 1/(2·eta0))."
)
PASSIVE_AGGRESSIVE = {"pa1": 1, "pa2": 2}
LIMIT_REACHED = (  # in scikit-learn's words
    "Maximum number of iteration reached before convergence. Consider increasing max_iter to improve the fit."
)
FAR_ABOVE = 100.0  # times the loss of weights of zero: such a loss at the end says that the weights ran away

_REASON = "Steps are made row by row, so that the order of the rows and their repetition matter."
_SCALE = "A column on another scale changes the course of the steps; a fit ends before the optimum."
ORDER_MATTERS = {
    "weights_equal_repetition/repeated": _REASON,
    "row_order": _REASON,
    "check_sample_weight_equivalence_on_dense_data": _REASON,
    "check_sample_weight_equivalence_on_sparse_data": _REASON,
    "constant_columns/constant": _SCALE,
    "constant_columns/shift": _SCALE,
}


def state_of(outputs: str) -> list[Attribute]:
    """What partial_fit and warm_start go on from, declared for a number of outputs."""
    return [
        attr("_state.V", f"({outputs}, n_features)", "Current weights of each output."),
        attr("_state.D, _state.A", f"({outputs}, n_features or 0)", "Accounts of shrinkage and sums of averages."),
        attr("_state.S", f"({outputs}, {NUMBERS})", "Numbers of each output."),
    ]


class _SGD(Estimator):
    """The parameters that learning numbers and learning classes have in common. Abstract."""

    loss: Any = param("squared_error", one_of("squared_error"), "")
    penalty: str | None = param(
        "l2", [one_of("l2", "l1", "elasticnet", "pnorm"), none], "Penalty R: ½‖w‖², ‖w‖₁, both, or Σ|w|ᵖ/p."
    )
    alpha: float = param(1e-4, at_least(0), "Strength of the penalty; also sets the rate 'optimal'.")
    l1_ratio: float | None = param(0.15, [between(0, 1), none], "Share of the L1 part in the elastic net.")
    p: float = param(1.5, at_least(1), "Exponent of the penalty 'pnorm'.")
    fit_intercept: bool = param(True, is_bool, "Whether to learn a constant term, which is not penalised.")
    max_iter: int = param(1000, whole(1), "Most passes over the rows.")
    tol: float | None = param(1e-3, [at_least(0), none], "Improvement that counts as one; None: make all passes.")
    shuffle: bool = param(True, is_bool, "Whether to shuffle the rows before each pass.")
    epsilon: float = param(0.1, at_least(0), "Free zone of the insensitive losses; Huber's δ.")
    random_state: Any = param(None, random_state, "Seed of the shuffling.")
    learning_rate: str = param(
        "optimal",
        one_of(*RATES),
        RATES_IN_WORDS,
    )
    eta0: float = param(0.01, above(0), "First rate.")
    power_t: float = param(0.5, Real, "Exponent of the rate 'invscaling'; below 0 it is deprecated.")
    rate_scale: float = param(1.0, above(0), "Numerator of the rate 'inverse_time'.")
    rate_offset: float = param(100.0, at_least(0), "What is added to t in the rate 'inverse_time'.")
    batch_size: Any = param(1, [whole(1), one_of("full")], "Rows in a step; 'full': all of them.")
    early_stopping: bool = param(False, is_bool, "Whether to stop by the loss on held-out rows.")
    validation_fraction: float = param(0.1, between(0, 1, "neither"), "Share of the rows that are held out.")
    n_iter_no_change: int = param(5, whole(1), "Passes in a row without an improvement that end the fit.")
    warm_start: bool = param(False, is_bool, "Whether to begin with the weights of the last fit.")
    average: Any = param(
        False, [is_bool, whole(1)], "Whether the result is the average of all steps' weights, or of those from here on."
    )

    _attrs = [attr("t_", "float", "1 + the number of steps.")]

    def _training(self) -> Training:
        loss = self._loss
        if self.power_t < 0:
            deprecated("Negative values for `power_t` are deprecated: the steps of such a rate grow without end.")
        if self.learning_rate in PASSIVE_AGGRESSIVE:
            refuse_unsuited(self)
        return Training(
            loss=loss, penalty=penalty_noun(self.penalty, self.alpha, self.l1_ratio, self.p),
            rate=rate_noun(self.learning_rate, loss, self.alpha, self.eta0, self.power_t, self.rate_scale,
                      self.rate_offset),
            fit_intercept=self.fit_intercept, batch=0 if self.batch_size == "full" else int(self.batch_size),
            averaged_from=float(self.average) if self.average else math.inf, shuffle=self.shuffle,
        )  # fmt: skip

    def _fitted(self, weights: Weights, rows: Rows) -> dict[str, Any]:
        """The attributes that these weights make."""
        raise NotImplementedError

    def _store(self, weights: Weights, rows: Rows) -> None:
        self.__dict__.update(
            self._fitted(weights, rows), t_=float(weights.S[:, TIME].max()), _state=kept_state(weights)
        )

    def _report(self, result: Result) -> None:
        if self.tol is None and result.status == "iteration limit":  # that many passes is what was asked for
            self.n_iter_ = result.n_iter
            remember(self, result)
        elif result.status == "iteration limit":
            self.n_iter_ = result.n_iter
            remember(self, result)
            warn_convergence(self, LIMIT_REACHED)
        else:
            report_convergence(self, result)

    @property
    def _loss(self) -> Any:
        if not isinstance(self.loss, str):
            return self.loss
        loss: Any = LOSSES[self.loss]
        return loss(self.epsilon) if loss._fields else loss()


def penalty_noun(name: str | None, alpha: float, l1_ratio: float | None, p: float = 2.0) -> Penalty | None:
    """The penalty with this name; none if its strength is 0."""
    if name is None or alpha == 0:
        return None
    if name == "elasticnet" and l1_ratio is None:
        raise ParameterError("l1_ratio must be set when penalty is 'elasticnet'.")
    nouns: dict[str, Any] = {
        "l2": L2(alpha),
        "l1": L1(alpha),
        "elasticnet": ElasticNet(alpha, l1_ratio or 0.0),
        "pnorm": PNorm(alpha, p),
    }
    return nouns[name]


def rate_noun(name: str, loss: Any, alpha: float, eta0: float, power_t: float, scale: float, offset: float) -> Rate:
    """The learning rate with this name, as scale/(offset + t)^power."""
    if name == "optimal":
        if alpha <= 0:
            raise ParameterError("learning_rate='optimal' is 1/(alpha·(t0 + t)), so alpha must be above 0.")
        # Bottou's start: the first step of a row of length 1 that is far on the wrong side is a typical weight.
        typical = math.sqrt(1.0 / math.sqrt(alpha))
        slope = abs(loss.grad1(1.0, -typical))
        return Rate(1.0 / alpha, max(1.0, slope) / (typical * alpha) - 1.0, 1.0)
    if name == "invscaling":
        return Rate(eta0, 0.0, power_t)
    if name == "inverse_time":
        return Rate(scale, offset, 1.0)
    return Rate(eta0, adaptive=name == "adaptive", aggressive=PASSIVE_AGGRESSIVE.get(name, 0))


def refuse_unsuited(model: _SGD) -> None:
    """Refuse passive-aggressive steps where they have no meaning."""
    loss = "hinge" if is_classifier(model) else "epsilon_insensitive"
    if model.loss != loss:
        raise ParameterError(
            f"learning_rate={model.learning_rate!r} takes the loss of a row to 0 in one step along a straight line: it "
            f"only works with loss {loss!r}, not with {model.loss!r}."
        )
    if model.batch_size != 1:
        raise ParameterError(f"learning_rate={model.learning_rate!r} makes a step for each row: leave batch_size=1.")


class Seen(NamedTuple):
    """How many rows count, their weight, the labels among them, and the sum of their losses with all weights 0."""

    rows: int
    weight: float
    labels: Counts | None
    idle: float = 0.0

    def merge(self, other: "Seen") -> "Seen":
        """Both sets of rows together."""
        labels = None if self.labels is None or other.labels is None else self.labels.merge(other.labels)
        return Seen(self.rows + other.rows, self.weight + other.weight, labels, self.idle + other.idle)


def seen(block: Block, labelled: bool, loss: Any = None) -> Seen:
    """What there is in one block; the loss is that of numbers."""
    X, y, w = block.X, block.y, block.weight
    labels = label_counts(block) if labelled else None
    rows, weight = (X.shape[0], float(X.shape[0])) if w is None else (int((w > 0).sum()), float(w.sum()))
    if loss is None:
        return Seen(rows, weight, labels)
    y = to_numpy(y).astype(np.float64)
    if not loss.in_domain(y).all():
        raise InputError(f"The loss {type(loss).__name__} needs {loss.support}.")
    each = loss.value(y, np.zeros_like(y))
    return Seen(rows, weight, labels, float(each.sum() if w is None else to_numpy(w) @ each))


def steepens(loss: Any) -> bool:
    """Whether the slope of a loss grows without bound, so that steps that are too long lengthen each other."""
    return bool(abs(loss.grad1(1.0, -1e6)) > 100.0 * max(abs(loss.grad1(1.0, -10.0)), 1.0))


def ran_away(loss: Any, value: float, idle: float) -> bool:
    """Whether a mean loss shows that the weights ran away, `idle` being that of weights of zero."""
    return steepens(loss) and value > FAR_ABOVE * idle > 0


def idle_loss(total: Seen, training: Training, labelled: bool) -> float:
    """The mean loss of all weights 0."""
    return training.loss.value1(training.targets[1], 0.0) if labelled else total.idle / max(total.weight, TINY)


def start(model: Any, positives: Array, n_features: int, training: Training, coef: Any, intercept: Any) -> Weights:
    """The weights a fit begins with: given, those of the last fit with warm_start, or zero."""
    weights = Weights.zeros(positives, n_features, training)
    last = getattr(model, "_state", None) if model.warm_start else None
    if last is not None and last["V"].shape == weights.V.shape:
        weights.V[:], weights.S[:, BIAS] = last["V"], last["S"][:, BIAS]
    if coef is not None:
        weights.V[:] = _shaped(coef, weights.V.shape, "coef_init")
    if intercept is not None:
        weights.S[:, BIAS] = _shaped(intercept, (len(weights.S),), "intercept_init")
    return weights


def _shaped(values: Any, shape: tuple[int, ...], name: str) -> Array:
    values = np.asarray(values, np.float64)
    if values.size != math.prod(shape):
        raise InputError(f"Provided {name} does not match dataset: it has shape {values.shape}, not {shape}.")
    return values.reshape(shape)


def resume(model: Any, positives: Array, n_features: int, training: Training) -> Weights:
    """The weights that partial_fit goes on from; accounts that a changed parameter calls for begin at 0."""
    fresh = Weights.zeros(positives, n_features, training)
    last = getattr(model, "_state", None)
    if last is None:
        return fresh
    if last["V"].shape != fresh.V.shape or last["S"].shape != fresh.S.shape:
        raise InputError(
            f"{type(model).__name__} keeps weights {last['V'].shape} and numbers {last['S'].shape}, which are not of "
            f"{len(positives)} outputs and {n_features} columns: fit the model anew."
        )
    D, A = (old.copy() if old.shape == new.shape else new for old, new in ((last["D"], fresh.D), (last["A"], fresh.A)))
    return Weights(last["V"].copy(), D, A, last["S"].copy(), positives)


def kept_state(weights: Weights) -> dict[str, Array]:
    """What a model keeps, so that partial_fit and warm_start can go on."""
    return {"V": weights.V, "D": weights.D, "A": weights.A, "S": weights.S}


@np.errstate(over="ignore", invalid="ignore")  # weights that run away are reported below
def train(model: Any, rows: Rows, total: Seen, weights: Weights, training: Training, X: Any, y: Any,
          fitted: Callable[[Weights], dict[str, Any]], passes: Any = stochastic, trial: int = 0) -> Result:  # fmt: skip
    """Pass after pass over rows of numbers and class numbers, as the model's parameters say."""
    labelled = bool(weights.positives[0] >= 0)
    left_out, judge = hold_out(model, rows, weights, training) if model.early_stopping else (None, None)
    if left_out is not None:
        total = rows.prepared(without, left_out).reduce(seen, False, None if labelled else training.loss)
    if training.batch == 0:
        counted = rows if left_out is None else rows.prepared(without, left_out)
        advance = full(counted, training, total.weight)
    else:
        blocks = row_blocks(rows, total.weight / max(total.rows, 1), left_out)
        advance = passes(blocks, training, seed_sequence(model.random_state), rows.names)
    stopping = Stopping(
        tol=model.tol, patience=model.n_iter_no_change, max_iter=model.max_iter, judge=judge, trial=trial
    )
    with FitProgress(model, model.max_iter, X=X, y=y, attributes=fitted) as progress:
        result = run_passes(advance, weights, training, stopping, progress.report)
    refuse_divergence(model, result.status == "not finite", result.n_iter)
    if result.status != "stopped" and ran_away(training.loss, result.value, idle_loss(total, training, labelled)):
        return dataclasses.replace(result, status="diverged", optimality=result.value)
    return result


def learn_once(model: Any, rows: Rows, weights: Weights, training: Training, passes: Any = stochastic) -> None:
    """One pass, for partial_fit; weights of rows count as they are."""
    refuse_early_stopping(model)
    passed, labelled = int(weights.S[:, TIME].max()), bool(weights.positives[0] >= 0)
    counted = training.batch == 0 or steepens(training.loss)
    total = rows.reduce(seen, False, None if labelled else training.loss) if counted else Seen(0, 0.0, None)
    if training.batch == 0:
        advance = full(rows, training, total.weight)
    else:
        advance = passes(row_blocks(rows), training, seed_sequence(model.random_state), rows.names)
    losses = advance(weights, np.arange(len(weights.S)), passed)
    refuse_divergence(model, not (np.isfinite(losses).all() and np.isfinite(weights.V).all()), 1)
    unit = 1.0 if training.batch == 0 else total.weight / max(total.rows, 1)  # weights of rows count as they are
    if ran_away(training.loss, float(np.max(losses)), idle_loss(total, training, labelled) * unit):
        warn_convergence(model, MESSAGES["diverged"])


def refuse_early_stopping(model: Any) -> None:
    """Refuse early stopping in partial_fit."""
    if model.early_stopping:
        raise ParameterError("early_stopping should be False with partial_fit, which sees some of the rows only.")


def refuse_divergence(model: Any, diverged: bool, epoch: int) -> None:
    """Raise an error that says what to do, if the weights have run away."""
    if diverged:
        raise InputError(
            f"{type(model).__name__}: Floating-point under-/overflow occurred at epoch #{epoch}: the steps are too "
            "long for these data. Scaling input data with StandardScaler or MinMaxScaler might help, or a smaller rate."
        )


def without(block: Block, left_out: Array) -> Block:
    """The rows with weight 0 where they are left out."""
    return block._replace(weight=np.where(left_out, 0.0, 1.0 if block.weight is None else block.weight))


def hold_out(model: Any, rows: Rows, weights: Weights, training: Training) -> tuple[Array, Any]:
    """Rows that are left out of the fit, and a function that gives their mean losses."""
    X, y, w, *_ = rows.require_memory(
        "early_stopping holds out rows of a table in memory. For batches and Dask collections set "
        "model.set_callbacks(didact.EarlyStopping('accuracy' or another scorer, data=(X_valid, y_valid))).",
        ParameterError,
    ).columns
    counting = np.arange(len(y)) if w is None else np.flatnonzero(w > 0)
    labelled = weights.positives[0] >= 0
    seed = model.random_state  # as it is, where scikit-learn understands it: the same rows are held out
    if not isinstance(seed, (int, np.integer, np.random.RandomState)):
        seed = first_seed(seed)
    splitter = (StratifiedShuffleSplit if labelled else ShuffleSplit)(
        1, test_size=model.validation_fraction, random_state=seed
    )
    try:
        held = np.sort(counting[next(splitter.split(counting[:, None], y[counting]))[1]])
    except ValueError as error:
        raise InputError(
            f"validation_fraction={model.validation_fraction} leaves too few rows to fit or to validate ({error}): "
            "choose another, or early_stopping=False."
        ) from error
    share = None if w is None else w[held]

    def judge(weights: Weights) -> Array:
        table = weights.table()
        value, _ = losses_and_slopes(X[held], y[held], training.loss, table, weights.positives, *training.targets)
        return np.average(value, axis=0, weights=share)

    left_out = np.zeros(len(y), bool)
    left_out[held] = True
    return left_out, judge
