"""Descent: steps on quadratics, predicted rates, update rules, and all methods on a grid of problems.

Worked examples 60 (best constant step), 91 (conjugate gradients and Newton on a quadratic, ε → ε²) and 151 (the exact
step −gᵀp/pᵀHp) of the courses.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize as scipy_optimize

from didact.optimize import Armijo, Fixed, StrongWolfe, WeakWolfe, minimize


def quadratic(n, condition=50.0, seed=0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    A = (Q * np.geomspace(1, condition, n)) @ Q.T
    b = rng.normal(size=n)
    return A, b, lambda x: (0.5 * x @ A @ x - b @ x, A @ x - b)


def rosenbrock(x):
    return scipy_optimize.rosen(x), scipy_optimize.rosen_der(x)


# ------------------------------------------------------------------------------------------------ quadratics


@given(st.integers(1, 8), st.integers(0, 50))
def test_newton_takes_one_step_on_a_quadratic(n, seed):
    A, b, f = quadratic(n, seed=seed)
    result = minimize(f, np.full(n, 3.0), "newton", jac=True, hess=A, tol=1e-8)
    assert (result.status, result.n_iter) == ("converged", 1)
    np.testing.assert_allclose(A @ result.x, b, atol=1e-8)


@pytest.mark.parametrize("beta", ["fr", "pr", "hybrid"])
@given(st.integers(1, 8), st.integers(0, 50))
def test_conjugate_gradients_take_at_most_n_steps_on_a_quadratic(beta, n, seed):
    A, b, f = quadratic(n, seed=seed)
    result = minimize(f, np.zeros(n), "cg", jac=True, hess=A, beta=beta, tol=1e-7)
    assert result.converged
    assert result.n_iter <= n
    np.testing.assert_allclose(A @ result.x, b, atol=1e-7)


@pytest.mark.parametrize("beta", ["fr", "pr", "hybrid"])
def test_conjugate_gradients_without_a_hessian_need_an_exact_search(beta):
    _, _, f = quadratic(6)
    result = minimize(f, np.zeros(6), "cg", jac=True, beta=beta, line_search=StrongWolfe(curvature=1e-9), tol=1e-6)
    assert result.converged
    assert result.n_iter <= 6


def test_conjugate_directions_are_conjugate():
    A, _, f = quadratic(4)
    result = minimize(f, np.zeros(4), "cg", jac=True, hess=A, beta="fr", tol=1e-9, keep_iterates=True)
    steps = np.diff(result.trace.iterates, axis=0)
    products = steps @ A @ steps.T
    np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-9)


def test_example_60_best_constant_step():
    """f = ½‖Ax‖², A = diag(3, 1), x₀ = (1, 1): γ = 0.2, β = 0.8, and the bound on the values."""
    H = np.diag([9.0, 1.0])
    f = lambda x: (0.5 * x @ H @ x, H @ x)
    result = minimize(f, [1.0, 1.0], "gradient", True, H, step="optimal", max_iter=3, keep_iterates=True)
    np.testing.assert_allclose(result.history[1:], [3.2, 2.048, 1.31072], rtol=1e-12)
    np.testing.assert_allclose(result.trace.iterates[1], [1 - 0.2 * 9, 1 - 0.2 * 1], rtol=1e-12)
    np.testing.assert_allclose(result.predicted_rate, 0.8**2, rtol=1e-12)
    bound = 9 / 2 * result.predicted_rate ** np.arange(1, 4) * 2
    np.testing.assert_allclose(bound, [5.76, 3.6864, 2.359296], rtol=1e-12)
    assert (np.array(result.history[1:]) <= bound).all()


@pytest.mark.parametrize("step", [2 / 9, 0.25])
def test_example_60_no_convergence_from_two_ninths_on(step):
    H = np.diag([9.0, 1.0])
    result = minimize(lambda x: 0.5 * x @ H @ x, [1.0, 1.0], "gradient", lambda x: H @ x, H, step=step, max_iter=3000)
    assert not result.converged
    assert result.predicted_rate >= 1 - 1e-12
    assert result.value >= 4.4


def centred(condition):
    """A quadratic with the minimum 0 at 0, so that values are their own distance from it."""
    A = quadratic(5, condition)[0]
    return A, lambda x: (0.5 * x @ A @ x, A @ x)


@pytest.mark.parametrize("condition", [2.0, 10.0, 100.0])
def test_the_predicted_rate_of_gradient_descent_is_attained(condition):
    A, f = centred(condition)
    result = minimize(f, np.ones(5), "gradient", True, A, step="optimal", max_iter=200, tol=0.0)
    np.testing.assert_allclose(result.predicted_rate, ((condition - 1) / (condition + 1)) ** 2, rtol=1e-9)
    rates = np.array(result.history[1:]) / result.history[:-1]
    assert (rates <= result.predicted_rate * (1 + 1e-9)).all()
    np.testing.assert_allclose(rates[-1], result.predicted_rate, rtol=1e-2)


@pytest.mark.parametrize("condition", [10.0, 1000.0])
def test_polyaks_momentum_attains_its_rate(condition):
    """From step to step it wavers; the factor over many steps is the predicted one, but for a power of their number."""
    A, f = centred(condition)
    root = np.sqrt(condition)
    steps = int(8 * root)
    result = minimize(f, np.ones(5), "momentum", True, A, step="optimal", max_iter=3 * steps, tol=0.0)
    np.testing.assert_allclose(result.predicted_rate, ((root - 1) / (root + 1)) ** 2, rtol=1e-9)
    measured = (result.history[-1] / result.history[steps]) ** (0.5 / steps)
    np.testing.assert_allclose(np.log(measured), np.log(result.predicted_rate), rtol=0.25)
    plain = minimize(f, np.ones(5), "gradient", True, A, step="optimal", max_iter=3 * steps, tol=0.0)
    assert result.value < 1e-3 * plain.value


def test_newton_squares_the_error():
    f = lambda x: (np.exp(x[0]) - 2 * x[0], np.exp(x) - 2)
    result = minimize(f, [1.2], "newton", True, lambda x: np.exp(x)[:, None], tol=1e-14, keep_iterates=True)
    errors = np.abs(result.trace.iterates[:, 0] - np.log(2))
    errors = errors[errors > 1e-8]
    assert len(errors) >= 3
    assert (errors[1:] <= 0.6 * errors[:-1] ** 2).all()


def test_newton_leaves_a_saddle():
    """Where the Hessian is indefinite, plain Newton steps would go up to the saddle at 0."""
    f = lambda x: (x[0] ** 2 + 0.25 * x[1] ** 4 - 0.5 * x[1] ** 2, np.array([2 * x[0], x[1] ** 3 - x[1]]))
    result = minimize(f, [1.0, 0.1], "newton", True, lambda x: np.diag([2.0, 3 * x[1] ** 2 - 1]))
    assert result.converged
    np.testing.assert_allclose(result.x, [0.0, 1.0], atol=1e-6)


# ------------------------------------------------------------------------------------------------ update rules


def follow(method, steps=4, **options):
    H = np.diag([3.0, 1.0])
    result = minimize(
        lambda x: 0.5 * x @ H @ x, [1.0, -2.0], method, lambda x: H @ x, max_iter=steps, keep_iterates=True, **options
    )
    return H, result.trace.iterates


def test_momentum_by_hand():
    H, path = follow("momentum", step=0.1, decay=0.5)
    x, v = path[0], np.zeros(2)
    for found in path[1:]:
        v = 0.5 * v - 0.1 * (H @ x)
        x = x + v
        np.testing.assert_allclose(found, x, rtol=1e-13)


def test_nesterov_by_hand():
    """The iterates are the points at which the textbook's form takes its gradients: y = x + μv."""
    H, path = follow("momentum", step=0.1, decay=0.5, nesterov=True)
    x, v = path[0], np.zeros(2)
    for found in path[1:]:
        v = 0.5 * v - 0.1 * (H @ (x + 0.5 * v))
        x = x + v
        np.testing.assert_allclose(found, x + 0.5 * v, rtol=1e-13)


