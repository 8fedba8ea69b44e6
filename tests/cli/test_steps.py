"""Progress: plain lines with the time left where there is no terminal, a bar where there is one."""

import io

from rich.console import Console

from didact.cli import progress
from didact.cli.progress import Steps


def lines(monkeypatch, steps, seconds):
    clock = iter([0.0, *seconds])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    console = Console(file=io.StringIO(), width=200)
    with Steps(console) as shown:
        for step in steps:
            shown(*step)
    return console.file.getvalue().splitlines()


def test_plain_lines_tell_the_time_left_and_do_not_flood(monkeypatch):
    steps = [("reading", 0, 1), ("fitting [1]", 1, 10), ("fitting [2]", 2, 10), ("fitting [3]", 4, 10)]
    assert lines(monkeypatch, steps, [0.0, 0.1, 4.0, 4.5]) == [
        "step 1 of 1: reading",
        "step 3 of 10: fitting [2], about 16 s left",
    ]


def test_a_terminal_gets_a_bar_that_goes_away():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with Steps(console) as shown:
        shown("fitting", 3, 4)
        shown.bar.refresh()
    text = console.file.getvalue()
    assert "fitting" in text
    assert "75%" in text
