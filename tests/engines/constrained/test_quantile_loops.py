"""The loops of a quantile regression's step against the same formulas on arrays, also at and beyond the boundary."""

import numpy as np
import pytest

from didact.engines.constrained import quantile_loops as loops

SHORT = 0.9995


def point(n, seed=0):
    """Vectors y, r, p, q, d, u, l, h of an interior point, and the change dp, dq, dd, above, below."""
    rng = np.random.default_rng(seed)
    u, l = rng.uniform(0.1, 1.0, (2, n))  # noqa: E741
    d = -l + (u + l) * rng.uniform(0.01, 0.99, n)
    p, q = rng.exponential(size=(2, n))
    h = 1 / (p / (u - d) + q / (l + d))
    return rng.normal(size=n), p - q, p, q, d, u, l, h, rng.normal(size=(5, n))


def limit(*pairs):
    return max(float(np.fmax.reduce(-dx / x, initial=SHORT)) for x, dx in pairs)


@pytest.mark.parametrize("n", [0, 1, 7, 1000])
def test_weights_and_targets(n):
    _, r, p, q, d, u, l, h, (dp, dq, dd, above, below) = point(n)  # noqa: E741
    found, v = np.empty((2, n))
    loops.weights(found, v, r, p, q, d, u, l)
    np.testing.assert_allclose(found, h, rtol=1e-14)
    np.testing.assert_allclose(v, h * r + d, rtol=1e-12, atol=1e-14)
    loops.targets(0.3, v, r, d, u, l, h, dp, dq, dd, above, below)
    np.testing.assert_allclose(above, (0.3 + dp * dd) / (u - d), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(below, (0.3 - dq * dd) / (l + d), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(v, h * (r - above + below) + d, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("n", [0, 1, 7, 1000])
def test_predictor(n):
    _, r, p, q, d, u, l, h, (along, *_) = point(n)  # noqa: E741
    dp, dq, dd = np.empty((3, n))
    primal, dual, *sums = loops.predictor(SHORT, along, r, p, q, d, u, l, h, dp, dq, dd)
    s, t = u - d, l + d
    np.testing.assert_allclose(dd, h * (r - along), rtol=1e-12)
    np.testing.assert_allclose(dp, p / s * dd - p, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(dq, -q / t * dd - q, rtol=1e-10, atol=1e-12)
    assert primal == pytest.approx(limit((p, dp), (q, dq)))
    assert dual == pytest.approx(limit((s, -dd), (t, dd)))
    # the gap after steps of lengths a and e is Σ (p + a dp)(s − e dd) + (q + a dq)(t + e dd)
    for a, e in ((0.0, 0.0), (0.5, 0.25), (1.0, 1.0)):
        gap = (p + a * dp) @ (s - e * dd) + (q + a * dq) @ (t + e * dd)
        assert np.array([1.0, a, e, a * e]) @ sums == pytest.approx(gap, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n", [0, 1, 7, 1000])
def test_corrector_and_step(n):
    y, r, p, q, d, u, l, h, (along, fit, _, above, below) = point(n)  # noqa: E741
    dp, dq, dd = np.empty((3, n))
    primal, dual = loops.corrector(SHORT, along, r, p, q, d, u, l, h, dp, dq, dd, above, below)
    s, t = u - d, l + d
    np.testing.assert_allclose(dd, h * (r - above + below - along), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(dp, above - p + p / s * dd, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(dq, below - q - q / t * dd, rtol=1e-10, atol=1e-11)
    assert primal == pytest.approx(limit((p, dp), (q, dq)))
    assert dual == pytest.approx(limit((s, -dd), (t, dd)))
    new = np.empty((4, n))
    gap, loss = loops.take_step(0.5, 0.25, y, p, q, d, u, l, fit, along, dp, dq, dd, *new)
    expected = y - fit - 0.5 * along, p + 0.5 * dp, q + 0.5 * dq, d + 0.25 * dd
    np.testing.assert_allclose(new, expected, rtol=1e-12, atol=1e-13)
    assert gap == pytest.approx(float(new[1] @ (u - new[3]) + new[2] @ (l + new[3])), rel=1e-9, abs=1e-9)
    assert loss == pytest.approx(float(np.maximum(u * new[0], -l * new[0]).sum()))


def test_what_is_no_number_does_not_limit_a_step():
    """A row at the boundary gives 0/0, as others do at the end: the other rows set the length."""
    _, r, p, q, d, u, l, h, (along, *_) = point(5)  # noqa: E741
    p[2], d[2] = 0.0, u[2]
    dp, dq, dd = np.empty((3, 5))
    primal, dual, *_ = loops.predictor(SHORT, along, r, p, q, d, u, l, h, dp, dq, dd)
    others = np.arange(5) != 2
    rest = [v[others].copy() for v in (along, r, p, q, d, u, l, h, dp, dq, dd)]
    expected = loops.predictor(SHORT, *rest)
    assert np.isnan(dp[2])
    assert primal >= expected[0]
    assert np.isfinite(primal)
    assert dual >= expected[1]
