"""Quadratic programs without a solution, and input that is none."""

import numpy as np
import pytest
from scipy import sparse

from didact.core.errors import InputError
from didact.optimize import kkt_residual, quadratic_program


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_no_solution(rng):
    eye, G = np.eye(2), rng.standard_normal((300, 90))
    for found in (
        quadratic_program(eye, [0, 0], G=[[1, 0], [-1, 0]], h=[0, -1]),
        quadratic_program(eye, [0, 0], [[1, 1], [2, 2]], [1, 3]),
        quadratic_program(eye, [0, 0], [[0, 0]], [1]),
        quadratic_program(eye, [0, 0], lower=[0, 2], upper=[1, 1]),
        quadratic_program(eye, [0, 0], G=[[1, 1]], h=[1], lower=1),
        quadratic_program(eye, [0, 0], G=[[0, 0]], h=[-1]),
        quadratic_program(eye, [0, 0], [[1, 1]], [3], upper=1),
        quadratic_program(np.eye(90), np.ones(90), G=np.vstack([G, -G[:1]]), h=np.append(np.ones(300), -2.0)),
    ):
        assert (found.status, found.value, found.converged) == ("infeasible", np.inf, False)
        assert np.isnan(found.x).all()
        assert "No point satisfies the constraints" in found.message
    for found in (
        quadratic_program(np.diag([1, 0]), [0, 1]),
        quadratic_program(np.diag([1, 0]), [0, 1], G=[[1, 1]], h=[0]),
        quadratic_program([[1, -1], [-1, 1]], [-1, -1], lower=0),
        quadratic_program(np.zeros((2, 2)), [1, -1], [[1, 1]], [0]),
    ):
        assert (found.status, found.value) == ("unbounded", -np.inf)
        assert "no lower bound" in found.message
    assert quadratic_program(np.diag([1, 0]), [0, 1], lower=-3).x == pytest.approx([0, -3])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"P": [[1.0, 2.0], [2.0, 1.0]]}, "not convex: P has the negative eigenvalue -1 .*the largest is 3"),
        ({"P": [[1.0, 2.0], [0.0, 1.0]]}, r"not symmetric: P\[0, 1\] = 2, but P\[1, 0\] = 0"),
        ({"P": [[1.0, 0.0]]}, "P must be square"),
        ({"P": np.eye(3)}, "one column for each of the 2 variables"),
        ({"P": [[np.nan, 0.0], [0.0, 1.0]]}, "P contains NaN or infinity"),
        ({"q": [[1.0, 2.0]]}, "q must have one dimension"),
        ({"q": [1.0, np.inf]}, r"q\[1\] is inf"),
        ({"G": [[1.0]]}, "G must have one column"),
        ({"h": None}, "G and h belong together"),
        ({"h": [np.nan]}, r"h\[0\] is nan"),
        ({"A_eq": [[1.0, 1.0]]}, "A_eq and b_eq belong together"),
        ({"A_eq": [[1.0, 1.0]], "b_eq": [1.0, 2.0]}, r"b_eq must have shape \(1,\)"),
        ({"lower": [0.0, 0.0, 0.0]}, "lower must have shape"),
        ({"upper": "high"}, "upper must hold numbers"),
        ({"x0": [0.0]}, "x0 must have shape"),
    ],
)
def test_bad_input(change, words):
    good = {"P": np.eye(2), "q": [1.0, 1.0], "G": sparse.csr_array([[1.0, 0.0]]), "h": [-2.0]}
    assert quadratic_program(**good).x.tolist() == [-2, -1]
    with pytest.raises(InputError, match=words):
        quadratic_program(**(good | change))


def test_rounding_in_p_is_forgiven(rng):
    M = rng.standard_normal((3, 8))
    P = M.T @ M + 1e-13 * rng.standard_normal((8, 8))
    found = quadratic_program(P, M.T @ np.ones(3), lower=-1)
    assert found.converged
    kkt = kkt_residual(found.x, P @ found.x + M.T @ np.ones(3), found.multipliers, lower=-1)
    assert kkt.satisfied(1e-7)
