"""Columns of extreme size, or far from 0: what takes them back, and sentences that name them."""

import numpy as np
import pytest
import scipy.sparse as sp

from didact.core.errors import InputError
from didact.core.overflow import largest_entries, refuse_overflow
from didact.core.rows import Block, MemoryRows
from didact.engines.linear.column_units import column_units, far_means, in_units, less_means
from didact.engines.linear.proximal_newton import proximal_newton
from didact.engines.smooth.newton import newton, newton_direction


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_units_are_powers_of_two_and_division_is_exact(kind):
    X = np.array([[1.0, -3e200, 0.0], [2.0, 5.0, 1e-300]])
    rows = MemoryRows(kind(X), np.ones(2), None)
    units = column_units(rows)
    assert units[0] == units[2] == 1.0
    assert np.frexp(units[1])[0] == 0.5
    assert units[1] <= 3e200 < 2 * units[1]
    divided = in_units(Block(kind(X), None, None), units)[0]
    divided = divided.toarray() if sp.issparse(divided) else divided
    np.testing.assert_array_equal(divided * units, X)
    assert column_units(MemoryRows(kind(X[:, [0, 2]]), np.ones(2), None)) is None
    both = largest_entries(Block(kind(X[:1]))).merge(largest_entries(Block(kind(X[1:]))))
    np.testing.assert_array_equal(both.sizes, np.abs(X).max(axis=0))


def test_means_are_taken_off_where_a_column_is_far_from_0():
    X = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    far = MemoryRows(X + np.float32([0.0, 1e5]), np.ones(50), None)
    means = far_means(far, 50.0, True)
    np.testing.assert_allclose(means, far.X.mean(axis=0, dtype=np.float64), rtol=1e-6)
    centred = less_means(Block(far.X, None, None), means).X
    np.testing.assert_array_equal(centred[:, 1], far.X[:, 1] - means[1])  # nothing is rounded
    assert far_means(MemoryRows(X, np.ones(50), None), 50.0, True) is None
    assert far_means(far, 50.0, False) is None
    assert far_means(MemoryRows(sp.csr_array(far.X), np.ones(50), None), 50.0, True) is None


def test_columns_and_targets_that_overflow_are_named():
    X, y = np.array([[1.0, 1e200], [2.0, 3.0]]), np.ones(2)
    refuse_overflow(MemoryRows(X, y, None), (1.0, np.ones(3)))
    with pytest.raises(InputError, match=r"Input X in column 1 has values up to 1e\+200"):
        refuse_overflow(MemoryRows(X, y, None), (1.0, np.array([np.inf])))
    with pytest.raises(InputError, match="Input X in column 'b'"):
        refuse_overflow(MemoryRows(X, y, None, names=["a", "b"]), np.nan)
    with pytest.raises(InputError, match=r"y has values up to 1e\+300"):
        refuse_overflow(MemoryRows(X, 1e300 * y, None), np.nan)


def test_a_curvature_that_overflows_never_reaches_lapack():
    H = np.full((3, 3), np.nan)
    assert np.isnan(newton_direction(H, np.ones(3))).all()
    assert np.isnan(newton_direction(np.eye(3), np.array([1.0, np.inf, 0.0]))).all()
    result = newton(lambda x: (1.0, np.ones(3), H), np.zeros(3), 1e-6, 1000)
    assert (result.status, result.n_iter) == ("not finite", 1)
    result = proximal_newton(lambda x: (1.0, np.ones(3), H), np.full(3, 0.1), np.zeros(3), 1e-6, 1000)
    assert (result.status, result.n_iter) == ("not finite", 1)
