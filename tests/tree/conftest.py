"""Pictures of trees are drawn where pyplot stands: in memory, and put away after each test."""

import pytest
from matplotlib import pyplot


@pytest.fixture(autouse=True)
def no_window():
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")
