"""A pytest plugin that puts our classes in the place of scikit-learn's before its own test files are imported.

A test counts if one of our classes or functions was called in it. Each result goes to the file that the environment
variable DIDACT_COMPAT names, one line of JSON per test: name, outcome, first line of the error.
"""

import functools
import importlib
import json
import os
import signal
import sys

import pytest

MODULES = (
    *("linear_model", "tree", "ensemble", "neighbors", "cluster", "naive_bayes", "discriminant_analysis"),
    "multiclass",
)
BASES = {"sklearn.neighbors._base.KNeighborsMixin": "didact.neighbors.base.KNeighborsQueries"}  # asked for by type
LIMIT = 120  # seconds for one test: compiled code may have to be made on the way
used = [False]


def watched(call):
    """The function, which notes that it was called."""

    @functools.wraps(call)
    def noting(*args, **kwargs):
        used[0] = True
        return call(*args, **kwargs)

    return noting


def swap(theirs, ours):
    """Put one of our names into the package where it is public and into the file that defines it."""
    name = theirs.__name__
    if isinstance(ours, type):
        ours.__init__ = watched(ours.__init__)
        for method in ("fit", "partial_fit"):
            if callable(vars(ours).get(method)):
                setattr(ours, method, watched(vars(ours)[method]))
    else:
        ours = watched(ours)
    for module in (theirs.__module__, theirs.__module__.partition("._")[0]):
        setattr(sys.modules[module], name, ours)


def pytest_configure(config):
    accelerated = os.environ.get("DIDACT_COMPAT_WAY") == "accelerate"
    for package in MODULES:
        sklearn, didact = (importlib.import_module(f"{library}.{package}") for library in ("sklearn", "didact"))
        names = getattr(sklearn, "__all__", None) or dir(sklearn)
        for name in names:
            theirs, ours = getattr(sklearn, name), getattr(didact, name, None)
            if not name.startswith("_") and ours is not None and ours is not theirs and callable(ours):
                if accelerated:
                    proxies = importlib.import_module("didact.accelerate.proxies")
                    ours = getattr(proxies, name, None)
                if ours is not None and theirs.__module__.startswith("sklearn."):
                    swap(theirs, ours)

    for pair in BASES.items() if not accelerated else ():
        (package, name), (ours, replaced) = (path.rsplit(".", 1) for path in pair)
        setattr(importlib.import_module(package), name, getattr(importlib.import_module(ours), replaced))


class Slow(Exception):
    """The test took longer than its limit."""


def stop(number, frame):
    raise Slow(f"over {LIMIT} s")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    used[0] = False
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)
    try:
        return (yield)
    finally:
        signal.alarm(0)


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        outcome = "xfailed" if hasattr(report, "wasxfail") and report.skipped else report.outcome
        error = (
            ""
            if report.outcome != "failed"
            else str(report.longrepr.reprcrash.message)
            if hasattr(report.longrepr, "reprcrash")
            else str(report.longrepr)
        )
        line = {
            "test": report.nodeid,
            "outcome": outcome,
            "used": used[0],
            "error": error[:400],
            "seconds": report.duration,
        }
        with open(os.environ["DIDACT_COMPAT"], "a") as file:
            file.write(json.dumps(line) + "\n")
