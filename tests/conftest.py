"""Settings of the whole test run: one thread a process, the array API on, reproducible hypothesis, no global RNG."""

# ruff: noqa: E402
import os

# Read by SciPy, scikit-learn and BLAS when they are first imported, which is after this file.
os.environ["SCIPY_ARRAY_API"] = "1"
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import random
import re
import signal

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

settings.register_profile(
    "didact", deadline=None, derandomize=True, database=None, max_examples=50,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)  # fmt: skip
settings.load_profile("didact")


MODEL = re.compile(r"[\[-]([A-Z]\w+)\(")  # in the name of a test


def work_unit(test):
    """What goes to one process together: tests of a file, of a model in the registry, or with a cluster of processes.

    The registry makes the reference fits of a model once in a process, and two clusters at a time are too many.
    """
    file, _, name = test.partition("::")
    if file.startswith("tests/registry/") and (model := MODEL.search(name)):
        return model[1]
    return "cluster" if file == "tests/scale/test_cluster.py" or name.endswith("[scale.md]") else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Deal out work by `work_unit` under ``--dist loadgroup``, in the order of the tests.

    xdist reads groups from marks by way of the tests' names, which pytest 9 does not let it change.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByUnit(LoadScopeScheduling):
        def _split_scope(self, test):
            return work_unit(test)

    if config.getvalue("dist") != "loadgroup":
        return None
    config.option.loadscopereorder = False
    return ByUnit(config, log)


def pytest_collection_modifyitems(items):
    """Long units first, and the many short ones of the registry last: all processes then end at about the same time."""
    places = [work_unit(item.nodeid) for item in items]
    order = {unit: (not unit.endswith(".py"), k) for k, unit in enumerate(dict.fromkeys(places))}
    order["cluster"] = (False, -1)
    items[:] = [item for _, item in sorted(zip(places, items, strict=True), key=lambda pair: order[pair[0]])]


@pytest.fixture
def unit_of():
    """The function `work_unit`, for a test of it."""
    return work_unit


@pytest.fixture
def no_global_rng():
    """The test leaves the global random generators as they are: nothing may draw from them."""
    before, before_python = np.random.get_state(legacy=False), random.getstate()  # noqa: NPY002
    yield
    after = np.random.get_state(legacy=False)  # noqa: NPY002
    assert before["state"]["pos"] == after["state"]["pos"], "NumPy's global generator was used"
    np.testing.assert_array_equal(before["state"]["key"], after["state"]["key"])
    assert before_python == random.getstate(), "Python's global generator was used"


@pytest.fixture
def heeds_ctrl_c():
    """SIGINT interrupts this process and those that it starts: a shell lets jobs in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def two_threads(monkeypatch):
    """A machine on which both didact and BLAS may use two threads, whatever the environment of the test run says."""
    import didact
    from didact.core import threads

    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "_machine_limit", lambda: 2)
    with threadpool_limits(2, user_api="blas"):
        yield
    didact.set_threads(None)


@pytest.fixture
def few_models(request, monkeypatch):
    """Studies compare a few quick models, where a test is about something else; `every_model` brings all back."""
    from didact.study import candidates

    names = (
        "Dummy",
        "Linear regression",
        "Ridge regression (tuned)",
        "Logistic regression",
        "Poisson regression (α = 0.1)",
    )
    if "every_model" not in request.fixturenames:
        monkeypatch.setattr(candidates, "TABLE", tuple(row for row in candidates.TABLE if row.name in names))


@pytest.fixture
def every_model():
    """For a test beside others with `few_models`."""
