"""A loss is one class: what is written here works in boosting, stochastic gradients and linear models."""

import math

import numpy as np
from scipy.optimize import minimize

from didact.core.backend import namespace
from didact.core.rows import MemoryRows
from didact.engines.linear.fit import fit_linear
from didact.engines.linear.objective import LinearObjective
from didact.ensemble import HistGradientBoostingRegressor
from didact.linear_model import SGDRegressor
from didact.parts.noun import Loss, Plain

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 3))
Y = X @ [1.0, -2.0, 0.5] + 0.3 + rng.standard_t(3, size=400)


class LogCosh(Loss, Plain):
    """log cosh(z − y): squared near 0, absolute far away."""

    __slots__ = ()

    def value_grad_hess(self, y, z):
        xp = namespace(z)
        r = z - y
        t = xp.tanh(r)
        return xp.abs(r) + xp.log1p(xp.exp(-2 * xp.abs(r))) - math.log(2.0), t, 1 - t * t

    def value1(self, y, z):
        r = abs(z - y)
        return r + math.log1p(math.exp(-2.0 * r)) - math.log(2.0)

    def grad1(self, y, z):
        return math.tanh(z - y)

    def value_grad_hess1(self, y, z):
        r, t = abs(z - y), math.tanh(z - y)
        return r + math.log1p(math.exp(-2.0 * r)) - math.log(2.0), t, 1.0 - t * t


def best_line():
    design = np.column_stack([X, np.ones(len(X))])
    value = lambda b: LogCosh().value_grad_hess(Y, design @ b)[0].mean()
    return minimize(value, np.zeros(4), tol=1e-12).x


def test_boosting_takes_it():
    model = HistGradientBoostingRegressor(loss=LogCosh(), max_iter=40, random_state=0).fit(X, Y)
    start = LogCosh().value_grad_hess(Y, np.full(len(Y), np.median(Y)))[0].mean()
    assert LogCosh().value_grad_hess(Y, model.predict(X))[0].mean() < 0.4 * start


def test_stochastic_gradients_take_it():
    model = SGDRegressor(loss=LogCosh(), alpha=0.0, penalty=None, max_iter=300, tol=None, eta0=0.05, random_state=0)
    model.fit(X, Y)
    np.testing.assert_allclose([*model.coef_, *np.ravel(model.intercept_)], best_line(), atol=0.05)


def test_linear_objectives_take_it():
    objective = LinearObjective(rows=MemoryRows(X, Y), loss=LogCosh(), weight=float(len(X)))
    for solver in ("newton", "lbfgs"):
        np.testing.assert_allclose(fit_linear(objective, solver=solver, tol=1e-9).x, best_line(), atol=1e-5)
