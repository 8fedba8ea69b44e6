"""Kernel models in closed form, by Newton steps and row by row: optimality, identities with linear models, strings."""

import numpy as np
import pytest
import scipy.sparse as sp

from didact.core.errors import InputError, ParameterError
from didact.engines.gram import logistic, online
from didact.kernel_ridge import KernelRidge
from didact.kernels import RBF, Linear, Polynomial, Sigmoid, StringSpectrum, StringSubsequence, WordOverlap
from didact.linear_model import LogisticRegression, Perceptron, Ridge, SGDRegressor
from didact.svm import LSSVC, KernelLogisticRegression, KernelPerceptron, KernelSGDRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
TWO = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
THREE = np.digitize(X[:, 0] + 0.5 * RNG.normal(size=90), [-0.5, 0.5])
LINE = (X @ [1.0, 2.0, -1.0] > 0.1).astype(int)
Z = X @ [1.0, 2.0, -1.0] + 0.1 * RNG.normal(size=90)
W = RNG.integers(0, 4, 90)
K = RBF(1.0)(X)


def spread(model, n=90):
    """Coefficients of all rows (n, outputs)."""
    table = np.zeros((n, len(model.dual_coef_)))
    table[model.support_] = model.dual_coef_.T
    return table


# least-squares machines


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_the_bordered_system_holds(y):
    model = LSSVC(C=3.0, kernel=RBF(1.0), class_weight={0: 2.0}).fit(X, y, W)
    alpha = spread(model)
    sides = np.where(y[:, None] == (np.array([1]) if y is TWO else np.arange(3)), 1.0, -1.0)
    weight = (W * np.where(y == 0, 2.0, 1.0))[:, None]
    np.testing.assert_allclose(alpha, 3.0 * weight * (sides - K @ alpha - model.intercept_), atol=1e-9)
    np.testing.assert_allclose(alpha.sum(axis=0), 0.0, atol=1e-9)


@pytest.mark.parametrize("constant", [True, False])
def test_least_squares_machines_are_ridge_regression_on_signs(constant):
    kernel = Polynomial(2, 1.0, 1.0)
    features = kernel.features(X)
    model = LSSVC(C=0.7, kernel=kernel, fit_intercept=constant).fit(X, TWO)
    ridge = Ridge(1 / 0.7, fit_intercept=constant).fit(features, 2.0 * TWO - 1)
    np.testing.assert_allclose(model.decision_function(X), ridge.predict(features), atol=1e-9)


def test_several_classes_are_one_against_the_rest():
    model = LSSVC(gamma=0.5).fit(X, THREE)
    for k in range(3):
        alone = LSSVC(gamma=0.5).fit(X, k == THREE)
        np.testing.assert_allclose(model.decision_function(X)[:, k], alone.decision_function(X), atol=1e-10)


def test_a_kernel_that_is_none_is_refused():
    with pytest.raises(InputError, match="not positive semidefinite"):
        LSSVC(C=1e6, kernel=Sigmoid(3.0, -2.0)).fit(X, TWO)


@pytest.mark.parametrize("cls", [LSSVC, KernelLogisticRegression, KernelPerceptron, KernelSGDRegressor])
@pytest.mark.parametrize("given", [True, False], ids=["matrix", "function"])
def test_a_kernel_that_is_none_ends_with_a_warning(cls, given):
    """With a strong penalty there is a solution, but no convex problem that it belongs to."""
    K = lambda A, B: A @ B.T - 2.0 * np.outer(A[:, 0], B[:, 0])
    params = {"C": 1e-4} if hasattr(cls, "C") else {"eta0": 1e-4} if cls is KernelSGDRegressor else {}
    with pytest.warns(UserWarning, match=f"{cls.__name__}: the kernel is not positive semidefinite"):
        cls(kernel="precomputed" if given else K, **params).fit(K(X, X) if given else X, TWO)


