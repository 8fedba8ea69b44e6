"""Non-negative factors: compiled steps against array ones, no step raises the objective, KKT, starts."""

import numpy as np
import pytest
import scipy.sparse as sp

from didact.core.rows import Block
from didact.engines.factors.multiplicative import (
    divergences,
    multiplicative,
    objective,
    rows_by_updates,
    updated_columns,
    updated_rows,
    updates,
)
from didact.engines.factors.nonnegative import (
    Penalties,
    coordinate_descent,
    coordinate_sweep,
    passed,
    rows_given,
    steps_of,
    with_diagonal,
)
from didact.engines.factors.nonnegative_loops import sparse_products
from didact.engines.factors.starts import nonnegative_parts, nonnegative_start, singular_vectors

PENALTIES = [Penalties(), Penalties(0.3, 0.2, 0.5, 0.1)]


def table(n=90, p=17, k=3, seed=0, zeros=0.3):
    rng = np.random.default_rng(seed)
    X = rng.gamma(1.0, size=(n, k)) @ rng.gamma(0.5, size=(k, p)) + 0.1 * rng.random((n, p))
    X[rng.random(X.shape) < zeros] = 0.0
    return X, rng.random((n, k)), rng.random((k, p)), rng


def kinds(X):
    return {
        "rows": X,
        "columns": np.asfortranarray(X),
        "sparse": sp.csr_array(X),
        "strided": np.repeat(X, 2, 1)[:, ::2],
    }


def by_arrays(X, w, W, H, penalties, orders):
    W, H = W.copy(), H.copy()
    slopes = coordinate_sweep(X @ H.T - penalties.l1_w, with_diagonal(H @ H.T, penalties.l2_w), W, orders[0]) @ w
    T, V = np.ascontiguousarray(H.T), w[:, None] * W
    slopes += coordinate_sweep(X.T @ V - penalties.l1_h, with_diagonal(V.T @ W, penalties.l2_h), T, orders[1]).sum()
    return slopes, W, T.T


