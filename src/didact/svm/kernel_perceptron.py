r"""The kernel perceptron: mistakes are remembered, and each of them adds its kernel to the decision.

A row with :math:`y_i f(x_i) \le 0`, :math:`y_i=\pm1`, moves the hyperplane in the features of the kernel:

.. math:: w \leftarrow w + \eta y_i\phi(x_i),\ b \leftarrow b + \eta y_i \qquad\Longleftrightarrow\qquad
    c_i \leftarrow c_i + \eta y_i,\quad f(x) = \sum_i c_i k(x, x_i) + b

so that c_i counts the mistakes on row i, with their sign, and rows without a mistake are not kept. With the linear
kernel it is `Perceptron`, and the bound (R/γ)² on the number of mistakes holds with R² = max k(x, x).

Aizerman, Braverman, Rozonoer (1964), Theoretical foundations of the potential function method; averaged and voted:
Freund, Schapire (1999), doi:10.1023/A:1007662407062.
"""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from didact.core.backend import as_dense, float_type, is_sparse, to_numpy
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Ended, remember, warn_convergence
from didact.core.parameters import attr, is_bool, none, one_of, param, whole
from didact.core.progress import FitProgress
from didact.core.random import streams
from didact.core.rows import Rows
from didact.core.typing import AnyArray, Array
from didact.core.validation import all_classes
from didact.engines.gram.online import FunctionSpace, on_mistakes
from didact.engines.gram.rows import kernel_block
from didact.engines.scores.linear import labels_of_scores
from didact.parts.statistics.counts import Counts, weigh_classes
from didact.svm.kernel_model import Data, _KernelModel, class_rows, coded, labels_at, scores_at, sides

ORDER = "The perceptron learns from one row after the other: their order matters, and a weight is one longer step."
CURRENT = "defaults/check_sample_weight_equivalence_on_"
VOTERS_AT_ONCE = 256


class Learner:
    """A perceptron at work: a function in some space, constants, the number of rows seen, and all mistakes in order.

    Columns 0 … d − 1 of coefficients and constants are the last ones, d … 2d − 1 sums of steps times their hour, from
    which the mean over all rows follows.
    """

    def __init__(self, space: FunctionSpace, state: dict[str, Any], outputs: int):
        self.space, self.outputs = space, outputs
        self.bias, self.hour = state["bias"].copy(), state["hour"].copy()
        self.steps = [tuple(step) for step in state["steps"].tolist()]
        self.mistakes = np.asarray(state.get("mistakes", np.zeros(outputs, np.int64)))
        self.active = np.ones(outputs, bool)

    def learn(self, order: Array, Y: Array, w: Array, constant: bool) -> int:
        """One pass over rows by number with targets ±1; returns the number of mistakes.

        An output without a mistake has learnt its class, and rests from then on.
        """
        d, before, hours = self.outputs, len(self.steps), self.hour.copy()
        order = order[w[order] > 0]

        def mistaken(rows: Array, f: Array) -> Array:
            return self.active & (Y[rows] * (f[:, :d] + self.bias[:d]) <= 0)

        def step(place: int, f: Array) -> Array:
            row, hour = int(order[place]), hours + place
            bad = mistaken(order[place : place + 1], f[None])[0]
            move = np.where(bad, w[row] * Y[row], 0.0)
            both = np.concatenate([move, hour * move])
            self.bias += constant * both
            self.steps += [(row, k, float(move[k]), hour[k]) for k in np.flatnonzero(bad).tolist()]
            return both

        on_mistakes(self.space, order, lambda rows, f: np.asarray(mistaken(rows, f).any(axis=1)), step)
        self.hour += self.active * len(order)
        new = self.steps[before:]
        self.active = np.isin(np.arange(d), [k for _, k, *_ in new])
        return len(new)

    def tables(self, averaged: bool) -> tuple[Array, Array]:
        """Coefficients and constants: the last ones, or their mean over all rows seen."""
        coef, d = self.space.coef, self.outputs
        if not averaged:
            return coef[:, :d], self.bias[:d]
        hours = np.maximum(self.hour, 1.0)
        return coef[:, :d] - coef[:, d:] / hours, self.bias[:d] - self.bias[d:] / hours


