"""Components of rows: NumPy's sums, soft and hard, every shape, merging, gaps, rows far from zero, tensors."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from didact.core.errors import InputError
from didact.core.rows import MemoryRows
from didact.parts.statistics import components as engine
from didact.parts.statistics import row_components as by_rows
from didact.parts.statistics.components import components
from didact.parts.statistics.row_components import row_components


def oracle(X, y, w=None):
    """Labels, weights, means and scatter with nothing but sums."""
    X, w = X.astype(np.float64), np.ones(len(X)) if w is None else w
    classes = np.unique(y[w > 0])
    weight = np.array([w[y == k].sum() for k in classes])
    mean = np.array([w[y == k] @ X[y == k] for k in classes]) / weight[:, None]
    D = [X[y == k] - m for k, m in zip(classes, mean)]
    return classes, weight, mean, np.array([(d * w[y == k][:, None]).T @ d for k, d in zip(classes, D)])


def assert_is(S, X, y, w=None, rtol=1e-10):
    np.testing.assert_array_equal(S.labels, np.unique(y))
    S = S.seen()
    classes, weight, mean, scatter = oracle(X, y, w)
    np.testing.assert_array_equal(S.labels, classes)
    np.testing.assert_allclose(S.weight, weight, rtol=1e-12)
    np.testing.assert_allclose(S.mean, mean, rtol=rtol, atol=rtol)
    scatter = scatter.sum(axis=0, keepdims=True) if S.tied else scatter
    np.testing.assert_allclose(S.scatter, scatter, rtol=rtol, atol=rtol * np.abs(scatter).max() + 1e-25)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 700),
    p=st.integers(1, 9),
    K=st.integers(1, 6),
    single=st.booleans(),
    weighted=st.booleans(),
    shape=st.sampled_from(["tied", "full"]),
    seed=st.integers(0, 99),
)
def test_sums_are_numpys(n, p, K, single, weighted, shape, seed):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, p)) * 3 + 2).astype(np.float32 if single else np.float64)
    y = rng.integers(0, K, n)
    w = rng.integers(0, 3, n) + rng.uniform(0, 0.5, n) * (rng.uniform(size=n) < 0.5) if weighted else None
    w = None if w is None or not w.any() else w.astype(float)
    assert_is(row_components(MemoryRows(X, y, w), shape), X, y, w)


@pytest.mark.parametrize("shape", ["tied", "full"])
def test_merging_is_associative_and_classes_may_differ(shape):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 4)), np.repeat(["b", "a", "c"], 30)
    a, b, c = (components(X[s], y[s], shape) for s in (slice(0, 40), slice(40, 41), slice(41, 90)))
    for S in (a.merge(b).merge(c), a.merge(b.merge(c)), c.merge(a).merge(b)):
        assert_is(S.finished(), X, y)


@pytest.mark.parametrize("shape", ["tied", "full"])
def test_far_from_zero_and_constant_columns(shape):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(400, 3)), np.arange(400) % 2
    near, far = (row_components(MemoryRows(Z, y, None), shape) for Z in (X, X + 1e8))
    np.testing.assert_allclose(far.scatter, near.scatter, rtol=1e-6, atol=1e-5)
    constant = row_components(MemoryRows(np.column_stack([X, np.full(400, 0.1)]), y, None), shape)
    assert (constant.scatter[:, -1] == 0).all()
    assert (constant.scatter[:, :, -1] == 0).all()


def exact(X, y, w=None):
    """Means and scatter of the classes in extended precision."""
    X, w = X.astype(np.longdouble), np.ones(len(X)) if w is None else w
    mean = [(w[y == k] @ X[y == k]) / w[y == k].sum() for k in np.unique(y)]
    D = [X[y == k] - m for k, m in zip(np.unique(y), mean)]
    scatter = [(d * w[y == k][:, None]).T @ d for k, d in zip(np.unique(y), D)]
    return np.array(mean, float), np.array(scatter, float)


@pytest.mark.parametrize("p", [3, 21])
@pytest.mark.parametrize("case", ["drifting", "a start far away", "a light start far away", "weights all over"])
def test_no_order_of_rows_or_weights_costs_digits(p, case):
    rng = np.random.default_rng([p, len(case)])
    n, w = 40_000, None
    X, y = rng.normal(size=(n, p)), np.arange(n) % 2
    if case == "drifting":
        X += np.linspace(0, 1e3, n)[:, None]
    elif case == "weights all over":
        w = 10.0 ** rng.uniform(-12, 3, n)
    else:
        X[:600] += 1e6  # more than are handled at a time
        w = np.where(X[:, 0] > 1e5, 1e-12, 1.0) if "light" in case else None
    S = components(X, y, "full", w)
    mean, scatter = exact(X, y, w)
    np.testing.assert_allclose(S.mean, mean, rtol=1e-11, atol=1e-15 * np.abs(X).max())
    np.testing.assert_allclose(S.scatter, scatter, rtol=1e-10, atol=1e-11 * scatter.max())


@pytest.mark.parametrize(
    "labels",
    [
        np.array([-3, 7, 2], np.int64),
        np.array([200, 3], np.uint8),
        np.array([0, 2**64 - 1], np.uint64),
        np.array([2**64 - 5, 2**64 - 1], np.uint64),
        np.array([-(2**62), 5, 2**62]),
        np.array([False, True]),
        np.array(["b", "a", "ä"]),
        np.array([0.5, -1.5]),
    ],
)
def test_labels_of_any_kind(labels):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 2)), labels[rng.integers(0, len(labels), 60)]
    S = components(X, y, "full")
    assert S.labels.dtype == y.dtype
    assert_is(S, X, y)


def test_rows_with_gaps_are_counted_and_left_out():
    rng = np.random.default_rng(2)
    X, y, w = rng.normal(size=(300, 4)), rng.integers(0, 3, 300), rng.uniform(0.5, 2, 300)
    hole = rng.uniform(size=300) < 0.3
    X[hole, rng.integers(0, 4, hole.sum())] = np.nan
    S = row_components(MemoryRows(X, y, w, missing=True), "full")
    np.testing.assert_allclose(S.gaps, [w[hole & (y == k)].sum() for k in range(3)])
    assert_is(S._replace(weight=S.present[:, 0]), X[~hole], y[~hole], w[~hole])


@pytest.mark.parametrize("shape", ["tied", "full"])
def test_many_columns_go_through_blas_and_a_few_classes_at_a_time(shape, monkeypatch):
    rng = np.random.default_rng(3)
    X, y, w = rng.normal(size=(500, 6)), rng.integers(0, 5, 500), rng.uniform(0.5, 2, 500)
    monkeypatch.setattr(engine, "NARROW", 4)
    monkeypatch.setattr(by_rows, "NARROW", 4)
    monkeypatch.setattr(by_rows, "MEMORY", 8 * 36 * 64 * 2)
    assert_is(row_components(MemoryRows(X, y, w), shape), X, y, w)


def test_tensors():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(4)
    X, y, w = rng.normal(size=(200, 4)), rng.integers(0, 3, 200), rng.uniform(0.5, 2, 200)
    for shape in ("tied", "full"):
        S = row_components(MemoryRows(*(torch.as_tensor(c) for c in (X, y, w))), shape)
        assert_is(S, X, y, w)
    X[3, 2] = np.nan
    with pytest.raises(InputError, match="tensors"):
        row_components(MemoryRows(torch.as_tensor(X), torch.as_tensor(y), None, missing=True), "full")


def test_moments_merge_to_those_of_all_rows():
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(60, 3)) + 100.0, rng.choice(["a", "b", "c"], 60), rng.uniform(size=60)
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    y[:20] = "b"
    whole = components(X, y, "diagonal", w)
    a, b, c = (components(X[s], y[s], "diagonal", w[s]) for s in (slice(0, 20), slice(20, 30), slice(30, 60)))
    for merged in (a.merge(b).merge(c), a.merge(b.merge(c))):
        np.testing.assert_array_equal(merged.labels, whole.labels)
        for name in ("weight", "present", "mean", "scatter"):
            np.testing.assert_allclose(getattr(merged, name), getattr(whole, name), rtol=1e-9, err_msg=name)
    for k, label in enumerate(whole.labels):
        rows = X[y == label]
        average = np.nansum(rows * w[y == label, None], axis=0) / (~np.isnan(rows) * w[y == label, None]).sum(axis=0)
        np.testing.assert_allclose(whole.mean[k], average)
    everything = components(X, y, "diagonal").total / (~np.isnan(X)).sum(axis=0)
    np.testing.assert_allclose(everything, np.nanvar(X, axis=0), rtol=1e-9)


SHAPES = ["full", "tied", "diagonal", "spherical"]


def soft(n=300, p=4, K=3, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 3.0 * rng.integers(0, K, n)[:, None] + offset
    return X, rng.dirichlet(np.full(K, 0.4), n), rng.uniform(0.2, 2.0, n)


def definition(X, R, shape):
    """Weights, means and scatter of responsibilities in extended precision."""
    X, R = X.astype(np.longdouble), R.astype(np.longdouble)
    weight = R.sum(axis=0)
    mean = R.T @ X / weight[:, None]
    scatter = np.array([((X - m) * r[:, None]).T @ (X - m) for m, r in zip(mean, R.T)])
    if shape == "tied":
        scatter = scatter.sum(axis=0, keepdims=True)
    elif shape != "full":
        scatter = np.diagonal(scatter, axis1=1, axis2=2)
        scatter = scatter.sum(axis=1, keepdims=True) if shape == "spherical" else scatter
    return weight.astype(float), mean.astype(float), scatter.astype(float)


def assert_same(a, b, rtol=1e-12):
    for name in ("weight", "mean", "scatter"):
        x, z = getattr(a, name), getattr(b, name)
        np.testing.assert_allclose(x, z, rtol=rtol, atol=rtol * np.abs(z).max(initial=0.0), err_msg=name)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [1, 50, 5000])  # one row, one block, several blocks
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, np.float32])
def test_responsibilities_by_their_definition(shape, n, convert):
    X, R, w = soft(n)
    given = convert(X)
    X = given.toarray() if sp.issparse(given) else np.asarray(given, float)
    for weights in (None, w):
        S = components(given, R, shape, weights)
        expected = definition(X, R if weights is None else R * w[:, None], shape)
        for got, right in zip((S.weight, S.mean, S.scatter), expected):
            np.testing.assert_allclose(got, right, rtol=1e-10, atol=1e-11 * np.abs(right).max() + 1e-25)


@settings(max_examples=30, deadline=None)
@given(
    shape=st.sampled_from(SHAPES),
    n=st.integers(1, 80),
    K=st.integers(1, 5),
    p=st.integers(1, 6),
    seed=st.integers(0, 99),
)
def test_one_hot_responsibilities_are_labels(shape, n, K, p, seed):
    rng = np.random.default_rng(seed)
    X, y, w = rng.normal(size=(n, p)) + 10.0, rng.integers(0, K, n), rng.uniform(0.1, 1.0, n)
    hard = components(X, y, shape, w).among(np.arange(K))
    R = (y[:, None] == np.arange(K)).astype(float)
    easy = components(X, R, shape, w)
    seen = hard.weight > 0
    np.testing.assert_allclose(easy.weight, hard.weight, rtol=1e-12)
    np.testing.assert_allclose(easy.mean[seen], hard.mean[seen], rtol=1e-12)
    np.testing.assert_allclose(
        easy.scatter, hard.scatter, rtol=1e-12, atol=1e-12 * max(1.0, np.abs(hard.scatter).max())
    )


@settings(max_examples=30, deadline=None)
@given(shape=st.sampled_from(SHAPES), cuts=st.lists(st.integers(0, 40), min_size=3, max_size=3), labels=st.booleans())
def test_merging_is_associative(shape, cuts, labels):
    X, R, w = soft(sum(cuts) + 1)
    R = R.argmax(axis=1) if labels else R
    edges = np.cumsum([0, *cuts[:2], cuts[2] + 1])
    a, b, c = (components(X[s:t], R[s:t], shape, w[s:t]) for s, t in pairwise(edges))
    whole = components(X, R, shape, w)
    for S in (a.merge(b).merge(c), a.merge(b.merge(c)), b.merge(c).merge(a)):
        np.testing.assert_array_equal(S.labels, whole.labels)
        assert_same(S, whole, rtol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
def test_weights_are_repeated_rows(shape):
    X, R, _ = soft(80)
    w = np.random.default_rng(1).integers(0, 4, 80)
    for given_by in (R, R.argmax(axis=1), None):
        repeated = None if given_by is None else np.repeat(given_by, w, axis=0)
        assert_same(
            components(X, given_by, shape, w.astype(float)), components(np.repeat(X, w, axis=0), repeated, shape)
        )


@pytest.mark.parametrize("soft_labels", [True, False])
def test_shapes_are_parts_of_the_full_one(soft_labels):
    """Tied is pooled over the components, diagonal and spherical are diagonals and their sums."""
    X, R, w = soft(3000)
    R = R if soft_labels else R.argmax(axis=1)
    full, tied, diagonal, spherical = (components(X, R, shape, w) for shape in SHAPES)
    assert_same(tied, full.pool(), rtol=1e-11)
    variances = np.diagonal(full.scatter, axis1=1, axis2=2)
    np.testing.assert_allclose(diagonal.scatter, variances, rtol=1e-10)
    np.testing.assert_allclose(spherical.scatter[:, 0], variances.sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(full.total, components(X, None, "full", w).scatter[0] if not soft_labels else tied.total)
    np.testing.assert_allclose(diagonal.total, np.diag(full.total), rtol=1e-10)
    np.testing.assert_allclose(spherical.total, [np.trace(full.total)], rtol=1e-10)
    np.testing.assert_allclose(tied.component(1).covariances(), tied.covariances(), rtol=1e-12)
    assert tied.component(1).weight == tied.weight[1]
    np.testing.assert_allclose(spherical.covariances()[:, 0], diagonal.covariances().mean(axis=1), rtol=1e-10)
    np.testing.assert_allclose(tied.covariances(0.5)[0], tied.scatter[0] / w.sum() + 0.5 * np.eye(4), rtol=1e-10)
    np.testing.assert_allclose(diagonal.covariances(0.5), diagonal.scatter / diagonal.weight[:, None] + 0.5)


def test_one_component_is_the_covariance_of_all_rows():
    X, _, w = soft(500)
    S = components(X, None, "full", w)
    assert S.labels is None
    np.testing.assert_allclose(S.covariances()[0], np.cov(X.T, aweights=w, ddof=0), rtol=1e-12)
    named = components(X, np.repeat("a", 500), "full", w)
    assert_same(named.component(0), S)
    assert named.component(0).labels is None
    assert_same(components(X[:200], None, "full", w[:200]).merge(components(X[200:], None, "full", w[200:])), S)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["soft", "labels", "one"])
def test_far_from_zero_nothing_cancels(shape, kind):
    """Deviations 1 about a mean of 1e8: raw second moments would have no digit left."""
    X, R, w = soft(5000, offset=0.0)
    R = {"soft": R, "labels": R.argmax(axis=1), "one": None}[kind]
    X = np.round(X * 2**20) / 2**20  # so that adding 1e8 rounds nothing away
    near, far = components(X, R, shape, w), components(X + 2.0**26, R, shape, w)
    np.testing.assert_allclose(far.scatter, near.scatter, rtol=1e-6, atol=1e-6 * np.abs(near.scatter).max())
    np.testing.assert_allclose(far.mean - 2.0**26, near.mean, atol=1e-6)


@pytest.mark.parametrize("shape", ["full", "tied"])
def test_components_far_apart_keep_their_digits(shape):
    """The scatter within is 1e12 times smaller than that between the components."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 3)) + 1e6 * y[:, None]
    R = (y[:, None] == [0, 1]).astype(float)
    expected = definition(X, R, shape)[2]
    for given_by in (y, R):
        S = components(X, given_by, shape)
        np.testing.assert_allclose(S.scatter, expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())