def test_adagrad_by_hand():
    H, path = follow("adagrad", step=0.3, epsilon=1e-10)
    x, total = path[0], np.zeros(2)
    for found in path[1:]:
        g = H @ x
        total = total + g**2
        x = x - 0.3 * g / (np.sqrt(total) + 1e-10)
        np.testing.assert_allclose(found, x, rtol=1e-13)
    np.testing.assert_allclose(path[1] - path[0], [-0.3, 0.3], rtol=1e-9)


def test_adam_by_hand():
    H, path = follow("adam", step=0.1, beta1=0.8, beta2=0.95, epsilon=1e-8)
    x, m, v = path[0], np.zeros(2), np.zeros(2)
    for t, found in enumerate(path[1:], 1):
        g = H @ x
        m, v = 0.8 * m + 0.2 * g, 0.95 * v + 0.05 * g**2
        x = x - 0.1 * (m / (1 - 0.8**t)) / (np.sqrt(v / (1 - 0.95**t)) + 1e-8)
        np.testing.assert_allclose(found, x, rtol=1e-12)
    np.testing.assert_allclose(path[1] - path[0], [-0.1, 0.1], rtol=1e-6)


def test_diagonal_newton_solves_a_separable_quadratic_in_one_step():
    H = np.array([1.0, 1e4, 1e-3])
    f = lambda x: (0.5 * x @ (H * x) - x.sum(), H * x - 1)
    for hess in (H, np.diag(H), lambda x: H, None):
        result = minimize(f, np.zeros(3), "diagonal-newton", True, hess, offset=1e-12, tol=1e-4)
        assert (result.status, result.n_iter) == ("converged", 1)
    np.testing.assert_allclose(H * result.x, 1.0, rtol=1e-4)


