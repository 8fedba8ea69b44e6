"""RidgeCV: closed-form leave-one-out against refits, folds against scikit-learn, and the same from every collection."""

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit
from sklearn.utils.estimator_checks import parametrize_with_checks

from didact import Batches, EarlyStopping, linear_model
from didact.core.errors import InputError, ParameterError
from didact.core.rows import MemoryRows
from didact.linear_model import Ridge, RidgeCV
from didact.linear_model.leave_one_out import solve_few_rows, solve_grid, squared_errors, stacked_errors, with_map

ALPHAS = np.array([0.01, 0.3, 5.0, 100.0])
SHAPES = [(40, 4), (11, 20), (15, 15)]


def table(n, p, targets=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 3.0
    return X, X[:, :3] @ rng.normal(size=(3, targets)) + rng.normal(size=(n, targets)), rng.integers(0, 4, n) + 0.5


def refits(X, Y, w, fit_intercept):
    """Error on each row of fits to all others, (n, targets, alphas)."""
    n = len(Y)
    errors = np.empty((n, Y.shape[1], len(ALPHAS)))
    for i in range(n):
        others = np.arange(n) != i
        for a, alpha in enumerate(ALPHAS):
            model = Ridge(alpha, fit_intercept=fit_intercept, solver="svd")
            model.fit(X[others], Y[others], None if w is None else w[others])
            errors[i, :, a] = Y[i] - model.predict(X[i : i + 1])[0]
    return errors


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_leave_one_out_equals_refits(n, p, fit_intercept, weighted, kind):
    X, Y, w = table(n, p)
    w = w if weighted else None
    squares = refits(X, Y, w, fit_intercept) ** 2 * (1 if w is None else w[:, None, None])
    model = RidgeCV(ALPHAS, fit_intercept=fit_intercept, store_cv_results=True).fit(kind(X), Y, w)
    np.testing.assert_allclose(model.cv_results_, squares, rtol=1e-8, atol=1e-10)
    means = squares.mean(axis=(0, 1))
    assert model.alpha_ == ALPHAS[np.argmin(means)]
    np.testing.assert_allclose(model.best_score_, -means.min(), rtol=1e-9)
    plain = RidgeCV(ALPHAS, fit_intercept=fit_intercept).fit(kind(X), Y, w)  # sums over blocks, not errors of rows
    np.testing.assert_allclose(plain.best_score_, model.best_score_, rtol=1e-9)
    best = Ridge(model.alpha_, fit_intercept=fit_intercept, solver="svd").fit(X, Y, w)
    np.testing.assert_allclose(plain.coef_, best.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(plain.intercept_, best.intercept_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_a_row_of_weight_zero_is_predicted_by_the_fit_to_the_others(n, p, fit_intercept):
    X, Y, w = table(n, p)
    w[3] = 0.0
    errors = refits(X, Y, w, fit_intercept)
    model = RidgeCV(ALPHAS, fit_intercept=fit_intercept, store_cv_results=True, scoring="neg_mean_absolute_error")
    predictions = model.fit(X, Y, w).cv_results_
    np.testing.assert_allclose(predictions, Y[:, :, None] - errors, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(("n", "p"), [(200, 10), (30, 60)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("targets", [1, 3])
def test_same_as_scikit_learn(n, p, weighted, targets):
    X, Y, w = table(n, p, targets)
    y, w = Y[:, 0] if targets == 1 else Y, w if weighted else None
    ours, theirs = (module.RidgeCV(ALPHAS, store_cv_results=True).fit(X, y, w) for module in (linear_model, peer))
    assert ours.alpha_ == theirs.alpha_
    for name in ("best_score_", "coef_", "intercept_", "cv_results_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-7, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("scoring", ["r2", "neg_mean_absolute_error", make_scorer(mean_absolute_error)])
@pytest.mark.parametrize("per_target", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_scorers_see_the_held_out_predictions(scoring, per_target, weighted):
    X, Y, w = table(60, 5, 3)
    w = w if weighted else None
    ours, theirs = (
        module.RidgeCV(ALPHAS, scoring=scoring, alpha_per_target=per_target).fit(X, Y, w)
        for module in (linear_model, peer)
    )
    np.testing.assert_array_equal(ours.alpha_, theirs.alpha_)
    np.testing.assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-9)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)


def test_one_penalty_for_each_target():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    Y = np.stack([10 * X[:, 0] + 0.1 * rng.normal(size=60), rng.normal(size=60)], axis=1)
    model = RidgeCV(ALPHAS, alpha_per_target=True).fit(X, Y)
    assert model.alpha_.tolist() == [0.01, 100.0]
    for k in range(2):
        alone = RidgeCV(ALPHAS).fit(X, Y[:, k])
        assert alone.alpha_ == model.alpha_[k]
        np.testing.assert_allclose(model.best_score_[k], alone.best_score_, rtol=1e-10)
        np.testing.assert_allclose(model.coef_[k], alone.coef_, rtol=1e-10)


@pytest.mark.parametrize(
    "cv",
    [
        5,
        KFold(3, shuffle=True, random_state=0),
        ShuffleSplit(4, random_state=0),
        RepeatedKFold(n_splits=3, n_repeats=2, random_state=1),
    ],
    ids=["number", "shuffled", "overlapping", "repeated"],
)
@pytest.mark.parametrize(("n", "p"), [(90, 6), (20, 40)])
@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error"])
def test_folds_as_in_scikit_learn(cv, n, p, scoring):
    X, Y, w = table(n, p)
    ours, theirs = (module.RidgeCV(ALPHAS, cv=cv, scoring=scoring).fit(X, Y, w) for module in (linear_model, peer))
    assert ours.alpha_ == theirs.alpha_
    np.testing.assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-8)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("n", [200, 30], ids=["long", "wide"])
def test_same_from_batches_and_dask(n):
    X, Y, w = table(n, 50, seed=4)
    pieces = [slice(k, k + 17) for k in range(0, n, 17)]
    memory = RidgeCV(ALPHAS).fit(X, Y, w)
    batches = RidgeCV(ALPHAS).fit(Batches(lambda: ((X[s], Y[s], w[s]) for s in pieces)))
    with dask.config.set(scheduler="synchronous"):
        cluster = RidgeCV(ALPHAS).fit(*(da.from_array(a, chunks=(25, *a.shape[1:])) for a in (X, Y, w)))
    for other in (batches, cluster):
        assert other.alpha_ == memory.alpha_
        np.testing.assert_allclose(other.best_score_, memory.best_score_, rtol=1e-8)
        np.testing.assert_allclose(other.coef_, memory.coef_, rtol=1e-8, atol=1e-12)


def test_batches_are_scored_and_stored_too():
    X, Y, w = table(100, 5)
    source = Batches(lambda: ((X[k : k + 30], Y[k : k + 30], w[k : k + 30]) for k in range(0, 100, 30)))
    for scoring in (None, "r2"):
        model = RidgeCV(ALPHAS, scoring=scoring, store_cv_results=True)
        expected = model.fit(X, Y, w).cv_results_
        np.testing.assert_allclose(RidgeCV(**model.get_params()).fit(source).cv_results_, expected, rtol=1e-9)


def test_poor_condition_takes_the_accurate_way():
    """Nearly equal columns: cross-products lose what a triangular factor keeps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X = np.column_stack([X, X[:, 0] + 1e-7 * rng.normal(size=60)])
    y = X @ [1.0, 2.0, 3.0, 4.0] + rng.normal(size=60)
    alphas = np.array([1e-12, 1.0])
    rows = MemoryRows(X, y, None)
    grid = solve_grid(rows, alphas, True)
    errors = rows.reduce(stacked_errors, *with_map(grid)).columns()[0]
    _, expected = solve_few_rows(rows, alphas, True)
    centred = X - X.mean(axis=0)
    U, s, Vt = np.linalg.svd(centred, full_matrices=False)
    exact = Vt.T @ (s / (s**2 + 1e-12) * (U.T @ (y - y.mean())))
    np.testing.assert_allclose(grid.coef[:, 0, 0], exact, rtol=1e-6)
    np.testing.assert_allclose(errors[:, 1], expected[:, 1], rtol=1e-7)
    kept = 1 - 1 / 60 - (U**2) @ (s**2 / (s**2 + 1e-12))
    np.testing.assert_allclose(errors[:, 0, 0], (y - y.mean() - centred @ exact) / kept, rtol=1e-6)


def test_blocks_do_not_change_the_sums():
    X, Y, w = table(5000, 4)
    whole, parts = (
        MemoryRows(X, Y, w),
        [MemoryRows(X[s], Y[s], w[s]) for s in (slice(0, 1), slice(1, 3000), slice(3000, None))],
    )
    arguments = with_map(solve_grid(whole, ALPHAS, True))
    total, n = whole.reduce(squared_errors, *arguments).parts
    merged = [part.reduce(squared_errors, *arguments).parts for part in parts]
    np.testing.assert_allclose(sum(m[0] for m in merged), total, rtol=1e-12)
    assert n == 5000


def test_first_of_equal_scores_wins():
    X, _, _ = table(20, 3)
    assert RidgeCV([5.0, 1.0, 1.0]).fit(X, np.ones(20)).alpha_ == 5.0
    assert RidgeCV([5.0, 1.0]).fit(np.zeros((20, 2)), np.arange(20.0)).alpha_ == 5.0
    assert RidgeCV(2.5).fit(X, X[:, 0]).alpha_ == 2.5


def test_float32_gives_float32():
    X, Y, _ = table(300, 6)
    single = RidgeCV(ALPHAS, store_cv_results=True).fit(X.astype(np.float32), Y)
    double = RidgeCV(ALPHAS).fit(X, Y)
    assert single.coef_.dtype == single.cv_results_.dtype == np.float32
    assert single.alpha_ == double.alpha_
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=1e-4)


def test_what_cannot_be_is_refused_with_a_sentence():
    X, Y, _ = table(30, 3)
    with pytest.raises(ParameterError, match="must be > 0"):
        RidgeCV([0.0, 1.0]).fit(X, Y)
    assert RidgeCV([0.0, 1e9], cv=3).fit(X, Y).alpha_ == 0.0  # with folds least squares is a candidate
    with pytest.raises(ParameterError, match="must be >= 0"):
        RidgeCV([-1.0], cv=3).fit(X, Y)
    for option in ("store_cv_results", "alpha_per_target"):
        with pytest.raises(ParameterError, match="leave-one-out"):
            RidgeCV(cv=3, **{option: True}).fit(X, Y)
    with pytest.raises(InputError, match="in memory"):
        RidgeCV(cv=3).fit(Batches(lambda: [(X, Y)]))
    with pytest.raises(InputError, match="at least two rows with weight, but the data have only one"):
        RidgeCV().fit(X[:1], Y[:1])
    X[4, 1] = np.nan
    for rows in (30, 3):
        with pytest.raises(InputError, match="column 1"):
            RidgeCV().fit(X[4 : 4 + rows], Y[4 : 4 + rows])


def test_callbacks_hear_of_folds_and_can_stop():
    X, Y, _ = table(60, 4)
    model = RidgeCV(ALPHAS, cv=3).set_callbacks(EarlyStopping(patience=1)).fit(X, Y)
    assert model.alpha_ in ALPHAS
    assert np.isfinite(model.best_score_)


@parametrize_with_checks([RidgeCV(cv=3)])
def test_scikit_learn_checks_with_folds(estimator, check):
    check(estimator)


@pytest.mark.parametrize("sizes", [[1.0, 1.0, 1e17], [1e-8, 1e140, 1.0], [1.0, 1e60, 1e20]])
def test_columns_of_very_different_size(sizes):
    """The penalty of a huge column vanishes, and no column is lost beside it."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(40, 3))
    y = Z @ [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=40)
    X, Zc, yc = Z * sizes, Z - Z.mean(axis=0), y - y.mean()
    for alpha in (0.1, 10.0):
        below = np.diag(np.sqrt(alpha) / np.asarray(sizes))  # the penalty as rows, in units of the columns
        expected = np.linalg.lstsq(np.vstack([Zc, below]), np.append(yc, np.zeros(3)))[0]
        for model in (Ridge(alpha), Ridge(alpha, solver="svd"), RidgeCV([alpha]), RidgeCV([alpha], cv=4)):
            np.testing.assert_allclose(model.fit(X, y).coef_ * sizes, expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("cv", [None, 3])
@pytest.mark.parametrize("n", [40, 3])
def test_columns_whose_squares_overflow_are_refused_by_name(n, cv):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    X[:, 1] *= 1e160
    with pytest.raises(InputError, match="Input X in column 1 has values up to"):
        RidgeCV(cv=cv).fit(X, rng.normal(size=n))


@pytest.mark.parametrize("scale", [1.0, 1e25])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_single_precision_is_summed_in_double_whatever_the_storage(fit_intercept, scale):
    """Products in single precision would lose the condition of the rows, about 1e3, squared, and overflow at 1e19."""
    rng = np.random.default_rng(42)
    X = rng.normal(size=(50, 50)).astype(np.float32) * np.float32(scale)
    y = (X.astype(np.float64) @ rng.normal(size=50) / scale).astype(np.float32)
    alpha = 1e-6 * scale**2
    expected = RidgeCV([alpha], fit_intercept=fit_intercept).fit(X.astype(np.float64), y).coef_
    for rows in (X, sp.csr_array(X)):
        for model in (RidgeCV([alpha], fit_intercept=fit_intercept), Ridge(alpha, fit_intercept=fit_intercept)):
            found = model.fit(rows, y).coef_
            assert found.dtype == np.float32
            np.testing.assert_allclose(found * scale, expected * scale, rtol=1e-5, atol=1e-5)
