"""The steps of leaves, and the gradients of several classes with their sums, against their formulas in NumPy."""

import numpy as np
import pytest

from didact.engines.trees.boosting.booster_loops import CLASS_ROWS
from didact.engines.trees.boosting.objective import Objective
from didact.parts.losses import HalfSquared, Logistic, Softmax


@pytest.mark.parametrize("rate", [0.1, 1, 3.0])
def test_steps_of_a_steep_loss_end_at_the_logarithm(rate):
    values = np.array([0.0, -0.0, 1e-300, 0.3, -0.3, 5.0, -5.0, 1e4, -1e160, np.inf])[:, None, None]
    found = Objective(Logistic(), np.zeros(2), None).steps(values, rate)
    size = np.abs(values)
    np.testing.assert_allclose(found, np.copysign(np.minimum(rate * size, np.log1p(size)), values), rtol=1e-15)
    assert found.shape == values.shape
    assert np.signbit(found).tolist() == np.signbit(values).tolist()
    np.testing.assert_array_equal(Objective(HalfSquared(), np.zeros(2), None).steps(values, rate), rate * values)


@pytest.mark.parametrize("n", [1, 7, 2 * CLASS_ROWS + 3, 70_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_of_several_classes_and_their_sums(n, weighted):
    rng = np.random.default_rng(0)
    y, z = rng.integers(0, 3, n), 4 * rng.normal(size=(3, n))
    w = rng.random(n) if weighted else None
    g, h = np.empty((2, 3, n))
    sums = Objective(Softmax(), y, w, 3).gradients(z, g, h)
    p = np.exp(z - z.max(axis=0))
    p /= p.sum(axis=0)
    each = 1.0 if w is None else w
    np.testing.assert_allclose(g, each * (p - (y == np.arange(3)[:, None])), rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(h, each * p * (1 - p), rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(sums, [np.abs(g).sum(axis=1), h.sum(axis=1)], rtol=1e-12)
