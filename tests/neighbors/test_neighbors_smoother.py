"""The smoother of nearest neighbours against scikit-learn and local regression; k by really leaving out."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsRegressor

from didact.core.errors import InputError, ParameterError
from didact.linear_model import LocallyWeightedRegression
from didact.neighbors import KNeighborsSmoother

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(300, 2))
y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=300)
new = rng.uniform(-3, 3, size=(90, 2))


@pytest.mark.parametrize("k", [1, 5, 300])
@pytest.mark.parametrize("metric", ["minkowski", "manhattan", "chebyshev"])
def test_uniform_weights_are_neighbour_regression(k, metric):
    theirs = KNeighborsRegressor(k, metric=metric).fit(X, y).predict(new)
    np.testing.assert_allclose(KNeighborsSmoother(k, metric=metric).fit(X, y).predict(new), theirs, rtol=1e-10)


@pytest.mark.parametrize("kernel", ["tricube", "epanechnikov", "gaussian"])
def test_kernel_weights_are_neighbour_regression_with_these_weights(kernel):
    K = {
        "tricube": lambda u: (1 - u**3) ** 3,
        "epanechnikov": lambda u: 1 - u**2,
        "gaussian": lambda u: np.exp(-2 * u**2),
    }[kernel]
    theirs = KNeighborsRegressor(9, weights=lambda d: K(d / d[:, -1:])).fit(X, y).predict(new)
    np.testing.assert_allclose(KNeighborsSmoother(9, kernel=kernel).fit(X, y).predict(new), theirs, rtol=1e-9)


def test_tricube_is_local_regression_of_degree_zero():
    local = LocallyWeightedRegression(span=12, degree=0).fit(X, y)
    np.testing.assert_allclose(
        KNeighborsSmoother(12, kernel="tricube").fit(X, y).predict(new), local.predict(new), rtol=1e-8
    )


def test_neighbours_that_are_equally_far_count_equally():
    corners = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, -1.0], [-1.0, 0.0]])
    for kernel in ("uniform", "tricube", "epanechnikov", "gaussian"):
        model = KNeighborsSmoother(4, kernel=kernel).fit(corners, [1.0, 2.0, 3.0, 6.0])
        np.testing.assert_allclose(model.predict([[0.0, 0.0]]), [3.0], rtol=1e-12)
        same = KNeighborsSmoother(2, kernel=kernel).fit([[1.0], [1.0], [4.0]], [1.0, 3.0, 9.0])
        np.testing.assert_allclose(same.predict([[1.0]]), [2.0])
    first = KNeighborsSmoother(1).fit(corners, [1.0, 2.0, 3.0, 6.0])
    assert first.predict([[0.0, 0.0]]).tolist() == [1.0]  # the lower row number


@pytest.mark.parametrize("kernel", ["uniform", "tricube"])
def test_k_is_chosen_by_leaving_out_rows(kernel):
    few, targets = X[:70], y[:70]
    grid = [1, 2, 5, 20, 69]
    model = KNeighborsSmoother("cv", kernel=kernel, grid=grid).fit(few, targets)
    slow = []
    for k in grid:
        one = KNeighborsSmoother(k, kernel=kernel)
        errors = [
            targets[i] - one.fit(np.delete(few, i, 0), np.delete(targets, i)).predict(few[i : i + 1])[0]
            for i in range(70)
        ]
        slow.append(np.mean(np.square(errors)))
    np.testing.assert_allclose(model.cv_errors_, slow, rtol=1e-9)
    assert model.n_neighbors_ == grid[int(np.argmin(slow))]


def test_copies_of_a_row_are_not_the_row():
    """Leaving out one of four copies leaves three that know the answer."""
    copies, targets = np.repeat(X[:40], 4, axis=0), np.repeat(y[:40], 4)
    model = KNeighborsSmoother("cv", grid=[1, 3, 20]).fit(copies, targets)
    np.testing.assert_allclose(model.cv_errors_[:2], 0.0, atol=1e-20)
    assert model.n_neighbors_ == 1


@pytest.mark.parametrize("kernel", ["uniform", "tricube", "epanechnikov", "gaussian"])
@pytest.mark.parametrize("k", [1, 7, "cv"])
def test_weights_are_repetitions_also_of_duplicates(kernel, k):
    rows, targets = np.vstack([X[:60], X[:9], X[:9]]), np.append(y[:60], y[60:78])
    w = np.random.default_rng(1).integers(0, 4, len(rows))
    weighted = KNeighborsSmoother(k, kernel=kernel).fit(rows, targets, sample_weight=w)
    repeated = KNeighborsSmoother(k, kernel=kernel).fit(np.repeat(rows, w, axis=0), np.repeat(targets, w))
    np.testing.assert_allclose(weighted.predict(new), repeated.predict(new), rtol=1e-9)
    np.testing.assert_allclose(weighted.predict(rows), repeated.predict(rows), rtol=1e-9)
    if k == "cv":
        np.testing.assert_array_equal(weighted.grid_, repeated.grid_)
        np.testing.assert_allclose(weighted.cv_errors_, repeated.cv_errors_, rtol=1e-9)


def test_whole_weights_that_differ_are_counts():
    model = KNeighborsSmoother(grid=[1, 2]).fit([[0.0], [0.0]], [5.0, 5.0], sample_weight=[2.0, 1.0])
    np.testing.assert_array_equal(model.cv_errors_, [0.0, 0.0])
    assert model.predict([[1.0]]).tolist() == [5.0]
    with pytest.raises(InputError, match="4 neighbours are asked for, but there are 3"):
        KNeighborsSmoother(4).fit([[0.0], [0.0]], [5.0, 5.0], sample_weight=[2.0, 1.0])


def test_default_choice_outputs_sparse_and_graph():
    model = KNeighborsSmoother(kernel="epanechnikov").fit(X, np.column_stack([y, -y]))
    assert 2 < model.n_neighbors_ < 60
    both = model.predict(new)
    np.testing.assert_allclose(both[:, 0], -both[:, 1], rtol=1e-12)
    thin = np.where(np.abs(X) > 1, X, 0.0)
    np.testing.assert_allclose(
        KNeighborsSmoother(5).fit(sp.csr_array(thin), y).predict(sp.csr_array(new)),
        KNeighborsSmoother(5).fit(thin, y).predict(new), rtol=1e-9,
    )  # fmt: skip
    distances, rows = KNeighborsSmoother(grid=[4]).fit(X, y).kneighbors(new)
    assert rows.shape == (90, 4)
    np.testing.assert_allclose(np.linalg.norm(X[rows] - new[:, None], axis=2), distances, rtol=1e-9)


@pytest.mark.parametrize(
    ("how", "kind", "message"),
    [
        ({"n_neighbors": 301}, InputError, "301 neighbours are asked for, but there are 300"),
        ({"grid": [2, 300]}, InputError, "300 neighbours are asked for, but there are 299"),
        ({"grid": []}, ParameterError, "grid must hold"),
        ({"grid": [0, 3]}, ParameterError, "grid must hold"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors"),
        ({"kernel": "square"}, ValueError, "kernel"),
    ],
)
def test_what_is_refused(how, kind, message):
    with pytest.raises(kind, match=message):
        KNeighborsSmoother(**how).fit(X, y)
