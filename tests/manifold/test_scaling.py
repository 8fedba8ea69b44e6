"""Classical scaling, stress and S-stress, and learnt maps: known places, optimality, identities, scikit-learn."""

import numpy as np
import pytest
import sklearn.manifold
from scipy.optimize import approx_fprime, isotonic_regression
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.datasets import load_iris, make_swiss_roll
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from didact.core.errors import InputError
from didact.engines.spectral.stress import PairOrder, majorise, moves, smooth_stress
from didact.manifold import MDS, ClassicalMDS, Isomap, ParametricEmbedding, smacof

CITIES = ["London", "Madrid", "Rome", "Vienna", "Oslo", "Athens"]
ROADS = np.array([51.5, -0.1, 40.4, -3.7, 41.9, 12.5, 48.2, 16.4, 59.9, 10.8, 38.0, 23.7]).reshape(-1, 2)


def earth(places):
    """Distances along the earth's surface in kilometres."""
    a = np.radians(places)
    x = np.c_[np.cos(a[:, 0]) * np.cos(a[:, 1]), np.cos(a[:, 0]) * np.sin(a[:, 1]), np.sin(a[:, 0])]
    return 6371.0 * np.arccos(np.clip(x @ x.T, -1.0, 1.0)) * (1.0 - np.eye(len(x)))


def test_cities_come_to_lie_where_they_are():
    """A map of Europe: distances on the sphere are kept within a few per cent, and majorisation has no more stress."""
    D = earth(ROADS)
    classical = ClassicalMDS(metric="precomputed").fit(D)
    d = squareform(pdist(classical.embedding_))
    assert np.abs(d - D).max() < 0.05 * D.max()
    model = MDS(metric="precomputed", eps=1e-12, max_iter=5000).fit(D)
    assert model.stress_ <= np.sum((d - D) ** 2) / 2 * (1 + 1e-12)
    assert model.stress_ < 1e-3 * np.sum(D * D) / 2


def test_classical_scaling_of_euclidean_distances_is_pca():
    X = load_iris().data
    ours = ClassicalMDS(n_components=3).fit(X)
    theirs = PCA(3).fit(X)
    np.testing.assert_allclose(np.abs(ours.embedding_), np.abs(theirs.transform(X)), atol=1e-9)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.explained_variance_ * (len(X) - 1), rtol=1e-9)


def test_new_points_by_gower_are_the_projections_of_pca():
    X = load_iris().data
    model, pca = ClassicalMDS(n_components=2).fit(X[:100]), PCA(2).fit(X[:100])
    np.testing.assert_allclose(np.abs(model.transform(X[100:])), np.abs(pca.transform(X[100:])), atol=1e-9)
    np.testing.assert_allclose(model.transform(X[:100]), model.embedding_, atol=1e-9)
    given = ClassicalMDS(metric="precomputed").fit(cdist(X[:100], X[:100]))
    np.testing.assert_allclose(given.transform(cdist(X[100:], X[:100])), model.transform(X[100:]), atol=1e-8)


def test_distances_that_are_not_euclidean_leave_coordinates_of_zero():
    D = np.array([[0.0, 1.0, 1.0, 5.0], [1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0, 1.0], [5.0, 1.0, 1.0, 0.0]])
    model = ClassicalMDS(n_components=4, metric="precomputed").fit(D)
    assert np.isfinite(model.embedding_).all()
    assert (model.eigenvalues_ >= 0).all()
    assert (model.embedding_[:, model.eigenvalues_ == 0] == 0).all()


