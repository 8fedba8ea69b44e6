"""Compiled stochastic gradient descent against a slow twin that does every step on all weights at once."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import didact
from didact.core.random import seed_sequence
from didact.core.rows import Block, MemoryRows
from didact.engines.stochastic.passes import full, loop_rows, row_blocks, stochastic, sweep_block
from didact.engines.stochastic.row_loops import Dense, Sparse, add_row, row_dot, scattered_dot
from didact.engines.stochastic.sgd import Rate, Stopping, Training, Weights, run_passes
from didact.engines.stochastic.sgd_loops import BIAS, BIAS_SUM, RATE, STEEPEST, TIME, mix, next_rows, settled
from didact.parts import losses
from didact.parts.penalties import L1, L2, ElasticNet, PNorm

LOSSES = [
    losses.HalfSquared(), losses.Absolute(), losses.Huber(0.5), losses.EpsilonInsensitive(0.1),
    losses.SquaredEpsilonInsensitive(0.1), losses.Hinge(), losses.SquaredHinge(), losses.Logistic(),
    losses.ModifiedHuber(), losses.ExponentialLoss(), losses.Perceptron(),
]  # fmt: skip
PENALTIES = [None, L2(0.3), L1(0.2), ElasticNet(0.4, 0.5), PNorm(0.3, 1.5), PNorm(0.3, 3.0), PNorm(0.2, 1.0)]
RATES = [Rate(0.1), Rate(2.0, 10.0, 1.0), Rate(0.2, 0.0, 0.5), Rate(0.2, 0.0, 0.25), Rate(0.2, 0.0, 0.4)]


def twin(X, y, w, order, training, damping=1.0):
    """All steps, each on all weights, the penalty taken at once: weights, intercept, averages and losses."""
    l1, l2, pull, p = training.strengths()
    v, b, paid, owed, rate = np.zeros(X.shape[1]), 0.0, np.zeros(X.shape[1]), 0.0, training.rate
    total, kept = 0.0, []
    for t, start in enumerate(range(0, len(order), training.batch), 1):
        rows = order[start : start + training.batch]
        z = X[rows] @ v + b
        total += np.sum(w[rows] * training.loss.value(y[rows], z))
        g = w[rows] * np.clip(training.loss.gradient(y[rows], z), -STEEPEST, STEEPEST)
        eta = rate.scale / (rate.offset + t) ** rate.power
        shrink = max(0.0, 1 - eta * l2)
        v, paid, owed = shrink * v - eta * g @ X[rows] / len(rows), shrink * paid, shrink * owed + eta * l1
        eta0 = eta if damping == 1.0 else min(eta, damping * eta + 1 / (1 + t / 100))
        b -= eta0 * g.sum() / len(rows) if training.fit_intercept else 0.0
        kept += [(v, b)] if t >= training.averaged_from else []
        if l1:
            new = np.where(v > 0, np.maximum(0, v - (owed + paid)), np.minimum(0, v + (owed - paid)))
            new = np.where(v == 0, 0.0, new)
            v, paid = new, paid + new - v
        if pull:
            v = flow(v, eta * pull, p)
    mean = (np.mean([k[0] for k in kept], axis=0), np.mean([k[1] for k in kept])) if kept else (v, b)
    return v, b, mean, total


def flow(v, time, p):
    """Where the gradient flow of |v|^p/p has led after some time."""
    out = np.zeros_like(v)
    on = v != 0
    rest = np.abs(v[on]) ** (2 - p) - (2 - p) * time
    out[on] = np.sign(v[on]) * np.where(rest > 0, np.maximum(rest, 1e-300) ** (1 / (2 - p)), 0.0)
    return out


def problem(seed, n, p, density=0.6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < density)
    return X, (rng.random(n) < 0.5).astype(float), rng.integers(0, 4, size=n).astype(float)


def targets(y, loss):
    return y if loss.classes == (0.0, 1.0) else 2 * y - 1


def swept(X, y, w, training, seed=0):
    weights = Weights.zeros(np.array([-1]), X.shape[1], training)
    sums = sweep_block(loop_rows(Block(X, y, w)), weights, training, np.arange(1), np.random.default_rng(seed))
    return weights, sums[0]


def assert_twin(weights, total, expected, rtol=1e-9):
    v, b, (mean, mean_b), sums = expected
    np.testing.assert_allclose(weights.V[0], v, rtol=rtol, atol=1e-11)
    np.testing.assert_allclose(weights.S[0, BIAS], b, rtol=rtol, atol=1e-11)
    np.testing.assert_allclose(weights.table()[0], [*mean, mean_b], rtol=rtol, atol=1e-11)
    np.testing.assert_allclose(total, sums, rtol=rtol, atol=1e-11)


@given(
    seed=st.integers(0, 100), n=st.integers(1, 40), p=st.integers(1, 9), loss=st.sampled_from(LOSSES),
    penalty=st.sampled_from(PENALTIES), rate=st.sampled_from(RATES), batch=st.sampled_from([1, 3, 64]),
    intercept=st.booleans(), average=st.sampled_from([math.inf, 1.0, 5.0]), weighted=st.booleans(),
)  # fmt: skip
def test_dense_rows_equal_the_twin(seed, n, p, loss, penalty, rate, batch, intercept, average, weighted):
    X, y, w = problem(seed, n, p)
    y, w = targets(y, loss), w if weighted else np.ones(n)
    training = Training(
        loss=loss,
        penalty=penalty,
        rate=rate,
        fit_intercept=intercept,
        batch=batch,
        averaged_from=average,
        shuffle=False,
    )
    weights, total = swept(X, y, w if weighted else None, training)
    assert_twin(weights, total, twin(X, y, w, np.flatnonzero(w > 0), training), rtol=1e-7)


@given(
    seed=st.integers(0, 100), n=st.integers(1, 40), p=st.integers(1, 9), penalty=st.sampled_from(PENALTIES),
    batch=st.sampled_from([1, 3]), average=st.booleans(), wide=st.booleans(), single=st.booleans(),
)  # fmt: skip
def test_sparse_rows_equal_the_twin(seed, n, p, penalty, batch, average, wide, single):
    """Weights that no row reads are brought up to date late, and end where the twin has them."""
    X, y, _ = problem(seed, n, p, density=0.3)
    loss = losses.Logistic()
    lasting = penalty is None or isinstance(penalty, L2)  # only then are idle weights exact in every single step
    training = Training(
        loss=loss,
        penalty=penalty,
        rate=Rate(0.3),
        fit_intercept=True,
        batch=batch,
        averaged_from=1.0 if average and lasting else math.inf,
        shuffle=False,
    )
    S = sp.csr_array(X.astype(np.float32) if single else X)
    if wide:
        S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    weights, total = swept(S, y, None, training)
    assert_twin(weights, total, twin(S.toarray().astype(float), y, np.ones(n), np.arange(n), training), rtol=1e-7)


@given(
    seed=st.integers(0, 20), rate=st.sampled_from([Rate(0.01), Rate(30.0, 2.0, 1.0)]), batch=st.sampled_from([1, 3]),
    intercept=st.booleans(),
)  # fmt: skip
def test_nearly_empty_rows_slow_the_intercept_down(seed, rate, batch, intercept):
    X, y, _ = problem(seed, 300, 60, density=0.05)
    training = Training(
        loss=losses.Logistic(), penalty=L2(0.01), rate=rate, fit_intercept=intercept, batch=batch, shuffle=False
    )
    weights, total = swept(sp.csr_array(X), y, None, training)
    expected = twin(X, y, np.ones(300), np.arange(300), training, damping=0.01)
    assert_twin(weights, total, expected, rtol=1e-7)
    plain = swept(X, y, None, training)[0]
    assert (plain.S[0, BIAS] != weights.S[0, BIAS]) == (intercept and rate.scale > 1)


def test_shrinking_to_nothing_and_long_runs():
    """A rate of 1/λ puts all weights to 0; thousands of steps shrink the scale far below what it is reset at."""
    X, y, _ = problem(0, 3000, 4)
    for rate, penalty in [(Rate(1.0), L2(1.0)), (Rate(0.5), L2(0.5)), (Rate(0.5), ElasticNet(0.5, 0.2))]:
        training = Training(losses.Logistic(), penalty, rate, averaged_from=1.0, shuffle=False)
        weights, total = swept(X, y, None, training)
        assert_twin(weights, total, twin(X, y, np.ones(len(y)), np.arange(len(y)), training))


def test_loops_take_few_variants_of_one_array():
    """Fortran order, strides, read-only and swapped bytes are all the same to the compiled loop."""
    X, y, _ = problem(0, 50, 6)
    training = Training(losses.Hinge(), None, Rate(0.1), shuffle=False)
    expected = swept(X, 2 * y - 1, None, training)[0].V
    wide = np.zeros((100, 12))
    wide[::2, ::2] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    for same in (np.asfortranarray(X), wide[::2, ::2], frozen, X.astype(">f8")):
        np.testing.assert_array_equal(swept(same, 2 * y - 1, None, training)[0].V, expected)


@pytest.mark.parametrize("p", [1.2, 1.5, 1.9, 2.5, 4.0])
def test_the_p_norm_pull_is_the_gradient_flow(p):
    plan = Training(losses.Hinge(), PNorm(0.7, p), Rate(1.0)).plan()
    for x in (-2.0, 0.4, 1.3):
        ode = solve_ivp(lambda t, v: -np.sign(v) * np.abs(v) ** (p - 1), (0, 0.3), [x], rtol=1e-10, atol=1e-12)
        once = settled(x, 0.0, 0.3, plan)
        assert once == pytest.approx((ode.y[0, -1], 0.3), rel=1e-7)
        half = settled(x, 0.0, 0.1, plan)
        assert settled(*half, 0.3, plan)[0] == pytest.approx(once[0], rel=1e-12)


def test_products_with_a_row():
    rng = np.random.default_rng(0)
    for n in range(12):
        X = rng.normal(size=(2, n)) * (rng.random((2, n)) < 0.7)
        S, v = sp.csr_array(X), rng.normal(size=n)
        design = Sparse(S.data, S.indices, S.indptr)
        for i in range(2):
            assert row_dot(Dense(X), i, v) == pytest.approx(X[i] @ v, abs=1e-14)
            assert scattered_dot(design, i, v) == pytest.approx(X[i] @ v, abs=1e-14)
            for rows in (Dense(X), design):
                moved = v.copy()
                add_row(rows, i, 0.5, moved)
                np.testing.assert_allclose(moved, v + 0.5 * X[i], atol=1e-15)


# ------------------------------------------------------------------------------------------------ order


@given(n=st.integers(1, 60), run=st.integers(1, 9), size=st.integers(1, 20), seed=st.integers(0, 9), some=st.booleans())
def test_pools_hold_every_row_once(n, run, size, seed, some):
    rng = np.random.default_rng(seed)
    kept = np.sort(rng.permutation(2 * n)[:n]) if some else np.zeros(0, np.int64)
    runs = rng.permutation(-(-n // run))
    words, cursor, pool = rng.integers(0, 1 << 32, n, dtype=np.uint32), np.zeros(3, np.int64), np.empty(size, np.int64)
    seen = []
    while count := next_rows(runs, run, kept, n, cursor, pool):
        before = sorted(pool[:count])
        mix(pool, count, words, cursor)
        assert sorted(pool[:count]) == before
        seen += list(pool[:count])
    assert sorted(seen) == (list(kept) if some else list(range(n)))


def test_shuffled_rows_are_uniform():
    """The mean place of each row over many shuffles, and no row that keeps its neighbours."""
    rng, n, places = np.random.default_rng(0), 12, []
    for _ in range(4000):
        cursor, pool = np.zeros(3, np.int64), np.empty(n, np.int64)
        next_rows(np.arange(1), n, np.zeros(0, np.int64), n, cursor, pool)
        mix(pool, n, rng.integers(0, 1 << 32, n, dtype=np.uint32), cursor)
        places.append(np.argsort(pool))
    places = np.asarray(places)
    frequency = np.stack([(places == k).mean(axis=0) for k in range(n)])
    assert np.abs(frequency - 1 / n).max() < 5 * math.sqrt(1 / n / 4000)


def test_many_rows_are_mixed_across_the_table(monkeypatch):
    """In a table that is sorted by class, neighbours in a pass come from far apart."""
    n = 40_000
    X, visited = np.arange(n, dtype=float)[:, None], []

    def record(rows, y, weights, kept, size, runs, run, words, pool, *rest):
        cursor, place = np.zeros(3, np.int64), np.empty(pool, np.int64)
        while count := next_rows(runs, run, kept, size, cursor, place):
            mix(place, count, words, cursor)
            visited.extend(place[:count])

    monkeypatch.setattr("didact.engines.stochastic.passes.sgd_sweep", record)
    monkeypatch.setattr("didact.engines.stochastic.passes.RUN_BYTES", 8 * 50)
    monkeypatch.setattr("didact.engines.stochastic.passes.POOL_BYTES", 8 * 800)
    swept(X, np.ones(n), None, Training(losses.HalfSquared(), None, Rate(0.1)))
    assert sorted(visited) == list(range(n))
    share = np.asarray(visited[: n // 800 * 800]).reshape(-1, 800) < n // 2
    assert np.abs(share.mean(axis=1) - 0.5).max() < 0.1
    assert np.abs(np.diff(visited) == 1).mean() < 0.01


def test_a_pass_cut_into_segments_is_the_same_pass(monkeypatch):
    X, y, _ = problem(3, 20_000, 3)
    training = Training(losses.Logistic(), L2(0.01), Rate(0.1), shuffle=False)
    whole, total = swept(X, y, None, training)
    monkeypatch.setattr("didact.engines.stochastic.passes.SEGMENT", 3 * 4000)
    cut, same = swept(X, y, None, training)
    np.testing.assert_allclose(cut.V, whole.V, rtol=1e-12)
    assert same == pytest.approx(total, rel=1e-12)
    shuffled = swept(X, y, None, training._replace(shuffle=True))[0]
    assert shuffled.S[0, TIME] == 20_001


# ------------------------------------------------------------------------------------------------ passes


def outputs_of(K, n_features, training):
    return Weights.zeros(np.arange(K), n_features, training)


def test_outputs_are_independent_of_each_other_and_of_threads(two_threads):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 4)), rng.integers(0, 5, 500).astype(float)
    training, found = Training(losses.Hinge(), L2(0.01), Rate(0.1)), []
    for threads in (1, 2):
        didact.set_threads(threads)
        weights = outputs_of(5, 4, training)
        sweep_block(loop_rows(Block(X, y)), weights, training, np.arange(5), np.random.default_rng(1))
        found.append(weights.V)
    np.testing.assert_array_equal(found[0], found[1])
    alone = Weights.zeros(np.array([3]), 4, training)
    sweep_block(loop_rows(Block(X, y)), alone, training, np.arange(1), np.random.default_rng(1))
    np.testing.assert_array_equal(alone.V[0], found[0][3])


@pytest.mark.parametrize("penalty", [None, L2(0.3), L1(0.05), ElasticNet(0.2, 0.5), PNorm(0.1, 1.5)])
def test_a_full_step_is_gradient_descent(penalty):
    """By hand: the mean gradient, shrinking for L2, the proximal step for the rest."""
    X, y, w = problem(0, 30, 3)
    training = Training(losses.Logistic(), penalty, Rate(0.7), batch=0, averaged_from=2.0)
    weights, v, b, kept = Weights.zeros(np.array([-1]), 3, training), np.zeros(3), 0.0, []
    advance = full(MemoryRows(X, y, w), training, w.sum())
    for step in range(4):
        g = w * (1 / (1 + np.exp(-(X @ v + b))) - y)
        v, b = v - 0.7 * X.T @ g / w.sum() - 0.7 * (training.strengths()[1] * v), b - 0.7 * g.sum() / w.sum()
        if isinstance(penalty, PNorm):
            v = penalty.prox(v, 0.7)
        elif training.strengths()[0]:
            v = L1(training.strengths()[0]).prox(v, 0.7)
        kept += [v] if step >= 1 else []
        advance(weights, np.arange(1), step + 1)
    np.testing.assert_allclose(weights.V[0], v, rtol=1e-12)
    np.testing.assert_allclose(weights.table()[0, :-1], np.mean(kept, axis=0), rtol=1e-12)
    assert weights.S[0, TIME] == 5
    assert weights.S[0, BIAS_SUM] != 0


def test_outputs_stop_one_by_one_and_rates_adapt():
    X, y, _ = problem(0, 60, 3, density=1.0)
    X[:, 0] += 4 * y  # class 1 is easy, and learnt without a mistake
    labels = np.where(y == 1, 1.0, np.where(X[:, 1] > X[:, 2] + 0.1 * X[:, 0], 0.0, 2.0))
    training = Training(losses.Perceptron(), None, Rate(1.0))
    weights = outputs_of(3, 3, training)
    advance = stochastic(row_blocks(MemoryRows(X, labels, None)), training, seed_sequence(0))
    calls = []

    def watch(weights, active, epoch):
        calls.append(list(active))
        return advance(weights, active, epoch)

    result = run_passes(watch, weights, training, Stopping(None, 5, 30), lambda *_: False)
    assert result.n_iter == len(calls)
    assert calls[0] == [0, 1, 2]
    assert len(calls[-1]) < 3
    adaptive = Training(losses.HalfSquared(), None, Rate(0.05, adaptive=True))
    advance = stochastic(row_blocks(MemoryRows(X, y, None)), adaptive, seed_sequence(0))
    result = run_passes(
        advance, Weights.zeros(np.array([-1]), 3, adaptive), adaptive, Stopping(1e-7, 2, 2000), lambda *_: False
    )
    assert result.converged
    best = np.linalg.lstsq(np.column_stack([X, np.ones(60)]), y, rcond=None)[0]
    np.testing.assert_allclose(result.x.V[0], best[:3], atol=5e-3)
    assert result.x.S[0, RATE] < 0.05 / 5**3


def test_divergence_is_a_status():
    X, y, _ = problem(0, 30, 3)
    training = Training(losses.HalfSquared(), None, Rate(1e5), shuffle=False)
    advance = stochastic(row_blocks(MemoryRows(1e200 * X, y, None)), training, seed_sequence(0))
    with np.errstate(all="ignore"):
        result = run_passes(
            advance, Weights.zeros(np.array([-1]), 3, training), training, Stopping(1e-3, 5, 9), lambda *_: False
        )
    assert result.status == "not finite"
