"""What callbacks hear of machines with several classes or targets, time limits, and how an interruption ends them."""

import threading
import time

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning

from didact.core import threads
from didact.core.progress import FitProgress
from didact.core.threads import parallel_map
from didact.core.threads.pool import refuse_abandoned
from didact.engines.gram.smo import Dual, Search, solve_dual
from didact.svm import SVC, SVR, LinearSVC, LinearSVR

X, Y = load_iris(return_X_y=True)
ROWS, NUMBERS = load_diabetes(return_X_y=True)
BOTH = np.column_stack([NUMBERS, -NUMBERS])


class Listener:
    """Keeps the iterations, and what the model of each says of some rows; stops after one of them."""

    def __init__(self, rows=None, stop_at=None):
        self.rows, self.stop_at, self.heard, self.said = rows, stop_at, [], []

    def setup(self, estimator, context):
        """Nothing."""

    def teardown(self, estimator, context):
        """Nothing."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing."""

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if not hasattr(context, "iteration"):
            return False
        self.heard.append(context.iteration)
        if self.rows is not None:
            self.said.append(fitted_estimator.predict(self.rows))
        return context.iteration == self.stop_at


MACHINES = [
    (LinearSVC(loss="hinge"), X, Y),
    (LinearSVC(), X, Y),
    (LinearSVC(multi_class="crammer_singer"), X, Y),
    (LinearSVR(), ROWS, BOTH),
    (LinearSVR(loss="squared_epsilon_insensitive"), ROWS, BOTH),
]


@pytest.mark.parametrize(("model", "rows", "y"), MACHINES, ids=lambda v: str(v) if hasattr(v, "fit") else "")
def test_callbacks_hear_of_every_part_and_get_a_whole_model(model, rows, y):
    """The last model that they get is the one that is fitted; who listens changes nothing."""
    listener = Listener(rows)
    found = model.set_callbacks(listener).fit(rows, y)
    assert listener.heard == list(range(1, len(listener.heard) + 1))
    assert len(listener.heard) >= found.n_iter_
    np.testing.assert_array_equal(listener.said[-1], found.predict(rows))
    np.testing.assert_array_equal(found.coef_, model.set_callbacks().fit(rows, y).coef_)


@pytest.mark.parametrize(("model", "rows", "y"), MACHINES, ids=lambda v: str(v) if hasattr(v, "fit") else "")
def test_a_stop_ends_every_part(model, rows, y):
    listener = Listener(stop_at=2)
    found = model.set_callbacks(listener).fit(rows, y)
    model.set_callbacks()
    assert len(listener.heard) <= 2 + 2  # the parts that follow make one iteration each
    assert np.isfinite(found.coef_).all()


@pytest.mark.parametrize("model", [SVC(), SVC(strategy="ovr")], ids=str)
def test_callbacks_hear_of_pairs(model):
    listener = Listener()
    found = model.set_callbacks(listener).fit(X, Y)
    assert listener.heard == sorted(set(listener.heard))
    assert len(listener.heard) >= 3
    np.testing.assert_array_equal(found.dual_coef_, model.set_callbacks().fit(X, Y).dual_coef_)


@pytest.mark.parametrize(
    ("model", "rows", "y"),
    MACHINES[:-1]  # a square without a tube is a single Newton step
    + [(SVC(), X, Y), (SVC(approximation="nystroem", n_components=20), X, Y)]
    + [(SVR(), ROWS, BOTH), (SVR(approximation="random_features", n_components=20), ROWS, NUMBERS)],
    ids=lambda v: str(v) if hasattr(v, "fit") else "",
)
def test_a_time_limit_ends_with_a_warning(model, rows, y):
    limited = type(model)(**model.get_params() | {"time_limit": 1e-9, "tol": 1e-12})
    with pytest.warns(ConvergenceWarning, match=r"time.limit"):
        limited.fit(rows, y)
    assert np.isfinite(limited.predict(rows)).all()


def test_the_limit_is_one_for_all_parts():
    """A part that begins when the time is over ends at its first report."""
    with FitProgress(LinearSVC(), None, seconds=1e-9) as progress:
        assert progress.each(lambda item, report: report(1), range(3)) == [True] * 3
    assert progress.late


@pytest.fixture
def two_threads(monkeypatch):
    """Two threads, whatever the machine or the environment of the test run allows."""
    monkeypatch.setattr(threads, "thread_count", lambda: 1 if getattr(threads._state, "serial", False) else 2)


@pytest.mark.usefixtures("two_threads")
def test_an_error_beside_them_ends_pieces_that_would_go_on_for_ever():
    begun, end = threading.Event(), time.monotonic() + 20.0

    def piece(k, report):
        if k == 1:
            begun.wait(10)
            raise KeyboardInterrupt
        begun.set()
        while not report(1):
            assert time.monotonic() < end

    with pytest.raises(KeyboardInterrupt), FitProgress(LinearSVC(), None) as progress:
        progress.each(piece, range(2))
    refuse_abandoned()  # nothing is left over


@pytest.mark.usefixtures("two_threads")
def test_an_interruption_ends_the_dual_of_another_pair():
    """The kernel is asked once more, not for all the working sets that are left."""
    rows, y = make_classification(600, 10, flip_y=0.4, random_state=0)
    begun, over, calls = threading.Event(), threading.Event(), []
    dual = Dual(row=np.arange(600), sign=np.where(y > 0, 1.0, -1.0), linear=-np.ones(600), bound=np.full(600, 1e3),
                start=np.zeros(600))  # fmt: skip

    def kernel(A, B):
        calls.append(len(A))
        begun.set()
        over.wait(10)
        return np.exp(-0.1 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    def piece(k):
        if k == 0:
            return solve_dual(kernel, rows, dual, Search(tol=1e-6, cache_size=1.0))
        begun.wait(10)
        threading.Timer(0.2, over.set).start()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parallel_map(piece, range(2))
    interrupted = len(calls)
    piece(0)
    assert interrupted < len(calls) - interrupted
