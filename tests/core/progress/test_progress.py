"""Progress of iterative fits: hooks, early stopping, the plain log, and scikit-learn's own callbacks."""

import copy
import io
import pickle
import re
import threading
import timeit

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.callback import CallbackSupportMixin, ProgressBar, ScoringMonitor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import validate_data

from didact import EarlyStopping, ProgressLog
from didact.core.errors import InputError, ParameterError
from didact.core.progress import FitProgress
from didact.core.progress import log as progress_log
from didact.linear_model import LogisticRegression


class Descent(CallbackSupportMixin, RegressorMixin, BaseEstimator):
    """Least squares by gradient descent: the smallest model that iterates."""

    def __init__(self, max_iter=40, rate=0.1, fail_at=None):
        self.max_iter = max_iter
        self.rate = rate
        self.fail_at = fail_at

    def fit(self, X, y, sample_weight=None):
        data = {"X": X, "y": y, "sample_weight": sample_weight}
        X, y = validate_data(self, X, y, y_numeric=True)
        w = np.ones(len(y)) if sample_weight is None else sample_weight
        with FitProgress(self, self.max_iter, **data, attributes=lambda x: {"coef_": x.copy()}) as progress:
            x = np.zeros(X.shape[1])
            for iteration in range(1, self.max_iter + 1):
                x = x - self.rate * X.T @ (w * (X @ x - y)) / w.sum()
                if iteration == self.fail_at:
                    raise FloatingPointError("on purpose")
                if progress.report(iteration, 0.5 * float(np.average((X @ x - y) ** 2, weights=w)), x):
                    break
        self.coef_, self.n_iter_, self.stopped_ = x, iteration, progress.stopped
        return self

    def predict(self, X):
        return validate_data(self, X, reset=False) @ self.coef_


class Recorder:
    """Keeps what its hooks are called with."""

    def __init__(self, stop_at=None):
        self.calls, self.stop_at = [], stop_at

    def setup(self, estimator, context):
        self.calls.append(("setup", None))

    def teardown(self, estimator, context):
        self.calls.append(("teardown", None))

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(("begin", getattr(context, "iteration", None)))

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.calls.append(("end", getattr(context, "iteration", None)))
        self.last = {"X": X, "y": y, "metadata": metadata, "model": fitted_estimator, "task": context.task_name}
        return getattr(context, "iteration", None) == self.stop_at is not None


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    return X, X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=80)


# ------------------------------------------------------------------------------------------------ hooks


def test_hooks_fire_once_per_iteration(problem):
    recorder = Recorder()
    model = Descent(max_iter=4).set_callbacks(recorder).fit(*problem)
    pairs = [(hook, i) for i in range(1, 5) for hook in ("begin", "end")]
    assert recorder.calls == [("setup", None), ("begin", None), *pairs, ("end", None), ("teardown", None)]
    assert recorder.last["task"] == "fit"
    np.testing.assert_array_equal(recorder.last["model"].predict(problem[0]), model.predict(problem[0]))
    assert not {"_callback_fit_ctx", "_skl_callbacks_to_teardown"} & set(vars(model))


def test_a_step_begins_with_the_model_that_the_last_one_left(problem):
    class Pairs:
        def __init__(self):
            self.begun, self.ended = [], []

        def setup(self, estimator, context):
            pass

        teardown = setup

        def on_fit_task_begin(self, estimator, context, *, fitted_estimator):
            if context.task_name == "iteration":
                self.begun.append(fitted_estimator)

        def on_fit_task_end(self, estimator, context, *, fitted_estimator):
            if context.task_name == "iteration":
                self.ended.append(fitted_estimator)

    pairs = Pairs()
    for model, rows in ((Descent(max_iter=4), problem), (LogisticRegression(), (problem[0], problem[1] > 0))):
        pairs.begun, pairs.ended = [], []
        model.set_callbacks(pairs).fit(*rows)
        assert pairs.begun[0] is None
        assert len(pairs.begun) > 2
        for before, after in zip(pairs.begun[1:], pairs.ended[:-1], strict=True):
            np.testing.assert_array_equal(before.coef_, after.coef_)
            before.predict(problem[0])


def test_hooks_get_the_data_of_the_user(problem):
    X, y = problem
    recorder, w = Recorder(), np.arange(80.0)
    Descent(max_iter=2).set_callbacks(recorder).fit(X, y, sample_weight=w)
    assert recorder.last["X"] is X
    assert recorder.last["y"] is y
    assert recorder.last["metadata"]["sample_weight"] is w


