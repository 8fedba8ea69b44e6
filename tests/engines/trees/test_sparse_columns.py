"""Columns that mostly hold one value are counted by their rare values, and the trees stay the same."""

import numpy as np
import pytest

from didact.engines.trees import grow as module
from didact.engines.trees.bins import bin_codes, learn_bins
from didact.engines.trees.channels import label_channels, unit_channels, value_channels
from didact.engines.trees.grow import grow
from didact.engines.trees.limits import Limits
from didact.parts.criteria import Gini
from didact.parts.gradient_criterion import Gradient


@pytest.mark.parametrize("kind", ["values", "unit", "labels"])
@pytest.mark.parametrize("only_rare", [False, True])
def test_same_tree(kind, only_rare, monkeypatch):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 8, 3000)
    X = np.column_stack([np.eye(8)[group], rng.normal(size=(3000, 2))])
    X[rng.random(3000) < 0.05, 3] = np.nan
    X = X[:, :8] if only_rare else X
    y = np.sin(group) + X[:, -1] + rng.normal(size=3000)
    bins = learn_bins(X)
    codes = bin_codes(X, bins)
    channels, criterion = unit_channels(y), Gradient(1.0)
    if kind == "values":
        channels = value_channels(np.column_stack([y, 0.5 + rng.random(3000)]))
    if kind == "labels":
        channels, criterion = label_channels((y > 0).astype(int), 2), Gini()
    limits, found = Limits(max_leaf_nodes=25, min_samples_leaf=5), []
    for many in (100, 10**9):
        monkeypatch.setattr(module, "MANY", many)
        found.append(grow(codes, bins, channels, criterion, limits).tree)
    monkeypatch.setattr(module, "MANY", 100)
    rare = module.rare_columns(codes, module.Grower(codes, bins, channels, criterion, limits).features, channels)
    assert len(rare.columns) == 8
    assert found[0].node_count > 15
    for name in found[0]._fields:
        np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name), err_msg=name)
