r"""Least squares by gradient steps, in the features of a kernel.

A step of stochastic gradient descent on row i, :math:`\theta\leftarrow\theta+\eta(y_i-\theta^T\phi(x_i))\phi(x_i)`,
adds a multiple of φ(x_i): so θ = Σ β_jφ(x_j), and the step changes one coefficient,

.. math:: \beta_i \leftarrow \beta_i + \eta\Big(y_i - \sum_j\beta_j k(x_j, x_i)\Big)

With a penalty α for each row all coefficients shrink by 1 − ηα before it. A batch step does this for all rows at once,
:math:`\beta\leftarrow\beta+\eta(y-K\beta-n\alpha\beta)`, and its limit is `KernelRidge(alpha=nα)`.

Kivinen, Smola, Williamson (2004), Online learning with kernels, doi:10.1109/TSP.2004.830991.
"""

from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from didact.core.backend import to_numpy
from didact.core.errors import InputError
from didact.core.estimator import Ended, remember, warn_convergence
from didact.core.parameters import above, at_least, attr, is_bool, none, one_of, param, whole
from didact.core.progress import FitProgress
from didact.core.random import streams
from didact.core.rows import Rows
from didact.core.typing import AnyArray, Array
from didact.engines.gram.online import BLOCK, FeatureSpace, FunctionSpace, RowSpace, row_by_row
from didact.engines.gram.systems import INFINITE_KERNEL
from didact.engines.loop.result import MESSAGES
from didact.svm.base import values_at
from didact.svm.kernel_model import Data, _KernelModel

ORDER = "Rows are learnt one after the other: their order matters, and a weight is one longer step."
DIVERGED = 1e6  # times the loss of the function 0


class Steps(NamedTuple):
    """Lengths of steps: η of the first, its power of decay, and the penalty α."""

    eta: float
    power: float
    alpha: float


def stochastic_pass(space: FunctionSpace, data: Data, order: Array, how: Steps, hour: float) -> tuple[float, float]:
    """A step for each row; returns the sum of weighted squares before the steps, and the hour after them."""
    loss = 0.0

    def rule(row: int, f: Array) -> tuple[Array | None, float]:
        nonlocal loss, hour
        hour += 1.0
        eta = how.eta / hour**how.power
        residual = data.targets[row] - f
        weight = data.weight[row]
        loss += weight * float(residual @ residual)
        return eta * weight * residual, 1.0 - eta * weight * how.alpha

    row_by_row(space, order[data.weight[order] > 0], rule)
    return loss, hour


def batch_pass(space: FunctionSpace, data: Data, order: Array, how: Steps, hour: float) -> tuple[float, float]:
    """One step for all rows at once."""
    hour += 1.0
    eta = how.eta / hour**how.power
    pieces = [order[a : a + BLOCK] for a in range(0, len(order), BLOCK)]
    residuals = [data.targets[piece] - space.scores(piece) for piece in pieces]
    w = data.weight[:, None]
    loss = sum(float((w[piece] * r * r).sum()) for piece, r in zip(pieces, residuals, strict=True))
    shrink = 1.0 - eta * data.weight.sum() * how.alpha
    for k, (piece, r) in enumerate(zip(pieces, residuals, strict=True)):
        space.add(piece, eta * w[piece] * r, shrink if k == 0 else 1.0)
    return loss, hour


def safe_length(space: FunctionSpace, data: Data, order: Array, batch: bool) -> float:
    """A step that cannot diverge: one over the largest k(x, x), or, for batches, a bound on the eigenvalues of ΩK."""
    pieces = [order[a : a + BLOCK] for a in range(0, len(order), BLOCK)]
    w = data.weight
    if not batch:
        most = max(float((w[p] * np.diagonal(space.square(p))).max()) for p in pieces)
    elif isinstance(space, RowSpace):
        most = max(float((np.abs(space.gram(p, order)) @ w[order]).max()) for p in pieces)
    else:
        most = float(np.linalg.eigvalsh(sum(cast(FeatureSpace, space).scatter(p, w[p]) for p in pieces))[-1])
    if not np.isfinite(most):
        raise InputError(INFINITE_KERNEL)
    return 1.0 / most if most > 0 else 1.0