@pytest.mark.parametrize("penalties", PENALTIES)
@pytest.mark.parametrize("kind", ["rows", "columns", "sparse", "strided"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 3, 2), (300, 70, 5), (130, 9, 13), (3, 700, 5), (1, 4, 9)])
def test_a_step_is_that_of_array_functions(kind, penalties, shape):
    X, W, H, rng = table(*shape)
    w, orders = rng.integers(0, 3, len(X)).astype(float), [rng.permutation(len(H)) for _ in range(2)]
    expected = by_arrays(X, w, W, H, penalties, orders)
    step = steps_of(kinds(X)[kind], w, W, H, penalties, float((w[:, None] * X**2).sum()))
    slopes, value = step(*orders)
    np.testing.assert_allclose(slopes, expected[0], rtol=1e-10)
    np.testing.assert_allclose(W, expected[1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(H, expected[2], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(value, objective(X, w, W, H, 2.0, penalties)[1], rtol=1e-9, atol=1e-15 * (X * X).sum())


def test_float32_rows_are_summed_in_float64():
    X, W, H, _ = table()
    X = X.astype(np.float32)
    copies = [(W.copy(), H.copy()) for _ in range(2)]
    for rows, (V, G) in zip((X, X.astype(np.float64)), copies, strict=True):
        steps_of(rows, None, V, G, Penalties(), 0.0)(np.arange(3), np.arange(3))
    np.testing.assert_allclose(copies[0][0], copies[1][0], rtol=1e-12)


@pytest.mark.parametrize("penalties", PENALTIES)
@pytest.mark.parametrize("kind", ["rows", "sparse"])
def test_coordinate_descent_never_raises_the_objective(kind, penalties):
    X, W, H, rng = table(200, 30, 4)
    start = objective(X, None, W, H, 2.0, penalties)[1]
    step = steps_of(kinds(X)[kind], None, W, H, penalties, float((X * X).sum()))
    result = coordinate_descent(step, (W, H), start, 1e-7, 3000, lambda: rng.permutation(4), lambda *_: False)
    assert (np.diff(result.history) <= 1e-12 * result.history[0]).all()
    assert result.converged
    # At a minimum the slope of a coordinate is 0 where it is positive, and not below 0 elsewhere.
    for slope, factor in (
        (W @ H @ H.T - X @ H.T + penalties.l1_w + penalties.l2_w * W, W),
        (W.T @ W @ H - W.T @ X + penalties.l1_h + penalties.l2_h * H, H),
    ):
        size = np.abs(X @ H.T).max()
        assert np.abs(slope[factor > 0]).max() < 1e-4 * size
        assert slope[factor == 0].min(initial=0.0) > -1e-4 * size


@pytest.mark.parametrize("beta", [-0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("kind", ["rows", "sparse"])
def test_updates_never_raise_the_objective(kind, beta):
    X, W, H, _ = table(zeros=0.3 if beta > 0 else 0.0)
    rows, penalties = kinds(X)[kind], Penalties(0.01, 0.02, 0.03, 0.01)
    before = objective(rows, None, W, H, beta, penalties)[1]
    for _ in range(30):
        W = updated_rows(rows, W, H, beta, penalties.l1_w, penalties.l2_w)
        H = updated_columns(H, updates(rows, None, W, H, beta), beta, penalties.l1_h, penalties.l2_h)
        now = objective(rows, None, W, H, beta, penalties)[1]
        assert now <= before * (1 + 1e-12)
        before = now


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
def test_sparse_rows_have_the_divergence_of_dense_ones(beta):
    X, W, H, _ = table()
    y = np.maximum(W @ H, 1e-300)
    np.testing.assert_allclose(divergences(sp.csr_array(X), W, H, beta), divergences(X, W, H, beta), rtol=1e-10)
    if beta == 1:
        logs = np.where(X > 0, X * np.log(np.where(X > 0, X, 1.0) / y), 0.0)
        np.testing.assert_allclose(divergences(X, W, H, beta), (logs - X + y).sum(axis=1), rtol=1e-10)


def test_rows_given_the_parts_are_those_of_least_squares():
    from scipy.optimize import nnls

    X, _, H, _ = table(20, 12, 4)
    expected = np.array([nnls(H.T, x)[0] for x in X])
    W, sweeps = rows_given(X, H, 0.0, 0.0, 1e-12, 5000)
    np.testing.assert_allclose(W, expected, atol=1e-7)
    assert 1 < sweeps <= 5000
    assert rows_given(X, H, 0.0, 0.0, 0.0, 3)[1] == 4  # did not end
    alone = np.vstack([rows_given(x[None], H, 0.0, 0.0, 1e-4, 100)[0] for x in X])
    np.testing.assert_allclose(alone, rows_given(X, H, 0.0, 0.0, 1e-4, 100)[0], rtol=1e-10, atol=1e-12)
    by_updates, _ = rows_by_updates(X, H, 2.0, 0.0, 0.0, 1e-12, 20_000)
    np.testing.assert_allclose(by_updates, expected, atol=1e-4)


def test_the_statistic_of_blocks_is_that_of_all_rows():
    X, _, H, rng = table()
    w = rng.integers(0, 3, len(X)).astype(float)
    parts = [passed(Block(X[s], weight=w[s]), H, Penalties(0.1, 0.2), 1e-8, 500) for s in (slice(0, 31), slice(31, 90))]
    merged, whole = (
        parts[0].merge(parts[1]),
        passed(Block(sp.csr_array(X), weight=w), H, Penalties(0.1, 0.2), 1e-8, 500),
    )
    for a, b in zip(merged, whole, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)


def test_pieces_of_threads_do_not_change_the_updates(monkeypatch):
    X, W, H, _ = table()
    one = multiplicative(X, None, W, H, 1.0, Penalties(), 0.0, 5, lambda *_: False).x
    monkeypatch.setattr("didact.engines.factors.multiplicative.ENTRIES", 64)
    many = multiplicative(X, None, W, H, 1.0, Penalties(), 0.0, 5, lambda *_: False).x
    for a, b in zip(one, many, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)


@pytest.mark.parametrize("shape", [(40, 7), (7, 40)])
def test_singular_vectors(shape):
    X = np.random.default_rng(0).random(shape)
    U, s, V = singular_vectors(X, None, 3, np.random.default_rng(0))
    np.testing.assert_allclose(s, np.linalg.svd(X)[1][:3])
    np.testing.assert_allclose(X @ V.T, U * s, atol=1e-10)
    w = np.random.default_rng(1).integers(0, 3, shape[0])
    again = singular_vectors(np.repeat(X, w, axis=0), None, 3, np.random.default_rng(0))
    weighted = singular_vectors(X, w.astype(float), 3, np.random.default_rng(0))
    np.testing.assert_allclose(weighted[1], again[1])
    np.testing.assert_allclose(np.abs(np.repeat(weighted[0], w, axis=0)), np.abs(again[0]), atol=1e-8)


@pytest.mark.parametrize("shape", [(90, 60), (60, 90)])
@pytest.mark.parametrize("kind", [np.asarray, np.float32, sp.csr_array])
def test_singular_vectors_from_a_random_subspace(shape, kind, monkeypatch):
    monkeypatch.setattr("didact.engines.factors.starts.SMALL_SIDE", 30)
    rng = np.random.default_rng(0)
    ends = [np.linalg.qr(rng.standard_normal((side, 50)))[0] for side in shape]
    values = 0.6 ** np.arange(50)
    X = kind((ends[0] * values) @ ends[1].T)
    close = {"rtol": 1e-4, "atol": 1e-6} if kind is np.float32 else {"rtol": 1e-9, "atol": 1e-9}
    U, s, V = singular_vectors(X, None, 4, np.random.default_rng(1))
    np.testing.assert_allclose(s, values[:4], **close)
    np.testing.assert_allclose(np.abs(np.diag(U.T @ ends[0][:, :4])), 1.0, **close)
    np.testing.assert_allclose(X @ V.T, U * s, **close)
    flat = singular_vectors(kind(np.outer(*(np.abs(end[:, 0]) for end in ends))), None, 4, np.random.default_rng(1))
    np.testing.assert_allclose(flat[1], [1.0, 0.0, 0.0, 0.0], atol=1e-6)  # a space of fewer dimensions than asked for
    assert all(np.isfinite(part).all() for part in flat)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_of_sparse_rows(dtype):
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 40), density=0.1, rng=rng, format="csr", dtype=dtype)
    X.indptr[1:4] = X.indptr[4]  # some rows are empty
    for K in (1, 3, 8):
        T = rng.standard_normal((40, K))
        np.testing.assert_allclose(sparse_products(X, T), X.astype(np.float64).toarray() @ T, rtol=1e-12, atol=1e-12)


def test_a_start_from_singular_vectors():
    X = np.outer([1.0, 2.0, 0.0], [3.0, 1.0])
    W, H = nonnegative_parts(*singular_vectors(X, None, 1, np.random.default_rng(0)), np.ones(3))
    np.testing.assert_allclose(W @ H, X, atol=1e-10)  # a matrix of rank one is its own non-negative part
    X, *_ = table(zeros=0.0)
    rng = np.random.default_rng
    plain = nonnegative_start(X, None, 3, "nndsvd", rng(0), X.mean())
    for init in ("nndsvda", "nndsvdar"):
        for factor, zeros in zip(nonnegative_start(X, None, 3, init, rng(0), X.mean()), plain, strict=True):
            np.testing.assert_array_equal(factor[zeros > 0], zeros[zeros > 0])
            assert (factor[zeros == 0] > 0).all()
    rows = nonnegative_start(np.repeat(X, 2, axis=0), None, 3, "random", rng(0), X.mean())[0]
    np.testing.assert_array_equal(rows[::2], rows[1::2])  # equal rows begin alike
