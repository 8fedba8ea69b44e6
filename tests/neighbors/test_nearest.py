"""NearestNeighbors against scikit-learn's; graphs, frames, sparse rows, missing values, files, sentences."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import psutil
import pytest
import scipy.sparse as sp
import sklearn.neighbors
from sklearn.exceptions import NotFittedError

import didact
from didact import Batches
from didact.core.errors import InputError, ParameterError
from didact.neighbors import KNeighborsClassifier, NearestNeighbors, kneighbors_graph, radius_neighbors_graph

RNG = np.random.default_rng(0)
X, Q = RNG.normal(size=(300, 4)), RNG.normal(size=(40, 4))


def both(X=X, theirs=None, **options):
    """Our model and scikit-learn's, fitted to the same rows."""
    return NearestNeighbors(**options).fit(X), sklearn.neighbors.NearestNeighbors(**(theirs or options)).fit(X)


@pytest.mark.parametrize("algorithm", ["auto", "brute", "kd_tree", "ball_tree"])
@pytest.mark.parametrize("p", [1, 2, 3.5, np.inf])
def test_neighbours_are_those_of_scikit_learn(algorithm, p):
    ours, theirs = both(n_neighbors=7, p=p, algorithm=algorithm, radius=1.2)
    for rows in (Q, None):
        for one, two in zip(ours.kneighbors(rows), theirs.kneighbors(rows), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-10)
        (d, r), (e, s) = ours.radius_neighbors(rows), theirs.radius_neighbors(rows)
        for a, b, c, f in zip(d, r, e, s, strict=True):
            order = np.argsort(f)
            np.testing.assert_array_equal(b, f[order])
            np.testing.assert_allclose(a, c[order], rtol=1e-10)


@pytest.mark.parametrize(
    "metric", ["cosine", "canberra", "braycurtis", "seuclidean", "mahalanobis", "l1", "sqeuclidean"]
)
def test_metrics_are_those_of_scikit_learn(metric):
    V = {"seuclidean": {"V": X.var(axis=0)}, "mahalanobis": {"VI": np.linalg.inv(np.cov(X, rowvar=False))}}
    ours, theirs = both(metric=metric, metric_params=V.get(metric), algorithm="auto",
                        theirs={"metric": metric, "metric_params": V.get(metric), "algorithm": "brute"})  # fmt: skip
    for one, two in zip(ours.kneighbors(Q), theirs.kneighbors(Q), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-8)


def test_jaccard_hamming_and_haversine():
    B = RNG.integers(0, 2, size=(100, 12)).astype(float)
    places = RNG.uniform(-1.5, 1.5, size=(100, 2))
    for metric, rows in (("jaccard", B > 0), ("hamming", B), ("haversine", places)):
        theirs = sklearn.neighbors.NearestNeighbors(n_neighbors=9, metric=metric).fit(rows)
        ours = NearestNeighbors(n_neighbors=9, metric=metric).fit(rows)
        np.testing.assert_allclose(ours.kneighbors(rows[:20])[0], theirs.kneighbors(rows[:20])[0], atol=1e-15)


NAMES = {name for names in sklearn.neighbors.VALID_METRICS.values() for name in names} - {"pyfunc"}


@pytest.mark.parametrize("name", sorted(NAMES))
@pytest.mark.filterwarnings("ignore:Data was converted to boolean")
def test_every_name_of_scikit_learn_is_a_metric(name):
    rows = (X[:60] > 0.3) | (X[:60] < -0.8)
    rows = rows[rows.any(axis=1)].astype(float) if name != "haversine" else X[:60, :2]
    rows = np.abs(sklearn.metrics.pairwise_distances(rows)) if name == "precomputed" else rows
    found = NearestNeighbors(n_neighbors=4, metric=name).fit(rows).kneighbors()[0]
    if name in ("correlation", "seuclidean", "mahalanobis"):  # constant rows, and variances of the queries too
        return
    theirs = sklearn.neighbors.NearestNeighbors(n_neighbors=4, metric=name).fit(rows)
    np.testing.assert_allclose(found, theirs.kneighbors()[0], atol=1e-7)


