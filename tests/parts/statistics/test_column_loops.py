"""Sums of the columns of sparse rows equal those of the dense matrix."""

import numpy as np
import pytest
import scipy.sparse as sp

from didact.parts.statistics.column_loops import sparse_column_sums


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_dense(dtype, index, weighted):
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((40, 9)) < 0.3, rng.standard_normal((40, 9)), 0.0).astype(dtype)
    dense[7], dense[:, 4] = 0.0, 0.0
    X = sp.csr_array(dense)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    w = rng.random(40) if weighted else None
    ones = np.ones(40) if w is None else w
    sums, squares = sparse_column_sums(X, w)
    exact = dense.astype(np.float64)
    np.testing.assert_allclose(sums, ones @ exact, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(squares, ones @ exact**2, rtol=1e-13)


def test_no_rows():
    sums, squares = sparse_column_sums(sp.csr_array((0, 3)))
    np.testing.assert_array_equal(sums, np.zeros(3))
    np.testing.assert_array_equal(squares, np.zeros(3))
