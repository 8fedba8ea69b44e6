"""Canonical correlations: built-in ones, invariance, optimality, regression, other collections."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cross_decomposition import CCA as TheirCCA
from sklearn.linear_model import LinearRegression

from didact import Batches
from didact.core.errors import InputError, ParameterError
from didact.cross_decomposition import CCA


def pair(n=400, seed=0):
    """Two sets of columns with a common cause each for two of them."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 2))
    X = np.hstack([z + 0.7 * rng.normal(size=(n, 2)), rng.normal(size=(n, 2))]) @ rng.normal(size=(4, 4)) + 5.0
    Y = np.hstack([z * [1.0, 0.5] + 0.7 * rng.normal(size=(n, 2)), rng.normal(size=(n, 1))]) @ rng.normal(size=(3, 3))
    return X, Y


def test_correlations_that_were_built_in():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(50, 6)) - rng.normal(size=(50, 6)).mean(axis=0))[0]
    Q = np.linalg.qr(Q - Q.mean(axis=0))[0]  # uncorrelated columns of length 1
    rho = np.array([0.9, 0.6, 0.2])
    Y = Q[:, :3] * rho + Q[:, 3:] * np.sqrt(1 - rho**2)
    mixed = Q[:, :3] @ rng.normal(size=(3, 3)) + 7.0, Y @ rng.normal(size=(3, 3)) - 2.0
    for A, B in ((Q[:, :3], Y), mixed):
        for scale in (True, False):
            model = CCA(3, scale=scale).fit(A, B)
            np.testing.assert_allclose(model.correlations_, rho, rtol=1e-8)
            u, v = model.transform(A, B)
            np.testing.assert_allclose(np.corrcoef(u.T, v.T)[:3, 3:], np.diag(rho), atol=1e-8)
            np.testing.assert_allclose(np.corrcoef(u.T), np.eye(3), atol=1e-8)


def test_scores_weights_and_loadings_are_those_of_deflation():
    X, Y = pair()
    ours, theirs = CCA(3).fit(X, Y), TheirCCA(3, tol=1e-14, max_iter=100_000).fit(X, Y)
    for name in ("x_weights_", "y_weights_", "x_rotations_", "y_rotations_", "x_loadings_", "y_loadings_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-4, atol=1e-5, err_msg=name)
    for mine, other in zip(ours.transform(X, Y), theirs.transform(X, Y), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-3)
    u, v = ours.transform(X, Y)
    for mine, other in zip(ours.inverse_transform(u, v), theirs.inverse_transform(u, v), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-3)


def test_regression_through_all_directions_is_least_squares():
    X, Y = pair()
    least = LinearRegression().fit(X, Y)
    np.testing.assert_allclose(CCA(3).fit(X, Y).predict(X), least.predict(X), atol=1e-8)
    one = CCA(1).fit(X, Y[:, 0])
    np.testing.assert_allclose(one.predict(X), LinearRegression().fit(X, Y[:, 0]).predict(X), atol=1e-8)
    assert one.predict(X).ndim == 1
    few = CCA(2).fit(X, Y)
    assert TheirCCA(2).fit(X, Y).score(X, Y) < few.score(X, Y) <= least.score(X, Y) + 1e-12
    u = few.transform(X)  # the regression on the scores: residuals are orthogonal to them
    np.testing.assert_allclose(u.T @ (Y - few.predict(X)), 0.0, atol=1e-7)


def test_collections_weights_and_sparse_rows():
    X, Y = pair(120)
    w = np.random.default_rng(1).integers(1, 4, size=120)
    expected = CCA(2).fit(np.repeat(X, w, axis=0), np.repeat(Y, w, axis=0))
    pieces = [(X[a : a + 50], Y[a : a + 50], w[a : a + 50]) for a in range(0, 120, 50)]
    fits = (
        CCA(2).fit(X, Y, sample_weight=w),
        CCA(2).fit(sp.csr_array(X), Y, sample_weight=w),
        CCA(2).fit(Batches(lambda: iter(pieces))),
        CCA(2).fit(*(da.from_array(part, chunks=50) for part in (X, Y, w))),
    )
    for model in fits:
        for name in ("correlations_", "x_rotations_", "y_rotations_", "coef_", "intercept_"):
            np.testing.assert_allclose(getattr(model, name), getattr(expected, name), rtol=1e-8, atol=1e-10)


def test_singular_covariances_are_no_error():
    X, Y = pair()
    wide = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(400)])
    expected, found = CCA(3).fit(X, Y), CCA(3).fit(wide, Y)
    np.testing.assert_allclose(found.correlations_, expected.correlations_, rtol=1e-8)
    np.testing.assert_allclose(found.predict(wide), expected.predict(X), atol=1e-7)
    with pytest.warns(UserWarning, match="only 1 independent"):
        assert len(CCA(2).fit(X, np.c_[Y[:, 0], 2 * Y[:, 0]]).correlations_) == 1
    few = CCA(2).fit(X[:4], Y[:4])  # every correlation is 1 by chance
    np.testing.assert_allclose(few.correlations_, 1.0, rtol=1e-8)
    drawn = [CCA(2, shrinkage=share).fit(X[:30], Y[:30]).correlations_[0] for share in (0.0, 0.3, 0.9)]
    assert drawn[0] > max(drawn[1:])


def test_bad_input_gets_a_sentence():
    X, Y = pair(30)
    with pytest.raises(ParameterError, match="upper bound is 3"):
        CCA(4).fit(X, Y)
    with pytest.raises(InputError, match="does not vary"):
        CCA(1).fit(X, np.ones(30))
    with pytest.raises(InputError, match="positive weight"):
        CCA(1).fit(X, Y, sample_weight=np.eye(30)[0])
    with pytest.raises(InputError, match="3 target"):
        CCA(2).fit(X, Y).transform(X, Y[:, :2])
