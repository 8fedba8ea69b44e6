"""The line on the terminal: after a second, once, with the model's name; never where nobody reads it."""

import io
import logging
import sys
import time
from types import SimpleNamespace

import pytest

import didact
from didact.core.jit import jit, notice
from didact.core.jit.notice import Notice, estimate


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Model:
    """What a model of didact looks like on the stack."""

    def get_params(self):
        return {}

    def fit(self, watched, function, seconds):
        watched.begin(function, True)
        time.sleep(seconds)
        watched.end()
        time.sleep(0.02)


Model.__module__ = "didact.something"


@jit
def inner(x):
    return x + 1


@jit
def outer(x):
    return inner(x) + inner(2 * x)


@pytest.fixture
def stream(monkeypatch):
    monkeypatch.setattr(notice, "AFTER", 0.05)
    monkeypatch.delenv("DIDACT_QUIET", raising=False)
    seen = SimpleNamespace(stderr=Terminal(), _current_frames=sys._current_frames)  # pytest has sys.stderr to itself
    monkeypatch.setattr(notice, "sys", seen)
    yield seen.stderr
    didact.set_notices(None)


def test_one_line_with_the_models_name(stream):
    watched = Notice()
    for _ in range(3):
        Model().fit(watched, outer.py_func, 0.2)
    assert stream.getvalue() == "didact: compiling Model for this machine, once; about 2 s\n"


def test_what_is_quick_says_nothing(stream):
    Model().fit(Notice(), outer.py_func, 0.0)
    assert stream.getvalue() == ""


def test_short_compilations_add_up(stream):
    watched = Notice()
    for _ in range(6):
        Model().fit(watched, outer.py_func, 0.02)
    assert stream.getvalue().count("\n") == 1


def test_long_compilations_show_progress_and_wipe_it(stream, monkeypatch):
    monkeypatch.setattr(notice, "SHOWN_FROM", 0.0)
    Model().fit(Notice(), outer.py_func, 1.3)
    line, progress = stream.getvalue().split("\n")
    assert "compiling Model" in line
    assert " of about " in progress
    assert progress.endswith("\r\033[K")


def test_functions_of_others_say_nothing(stream):
    watched = Notice()
    watched.begin(outer.py_func, False)
    watched.begin(inner.py_func, True)
    time.sleep(0.2)
    watched.end()
    watched.end()
    assert watched.depth == 0
    assert stream.getvalue() == ""


def test_without_a_model_the_loop_is_named(stream):
    watched = Notice()
    watched.begin(outer.py_func, True)
    time.sleep(0.2)
    watched.end()
    assert "compiling outer" in stream.getvalue()


@pytest.mark.parametrize("off", ["setting", "variable", "no terminal"])
def test_switched_off(stream, monkeypatch, caplog, off):
    if off == "setting":
        didact.set_notices(False)
    elif off == "variable":
        monkeypatch.setenv("DIDACT_QUIET", "1")
    else:
        monkeypatch.setattr(stream, "isatty", lambda: False)
    with caplog.at_level(logging.INFO, "didact"):
        Model().fit(Notice(), outer.py_func, 0.2)
    assert stream.getvalue() == ""
    assert "compiling Model" in caplog.text


def test_switched_on_without_a_terminal(monkeypatch, stream):
    monkeypatch.setattr(stream, "isatty", lambda: False)
    didact.set_notices(True)
    Model().fit(Notice(), outer.py_func, 0.2)
    assert "compiling Model" in stream.getvalue()
    with pytest.raises(ValueError, match="True, False or None"):
        didact.set_notices("loud")


def test_the_estimate_counts_what_a_loop_calls_once():
    alone = [len(function.py_func.__code__.co_code) // 2 for function in (inner, outer)]
    assert estimate(outer.py_func) == pytest.approx(notice.SECONDS_PER_STEP * sum(alone))


def test_compiling_is_heard_of(monkeypatch):
    heard = []
    monkeypatch.setattr(notice.NOTICE, "begin", lambda function, ours: heard.append((function, ours)))
    monkeypatch.setattr(notice.NOTICE, "end", lambda: heard.append("end"))
    loop = jit(eval("lambda x: x - 1"))  # without a file, so that nothing can be kept of it
    assert loop(3) == 2
    assert heard == [(loop.py_func, True), "end"]
