"""The EM loop on the courses' mixture of two Gaussians, its bound, and steps that overshoot."""

import numpy as np
import pytest
from scipy.stats import norm

from didact.engines.components.em import em

D = np.array([5, 10, 4, 6, 5, 4, 6, 11, 10, 9, 5, 7, 3.0])


def expect(theta):
    mean, deviation, share = theta
    joint = share * norm.pdf(D[:, None], mean, deviation)
    return float(np.log(joint.sum(axis=1)).sum()), joint / joint.sum(axis=1, keepdims=True)


def maximize(theta, R):
    total = R.sum(axis=0)
    mean = R.T @ D / total
    return mean, np.sqrt((R * (D[:, None] - mean) ** 2).sum(axis=0) / total), total / len(D)


START = (np.array([5.0, 10.0]), np.array([2.0, 1.0]), np.array([9 / 13, 4 / 13]))


def test_the_mixture_of_the_course():
    """Example 27: the first step and the limit."""
    assert expect(START)[0] == pytest.approx(-28.350985, abs=5e-7)
    one = em(expect, maximize, START, 0.0, 1)
    np.testing.assert_allclose(one.x[0], [5.146482, 10.035026], atol=5e-7)
    np.testing.assert_allclose(one.x[1], [1.392424, 0.722044], atol=5e-7)
    assert one.x[2][0] == pytest.approx(0.715257, abs=5e-7)
    assert -one.value == pytest.approx(-26.648073, abs=5e-7)
    end = em(expect, maximize, START, 1e-13, 1000)
    assert end.converged
    np.testing.assert_allclose(end.x[0], [5.004536, 10.002232], atol=5e-7)
    np.testing.assert_allclose(end.x[1], [1.162028, 0.706814], atol=5e-7)
    assert -end.value == pytest.approx(-26.368310, abs=5e-7)


@pytest.mark.parametrize("seed", range(10))
def test_the_likelihood_never_falls(seed):
    rng = np.random.default_rng(seed)
    start = (rng.choice(D, 2) + rng.normal(size=2), rng.uniform(0.5, 4, 2), rng.dirichlet([2, 2]))
    result = em(expect, maximize, start, 0.0, 60)
    assert (np.diff(result.history) <= 1e-10).all()


def test_the_bound_touches_the_likelihood_at_the_posterior_only():
    """Identity 106: J(q, θ) = ℓ(θ) − KL(q‖posterior)."""
    mean, deviation, share = START
    log_joint = np.log(share) + norm.logpdf(D[:, None], mean, deviation)
    value, R = expect(START)
    bound = lambda q: float((q * (log_joint - np.log(q))).sum())
    assert bound(R) == pytest.approx(value)
    q = np.random.default_rng(0).dirichlet([1, 1], len(D))
    assert bound(q) == pytest.approx(value - (q * np.log(q / R)).sum())
    assert bound(q) < value


def test_steps_that_overshoot_are_shortened():
    f = lambda x: (-float((x - 3) ** 2), None)
    jump = lambda x, S: x + 5 * (3 - x)  # five times too far
    result = em(f, jump, 0.0, 1e-12, 100, blend=lambda old, new, share: old + share * (new - old))
    assert result.x == pytest.approx(3, abs=1e-5)
    assert (np.diff(result.history) <= 1e-11).all()
    assert em(f, jump, 0.0, 1e-12, 100).status == "no progress"


def test_callbacks_stop_it():
    assert em(expect, maximize, START, 0.0, 50, report=lambda i, value, x: i == 3).n_iter == 3
