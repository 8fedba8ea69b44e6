"""Distances: the scalar forms against the array form, SciPy, scikit-learn and NumPy; the triangle inequality; names."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.metrics import DistanceMetric
from sklearn.metrics.pairwise import cosine_distances, haversine_distances, nan_euclidean_distances

from didact.core.errors import InputError, ParameterError
from didact.parts.distances import (
    BINARY,
    Binary,
    BrayCurtis,
    Canberra,
    Chebyshev,
    Cosine,
    Euclidean,
    Gower,
    Hamming,
    Haversine,
    Jaccard,
    KernelDistance,
    Mahalanobis,
    Manhattan,
    Minkowski,
    NanEuclidean,
    Precomputed,
    Scaled,
    SquaredEuclidean,
    UserMetric,
    distance_named,
    weighted,
)

W = np.array([1.0, 2.0, 0.5, 0.25])
COORDINATEWISE = [
    Euclidean(),
    Manhattan(),
    Chebyshev(),
    Minkowski(3.0),
    Minkowski(0.5),
    Canberra(),
    Hamming(W, W.sum()),
]
WHOLE = [BrayCurtis(), Jaccard(), Gower(W, np.array([False, True, False, False]), W), NanEuclidean()]
WHOLE += [Binary(kind) for kind in range(len(BINARY))]


def rows(seed, n=6, p=4):
    """Rows with zeros and values that occur several times."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, p)) < 0.5, rng.integers(-2, 3, size=(n, p)), rng.normal(size=(n, p)))


@pytest.mark.parametrize("noun", [*COORDINATEWISE, *WHOLE], ids=lambda n: type(n).__name__)
@given(seed=st.integers(0, 200))
def test_scalar_forms_agree_with_the_table(noun, seed):
    X, Y = rows(seed), rows(seed + 1)
    D = noun.pairwise(X, Y)
    one = [[noun.between1(x, y) for y in Y] for x in X]
    np.testing.assert_allclose(one, D, rtol=1e-13, atol=1e-14)
    if noun.coordinatewise:
        for i, j in np.ndindex(D.shape):
            total = 0.0
            for c in range(4):
                total = noun.step1(total, X[i, c], Y[j, c], c)
            assert noun.expand1(total) == one[i][j]
            assert noun.reduce1(one[i][j]) >= total, "a bound on the total that leaves nothing out"
            assert noun.reduce1(one[i][j]) <= total * (1 + 1e-12)


@pytest.mark.parametrize("noun", COORDINATEWISE, ids=lambda n: type(n).__name__)
@given(seed=st.integers(0, 200))
def test_the_nearest_point_of_a_box_is_no_farther_than_any_point_in_it(noun, seed):
    X, (q, *_) = rows(seed, 20), rows(seed + 1)
    low, high = X.min(axis=0), X.max(axis=0)
    box = 0.0
    for j, b in enumerate(np.clip(q, low, high)):
        box = noun.step1(box, q[j], b, j)
    assert noun.expand1(box) <= min(noun.between1(q, x) for x in X) * (1 + 1e-14)


@pytest.mark.parametrize("name", ["euclidean", "cityblock", "chebyshev", "canberra", "sqeuclidean", "seuclidean"])
def test_names_agree_with_scipy(name):
    X, Y = rows(0, 30), rows(1, 20)
    how = {"V": X.var(axis=0, ddof=1)} if name == "seuclidean" else {}
    np.testing.assert_allclose(distance_named(name, X=X).pairwise(X, Y), cdist(X, Y, name, **how), rtol=1e-12)


def test_more_names_agree_with_scipy_and_scikit_learn():
    X, Y = rows(0, 30), rows(1, 20)
    np.testing.assert_allclose(distance_named("minkowski", 2.5).pairwise(X, Y), cdist(X, Y, "minkowski", p=2.5))
    np.testing.assert_allclose(
        distance_named("minkowski", 3, {"w": W}, X).pairwise(X, Y), cdist(X, Y, "minkowski", p=3, w=W)
    )
    np.testing.assert_allclose(distance_named("hamming", X=X).pairwise(X, Y), cdist(X, Y, "hamming"), atol=1e-15)
    np.testing.assert_allclose(distance_named("jaccard").pairwise(X, Y), cdist(X != 0, Y != 0, "jaccard"))
    np.testing.assert_allclose(
        distance_named("braycurtis").pairwise(X, Y), DistanceMetric.get_metric("braycurtis").pairwise(X, Y)
    )
    np.testing.assert_allclose(distance_named("cosine").pairwise(X, Y), cosine_distances(X, Y), atol=1e-15)
    np.testing.assert_allclose(
        distance_named("haversine").pairwise(X[:, :2], Y[:, :2]), haversine_distances(X[:, :2], Y[:, :2]), atol=1e-15
    )
    VI = np.linalg.inv(np.cov(X, rowvar=False))
    expected = cdist(X, Y, "mahalanobis", VI=VI)
    for given_ in ({}, {"VI": VI}, {"V": np.cov(X, rowvar=False)}):
        np.testing.assert_allclose(distance_named("mahalanobis", metric_params=given_, X=X).pairwise(X, Y), expected)
    np.testing.assert_allclose(
        distance_named("mahalanobis", metric_params={"VI": VI}, X=sp.csr_array(X)).rows(sp.csr_array(Y))
        - distance_named("mahalanobis", metric_params={"VI": VI}, X=sp.csr_array(X)).rows(sp.csr_array(X[:1])),
        distance_named("mahalanobis", metric_params={"VI": VI}, X=X).rows(Y)
        - distance_named("mahalanobis", metric_params={"VI": VI}, X=X).rows(X[:1]),
        atol=1e-12,
    )


