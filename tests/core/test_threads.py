"""The thread pool: order, nesting, errors, interrupts, forks, and the limits of BLAS and the environment."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import didact
from didact.core import threads
from didact.core.backend import small_product
from didact.core.estimator import Estimator
from didact.core.threads import (
    LONG,
    PIECES_AT_ONCE,
    parallel_map,
    parallel_rows,
    parallel_take,
    parallel_values,
    serial,
    set_threads,
    share_pieces,
    stable_order,
    thread_count,
)
from didact.core.threads.pool import WAKES, Pool


@pytest.fixture(autouse=True)
def four_threads(monkeypatch):
    """Four threads, whatever the machine or the environment of the test run allows."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "_machine_limit", lambda: 4)
    libraries, before = threads._blas(), blas_limits()  # a test may put others in their place
    for library in libraries:
        threads._Hold.set(library, 4)
    yield
    set_threads(None)
    for library, limit in zip(libraries, before):
        threads._Hold.set(library, limit)


def blas_limits():
    return [library.num_threads for library in threads._blas()]


def run(code, **environment):
    """The output of Python code in a process of its own."""
    env = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")} | environment
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_results_are_in_order_and_come_from_several_threads():
    barrier = threading.Barrier(4, timeout=10)

    def piece(i):
        if i < 4:
            barrier.wait()  # passes only if four pieces run at once
        return i, threading.current_thread().name

    results = parallel_map(piece, range(20))
    assert [i for i, _ in results] == list(range(20))
    names = {name for _, name in results}
    assert threading.current_thread().name in names, "the caller works along"
    assert sum(name.startswith("didact") for name in names) == 3
    assert parallel_map(str, iter([])) == []


class SleepyPool(Pool):
    """A pool whose threads come when the test calls them."""

    def __init__(self):
        super().__init__(threads._begin_thread)
        self.asked = []

    def send(self, work, most):
        self.asked.append(work)

    def come(self):
        """One of the threads that have been woken comes to help."""
        thread = threading.Thread(target=self.asked.pop(0).help)
        thread.start()
        return thread


def test_threads_wake_others_only_while_items_are_left(monkeypatch):
    """So the number of threads follows from the work: of a short round most are never woken."""
    pool = SleepyPool()
    monkeypatch.setattr(threads, "_pool", pool)
    didact.set_threads(16)
    for library in threads._blas():
        threads._Hold.set(library, 16)
    assert parallel_map(abs, range(100)) == list(range(100))
    assert len(pool.asked) == WAKES, "the caller has done it all before a thread came"
    pool.come().join()
    assert len(pool.asked) == WAKES - 1, "who comes late wakes nobody"

    pool.asked, going, stop, came = [], threading.Event(), threading.Event(), []

    def piece(i):
        going.set()
        assert stop.wait(10)

    def helpers():
        assert going.wait(10)
        while pool.asked:
            before = len(pool.asked)
            came.append(pool.come())
            for _ in range(1000):  # until it has woken others
                if len(pool.asked) > before or len(came) > 7:
                    break
                time.sleep(0.001)
        stop.set()

    beside = threading.Thread(target=helpers)
    beside.start()
    parallel_map(piece, range(100))
    beside.join()
    assert len(came) == 15, "a long round has all threads"


def test_no_thread_is_woken_when_all_pieces_are_taken(monkeypatch):
    pool, calls = SleepyPool(), []
    monkeypatch.setattr(threads, "_pool", pool)
    didact.set_threads(4)

    def loop(turn):
        calls.append(int(turn[0]))
        turn[0] += turn[1]

    share_pieces(2 * PIECES_AT_ONCE, loop)
    assert calls == [0, PIECES_AT_ONCE]
    assert len(pool.asked) == WAKES


def test_call_that_finds_all_threads_busy_works_alone():
    inside, go_on = threading.Barrier(5, timeout=10), threading.Event()
    busy = threading.Thread(target=lambda: parallel_map(lambda i: (inside.wait(), go_on.wait(10)), range(4)))
    busy.start()
    inside.wait()
    assert parallel_map(abs, [-1, -2, -3, -4]) == [1, 2, 3, 4]
    go_on.set()
    busy.join(10)
    assert parallel_map(abs, range(8)) == list(range(8))


