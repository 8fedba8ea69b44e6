r"""Linear support vector machines: classification and regression whose weights are fitted themselves, without a kernel.

.. math:: \min_{w,b}\ \tfrac12\big(\|w\|^2 + (b/c)^2\big) + C\sum_i\omega_i\,\ell(y_i, x_i^Tw + b)

ℓ is max(0, 1 − yz), max(0, |z − y| − ε), or the square of one of them. As in scikit-learn the constant term b is
penalised with the weights, as that of a column with the value c (`intercept_scaling`): the larger c, the freer it is.

* the dual by coordinate descent over the rows (`engines.gram.dual_descent`): for the losses that are no squares, and
  for squares with more columns than rows. Several classes are shared out among threads.
* the primal by Newton's method or L-BFGS (`engines.linear.fit`) for squares: a few passes over all rows, each on all
  threads. An L1 penalty, Σ|w_j| + |b|/c, by proximal Newton steps.

Both find the same optimum; `dual` says which is taken, and 'auto' goes by the size.

Hsieh et al. (2008), doi:10.1145/1390156.1390208; Fan et al. (2008), JMLR 9; Crammer, Singer (2001), JMLR 2.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from didact.core.backend import is_tensor, namespace
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Estimator, report_convergence
from didact.core.overflow import refuse_extreme
from didact.core.parameters import above, is_bool, one_of, param, whole
from didact.core.rows import Block, Rows
from didact.core.rows.memory import refuse_non_finite
from didact.core.typing import Array
from didact.engines.gram.dual_descent import Box, descend_rows, row_squares
from didact.engines.linear.fit import fit_linear
from didact.engines.linear.objective import LinearObjective
from didact.engines.linear.tuning import NEWTON_SIZE
from didact.engines.loop.iterate import Report
from didact.engines.loop.result import Result
from didact.engines.stochastic.passes import LoopRows, loop_rows
from didact.parts.statistics.moments import Sums
from didact.svm.base import time_limit_param


class _LinearMachine(Estimator):
    """Abstract: parameters and the two ways to fit."""

    _tensors = True

    C: float = param(1.0, above(0), "Price of the loss of a row.")
    fit_intercept: bool = param(True, is_bool, "Whether to add a constant term, which is penalised, too.")
    intercept_scaling: float = param(1.0, above(0), "The value c of the constant column: large values free the term.")
    dual: Any = param(
        "auto", [is_bool, one_of("auto")], "Whether to solve the dual or the primal, which have the same optimum."
    )
    tol: float = param(
        1e-4,
        above(0),
        "Largest violation of the optimality conditions: of a row in the dual, on average in the primal.",
    )
    max_iter: int = param(1000, whole(1), "Most sweeps over the rows, or iterations of the primal.")
    time_limit: float = time_limit_param()

    def _in_dual(self, rows: Rows, penalty: str, loss: str) -> bool:
        """Whether the dual is solved."""
        if (why := refused(penalty, loss, self.dual)) is not None:
            raise ParameterError(
                f"Unsupported set of arguments: {why}, Parameters: penalty={penalty!r}, loss={loss!r}, "
                f"dual={self.dual!r}"
            )
        if self.dual != "auto" or not loss.startswith("squared") or penalty == "l1":
            return penalty != "l1" and self.dual is not False
        return rows.is_wide or (rows.is_sparse and rows.n_features > NEWTON_SIZE)

    def _constant(self) -> float:
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _dual_data(self, rows: Rows) -> tuple[LoopRows, Array]:
        """Rows as loops take them, and their squared lengths."""
        data = loop_rows(rows.whole())
        with np.errstate(over="ignore"):
            norm = row_squares(data.X, self._constant())
        if not np.isfinite(norm).all():
            refuse_non_finite(data.X, rows.names)
            refuse_extreme(data.X, rows.names)
        return data, norm

    def _primal(self, rows: Rows, loss: Any, weight: float, l1: bool, report: Report | None) -> Result:
        """The optimum of a loss with a curvature: x is w with the weight of the constant column last."""
        if not self.C * weight > 0.0:
            raise InputError("The sample weights, times C, are too small for float64: multiply them by a power of ten.")
        strength, c = 1.0 / (self.C * weight), self._constant()
        objective = LinearObjective(
            rows=rows, loss=loss, weight=weight, alpha=0.0 if l1 else strength, fit_intercept=self.fit_intercept,
            constant_l2=strength / c / c if c and not l1 else 0.0, constant_l1=strength / c if c and l1 else 0.0,
        )  # fmt: skip

        def weights(x: Array) -> Array:
            (table,) = objective.table(x)
            return np.append(table[:-1], table[-1] / c if c else 0.0)

        told = None if report is None else lambda i, value, x: report(i, value, weights(x))
        result = fit_linear(objective, strength if l1 else 0.0, "auto", self.tol, self.max_iter, report=told)
        result.x = weights(result.x)
        return result

    def _dual(self, data: LoopRows, norm: Array, box: Box, report: Report | None) -> Result:
        """The optimum of a dual."""
        return descend_rows(data.X, data.design, norm, box, self.tol, self.max_iter, report)

    def _shaped(self, W: Array, dtype: Any) -> dict[str, Any]:
        """coef_ (k, p) and intercept_ (k,) from weights (k, p + 1)."""
        return {"coef_": W[:, :-1].astype(dtype), "intercept_": (self._constant() * W[:, -1]).astype(dtype)}

    def _ended(self, found: list[Result], late: bool) -> None:
        """The number of iterations, and one warning if a fit has not converged."""
        for one in found:
            one.status = "time limit" if late and one.status == "stopped" else one.status
        worst = next((one for one in found if not one.converged), found[0])
        report_convergence(self, worst)
        self.n_iter_ = max(max(1, int(one.n_iter)) for one in found)


def prices(data: LoopRows, C: float) -> Array:
    """C times the weight of each row."""
    n = data.X.shape[0]
    return np.full(n, C) if not len(data.weights) else C * np.asarray(data.weights)


def in_table(parts: int, columns: int) -> Callable[..., Callable[[int, Report], Result]]:
    """Turns solve(k, report) whose reports have the weights of part k into one whose reports have those of all parts.

    Parts that have not begun have weights of zero.
    """
    W = np.zeros((parts, columns))

    def of_all(solve: Callable[[int, Report], Result]) -> Callable[[int, Report], Result]:
        def solve_one(k: int, report: Report) -> Result:
            def told(iteration: int, value: Any, w: Array) -> bool:
                W[k] = w
                return report(iteration, value, W)

            return solve(k, told)

        return solve_one

    return of_all


def versus_rest(block: Block, k: int) -> Block:
    """A block with ±1 for the code k and all others."""
    xp = namespace(block.y)
    y = 2.0 * xp.astype(block.y == k, block.X.dtype if is_tensor(block.X) else xp.float64) - 1.0
    return block._replace(y=y)


def one_target(block: Block, k: int) -> Block:
    """A block with one of several targets."""
    return block if block.y.ndim == 1 else block._replace(y=block.y[:, k])


def weight_of(block: Block) -> Sums:
    """The weight of a block."""
    return Sums((float(block.X.shape[0]) if block.weight is None else float(block.weight.sum()),))


def refused(penalty: str, loss: str, dual: Any) -> str | None:
    """Why the parameters do not go together, as in scikit-learn; None if they do."""
    plain = loss in ("hinge", "epsilon_insensitive")
    if penalty == "l1" and plain:
        return f"The combination of penalty='l1' and loss='{loss}' is not supported"
    if penalty == "l1" and dual is True:
        return "An L1 penalty is not supported when dual=True: leave dual='auto'"
    if plain and dual is False:
        return f"loss='{loss}' has no curvature, and is not supported when dual=False: leave dual='auto'"
    return None