def test_float32_is_summed_up_in_float64():
    X, R, w = soft(4000)
    single = (X + 1000.0).astype(np.float32)
    for shape in SHAPES:
        for given_by in (R, R.argmax(axis=1)):
            S = components(single, given_by, shape, w)
            assert S.mean.dtype == S.scatter.dtype == np.float64
            assert_same(S, components(single.astype(np.float64), given_by, shape, w), rtol=1e-12)


def test_responsibilities_of_nothing():
    X, R, _ = soft(30)
    R[:, 1] = 0.0
    R[:, 2] = 1e-320  # below what is a number of full precision
    for shape in SHAPES:
        S = components(X, R, shape)
        assert S.weight[1] == 0
        assert np.isfinite(S.mean).all()
        assert np.isfinite(S.covariances()).all()
        again = S.merge(S)
        np.testing.assert_allclose(again.mean[0], S.mean[0], rtol=1e-14)


@pytest.mark.parametrize("shape", ["diagonal", "spherical"])
@pytest.mark.parametrize("wide", [False, True])
def test_variances_leave_missing_values_out_one_by_one(shape, wide):
    X, R, w = soft(200, p=70 if wide else 4)
    X[np.random.default_rng(1).uniform(size=X.shape) < 0.2] = np.nan
    there = ~np.isnan(X)
    for given_by in (R, R.argmax(axis=1)):
        H = (R if given_by is R else np.eye(3)[given_by]) * w[:, None]
        S = components(X, given_by, shape, w)
        present = H.T @ there
        mean = H.T @ np.where(there, X, 0.0) / present
        scatter = np.array([np.nansum(h[:, None] * (X - m) ** 2, axis=0) for h, m in zip(H.T, mean)])
        np.testing.assert_allclose(S.present, present)
        np.testing.assert_allclose(S.mean, mean, rtol=1e-10, atol=1e-10)
        scatter = scatter.sum(axis=1, keepdims=True) if shape == "spherical" else scatter
        np.testing.assert_allclose(S.scatter, scatter, rtol=1e-9)
        variance = scatter / (present.sum(axis=1, keepdims=True) if shape == "spherical" else present)
        np.testing.assert_allclose(S.covariances(), variance, rtol=1e-9)


def test_soft_rows_with_gaps_are_counted_and_left_out():
    X, R, w = soft(300)
    X[::7, 2] = np.nan
    whole = ~np.isnan(X).any(axis=1)
    for shape in ("full", "tied"):
        S = components(X, R, shape, w)
        np.testing.assert_allclose(S.gaps, w[~whole] @ R[~whole], rtol=1e-10)
        assert_same(S._replace(weight=S.present[:, 0]), components(X[whole], R[whole], shape, w[whole]))


@pytest.mark.parametrize("shape", SHAPES)
def test_tensors_of_responsibilities(shape):
    torch = pytest.importorskip("torch")
    X, R, w = soft(300)
    y = R.argmax(axis=1)
    for given_by in (R, y, None):
        tensors = (None if given_by is None else torch.as_tensor(given_by), shape, torch.as_tensor(w))
        assert_same(components(torch.as_tensor(X), *tensors), components(X, given_by, shape, w), rtol=1e-10)