def test_callbacks_do_not_change_the_result(problem):
    plain = Descent().fit(*problem)
    watched = Descent().set_callbacks(Recorder(), ProgressLog(io.StringIO(), every=0)).fit(*problem)
    np.testing.assert_array_equal(watched.coef_, plain.coef_)


def test_a_hook_stops_the_fit(problem):
    model = Descent().set_callbacks(Recorder(stop_at=7)).fit(*problem)
    assert model.n_iter_ == 7
    assert model.stopped_
    assert not Descent().fit(*problem).stopped_


def test_teardown_comes_after_an_error(problem):
    recorder = Recorder()
    model = Descent(fail_at=3).set_callbacks(recorder)
    with pytest.raises(FloatingPointError, match="on purpose"):
        model.fit(*problem)
    assert recorder.calls[-2:] == [("end", 2), ("teardown", None)]
    assert model.set_params(fail_at=None).fit(*problem).n_iter_ == 40


def test_teardown_comes_after_an_error_in_a_hook(problem):
    class Broken(Recorder):
        def on_fit_task_begin(self, estimator, context):
            super().on_fit_task_begin(estimator, context)
            raise RuntimeError("broken hook")

    recorder = Broken()
    with pytest.raises(RuntimeError, match="broken hook"):
        Descent().set_callbacks(recorder).fit(*problem)
    assert recorder.calls == [("setup", None), ("begin", None), ("teardown", None)]


def test_a_fit_without_iterations_and_one_with_more_than_it_said():
    class Other(CallbackSupportMixin, BaseEstimator):
        def fit(self, X, y=None, reports=0, max_iter=0):
            with FitProgress(self, max_iter) as progress:
                for i in range(reports):
                    progress.report(i + 1, 0.0)
            return self

    for reports, max_iter in [(0, 0), (0, 5), (7, 5), (3, None), (2, 0)]:
        recorder = Recorder()
        Other().set_callbacks(recorder).fit(None, reports=reports, max_iter=max_iter)
        assert len(recorder.calls) == 4 + 2 * reports
        assert recorder.last["model"] is None, "no attributes were handed in"


def test_data_that_can_be_called_are_handed_over_as_they_are():
    class Source:
        def __call__(self):
            raise AssertionError("the data were called")

    class Other(CallbackSupportMixin, BaseEstimator):
        def fit(self, X, y=None):
            with FitProgress(self, 1, X=X) as progress:
                progress.report(1)
            return self

    recorder, source = Recorder(), Source()
    Other().set_callbacks(recorder).fit(source)
    assert recorder.last["X"] is source


def test_a_report_without_callbacks_costs_next_to_nothing():
    with FitProgress(Descent(), 10) as progress:
        x = np.zeros(3)
        best = min(timeit.repeat(lambda: progress.report(1, 0.5, x), number=1000, repeat=20)) / 1000
    assert best < 2e-6


# ------------------------------------------------------------------------------------------------ early stopping


def test_early_stopping_on_the_objective(problem):
    X, y = problem
    values = []

    class Values(Recorder):
        def on_fit_task_end(self, estimator, context):
            values.append(getattr(context, "value", None))

    Descent(max_iter=200).set_callbacks(Values()).fit(X, y)
    values.pop()  # the fit as a whole
    drops = -np.diff(values, prepend=np.inf)
    # Descent is monotone here, so the best is always the last that counted as an improvement.
    best, since, expected = np.inf, 0, None
    for i, value in enumerate(values, 1):
        best, since = (value, 0) if value < best - 1e-3 else (best, since + 1)
        if since == 3:
            expected = i
            break
    assert drops.min() >= 0
    model = Descent(max_iter=200).set_callbacks(EarlyStopping(patience=3, min_delta=1e-3)).fit(X, y)
    assert model.n_iter_ == expected < 200


def test_early_stopping_waits_while_there_is_improvement(problem):
    assert Descent(max_iter=30).set_callbacks(EarlyStopping(patience=1)).fit(*problem).n_iter_ == 30


def test_early_stopping_counts_nan_as_no_improvement(problem):
    with np.errstate(all="ignore"):
        model = Descent(max_iter=3000, rate=1e3).set_callbacks(EarlyStopping(patience=4)).fit(*problem)
    assert model.n_iter_ == 5


