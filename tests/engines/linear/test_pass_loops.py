"""Compiled passes of linear models: equal to array code for every layout, type and loss, and blind to no bad number."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from didact.core.errors import InputError
from didact.core.rows import MemoryRows
from didact.core.rows.memory import pass_edges
from didact.core.threads import set_threads
from didact.engines.linear import pass_loops, softmax_loops
from didact.engines.linear.objective import LinearObjective
from didact.engines.linear.pass_loops import linear_sums
from didact.engines.linear.softmax_loops import softmax_curvature, softmax_sums
from didact.parts.families import GLMLoss
from didact.parts.losses import HalfSquared, Huber, Logistic, Poisson, Softmax, SquaredHinge, SquaredLogistic
from didact.parts.losses.rounded import RoundedHinge, RoundedInsensitive

LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "every third row": lambda X: np.repeat(X, 3, axis=0)[::3],
    "some columns": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "part of columns": lambda X: np.asfortranarray(np.vstack([X, X]))[: len(X)],
    "backwards": lambda X: np.ascontiguousarray(X[::-1])[::-1],
    "other bytes": lambda X: X.astype(X.dtype.newbyteorder()),
}


def problem(n, p, dtype=np.float64, weighted=True, seed=0):
    rng = np.random.default_rng([seed, n, p])
    X, y = rng.normal(size=(n, p)).astype(dtype), rng.integers(0, 2, n).astype(float)
    w, offset = (rng.uniform(0.1, 2, n), rng.normal(size=n)) if weighted else (None, None)
    return X, y, w, offset, rng.normal(size=p + 1) / np.sqrt(p + 1)


def oracle(X, y, w, offset, loss, theta):
    Z = np.column_stack([np.asarray(X, float), np.ones(len(y))])
    value, g, h = loss.value_grad_hess(y, Z @ theta + (0 if offset is None else offset))
    w = np.ones(len(y)) if w is None else w
    return (w * value).sum(), Z.T @ (w * g), Z.T @ ((w * h)[:, None] * Z)


def agree(found, expected):
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11 * (1 + np.abs(b).max(initial=0)))


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(0, 300),
    p=st.integers(0, 70),
    dtype=st.sampled_from([np.float32, np.float64]),
    layout=st.sampled_from(sorted(LAYOUTS)),
    weighted=st.booleans(),
)
def test_any_shape_type_and_layout(n, p, dtype, layout, weighted):
    X, y, w, offset, theta = problem(n, p, dtype, weighted)
    expected = oracle(X, y, w, offset, Logistic(), theta)
    X = LAYOUTS[layout](X)
    agree(linear_sums(X, y, w, offset, Logistic(), theta, True), expected)
    agree(linear_sums(X, y, w, offset, Logistic(), theta, False), expected[:2])


@pytest.mark.parametrize("shape", [(3, 1000), (40, 300), (2000, 7)])
def test_wide_and_long(shape):
    args = problem(*shape)
    expected = oracle(*args[:4], Logistic(), args[4])
    for layout in ("rows", "columns"):
        X = LAYOUTS[layout](args[0])
        agree(linear_sums(X, *args[1:4], Logistic(), args[4], False), expected[:2])


@pytest.mark.parametrize(
    "loss",
    [
        HalfSquared(),
        Huber(0.7),
        SquaredLogistic(),
        SquaredHinge(),
        RoundedHinge(0.5),
        RoundedInsensitive(0.2, 0.5),
        Poisson(),
        *(GLMLoss(family, "log") for family in ("gaussian", "poisson", "gamma", "tweedie", "negative_binomial")),
        GLMLoss("inverse_gaussian", "log"),
        GLMLoss("binomial", "logit"),
    ],
    ids=repr,
)
def test_every_loss_with_a_scalar_form(loss):
    X, y, w, offset, theta = problem(100, 5)
    y = 2 * y - 1 if loss.classes == (-1, 1) else y + 0.5
    expected = oracle(X, y, w, offset, loss, theta)
    agree(linear_sums(X, y, w, offset, loss.scalar, theta, True), expected)


@pytest.mark.parametrize("width", [1e-9, 0.01, 1.0, 100.0])
@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_curvature_of_few_rows(width, layout):
    """Rows without curvature are left out: none, a few, half of many tiles, or all of them have some."""
    X, y, w, offset, theta = problem(5000, 21)
    w[::7] = 0
    args = (2 * y - 1, w, offset, RoundedHinge(width), theta)
    agree(linear_sums(LAYOUTS[layout](X), *args, True), oracle(X, *args))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows(dtype, index):
    X, y, w, offset, theta = problem(600, 20, dtype)
    X[np.random.default_rng(1).random(X.shape) < 0.8] = 0
    X[5] = 0
    S = sp.csr_array(X)
    S.indices, S.indptr = S.indices.astype(index), S.indptr.astype(index)
    agree(linear_sums(S, y, w, offset, Logistic(), theta, False), oracle(X, y, w, offset, Logistic(), theta)[:2])


@pytest.mark.parametrize("loss", [Logistic(), Poisson(), Huber(1.0)], ids=repr)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("weight", [None, 0.0])
def test_no_bad_number_is_lost(loss, bad, weight):
    """In whatever column, row of a tile or layout, and also in rows that do not count: the gradient shows it."""
    for i, j in ((0, 0), (17, 4), (99, 6)):
        X, y, _, _, theta = problem(100, 7)
        X[i, j] = bad
        w = None if weight is None else np.where(np.arange(100) == i, weight, 1.0)
        for layout in ("rows", "columns"):
            gradient = linear_sums(LAYOUTS[layout](X), y, w, None, loss, theta, False)[1]
            assert not np.isfinite(gradient[j]), (i, j, layout)
    with pytest.raises(InputError, match="column 6"):
        LinearObjective(MemoryRows(X, y, w, None), loss, 100.0).value_gradient(theta)


def test_large_predictors_stay_numbers():
    X, y, _, _, theta = problem(200, 3)
    for factor in (1e3, 1e6):
        found = linear_sums(factor * X, y, None, None, Logistic(), theta, True)
        agree(found, oracle(factor * X, y, None, None, Logistic(), theta))
        assert all(np.isfinite(part).all() for part in found)


def softmax_oracle(X, codes, w, table, reference):
    Z = np.column_stack([np.asarray(X, float), np.ones(len(X))])
    z = Z @ table.T
    z = np.column_stack([z, np.zeros(len(z))]) if reference else z
    value, R = Softmax().value_grad(codes, z)
    w, P, K = np.ones(len(X)) if w is None else w, Softmax().probabilities(z), len(table)
    H = np.array([[Z.T @ ((w * Softmax().pair_curvature(P, k, m))[:, None] * Z) for m in range(K)] for k in range(K)])
    return (w * value).sum(), ((w[:, None] * R).T @ Z)[:K], H.transpose(0, 2, 1, 3)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 150),
    p=st.integers(0, 30),
    K=st.integers(1, 14),
    dtype=st.sampled_from([np.float32, np.float64]),
    layout=st.sampled_from(sorted(LAYOUTS)),
    weighted=st.booleans(),
    reference=st.booleans(),
)
def test_softmax_of_any_shape(n, p, K, dtype, layout, weighted, reference):
    X, _, w, _, _ = problem(n, p, dtype, weighted)
    rng = np.random.default_rng(K)
    codes, table = rng.integers(0, K + reference, n), rng.normal(size=(K, p + 1))
    value, gradient, H = softmax_oracle(X, codes, w, table, reference)
    X = LAYOUTS[layout](X)
    agree(softmax_sums(X, codes, w, table, reference), (value, gradient))
    agree([softmax_curvature(X, w, table, reference, True)], [H])
    blocks = np.array([H[k, :, k] for k in range(K)])
    agree([softmax_curvature(X, w, table, reference, False)], [blocks])


@pytest.mark.parametrize("scale", [1e3, 1e7])
def test_softmax_of_far_scores(scale):
    X, _, w, _, _ = problem(64, 4)
    rng = np.random.default_rng(0)
    codes, table = rng.integers(0, 5, 64), scale * rng.normal(size=(5, 5))
    value, gradient, H = softmax_oracle(X, codes, w, table, False)
    agree(softmax_sums(X, codes, w, table, False), (value, gradient))
    agree([softmax_curvature(X, w, table, False, True)], [H])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_softmax_loses_no_bad_number(bad):
    for i, j in ((0, 0), (17, 4), (99, 6)):
        X = problem(100, 7)[0]
        X[i, j] = bad
        gradient = softmax_sums(X, np.arange(100) % 3, None, np.ones((3, 8)), False)[1]
        assert not np.isfinite(gradient[:, j]).all()


@pytest.mark.parametrize("outputs", [1, 4])
def test_threads_and_layout_change_no_bit_and_little(outputs):
    """20,000 rows are several pieces: their sums do not depend on who makes them, and hardly on the layout."""
    X, y, w, _, _ = problem(20_000, 60)
    y = np.random.default_rng(0).integers(0, 4, len(y)) if outputs > 1 else y
    loss = Softmax() if outputs > 1 else Logistic()
    found = {}
    for layout in ("rows", "columns"):
        f = LinearObjective(MemoryRows(LAYOUTS[layout](X), y, w, None), loss, w.sum(), 0.1, True, outputs)
        theta = np.random.default_rng(0).normal(size=f.size) / 8
        for threads in (1, 2, 5):
            set_threads(threads)
            try:
                found[layout, threads] = f.value_gradient_hessian(theta)
            finally:
                set_threads(None)
    for layout in ("rows", "columns"):
        for threads in (2, 5):
            for a, b in zip(found[layout, threads], found[layout, 1]):
                np.testing.assert_array_equal(a, b)
    agree(found["rows", 1], found["columns", 1])


@pytest.mark.parametrize("curved", [(), (0,), (1, 2), (3, 1000), (16, 17, 3000, 0, 1)])
def test_pieces_with_few_rows_of_curvature_leave_them_to_others(curved):
    """A rounded hinge bends for few rows: so many in each piece of the rows, and none in further ones."""
    X, _, w, _, _ = problem(20_000, 60)
    X[:, 0], theta, loss = -3.0, np.eye(61)[0], RoundedHinge(0.5)  # far beyond the kink, or at a margin of 0.8
    edges = pass_edges(X, 3, True)
    for start, count in zip(edges, curved):
        X[start : start + count, 0] = 0.8
    y = np.ones(len(X))
    expected, found = oracle(X, y, w, None, loss, theta), []
    for threads in (1, 3):
        set_threads(threads)
        try:
            found.append(linear_sums(X, y, w, None, loss.scalar, theta, True))
        finally:
            set_threads(None)
    agree(found[0], expected)
    assert len(edges) > len(curved) + 1
    assert any(curved) == bool(expected[2].any())
    for a, b in zip(*found):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["linear_pass", "softmax_pass"])
def test_a_pass_needs_the_interpreter_a_handful_of_times(name, monkeypatch):
    """However many rows there are: threads take pieces of them inside compiled code."""
    module = pass_loops if name == "linear_pass" else softmax_loops
    compiled, calls = getattr(module, name), []
    monkeypatch.setattr(module, name, lambda *args: (calls.append(None), compiled(*args))[1])
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(200_000, 20)), rng.integers(0, 3, 200_000)
    set_threads(3)
    try:
        if name == "linear_pass":
            objective = LinearObjective(MemoryRows(X, (codes > 0) * 1.0, None, None), Logistic(), 2e5)
        else:
            objective = LinearObjective(MemoryRows(X, codes, None, None), Softmax(), 2e5, outputs=3)
        objective.value_gradient(np.zeros(objective.size))
    finally:
        set_threads(None)
    assert 1 <= len(calls) <= 3
