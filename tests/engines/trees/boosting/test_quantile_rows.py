"""Quantiles of groups over blocks are those of all their numbers at once."""

import dask
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from didact.core.rows import KeptBlocks
from didact.engines.trees.boosting.quantile_rows import Ranked, group_quantiles, keys_of, numbers_of
from didact.parts.statistics.weighted_quantile import weighted_quantile


@given(st.lists(st.floats(allow_nan=False), min_size=2))
def test_keys_have_the_order_of_the_numbers(values):
    x = np.array(values)
    keys = keys_of(x)
    np.testing.assert_array_equal(numbers_of(keys), x)
    np.testing.assert_array_equal(keys[:, None] < keys, x[:, None] < x)


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), weighted=st.booleans(), q=st.sampled_from([0.1, 0.25, 0.5, 0.9]))
def test_quantiles_of_groups(seed, weighted, q):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 30, 4)
    blocks = []
    for n in sizes:
        x = (
            rng.integers(-4, 5, n) * 0.5
            if rng.random() < 0.5
            else rng.normal(scale=10.0 ** rng.integers(-200, 200), size=n)
        )
        blocks.append((x, rng.integers(0, 3, n), rng.integers(1, 4, n) / 4 if weighted else None))
    with dask.config.set(scheduler="synchronous"):
        found = group_quantiles(KeptBlocks([Ranked(keys_of(x), g, w) for x, g, w in blocks]), 3, q)
    x, groups = np.concatenate([b[0] for b in blocks]), np.concatenate([b[1] for b in blocks])
    w = np.concatenate([b[2] for b in blocks]) if weighted else None
    for k in range(3):
        if (groups == k).any():
            own = None if w is None else w[groups == k]
            assert found[k] == weighted_quantile(x[groups == k], own, q)
