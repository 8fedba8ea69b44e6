"""The nouns that growers are compiled for offer what the written protocols say, with the same arguments."""

import inspect

import pytest

from didact.engines.trees.rows.stat_loops import Labels, Scalar
from didact.engines.trees.rows.targets import NodeStatistic, SummedStatistic
from didact.engines.trees.rows.value_loops import Values
from didact.engines.trees.splits.median_loops import Absolute


def methods(protocol):
    return {
        name: list(inspect.signature(fn).parameters)
        for base in protocol.__mro__
        for name, fn in vars(base).items()
        if name.endswith("1")
    }


@pytest.mark.parametrize(
    ("noun", "protocol"),
    [(Absolute, NodeStatistic), (Scalar, SummedStatistic), (Labels, SummedStatistic), (Values, SummedStatistic)],
)
def test_nouns_offer_what_the_protocol_says(noun, protocol):
    wanted = methods(protocol)
    assert len(wanted) == (8 if protocol is NodeStatistic else 16)
    for name, arguments in wanted.items():
        assert list(inspect.signature(getattr(noun, name)).parameters) == arguments, name
