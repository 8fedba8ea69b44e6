"""Linear machines: duality gaps, optimality conditions, scikit-learn, identities, weights as repetition, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn import svm
from sklearn.datasets import load_diabetes, load_digits, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning

from didact.core.errors import InputError, ParameterError
from didact.engines.gram.dual_descent import (
    box_of_classes,
    box_of_targets,
    descend_classes,
    descend_rows,
    dual_value,
    row_squares,
)
from didact.engines.stochastic.row_loops import Dense, Sparse
from didact.svm import SVC, LinearSVC, LinearSVR

X, Y = load_iris(return_X_y=True)
TWO = Y == 1
ROWS, NUMBERS = load_diabetes(return_X_y=True)
ROWS, NUMBERS = 20.0 * ROWS[:150], NUMBERS[:150] / 50.0
LOSSES = ["hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive"]


def box(loss, price):
    """Rows and a dual of a loss."""
    squared = loss.startswith("squared")
    if "hinge" in loss:
        return X, box_of_classes(np.where(TWO, 1.0, -1.0), price[: len(X)], squared, 1.0)
    return ROWS, box_of_targets(NUMBERS, price, 0.1, squared, 1.0)


def primal_value(rows, dual, w, price, squared):
    """½|w|² plus the prices of what exceeds the margin or the tube."""
    z = rows @ w[:-1] + dual.constant * w[-1]
    excess = 1.0 - dual.target * z if dual.epsilon == 0 else np.abs(z - dual.target) - dual.epsilon
    return 0.5 * w @ w + price @ np.maximum(excess, 0.0) ** (2 if squared else 1)


@pytest.mark.parametrize("kind", ["dense", "sparse", "single"])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_duality_gap_closes(loss, kind):
    """Primal plus dual is at least 0, and 0 at the optimum alone; prices differ, and some are 0."""
    price = np.random.default_rng(0).integers(0, 4, 150) / 2.0
    rows, dual = box(loss, price)
    rows = rows.astype(np.float32) if kind == "single" else rows
    S = sp.csr_array(rows)
    design = Sparse(S.data, S.indices, S.indptr) if kind == "sparse" else Dense(rows)
    given = S if kind == "sparse" else rows
    found = descend_rows(given, design, row_squares(given, 1.0), dual, 1e-9, 2000)
    assert found.converged
    beta, w = found.multipliers, found.x
    assert ((beta >= dual.lower) & (beta <= dual.upper)).all()
    np.testing.assert_allclose(w, np.append(rows.T @ beta, beta.sum()), atol=1e-9 * np.abs(beta).sum())
    value = primal_value(rows, dual, w, price[: len(rows)], loss.startswith("squared"))
    gap = value + dual_value(dual, beta, w)
    assert -1e-9 * value <= gap <= 1e-6 * value


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_primal_minimum_is_found(loss):
    """No other method (BFGS from the solution, on the same formula) gets lower."""
    model = LinearSVC(loss=loss, tol=1e-9, C=0.7, intercept_scaling=3.0).fit(X, TWO)
    sign, power = np.where(TWO, 1.0, -1.0), 2 if loss == "squared_hinge" else 1

    def value(w):
        return 0.5 * w @ w + 0.7 * (np.maximum(0.0, 1.0 - sign * (X @ w[:4] + 3.0 * w[4])) ** power).sum()

    here = np.append(model.coef_[0], model.intercept_[0] / 3.0)
    rng = np.random.default_rng(0)
    assert all(value(here + 1e-3 * rng.normal(size=5)) >= value(here) for _ in range(200))
    assert minimize(value, here, method="Powell").fun >= value(here) * (1.0 - 1e-7)


@pytest.mark.parametrize("labels", [Y, TWO], ids=["three", "two"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"dual": True},
        {"loss": "hinge"},
        {"penalty": "l1", "dual": False},
        {"intercept_scaling": 7.0, "class_weight": "balanced"},
        {"fit_intercept": False},
    ],
    ids=str,
)
def test_classes_agree_with_scikit_learn(params, labels):
    ours = LinearSVC(tol=1e-8, max_iter=10_000, **params).fit(X, labels)
    theirs = svm.LinearSVC(tol=1e-7, max_iter=1_000_000, **params).fit(X, labels)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("labels", [Y, TWO], ids=["three", "two"])
def test_all_classes_jointly_agree_with_scikit_learn(labels):
    how = {"multi_class": "crammer_singer", "C": 0.1}
    ours = LinearSVC(tol=1e-6, max_iter=20_000, **how).fit(X, labels)
    theirs = svm.LinearSVC(tol=1e-6, max_iter=1_000_000, **how).fit(X, labels)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("tol", [1e-1, 1e-4, 1e-8])
def test_all_classes_jointly_have_no_duality_gap(form, tol):
    """½‖W‖² + C Σ max_c(1[c ≠ y] + z_c − z_y) is that of the dual, as near as the violation of each row allows.

    Rows and classes that are left out are looked at again before the end, so that the bound holds for all of them. At
    the default limit, which counts passes over all rows, digits are separated to the end.
    """
    digits, codes = load_digits(return_X_y=True)
    A, codes, C = digits[:400] / 16.0, codes[:400], 0.3
    rows = form(A)
    parts = [rows] if form is np.asarray else [rows.data, rows.indices, rows.indptr]
    for part in parts:
        part.flags.writeable = False
    design = Dense(*parts) if form is np.asarray else Sparse(*parts)
    found = descend_classes(rows, design, row_squares(A, 1.0), codes, np.full(400, C), 1.0, tol, 1000)
    assert found.converged
    W, beta, own = found.x, found.multipliers, (np.arange(400), codes)
    np.testing.assert_allclose(np.column_stack([A, np.ones(400)]).T @ beta, W, atol=1e-9)
    np.testing.assert_allclose(beta.sum(axis=1), 0.0, atol=1e-12)
    assert (beta <= C * (np.arange(10) == codes[:, None]) + 1e-15).all()
    slack = A @ W[:-1] + W[-1]
    slack = (slack + (np.arange(10) != codes[:, None]) - slack[own][:, None]).max(axis=1)
    gap = 0.5 * (W * W).sum() + C * slack.sum() + found.value
    assert -1e-9 < gap <= 400 * C * tol * 5  # a row's gap is at most C times its violation when it was looked at


@pytest.mark.parametrize("loss", LOSSES[2:])
@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_regression_agrees_with_scikit_learn(loss, epsilon):
    ours = LinearSVR(loss=loss, epsilon=epsilon, tol=1e-8).fit(ROWS, NUMBERS)
    theirs = svm.LinearSVR(loss=loss, epsilon=epsilon, tol=1e-8, max_iter=1_000_000).fit(ROWS, NUMBERS)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def test_dual_and_primal_have_one_optimum():
    for cls, y, loss in ((LinearSVC, Y, "squared_hinge"), (LinearSVR, X[:, 0], "squared_epsilon_insensitive")):
        one, other = (cls(loss=loss, dual=dual, tol=1e-9).fit(X[:, 1:], y) for dual in (True, False))
        np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-7)
        np.testing.assert_allclose(one.intercept_, other.intercept_, atol=1e-7)


def test_a_free_constant_is_that_of_the_kernel_machine():
    """With a large constant column its weight costs nothing, and the hinge loss is that of SVC with a linear kernel."""
    linear = LinearSVC(loss="hinge", intercept_scaling=1e4, tol=1e-9, max_iter=10_000).fit(X, TWO)
    machine = SVC(kernel="linear", tol=1e-9).fit(X, TWO)
    np.testing.assert_allclose(linear.coef_, machine.coef_, atol=1e-4)
    np.testing.assert_allclose(linear.intercept_, machine.intercept_, atol=1e-3)


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(tol=1e-9, loss="hinge"),
        LinearSVC(tol=1e-9),
        LinearSVC(tol=1e-9, penalty="l1"),
        LinearSVC(tol=1e-7, multi_class="crammer_singer", max_iter=20_000, C=0.01),
        LinearSVR(tol=1e-9, epsilon=0.1),
    ],
    ids=str,
)
def test_weights_are_repetitions(model):
    w = np.random.default_rng(0).integers(0, 4, 150)
    weighted = model.fit(X, Y, sample_weight=w).coef_.copy()
    repeated = model.fit(np.repeat(X, w, axis=0), np.repeat(Y, w)).coef_
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)


def test_several_targets_are_fitted_one_by_one():
    for loss in LOSSES[2:]:
        both = LinearSVR(loss=loss, tol=1e-8).fit(ROWS, np.column_stack([NUMBERS, -2 * NUMBERS]))
        alone = LinearSVR(loss=loss, tol=1e-8).fit(ROWS, -2 * NUMBERS)
        assert both.coef_.shape == (2, 10)
        np.testing.assert_allclose(both.predict(ROWS)[:, 1], alone.predict(ROWS), atol=1e-5)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    wide, y = rng.normal(size=(40, 400)), rng.integers(0, 2, 40)
    for loss in LOSSES[:2]:
        model = LinearSVC(loss=loss, tol=1e-8).fit(wide, y)
        assert model.score(wide, y) == 1.0
        theirs = svm.LinearSVC(loss=loss, tol=1e-8, max_iter=100_000).fit(wide, y)
        np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-6)


def test_coefficients_can_be_sparse():
    model = LinearSVC(penalty="l1", C=0.05).fit(X, Y)
    scores = model.decision_function(X)
    assert (model.coef_ == 0).any()
    np.testing.assert_allclose(model.sparsify().decision_function(X), scores)
    np.testing.assert_allclose(model.densify().decision_function(X), scores)


def test_rows_on_two_margins_are_ties():
    """A row of the third class on the margins of both others has the value −1 in both: the first class is taken."""
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(240, 5)), rng.integers(0, 3, 240)
    model = LinearSVC(loss="hinge", tol=1e-10, C=0.5).fit(rows, y)
    order = rng.permutation(240)
    again = LinearSVC(loss="hinge", tol=1e-10, C=0.5).fit(rows[order], y[order])
    np.testing.assert_array_equal(model.predict(rows), again.predict(rows))


def test_limits_end_honestly():
    rows, y = make_classification(400, 10, flip_y=0.2, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = LinearSVC(loss="hinge", max_iter=3, tol=1e-10).fit(rows, y)
    assert model.n_iter_ == 3


def test_bad_input_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="at least 2 classes"):
        LinearSVC().fit(X, np.zeros(150))
    with pytest.raises(InputError, match="at least 2 classes"):
        LinearSVC().fit(X, TWO, sample_weight=TWO.astype(float))
    for C in (0.0, -1.0, np.inf):
        with pytest.raises(ValueError, match="'C' parameter"):
            LinearSVC(C=C).fit(X, Y)
    with pytest.raises(InputError, match=r"columns 0, 1, 2, 3 has values up to .* overflow: divide it"):
        LinearSVC(loss="hinge").fit(1e160 * X, Y)
    with pytest.raises(InputError, match="contains NaN"):
        LinearSVR().fit(np.where(X > 5.0, np.nan, X), X[:, 0])
    for params in (
        {"penalty": "l1", "loss": "hinge"},
        {"loss": "hinge", "dual": False},
        {"penalty": "l1", "dual": True},
    ):
        with pytest.raises(ParameterError, match=r"Unsupported set of arguments: .*penalty='l.*loss='.*dual="):
            LinearSVC(**params).fit(X, Y)
