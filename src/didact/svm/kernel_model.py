"""Base of the smaller kernel models: the kernel, strings as rows, explicit features, sums of a kernel at new rows."""

from typing import Any, NamedTuple

import numpy as np

from didact.core.backend import as_dense, float_type, is_sparse, is_tensor, like, row_weights, to_numpy
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import Estimator
from didact.core.parameters import attr, is_precomputed, param, random_state
from didact.core.rows import Block, Rows
from didact.core.rows.gather import stacked
from didact.core.rows.memory import require_finite
from didact.core.typing import AnyArray, Array
from didact.engines.gram.features import FeatureMap, approximation_param, chosen_map, n_components_param, warn_landmarks
from didact.engines.gram.online import FeatureSpace, FunctionSpace, TableSpace, row_space
from didact.engines.gram.rows import is_text, rows_or_strings
from didact.engines.gram.spread import scale_gamma
from didact.engines.gram.systems import SOME, own_gram, square_kernel, warn_indefinite
from didact.engines.scores.linear import labels_of_scores
from didact.kernels import Linear
from didact.parts.statistics.counts import label_codes, label_counts, weigh_classes
from didact.svm.base import (
    chosen_kernel,
    coef0_param,
    degree_param,
    gamma_param,
    kernel_param,
    values_at,
)


def features_for(model: Any, rows: Rows) -> FeatureMap:
    """The features that a model's `approximation` asks for, of its kernel."""
    if is_precomputed(model.kernel):
        raise ParameterError("A precomputed kernel cannot be approximated: use approximation=None.")
    kernel = kernel_for(model, rows)
    features = chosen_map(model.approximation, kernel, rows, int(model.n_components), model.random_state)
    warn_landmarks(model, features)
    return features


def kernel_for(model: Any, rows: Rows) -> Any:
    """The kernel that a model's parameters name, for rows of any kind."""
    gamma = model.gamma
    if isinstance(gamma, str) and gamma == "scale" and model.kernel in ("poly", "rbf", "sigmoid"):
        gamma = scale_gamma(rows)
    empty = np.empty((0, rows.n_features))
    return chosen_kernel(model.kernel, gamma, int(model.degree), float(model.coef0), empty, None)[0]