def test_early_stopping_needs_rows_to_judge_by(problem):
    X, y = problem
    for empty in (X[:0], []):
        with pytest.raises(InputError, match="validation set is empty"):
            EarlyStopping("r2", data=(empty, y[:0]))


def test_early_stopping_on_held_out_data_and_on_a_named_score(problem):
    X, y = problem
    calls = []

    def score(model, X, y):
        calls.append(len(X))
        return -abs(model.coef_[0] - 0.5)  # best where the first coefficient passes 1/2

    stop = EarlyStopping(score, patience=2, data=(X[:10], y[:10]))
    model = Descent(max_iter=200).set_callbacks(stop).fit(X, y)
    assert set(calls) == {10}
    assert model.coef_[0] > 0.5
    assert model.n_iter_ == len(calls) < 20
    path = [Descent(max_iter=k).fit(X, y).coef_[0] for k in range(1, model.n_iter_ + 1)]
    assert np.argmin(np.abs(np.array(path) - 0.5)) == model.n_iter_ - 3

    model = Descent(max_iter=500).set_callbacks(EarlyStopping("r2", patience=2, min_delta=1e-4)).fit(X, y)
    assert 10 < model.n_iter_ < 200
    assert model.score(X, y) > 0.99
    cost = EarlyStopping(lambda m, X, y: np.mean((m.predict(X) - y) ** 2), mode="min", patience=2, min_delta=1e-2)
    assert Descent(max_iter=500).set_callbacks(cost).fit(X, y).n_iter_ < model.n_iter_


def test_one_early_stopping_serves_several_fits_at_once(problem):
    X, y = problem
    stop = EarlyStopping(patience=2, min_delta=1e-3)
    rates = [0.05, 0.1, 0.2, 0.4]
    alone = [Descent(500, r).set_callbacks(EarlyStopping(patience=2, min_delta=1e-3)).fit(X, y).n_iter_ for r in rates]
    models = [Descent(500, r).set_callbacks(stop) for r in rates]
    threads = [threading.Thread(target=m.fit, args=(X, y)) for m in models]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert [m.n_iter_ for m in models] == alone
    assert len(set(alone)) == 4
    assert [m.fit(X, y).n_iter_ for m in models] == alone, "a second fit starts afresh"


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_early_stopping_inside_a_search_and_a_pipeline(problem, n_jobs):
    X, y = problem
    stop = EarlyStopping(patience=2, min_delta=1e-3)
    pipeline = make_pipeline(StandardScaler(), Descent(500).set_callbacks(stop))
    search = GridSearchCV(pipeline, {"descent__rate": [0.1, 0.2]}, cv=2, n_jobs=n_jobs).fit(X, y)
    assert search.best_estimator_[-1].n_iter_ < 100
    assert search.best_score_ > 0.9


@pytest.mark.parametrize("wrap", [lambda m: make_pipeline(m), lambda m: GridSearchCV(m, {"rate": [0.1]}, cv=2)])
def test_early_stopping_refuses_a_place_where_it_stops_nothing(problem, wrap):
    with pytest.raises(ParameterError, match="set it on the model inside"):
        wrap(Descent()).set_callbacks(EarlyStopping()).fit(*problem)


def test_early_stopping_refuses_nonsense():
    for wrong in (
        {"monitor": 3},
        {"patience": 0},
        {"patience": 2.5},
        {"patience": True},
        {"min_delta": -1.0},
        {"min_delta": np.nan},
        {"mode": "best"},
        {"data": ([[0]], [0])},
    ):
        with pytest.raises(ParameterError, match=next(iter(wrong)).replace("data", "monitor a score")):
            EarlyStopping(**wrong)
    with pytest.raises(ValueError, match="no_such_score"):
        EarlyStopping("no_such_score")


def test_callbacks_can_be_pickled_and_copied(problem):
    for callback in (EarlyStopping("r2", patience=3), ProgressLog(io.StringIO())):
        Descent(3).set_callbacks(callback).fit(*problem)
        for again in (pickle.loads(pickle.dumps(callback)), copy.deepcopy(callback)):
            assert repr(again) == repr(callback)
            Descent(3).set_callbacks(again).fit(*problem)


# ------------------------------------------------------------------------------------------------ the plain log


