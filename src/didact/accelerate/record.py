"""What ran where: the log, and the lines that `--report` sums up.

Lines go to a file that the environment variable DIDACT_ACCELERATE_REPORT names, one line of JSON for each call, so that
those of worker processes are there, too; DIDACT_ACCELERATE_COMPARE=1 asks for scikit-learn's time as well.
"""

import copy
import functools
import json
import logging
import os
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

REPORT, COMPARE = "DIDACT_ACCELERATE_REPORT", "DIDACT_ACCELERATE_COMPARE"
KEEP = "DIDACT_ACCELERATE_KEEP"  # where the command line keeps the lines; else they are gone after the report
logger = logging.getLogger("didact.accelerate")
_depth = threading.local()
_twins: "weakref.WeakKeyDictionary[Any, Any]" = weakref.WeakKeyDictionary()


class Call:
    """One call of a proxy: a context that measures it and writes its line.

    Of calls inside others only those count that are left to scikit-learn while the outer one is not.
    """

    def __init__(self, model: Any, method: str) -> None:
        self.model, self.method = model, method
        self.name = method if model is None else f"{type(model).__name__}.{method}"
        self.reason: str | None = None
        self.theirs: float | None = None

    def __enter__(self) -> "Call":
        self.outer = getattr(_depth, "call", None)
        if self.outer is None:
            _depth.call = self
        self.start = time.perf_counter()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        seconds = time.perf_counter() - self.start - (self.theirs or 0.0)
        if self.outer is None:
            _depth.call = None
        elif self.reason is None or self.outer.reason is not None:
            return
        if self.reason is None:
            logger.debug("%s ran on didact in %.3g s", self.name, seconds)
        path = os.environ.get(REPORT)
        if path and (error is None or self.reason is not None):
            line = {"call": self.name, "seconds": seconds, "reason": self.reason, "theirs": self.theirs}
            with open(path, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    def left(self, reason: str) -> None:
        """Note that scikit-learn computes this call, and why."""
        self.reason = reason
        logger.info("%s is left to scikit-learn: %s", self.name, reason)

    def timed(self, bound: Callable[..., Any]) -> Callable[..., Any]:
        """A method of our model, as a call of its own; without a report and a log, the method itself."""
        if not os.environ.get(REPORT) and not logger.isEnabledFor(logging.DEBUG):
            return bound

        @functools.wraps(bound)
        def method(*args: Any, **kwargs: Any) -> Any:
            with self:
                found = bound(*args, **kwargs)
                twin = _twins.get(self.model)
                if twin is not None and self.outer is None:
                    self.theirs = seconds_of(getattr(twin, self.method), args, kwargs)
                return found

        return method

    def compare(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Fit scikit-learn's class, too, if that was asked for, and keep it for comparing predictions."""
        if os.environ.get(REPORT) and os.environ.get(COMPARE) == "1" and self.outer is None:
            goes_on = self.method == "partial_fit" and self.model in _twins
            twin = _twins[self.model] if goes_on else plain(self.model)
            _twins[self.model] = twin
            self.theirs = seconds_of(getattr(twin, self.method), args, kwargs)


def plain(model: Any) -> Any:
    """A model of scikit-learn's own class with the parameters of a proxy, and of the proxies among them."""
    theirs = vars(type(model)).get("theirs")
    if theirs is None:
        return model
    return theirs(**{name: plain(copy.deepcopy(value)) for name, value in model.get_params(deep=False).items()})


def seconds_of(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> float | None:
    """Seconds of a call whose result is not needed; None if it fails."""
    start = time.perf_counter()
    with suppress(Exception):
        call(*args, **kwargs)
        return time.perf_counter() - start
    return None


def summary(lines: Iterable[str]) -> str:
    """The report: a table of calls, where they ran and how long, then the reasons why some were left."""
    calls = [json.loads(line) for line in lines]
    if not calls:
        return "didact.accelerate: no covered class or function was called."
    compared = any(call["theirs"] is not None for call in calls)
    head = ["call", "on didact", "seconds", *(["scikit-learn", "ratio"] if compared else []), "left", "seconds left"]
    table = [head]
    for name in dict.fromkeys(call["call"] for call in calls):
        mine = [call for call in calls if call["call"] == name]
        here, there = ([c for c in mine if (c["reason"] is None) == ours] for ours in (True, False))
        seconds, left = (sum(c["seconds"] for c in part) for part in (here, there))
        cells = [name, str(len(here)), f"{seconds:.3f}"]
        if compared:
            both = [c for c in here if c["theirs"] is not None]
            theirs = sum(c["theirs"] for c in both)
            ratio = theirs / max(sum(c["seconds"] for c in both), 1e-9)
            cells += [f"{theirs:.3f}", f"{ratio:.1f} ×"] if both else ["", ""]
        table.append([*cells, str(len(there)), f"{left:.3f}"])
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    rows = ["  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(r, widths))) for r in table]
    reasons = Counter((call["call"], call["reason"]) for call in calls if call["reason"])
    return "\n".join([*rows, *(f"left to scikit-learn: {n} × {call}: {why}" for (call, why), n in reasons.items())])


def read_report(path: Path) -> str:
    """The summary of a file of lines."""
    return summary(path.read_text(encoding="utf-8").splitlines() if path.exists() else ())