@pytest.mark.parametrize("n", [2, 33, 70, 600])
@pytest.mark.parametrize("squared", [False, True])
def test_moves_are_those_of_numpy(n, squared):
    rng = np.random.default_rng(n)
    Z, D = rng.normal(size=(n, 3)), squareform(rng.uniform(1, 2, size=n * (n - 1) // 2))
    Z[1] = Z[0]  # two points at one place
    steps = Z[:, None] - Z[None]
    d = np.sqrt((steps**2).sum(axis=2))
    factor = d**2 - D**2 if squared else np.divide(D, d, out=np.zeros_like(d), where=d > 0)
    value, move = moves(D, Z, squared)
    expected = np.sum((d**2 - D**2) ** 2 if squared else (d - D) ** 2) / 2
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(move, (factor[:, :, None] * steps).sum(axis=1), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("squared", [False, True])
def test_gradients_are_those_of_differences(squared):
    rng = np.random.default_rng(0)
    Z, D = rng.normal(size=(7, 2)), squareform(rng.uniform(1, 2, size=21))
    objective = smooth_stress(D, squared)
    numeric = approx_fprime(Z.ravel(), lambda z: objective(z.reshape(7, 2))[0], 1e-7).reshape(7, 2)
    np.testing.assert_allclose(objective(Z)[1], numeric, atol=1e-5)


def test_majorisation_never_raises_the_stress():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 6))
    result = majorise(squareform(pdist(X)), rng.normal(size=(40, 2)), tol=0.0, max_iter=200)
    falls = -np.diff(result.history)
    assert (falls >= -1e-12 * result.history[0]).all()


@pytest.mark.parametrize("loss", ["stress", "sstress"])
def test_places_are_stationary(loss):
    X = load_iris().data[::3]
    D = squareform(pdist(X))
    model = MDS(loss=loss, eps=1e-13 if loss == "stress" else 1e-9, max_iter=5000).fit(X)
    gradient = smooth_stress(D, loss == "sstress")(model.embedding_)[1]
    start = smooth_stress(D, loss == "sstress")(np.random.default_rng(0).normal(size=(len(X), 2)))[1]
    assert np.abs(gradient).max() < 1e-4 * np.abs(start).max()
    other = MDS(loss="sstress" if loss == "stress" else "stress", max_iter=5000).fit(X)
    best, worse = (smooth_stress(D, loss == "sstress")(m.embedding_)[0] for m in (model, other))
    assert best < worse, "each loss is lowest at its own places"


def test_exact_distances_are_found_exactly():
    X = np.random.default_rng(2).normal(size=(25, 2))
    for model in (MDS(eps=1e-14, max_iter=3000), MDS(loss="sstress"), MDS(init="random", random_state=0, eps=1e-9)):
        model = model.fit(X)
        assert model.stress_ < 1e-4 * np.sum(pdist(X) ** 2)


@pytest.mark.parametrize("metric", [True, False])
@pytest.mark.parametrize("max_iter", [1, 2, 4])
@pytest.mark.filterwarnings("ignore:MDS")
def test_steps_are_those_of_scikit_learn(metric, max_iter):
    rng = np.random.default_rng(3)
    D, Z = squareform(pdist(rng.normal(size=(30, 4)))), rng.normal(size=(30, 2))
    ours = smacof(D, metric=metric, init=Z, max_iter=max_iter, return_n_iter=True)
    theirs = sklearn.manifold.smacof(D, metric=metric, init=Z.copy(), max_iter=max_iter, return_n_iter=True)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours[1:], theirs[1:], rtol=1e-9)


def test_targets_are_the_nearest_monotone_function():
    rng = np.random.default_rng(4)
    Z, D = rng.normal(size=(9, 2)), squareform(rng.permutation(36) + 1.0)
    d, delta = pdist(Z), squareform(D)
    expected = np.empty(36)
    expected[np.argsort(delta)] = isotonic_regression(d[np.argsort(delta)]).x
    found = squareform(PairOrder.of(D).targets(Z), checks=False)
    np.testing.assert_allclose(found, expected * np.sqrt(36 / np.sum(expected**2)), rtol=1e-12)


def test_only_the_order_counts_in_the_non_metric_form():
    X = np.random.default_rng(5).normal(size=(20, 3))
    D = squareform(pdist(X))
    metric = MDS(metric="precomputed", normalized_stress=True, eps=1e-9, max_iter=3000).fit(D)
    how = {"metric": "precomputed", "metric_mds": False, "eps": 1e-9, "max_iter": 3000}
    one, other = (MDS(**how).fit(Y, init=metric.embedding_) for Y in (D, D**3 / 50))
    rescaled = metric.stress_ / np.sqrt(1.0 + metric.stress_**2)  # the best multiple of the metric places
    assert max(one.stress_, other.stress_) < rescaled


@pytest.mark.parametrize(
    "model", [MDS(metric="precomputed"), ClassicalMDS(metric="precomputed")], ids=["MDS", "classical"]
)
def test_bad_distance_matrices_are_refused_in_a_sentence(model):
    D = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.5, 3.0, 0.0]])
    with pytest.raises(ValueError, match=r"not symmetric: entry \(0, 2\) is 2 and entry \(2, 0\) is 2.5"):
        model.fit(D)
    with pytest.raises(ValueError, match=r"should be square, got matrix of shape \(2, 3\)"):
        model.fit(D[:2])
    with pytest.raises(ValueError, match="negative"):
        model.fit(-np.abs(D + D.T))
    with pytest.raises(ValueError, match="n_samples = 1"):
        model.fit([[0.0]])


