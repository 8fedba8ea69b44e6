"""The preconditioner of sparse data is the inverse of the curvature that uncorrelated features would have."""

import numpy as np
import pytest
import scipy.sparse as sp

from didact.core.rows import MemoryRows
from didact.engines.linear.fit import fit_linear, preconditioner
from didact.engines.linear.objective import LinearObjective
from didact.parts.losses.classification import Logistic


def problem(fit_intercept):
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((400, 30)) < 0.4, rng.random((400, 30)) + 0.5, 0.0)
    y = (rng.random(400) < 1 / (1 + np.exp(dense @ rng.standard_normal(30) - 1))).astype(float)
    w = rng.random(400) + 0.5
    rows = MemoryRows(sp.csr_array(dense), y, w, None)
    return (
        dense,
        w,
        LinearObjective(rows=rows, loss=Logistic(), weight=w.sum(), alpha=0.01, fit_intercept=fit_intercept),
    )


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_preconditioner_inverts_the_curvature_of_uncorrelated_features(fit_intercept):
    dense, w, objective = problem(fit_intercept)
    mean = np.average(dense, axis=0, weights=w)
    edge = np.append(mean, 1.0) if fit_intercept else mean
    diagonal = 0.25 * np.average((dense - mean) ** 2, axis=0, weights=w) + 0.01
    H = 0.25 * np.outer(edge, edge) + np.diag(np.append(diagonal, 0.0) if fit_intercept else diagonal)
    g = np.random.default_rng(1).standard_normal(objective.size)
    np.testing.assert_allclose(preconditioner(objective, 0 * g)(g), np.linalg.solve(H, g), rtol=1e-9)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_sparse_lbfgs_reaches_newtons_solution_in_few_steps(fit_intercept):
    _, _, objective = problem(fit_intercept)
    found = fit_linear(objective, solver="lbfgs", tol=1e-9)
    expected = fit_linear(objective, solver="newton", tol=1e-12)
    assert found.converged
    assert found.n_iter <= 20
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-6, atol=1e-7)
