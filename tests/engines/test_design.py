"""A design matrix centred and scaled in thought: every product equals the one with the matrix written out."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from didact.engines.design import Design


def written_out(X, w, centred, scaled):
    X = X.toarray() if sp.issparse(X) else X
    w = np.ones(len(X)) if w is None else w
    mean = (w @ X) / w.sum() * centred
    C = X - mean
    scale = np.sqrt((w @ (C * C)) / w.sum()) if scaled else np.ones(X.shape[1])
    return C / np.where(scale > 0, scale, 1.0), w


@given(st.integers(1, 30), st.integers(1, 6), st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_products(n, p, sparse, weighted, centred, scaled):
    rng = np.random.default_rng(n * 7 + p)
    X = rng.normal(size=(n, p)) * (rng.uniform(size=(n, p)) < 0.6)
    X = sp.csr_array(X) if sparse else X
    w = rng.uniform(0.1, 2, size=n) if weighted else None
    design = Design.of(X, w, centred, scaled)
    Z, ones = written_out(X, w, centred, scaled)
    if scaled and n < 3:
        return  # a column of one or two values has no scale to speak of
    b, r = rng.normal(size=p), rng.normal(size=n)
    assert design.shape == (n, p)
    close = {"rtol": 1e-8, "atol": 1e-9}
    np.testing.assert_allclose(design.matvec(b), Z @ b, **close)
    np.testing.assert_allclose(design.rmatvec(r), Z.T @ (ones * r), **close)
    np.testing.assert_allclose(design.square_norms(), ones @ (Z * Z), **close)
    chosen = rng.permutation(p)[: max(1, p // 2)]
    np.testing.assert_allclose(design.gram(chosen), (Z[:, chosen].T * ones) @ Z[:, chosen], **close)
    more = rng.uniform(size=n)
    np.testing.assert_allclose(design.gram(chosen, more), (Z[:, chosen].T * (ones * more)) @ Z[:, chosen], **close)
    if not sparse:
        np.testing.assert_allclose(design.columns(chosen), Z[:, chosen], **close)


def test_rmatvec_with_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X, r = rng.normal(size=(10, 100)), rng.normal(size=10)
    np.testing.assert_allclose(Design.of(X, None, True).rmatvec(r), (X - X.mean(axis=0)).T @ r, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("constant", [0.1, 1 / 3, 1e6 + 0.1])
def test_constant_columns_vanish(constant, convert):
    """Scaled by 1, not by the noise that centring leaves of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    X[:, 1] = constant
    design = Design.of(convert(X), None, True, True)
    assert design.scale[1] == 1.0
    assert abs(design.rmatvec(rng.normal(size=100))[1]) < 1e-7
    assert abs(design.gram(np.array([1]))[0, 0]) < 1e-7


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_columns_far_from_zero_keep_their_scale(convert):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2)) + [0.0, 1e6]
    design = Design.of(convert(X), None, True, True)
    np.testing.assert_allclose(design.scale, X.std(axis=0), rtol=1e-6)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(design.gram(np.arange(2)), Z.T @ Z, rtol=1e-6, atol=1e-3)
