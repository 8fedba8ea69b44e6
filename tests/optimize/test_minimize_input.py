"""What users hand to `minimize`: gradients of all kinds, callbacks, validation, and what must be refused."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from didact.optimize import minimize

METHODS = ["gradient", "momentum", "adagrad", "adam", "newton", "cg", "lbfgs", "coordinate", "diagonal-newton"]


def bowl(x):
    return float(np.sum((x - [1.0, 2.0]) ** 2))


def bowl_gradient(x):
    return 2 * (x - [1.0, 2.0])


# ------------------------------------------------------------------------------------------------ gradients


@pytest.mark.parametrize("kind", [None, "central", "forward", "complex"])
def test_gradients_by_differences(kind):
    f = lambda x: np.sum((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2)
    result = minimize(f, [-1.2, 1.0, 0.5], "lbfgs", jac=kind, tol=1e-4 if kind == "forward" else 1e-6)
    assert result.converged
    np.testing.assert_allclose(result.x, 1.0, atol=1e-3 if kind == "forward" else 1e-5)


@pytest.mark.parametrize(("kind", "cost"), [("central", 4), ("forward", 2), ("complex", 2)])
def test_differences_cost_what_is_said(kind, cost):
    calls = []
    result = minimize(lambda x: (calls.append(1), np.sum(x * x))[1], [1.0, 2.0], jac=kind, max_iter=0)
    assert len(calls) == result.evaluations == 1 + cost


def test_a_hessian_by_differences():
    result = minimize(rosen, [-1.2, 1.0], "newton", jac=rosen_der)
    assert result.converged
    np.testing.assert_allclose(result.x, 1.0, atol=1e-5)
    without = minimize(rosen, [-1.2, 1.0], "newton")
    assert without.converged
    np.testing.assert_allclose(without.x, 1.0, atol=1e-5)


def test_variables_in_very_different_units():
    """Steps of differences are relative to where each variable starts."""
    size = np.array([1e-9, 1.0, 1e9])
    f = lambda x: np.sum((x / size - 3) ** 2)
    result = minimize(f, size, "newton", tol=0.0, max_iter=3)
    np.testing.assert_allclose(result.x / size, 3.0, rtol=1e-5)


def test_the_function_may_fill_one_array_again_and_again():
    buffer = np.empty(2)

    def f(x):
        buffer[:] = bowl_gradient(x)
        return bowl(x), buffer

    assert minimize(f, [5.0, 5.0], jac=True).converged


def test_no_evaluation_is_spent_twice_on_the_start():
    calls = []
    f = lambda x: (calls.append(x.tolist()), (bowl(x), bowl_gradient(x)))[1]
    result = minimize(f, [1.0, 2.0], jac=True)
    assert (result.n_iter, len(calls), result.evaluations) == (0, 1, 1)


@pytest.mark.parametrize("value", [3.0, np.float64(3.0), np.float32(3.0), np.array([3.0]), np.array(3), 3])
def test_what_counts_as_a_number(value):
    assert minimize(lambda x: value, [1.0]).value == 3.0


@pytest.mark.parametrize("x0", [2.0, [2], (2.0,), np.array([2])])
def test_starts_of_all_kinds(x0):
    result = minimize(lambda x: (x[0] - 1) ** 2, x0)
    np.testing.assert_allclose(result.x, [1.0], atol=1e-6)


def test_the_start_is_left_alone():
    x0 = np.array([3.0, 4.0])
    for method in METHODS:
        minimize(bowl, x0, method, max_iter=3)
        np.testing.assert_array_equal(x0, [3.0, 4.0])


# ------------------------------------------------------------------------------------------------ stopping


@pytest.mark.parametrize("method", METHODS)
def test_callbacks_hear_of_every_iteration_and_may_stop(method):
    heard = []

    def callback(iteration, value, x):
        heard.append((iteration, value, bowl(x)))
        return iteration == 2

    result = minimize(lambda x: bowl(x) + 0.1 * np.sum(x**4), [5.0, 5.0], method, tol=1e-12, callback=callback)
    assert [entry[0] for entry in heard] == [1, 2]
    assert (result.status, result.n_iter, result.converged) == ("stopped", 2, False)


def test_the_iteration_limit():
    result = minimize(rosen, [-1.2, 1.0], jac=rosen_der, max_iter=3)
    assert (result.status, result.n_iter, len(result.history)) == ("iteration limit", 3, 4)
    assert "max_iter" in result.message


def test_validation_returns_the_best_iterate():
    """Descent passes by the point that the validation likes best."""
    best = np.array([3.0, 3.5])
    result = minimize(
        bowl, [5.0, 5.0], "gradient", bowl_gradient, step=0.02, keep_iterates=True,
        validation=lambda x: np.sum((x - best) ** 2), patience=5,
    )  # fmt: skip
    watched = np.array([np.sum((x - best) ** 2) for x in result.trace.iterates])
    np.testing.assert_allclose(result.validation, watched)
    k = int(np.argmin(watched))
    np.testing.assert_array_equal(result.x, result.trace.iterates[k])
    assert 0 < k == result.n_iter - 5
    assert result.value == bowl(result.x)
    assert result.optimality == np.abs(bowl_gradient(result.x)).max()
    assert (result.status, result.converged) == ("stopped", False)
    assert "validation" in result.message


def test_validation_that_only_improves_changes_nothing():
    plain = minimize(bowl, [5.0, 5.0], "lbfgs", bowl_gradient)
    watched = minimize(bowl, [5.0, 5.0], "lbfgs", bowl_gradient, validation=bowl)
    assert watched.converged
    np.testing.assert_array_equal(watched.x, plain.x)
    assert watched.validation == watched.history


def test_validation_that_only_gets_worse_returns_the_start():
    result = minimize(bowl, [5.0, 5.0], "gradient", step=0.01, validation=lambda x: -bowl(x), patience=3)
    np.testing.assert_array_equal(result.x, [5.0, 5.0])
    assert result.n_iter == 3


def test_early_stopping_on_held_out_rows():
    """Overfitting a polynomial: the returned weights do better on held-out rows than those at the minimum."""
    rng = np.random.default_rng(0)
    t = rng.uniform(-1, 1, size=(2, 15))
    X, V = (np.vander(row, 12) for row in t)
    y, v = (np.sin(3 * row) + 0.3 * rng.normal(size=15) for row in t)
    f = lambda b: (0.5 * np.sum((X @ b - y) ** 2), X.T @ (X @ b - y))
    error = lambda b: np.mean((V @ b - v) ** 2)
    stopped = minimize(f, np.zeros(12), "lbfgs", True, validation=error, tol=1e-8)
    fitted = minimize(f, np.zeros(12), "lbfgs", True, tol=1e-8)
    assert error(stopped.x) < 0.8 * error(fitted.x)
    assert fitted.value < stopped.value


# ------------------------------------------------------------------------------------------------ trouble


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_start_that_is_not_finite(bad):
    with pytest.raises(ValueError, match=r"x0 must be finite; its entry 1 is"):
        minimize(bowl, [1.0, bad])


@pytest.mark.parametrize("x0", ["ab", [[1.0, 2.0]], [], [1j], None])
def test_starts_that_are_no_vectors(x0):
    with pytest.raises(ValueError, match="x0 must be a vector"):
        minimize(bowl, x0)


@pytest.mark.parametrize("method", METHODS)
def test_nan_at_the_start_is_refused(method):
    with pytest.raises(ValueError, match=r"fun returned nan at the start x0 = \(1, 2\)"):
        minimize(lambda x: np.nan, [1.0, 2.0], method)
    with pytest.raises(ValueError, match=r"gradient at the start x0 has nan in its entry 1"):
        minimize(bowl, [1.0, 3.0], method, jac=lambda x: np.array([1.0, np.nan]))


@pytest.mark.parametrize("method", METHODS)
def test_nan_everywhere_else_ends_in_words(method):
    f = lambda x: 1.0 if (x == 1).all() else np.nan
    result = minimize(f, [1.0, 1.0], method, jac=lambda x: np.ones(2), hess=lambda x: np.eye(2), max_iter=50)
    assert result.status == "not finite"
    assert "NaN" in result.message


@pytest.mark.parametrize("method", ["gradient", "newton", "cg", "lbfgs", "coordinate", "diagonal-newton"])
def test_searches_back_away_from_where_the_function_is_not_defined(method):
    """−log x + x has its minimum at 1 and is not defined left of 0."""
    f = lambda x: np.sum(x - np.log(x))
    result = minimize(f, [0.05, 8.0], method, jac=lambda x: 1 - 1 / x, tol=1e-5)
    assert result.converged
    np.testing.assert_allclose(result.x, 1.0, atol=1e-4)


def test_a_step_that_is_too_long_is_named():
    result = minimize(bowl, [5.0, 5.0], "gradient", bowl_gradient, step=3.0)
    assert result.status == "not finite"
    assert "shorter steps" in result.message


def test_an_unbounded_function():
    for method in ("coordinate", "lbfgs", "gradient"):
        result = minimize(lambda x: -np.sum(x), [0.0, 0.0], method, max_iter=50)
        assert not result.converged
    assert minimize(lambda x: -np.sum(x), [0.0, 0.0], "coordinate").status == "unbounded"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"jac": lambda x: np.ones(3)}, r"one number for each of the 2 variable\(s\).*shape \(3,\)"),
        ({"jac": lambda x: np.ones((2, 1))}, r"shape \(2,\); it has the shape \(2, 1\)"),
        ({"jac": True}, "fun must return two things"),
        ({"jac": "backward"}, "jac must be"),
        ({"method": "newton", "hess": np.eye(3)}, r"2 × 2 matrix; it returned the shape \(3, 3\)"),
        ({"method": "newton", "hess": np.full((2, 2), np.nan)}, "not finite at x"),
        ({"method": "simplex"}, "no method 'simplex'.*'lbfgs'"),
        ({"steps": 3}, "'lbfgs' has no option 'steps'; it has memory"),
        ({"method": "coordinate", "step": 3}, "it has none"),
        ({"memory": 0}, "memory must be a whole number"),
        ({"tol": -1}, "tol must be"),
        ({"tol": None}, "tol must be"),
        ({"max_iter": 1.5}, "max_iter must be"),
        ({"patience": 0}, "patience must be"),
        ({"line_search": "golden"}, "no line search 'golden'"),
        ({"line_search": 3}, "line_search must be"),
        ({"method": "adam", "line_search": "armijo"}, "makes no line search"),
        ({"method": "gradient", "line_search": "fixed"}, "needs its length"),
        ({"method": "gradient", "line_search": "armijo", "step": 0.1}, "exclude each other"),
        ({"method": "gradient", "step": -0.1}, "step must be a number above 0"),
        ({"method": "gradient", "step": "best"}, "step must be a number above 0"),
        ({"method": "gradient", "step": "optimal"}, "needs the Hessian"),
        ({"method": "gradient", "step": "optimal", "hess": np.diag([1.0, -1.0])}, "smallest eigenvalue at x0 is -1"),
        ({"method": "momentum", "decay": 1.0}, "decay must be"),
        ({"method": "momentum", "step": "optimal", "decay": 0.5, "hess": np.eye(2)}, "leave out decay"),
        ({"method": "adam", "beta2": 1.0}, "beta1 and beta2"),
        ({"method": "cg", "beta": "hs"}, "beta must be"),
        ({"method": "diagonal-newton", "offset": 0}, "offset must be"),
    ],
)
def test_bad_arguments_get_a_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        minimize(bowl, [1.0, 1.0], **arguments)


@pytest.mark.parametrize("out", [None, np.ones(2), "a", 1j, [1.0, 2.0]])
def test_functions_must_return_one_number(out):
    with pytest.raises(ValueError, match="fun must return one real number"):
        minimize(lambda x: out, [1.0, 1.0])


def test_what_is_no_function():
    with pytest.raises(ValueError, match="fun must be a function"):
        minimize(3.0, [1.0])


def test_errors_of_the_function_come_through():
    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        minimize(f, [1.0])
