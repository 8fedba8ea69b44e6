"""The smooth objective of linear models: derivatives against differences, penalties, offsets, several outputs."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime

from didact.core.rows import MemoryRows
from didact.engines.linear.fit import fit_linear, preconditioner
from didact.engines.linear.objective import LinearObjective, linear_predictor
from didact.parts.families import GLMLoss
from didact.parts.losses.classification import ClassLoss, Logistic, Softmax, SquaredLogistic, SquaredSoftmax


def objective(
    loss, outputs=1, fit_intercept=True, reference=False, weighted=True, offset=True, sparse=False, alpha=0.3
):
    rng = np.random.default_rng(0)
    n, p = 40, 3
    X = np.where(np.abs(X0 := rng.normal(size=(n, p))) > 0.3, X0, 0.0)
    if isinstance(loss, ClassLoss):
        y = rng.integers(0, outputs + reference, size=n)
    else:
        y = rng.integers(0, 2, size=n).astype(float)
    w = rng.uniform(0.2, 2, size=n) if weighted else None
    o = rng.normal(size=n) if offset and not isinstance(loss, ClassLoss) else None
    rows = MemoryRows(sp.csr_array(X) if sparse else X, y, w, o)
    weight = float(n if w is None else w.sum())
    return LinearObjective(
        rows=rows,
        loss=loss,
        weight=weight,
        alpha=alpha,
        fit_intercept=fit_intercept,
        outputs=outputs,
        reference=reference,
    )


CASES = {
    "logistic": {"loss": Logistic()},
    "poisson": {"loss": GLMLoss("poisson", "log")},
    "no intercept": {"loss": Logistic(), "fit_intercept": False},
    "plain": {"loss": Logistic(), "weighted": False, "offset": False, "alpha": 0.0},
    "sparse": {"loss": Logistic(), "sparse": True},
    "alpha per feature": {"loss": Logistic(), "alpha": np.array([0.0, 1.0, 2.0])},
    "squared": {"loss": SquaredLogistic()},
    "softmax": {"loss": Softmax(), "outputs": 3},
    "softmax, sparse": {"loss": Softmax(), "outputs": 3, "sparse": True},
    "softmax, no intercept": {"loss": Softmax(), "outputs": 3, "fit_intercept": False},
    "softmax, reference": {"loss": Softmax(), "outputs": 2, "reference": True},
    "softmax, reference, sparse": {"loss": Softmax(), "outputs": 2, "reference": True, "sparse": True},
    "squared softmax": {"loss": SquaredSoftmax(), "outputs": 3},
}


@pytest.mark.parametrize("case", CASES)
def test_gradient_against_differences(case):
    f = objective(**CASES[case])
    theta = np.random.default_rng(1).normal(size=f.size)
    value, gradient = f.value_gradient(theta)
    np.testing.assert_allclose(
        gradient, approx_fprime(theta, lambda t: f.value_gradient(t)[0], 1e-6), rtol=1e-4, atol=1e-6
    )
    again = f.value_gradient_hessian(theta)
    assert again[0] == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(again[1], gradient, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("case", [c for c in CASES if "squared" not in c])
def test_curvature_against_differences(case):
    """Canonical links: the Fisher curvature is the second derivative."""
    f = objective(**CASES[case])
    theta = np.random.default_rng(1).normal(size=f.size)
    H = f.value_gradient_hessian(theta)[2]
    steps = [(f.value_gradient(theta + e)[1] - f.value_gradient(theta - e)[1]) / 2e-5 for e in 1e-5 * np.eye(f.size)]
    np.testing.assert_allclose(H, np.array(steps), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("case", CASES)
def test_curvature_is_never_negative(case):
    f = objective(**CASES[case])
    for seed in range(3):
        H = f.value_gradient_hessian(3 * np.random.default_rng(seed).normal(size=f.size))[2]
        np.testing.assert_allclose(H, H.T, rtol=1e-12, atol=1e-14)
        assert np.linalg.eigvalsh(H).min() >= -1e-12


@pytest.mark.parametrize("case", CASES)
def test_block_curvature_is_the_diagonal_of_the_whole(case):
    f = objective(**CASES[case])
    if CASES[case].get("sparse"):
        return
    theta = np.random.default_rng(1).normal(size=f.size)
    H = f.value_gradient_hessian(theta)[2]
    width = f.size // f.outputs
    blocks = [H[k * width : (k + 1) * width, k * width : (k + 1) * width] for k in range(f.outputs)]
    np.testing.assert_allclose(f.block_curvature(theta), blocks, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_parameters_are_a_table_with_the_intercept_last(case):
    f = objective(**CASES[case])
    theta = np.arange(float(f.size))
    table = f.table(theta)
    np.testing.assert_array_equal(f.vector(table), theta)
    assert table.shape == (f.outputs, 4)
    assert len(f.penalties()) == f.size
    assert (f.table(f.penalties())[:, -1] == 0).all(), "intercepts are not penalised"
    if not f.fit_intercept:
        assert (table[:, -1] == 0).all()


@pytest.mark.parametrize("case", CASES)
def test_predictors_are_those_of_the_table(case):
    """They are the product of (X, 1) with the table, and 0 for a reference; a loss of one score gets (n,)."""
    f = objective(**CASES[case])
    table = f.table(np.random.default_rng(1).normal(size=f.size))
    X, _, _, offset, _ = f.rows.columns
    dense = X.toarray() if sp.issparse(X) else X
    expected = np.column_stack([dense, np.ones(len(dense))]) @ table.T
    expected = expected + (0.0 if offset is None else offset[:, None])
    expected = np.column_stack([expected, np.zeros(len(dense))]) if f.reference else expected
    found = linear_predictor(X, table, offset, f.loss, f.reference)
    np.testing.assert_allclose(found, expected if f.several else expected[:, 0], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("centred", [False, True])
def test_identified_rows_have_the_same_probabilities(case, centred):
    f = objective(**CASES[case])
    theta = np.random.default_rng(1).normal(size=f.size)
    table, whole = f.table(theta), f.identified(theta, centred)
    assert len(whole) == len(table) + f.reference
    if not f.several:
        np.testing.assert_array_equal(whole, table)
        return
    assert whole[-1, :-1].any() != f.reference
    if not f.reference:
        sums = np.abs(whole.sum(axis=0)) < 1e-14
        assert sums[-1]
        assert sums[:-1].all() == centred
    shift = whole[: len(table)] - table
    np.testing.assert_allclose(shift, np.broadcast_to(shift[0], shift.shape), atol=1e-14)


@pytest.mark.parametrize("case", CASES)
def test_solvers_agree(case):
    if "squared" in case:
        return
    f = objective(**CASES[case])
    found = [fit_linear(f, solver=solver, tol=1e-10, max_iter=500) for solver in ("newton", "lbfgs", "auto")]
    for result in found:
        assert result.converged, result.message
        assert result.value == pytest.approx(found[0].value, rel=1e-11)
    if not f.several or f.reference:
        np.testing.assert_allclose(found[1].x, found[0].x, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("case", ["logistic", "softmax", "sparse", "no intercept"])
def test_l1_optimality(case):
    f = objective(**CASES[case])
    l1 = 0.05
    result = fit_linear(f, l1, tol=1e-9, max_iter=500)
    assert result.converged
    gradient, coef = f.table(f.value_gradient(result.x)[1])[:, :-1], f.table(result.x)[:, :-1]
    wrong = np.where(coef != 0, np.abs(gradient + l1 * np.sign(coef)), np.maximum(np.abs(gradient) - l1, 0))
    assert wrong.max() <= 2e-9


def test_on_columns():
    f = objective(Logistic(), alpha=np.array([0.1, 0.2, 0.3]))
    part = f.on_columns(np.array([0, 2]))
    theta = np.array([0.5, -0.5, 1.0])
    whole = f.value_gradient(np.array([0.5, 0.0, -0.5, 1.0]))
    value, gradient = part.value_gradient(theta)
    assert value == pytest.approx(whole[0], rel=1e-13)
    np.testing.assert_allclose(gradient, whole[1][[0, 2, 3]], rtol=1e-12)


def test_preconditioner_is_the_inverse_of_the_curvature_of_one_output():
    f = objective(Logistic())
    theta = np.random.default_rng(1).normal(size=f.size)
    g = np.random.default_rng(2).normal(size=f.size)
    H = f.value_gradient_hessian(theta)[2]
    np.testing.assert_allclose(preconditioner(f, theta)(g), np.linalg.solve(H, g), rtol=1e-5)


def test_sampled_start_and_all_rows_agree():
    """60,000 rows: the fit starts from every sixteenth of them, and ends where a fit without that start ends."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 3))
    y = (rng.uniform(size=60_000) < 1 / (1 + np.exp(-X @ [1.0, -1.0, 0.5]))).astype(float)
    f = LinearObjective(MemoryRows(X, y, None, None), Logistic(), 60_000.0)
    found = [fit_linear(f, solver=s, tol=1e-9) for s in ("auto", "newton")]
    assert all(r.converged for r in found)
    np.testing.assert_allclose(found[0].x, found[1].x, rtol=1e-7, atol=1e-8)  # gradients are within 1e-9
