"""Support vectors on working sets: optimal whatever the threads, the memory and the kind of kernel."""

import numpy as np
import pytest

from didact.core.threads import set_threads
from didact.engines.constrained.violation_loops import Variables, kth_least, take_worst
from didact.engines.gram import smo
from didact.engines.gram.rows import GivenGram
from didact.engines.gram.smo import Dual, Search, coefficients, solve_dual, violation
from didact.engines.gram.smo_loops import SEARCH_FIELDS, KeptRows, WorkingSet, place_rows
from didact.kernels import RBF, Polynomial

N = 1500
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4))
SIGN = np.where(X[:, 0] * X[:, 1] + 0.5 * RNG.normal(size=N) > 0, 1.0, -1.0)
KERNEL = RBF(1.2)


def classes(C=1.0):
    return Dual(row=np.arange(N), sign=SIGN, linear=-np.ones(N), bound=np.full(N, C), start=np.zeros(N))


def numbers(epsilon=0.1):
    y = np.sin(2 * X[:, 0]) + 0.1 * X[:, 1]
    row, sign = np.tile(np.arange(N), 2), np.repeat([1.0, -1.0], N)
    return Dual(row, sign, np.concatenate([epsilon - y, epsilon + y]), np.ones(2 * N), np.zeros(2 * N))


def residual(dual, alpha, kernel=KERNEL):
    """The violation of the optimality conditions, from the whole Gram matrix."""
    return violation(dual, alpha, kernel(X) @ coefficients(dual, alpha, N))[0]


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("tol", [1e-3, 1e-7])
@pytest.mark.parametrize("dual", [classes(), numbers()], ids=["classes", "numbers"])
def test_optimal_on_any_number_of_threads(dual, tol, threads):
    set_threads(threads)
    try:
        found = solve_dual(KERNEL, X, dual, Search(tol=tol))
    finally:
        set_threads(None)
    assert found.converged
    assert residual(dual, found.alpha) <= 1.01 * tol
    assert found.gap == pytest.approx(residual(dual, found.alpha), abs=1e-9)
    assert ((found.alpha >= 0) & (found.alpha <= dual.bound)).all()
    assert dual.sign @ found.alpha == pytest.approx(dual.sign @ dual.start, abs=1e-9)


@pytest.mark.parametrize(
    "kernel", [KERNEL, GivenGram(KERNEL(X)), lambda A, B: KERNEL.gram(A, B), Polynomial(2, 0.2, 1.0)],
    ids=["loop", "given", "function", "polynomial"],
)  # fmt: skip
@pytest.mark.parametrize("how", [{"cache_size": 0.01}, {"shrinking": False}, {}], ids=repr)
def test_kernels_and_memory_change_no_answer(kernel, how):
    """A cache of two working sets evicts rows; kernels without a loop are computed in Python."""
    found = solve_dual(kernel, kernel.K if isinstance(kernel, GivenGram) else X, classes(), Search(tol=1e-5, **how))
    same = kernel if isinstance(kernel, Polynomial) else KERNEL
    assert found.converged
    assert residual(classes(), found.alpha, same) <= 1.1e-5


@pytest.mark.parametrize("more", [np.zeros((N, 150)), np.ones((N, 1)) * np.arange(150)], ids=["zeros", "products"])
def test_many_columns_change_no_answer(more):
    """Zeros are left out; other columns go through products."""
    found, narrow = (solve_dual(KERNEL, Z, classes(), Search(tol=1e-6)) for Z in (np.hstack([X, more]), X))
    np.testing.assert_allclose(found.u - found.rho, narrow.u - narrow.rho, atol=1e-4)


def test_indicators_of_categories():
    """A working set that is a part of rows with many zeros, in both precisions and on several threads."""
    Z = np.hstack([X[:, :1], np.eye(40)[RNG.integers(0, 40, N)], np.eye(9)[RNG.integers(0, 9, N)]])
    for tol, threads in ((1e-3, 1), (1e-7, 4)):
        set_threads(threads)
        try:
            found = solve_dual(KERNEL, Z, classes(), Search(tol=tol))
        finally:
            set_threads(None)
        assert found.converged
        K = KERNEL(Z)
        assert violation(classes(), found.alpha, K @ coefficients(classes(), found.alpha, N))[0] <= 1.01 * tol