def voted_scores(X: AnyArray, kernel: Any, vectors: Any, voters: Array, steps: Array, votes: Array, outputs: Array,
                 constant: float, d: int, support: Array) -> AnyArray:  # fmt: skip
    """The share of votes for the positive side less that against it, of each row."""
    found = np.zeros((X.shape[0], d))
    for start in range(0, X.shape[0], VOTERS_AT_ONCE):
        part = X[start : start + VOTERS_AT_ONCE]
        if isinstance(kernel, str):
            K = to_numpy(as_dense(part))[:, support]
        else:
            V = vectors.toarray() if is_sparse(vectors) and not is_sparse(part) else vectors
            K = np.asarray(kernel_block(kernel, part, V))
        for k in range(d):
            mine = outputs == k
            z = np.cumsum(steps[mine] * (K[:, voters[mine]] + constant), axis=1)
            found[start : start + VOTERS_AT_ONCE, k] = np.sign(z) @ (votes[mine] / max(votes[mine].sum(), 1.0))
    found = found.astype(float_type(X))
    return found[:, 0] if d == 1 else found


def voted_labels(X: AnyArray, classes: Array, *voters: Any) -> Array:
    """The class with the largest share of votes."""
    return labels_of_scores(voted_scores(X, *voters), classes)


class KernelPerceptron(ClassifierMixin, _KernelModel):
    r"""The perceptron with any kernel, also of strings: plain, averaged or voted.

    .. math:: y_if(x_i)\le0 \quad\Rightarrow\quad c_i\leftarrow c_i+\omega_iy_i,\ b\leftarrow b+\omega_iy_i;\qquad
        f(x)=\sum_ic_ik(x,x_i)+b

    Notes
    -----
    More than two classes are learnt one against the rest. A fit ends at a pass without mistakes, when passes no longer
    make fewer of them, or at `max_iter` with a warning: classes that the features do not separate are never learnt, and
    `variant="averaged"` makes the best of them. The averaged perceptron takes the mean of f after every row, the voted
    one lets every f that there was vote as often as it survived a row. Only proportions of weights count. Strings: pass
    a list of them, and a kernel of strings. Cost: one evaluation of the kernel a pass for each row and support vector,
    as matrix products. Shape of computation: stream.

    References
    ----------
    Freund, Schapire (1999), doi:10.1023/A:1007662407062.

    Examples
    --------
    >>> from didact.kernels import StringSpectrum
    >>> from didact.svm import KernelPerceptron
    >>> words = ["singing", "running", "eating", "singer", "runner", "eater"]
    >>> model = KernelPerceptron(kernel=StringSpectrum(2)).fit(words, ["verb"] * 3 + ["noun"] * 3)
    >>> model.predict(["reading", "reader"]).tolist(), int(model.n_mistakes_[0]) > 0
    (['verb', 'noun'], True)
    """

    _test_params = [
        {"gamma": 40.0, "shuffle": False},
    ]
    _test_skips = {
        **dict.fromkeys(
            (
                "weights_equal_repetition/repeated", "row_order", "check_sample_weight_equivalence_on_dense_data",
                "check_sample_weight_equivalence_on_sparse_data", f"{CURRENT}dense_data", f"{CURRENT}sparse_data",
            ),
            ORDER,
        ),
        "weight_scale": "Sums of weights that are zero but for rounding decide on mistakes.",
    }  # fmt: skip
    _attrs = [
        attr("intercept_", "(n_outputs,)", "Constants b."),
        attr("n_mistakes_", "(n_outputs,)", "Mistakes so far, each of which moved the hyperplane."),
        attr("n_iter_", "int", "Passes over the rows."),
        attr("t_", "float", "Rows seen so far."),
        attr(
            "voters_, voter_steps_, votes_, voter_outputs_",
            "(n_mistakes,)",
            "Each mistake in order: its support vector, its step, how long f then survived, and its output.",
            "variant='voted'",
        ),
    ]
    _hidden = [
        attr("_state.coef", "(n_coefs, n_columns)", "Coefficients and their sums over the rows, of all outputs."),
        attr("_state.bias", "(n_columns,)", "Constants and their sums."),
        attr("_state.hour", "(n_outputs,)", "Rows seen."),
        attr("_state.steps", "(n_steps, 4)", "Mistakes of a voted perceptron."),
    ]

    variant: str = param("plain", one_of("plain", "averaged", "voted"), "Which f predicts: the last, the mean or all.")
    fit_intercept: bool = param(True, is_bool, "Whether to learn a constant term.")
    max_iter: int = param(1000, whole(1), "Most passes over the rows.")
    n_iter_no_change: Any = param(
        10,
        [whole(1), none],
        "Passes in a row without fewer mistakes than before that end the fit; None: no limit.",
    )
    shuffle: bool = param(True, is_bool, "Whether to shuffle the rows before each pass.")
    class_weight: Any = param(
        None, [dict, one_of("balanced"), none], "Weights of the classes; 'balanced': equal in sum."
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelPerceptron":
        """Learn from rows X with labels y until a pass makes no mistake."""
        rows, _, _ = class_rows(self, self._rows(X, y, sample_weight, target="labels"))
        learner, data = self._start(rows, None)
        known: dict[str, Any] = {"X": X, "y": y, "attributes": lambda x: self._fitted(x, data)}
        with FitProgress(self, self.max_iter, **known) as progress:
            epochs, ended = self._passes(learner, data, progress.report)
        self.__dict__.update(self._fitted(learner, data), n_iter_=epochs)
        status = "stopped" if progress.stopped else "converged" if ended else "iteration limit"
        remember(self, Ended(status))
        self._report(ended)
        return self

    def _passes(self, learner: Learner, data: Data, report: Any) -> tuple[int, bool]:
        """Passes until there are no mistakes, or no fewer: their number, and whether that was why they ended."""
        generator, best, since = streams(self.random_state, 2)[1], np.inf, 0
        weight = data.weight * (np.count_nonzero(data.weight) / data.weight.sum())
        for epoch in range(1, self.max_iter + 1):
            order = generator.permutation(data.new) if self.shuffle else data.new
            mistakes = learner.learn(order, data.targets, weight, self.fit_intercept)
            since, best = (0, mistakes) if mistakes < best else (since + 1, best)
            ended = not mistakes or since >= (self.n_iter_no_change or np.inf)
            if report(epoch, float(mistakes), learner) or ended:
                return epoch, True
        return self.max_iter, False

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> "KernelPerceptron":
        """Make one pass over more rows, in their order; the first call names all classes."""
        state = self._earlier()
        rows = self._rows(X, y, sample_weight, target="labels", reset=state is None)
        rows = rows.prepared(coded, *self._named(classes, state is None))
        learner, data = self._start(rows, state)
        learner.learn(data.new, data.targets, data.weight, self.fit_intercept)
        self.__dict__.update(self._fitted(learner, data))
        self.n_iter_ = 1
        return self

    def _named(self, classes: Any, first: bool) -> tuple[Array, Array | None]:
        """All classes, and their weights; sets classes_ in the first call of partial_fit."""
        if isinstance(self.class_weight, str):
            raise ParameterError(
                "class_weight 'balanced' is not supported for partial_fit. In order to use 'balanced' weights, use "
                "compute_class_weight('balanced', classes=classes, y=y) on a sample, and give them as a dict."
            )
        if first:
            self.__dict__.pop("classes_", None)  # of a call that failed
        known = all_classes(self, classes)
        if len(known) < 2:
            raise InputError("KernelPerceptron needs at least 2 classes, but classes names one class.")
        self.classes_: Any = known
        return known, weigh_classes(self.class_weight, Counts(known, np.ones(len(known))))

    def _start(self, rows: Rows, state: Any) -> tuple[Learner, Data]:
        """The perceptron to begin with, and the rows by number."""
        if self.variant == "voted" and self.approximation is not None:
            raise ParameterError("variant='voted' keeps the rows of all mistakes: use approximation=None.")
        Y = sides(to_numpy(rows.whole().y), len(self.classes_))
        d = Y.shape[1]
        space, data = self._begin(rows, Y, state, 2 * d)
        fresh = {"bias": np.zeros(2 * d), "hour": np.zeros(d), "steps": np.zeros((0, 4))}
        return Learner(space, fresh if state is None else state, d), data

    def _fitted(self, learner: Learner, data: Data) -> dict[str, Any]:
        """Fitted attributes; of all rows those with a mistake are kept."""
        steps, d = np.array(learner.steps, np.float64).reshape(-1, 4), learner.outputs
        coef, constant = learner.tables(self.variant == "averaged")
        mistakes = learner.mistakes + np.bincount(steps[:, 1].astype(int), minlength=d)
        state: dict[str, Any] = {
            "coef": learner.space.coef.copy(),
            "bias": learner.bias.copy(),
            "hour": learner.hour.copy(),
            "steps": steps,
        }
        found: dict[str, Any]
        if data.features is not None:
            found = self._keep_features(data.features, coef, constant, data.dtype)
            state |= {"steps": steps[:0], "mistakes": mistakes}
            if data.features.mixing is not None:
                state["mixing"] = data.features.mixing
        else:
            used = np.union1d(np.flatnonzero(learner.space.coef.any(axis=1)), steps[:, 0].astype(np.int64))
            found = self._keep(data.X, coef, constant, data.dtype, used)
            found["kernel_"] = self.kernel_
            steps[:, 0] = np.searchsorted(used, steps[:, 0])
            state["coef"] = state["coef"][used]
        if self.variant == "voted":
            found |= ballots(steps, learner.hour, d)
        return {
            **found,
            "classes_": self.classes_,
            "n_mistakes_": mistakes,
            "t_": float(learner.hour.max()),
            "_state": state,
        }

    def _report(self, ended: bool) -> None:
        if not ended:
            warn_convergence(
                self,
                f"Still mistakes after max_iter={self.max_iter} passes: the features of the kernel do not separate the "
                "classes, or more passes are needed; variant='averaged' makes the best of what cannot be separated.",
            )

    def _voters(self) -> tuple[Any, ...]:
        """Arguments of `voted_scores` after X."""
        self._after_fit()
        ballot = self.voters_, self.voter_steps_, self.votes_, self.voter_outputs_
        d = len(self.intercept_)
        return self.kernel_, self.support_vectors_, *ballot, float(self.fit_intercept), d, self.support_

    def decision_function(self, X: Any) -> Any:
        """f(x): (n,) for two classes, positive for the second; (n, n_classes) for more.

        With variant="voted", the share of votes for a class less the share against it.
        """
        self._after_fit()
        if self.variant == "voted":
            return self._map_rows(X, voted_scores, *self._voters())
        return self._map_rows(X, scores_at, *self._sums())

    def predict(self, X: Any) -> Any:
        """The class with the highest f(x), or the most votes, of each row."""
        self._after_fit()
        if self.variant == "voted":
            return self._map_rows(X, voted_labels, self.classes_, *self._voters())
        return self._map_rows(X, labels_at, self.classes_, *self._sums())


def ballots(steps: Array, hours: Array, d: int) -> dict[str, Array]:
    """The mistakes of each output in order, and for how many rows the function survived after each."""
    votes = np.zeros(len(steps))
    for k in range(d):
        mine = np.flatnonzero(steps[:, 1] == k)
        votes[mine] = np.diff(np.append(steps[mine, 3], hours[k]))
    return {
        "voters_": steps[:, 0].astype(np.int64),
        "voter_steps_": steps[:, 2].copy(),
        "votes_": votes,
        "voter_outputs_": steps[:, 1].astype(np.int64),
    }