def test_coordinate_descent_solves_a_separable_function_in_one_sweep():
    f = lambda x: np.sum((x - [1.0, -2.0, 30.0]) ** 4 + (x - [1.0, -2.0, 30.0]) ** 2)
    result = minimize(f, np.zeros(3), "coordinate", tol=1e-5)
    assert (result.status, result.n_iter) == ("converged", 1)
    np.testing.assert_allclose(result.x, [1.0, -2.0, 30.0], rtol=1e-6)


def test_coordinate_descent_goes_along_axes():
    A, b, f = quadratic(3)
    points = []

    def value(x):
        points.append(x.copy())
        return f(x)[0]

    minimize(value, np.zeros(3), "coordinate", jac=lambda x: f(x)[1], max_iter=1)
    first = np.array(points[1:])
    moved = first[(first != 0).any(axis=1)][0]
    assert (moved != 0).sum() == 1
    exact = b[0] / A[0, 0]
    assert min(abs(p[0] - exact) for p in points) < 1e-6


# ------------------------------------------------------------------------------------------------ a grid of problems


def booth(x):
    a, b = x[0] + 2 * x[1] - 7, 2 * x[0] + x[1] - 5
    return a * a + b * b, np.array([2 * a + 4 * b, 4 * a + 2 * b])


def soft(x):
    """Σ log cosh(x − c) + ¼‖x‖²: convex, with curvature between ½ and 1½."""
    c = np.array([1.0, -2.0, 0.5, 3.0])
    return np.sum(np.log(np.cosh(x - c))) + 0.25 * x @ x, np.tanh(x - c) + 0.5 * x


def valley(x):
    """A milder Rosenbrock valley."""
    return (1 - x[0]) ** 2 + 4 * (x[1] - x[0] ** 2) ** 2, np.array(
        [-2 * (1 - x[0]) - 16 * x[0] * (x[1] - x[0] ** 2), 8 * (x[1] - x[0] ** 2)]
    )


