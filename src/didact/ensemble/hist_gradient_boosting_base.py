"""What boosting of numbers and of classes share: parameters, the fit with early stopping, and staged predictions.

A fit goes straight through: rows → targets and loss (`Task`) → fitted and held-out rows → objective → booster → trees.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import is_tensor, refuse_no_rows, to_numpy
from didact.core.beside import beside
from didact.core.categories import learn_categories
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Ended, Estimator, remember
from didact.core.frames import column_names
from didact.core.parameters import (
    above,
    array_like,
    at_least,
    attr,
    between,
    is_bool,
    is_callable,
    none,
    one_of,
    param,
    random_state,
    whole,
)
from didact.core.progress import FitProgress
from didact.core.random import seed_sequence
from didact.core.rows import ClusterRows, Rows, blocks_of
from didact.core.typing import Array
from didact.engines.trees.boosting.booster import Booster, BoostingPlan
from didact.engines.trees.boosting.cluster_booster import RowsBooster, begin, following, residual_width
from didact.engines.trees.boosting.objective import Objective
from didact.engines.trees.boosting.spread_rows import SpreadRows, Statistics, first_rows, split
from didact.engines.trees.growers.blocks import coded_rows, learn_bins_rows
from didact.engines.trees.growers.passes import Collection
from didact.engines.trees.limits import Limits
from didact.engines.trees.predict.packed import predict_sum
from didact.engines.trees.predict.packed_loops import Packed
from didact.engines.trees.predict.small_trees import Trees
from didact.engines.trees.rows.bins import Coded, bin_codes, learn_bins
from didact.engines.trees.tree import Tree
from didact.ensemble.held_out import stratified_split
from didact.ensemble.hist_gradient_boosting_constraints import interaction_groups, named_signs
from didact.ensemble.hist_gradient_boosting_outputs import answer, extended, mean_raw, raw_scores
from didact.ensemble.hist_gradient_boosting_scores import ScoreHistory

GATHERED = 1 << 28  # bytes of codes up to which the rows of a Dask collection are brought here: that is quicker


class Task(NamedTuple):
    """What is to be fitted: rows (X, y, w) in memory or spread over workers, given rows to watch, and the loss."""

    data: Any
    held: Any
    loss: Any
    outputs: int = 1  # raw outputs of the loss
    strata: Array | None = None  # class codes of rows in memory, by which some are held out
    classes: Array | None = None  # whose codes labels of spread rows become
    factors: Array | None = None  # that weigh these classes


class _Boosting(Estimator):
    """Base of the boosting models. Abstract."""

    _missing, _infinite, _negative_codes = True, True, False
    _target: ClassVar[str]
    _test_skips: ClassVar[dict[str, str]] = {
        "text_refused/category": "Columns of a category type are read as they are.",
        "weight_scale:l2_regularization": "The penalty stands beside sums of weighted curvatures: weights count rows.",
        "callbacks/limit": "The number of trees is a choice and no limit of convergence, so reaching it is no warning.",
    }

    learning_rate: float = param(0.1, above(0), "Factor ν of each tree's values.")
    max_iter: int = param(100, whole(1), "Number of iterations: of trees, or of trees for each class.")
    max_leaf_nodes: int | None = param(31, [whole(2), none], "Most leaves of a tree; None: no limit.")
    max_depth: int | None = param(None, [whole(1), none], "Most tests between the root and a leaf; None: no limit.")
    min_samples_leaf: int = param(20, whole(1), "Rows that a leaf needs, whatever their weights.")
    l2_regularization: float = param(0.0, at_least(0), "Penalty λ on the squared values of the leaves.")
    max_features: float = param(1.0, between(0, 1, "right"), "Share of the features that is drawn at each node.")
    max_bins: int = param(255, whole(2), "Most bins of a column of numbers, beside one for missing values.")
    subsample: float = param(1.0, between(0, 1, "right"), "Share of the rows, drawn anew, that each iteration fits.")
    categorical_features: Any = param(
        "from_dtype",
        [one_of("from_dtype"), array_like, none],
        "Columns that are categories: those of a category type, or a mask, positions, names; codes below 0: missing.",
    )
    monotonic_cst: Any = param(
        None, [array_like, dict, none], "1 where the prediction may only rise with a feature, −1 only fall, else 0."
    )
    interaction_cst: Any = param(
        None,
        [list, tuple, one_of("pairwise", "no_interactions"), none],
        "Sets of features that may stand together on a path; those in no set form one more.",
    )
    warm_start: bool = param(False, is_bool, "Whether to add trees to those of the last fit.")
    early_stopping: Any = param(
        "auto",
        [one_of("auto"), is_bool],
        "Whether to stop when the score stalls; 'auto': with X_val, or above 10,000 rows and 100 iterations.",
    )
    scoring: Any = param(
        "loss",
        [str, is_callable, none],
        "What early stopping watches: the loss, or a scorer, which gets sample_weight if there is any.",
    )
    validation_fraction: Any = param(
        0.1,
        [above(0), none],
        "Share (below 1) or number of the rows held out for early stopping; None: the training rows are watched.",
    )
    n_iter_no_change: int = param(10, whole(1), "Iterations without improvement after which the fit stops.")
    tol: float = param(1e-7, at_least(0), "What counts as an improvement of the score.")
    random_state: Any = param(None, random_state, "Seed of the draws of rows, features and held-out rows.")

    _attrs = [
        attr("do_early_stopping_", "bool", "Whether the fit was watched by early stopping."),
        attr("train_score_, validation_score_", "ndarray", "With early stopping, minus the loss from the start on."),
        attr("is_categorical_", "(n_features,) or None", "Which columns are categorical."),
        attr("categories_", "Categories or None", "The values of the categorical columns."),
    ]
    _hidden = [attr("_start", "(n_trees_per_iteration_,)", "Predictions before the first tree.")]

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Grow the ensemble from rows X with targets or labels y.

        `sample_weight` weighs the loss of the rows, but `min_samples_leaf` counts rows, whatever their weights. Early
        stopping watches rows `X_val` in memory with `y_val` and `sample_weight_val` if they are given, and none of X
        are then held out; "auto" is True with them.
        """
        rows = self._training_rows(X, y, sample_weight)
        held = self._validation_rows(X_val, y_val, sample_weight_val)
        task = self._task(self._data(rows), held)
        booster, held, state = (self._booster if isinstance(task.data, tuple) else self._spread_booster)(task)
        self._iterate(booster, held, state, (X, y))
        return self

    def _task(self, data: Any, held: Any) -> Task:
        """The targets as the loss reads them, and the loss."""
        raise NotImplementedError

    @property
    def _loss(self) -> Any:
        """The loss that the parameters say."""
        raise NotImplementedError

    def _labels(self, y: Array) -> Array:
        """Targets of the loss as those of the user."""
        return y

    def _training_rows(self, X: Any, y: Any, w: Any) -> Rows:
        """The rows to be fitted; where trees are added, columns and categories must be those of the last fit."""
        if not self._continues():
            return self._rows(X, y, w, target=self._target, categories=self.categorical_features)
        new = learn_categories(self.categorical_features, blocks_of(X), column_names(X), self._negative_codes)
        known, now = (() if c is None else c.values for c in (self.categories_, new))
        if [v is None for v in known] != [v is None for v in now]:
            raise InputError("warm_start needs the columns of the last fit, and the same of them categorical.")
        for j, (old, given) in enumerate(zip(known, now, strict=True)):
            strange = [] if old is None else sorted(set(given.tolist()) - set(old.tolist()), key=str)
            if strange:
                name = repr(self.feature_names_in_[j]) if hasattr(self, "feature_names_in_") else j
                raise InputError(
                    f"warm_start needs the categories of the last fit, which had no {strange[0]!r} in column {name}."
                )
        return self._rows(X, y, w, target=self._target, reset=False)

    def _validation_rows(self, X: Any, y: Any, w: Any) -> tuple[Any, ...] | None:
        """The rows (X, y, w) that are given for early stopping; None if there are none."""
        if X is None and y is None and w is None:
            return None
        if X is None or y is None:
            there, missing = ("y_val", "X_val") if X is None else ("X_val", "y_val")
            raise InputError(f"{there} is provided, but {missing} was not provided: sample_weight_val is for both.")
        if self.early_stopping is False:
            raise ParameterError("X_val and y_val are passed to fit while at the same time early_stopping is False.")
        refuse_no_rows(X, "The validation set is empty: X_val has no rows. Give some, or leave X_val and y_val out.")
        try:
            rows = self._rows(X, y, w, target=self._target, reset=False)
        except ValueError as error:
            raise InputError(f"In the validation set (X_val, y_val, sample_weight_val): {error}") from error
        sentence = "X_val must be in memory, as an array or a data frame: collections can only be fitted."
        return rows.require_memory(sentence).columns[:3]

    def _continues(self) -> bool:
        """Whether trees are added to those of the last fit."""
        return bool(self.warm_start) and hasattr(self, "_packed")

    def _booster(self, task: Task) -> tuple[Booster, Any, Packed | None]:
        """What grows the ensemble on rows in memory, the rows that are watched, and the trees of the last fit."""
        X, y, w = task.data
        X, y, w, held = self._hold_out(X, y, w, task.strata, task.held)
        objective = Objective(task.loss, y, w, task.outputs)
        state = self._continued(objective)
        if state is None:
            self._begin(objective)
        raw = raw_scores(X, state, self._start).T.copy()
        if objective.share is not None:
            objective.follow(objective.width(self._start), first=True)
        bins = X.bins if isinstance(X, Coded) else learn_bins(X, w, self.max_bins, self._counts(), self._seed)
        codes = X.codes if isinstance(X, Coded) else bin_codes(X, bins)
        plan = self._plan(X.shape[1], 1.0 if w is None else float(w.mean()))
        return Booster(X, codes, bins, objective, plan, np.ascontiguousarray(raw)), held, state

    def _spread_booster(self, task: Task) -> tuple[RowsBooster, Any, Packed | None]:
        """A booster like that of `_booster`, for rows that stay on the workers."""
        parts, weighted = task.data.parts(task.loss, task.outputs, task.classes, task.factors)
        out, n = None, first_rows(parts)[1]
        if self._holds_out(n, task.held):
            share = self.validation_fraction if self.validation_fraction < 1 else self.validation_fraction / n
            parts, out = split(parts, share, self._seed_of_split())
        if self.do_early_stopping_ and self.scoring != "loss":
            raise InputError("Early stopping by a scorer needs rows that fit here: use scoring='loss'.")
        objective = Objective(task.loss, np.empty(0), np.empty(0) if weighted else None, task.outputs)
        state = self._continued(objective)
        if state is None:
            self._begin(objective, Statistics(parts))
        if objective.share is not None:
            width = residual_width(parts, parts.map(begin, self._start, None), objective.share)
            objective.follow(width, first=True)
            parts, out = (None if p is None else p.map(following, width, True) for p in (parts, out))
        wanted = self.do_early_stopping_ or bool(getattr(self, "_skl_callbacks", None))
        valued = wanted and hasattr(objective.loss, "value")
        unit = Statistics(parts).totals()[1] / first_rows(parts)[1] if weighted else 1.0
        plan = self._plan(task.data.n_features, unit)
        return RowsBooster(parts, out, task.data.bins, objective, plan, self._start, state, valued), task.held, state

    def _iterate(self, booster: Any, held: Any, state: Packed | None, original: tuple[Any, Any]) -> None:
        """Add trees until there are enough, or the scores stall."""
        history = self._history(booster, held, state) if self.do_early_stopping_ else None
        trees, outputs, patience = list[Tree](), booster.objective.outputs, (self.n_iter_no_change, self.tol)
        valued = hasattr(booster.objective.loss, "value") and getattr(self, "_skl_callbacks", None)
        done = 0 if state is None else len(state.roots) // outputs

        def attributes(grown: list[Tree]) -> dict[str, Any]:
            return {"_packed": extended(state, grown, outputs)}

        with FitProgress(self, self.max_iter, X=original[0], y=original[1], attributes=attributes) as progress:
            self.n_iter_, status = done, "iteration limit"
            for iteration in range(done + 1, self.max_iter + 1):
                trees += booster.step(iteration)
                self.n_iter_ = iteration
                stopped = progress.report(iteration, booster.value() if valued else None, trees)
                if stopped or (history is not None and history.stops(trees, *patience)):
                    status = "stopped"
                    break
        self.__dict__.update(attributes(trees))
        remember(self, Ended(status))
        self.train_score_ = np.array([] if history is None else history.train)
        self.validation_score_ = np.array([] if history is None else history.held_out)

    def _history(self, booster: Any, held: Any, state: Packed | None) -> ScoreHistory:
        """The scores that early stopping watches."""
        raw = None if held is None else raw_scores(held[0], state, self._start).T.copy()
        train, held_out = ([], []) if state is None else (self.train_score_.tolist(), self.validation_score_.tolist())
        scorer = None if self.scoring == "loss" else partial(self._scored, check_scoring(self, self.scoring), state)
        return ScoreHistory(booster, held, raw, scorer, train, held_out, self._seed)

    def _scored(
        self, scorer: Any, state: Packed | None, rows: tuple[Any, Any, Any], raw: Array, trees: list[Tree]
    ) -> float:
        """What a scorer says of rows with these raw scores (outputs, n).

        The model answers it from raw scores: the rows are validated already, with codes for categories, and their sums
        need no walk through all trees.
        """
        X, y, w = rows

        def raw_of(asked: Any) -> Array:  # a scorer of one's own may ask for some of the rows
            return raw.T if asked is X else raw_scores(asked, extended(state, trees, len(raw)), self._start)

        self._raw_of = raw_of
        try:
            return float(scorer(self, X, self._labels(y), **({} if w is None else {"sample_weight": w})))
        finally:
            del self._raw_of

    def _begin(self, objective: Objective, rows: Any = None) -> None:
        """The constant from which a new ensemble starts."""
        self._seed = int(seed_sequence(self.random_state).generate_state(1, np.uint32)[0])
        self._start = objective.start(rows)
        self.n_trees_per_iteration_ = objective.outputs

    def _continued(self, objective: Objective) -> Packed | None:
        """The trees of the last fit, if they are to be kept."""
        if not self._continues():
            return None
        if self.max_iter < self.n_iter_:
            least = f"must be larger than or equal to n_iter_={self.n_iter_} when warm_start==True"
            raise ParameterError(f"max_iter={self.max_iter} {least}.")
        if self.n_trees_per_iteration_ != objective.outputs:
            raise InputError("warm_start needs the classes of the last fit.")
        return self._packed

    def _limits(self, p: int, unit: float = 1.0) -> Limits:
        """When trees stop growing, for rows whose mean weight is `unit`: sums of curvatures go by it."""
        wanted = max(1, int(self.max_features * p))
        return Limits(
            max_depth=1 << 30 if self.max_depth is None else int(self.max_depth),
            max_leaf_nodes=self.max_leaf_nodes or 0, max_features=0 if wanted >= p else wanted,
            min_samples_split=2, min_samples_leaf=self.min_samples_leaf, min_weight_leaf=1e-3 * unit, min_gain=0.0,
            random_splits=False, category_smoothing=10.0 * unit, min_category=10,
        )  # fmt: skip

    def _plan(self, p: int, unit: float) -> BoostingPlan:
        """How trees are grown on rows of this mean weight."""
        names = list(getattr(self, "feature_names_in_", []))
        signs = named_signs(self.monotonic_cst, p, self.n_trees_per_iteration_, self.categories_, names)
        groups = interaction_groups(self.interaction_cst, p, names)
        watched = self.do_early_stopping_ or getattr(self, "_skl_callbacks", None) or getattr(self, "verbose", 0)
        return BoostingPlan(
            learning_rate=self.learning_rate, l2=self.l2_regularization, limits=self._limits(p, unit),
            subsample=self.subsample, seed=self._seed, monotone=signs, interactions=groups,
            unseen=0 if watched else self.max_iter,
        )  # fmt: skip

    def _counts(self) -> Array | None:
        """The number of categories of each column; None if no column has any."""
        return None if self.categories_ is None else self.categories_.counts

    def _data(self, rows: Rows) -> tuple[Any, Any, Any] | SpreadRows:
        """X, y and weights in memory, rows from elsewhere as codes; or codes that stay on the workers."""
        if rows.memory is None:
            bins, n = learn_bins_rows(rows, self.max_bins, self._counts())
            every = self._target == "labels"  # a class stays one though its rows have no weight
            large = n * rows.n_features * bins.dtype.itemsize > GATHERED
            fits = Collection(rows, bins, n).fits(self._limits(len(bins.n_bins)), 2)
            if large and isinstance(rows, ClusterRows) and fits:
                return SpreadRows(rows, bins, every)
            return coded_rows(rows, bins, every)
        X, y, w = (to_numpy(c) if is_tensor(c) else c for c in rows.memory.columns[:3])
        return X, y, w

    def _holds_out(self, n: int, given: Any) -> bool:
        """Whether rows are held out, for early stopping, of n rows; not if there are given ones."""
        auto = (n > 10_000 and self.max_iter > 100) or given is not None
        self.do_early_stopping_ = auto if self.early_stopping == "auto" else bool(self.early_stopping)
        return self.do_early_stopping_ and self.validation_fraction is not None and given is None

    def _seed_of_split(self) -> int:
        """The seed by which rows are held out: that of the last fit when trees are added to it."""
        if not self.warm_start or not hasattr(self, "_split_seed"):
            self._split_seed = int(seed_sequence(self.random_state).generate_state(2, np.uint32)[1] >> 1)
        return self._split_seed

    def _hold_out(self, X: Any, y: Any, w: Any, strata: Any, given: Any) -> tuple[Any, Any, Any, Any]:
        """Rows of positive weight for training and, for early stopping, held-out or given rows (X, y, w)."""
        if w is not None and (w <= 0).any():
            keep = np.flatnonzero(w > 0)
            X, y, w, strata = X[keep], y[keep], w[keep], None if strata is None else strata[keep]
        if not self._holds_out(X.shape[0], given):
            return X, y, w, given
        kept, out = stratified_split(X.shape[0], strata, self.validation_fraction, self._seed_of_split())
        parts = [(X[i], y[i], None if w is None else w[i]) for i in (kept, out)]
        return (*parts[0], parts[1])

    def _answer(self, X: Any, fn: Callable[..., Array], *args: Any) -> Any:
        """``fn(raw scores of rows X, *args)``."""
        if (raw_of := getattr(self, "_raw_of", None)) is not None:  # the model is scored in a fit
            return fn(raw_of(X), *args)
        return self._map_rows(X, partial(answer, fn), self._trees, self._start, *args)

    @property
    def _trees(self) -> Trees:
        """The trees, ready for prediction."""
        return beside(self, lambda: Trees.of(self._packed), self._packed)

    def _staged(self, X: Any) -> Iterator[Any]:
        """Raw predictions (n, outputs) after each iteration; rows in memory."""
        check_is_fitted(self)
        why = "Staged predictions need all rows in memory."
        X = self._rows(X, target="none", reset=False).require_memory(why).X
        X, K = to_numpy(X) if is_tensor(X) else X, self.n_trees_per_iteration_
        out = np.empty((X.shape[0], K))
        out[:] = self._start
        for first in range(0, len(self._packed.roots), K):
            yield predict_sum(self._packed, X, out, first, first + K).astype(X.dtype)

    _compute_partial_dependence_recursion = mean_raw  # what `sklearn.inspection.partial_dependence` asks

    @property
    def is_categorical_(self) -> Array | None:
        """Which columns are categorical; None if there is none."""
        return None if self.categories_ is None else self.categories_.mask