# logistic regression


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_the_linear_kernel_is_logistic_regression(y, constant):
    how = {"C": 2.0, "tol": 1e-9, "class_weight": "balanced", "fit_intercept": constant}
    ours = KernelLogisticRegression(kernel="linear", **how).fit(X, y, W)
    linear = LogisticRegression(**how).fit(X, y, W)
    np.testing.assert_allclose(ours.decision_function(X), linear.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), linear.predict_proba(X), atol=1e-7)
    np.testing.assert_allclose(np.exp(ours.predict_log_proba(X)), ours.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("direct", [True, False], ids=["Cholesky", "conjugate gradients"])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_the_gradient_in_the_features_is_zero(y, direct, monkeypatch):
    """β = Cω(1 of the class − P), as far as the kernel sees it, and the residuals of each class sum to zero."""
    monkeypatch.setattr(logistic, "DIRECT", 2000 if direct else 0)
    model = KernelLogisticRegression(C=5.0, kernel=RBF(1.0), tol=1e-10).fit(X, y, W)
    P = model.predict_proba(X)[:, 1:] if y is TWO else model.predict_proba(X)
    truth = y[:, None] == (np.array([1]) if y is TWO else np.arange(3))
    residual = W[:, None] * (truth - P)
    np.testing.assert_allclose(K @ spread(model), K @ (5.0 * residual), atol=1e-5)
    np.testing.assert_allclose(residual.sum(axis=0), 0.0, atol=1e-7)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(1, 1.0, 0.0)], ids=["linear", "a power of one"])
def test_weights_of_seven_orders_and_a_singular_gram_matrix_are_no_trouble(kernel):
    """The constants hardly curve the objective, and n − rank directions of the coefficients not at all."""
    rows, weight = 20.0 * X + 5.0, np.array([1e3, 1e-4, 1e-4])[THREE]
    model = KernelLogisticRegression(C=0.5, kernel=kernel, tol=1e-9).fit(rows, THREE, weight)
    residual = weight[:, None] * ((THREE[:, None] == np.arange(3)) - model.predict_proba(rows))
    gap = spread(model) / 0.5 - residual
    slopes = np.linalg.norm(rows.T @ gap)
    rounding = len(X) * np.finfo(float).eps * (np.sqrt(kernel.diagonal(rows)) @ np.abs(gap)).sum()
    assert slopes <= 1e-9 * weight.sum() + rounding
    np.testing.assert_allclose(residual.sum(axis=0), 0.0, atol=1e-9 * weight.sum())


@pytest.mark.parametrize("model", [KernelLogisticRegression(tol=1e-10), LSSVC()], ids=["logistic", "least squares"])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_the_linear_kernel_sees_rows_about_their_mean(model, y):
    """A shift by c costs the digits of c; the Gram matrix of rows as they are would lose those of c²."""
    shift, weight = np.array([0.0, 2.0**23, -(2.0**23)]), W.astype(float)
    model = model.set_params(kernel="linear", C=3.0)
    near = model.fit(X, y, weight).decision_function(X)
    far = model.fit(X + shift, y, weight)
    np.testing.assert_allclose(far.dual_coef_.sum(axis=1), 0.0, atol=1e-11)
    assert weight[far.support_].all()
    rounding = len(X) * np.finfo(float).eps * 2.0**23 * np.abs(far.dual_coef_).sum() * np.abs(X).max()
    np.testing.assert_allclose(far.decision_function(X + shift), near, atol=rounding)


def test_weights_are_repetitions():
    twice = np.repeat(X, W, axis=0), np.repeat(THREE, W)
    for model in (LSSVC(kernel=RBF(1.0)), KernelLogisticRegression(kernel=RBF(1.0), tol=1e-10)):
        expected = model.fit(*twice).decision_function(X)
        np.testing.assert_allclose(model.fit(X, THREE, W).decision_function(X), expected, atol=1e-6)
    batch = KernelSGDRegressor(kernel=RBF(1.0), method="batch", alpha=0.01, max_iter=20, tol=None)
    expected = batch.fit(twice[0], np.repeat(Z, W)).predict(X)
    np.testing.assert_allclose(batch.fit(X, Z, W).predict(X), expected, atol=1e-9)


# perceptrons


@pytest.mark.parametrize("variant", ["plain", "averaged", "voted"])
@pytest.mark.parametrize("y", [LINE, THREE], ids=["two", "three"])
@pytest.mark.filterwarnings("ignore:.*mistakes")
def test_the_linear_kernel_is_the_perceptron(y, variant):
    how = {"variant": variant, "shuffle": False, "max_iter": 20}
    ours = KernelPerceptron(kernel="linear", n_iter_no_change=None, **how).fit(X, y)
    linear = Perceptron(tol=None, **how).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), linear.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(ours.n_mistakes_, linear.n_mistakes_)
    np.testing.assert_array_equal(ours.predict(X), linear.predict(X))