def test_missing_values_of_rows_and_queries():
    rows, new = X.copy(), Q.copy()
    rows[::5, 1], new[::3, 2] = np.nan, np.nan
    ours, theirs = both(rows, n_neighbors=5, metric="nan_euclidean")
    for one, two in zip(ours.kneighbors(new), theirs.kneighbors(new), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-7)
    with pytest.raises(ValueError, match="infinity"):
        NearestNeighbors(metric="nan_euclidean").fit(np.where(np.isnan(rows), np.inf, rows))
    apart = NearestNeighbors(n_neighbors=2, metric="nan_euclidean").fit([[np.nan, 9.0], [9.0, 9.0], [1.0, np.nan]])
    _, found = apart.kneighbors([[1.0, np.nan]])
    assert found.tolist() == [[2, 1]]
    assert apart.kneighbors([[1.0, np.nan]], 3)[0][0, 2] == 1e150, "rows that share no known column come last"
    for weights in ("uniform", "distance", "gaussian"):
        votes = KNeighborsClassifier(4, weights=weights, metric="nan_euclidean").fit(rows, X[:, 0] > 0)
        alone = votes.predict_proba(np.full((1, 4), np.nan))
        np.testing.assert_allclose(alone[0, 1], np.mean(X[:4, 0] > 0), err_msg="equal votes, and no NaN")


def test_a_kernel_is_looked_at_in_fit():
    with pytest.raises(ParameterError, match="no kernel 'foo'"):
        NearestNeighbors(metric="kernel", metric_params={"kernel": "foo"}).fit(X)
    with pytest.raises(ParameterError, match="'sigma'"):
        NearestNeighbors(metric="kernel", metric_params={"kernel": "rbf", "sigma": 1.0}).fit(X)