def test_threads_stay_in_compiled_code(monkeypatch):
    """They come back for eight working sets at most, and not for each of their steps."""
    compiled, calls, rounds = smo.work_off, [], []
    monkeypatch.setattr(smo, "work_off", lambda *args: (calls.append(None), compiled(*args))[1])
    monkeypatch.setattr(smo, "LOOK_SECONDS", 1e9)
    set_threads(3)
    try:
        solve_dual(KERNEL, X, numbers(), Search(), lambda k, gap, model: rounds.append(k))
    finally:
        set_threads(None)
    assert rounds[-1] >= 5
    assert len(calls) <= 3 * (rounds[-1] / smo.SHRINK_EVERY + 4)


def test_limits_end_honestly():
    found = solve_dual(KERNEL, X, classes(), Search(max_iter=7))
    assert found.status == "iteration limit"
    assert found.n_iter == 7
    assert not found.converged
    assert found.gap == pytest.approx(residual(classes(), found.alpha), abs=1e-9)
    assert solve_dual(KERNEL, X, classes(), Search(deadline=0.0)).status == "time limit"
    assert solve_dual(KERNEL, X, classes(), Search(), lambda *args: True).status == "stopped"


@pytest.mark.parametrize("values", [[3.0], [2.0, 1.0], [1.0, 1.0, 0.0, 1.0], list(RNG.integers(0, 9, 101) * 1.0)])
def test_selection_equals_sorting(values):
    for k in range(len(values)):
        assert kth_least(np.array(values), len(values), k) == sorted(values)[k]


@pytest.mark.parametrize("m", [600, 5000])
@pytest.mark.parametrize("number", [1, 40, 200])
@pytest.mark.parametrize("kind", ["distinct", "ties", "few", "sorted"])
def test_the_worst_are_taken(m, number, kind):
    """Whatever a sample says of the keys; ties go to the first."""
    rng = np.random.default_rng(m + number)
    f = {"ties": rng.integers(0, 5, m) * 1.0, "sorted": np.arange(m) * 1.0}.get(kind, rng.normal(size=m))
    if kind == "few":
        f[rng.random(m) < 1 - 50 / m] = np.inf
    keys, empty = np.stack([f, -f]), np.zeros(m)
    v = Variables(empty.astype(int), *(empty,) * 5, keys, np.zeros(m, int), np.zeros(m), empty)
    chosen = np.zeros(512, int)
    size = take_worst(v, 0, number, chosen, 3, np.zeros(512))
    order = np.argsort(f, kind="stable")[:number]
    expected = order[np.isfinite(f[order])]
    assert sorted(chosen[3:size]) == sorted(expected)
    assert np.isinf(keys[1, expected]).all()


def test_slots_are_opened_for_rows_that_come_back():
    four, square = [np.zeros(2, int) for _ in range(4)], np.zeros((2, 2))
    kept = KeptRows(np.zeros((4, 9)), np.full(4, -1), np.full(9, -1), np.zeros(4, np.int8), *(np.zeros((0, 0)),) * 3)
    chosen = WorkingSet(*four, *(np.zeros(2),) * 4, square, square, square, np.zeros(2, int), np.zeros(2))
    now = np.zeros(1, SEARCH_FIELDS)
    now["size"], now["open"] = 2, 2
    used = []
    for rows in ((0, 1), (2, 3), (2, 1), (0, 2)):
        chosen.rows[:] = rows
        place_rows(now, chosen, kept)
        used.append((int(now["missing"][0]), int(now["open"][0])))
        assert [kept.row_of[slot] for slot in chosen.slots] == list(rows)
    assert used == [(2, 2), (2, 2), (1, 3), (1, 4)]


def test_a_violation_that_stays_while_the_objective_falls_is_no_rounding(monkeypatch):
    """Many more rows than a working set holds: the worst of them violates as much for hundreds of sets."""
    monkeypatch.setattr(smo, "WORKING_SET", 16)
    few = np.where(np.random.default_rng(1).random(N) < 0.24, 1.0, -1.0)
    dual = classes()._replace(sign=few)
    found = solve_dual(RBF(2.0), X, dual, Search())
    assert found.converged
    assert residual(dual, found.alpha, RBF(2.0)) <= 1e-3
