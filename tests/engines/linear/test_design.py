"""Design: every product equals that of the explicitly centred, scaled and weighted matrix, dense and sparse."""

import numpy as np
import pytest
import scipy.sparse as sp

from didact.core.rows import MemoryRows
from didact.engines.linear.design import Design


@pytest.fixture(params=["dense", "wide", "sparse", "sparse wide", "sparse tall"])
def case(request):
    rng = np.random.default_rng(0)
    n, p = {"wide": (40, 90), "sparse wide": (40, 90), "sparse tall": (400, 9)}.get(request.param, (60, 9))
    X = rng.standard_normal((n, p)) + 2.0
    X[rng.random((n, p)) < 0.6] = 0.0
    return (sp.csr_array(X) if "sparse" in request.param else X), X, rng.random(n) + 0.5, rng


def test_long_sparse_columns_are_not_copied():
    for n, form in ((60, "csc"), (400, "csr")):
        X = sp.csr_array(np.tile([1.0, 0.0, 2.0], (n, 2)))
        assert Design(X, None, np.zeros(6)).entries.format == form


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_products_equal_those_of_the_explicit_matrix(case, weighted, centred, scaled):
    X, dense, w, rng = case
    w = w if weighted else None
    ones = np.ones(len(dense)) if w is None else w
    design = Design.of(MemoryRows(X, None, w), centred, scaled)
    mean = np.average(dense, axis=0, weights=ones) if centred else np.zeros(dense.shape[1])
    Z = dense - mean
    if scaled:
        Z = Z / np.sqrt(np.average(Z**2, axis=0, weights=ones))
    b, r = rng.standard_normal(Z.shape[1]), rng.standard_normal(len(Z))
    chosen = np.array([3, 0, 5])
    np.testing.assert_allclose(design.matvec(b), Z @ b, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(design.rmatvec(r), Z.T @ (ones * r), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(design.gram(chosen), Z[:, chosen].T @ (ones[:, None] * Z[:, chosen]), atol=1e-10)
    curvature = rng.random(len(Z))
    expected = Z[:, chosen].T @ ((ones * curvature)[:, None] * Z[:, chosen])
    np.testing.assert_allclose(design.gram(chosen, curvature), expected, atol=1e-10)
    np.testing.assert_allclose(design.square_norms(), (ones[:, None] * Z**2).sum(axis=0), rtol=1e-9, atol=1e-10)


def test_constant_column_is_scaled_by_one():
    X = np.column_stack([np.ones(5), np.arange(5.0)])
    design = Design.of(MemoryRows(X, None, None), True, True)
    assert design.scale[0] == 1.0
    np.testing.assert_allclose(design.matvec(np.array([1.0, 0.0])), 0.0, atol=1e-15)
