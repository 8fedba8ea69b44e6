"""Leaps beyond EM's steps: the fixed point of a linear map, whatever the units of the columns; leaps that fail."""

import numpy as np

from didact.engines.components.leaps import LEAST_RIDGE, Leaps
from didact.parts.statistics.components import complete


def statistic(mean, scatter):
    return complete(np.zeros(1), np.array([50.0]), mean[None], scatter[None], "full")


def linear_map(units):
    """A slow linear map of means and scatters with a known fixed point."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(9, 2))
    goal = rng.normal(size=2) * units, (A.T @ A) * np.outer(units, units)
    rates = np.array([0.99, 0.7]), np.array([[0.995, 0.9], [0.9, 0.5]])

    def image(S):
        return statistic(goal[0] + rates[0] * (S.mean[0] - goal[0]), goal[1] + rates[1] * (S.scatter[0] - goal[1]))

    return goal, image


def test_a_linear_map_is_solved_in_as_many_steps_as_it_has_rates():
    for units in (np.ones(2), np.array([1e-3, 1e4])):
        goal, image = linear_map(units)
        now = statistic(np.zeros(2), np.diag(50.0 * units**2))
        leaps = Leaps(now)
        for _ in range(8):  # one more than rates, and two to refine
            now = leaps(now, image(now)) or image(now)
        np.testing.assert_allclose(now.mean[0] / units, goal[0] / units, atol=1e-6)
        np.testing.assert_allclose(now.scatter[0] / np.outer(units, units), goal[1] / np.outer(units, units), atol=1e-5)


def test_a_leap_that_was_not_taken_makes_the_next_one_shorter():
    _, image = linear_map(np.ones(2))
    start = statistic(np.zeros(2), 50.0 * np.eye(2))
    leaps = Leaps(start)
    assert leaps(start, image(start)) is None
    then = image(start)
    far = leaps(then, image(then))
    after = image(then)
    for _ in range(12):  # each time another one
        near = leaps(after, image(after))
        after = image(after)
    assert leaps.ridge > 1e6 * LEAST_RIDGE
    assert np.abs(near.mean - after.mean).max() < np.abs(far.mean - image(then).mean).max()