def outputs_at(X: AnyArray, several: bool, *sums: Any) -> AnyArray:
    """f(x): (n,), or (n, T) for several targets."""
    found = values_at(X, *sums)
    return found if several else found[:, 0]


class KernelSGDRegressor(MultiOutputMixin, RegressorMixin, _KernelModel):
    r"""Least squares with any kernel by gradient steps on one row after the other, or on all at once.

    .. math:: \beta_i \leftarrow (1-\eta\alpha)\,\beta_i + \eta\omega_i\Big(y_i - \sum_j\beta_jk(x_j,x_i)\Big)

    Notes
    -----
    There is no constant term: add a constant to the kernel (``kernel + 1``), or centre y. Few passes regularise, as
    directions of large eigenvalues are learnt first. `eta0="auto"` takes the longest step that cannot diverge: one over
    the largest k(x, x) for single rows, for batches one over a bound on the largest eigenvalue. A fit ends when the
    loss falls by less than `tol` of that of the function 0 in `n_iter_no_change` passes, or at `max_iter`: fewer passes
    are a stronger penalty, so that it ends without a warning. Every row gets a coefficient, so that `partial_fit` keeps
    all rows; with `approximation` it keeps m weights. Cost: a pass takes n evaluations of the kernel for each row, as
    matrix products. Shape of computation: stream.

    References
    ----------
    Kivinen, Smola, Williamson (2004), doi:10.1109/TSP.2004.830991.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.kernels import RBF
    >>> from didact.svm import KernelSGDRegressor
    >>> x = np.linspace(0, 6, 60)[:, None]
    >>> model = KernelSGDRegressor(kernel=RBF(1.0), random_state=0).fit(x, np.sin(x[:, 0]))
    >>> bool(abs(model.predict(x) - np.sin(x[:, 0])).max() < 0.1)
    True
    """

    _test_params = [
        {"gamma": 0.2, "max_iter": 30, "shuffle": False},
        {"gamma": 0.2, "method": "batch", "alpha": 0.01, "max_iter": 100},
    ]

    @property
    def _test_skips(self) -> dict[str, str]:  # type: ignore[override]
        weights = "check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"
        order = *weights, "weights_equal_repetition/repeated", "row_order"
        skips = {"callbacks/limit": "Fewer passes are a stronger penalty: a limit of passes is no failure."}
        if self.method == "stochastic":
            skips |= dict.fromkeys((*order, *(f"defaults/{name}" for name in weights)), ORDER)
        return skips

    _attrs = [
        attr("n_iter_", "int", "Passes over the rows."),
        attr("t_", "float", "Steps made so far."),
        attr("eta0_", "float", "Length of the first step."),
        attr("loss_curve_", "(n_iter_,)", "Mean squared error before the steps of each pass."),
    ]
    _hidden = [
        attr("_state.coef", "(n_coefs, n_outputs)", "Coefficients that partial_fit goes on from."),
    ]

    method: str = param("stochastic", one_of("stochastic", "batch"), "Steps for one row after the other, or for all.")
    eta0: Any = param("auto", [one_of("auto"), above(0)], "Length η of a step; 'auto': as long as is safe.")
    power_t: float = param(0.0, at_least(0), "Steps fall like 1/t^power_t.")
    alpha: float = param(0.0, at_least(0), "Penalty ½α‖f‖² for each row.")
    max_iter: int = param(1000, whole(1), "Most passes over the rows.")
    tol: Any = param(
        1e-4, [at_least(0), none], "Fall of the loss that counts, as a share of that of the function 0; None: no limit."
    )
    n_iter_no_change: int = param(5, whole(1), "Passes in a row without such a fall that end the fit.")
    shuffle: bool = param(True, is_bool, "Whether to shuffle the rows before each pass.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelSGDRegressor":
        """Make passes over rows X with targets y until the loss no longer falls."""
        rows = self._rows(X, y, sample_weight, target="outputs")
        space, data = self._start(rows, None)
        how, total = self._steps(space, data, None), float(data.weight @ (data.targets**2).sum(axis=1))
        known: dict[str, Any] = {"X": X, "y": y, "attributes": lambda x: self._fitted(*x, data, how)}
        with FitProgress(self, self.max_iter, **known) as progress:
            losses, hour = self._passes(space, data, how, total, progress.report)
        self.__dict__.update(self._fitted(space, hour, losses, data, how), n_iter_=len(losses))
        status = "stopped" if progress.stopped else "iteration limit" if len(losses) == self.max_iter else "converged"
        remember(self, Ended(status, history=losses))
        self._report(losses[-1] * data.weight.sum(), total)
        return self

    def _passes(
        self, space: FunctionSpace, data: Data, how: Steps, total: float, report: Any
    ) -> tuple[list[float], float]:
        """Passes until the loss no longer falls: their losses, and the hour."""
        one, generator = self.method == "stochastic", streams(self.random_state, 2)[1]
        losses: list[float] = []
        hour, best, since = 0.0, np.inf, 0
        while len(losses) < self.max_iter:
            order = generator.permutation(data.new) if one and self.shuffle else data.new
            loss, hour = (stochastic_pass if one else batch_pass)(space, data, order, how, hour)
            losses.append(loss / data.weight.sum())
            since = 0 if self.tol is None or loss < best - self.tol * total else since + 1
            best = min(best, loss)
            if report(len(losses), losses[-1], (space, hour, losses)) or since >= self.n_iter_no_change:
                break
            if not loss <= DIVERGED * max(total, 1e-300):
                break
        return losses, hour

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelSGDRegressor":
        """Make one pass over more rows, in their order."""
        state = self._earlier()
        rows = self._rows(X, y, sample_weight, target="outputs", reset=state is None)
        space, data = self._start(rows, state)
        how = self._steps(space, data, state)
        step = stochastic_pass if self.method == "stochastic" else batch_pass
        loss, hour = step(space, data, data.new, how, 0.0 if state is None else self.t_)
        self.n_iter_ = 1
        self.__dict__.update(self._fitted(space, hour, [loss / data.weight.sum()], data, how))
        return self

    def _steps(self, space: FunctionSpace, data: Data, state: Any) -> Steps:
        if state is not None:
            eta = self.eta0_
        elif isinstance(self.eta0, str):
            eta = safe_length(space, data, data.new, self.method == "batch")
            eta /= 1.0 + eta * self.alpha * (data.weight.sum() if self.method == "batch" else data.weight.max())
        else:
            eta = float(self.eta0)
        return Steps(eta, self.power_t, self.alpha)

    def _start(self, rows: Rows, state: Any) -> tuple[FunctionSpace, Data]:
        """The function to begin with, and the rows by number."""
        Y = to_numpy(rows.whole().y).astype(np.float64)
        self._several, Y = Y.ndim == 2, Y if Y.ndim == 2 else Y[:, None]
        if state is not None and state["coef"].shape[1] != Y.shape[1]:
            raise InputError(f"y has {Y.shape[1]} target(s), and had {state['coef'].shape[1]} in earlier calls.")
        return self._begin(rows, Y, state, Y.shape[1])

    def _fitted(self, space: FunctionSpace, hour: float, losses: list[float], data: Data, how: Steps) -> dict[str, Any]:
        zeros = np.zeros(space.coef.shape[1])
        state: dict[str, Any] = {"coef": space.coef.copy()}
        if data.features is not None:
            found = self._keep_features(data.features, space.coef, zeros, data.dtype)
            if data.features.mixing is not None:
                state["mixing"] = data.features.mixing
        else:
            found = {"kernel_": self.kernel_, **self._keep(data.X, space.coef, zeros, data.dtype)}
            state["coef"] = state["coef"][found["support_"]]
        found.pop("intercept_")
        curve = np.array(losses)
        return {**found, "t_": hour, "eta0_": how.eta, "loss_curve_": curve, "_state": state, "_several": self._several}

    def _report(self, loss: float, total: float) -> None:
        if not loss <= DIVERGED * max(total, 1e-300):
            warn_convergence(self, MESSAGES["diverged"])

    def predict(self, X: Any) -> Any:
        """f(x) of each row; (n, n_targets) if y had several columns."""
        self._after_fit()
        zeros = np.zeros(len(self.dual_coef_))
        sums = self.kernel_, self.support_, self.support_vectors_, self.dual_coef_.T, zeros
        return self._map_rows(X, outputs_at, self._several, *sums)
