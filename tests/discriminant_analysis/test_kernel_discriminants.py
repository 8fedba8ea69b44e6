"""Kernel discriminants: Fisher's quotient, the linear case, both scatters between classes, singular scatter."""

import numpy as np
import pytest

from didact.core.errors import InputError, ParameterError
from didact.discriminant_analysis import KernelDiscriminantAnalysis, LinearDiscriminantAnalysis
from didact.discriminant_analysis.kernel import fisher
from didact.kernels import RBF


def classes(n=90, p=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 1, 2, 2, 2], n // 6)
    return rng.normal(size=(n, p)) + np.array([[0.0] * p, [2.0, 1, 0, 0], [0, 2.0, 2, 0]])[y], y


def test_a_linear_kernel_gives_linear_discriminants():
    X, y = classes()
    linear = LinearDiscriminantAnalysis().fit(X, y)
    model = KernelDiscriminantAnalysis(kernel="linear", shrinkage=0.0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), linear.predict(X))
    ours, theirs = model.transform(X), linear.transform(X)
    for k in range(2):  # the same directions, whatever their lengths and signs
        assert abs(np.corrcoef(ours[:, k], theirs[:, k])[0, 1]) > 1 - 1e-10
    np.testing.assert_allclose(model.explained_variance_ratio_, linear.explained_variance_ratio_, rtol=1e-7)


@pytest.mark.parametrize("between", ["rows", "classes"])
@pytest.mark.parametrize("centre", ["rows", "classes"])
def test_directions_solve_the_eigenproblem_of_both_scatters(between, centre):
    X, y = classes()
    found = fisher(X, y, np.ones(len(y)), 0.0, between, centre, 0.0)
    means = np.stack([X[y == k].mean(axis=0) for k in range(3)])
    within = sum((X[y == k] - means[k]).T @ (X[y == k] - means[k]) for k in range(3)) / len(y)
    count = np.bincount(y) / len(y) if between == "rows" else np.full(3, 1 / 3)
    middle = X.mean(axis=0) if centre == "rows" else means.mean(axis=0)
    scatter = (count[:, None] * (means - middle)).T @ (means - middle)
    W = found.directions
    np.testing.assert_allclose(W.T @ within @ W, np.eye(2), atol=1e-9)
    values = np.diag(W.T @ scatter @ W)
    np.testing.assert_allclose(scatter @ W, within @ W * values, atol=1e-9)
    assert values[0] >= values[1]


def test_of_two_classes_every_definition_gives_the_course_formula():
    X, y = classes()
    X, y = X[y < 2], y[y < 2]
    within = sum(np.cov(X[y == k].T, bias=True) * (y == k).mean() for k in (0, 1))
    expected = np.linalg.solve(within, X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0))
    for between in ("rows", "classes"):
        for centre in ("rows", "classes"):
            w = fisher(X, y, np.ones(len(y)), 0.0, between, centre, 0.0).directions[:, 0]
            assert abs(w @ expected) / np.linalg.norm(w) / np.linalg.norm(expected) > 1 - 1e-12


def test_more_columns_than_rows_are_projected_by_components_first():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 10)
    X = rng.normal(size=(30, 200)) + 1.5 * np.eye(3, 200)[y]
    model = KernelDiscriminantAnalysis(kernel="linear", shrinkage=0.0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert np.isfinite(model.transform(X)).all()


def test_rings_need_a_curved_projection():
    rng = np.random.default_rng(0)
    angle, y = rng.uniform(0, 2 * np.pi, 300), np.arange(300) % 3
    X = (1.0 + y[:, None]) * np.c_[np.cos(angle), np.sin(angle)] + 0.1 * rng.normal(size=(300, 2))
    model = KernelDiscriminantAnalysis(kernel=RBF(0.7)).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.97
    assert LinearDiscriminantAnalysis().fit(X[:200], y[:200]).score(X[200:], y[200:]) < 0.6
    given = KernelDiscriminantAnalysis(kernel="precomputed").fit(RBF(0.7)(X[:200]), y[:200])
    np.testing.assert_allclose(given.transform(RBF(0.7)(X[200:], X[:200])), model.transform(X[200:]), atol=1e-7)


@pytest.mark.parametrize(
    "options", [{}, {"shrinkage": 0.0}, {"kernel": "linear"}, {"kernel": "poly", "shrinkage": 1.0}]
)
@pytest.mark.parametrize(("scale", "place"), [(1.0, 0.0), (1e-6, 0.0), (1e6, 0.0), (1.0, 1e3), (1.0, 1e6)])
def test_rounding_is_no_variance_within_classes(options, scale, place):
    """Rows of a class are equal: what is left of their differences in features is rounding, whatever its size."""
    X, y = np.repeat(scale * np.random.default_rng(0).normal(size=(3, 2)) + place, 5, axis=0), np.repeat([0, 1, 2], 5)
    for weight in (None, np.arange(1.0, 16.0)):
        with pytest.raises(InputError, match=r"no variance within|differences are lost to rounding"):
            KernelDiscriminantAnalysis(**options).fit(X, y, weight)


def test_bad_input_gets_a_sentence():
    X, y = classes()
    with pytest.raises(InputError, match="greater than one"):
        KernelDiscriminantAnalysis().fit(X, np.zeros(len(y)))
    with pytest.raises(ParameterError, match="n_classes - 1, here 2"):
        KernelDiscriminantAnalysis(3).fit(X, y)
    with pytest.raises(InputError, match="no variance within"):
        KernelDiscriminantAnalysis().fit(X[[0, 40, 80]], [0, 1, 2])