def test_coefficients_count_mistakes_and_others_are_not_kept():
    model = KernelPerceptron(kernel=RBF(0.5), random_state=0).fit(X, TWO)
    assert model.score(X, TWO) == 1.0
    np.testing.assert_array_equal(model.dual_coef_, np.rint(model.dual_coef_))
    assert np.abs(model.dual_coef_).sum() <= model.n_mistakes_[0]
    assert len(model.support_) <= model.n_mistakes_[0]
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])


def test_the_bound_on_mistakes_holds():
    """No order makes more than R²‖u‖² mistakes, if y·f_u(x) ≥ 1 for all rows; here f_u interpolates ±1."""
    kernel = RBF(1.0) + 1
    u = np.linalg.solve(kernel(X), 2.0 * TWO - 1)
    bound = kernel.diagonal(X).max() * (u @ kernel(X) @ u)
    model = KernelPerceptron(kernel=kernel, fit_intercept=False, random_state=1).fit(X, TWO)
    assert model.n_mistakes_[0] <= bound


@pytest.mark.parametrize("variant", ["plain", "averaged", "voted"])
@pytest.mark.filterwarnings("ignore:.*mistakes")
def test_calls_of_partial_fit_are_one_pass(variant):
    whole = KernelPerceptron(gamma=0.5, shuffle=False, max_iter=1, variant=variant).fit(X, THREE)
    parts = KernelPerceptron(gamma=0.5, variant=variant)
    for a in range(0, 90, 30):
        parts.partial_fit(X[a : a + 30], THREE[a : a + 30], classes=[0, 1, 2])
    np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(parts.n_mistakes_, whole.n_mistakes_)


@pytest.mark.filterwarnings("ignore:.*mistakes")
def test_blocks_change_nothing(monkeypatch):
    expected = KernelPerceptron(gamma=0.5, shuffle=False, max_iter=5).fit(X, THREE).decision_function(X)
    steps = KernelSGDRegressor(gamma=0.5, shuffle=False, max_iter=3, alpha=0.01, tol=None).fit(X, Z).predict(X)
    monkeypatch.setattr(online, "BLOCK", 7)
    monkeypatch.setattr(online, "CACHED", 0)
    found = KernelPerceptron(gamma=0.5, shuffle=False, max_iter=5).fit(X, THREE).decision_function(X)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    found = KernelSGDRegressor(gamma=0.5, shuffle=False, max_iter=3, alpha=0.01, tol=None).fit(X, Z).predict(X)
    np.testing.assert_allclose(found, steps, atol=1e-9)


WORDS = ["singing", "running", "eating", "reading", "singer", "runner", "eater", "reader"]
KIND = ["verb"] * 4 + ["noun"] * 4


@pytest.mark.parametrize("kernel", [StringSpectrum(2), StringSubsequence(2)], ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("variant", ["plain", "averaged", "voted"])
def test_strings_are_learnt(kernel, variant):
    model = KernelPerceptron(kernel=kernel, variant=variant, random_state=0).fit(WORDS, KIND)
    assert model.predict(["walking", "walker"]).tolist() == ["verb", "noun"]


def test_strings_in_all_models():
    texts = ["a good film", "a very good film", "good", "a bad film", "bad bad film", "so bad"]
    liked = [1, 1, 1, 0, 0, 0]
    for model in (LSSVC(kernel=WordOverlap()), KernelLogisticRegression(kernel=WordOverlap())):
        assert model.fit(texts, liked).predict(["good one", "bad one"]).tolist() == [1, 0]
    model = KernelSGDRegressor(kernel=WordOverlap(), random_state=0).fit(texts, liked)
    assert model.predict(["good one"]) > model.predict(["bad one"])
    with pytest.raises(InputError, match="takes strings"):
        LSSVC(kernel=WordOverlap()).fit([1, 2], [0, 1])


# gradient steps


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_the_linear_kernel_is_the_rule_of_widrow_and_hoff(alpha):
    how = {"alpha": alpha, "eta0": 0.01, "shuffle": False, "max_iter": 4}
    ours = KernelSGDRegressor(kernel="linear", tol=None, **how).fit(X, Z)
    linear = SGDRegressor(penalty="l2", fit_intercept=False, learning_rate="constant", tol=None, **how).fit(X, Z)
    np.testing.assert_allclose(ours.predict(X), linear.predict(X), atol=1e-12)


def test_one_step_by_hand():
    """β₁ = η·y₁; then β₂ = η(y₂ − β₁k(x₁, x₂))."""
    model = KernelSGDRegressor(kernel=Linear(), eta0=0.5).partial_fit([[1.0], [2.0]], [1.0, 3.0])
    np.testing.assert_allclose(model.dual_coef_, [[0.5, 0.5 * (3.0 - 0.5 * 2.0)]])


def test_batches_of_steps_end_at_ridge_regression():
    model = KernelSGDRegressor(kernel=RBF(1.0), method="batch", alpha=0.05, tol=0.0, max_iter=5000).fit(X, Z)
    ridge = KernelRidge(kernel=RBF(1.0), alpha=0.05 * 90).fit(X, Z)
    np.testing.assert_allclose(model.predict(X), ridge.predict(X), atol=1e-9)
    assert model.loss_curve_[0] > model.loss_curve_[-1]


def test_partial_fit_of_steps_is_one_pass_and_targets_are_apart():
    Y = np.column_stack([Z, Z**2])
    whole = KernelSGDRegressor(gamma=0.5, eta0=0.3, shuffle=False, max_iter=1, tol=None).fit(X, Y)
    parts = KernelSGDRegressor(gamma=0.5, eta0=0.3, kernel=whole.kernel_)
    for a in range(0, 90, 45):
        parts.partial_fit(X[a : a + 45], Y[a : a + 45])
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), atol=1e-10)
    alone = KernelSGDRegressor(gamma=0.5, eta0=0.3, shuffle=False, max_iter=1, tol=None)
    np.testing.assert_allclose(alone.fit(X, Z).predict(X), whole.predict(X)[:, 0], atol=1e-10)


