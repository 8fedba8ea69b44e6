"""NIST's 27 certified nonlinear regressions, from both starts: parameters and standard errors to six digits.

Jacobians are by central differences, as for a user who has none. Lanczos1 has data of 14 digits, so that its residual
sum, 1.4e-25, and with it the standard errors, are made of rounding errors of y.
"""

import numpy as np
import pytest
from nist_problems import MODELS, digits, load

from didact.linear_model import NonlinearRegressor
from didact.optimize import least_squares

ERROR_DIGITS = {"Lanczos1": 2}


@pytest.mark.parametrize("start", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_certified_values(name, start):
    p = load(name)
    result = least_squares(lambda b: p.model(p.x, *b) - p.y, p.starts[start - 1])
    assert result.converged, result.message
    assert digits(result.x, p.certified) >= 6
    assert digits(np.sqrt(np.diag(result.covariance)), p.errors) >= ERROR_DIGITS.get(name, 6)
    if name != "Lanczos1":
        assert digits(np.array([2 * result.value]), np.array([p.sum_of_squares])) >= 7


@pytest.mark.parametrize("name", MODELS)
def test_the_estimator_finds_the_certified_values(name):
    p = load(name)
    X = p.x if p.x.ndim == 2 else p.x[:, None]
    function = (lambda X, *b: p.model(X, *b)) if name == "Nelson" else (lambda X, *b: p.model(X[:, 0], *b))
    model = NonlinearRegressor(function, p0=p.starts[1]).fit(X, p.y)
    assert digits(model.coef_, p.certified) >= 6
    assert digits(model.standard_errors_, p.errors) >= ERROR_DIGITS.get(name, 6)


def test_all_problems_are_here():
    assert len(MODELS) == 27
    for name in MODELS:
        p = load(name)
        r = p.model(p.x, *p.certified) - p.y
        limit = 1e-9 if name != "Lanczos1" else 1.0  # the certified values have eleven digits
        assert abs(r @ r - p.sum_of_squares) <= limit * p.sum_of_squares + 1e-20