@pytest.mark.parametrize("name", BINARY)
def test_distances_of_sets_are_those_of_scikit_learn_and_of_empty_sets_zero(name):
    A, B = (np.random.default_rng(seed).random((30, 7)) < 0.5 for seed in (0, 1))
    A, B = A[A.any(axis=1)], B[B.any(axis=1)]
    theirs = DistanceMetric.get_metric(name).pairwise(A, B) if name != "yule" else cdist(A, B, "yule")
    np.testing.assert_allclose(distance_named(name).pairwise(2.0 * A, -1.0 * B), theirs, rtol=1e-12)
    nothing = np.zeros((1, 7))
    assert distance_named(name).pairwise(nothing, nothing)[0, 0] == (1.0 if name == "russellrao" else 0.0)


def test_correlation_is_that_of_scipy_and_knows_constant_rows():
    X, Y = rows(0, 30), rows(1, 20)
    ours = distance_named("correlation")
    np.testing.assert_allclose(ours.pairwise(X, Y), cdist(X, Y, "correlation"), atol=1e-14)
    np.testing.assert_allclose(ours.pairwise(sp.csr_array(X), Y), ours.pairwise(X, Y))
    flat = np.array([[0.1] * 4, [3.0] * 4])
    np.testing.assert_array_equal(ours.pairwise(flat, flat), np.zeros((2, 2)))
    np.testing.assert_allclose(ours.pairwise(flat, X), 1.0)


def test_euclidean_distance_over_known_columns_is_that_of_scikit_learn():
    X, Y = rows(0, 30), rows(1, 20)
    X[::3, 1], Y[::4, 2], Y[1, :3] = np.nan, np.nan, np.nan
    ours = distance_named("nan_euclidean", X=X)
    np.testing.assert_allclose(ours.pairwise(X, Y), nan_euclidean_distances(X, Y), rtol=1e-7, atol=1e-7)
    scalars = [[ours.between1(x, y) for y in Y] for x in X]
    np.testing.assert_allclose(ours.pairwise(X, Y), scalars, rtol=1e-12)
    left, right = np.array([[1.0, np.nan]]), np.array([[np.nan, 1.0]])
    assert ours.pairwise(left, right)[0, 0] == ours.between1(left[0], right[0]) == 1e150


@pytest.mark.parametrize("noun", [n for n in COORDINATEWISE + WHOLE if n.metric], ids=lambda n: type(n).__name__)
@given(seed=st.integers(0, 300))
def test_the_triangle_inequality(noun, seed):
    D = noun.pairwise(X := rows(seed, 8), X)
    np.testing.assert_allclose(D, D.T, atol=1e-15)
    assert (D[:, None, :] <= D[:, :, None] + D[None, :, :] + 1e-12).all()


def test_minkowski_below_1_is_no_metric():
    assert not Minkowski(0.5).metric
    D = Minkowski(0.5).pairwise(X := np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), X)
    assert D[0, 2] > D[0, 1] + D[1, 2]


def test_haversine_obeys_the_triangle_inequality_and_knows_a_quarter_of_a_circle():
    rng = np.random.default_rng(0)
    X = rng.uniform([-math.pi / 2, -math.pi], [math.pi / 2, math.pi], size=(40, 2))
    D = Haversine().pairwise(X, X)
    assert (D[:, None, :] <= D[:, :, None] + D[None, :, :] + 1e-12).all()
    assert Haversine().between1([math.pi / 2, 0.3], [0.0, 1.0]) == pytest.approx(math.pi / 2)
    assert Haversine().between1([0.0, 0.0], [0.0, 1e-9]) == pytest.approx(1e-9, rel=1e-12)
    np.testing.assert_allclose([[Haversine().between1(a, b) for b in X] for a in X], D, atol=1e-15)


def test_mapped_distances_start_is_the_inverse_of_finish():
    for noun in (SquaredEuclidean(), Cosine(), Scaled(Cosine(), W), Euclidean()):
        assert noun.finish(noun.start(0.3)) == pytest.approx(0.3, rel=1e-15)