# what all share


@pytest.mark.parametrize("model", [LSSVC(), KernelLogisticRegression(), KernelPerceptron(shuffle=False)], ids=repr)
def test_matrices_functions_and_sparse_rows_give_the_answer_of_a_kernel(model):
    expected = model.set_params(kernel=RBF(1.0)).fit(X, TWO).decision_function(X)
    given = model.set_params(kernel="precomputed").fit(K, TWO).decision_function(K)
    np.testing.assert_allclose(given, expected, atol=1e-7)
    own = model.set_params(kernel=lambda A, B: RBF(1.0)(A, B)).fit(X, TWO).decision_function(X)
    np.testing.assert_allclose(own, expected, atol=1e-7)
    sparse = model.set_params(kernel="rbf", gamma=0.5).fit(sp.csr_array(X), TWO)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(X)), expected, atol=1e-7)


@pytest.mark.parametrize("model", [LSSVC(gamma=0.5), KernelLogisticRegression(gamma=0.5)], ids=repr)
def test_tensors_give_the_answer_of_arrays(model):
    torch = pytest.importorskip("torch")
    expected = model.fit(X, THREE).decision_function(X)
    found = model.fit(torch.as_tensor(X), torch.as_tensor(THREE)).decision_function(torch.as_tensor(X))
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-7)


def test_bad_input_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="square kernel matrix"):
        LSSVC(kernel="precomputed").fit(X, TWO)
    with pytest.raises(InputError, match="NaN or infinity"):
        KernelLogisticRegression(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(X, TWO)
    with pytest.raises(InputError, match="at least 2 classes"):
        KernelPerceptron().fit(X, np.zeros(90))
    with pytest.raises(ParameterError, match="classes must be passed on the first call"):
        KernelPerceptron().partial_fit(X, TWO)
    with pytest.raises(ParameterError, match="precomputed"):
        KernelPerceptron(kernel="precomputed").partial_fit(K, TWO, classes=[0, 1])
    with pytest.raises(ParameterError, match="voted"):
        KernelPerceptron(variant="voted", approximation="nystroem").fit(X, TWO)
    with pytest.raises(ParameterError, match="precomputed"):
        LSSVC(kernel="precomputed", approximation="nystroem").fit(K, TWO)


@pytest.mark.parametrize("model", [KernelLogisticRegression(), KernelPerceptron(), KernelSGDRegressor(), LSSVC()])
@pytest.mark.parametrize("huge", [1e160, 1e308])
def test_a_width_that_overflows_is_refused(model, huge):
    """The variance would be infinite, all rows alike, and all predictions one constant."""
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    X[0, 1] = huge
    with pytest.raises(InputError, match=r"Input X in column 1 .* overflow"):
        model.fit(X, y)