def test_what_scikit_learn_deprecates_is_understood():
    X = np.random.default_rng(0).normal(size=(12, 3))
    D = squareform(pdist(X))
    with pytest.warns(FutureWarning, match="dissimilarity"):
        one = MDS(dissimilarity="precomputed").fit(D)
    np.testing.assert_allclose(one.embedding_, MDS(metric="precomputed").fit(D).embedding_)
    with pytest.warns(FutureWarning, match="metric_mds=False"):
        MDS(metric=False, eps=1e-3).fit(X)
    with pytest.raises(ValueError, match="both"):
        MDS(dissimilarity="euclidean", metric="cosine").fit(X)
    with pytest.raises(ValueError, match="sstress"):
        MDS(metric_mds=False, loss="sstress").fit(X)
    with pytest.raises(ValueError, match=r"init matrix should be of shape \(12, 2\)"):
        MDS().fit(X, init=np.zeros((3, 2)))


def test_iterations_that_do_not_suffice_are_told():
    X = np.random.default_rng(0).normal(size=(30, 5))
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        MDS(init="random", random_state=0, max_iter=2).fit(X)


# ------------------------------------------------------------------------------------------------ maps


def test_a_linear_map_of_full_dimension_keeps_all_distances():
    X = np.random.default_rng(6).normal(size=(30, 3)) * [1.0, 5.0, 0.2]
    model = ParametricEmbedding(n_components=3, mapping="linear", alpha=0.0, tol=1e-9).fit(X)
    assert model.stress_ < 1e-6
    Q = np.random.default_rng(7).normal(size=(9, 3))
    np.testing.assert_allclose(pdist(model.transform(Q)), pdist(Q), rtol=1e-4)


@pytest.mark.parametrize("loss", ["stress", "sstress"])
@pytest.mark.parametrize("mapping", ["linear", "rbf"])
def test_a_joint_map_is_better_than_a_direct_one(loss, mapping):
    X = load_iris().data[::2]
    how = {"loss": loss, "mapping": mapping, "n_centers": 15, "random_state": 0, "alpha": 0.0}
    joint = ParametricEmbedding(**how, max_iter=3000).fit(X)
    direct = ParametricEmbedding(**how, method="direct").fit(X)
    free = MDS(loss=loss, eps=1e-9, max_iter=3000).fit(X)
    D = squareform(pdist(X))
    scale = np.sum(D**4 if loss == "sstress" else D**2) / 2
    assert joint.stress_ <= direct.stress_ * (1 + 1e-9)
    assert joint.stress_ >= np.sqrt(free.stress_ / scale) * (1 - 1e-3), "no map is better than free places"


def test_one_function_for_each_row_reaches_free_places():
    X = np.random.default_rng(8).normal(size=(15, 4))
    free = MDS(loss="sstress", eps=1e-10, max_iter=3000).fit(X)
    model = ParametricEmbedding(n_centers=15, gamma=1.0, alpha=0.0, random_state=0, max_iter=3000).fit(X)
    np.testing.assert_allclose(model.stress_**2 * np.sum(pdist(X) ** 4), free.stress_, rtol=1e-3)


def test_a_map_learns_an_isomap():
    X, place = make_swiss_roll(500, random_state=0)
    isomap = Isomap(n_neighbors=8).fit(X)
    model = ParametricEmbedding(method="direct", embedding=Isomap(n_neighbors=8), n_centers=150, random_state=0).fit(X)
    assert np.corrcoef(model.transform(X)[:, 0], isomap.embedding_[:, 0])[0, 1] > 0.95
    joint = ParametricEmbedding(n_centers=150, random_state=0, max_iter=3000).fit(X, distances=isomap.dist_matrix_)
    assert abs(np.corrcoef(joint.embedding_[:, 0], place)[0, 1]) > 0.9


def test_maps_refuse_what_makes_no_sense():
    X = np.random.default_rng(0).normal(size=(12, 3))
    with pytest.raises(ValueError, match=r"fit\(X, distances=D\)"):
        ParametricEmbedding(metric="precomputed").fit(X)
    with pytest.raises(ValueError, match="method='direct'"):
        ParametricEmbedding(embedding=Isomap()).fit(X)
    with pytest.raises(ValueError, match="of 5 rows, and X has 12"):
        ParametricEmbedding().fit(X, distances=np.zeros((5, 5)))
    with pytest.raises(ValueError, match="constant"):
        ParametricEmbedding(mapping="linear").fit(np.ones((5, 2)))


def test_values_whose_squares_vanish_are_refused_in_a_sentence():
    with pytest.raises(InputError, match="whose squares vanish: multiply it by a power of ten"):
        ParametricEmbedding(random_state=0).fit(1e-160 * np.random.default_rng(0).normal(size=(40, 3)))