PROBLEMS = {
    "bowl": (quadratic(3, 10.0)[2], np.array([2.0, -1.0, 1.0])),
    "booth": (booth, np.array([0.0, 0.0])),
    "soft": (soft, np.zeros(4)),
    "valley": (valley, np.array([-1.2, 1.0])),
}
RUNS = {
    "gradient": {},
    "gradient fixed": {"step": 0.03},
    "gradient wolfe": {"line_search": "strong-wolfe"},
    "momentum": {"step": 0.02},
    "momentum nesterov": {"step": 0.02, "nesterov": True},
    "adagrad": {},
    "adam": {},
    "newton": {},
    "newton wolfe": {"line_search": "strong-wolfe"},
    "cg": {},
    "cg fr": {"beta": "fr"},
    "cg pr": {"beta": "pr"},
    "lbfgs": {},
    "lbfgs armijo": {"line_search": "armijo"},
    "lbfgs weak": {"line_search": WeakWolfe()},
    "coordinate": {},
    "diagonal-newton": {},
}


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", RUNS)
def test_all_methods_on_all_problems(name, problem):
    f, start = PROBLEMS[problem]
    reference = scipy_optimize.minimize(f, start, jac=True, method="BFGS", options={"gtol": 1e-10})
    result = minimize(f, start, name.partition(" ")[0], jac=True, tol=1e-5, **RUNS[name])
    assert result.converged, result.message
    assert np.abs(f(result.x)[1]).max() <= 1e-5
    np.testing.assert_allclose(result.x, reference.x, atol=1e-4)
    assert result.value == f(result.x)[0]


@pytest.mark.parametrize("search", [Armijo(), WeakWolfe(), StrongWolfe(), "armijo", "weak-wolfe", "strong-wolfe"])
@pytest.mark.parametrize("method", ["gradient", "newton", "cg", "lbfgs"])
def test_line_searches_lower_the_value_in_every_step(method, search):
    f, start = PROBLEMS["valley"]
    result = minimize(f, start, method, jac=True, line_search=search, tol=1e-5)
    assert result.converged
    assert (np.diff(result.history) <= 1e-12).all()


def test_a_fixed_search_is_pure_newton():
    f, start = PROBLEMS["soft"]
    pure = minimize(f, start, "newton", jac=True, line_search="fixed", keep_iterates=True)
    own = minimize(f, start, "newton", jac=True, line_search=Fixed(1.0), keep_iterates=True)
    np.testing.assert_array_equal(pure.trace.iterates, own.trace.iterates)
    np.testing.assert_allclose(pure.x, minimize(f, start, "newton", jac=True).x, atol=1e-6)


@pytest.mark.parametrize("method", ["lbfgs", "cg"])
def test_rosenbrock_in_many_dimensions(method):
    start = np.tile([-1.2, 1.0], 50)
    result = minimize(rosenbrock, start, method, jac=True, tol=1e-6, max_iter=20_000)
    assert result.converged
    np.testing.assert_allclose(result.x, 1.0, atol=1e-5)
    theirs = scipy_optimize.minimize(
        rosenbrock, start, jac=True, method="CG", options={"gtol": 1e-6, "maxiter": 20_000}
    )
    assert method != "cg" or result.evaluations < theirs.nfev


def test_ridge_logistic_regression_equals_the_model():
    from didact.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = (rng.uniform(size=300) < 1 / (1 + np.exp(-X @ rng.normal(size=5)))).astype(int)
    sign = 2.0 * y - 1

    def f(w):
        margin = sign * (X @ w)
        return np.logaddexp(0, -margin).sum() + 0.5 * w @ w, w - X.T @ (sign / (1 + np.exp(margin)))

    model = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10).fit(X, y)
    for method in ("lbfgs", "cg", "newton"):
        result = minimize(f, np.zeros(5), method, jac=True, tol=1e-7)
        np.testing.assert_allclose(result.x, model.coef_[0], atol=1e-6)
