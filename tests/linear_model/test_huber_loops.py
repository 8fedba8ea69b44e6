"""Huber's compiled pass equals the array code, inside and outside the scale, with weights and with curvature or not."""

import numpy as np
import pytest

from didact.core.rows import Block
from didact.linear_model.huber import summarize, summarize_narrow


@pytest.mark.parametrize("share", [None, 0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (100, 3), (70, 50), (300, 13)])
def test_equals_array_code(shape, dtype, weighted, share):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=shape).astype(dtype), rng.standard_t(1, size=shape[0])
    w = rng.integers(0, 3, shape[0]).astype(float) if weighted else None
    at = np.append(rng.normal(size=shape[1]), 0.5), 0.8, 1.35, share
    expected = summarize(Block(X, y, w), *at).parts
    for rows in (X, np.asfortranarray(X)):
        found = summarize_narrow(Block(rows, y, w), *at).parts
        assert len(found) == len(expected)
        for a, b in zip(found, expected):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11 * (1 + np.abs(b).max()))
