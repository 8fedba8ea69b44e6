"""Votes of neighbours: against scikit-learn, by hand, and where there is little or nothing to vote."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn.neighbors as sk
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics.pairwise import rbf_kernel

import didact
from didact import Batches
from didact.core.errors import InputError, ParameterError
from didact.ensemble import AdaBoostClassifier
from didact.neighbors import (
    KernelDensityClassifier,
    KNeighborsClassifier,
    KNeighborsRegressor,
    RadiusNeighborsClassifier,
    edit_distances,
)


def problem(seed=0, n=300, p=4, classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.array(["low", "middle", "top"])[np.searchsorted([-0.5, 0.5], X[:, 0] + 0.5 * rng.normal(size=n))]
    return X, y, rng.normal(size=(80, p))


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: 1 / (1 + d)])
@pytest.mark.parametrize("how", [{}, {"algorithm": "brute"}, {"p": 1}, {"metric": "chebyshev"}, {"p": 3.0}])
def test_k_neighbours_equal_scikit_learn(weights, how):
    X, y, new = problem()
    ours = KNeighborsClassifier(7, weights=weights, **how).fit(X, y)
    theirs = sk.KNeighborsClassifier(7, weights=weights, **how).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))
    np.testing.assert_array_equal(ours.kneighbors(new)[1], theirs.kneighbors(new)[1])


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("label", ["most_frequent", "nobody", "top"])
@pytest.mark.filterwarnings("ignore:Outlier label")
def test_radius_equals_scikit_learn(weights, label):
    X, y, new = problem()
    new[:3] += 50
    ours = RadiusNeighborsClassifier(0.9, weights=weights, outlier_label=label).fit(X, y)
    theirs = sk.RadiusNeighborsClassifier(0.9, weights=weights, outlier_label=label).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new).astype(str))


@pytest.mark.parametrize("weights", ["uniform", "distance", "gaussian"])
@pytest.mark.parametrize("model", [KNeighborsClassifier(7), RadiusNeighborsClassifier(1.2, outlier_label="low")])
def test_without_rows_the_fitted_ones_are_asked_each_by_the_others(model, weights):
    X, y, _ = problem(n=80)
    model = model.set_params(weights=weights).fit(X, y)
    left = [
        type(model)(**model.get_params()).fit(np.delete(X, i, 0), np.delete(y, i)).predict_proba(X[i : i + 1])[0]
        for i in range(len(X))
    ]
    np.testing.assert_allclose(model.predict_proba(None), left, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.predict(None), model.classes_[np.argmax(left, axis=1)])
    assert model.score(None, y) == np.mean(model.predict(None) == y)
    if weights != "gaussian":
        theirs = getattr(sk, type(model).__name__)(
            **{k: getattr(model, k) for k in ("n_neighbors", "radius", "weights", "outlier_label") if hasattr(model, k)}
        ).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(None), theirs.predict_proba(None), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model", [KNeighborsClassifier(7), RadiusNeighborsClassifier(1.2, outlier_label="low")])
def test_leaving_out_leaves_out_one_of_the_rows_that_a_weight_stands_for(model):
    X, y, _ = problem(n=60)
    w = np.random.default_rng(0).integers(1, 4, 60)
    weighted = model.fit(X, y, sample_weight=w).predict_proba(None)
    repeated = model.fit(X.repeat(w, axis=0), y.repeat(w)).predict_proba(None)
    np.testing.assert_allclose(weighted, repeated[np.cumsum(w) - 1], rtol=1e-9, atol=1e-12)


def test_too_few_others():
    model = KNeighborsClassifier(3).fit([[0.0], [1.0], [2.0]], list("aab"))
    with pytest.raises(InputError, match="Expected n_neighbors <= n_samples_fit"):
        model.predict(None)
    model = KNeighborsClassifier(3).fit([[0.0], [1.0]], list("ab"), sample_weight=[1.0, 2.0])
    assert model.predict([[0.0]]).tolist() == ["b"]
    with pytest.raises(InputError, match="the weights of the other rows sum to 2"):
        model.predict(None)


def test_several_outputs_of_different_kinds():
    X, y, new = problem()
    both = np.column_stack([y, np.where(X[:, 1] > 0, "yes", "no")])
    ours = KNeighborsClassifier().fit(X, both)
    theirs = sk.KNeighborsClassifier().fit(X, both)
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))
    for got, expected in zip(ours.predict_proba(new), theirs.predict_proba(new), strict=True):
        np.testing.assert_allclose(got, expected)
    for names, expected in zip(ours.classes_, theirs.classes_, strict=True):
        np.testing.assert_array_equal(names, expected)
    far = np.vstack([new, new[:1] + 99])
    model = RadiusNeighborsClassifier(2.0, outlier_label=["low", "no"]).fit(X, both)
    assert model.predict(far)[-1].tolist() == ["low", "no"]
    with pytest.raises(InputError, match="1 labels, and y has 2 outputs"):
        RadiusNeighborsClassifier(outlier_label=["low"]).fit(X, both)


def test_ties_go_to_the_first_class_and_to_the_first_row():
    X, y = [[0.0], [2.0], [1.0], [1.0]], ["z", "a", "b", "c"]
    model = KNeighborsClassifier(n_neighbors=2).fit(X, y)
    assert model.predict([[1.0]]).tolist() == ["b"], "rows 2 and 3 tie, b comes before c"
    assert KNeighborsClassifier(1).fit(X, y).predict([[1.0]]).tolist() == ["b"], "row 2 comes before row 3"
    assert KNeighborsClassifier(1).fit(X[::-1], y[::-1]).predict([[1.0]]).tolist() == ["c"]
    both = KNeighborsClassifier(4).fit(X, y)
    assert both.predict([[1.0]]).tolist() == ["a"]


def test_zero_distances_take_all_the_weight():
    X, y = np.array([[0.0], [0.0], [0.0], [1.0], [1e-320]]), ["a", "b", "a", "b", "b"]
    model = KNeighborsClassifier(5, weights="distance", metric="manhattan").fit(X, y)
    np.testing.assert_allclose(model.predict_proba([[0.0]]), [[2 / 3, 1 / 3]])
    np.testing.assert_allclose(model.predict_proba([[1.0]]), [[0.0, 1.0]])
    tiny = KNeighborsClassifier(2, weights="distance", p=1).fit([[1e-320], [-3e-320]], ["a", "b"])
    np.testing.assert_allclose(tiny.predict_proba([[0.0]]), [[0.75, 0.25]], rtol=1e-3)


def test_gaussian_weights_by_hand():
    X, y = [[0.0], [1.0], [3.0]], ["a", "b", "b"]
    model = KNeighborsClassifier(3, weights="gaussian", bandwidth=2.0).fit(X, y)
    w = np.exp(-0.5 * (np.array([0.5, 0.5, 2.5]) / 2.0) ** 2)
    np.testing.assert_allclose(model.predict_proba([[0.5]]), [[w[0] / w.sum(), 1 - w[0] / w.sum()]])
    w = np.exp(-0.5 * (np.array([0.5, 0.5, 2.5]) / 1.25) ** 2)
    free = model.set_params(bandwidth=None)
    np.testing.assert_allclose(free.predict_proba([[0.5]]), [[w[0] / w.sum(), 1 - w[0] / w.sum()]])
    far = model.set_params(bandwidth=1e-3).predict_proba([[1000.0]])
    np.testing.assert_allclose(far, [[0.0, 1.0]], err_msg="weights do not all vanish")
    same = KNeighborsClassifier(2, weights="gaussian").fit([[0.0], [0.0]], ["a", "b"])
    np.testing.assert_allclose(same.predict_proba([[0.0]]), [[0.5, 0.5]])
    radius = RadiusNeighborsClassifier(3.0, weights="gaussian").fit(X, y)
    w = np.exp(-0.5 * (np.array([0.5, 0.5, 2.5]) / 1.5) ** 2)
    np.testing.assert_allclose(radius.predict_proba([[0.5]])[0, 0], w[0] / w.sum())


@pytest.mark.parametrize("weights", ["uniform", "distance", "gaussian"])
def test_equal_weights_of_any_size_are_no_weights(weights):
    X, y, new = problem(n=60)
    expected = KNeighborsClassifier(5, weights=weights).fit(X, y).predict_proba(new)
    for size in (1 / 60, 1e-12, 1.0, 7.0, 1e12):
        got = KNeighborsClassifier(5, weights=weights).fit(X, y, sample_weight=np.full(60, size)).predict_proba(new)
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("scale", [1.0, 0.001, 1000.0, 1e20])
def test_relative_weights_have_mean_one_and_fill_up_to_k(scale):
    X, y, new = problem(n=60)
    w = np.random.default_rng(0).exponential(size=60) ** 2
    w[::7] = 0.0
    model = KNeighborsClassifier(5).fit(X, y, sample_weight=scale * w)
    share = w / w[w > 0].mean()
    for q, found in zip(new, model.predict_proba(new), strict=True):
        near = np.argsort(((X - q) ** 2).sum(axis=1), kind="stable")
        before = np.cumsum(share[near]) - share[near]
        taken = np.clip(5 - before, 0.0, share[near])
        expected = [taken[y[near] == c].sum() / 5 for c in model.classes_]
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_weights_that_sum_to_one_do_not_ruin_nearest_neighbours():
    X, y = load_iris(return_X_y=True)
    n = len(y)
    assert KNeighborsClassifier(1).fit(X, y, sample_weight=np.full(n, 1 / n)).score(X, y) == 1.0
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    boosted = AdaBoostClassifier(KNeighborsClassifier(5), n_estimators=10, random_state=0).fit(X[::2], y[::2])
    assert boosted.score(X[1::2], y[1::2]) > 0.9


def test_a_heavy_row_takes_several_places():
    model = KNeighborsClassifier(6).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"], sample_weight=[4.0, 1.0, 18.0])
    np.testing.assert_allclose(model.predict_proba([[0.0]]), [[2 / 3, 1 / 3]])
    with pytest.raises(InputError, match="weights of the rows sum to 3"):
        KNeighborsClassifier(4).fit([[0.0], [1.0]], ["a", "b"], sample_weight=[1.0, 2.0]).predict([[0.0]])


@pytest.mark.parametrize("metric", ["mahalanobis", "seuclidean"])
def test_metrics_from_the_data_are_weighted_too(metric):
    X, y, new = problem(n=60)
    w = np.random.default_rng(0).integers(0, 4, size=60)
    weighted = KNeighborsClassifier(5, weights="distance", metric=metric).fit(X, y, sample_weight=w)
    repeated = KNeighborsClassifier(5, weights="distance", metric=metric).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.predict_proba(new), repeated.predict_proba(new), rtol=1e-7)


def test_precomputed_distances():
    X, y, new = problem()
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    Q = np.sqrt(((new[:, None] - X) ** 2).sum(axis=2))
    model = KNeighborsClassifier(metric="precomputed", weights="distance").fit(D, y)
    expected = KNeighborsClassifier(weights="distance").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(Q), expected.predict_proba(new), rtol=1e-9)
    with pytest.raises(InputError, match="Negative"):
        model.predict(-Q)
    D[3, 4] = -1
    with pytest.raises(InputError, match="Negative"):
        KNeighborsClassifier(metric="precomputed").fit(D, y)
    with pytest.raises(InputError, match="square"):
        KNeighborsClassifier(metric="precomputed").fit(D[:, :5], y)


def test_kernelised_distance():
    """‖φ(x)−φ(z)‖² = k(x,x) − 2k(x,z) + k(z,z); worked example 97."""
    X, y, new = problem()
    model = KNeighborsClassifier(metric="kernel", metric_params={"kernel": "rbf", "gamma": 0.4}).fit(X, y)
    d, rows = model.kneighbors(new)
    expected = np.sqrt(2 - 2 * rbf_kernel(new, X, gamma=0.4))
    np.testing.assert_allclose(d, np.sort(expected, axis=1)[:, :5], rtol=1e-6)
    np.testing.assert_array_equal(rows, sk.KNeighborsClassifier().fit(X, y).kneighbors(new)[1], "the order stays")
    linear = KNeighborsClassifier(metric="kernel", metric_params={"kernel": "linear"}).fit(X, y)
    np.testing.assert_allclose(
        linear.kneighbors(new)[0], KNeighborsClassifier().fit(X, y).kneighbors(new)[0], rtol=1e-6
    )


def test_feature_weights():
    X, y, new = problem()
    model = KNeighborsClassifier(feature_weights=[4.0, 1.0, 0.0, 0.0]).fit(X, y)
    expected = KNeighborsClassifier().fit(X[:, :2] * [2.0, 1.0], y)
    np.testing.assert_array_equal(model.predict(new), expected.predict(new[:, :2] * [2.0, 1.0]))
    with pytest.raises(ValueError, match="weights"):
        KNeighborsClassifier(feature_weights=[1.0, -1.0, 1.0, 1.0]).fit(X, y)


def test_cosine_and_a_row_of_zeros():
    X = sp.csr_array([[1.0, 0, 0], [0, 2.0, 0], [0, 0, 3.0], [0, 0, 0]])
    model = KNeighborsClassifier(1, metric="cosine").fit(X, ["a", "b", "c", "empty"])
    assert model.predict(sp.csr_array([[5.0, 1, 0], [0, 0, 0.1], [0, 0, 0]])).tolist() == ["a", "c", "empty"]
    d, rows = model.kneighbors(sp.csr_array([[0.0, 0, 0]]), 4)
    np.testing.assert_allclose(d, [[0, 1, 1, 1]])
    assert rows.tolist() == [[3, 0, 1, 2]]


# ------------------------------------------------------------------------------------------------ words

WORDS = ["anna", "hannah", "maria", "marie", "mary", "otto", "karl", "carlo", "marius", "otis"]
KIND = list("fffffmmmmm")


@pytest.mark.parametrize("costs", [{}, {"insert": 0.5, "substitute": 1.5}, {"transpose": 1.0}])
def test_words(costs):
    new = ["hanna", "mario", "ottos", "", "zzz"]
    model = KNeighborsClassifier(3, metric="edit", metric_params=costs, weights="distance").fit(WORDS, KIND)
    table = KNeighborsClassifier(3, metric="precomputed", weights="distance").fit(edit_distances(WORDS, **costs), KIND)
    Q = edit_distances(new, WORDS, **costs)
    np.testing.assert_array_equal(model.predict(new), table.predict(Q))
    np.testing.assert_array_equal(model.kneighbors(new)[1], table.kneighbors(Q)[1])
    np.testing.assert_array_equal(model.radius_neighbors_graph(new).toarray(), Q <= 1) if hasattr(
        model, "radius_neighbors_graph"
    ) else None


def test_words_of_any_collection(tmp_path):
    model = KNeighborsClassifier(1, metric="edit").fit(WORDS, KIND)
    new, expected = ["hana", "carla"], ["f", "m"]
    for column in (
        np.array(new),
        np.array(new)[:, None],
        pd.Series(new),
        pd.DataFrame({"name": new}),
        [[w] for w in new],
    ):
        assert model.predict(column).tolist() == expected
    assert model.predict(pl.DataFrame({"name": new})).tolist() == expected
    batches = Batches(lambda: ([np.array(new[:1]), np.array(new[1:])]))
    assert np.concatenate(list(model.predict(batches))).tolist() == expected
    fitted = KNeighborsClassifier(1, metric="edit").fit(Batches(lambda: [(np.array(WORDS), np.array(KIND))]))
    assert fitted.predict(new).tolist() == expected
    didact.save(model, tmp_path / "words.didact")
    assert didact.load(tmp_path / "words.didact").predict(new).tolist() == expected


def test_words_on_dask():
    import dask.dataframe as dd

    frame = dd.from_pandas(pd.DataFrame({"name": WORDS, "kind": KIND}), npartitions=2)
    model = KNeighborsClassifier(1, metric="edit").fit(frame[["name"]], frame["kind"])
    assert model.predict(frame[["name"]]).compute().tolist() == KIND


def test_sequences_are_words():
    model = KNeighborsClassifier(1, metric="edit").fit([("to", "be"), ("or", "not")], ["one", "other"])
    assert model.predict([("not", "or", "not"), ("be",)]).tolist() == ["other", "one"]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0], [2.0]], "strings or sequences"),
        (np.array([1.0, 2.0]), "strings or sequences"),
        (["a", None], "row 1 holds None"),
        (pd.DataFrame({"a": ["x", "y"], "b": ["x", "y"]}), "one column"),
        (np.array([["a", "b"], ["c", "d"]]), "one column"),
        ([], "0 sample"),
    ],
)
def test_what_is_no_column_of_words_is_refused(X, message):
    with pytest.raises(InputError, match=message):
        KNeighborsClassifier(1, metric="edit").fit(X, ["a", "b"][: len(X)])


def test_costs_of_edits_are_checked():
    with pytest.raises(ParameterError, match="substitute"):
        KNeighborsClassifier(metric="edit", metric_params={"substitute": -1}).fit(WORDS, KIND)
    with pytest.raises(ParameterError, match="'replace'"):
        KNeighborsClassifier(metric="edit", metric_params={"replace": 1}).fit(WORDS, KIND)


# ------------------------------------------------------------------------------------------------ bad input


def test_more_neighbours_than_rows():
    model = KNeighborsClassifier(n_neighbors=4).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    with pytest.raises(InputError, match="n_neighbors <= n_samples_fit"):
        model.predict([[0.5]])


def test_nobody_within_the_radius():
    X, y, _ = problem()
    model = RadiusNeighborsClassifier(0.5).fit(X, y)
    for method in (model.predict, model.predict_proba):
        with pytest.raises(InputError, match=r"1 of 2 rows \(the first is row 1\)"):
            method(np.vstack([X[0], X[0] + 99]))
    with pytest.raises(ParameterError, match="different types"):
        RadiusNeighborsClassifier(outlier_label=-1).fit(X, y)


def test_duplicates_with_different_labels_share_the_votes():
    model = KNeighborsClassifier(3).fit([[1.0, 1.0]] * 3 + [[9.0, 9.0]], ["a", "b", "a", "b"])
    np.testing.assert_allclose(model.predict_proba([[1.0, 1.0]]), [[2 / 3, 1 / 3]])


@pytest.mark.parametrize("bad", [lambda d: d[:1], lambda d: -d, lambda d: np.full(d.shape, np.nan)])
def test_weights_of_a_function_are_checked(bad):
    X, y, new = problem()
    with pytest.raises(ValueError, match="function weights"):
        KNeighborsClassifier(weights=bad).fit(X, y).predict(new)


@pytest.mark.parametrize("Model", [KNeighborsClassifier, KNeighborsRegressor])
def test_the_k_nearest_must_have_some_weight(Model):
    """As scikit-learn refuses it: there is no distribution to answer with."""
    X, y, new = problem()
    y = y if Model is KNeighborsClassifier else np.arange(float(len(y)))
    model = Model(weights=lambda d: np.where(d < 1e-9, 1.0, 0.0)).fit(X, y)
    assert (model.predict(X) == y).all()
    with pytest.raises(InputError, match=f"All neighbors of some sample.*first is row {len(X)}"):
        model.predict(np.vstack([X, new]))


def test_within_a_radius_rows_without_weight_do_not_vote():
    model = RadiusNeighborsClassifier(2.0, weights=lambda d: 1.0 * (d < 1), outlier_label="b")
    model.fit([[0.0], [5.0]], ["a", "b"])
    np.testing.assert_array_equal(model.predict_proba([[0.5], [1.5]]), [[1.0, 0.0], [0.0, 1.0]])


def test_infinite_weights_take_everything():
    """1/d² at a fitted row: that row and its equals answer, as with weights="distance"."""
    X, y, new = problem()
    X, y = np.vstack([X, X[:1]]), np.append(y, y[1])
    own = KNeighborsClassifier(weights=lambda d: 1 / d**2).fit(X, y)
    inverse = KNeighborsClassifier(weights="distance").fit(X, y)
    np.testing.assert_allclose(own.predict_proba(X), inverse.predict_proba(X), rtol=1e-12)
    assert (own.predict_proba(X[:1]).max(), own.predict_proba(X[2:3]).max()) == (0.5 if y[0] != y[1] else 1.0, 1.0)
    finite = own.predict_proba(new)
    np.testing.assert_allclose(finite.sum(axis=1), 1.0)
    w = np.where(np.arange(len(y)) < 3, 0.0, 2.5)
    values = KNeighborsRegressor(weights=lambda d: 1 / d**2).fit(X, np.arange(float(len(y))), sample_weight=w)
    np.testing.assert_allclose(values.predict(X[3:9]), np.arange(3.0, 9.0))


# ------------------------------------------------------------------------------------------------ theory


def test_error_of_one_neighbour_is_at_most_twice_the_least():
    """Worked example 118: with many rows, 1-NN errs at most twice as often as the best classifier."""
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(20_000, 1))
    truth = 0.1 + 0.8 * (x[:, 0] > 0.5)
    y = rng.uniform(size=len(x)) < truth
    least = 0.1
    error = 1 - KNeighborsClassifier(1).fit(x[::2], y[::2]).score(x[1::2], y[1::2])
    assert least < error < 2 * least
    assert error == pytest.approx(2 * 0.1 * 0.9, abs=0.01), "the limit is E[2p(1 − p)]"
    assert 1 - KNeighborsClassifier(101).fit(x[::2], y[::2]).score(x[1::2], y[1::2]) < 1.1 * least


def test_a_large_k_smooths_and_all_rows_give_the_larger_class():
    """Small k: complex borders, large k: smooth ones (table 4, 138)."""
    X, y = load_iris(return_X_y=True)
    X, y = X[:120, :2], y[:120]
    grid = np.column_stack([g.ravel() for g in np.meshgrid(np.linspace(4, 8, 60), np.linspace(2, 4.5, 60))])
    changes = []
    for k in (1, 15, 60):
        regions = KNeighborsClassifier(k).fit(X, y).predict(grid).reshape(60, 60)
        changes.append((np.diff(regions, axis=0) != 0).sum() + (np.diff(regions, axis=1) != 0).sum())
    assert changes[0] > changes[1] > changes[2]
    assert (KNeighborsClassifier(120).fit(X, y).predict(grid) == 0).all()


def test_mixed_columns_with_gaps():
    table = pd.DataFrame({
        "size": [1.0, 1.2, np.nan, 5.0, 5.2, 4.8],
        "colour": pd.Categorical(["red", "red", "red", "blue", "blue", None]),
    })  # fmt: skip
    model = KNeighborsClassifier(3, metric="gower").fit(table, list("aaabbb"))
    new = pd.DataFrame({"size": [np.nan, 5.1], "colour": pd.Categorical(["red", "blue"])})
    assert model.predict(new).tolist() == ["a", "b"]


def test_places_on_a_sphere():
    cities = np.radians([[52.5, 13.4], [48.9, 2.3], [40.7, -74.0], [34.1, -118.2]])
    model = KNeighborsClassifier(1, metric="haversine").fit(cities, ["Berlin", "Paris", "New York", "Los Angeles"])
    assert model.predict(np.radians([[51.5, -0.1], [37.8, -122.4]])).tolist() == ["Paris", "Los Angeles"]
    assert 6371 * model.kneighbors(np.radians([[51.5, -0.1]]))[0][0, 0] == pytest.approx(338, abs=3), "kilometres"


@pytest.mark.parametrize(
    "model", [KNeighborsClassifier(3), RadiusNeighborsClassifier(9.0), KernelDensityClassifier(bandwidth=1.0)]
)
def test_a_class_without_weight_stays_a_class_with_probability_zero(model):
    X, y, new = problem(n=60)
    w = np.where(y == "middle", 0.0, 1.0)
    fitted = clone(model).fit(X, y, sample_weight=w)
    without = clone(model).fit(X[w > 0], y[w > 0])
    assert fitted.classes_.tolist() == ["low", "middle", "top"]
    P = fitted.predict_proba(new)
    np.testing.assert_allclose(P[:, [0, 2]], without.predict_proba(new), rtol=1e-9)
    assert (P[:, 1] == 0).all()
    np.testing.assert_array_equal(fitted.predict(new), without.predict(new))
