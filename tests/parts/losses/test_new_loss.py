"""A new loss is one class: what it says of itself is enough for boosting, stochastic gradients and linear models."""

import math

import numpy as np
import pytest

from didact.core.errors import InputError
from didact.core.rows import MemoryRows
from didact.engines.linear.fit import fit_linear
from didact.engines.linear.objective import LinearObjective
from didact.engines.trees.boosting.objective import Objective
from didact.ensemble import HistGradientBoostingRegressor
from didact.linear_model import SGDRegressor
from didact.parts.noun import Loss, Plain


class LogCosh(Loss, Plain):
    """log cosh(z − y): squared near 0, absolute far away, where its own curvature would make for endless steps."""

    __slots__ = ()
    curvature = "one"

    def value_grad_hess(self, y, z):
        """log cosh r, tanh r and 1 − tanh² r."""
        r, slope = np.abs(z - y), np.tanh(z - y)
        return r + np.log1p(np.exp(-2 * r)) - math.log(2), slope, 1 - slope * slope

    def value1(self, y, z):
        """log cosh(z − y)."""
        r = abs(z - y)
        return r + math.log1p(math.exp(-2 * r)) - math.log(2.0)

    def grad1(self, y, z):
        """tanh(z − y)."""
        return math.tanh(z - y)


class LogNormal(Loss, Plain):
    """½(z − log y)², for positive targets: e^z is their geometric mean."""

    __slots__ = ()
    _support = "y > 0"
    curvature = "one"

    def value_grad_hess(self, y, z):
        """½r², r and 1."""
        r = z - np.log(y)
        return 0.5 * r * r, r, np.ones_like(r)

    def mean(self, z):
        """e^z."""
        return np.exp(z)

    def value1(self, y, z):
        """½(z − log y)²."""
        return 0.5 * (z - math.log(y)) ** 2

    def grad1(self, y, z):
        """z − log y."""
        return z - math.log(y)


rng = np.random.default_rng(0)
X = rng.normal(size=(200, 2))
Y = X @ [1.0, -2.0] + 0.5 + rng.standard_t(2, size=200)
GROUPS = np.repeat([0.0, 1.0, 2.0], [40, 60, 100])


def test_boosting_finds_the_least_loss_in_every_leaf():
    y = 3 * GROUPS + rng.standard_t(2, size=200)
    model = HistGradientBoostingRegressor(loss=LogCosh(), max_iter=100, learning_rate=0.5, early_stopping=False)
    z = model.fit(GROUPS[:, None], y).predict(GROUPS[:, None])
    slopes = [np.tanh(z[k == GROUPS] - y[k == GROUPS]).mean() for k in range(3)]
    np.testing.assert_allclose(slopes, 0, atol=1e-6)


class Exact(LogCosh):
    """The same with its own curvature."""

    __slots__ = ()
    curvature = "exact"


@pytest.mark.parametrize("loss", [LogCosh(), Exact()], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_boosting_starts_at_the_best_constant(loss, unit):
    """Also where the curvature vanishes almost everywhere, so that Newton steps alone would run away."""
    y, w = Y * unit, rng.uniform(0.5, 2, size=200)
    (z,) = Objective(loss, y, w).start()
    nearby = np.array([z - 1e-6 * unit, z + 1e-6 * unit])
    below, above = (w[:, None] * np.tanh(nearby - y[:, None])).sum(axis=0)
    assert below <= 1e-9 * w.sum()
    assert above >= -1e-9 * w.sum()


def test_gradient_descent_ends_where_the_slope_is_zero():
    model = SGDRegressor(
        loss=LogCosh(), penalty=None, batch_size="full", learning_rate="constant", eta0=0.5, max_iter=300, tol=None
    )
    slope = np.tanh(model.fit(X, Y).predict(X) - Y)
    np.testing.assert_allclose(np.column_stack([X, np.ones(200)]).T @ slope / 200, 0, atol=1e-6)


def test_linear_models_end_where_the_slope_is_zero():
    objective = LinearObjective(
        rows=MemoryRows(X, Y, None, None), loss=LogCosh(), weight=200.0, alpha=0.0, fit_intercept=True
    )
    result = fit_linear(objective, solver="newton", tol=1e-10)
    assert result.converged
    slope = np.tanh(X @ result.x[:2] + result.x[2] - Y)
    np.testing.assert_allclose(np.column_stack([X, np.ones(200)]).T @ slope / 200, 0, atol=1e-9)


def test_domain_and_mean_are_asked_of_the_loss():
    y = np.exp(Y)
    boosted = HistGradientBoostingRegressor(loss=LogNormal(), max_iter=5)
    descended = SGDRegressor(loss=LogNormal(), batch_size="full", eta0=0.3, learning_rate="constant")
    logs = HistGradientBoostingRegressor(max_iter=5).fit(X, np.log(y))
    np.testing.assert_allclose(np.log(boosted.fit(X, y).predict(X)), logs.predict(X), rtol=1e-9, atol=1e-12)
    same = SGDRegressor(batch_size="full", eta0=0.3, learning_rate="constant").fit(X, np.log(y))
    np.testing.assert_allclose(np.log(descended.fit(X, y).predict(X)), same.predict(X), rtol=1e-9, atol=1e-12)
    for model in (boosted, descended):
        with pytest.raises(InputError, match="y > 0"):
            model.fit(X, np.append(y[:-1], 0.0))