def test_nested_map_runs_inline_and_does_not_deadlock():
    def outer(i):
        inner = parallel_map(lambda j: (10 * i + j, threading.get_ident()), range(8))
        assert {thread for _, thread in inner} == {threading.get_ident()}
        return [value for value, _ in inner]

    assert parallel_map(outer, range(8)) == [[10 * i + j for j in range(8)] for i in range(8)]


def test_error_is_raised_and_cancels_the_rest():
    started = []

    def piece(i):
        started.append(i)
        if i == 3:
            raise KeyError("third")
        time.sleep(0.01)
        return i

    with pytest.raises(KeyError, match="third"):
        parallel_map(piece, range(400))
    assert len(started) < 50
    count = len(started)
    time.sleep(0.05)
    assert len(started) == count, "nothing runs after the error has reached the caller"
    assert parallel_map(abs, [-1, -2, -3]) == [1, 2, 3]
    assert blas_limits() == [4] * len(blas_limits())


@pytest.mark.parametrize(("interrupted", "expected"), [(None, "0"), (2, "stop")])
def test_of_several_errors_the_one_is_raised_that_one_thread_would_meet(interrupted, expected):
    """All four pieces fail, the last one first; an interruption comes before any error."""
    barrier = threading.Barrier(4, timeout=10)

    def piece(i):
        barrier.wait()
        time.sleep(0.02 * (3 - i))
        raise KeyboardInterrupt("stop") if i == interrupted else ValueError(str(i))

    with pytest.raises((ValueError, KeyboardInterrupt)) as found:
        parallel_map(piece, range(4))
    assert str(found.value) == expected


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread")
def test_interrupt_cancels_the_rest(heeds_ctrl_c):
    started = []

    def piece(i):
        started.append(i)
        if i == 5:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.02)

    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        parallel_map(piece, range(1000))
    assert time.perf_counter() - begin < 2
    assert len(started) < 500
    assert blas_limits() == [4] * len(blas_limits())
    assert parallel_map(abs, [-1, -2]) == [1, 2]


def test_blas_has_one_thread_while_the_pool_works():
    inside = parallel_map(lambda _: blas_limits(), range(8))
    assert all(limits == [1] * len(limits) for limits in inside)
    assert blas_limits() == [4] * len(blas_limits())


def test_two_user_threads_restore_the_limit():
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()
    seen = {}

    def first():
        parallel_map(lambda i: first_in.set() or second_in.wait(10), range(2))
        seen["limits after the first left"] = blas_limits()
        first_out.set()

    def second():
        first_in.wait(10)
        seen["threads allowed while held"] = thread_count()
        parallel_map(lambda i: second_in.set() or first_out.wait(10), range(2))

    users = [threading.Thread(target=first), threading.Thread(target=second)]
    for user in users:
        user.start()
    for user in users:
        user.join(20)
    assert seen["threads allowed while held"] == 4
    assert seen["limits after the first left"] == [1] * len(blas_limits())
    assert blas_limits() == [4] * len(blas_limits())
    assert thread_count() == 4


def test_pool_may_be_resized_while_other_threads_use_it():
    errors = []

    def user():
        try:
            for _ in range(100):
                assert parallel_map(lambda i: i * i, range(6)) == [0, 1, 4, 9, 16, 25]
        except BaseException as error:
            errors.append(error)

    users = [threading.Thread(target=user) for _ in range(4)]
    for t in users:
        t.start()
    while any(t.is_alive() for t in users):
        for n in (1, 3, 2, 4):
            set_threads(n)
            time.sleep(0.0002)
    assert not errors
    assert blas_limits() == [4] * len(blas_limits())


def test_limits_of_threadpoolctl_are_respected():
    with threadpool_limits(limits=2, user_api="blas"):
        assert thread_count() == 2
        assert parallel_map(lambda _: thread_count(), range(4)) == [1] * 4
        assert blas_limits() == [2] * len(blas_limits())
    with threadpool_limits(limits=1, user_api="blas"):
        assert thread_count() == 1
    assert thread_count() == 4