def test_cosine_of_extreme_and_empty_rows():
    X = np.array([[3e-200, 4e-200], [1e200, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(Cosine().pairwise(X, X), [[0, 0.4, 1], [0.4, 0, 1], [1, 1, 0]], atol=1e-15)
    np.testing.assert_allclose(Cosine().rows(sp.csr_array(X)).toarray(), Cosine().rows(X), atol=1e-16)


def test_gower_by_hand():
    """Two columns of numbers (ranges 10 and 2), one of categories; NaN leaves the column out."""
    X = np.array([[0.0, 1.0, 5.0], [10.0, 3.0, 6.0], [5.0, np.nan, 5.0], [np.nan, np.nan, np.nan]])
    noun = distance_named("gower", metric_params={"categorical": [2]}, X=X)
    expected = [[0, 1, 0.25, 1], [1, 0, 0.75, 1], [0.25, 0.75, 0, 1], [1, 1, 1, 1]]
    np.testing.assert_allclose(noun.pairwise(X, X), expected)
    np.testing.assert_allclose([[noun.between1(a, b) for b in X] for a in X], expected)
    assert noun.between1([100.0, 1.0, 5.0], [0.0, 1.0, 5.0]) == pytest.approx(1 / 3), "outside the range: at most 1"
    heavy = weighted(noun, [0.0, 0.0, 1.0])
    assert heavy.between1(X[0], X[1]) == 1.0
    assert heavy.between1(X[0], X[2]) == 0.0


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "hamming", "minkowski"])
def test_a_weight_counts_as_a_repeated_column(metric):
    X, Y = rows(0), rows(1)
    w = np.array([2.0, 1.0, 0.0, 3.0])
    columns = np.repeat(np.arange(4), w.astype(int))
    found = distance_named(metric, 3, None, X, w).pairwise(X, Y)
    if metric == "chebyshev":
        expected = np.max(w * np.abs(X[:, None] - Y[None]), axis=2)
    else:
        expected = distance_named(metric, 3, None, X[:, columns]).pairwise(X[:, columns], Y[:, columns])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_kernel_distances():
    X, Y = rows(0), rows(1)
    np.testing.assert_allclose(KernelDistance("linear", {}).pairwise(X, Y), cdist(X, Y), atol=1e-7)
    own = KernelDistance(lambda A, B, c: (A @ B.T + c) ** 2, {"c": 1.0}).pairwise(X, Y)
    np.testing.assert_allclose(own, KernelDistance("poly", {"degree": 2, "gamma": 1, "coef0": 1}).pairwise(X, Y))
    named = distance_named("kernel", metric_params={"kernel": "rbf", "gamma": 0.5})
    np.testing.assert_allclose(named.pairwise(X, Y) ** 2, 2 - 2 * np.exp(-0.5 * cdist(X, Y) ** 2), atol=1e-12)


def test_functions_and_tables():
    X, Y = rows(0), rows(1)
    noun = distance_named(lambda a, b, p: float((np.abs(a - b) ** p).sum()), metric_params={"p": 1})
    assert isinstance(noun, UserMetric)
    np.testing.assert_allclose(noun.pairwise(X, Y), cdist(X, Y, "cityblock"))
    assert distance_named("precomputed") == Precomputed()
    assert distance_named("minkowski", math.inf) == Chebyshev()
    assert distance_named("l1") == Manhattan()
    assert distance_named(Manhattan()) == Manhattan()


def test_bad_parameters():
    X = rows(0)
    with pytest.raises(ParameterError, match="no metric 'nonsense'"):
        distance_named("nonsense")
    with pytest.raises(ParameterError, match="no parameter 'q'"):
        distance_named("euclidean", metric_params={"q": 1})
    with pytest.raises(ParameterError, match="positive number"):
        Minkowski(0.0)
    with pytest.raises(InputError, match="2 feature weights, and X has 4 columns"):
        distance_named("euclidean", X=X, feature_weights=[1.0, 2.0])
    with pytest.raises(ParameterError, match="not all 0"):
        weighted(Euclidean(), np.zeros(4))
    with pytest.raises(ParameterError, match="The distance Jaccard takes no feature weights"):
        weighted(Jaccard(), np.ones(4))
    with pytest.raises(InputError, match="singular"):
        distance_named("mahalanobis", X=np.column_stack([X, X[:, 0]]))
    with pytest.raises(ParameterError, match="negative eigenvalue"):
        distance_named("mahalanobis", metric_params={"VI": -np.eye(4)}, X=X)
    with pytest.raises(InputError, match="seuclidean"):
        distance_named("seuclidean", X=np.ones((3, 2)))
    with pytest.raises(InputError, match="latitude and longitude"):
        distance_named("haversine", X=X)
    for name in ("gower", "nan_euclidean"):
        with pytest.raises(InputError, match="dense"):
            distance_named(name, X=sp.csr_array(X))
    with pytest.raises(ParameterError, match=r"no kernel 'foo'; there are .*rbf"):
        distance_named("kernel", metric_params={"kernel": "foo"}, X=X)
    for table in (X, sp.csr_array(X)):
        with pytest.raises(ParameterError, match=r"'rbf' with the other metric_params fails: .*'degree'"):
            distance_named("kernel", metric_params={"kernel": "rbf", "degree": 3}, X=table)
    assert isinstance(distance_named("mahalanobis", metric_params={"VI": np.eye(4)}, X=X), Mahalanobis)
