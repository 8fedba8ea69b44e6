"""The registry's budget: no class may cost more processor time than its share.

Compiled loops that are compiled or read from their cache on the way cost nothing here.
"""

import time
from collections import Counter

import pytest
from numba.core import event
from registry_cases import STRICT

SECONDS = 60.0  # most classes need 1 to 4, the dearest 25
YARDSTICK = 0.1  # seconds of `machine_seconds` where these were measured
COMPILING = event.TimingListener()
event.register("numba:compiler_lock", COMPILING)
spent, over = Counter(), set()


def machine_seconds():
    """Seconds of a fixed sum: a slow or busy machine takes longer for it, and may for the tests."""
    start = time.process_time()
    sum(i * i for i in range(1_500_000))
    return time.process_time() - start


SHARE = SECONDS * max(1.0, machine_seconds() / YARDSTICK)


def compiled():
    """Seconds in which loops were compiled or loaded."""
    return COMPILING.duration if COMPILING.done else 0.0


@pytest.fixture(autouse=True)
def within_budget(request):
    """Adds up what the tests of a class cost; the test that takes it beyond its share fails."""
    model = getattr(request.node, "callspec", None) and request.node.callspec.params.get("model")
    start, before = time.process_time(), compiled()
    yield
    name = type(model).__name__
    spent[name] += time.process_time() - start - (compiled() - before)
    if model is not None and not STRICT and spent[name] > SHARE and name not in over:
        over.add(name)
        pytest.fail(f"The tests of {name} in the registry have taken {spent[name]:.0f} s; its share is {SHARE:.0f} s.")