def test_serial_runs_on_the_calling_thread():
    with serial():
        assert thread_count() == 1
        assert set(parallel_map(lambda _: threading.get_ident(), range(8))) == {threading.get_ident()}
    assert thread_count() == 4


def test_set_threads():
    didact.set_threads(3)
    assert thread_count() == 3
    didact.set_threads(1)
    assert parallel_map(lambda _: threading.get_ident(), range(3)) == [threading.get_ident()] * 3
    didact.set_threads(None)
    assert thread_count() == 4
    for wrong in (0, -1, 2.0, True, "2"):
        with pytest.raises(ValueError, match="whole number"):
            didact.set_threads(wrong)


@pytest.mark.parametrize(("value", "expected"), [("1", 1), ("3", 3), ("2,4", 2), ("", 4), ("many", 4), ("64", 4)])
def test_environment_is_respected(monkeypatch, value, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert thread_count() == expected


def test_environment_is_respected_in_a_new_process():
    assert run("from didact.core.threads import thread_count; print(thread_count())", OMP_NUM_THREADS="1") == "1"


def test_error_state_of_the_caller_holds_in_the_pieces():
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        parallel_map(lambda x: np.float64(1) / x, [np.float64(1), np.float64(0)])
    with np.errstate(divide="ignore"):
        assert parallel_map(lambda x: np.float64(1) / x, [np.float64(1), np.float64(0)]) == [1.0, np.inf]


def child(queue):
    queue.put((thread_count(), parallel_map(abs, [-1, -2, -3]), blas_limits()))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
def test_pool_works_in_a_forked_child():
    assert parallel_map(abs, range(8)) == list(range(8))
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()

    def fork_and_read(_):
        process = context.Process(target=child, args=(queue,))
        process.start()
        result = queue.get()
        process.join(20)
        return result

    assert fork_and_read(None) == (4, [1, 2, 3], [4] * len(blas_limits()))
    with threads._hold:  # a fork while another thread is inside the pool
        assert fork_and_read(None) == (4, [1, 2, 3], [4] * len(blas_limits()))


def test_one_thread_in_a_joblib_worker():
    with joblib.parallel_config("loky", n_jobs=2, inner_max_num_threads=2):
        assert joblib.Parallel()(joblib.delayed(thread_count)() for _ in range(2)) == [1, 1]


def test_one_thread_in_a_dask_worker(monkeypatch):
    distributed = pytest.importorskip("distributed")
    assert thread_count() == 4, "the library alone changes nothing"
    with (
        distributed.LocalCluster(1, processes=False, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert client.submit(thread_count).result() == 1
        assert thread_count() == 4


def test_import_does_not_load_distributed():
    code = (
        "import sys; from didact.core.threads import thread_count; thread_count(); print('distributed' in sys.modules)"
    )
    assert run(code) == "False"


def test_limits_that_belong_to_a_thread_are_set_in_the_pool(monkeypatch):
    calls = []

    class MKL:
        internal_api = "mkl"
        num_threads = 2

        def set_num_threads(self, n):
            calls.append((threading.current_thread().name, n))

    library = MKL()
    monkeypatch.setattr(threads, "_blas", lambda: [library])
    monkeypatch.setattr(threads, "_pool", Pool(threads._begin_thread))
    parallel_map(lambda _: time.sleep(0.01), range(4))
    here = threading.current_thread().name
    assert {n for name, n in calls if name != here} == {1}
    assert [n for name, n in calls if name == here] == [1, 2], "the caller has its own limit back"


def test_one_thread_is_one_for_blas_too():
    set_threads(1)
    assert parallel_map(lambda _: blas_limits(), range(2)) == 2 * [[1] * len(blas_limits())]
    assert blas_limits() == [4] * len(blas_limits())


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("pieces", [1, 3, 100])
def test_pieces_are_shared_out_once_each_in_few_calls(threads, pieces):
    calls, taken, lock = [], [], threading.Lock()

    def loop(turn):  # as a compiled loop does it, with an atomic add in place of the lock
        calls.append(None)
        for _ in range(turn[1]):
            with lock:
                piece = int(turn[0])
                turn[0] += 1
            if piece >= pieces:
                return
            taken.append(piece)

    set_threads(threads)
    try:
        share_pieces(pieces, loop)
    finally:
        set_threads(None)
    assert sorted(taken) == list(range(pieces))
    assert len(calls) < threads + -(-pieces // PIECES_AT_ONCE)


def test_values_in_parts():
    x = np.linspace(0.0, 1.0, 3 * LONG + 7)
    np.testing.assert_array_equal(parallel_values(np.exp, x), np.exp(x))
    np.testing.assert_array_equal(parallel_values(np.exp, x[:5]), np.exp(x[:5]))


def test_rows_and_places_in_parts():
    rng = np.random.default_rng(0)
    X, index = rng.standard_normal((3 * LONG // 4, 4)), rng.integers(0, 100, 3 * LONG)
    np.testing.assert_array_equal(parallel_rows(lambda rows: 2 * rows[:, :3], X, 3, np.float64), 2 * X[:, :3])
    assert parallel_rows(lambda rows: rows[:, :1], X[:0], 1, np.float32).shape == (0, 1)
    np.testing.assert_array_equal(parallel_take(X[:100, 0], index), X[index, 0])
    np.testing.assert_array_equal(parallel_take(X[:100, 0], index[:5]), X[index[:5], 0])


@pytest.mark.parametrize("kind", ["numbers", "ties", "one number", "sorted", "specials"])
def test_stable_order_is_that_of_a_stable_sort(kind):
    rng, n = np.random.default_rng(0), 5 * LONG
    x = {
        "numbers": rng.normal(size=n),
        "ties": rng.integers(0, 7, n).astype(float),
        "one number": np.ones(n),
        "sorted": np.arange(float(n)),
        "specials": rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], n),
    }[kind]
    for number in (1, 3, 16):
        set_threads(number)
        np.testing.assert_array_equal(stable_order(x), np.argsort(x, kind="stable"))


def test_one_piece_is_worked_off_by_the_caller():
    seen = []
    share_pieces(1, lambda turn: seen.append((threading.get_ident(), *turn)))
    assert seen == [(threading.get_ident(), 0, PIECES_AT_ONCE)]


def longest_silence(work):
    """The longest time for which work kept another thread from running, as a share of its own."""
    ready, ended = threading.Event(), []

    def go():
        ready.wait()
        time.sleep(0.003)
        begin = time.perf_counter()
        work()
        ended.append(time.perf_counter() - begin)

    thread = threading.Thread(target=go)
    thread.start()
    ready.set()
    longest, last = 0.0, time.perf_counter()
    while not ended:
        time.sleep(0.0003)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    thread.join()
    return longest / ended[0]


@pytest.mark.parametrize("columns", [None, 3])
def test_a_product_of_few_numbers_lets_other_threads_work(columns):
    """NumPy's own operator keeps the interpreter lock all the time where the result has fewer than 500 numbers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000_000, 8))
    v = X[:, 0].copy() if columns is None else X[:, :columns].copy()
    np.testing.assert_allclose(small_product(X.T, v), X.T @ v)
    with threads._hold:  # the best of several, as other programs may be at work
        assert min(longest_silence(lambda: small_product(X.T, v)) for _ in range(10)) < 0.5


class Watching(Estimator):
    """An estimator that looks at the limits of BLAS while it is fitted."""

    def fit(self, X, y=None):
        self.limits_, self.threads_ = blas_limits(), thread_count()
        return self


def test_a_small_fit_has_one_thread_of_blas_and_a_large_one_all():
    before = blas_limits()
    small, tall, wide = (Watching().fit(np.zeros(shape)) for shape in ((150, 4), (501, 4), (20, 501)))
    assert set(small.limits_) == {1}
    assert tall.limits_ == wide.limits_ == before
    assert small.threads_ == tall.threads_ == thread_count()  # BLAS's limit here is not the library's own
    assert blas_limits() == before


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["SGDClassifier", "Perceptron"])
def test_passes_over_few_rows_stay_on_the_calling_thread(name, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 4)), np.arange(90) % 3
    model = getattr(didact.linear_model, name)(random_state=0, tol=None, max_iter=3)
    together = model.fit(X, y).coef_
    monkeypatch.setattr(Pool, "send", lambda *args: pytest.fail("work was handed to a thread"))
    assert np.array_equal(model.fit(X, y).coef_, together)