def test_log_prints_iterations_values_and_the_time_left(problem):
    out = io.StringIO()
    Descent(max_iter=5).set_callbacks(ProgressLog(out, every=0)).fit(*problem)
    lines = out.getvalue().splitlines()
    assert len(lines) == 6
    for i, line in enumerate(lines[:-1], 1):
        assert re.fullmatch(rf"Descent: iteration {i} of 5, value \d+\.\d+, \d\.\d s, at most \d\.\d s left", line)
    assert re.fullmatch(r"Descent: done in \d\.\d s, iteration 5, value \d+\.\d+", lines[-1])


def test_log_estimates_the_time_left():
    message = {"who": "Model", "iteration": 20, "value": 1.5, "total": 100}
    assert (
        progress_log._line(message, 20, 30.0)
        == "Model: iteration 20 of 100, value 1.5, 30.0 s, at most 2 min 00 s left"
    )
    message |= {"iteration": None, "value": None, "total": None}
    assert progress_log._line(message, 3, 4000.0) == "Model: task 3, 1 h 06 min"
    assert progress_log._line(message | {"total": 2}, 3, 3.0).endswith("about 0.0 s left")


def test_log_is_quiet_between_its_lines(problem):
    out = io.StringIO()
    Descent(max_iter=50).set_callbacks(ProgressLog(out, every=60)).fit(*problem)
    assert out.getvalue().count("\n") == 1
    with pytest.raises(ParameterError, match="every"):
        ProgressLog(every=-1)


def test_log_goes_to_the_error_stream(problem, capsys):
    Descent(max_iter=2).set_callbacks(ProgressLog()).fit(*problem)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("Descent: done in")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_log_of_a_search_also_from_other_processes(problem, n_jobs):
    out = io.StringIO()
    pipeline = Pipeline([("scale", StandardScaler()), ("model", Descent(4))])
    search = GridSearchCV(pipeline, {"model__rate": [0.1, 0.2]}, cv=2, n_jobs=n_jobs)
    log = ProgressLog(out, every=0)
    search.set_callbacks(log).fit(*problem)
    text = out.getvalue()
    assert text.count("Descent: iteration 4 of 4, value ") == 2 * 2 + 1
    assert "GridSearchCV search: task 4 of 4" in text
    assert text.splitlines()[-1].startswith("GridSearchCV: done in")
    assert not log._handles
    assert not log._heard


# ------------------------------------------------------------------------------------------------ scikit-learn's own


def test_scoring_monitor_collects(problem):
    X, y = problem
    monitor = ScoringMonitor(scoring="r2")
    Descent(max_iter=6).set_callbacks(monitor).fit(X, y)
    data = monitor.get_logs().data
    scores = [row["r2"] for row in data if row["task_name"] == "iteration"]
    expected = [Descent(max_iter=k).fit(X, y).score(X, y) for k in range(1, 7)]
    np.testing.assert_allclose(scores, expected, rtol=1e-12)
    assert [row["r2"] for row in data if row["task_name"] == "fit"] == scores[-1:]


def test_scoring_monitor_with_frames_and_weights(problem):
    pandas = pytest.importorskip("pandas")
    X, y = pandas.DataFrame(problem[0], columns=list("abc")), problem[1]
    monitor = ScoringMonitor(scoring="r2")
    Descent(max_iter=2).set_callbacks(monitor).fit(X, y, sample_weight=np.arange(80.0))
    assert len(monitor.get_logs().data) == 3


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_scoring_monitor_inside_a_search(problem, n_jobs):
    monitor = ScoringMonitor(scoring="r2")
    search = GridSearchCV(Descent(5).set_callbacks(monitor), {"rate": [0.1, 0.2]}, cv=2, n_jobs=n_jobs)
    search.fit(*problem)
    iterations = [row for row in monitor.get_logs().data if row["task_name"] == "iteration"]
    assert len(iterations) == 5 * (2 * 2 + 1)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_bar_inside_a_search_and_a_pipeline(problem, n_jobs, capfd):
    pytest.importorskip("rich")
    bar = ProgressBar(max_propagation_depth=None)
    pipeline = make_pipeline(StandardScaler(), Descent(5))
    GridSearchCV(pipeline, {"descent__rate": [0.1, 0.2]}, cv=2, n_jobs=n_jobs).set_callbacks(bar).fit(*problem)
    text = capfd.readouterr().out
    assert "GridSearchCV - fit" in text
    assert "Descent - fit" in text
    assert "100%" in text