@pytest.mark.parametrize(
    "how",
    [{"p": 1}, {}, {"p": np.inf}, {"p": 3.5}, {"metric_params": {"p": 1}}, {"metric_params": {"w": np.ones(4)}},
     {"metric": "cosine"}, {"metric": "mahalanobis", "metric_params": {"VI": np.eye(4)}}, {"metric": max}],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:Parameter p is found in metric_params")
def test_effective_metrics_are_those_of_scikit_learn(how):
    theirs = sklearn.neighbors.NearestNeighbors(algorithm="brute", **how).fit(X)
    if how.get("metric") is max:
        how = {"metric": lambda a, b: 0.0}
        theirs.effective_metric_ = how["metric"]
    ours = NearestNeighbors(**how).fit(X)
    assert ours.effective_metric_ == theirs.effective_metric_
    assert ours.effective_metric_params_.keys() == theirs.effective_metric_params_.keys()
    for name, value in ours.effective_metric_params_.items():
        np.testing.assert_array_equal(value, theirs.effective_metric_params_[name])


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
@pytest.mark.parametrize("include_self", [True, False, "auto"])
def test_functions_of_graphs_are_those_of_scikit_learn(mode, include_self):
    how = {"mode": mode, "include_self": include_self}
    for k, options in ((1, {}), (4, {}), (4, {"metric": "cosine"}), (4, {"p": 1})):
        one, two = (f(X, k, **how, **options) for f in (kneighbors_graph, sklearn.neighbors.kneighbors_graph))
        assert abs(one - two).max() < 1e-12
        assert one.nnz == two.nnz
    one, two = (f(X, 1.0, **how) for f in (radius_neighbors_graph, sklearn.neighbors.radius_neighbors_graph))
    assert abs(one - two).max() < 1e-12
    assert one.nnz == two.nnz
    fitted = NearestNeighbors(metric="manhattan").fit(X)
    assert abs(kneighbors_graph(fitted, 4, **how) - kneighbors_graph(X, 4, metric="manhattan", **how)).max() == 0
    votes = KNeighborsClassifier().fit(X, X[:, 0] > 0)
    assert abs(kneighbors_graph(votes, 4, **how) - kneighbors_graph(X, 4, **how)).max() == 0
    with pytest.raises(ParameterError, match="include_self"):
        kneighbors_graph(X, 3, include_self="no")


@pytest.mark.parametrize(
    ("model", "given"),
    [
        ({"metric": "manhattan"}, {"metric": "euclidean"}),
        ({"p": 3.0}, {"p": 1.0}),
        ({"metric_params": {"w": np.arange(1.0, 4.0)}}, {"metric_params": {"w": np.ones(3)}}),
    ],
)
def test_graphs_of_a_fitted_model_refuse_another_metric(model, given):
    X = np.random.default_rng(0).normal(size=(20, 3))
    fitted = NearestNeighbors(n_neighbors=3, **model).fit(X)
    for graph, reach in ((kneighbors_graph, 3), (radius_neighbors_graph, 1.0)):
        assert graph(fitted, reach, **model).nnz == graph(fitted, reach).nnz
        with pytest.raises(ParameterError, match="is not that of the fitted model"):
            graph(fitted, reach, **given)


def test_p_of_metric_params_goes_first_and_says_so():
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.warns(SyntaxWarning, match="p is found in metric_params"):
        model = NearestNeighbors(metric_params={"p": 1}).fit(X)
    assert np.array_equal(model.kneighbors(X)[0], NearestNeighbors(p=1).fit(X).kneighbors(X)[0])


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
def test_graphs(mode):
    ours, theirs = both(n_neighbors=3, radius=1.0)
    for rows in (None, Q):
        for name in ("kneighbors_graph", "radius_neighbors_graph"):
            one, two = (getattr(model, name)(rows, mode=mode) for model in (ours, theirs))
            assert abs(one - two).max() < 1e-12
            assert one.shape == two.shape
    with pytest.raises(ParameterError, match="Unsupported mode"):
        ours.kneighbors_graph(mode="nonsense")


def test_radius_results_sorted_by_distance():
    ours, theirs = both(radius=1.5)
    (d, r), (e, s) = (model.radius_neighbors(Q, sort_results=True) for model in (ours, theirs))
    for a, b, c, f in zip(d, r, e, s, strict=True):
        np.testing.assert_array_equal(b, f)
        np.testing.assert_allclose(a, c)
    assert ours.radius_neighbors(Q, 0.0, return_distance=False)[0].tolist() == []


def test_precomputed():
    D = sklearn.metrics.pairwise_distances(X)
    ours, theirs = both(D, metric="precomputed", radius=0.8)
    D_new = sklearn.metrics.pairwise_distances(Q, X)
    for rows in (None, D_new):
        np.testing.assert_array_equal(ours.kneighbors(rows)[1], theirs.kneighbors(rows)[1])
    for one, two in zip(ours.radius_neighbors(D_new)[1], theirs.radius_neighbors(D_new)[1], strict=True):
        np.testing.assert_array_equal(one, np.sort(two))
    with pytest.raises(InputError, match="square matrix"):
        NearestNeighbors(metric="precomputed").fit(D[:5])
    with pytest.raises(InputError, match="Negative"):
        NearestNeighbors(metric="precomputed").fit(-D)


def test_sparse_rows():
    S = sp.random_array((200, 1000), density=0.02, rng=RNG, format="csr")
    for metric in ("euclidean", "cosine", "manhattan"):
        ours, theirs = NearestNeighbors(metric=metric).fit(S), NearestNeighbors(metric=metric).fit(S.toarray())
        np.testing.assert_allclose(ours.kneighbors(S[:30])[0], theirs.kneighbors(S[:30].toarray())[0], atol=1e-7)
        np.testing.assert_array_equal(ours.kneighbors(S[:30])[1][:, 0], np.arange(30))
        np.testing.assert_array_equal(ours.kneighbors(S[:9].toarray())[1], ours.kneighbors(S[:9])[1])


def test_feature_weights_equal_scaled_columns():
    w = np.array([4.0, 1.0, 0.0, 2.0])
    weighted = NearestNeighbors(feature_weights=w).fit(X).kneighbors(Q)
    scaled = NearestNeighbors().fit(X * np.sqrt(w)).kneighbors(Q * np.sqrt(w))
    np.testing.assert_array_equal(weighted[1], scaled[1])
    np.testing.assert_allclose(weighted[0], scaled[0], rtol=1e-12)


def test_float32_gives_float32():
    d, r = NearestNeighbors().fit(X.astype(np.float32)).kneighbors(Q.astype(np.float32))
    assert d.dtype == np.float32
    assert r.dtype == np.int64
    np.testing.assert_allclose(d, NearestNeighbors().fit(X).kneighbors(Q)[0], rtol=1e-5)


def test_gower_on_a_frame_with_categories_and_missing_values():
    frame = pd.DataFrame({"size": [1.0, 2.0, np.nan, 5.0], "kind": pd.Categorical(["a", "b", "a", None])})
    model = NearestNeighbors(n_neighbors=4, metric="gower").fit(frame)
    d, r = model.kneighbors(frame.iloc[[0]])
    assert r.tolist() == [[0, 2, 1, 3]]
    np.testing.assert_allclose(d, [[0.0, 0.0, 0.625, 1.0]])  # kind alone; (1/4 + 1)/2; size alone, 4/4
    model = NearestNeighbors(n_neighbors=1, metric="gower", categorical_features=["kind"])
    assert model.fit(frame.astype({"kind": object})).kneighbors(frame.iloc[[1]])[1].tolist() == [[1]]


def test_missing_values_are_refused_by_name():
    frame = pd.DataFrame(X, columns=list("abcd"))
    bad = frame.copy()
    bad.loc[3, "c"] = np.nan
    with pytest.raises(InputError, match=r"NaN.*'c'"):
        NearestNeighbors().fit(bad)
    model = NearestNeighbors().fit(frame)
    with pytest.raises(InputError, match=r"NaN.*'c'"):
        model.kneighbors(bad)
    assert model.kneighbors(frame[:1])[1][0, 0] == 0


def test_batches_of_queries_stream():
    model = NearestNeighbors().fit(Batches(lambda: (X[a : a + 70] for a in range(0, 300, 70))))
    whole = model.kneighbors(Q)
    parts = list(model.kneighbors(Batches(lambda: (Q[a : a + 16] for a in range(0, 40, 16)))))
    for i in range(2):
        np.testing.assert_array_equal(np.concatenate([part[i] for part in parts]), whole[i])


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree", "ball_tree"])
def test_files(algorithm, tmp_path):
    model = NearestNeighbors(algorithm=algorithm).fit(X)
    didact.save(model, tmp_path / "model.didact")
    for one, two in zip(didact.load(tmp_path / "model.didact").kneighbors(Q), model.kneighbors(Q), strict=True):
        np.testing.assert_array_equal(one, two)


def test_duplicates_and_a_row_s_own_twin():
    twice = np.repeat(X[:5], 2, axis=0)
    d, r = NearestNeighbors(n_neighbors=1).fit(twice).kneighbors()
    assert r.ravel().tolist() == [1, 0, 3, 2, 5, 4, 7, 6, 9, 8]
    assert not d.any()


def test_sentences():
    model = NearestNeighbors(n_neighbors=3)
    with pytest.raises(NotFittedError):
        model.kneighbors(Q)
    model.fit(X[:5])
    with pytest.raises(InputError, match="6 neighbours were asked for and there are 5 rows"):
        model.kneighbors(Q, 6)
    with pytest.raises(InputError, match="5 neighbours were asked for and there are 4 rows"):
        model.kneighbors(n_neighbors=5)
    with pytest.raises(ParameterError, match="> 0"):
        model.kneighbors(Q, 0)
    with pytest.raises(TypeError, match="n_neighbors must be a whole number of at least 1"):
        model.kneighbors(Q, 1.5)
    with pytest.raises(ValueError, match="4 features"):
        model.kneighbors(Q[:, :3])
    with pytest.raises(ParameterError, match="n_jobs == 0"):
        NearestNeighbors(n_jobs=0).fit(X)
    with pytest.raises(ParameterError, match="no metric"):
        NearestNeighbors(metric="braycurtis", algorithm="ball_tree").fit(X)


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_a_search_can_be_interrupted(algorithm, heeds_ctrl_c):
    """It would take minutes; Ctrl-C ends it within seconds of work, as pieces are short."""
    code = (
        "import numpy as np, sys; from didact.neighbors import NearestNeighbors\n"
        "X = np.random.default_rng(0).normal(size=(200_000, 20))\n"
        f"model = NearestNeighbors(algorithm={algorithm!r}).fit(X); model.kneighbors(X[:500])\n"
        "print('begin', flush=True); model.kneighbors()\n"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "begin\n"
            time.sleep(0.5)
            finished, begin = os.times(), psutil.Process(process.pid).cpu_times()
            process.send_signal(signal.SIGINT)
            error = process.communicate(timeout=60)[1]
            assert "KeyboardInterrupt" in error
            after = os.times()  # of the processor, whatever else the machine does
            used = after.children_user - finished.children_user + after.children_system - finished.children_system
            assert used - begin.user - begin.system < 5.0
        finally:
            process.kill()


@pytest.mark.parametrize("radius", [-1.0, float("nan")])
def test_a_radius_below_zero_is_refused(radius):
    model = NearestNeighbors().fit([[0.0], [1.0]])
    with pytest.raises(ValueError, match="radius must be at least 0"):
        model.radius_neighbors([[0.0]], radius=radius)


# ------------------------------------------------------------------------------------------------ sparse tables


def graphs(k=30):
    """The distances from X to X and from Q to X, those of the k nearest alone; a row is at distance 0 of itself."""
    given = sklearn.neighbors.KNeighborsTransformer(mode="distance", n_neighbors=k).fit(X)
    return given.transform(X), given.transform(Q)


@pytest.mark.filterwarnings("ignore:Precomputed sparse input was not sorted")
def test_sparse_precomputed_distances_equal_scikit_learn_s():
    known, asked = graphs()
    before = [part.copy() for part in (asked.data, asked.indices)]
    ours, theirs = both(known, metric="precomputed", n_neighbors=7)
    for rows in (asked, None):
        for got, expected in zip(ours.kneighbors(rows), theirs.kneighbors(rows), strict=True):
            np.testing.assert_array_equal(got, expected)
        got, expected = (m.radius_neighbors_graph(rows, 0.8, mode="distance") for m in (ours, theirs))
        np.testing.assert_array_equal(got.toarray(), expected.toarray())
    np.testing.assert_array_equal(asked.data, before[0])
    np.testing.assert_array_equal(asked.indices, before[1])
    with pytest.raises(InputError, match=r"40 neighbors are required .* only 31 .* first is row 0"):
        ours.kneighbors(asked, 40)
    with pytest.raises(InputError, match="Negative values"):
        ours.kneighbors(-asked)


def test_models_answer_from_sparse_precomputed_distances(tmp_path):
    (known, asked), y = graphs(), (X[:, 0] > 0).astype(int)
    w = np.random.default_rng(0).integers(0, 3, len(y))
    for weights in (None, w):
        table = KNeighborsClassifier(metric="precomputed").fit(known, y, sample_weight=weights)
        rows = KNeighborsClassifier().fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(table.predict_proba(asked), rows.predict_proba(Q), rtol=1e-12)
        counted = slice(None) if weights is None else w > 0
        np.testing.assert_allclose(table.predict_proba(None)[counted], rows.predict_proba(None), rtol=1e-12)
    with pytest.raises(InputError, match="neighbors are required"):
        KNeighborsClassifier(31, metric="precomputed").fit(known, y, sample_weight=w).predict(asked)
    didact.save(table, tmp_path / "model.didact")
    again = didact.load(tmp_path / "model.didact")
    np.testing.assert_array_equal(again.predict_proba(asked), table.predict_proba(asked))


# ------------------------------------------------------------------------------------------------ before a fit


ASKED = {"kneighbors", "kneighbors_graph", "radius_neighbors", "radius_neighbors_graph", "predict", "predict_proba"}
ASKED |= {"score_samples", "sample", "leave_one_out", "counts", "predict_log_proba", "predict_joint_log_proba", "score"}


MODELS = [getattr(didact.neighbors, name) for name in didact.neighbors.__all__]


@pytest.mark.parametrize("Model", [model for model in MODELS if isinstance(model, type)])
def test_nothing_can_be_asked_before_a_fit(Model):
    arguments = {"score": ([[0.0]], [0.0]), "sample": (1,), "leave_one_out": ()}
    for method in sorted(ASKED & set(dir(Model))):
        with pytest.raises(NotFittedError):
            getattr(Model(), method)(*arguments.get(method, ([[0.0]],)))
