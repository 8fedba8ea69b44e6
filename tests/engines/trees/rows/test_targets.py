"""The noun of medians, which has no sums, offers growers what the sums offer, with the same arguments."""

import inspect

import pytest

from didact.engines.trees.rows.stat_loops import Labels, Scalar, Summed, Values
from didact.engines.trees.splits.median_loops import Medians

SUMS = {"add1", "base1", "total1", "weight1", "order1", "orders1", "fill1", "sweep1"}  # what scans of sums ask for


def methods(noun):
    return {name: list(inspect.signature(getattr(noun, name)).parameters) for name in dir(noun) if name.endswith("1")}


@pytest.mark.parametrize("noun", [Medians, Labels, Values])
def test_nouns_offer_the_same(noun):
    wanted = {name: args for name, args in methods(Scalar).items() if noun is not Medians or name not in SUMS}
    assert len(wanted) == (11 if noun is Medians else 19)
    assert methods(noun) == wanted
    assert methods(Summed).items() <= methods(Labels).items()