DRAWN = "Landmarks are drawn from the rows: others, or the same in another order, are other landmarks."
LANDMARK_SKIPS = dict.fromkeys(
    (
        "weights_equal_repetition/repeated",
        "row_order",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    DRAWN,
)


def coded(block: Block, classes: Array, factors: Array | None) -> Block:
    """A block with class numbers for labels, and class weights folded into the weights."""
    codes = to_numpy(label_codes(block.y, classes)).astype(np.int64)
    w = block.weight
    if factors is not None:
        each = like(factors[codes], block.X)
        w = each if w is None else w * each
    return block._replace(y=codes, weight=w)


def class_rows(model: Any, rows: Rows) -> tuple[Rows, Array, Array | None]:
    """Rows with class numbers and class weights, the weight of each class, and its factor; sets classes_."""
    counts = rows.reduce(label_counts)
    model.classes_ = counts.values
    counts.require_two(type(model).__name__)
    factors = weigh_classes(model.class_weight, counts)
    weights = counts.weights if factors is None else counts.weights * factors
    if (weights > 0).sum() < 2:
        raise InputError("class_weight leaves fewer than two classes with a positive weight.")
    return rows.prepared(coded, model.classes_, factors), weights, factors


def sides(codes: Array, K: int) -> Array:
    """±1 of the rows: one column for two classes, +1 for the second; else one for each class."""
    return np.where(codes[:, None] == (np.array([1]) if K == 2 else np.arange(K)), 1.0, -1.0)


class Data(NamedTuple):
    """Rows by number: values, targets (n, d), weights, the numbers of those to learn from, and features if any."""

    X: Any
    targets: Array
    weight: Array
    new: Array
    dtype: Any
    features: FeatureMap | None


class Pairs(NamedTuple):
    """Rows in memory and their Gram matrix, with class numbers and weights.

    With a free constant the linear kernel is taken of the rows less their mean: the optimum is the same, since its
    coefficients sum to zero, and a large common part of the rows costs the Gram matrix no digits.
    """

    X: Any
    K: AnyArray
    codes: Array
    weight: Array
    mean: Any  # of the columns; None: rows are as they are


class _KernelModel(Estimator):
    """Abstract: a model whose answers are sums of a kernel over fitted rows, or over landmarks."""

    _attrs = [
        attr("support_", "(n_SV,)", "Numbers of the fitted rows that have coefficients, or of the landmarks."),
        attr("support_vectors_", "(n_SV, n_features)", "These rows, landmarks or frequencies; empty: precomputed."),
        attr("dual_coef_", "(n_outputs, n_SV)", "Their coefficients."),
        attr("kernel_", "kernel or str", "The kernel, or the function that makes features."),
    ]

    kernel: Any = kernel_param()
    degree: int = degree_param()
    gamma: Any = gamma_param()
    coef0: float = coef0_param()
    approximation: Any = approximation_param()
    n_components: int = n_components_param()
    random_state: Any = param(None, random_state, "Draws landmarks, frequencies or the order of rows.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = isinstance(self.kernel, str) and not is_precomputed(self.kernel)
        return tags

    _rows = rows_or_strings

    def _pairs(self, rows: Rows) -> Pairs:
        """All rows, which have class numbers for targets, and their Gram matrix; sets kernel_."""
        X, y, w, *_ = rows.whole()
        if not is_text(X):
            require_finite(X, rows.names)
        codes, mean = to_numpy(y), None
        w = row_weights(w, len(codes))
        if is_precomputed(self.kernel):
            return Pairs(X=X, K=self._given(X), codes=codes, weight=w, mean=None)
        self.kernel_ = kernel_for(self, rows)
        A = X = X if is_text(X) or is_tensor(X) else X.astype(np.float64, copy=False)
        if isinstance(self.kernel_, Linear) and self.fit_intercept and not is_sparse(X):
            mean = like(w / w.sum(), X) @ X
            A = X - mean
        return Pairs(X=X, K=own_gram(self.kernel_, A), codes=codes, weight=w, mean=mean)

    def _given(self, X: AnyArray) -> AnyArray:
        """A precomputed matrix."""
        self.kernel_ = "precomputed"
        return square_kernel(X)

    def _begin(self, rows: Rows, targets: Array, state: Any, columns: int) -> tuple[FunctionSpace, Data]:
        """For models that learn row by row: the function so far, with so many columns, and the rows by number.

        `state` is None, or holds the coefficients of `support_vectors_`, which are then the first rows; the rows to
        learn from follow. With an approximation it holds the weights of its features.
        """
        X, _, w, *_ = rows.whole()
        d, w = targets.shape[1], row_weights(w, len(targets))
        if not is_text(X):
            require_finite(X, rows.names)
        X = X if is_text(X) else X.astype(np.float64, copy=False)
        old = np.zeros((0, columns)) if state is None else state["coef"]
        if self.approximation is not None:
            features = features_for(self, rows) if state is None else self._features(state)
            coef = np.zeros((features.size, columns)) if state is None else old.copy()
            new = np.arange(len(targets))
            data = Data(X=X, targets=targets, weight=w, new=new, dtype=float_type(rows), features=features)
            return FeatureSpace(features, X, coef, d), data
        n, coef = len(old), np.concatenate([old, np.zeros((len(targets), columns))])
        X, space = self._space(X, rows, state, coef, d)
        targets, w = np.concatenate([np.zeros((n, d)), targets]), np.concatenate([np.zeros(n), w])
        new = np.arange(n, len(targets))
        return space, Data(X=X, targets=targets, weight=w, new=new, dtype=float_type(rows), features=None)

    def _space(self, X: AnyArray, rows: Rows, state: Any, coef: Array, scored: int) -> tuple[AnyArray, FunctionSpace]:
        """All rows that matter, and a function on them; sets kernel_."""
        if is_precomputed(self.kernel):
            K = self._given(X)
            warn_indefinite(self, self.kernel_, lambda: K)
            return X, TableSpace(K, coef, scored)
        if state is None:
            self.kernel_ = kernel_for(self, rows)
            warn_indefinite(self, self.kernel_, lambda: own_gram(self.kernel_, X[:SOME]))
            return X, row_space(self.kernel_, X, coef, scored, again=True)
        old = self.support_vectors_
        if old.shape[0] != len(coef) - X.shape[0]:
            raise InputError(f"{type(self).__name__} keeps {old.shape[0]} rows with other coefficients: fit it anew.")
        if is_sparse(old) != is_sparse(X):
            X, old = (as_dense(A) for A in (X, old))
        X = stacked((old, X)) if old.shape[0] else X
        return X, row_space(self.kernel_, X, coef, scored, again=False)

    def _features(self, state: Any) -> FeatureMap:
        """The features of an earlier call of partial_fit."""
        numbers = self.support_ if len(self.support_) else None
        return FeatureMap(self.kernel_, self.support_vectors_, state.get("mixing"), numbers)

    def _earlier(self) -> Any:
        """What partial_fit goes on from; None in its first call."""
        if is_precomputed(self.kernel):
            raise ParameterError("partial_fit takes rows, not a precomputed kernel: new rows have no values with old.")
        return getattr(self, "_state", None)

    def _keep(self, X: AnyArray, coef: Array, constant: Array, dtype: Any, used: Any = None) -> dict[str, Any]:
        """Fitted attributes from coefficients (n, d) of all rows: rows that have some are kept, or those `used`."""
        if not np.isfinite(coef).all():
            raise InputError("The coefficients are not finite: scale X, or penalise more.")
        used = np.flatnonzero(coef.any(axis=1)) if used is None else used
        given = isinstance(self.kernel_, str)
        chosen = np.empty((0, 0)) if given else to_numpy(X[used.tolist()]) if is_tensor(X) else X[used]
        chosen = chosen if is_text(chosen) else chosen.astype(dtype, copy=False)
        return {
            "support_": used.astype(np.int32),
            "support_vectors_": chosen,
            "dual_coef_": coef[used].T.astype(dtype),
            "intercept_": np.asarray(constant, dtype),
        }

    def _keep_pairs(self, pairs: Pairs, coef: Array, constant: Array, dtype: Any) -> dict[str, Any]:
        """Fitted attributes from coefficients (n, d) and constants that belong to `pairs`, for rows as they are.

        A multiple of the weights added to the coefficients changes no value about the mean: so they can sum to zero.
        """
        warn_indefinite(self, self.kernel_, lambda: pairs.K)
        if pairs.mean is None:
            return self._keep(pairs.X, coef, constant, dtype)
        coef = coef - np.outer(pairs.weight, coef.sum(axis=0) / pairs.weight.sum())
        kept = self._keep(pairs.X, coef, constant, dtype)
        slopes = kept["support_vectors_"].T @ kept["dual_coef_"].T  # rounded as they are in predictions
        return kept | {"intercept_": (constant - to_numpy(pairs.mean) @ slopes).astype(dtype)}

    def _keep_features(self, features: FeatureMap, weights: Array, constant: Array, dtype: Any) -> dict[str, Any]:
        """Fitted attributes from weights (m, d) of features."""
        numbers = np.empty(0, np.int32) if features.numbers is None else features.numbers.astype(np.int32)
        return {
            "kernel_": features.kernel,
            "support_": numbers,
            "support_vectors_": features.vectors,
            "dual_coef_": features.coefficients(weights).T.astype(dtype),
            "intercept_": np.asarray(constant, dtype),
        }

    def _sums(self) -> tuple[Any, ...]:
        """Arguments of `values_at` after X."""
        self._after_fit()
        return self.kernel_, self.support_, self.support_vectors_, self.dual_coef_.T, self.intercept_


def scores_at(X: AnyArray, *sums: Any) -> AnyArray:
    """Scores: (n,) for two classes, (n, K) for more."""
    found = values_at(X, *sums)
    return found[:, 0] if found.shape[1] == 1 else found


def labels_at(X: AnyArray, classes: Array, *sums: Any) -> Array:
    """The class with the highest score of each row."""
    return labels_of_scores(scores_at(X, *sums), classes)
