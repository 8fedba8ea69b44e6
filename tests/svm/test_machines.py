"""Support vector machines: optimality conditions, a quadratic program, scikit-learn, weights as repetition, limits."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import log_loss

from didact.core.errors import InputError
from didact.engines.gram import smo
from didact.kernels import RBF, Linear, StringSpectrum
from didact.svm import SVC, SVR, OneClassSVM
from didact.svm.calibration import coupled, sigmoid

X, Y = load_iris(return_X_y=True)
TWO, LABELS = X[50:, :2], Y[50:]


def kkt(model, K, y, bound):
    """The largest violation of the conditions of the soft margin, from the definition."""
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0] * sign[model.support_]
    margin = sign * (K @ (sign * alpha) + model.intercept_[0]) - 1.0
    assert (alpha >= 0).all()
    assert (alpha <= bound).all()
    assert abs(sign @ alpha) < 1e-9 * bound.max()
    return max(
        np.maximum(-margin, 0.0)[alpha == 0].max(initial=0.0),
        abs(margin)[(alpha > 0) & (alpha < bound)].max(initial=0.0),
        np.maximum(margin, 0.0)[alpha == bound].max(initial=0.0),
    )


@pytest.mark.parametrize("tol", [1e-3, 1e-8])
@pytest.mark.parametrize("C", [0.1, 1.0, 1000.0])
def test_the_optimality_conditions_hold_to_the_tolerance(C, tol):
    model = SVC(C=C, tol=tol, gamma=0.5).fit(TWO, LABELS)
    assert model.kkt_residual_ <= tol
    assert kkt(model, RBF(1.0)(TWO), LABELS, np.full(100, C)) <= tol


def test_the_solution_is_that_of_a_quadratic_program():
    """Of the dual, by another method (SLSQP) on 20 rows."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(20, 2)), rng.integers(0, 2, 20)
    sign = 2.0 * labels - 1.0
    Q = np.outer(sign, sign) * RBF(1.0)(rows)
    found = minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(),
        np.zeros(20),
        jac=lambda a: Q @ a - 1.0,
        bounds=[(0, 2.0)] * 20,
        constraints={"type": "eq", "fun": lambda a: sign @ a, "jac": lambda a: sign},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    model = SVC(C=2.0, gamma=0.5, tol=1e-9).fit(rows, labels)
    alpha = np.zeros(20)
    alpha[model.support_] = abs(model.dual_coef_[0])
    assert 0.5 * alpha @ Q @ alpha - alpha.sum() <= found.fun + 1e-9
    np.testing.assert_allclose(alpha, found.x, atol=1e-5)


@pytest.mark.parametrize(
    "params",
    [{}, {"kernel": "linear"}, {"kernel": "poly", "coef0": 1.0}, {"class_weight": "balanced"}, {"break_ties": True}],
    ids=str,
)
@pytest.mark.parametrize("shape", ["ovo", "ovr"])
def test_classes_agree_with_scikit_learn(params, shape):
    if params.get("break_ties") and shape == "ovo":
        params = {}
    params = {**params, "tol": 1e-8, "decision_function_shape": shape}
    ours, theirs = SVC(**params).fit(X, Y), svm.SVC(**params).fit(X, Y)
    # libsvm rounds the kernel to single precision
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-3, atol=1e-3)


def test_one_against_the_rest_is_each_class_alone():
    model = SVC(strategy="ovr", tol=1e-8).fit(X, Y)
    for k in range(3):
        alone = SVC(tol=1e-8).fit(X, k == Y)
        np.testing.assert_allclose(model.decision_function(X)[:, k], alone.decision_function(X), atol=1e-6)


def test_the_hard_margin_by_hand():
    """Points 1 and 2 are nearest to each other: the boundary is 1.5, and the margin reaches 0.5 to either side."""
    model = SVC(C=np.inf, kernel="linear", tol=1e-10).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    np.testing.assert_allclose([model.coef_[0, 0], model.intercept_[0], model.margins_[0]], [2.0, -3.0, 0.5])
    np.testing.assert_array_equal(model.support_, [1, 2])
    np.testing.assert_allclose(model.slack_, 0.0, atol=1e-9)


def test_what_cannot_be_separated_has_no_hard_margin():
    with pytest.raises(InputError, match="cannot be separated"):
        SVC(C=np.inf, kernel="linear").fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_weights_are_repetitions(kernel):
    w = np.random.default_rng(0).integers(0, 4, 100)
    weighted = SVC(kernel=kernel, tol=1e-9).fit(TWO, LABELS, w)
    repeated = SVC(kernel=kernel, tol=1e-9).fit(np.repeat(TWO, w, axis=0), np.repeat(LABELS, w))
    np.testing.assert_allclose(weighted.decision_function(TWO), repeated.decision_function(TWO), atol=1e-6)


@pytest.mark.parametrize("params", [{"C": 100.0}, {"kernel": "linear", "C": 10.0}, {"epsilon": 0.0}], ids=str)
def test_regression_agrees_with_scikit_learn(params):
    rows, y = load_diabetes(return_X_y=True)
    ours, theirs = SVR(tol=1e-6, **params).fit(rows, y), svm.SVR(tol=1e-6, **params).fit(rows, y)
    np.testing.assert_allclose(ours.predict(rows), theirs.predict(rows), atol=1e-3)


def test_the_tube_of_regression():
    """Inside the tube β = 0, on its edge 0 < |β| < C, outside |β| = C."""
    rows, y = load_diabetes(return_X_y=True)
    model = SVR(C=50.0, epsilon=20.0, tol=1e-8).fit(rows, y)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    error = y - model.predict(rows)
    assert abs(beta.sum()) < 1e-8
    assert (abs(error[beta == 0]) <= 20.0 + 1e-7).all()
    np.testing.assert_allclose(error[abs(beta) == 50.0] * np.sign(beta[abs(beta) == 50.0]) >= 20.0 - 1e-7, True)
    free = (beta != 0) & (abs(beta) < 50.0)
    np.testing.assert_allclose(error[free], 20.0 * np.sign(beta[free]), atol=1e-6)


def test_a_tube_without_a_price():
    """With C=inf all rows lie within ε, or there is no such function; a constant needs no support vectors."""
    x = np.linspace(0, 6, 30)[:, None]
    model = SVR(C=np.inf, epsilon=0.05, tol=1e-6).fit(x, np.sin(x[:, 0]))
    assert abs(model.predict(x) - np.sin(x[:, 0])).max() <= 0.05 + 1e-5
    with pytest.raises(InputError, match="No function of this kernel comes within epsilon"):
        SVR(C=np.inf, kernel="linear", epsilon=0.05).fit(x, np.sin(x[:, 0]))
    np.testing.assert_allclose(SVR(C=np.inf).fit(x, np.ones(30)).predict(x), 1.0, atol=0.1)


def test_several_targets_are_fitted_one_by_one():
    rows, y = load_diabetes(return_X_y=True)
    both = SVR(tol=1e-7).fit(rows, np.column_stack([y, -2 * y])).predict(rows)
    np.testing.assert_allclose(both[:, 1], SVR(tol=1e-7).fit(rows, -2 * y).predict(rows), atol=1e-5)


@pytest.mark.parametrize("nu", [0.05, 0.3, 0.9])
def test_nu_bounds_outliers_and_support_vectors(nu):
    rows = np.random.default_rng(0).normal(size=(397, 3))  # no share of them is whole, so that ρ is unique
    model, theirs = OneClassSVM(nu=nu, tol=1e-8).fit(rows), svm.OneClassSVM(nu=nu, tol=1e-8).fit(rows)
    assert (model.predict(rows) < 0).mean() <= nu <= len(model.support_) / 397
    np.testing.assert_allclose(model.decision_function(rows), theirs.decision_function(rows), atol=1e-3)


def test_shrinking_and_a_small_cache_change_nothing(monkeypatch):
    """Working sets of 40 variables, and a cache for twice as many rows."""
    monkeypatch.setattr(smo, "WORKING_SET", 40)
    rows, y = make_classification(600, 8, n_informative=5, flip_y=0.1, random_state=0)
    plain = SVC(tol=1e-8, shrinking=False).fit(rows, y)
    shrunk = SVC(tol=1e-8, cache_size=1e-3).fit(rows, y)
    np.testing.assert_allclose(shrunk.decision_function(rows), plain.decision_function(rows), atol=1e-6)
    assert shrunk.kkt_residual_ <= 1e-8


def test_kernels_functions_matrices_and_names_agree():
    torch = pytest.importorskip("torch")
    expected = SVC(gamma=0.5, tol=1e-8).fit(X, Y).decision_function(X)
    K = RBF(1.0)(X)
    for kernel, rows in ((RBF(1.0), X), (lambda A, B: RBF(1.0)(A, B), X), ("precomputed", K)):
        found = SVC(kernel=kernel, tol=1e-8).fit(rows, Y).decision_function(rows)
        np.testing.assert_allclose(found, expected, atol=1e-6)
    sparse = SVC(gamma=0.5, tol=1e-8).fit(sp.csr_array(X), Y)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(X)), expected, atol=1e-6)
    tensors = SVC(gamma=0.5, tol=1e-8).fit(torch.asarray(X), Y).decision_function(torch.asarray(X))
    np.testing.assert_allclose(tensors.numpy(), expected, atol=1e-6)


def test_limits_end_honestly():
    rows, y = make_classification(500, 10, flip_y=0.2, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"violated by .*iteration limit"):
        model = SVC(C=100.0, max_iter=20).fit(rows, y)
    assert (model.fit_status_, model.n_iter_[0]) == (1, 20)
    assert model.kkt_residual_ > model.tol
    with pytest.warns(ConvergenceWarning, match=r"\(time limit\).*time_limit"):
        SVC(C=100.0, time_limit=1e-9).fit(rows, y)


def test_bad_input_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="at least two classes"):
        SVC().fit(X, np.zeros(150))
    with pytest.raises(InputError, match="square kernel matrix"):
        SVC(kernel="precomputed").fit(X, Y)
    for cls in (SVC, SVR, OneClassSVM):
        with pytest.raises(InputError, match="NaN or infinity for row"):
            cls(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(X, Y)
    with pytest.raises(InputError, match=r"returned shape \(1, 1\)"):
        SVC(kernel=lambda A, B: np.ones((1, 1))).fit(X, Y)
    for C in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="'C' parameter"):
            SVC(C=C).fit(X, Y)
    with pytest.raises(InputError, match="at least two classes"):
        SVC().fit(X, Y == 1, sample_weight=(Y == 1).astype(float))
    with pytest.raises(ValueError, match="Sample weights must contain"):
        SVC().fit(X, Y, sample_weight=np.zeros(150))


def test_a_kernel_that_is_not_positive_semidefinite_ends_with_a_warning():
    """Its dual is not convex, so that a stationary point is all that can be found."""
    with pytest.warns(UserWarning, match="not positive semidefinite on the fitted rows"):
        model = SVC(kernel="sigmoid", gamma=1.0, coef0=-1.0).fit(TWO - TWO.mean(axis=0), LABELS)
    assert np.isfinite(model.decision_function(TWO)).all()
    for cls in (SVC, SVR, OneClassSVM):
        with pytest.warns(UserWarning, match="not positive semidefinite"):
            cls(kernel="precomputed").fit(-TWO @ TWO.T, LABELS)


def test_a_matrix_that_is_not_symmetric_is_no_kernel():
    K = RBF(1.0)(TWO)
    K[3, 7] += 0.1
    with pytest.raises(InputError, match=r"not symmetric: X\[3, 7\] is .* X\[7, 3\] is"):
        SVC(kernel="precomputed").fit(K, LABELS)


@pytest.mark.parametrize("cls", [SVC, SVR, OneClassSVM])
def test_sizes_whose_squares_overflow_or_vanish_are_refused(cls):
    with pytest.raises(InputError, match=r"columns 0, 1 has values up to .* overflow: divide it"):
        cls().fit(1e160 * TWO, LABELS)
    with pytest.raises(InputError, match=r"columns 0, 1 has no values above .* vanish: multiply it"):
        cls().fit(1e-163 * TWO, LABELS)


def test_a_hard_margin_in_columns_of_unequal_size():
    """What tells the classes apart is a column 10⁻⁴ as large as the other: α is above 10⁷ in units of 1/k(x, x)."""
    rng = np.random.default_rng(0)
    side = np.where(np.arange(80) % 2 == 0, 1.0, -1.0)
    rows = np.column_stack([1e4 * rng.normal(size=80), side * (1.0 + rng.random(80))])
    model = SVC(C=np.inf, kernel="linear").fit(rows, side)
    assert (side * model.decision_function(rows)).min() > 0.99
    assert 1.0 <= model.margins_[0] < 1.2
    rows[7, 1] = 1.5  # amid the other class
    rows[7, 0] = 0.0
    with pytest.raises(InputError, match="cannot be separated"):
        SVC(C=np.inf, kernel="linear").fit(rows, side)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_hard_margin_goes_with_the_units_of_the_rows(unit):
    rows = unit * np.array([[0.0], [1.0], [3.0], [4.0]])
    assert SVC(C=np.inf, kernel="linear").fit(rows, [0, 0, 1, 1]).margins_[0] == pytest.approx(unit, rel=1e-3)
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(60, 3))
    with pytest.raises(InputError, match="cannot be separated"):
        SVC(C=np.inf, kernel="linear").fit(unit * mixed, mixed[:, 0] + 0.3 * rng.normal(size=60) > 0)


def test_the_border_of_one_class_does_not_depend_on_the_unit_of_weights():
    rows = np.random.default_rng(0).normal(size=(97, 3))
    expected = OneClassSVM(nu=0.2).fit(rows).predict(rows)
    for unit in (1e-300, 1e-3, 1e300):
        np.testing.assert_array_equal(
            OneClassSVM(nu=0.2).fit(rows, sample_weight=np.full(97, unit)).predict(rows), expected
        )
    few = OneClassSVM(nu=1e-9).fit(rows)  # a tube so thin that α sums to 1e-7: hardly a row is outside
    assert (few.predict(rows) < 0).sum() <= 1


def test_a_row_on_two_margins_is_a_tie():
    """Of one class against the rest: the value is −1 in both, and rounding must not choose. Order changes nothing."""
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(240, 5)), rng.integers(0, 3, 240)
    how = {"kernel": "poly", "gamma": 0.2, "coef0": 1.0, "strategy": "ovr", "tol": 1e-10}
    model, order = SVC(**how).fit(rows, y), rng.permutation(240)
    values = np.sort(model.decision_function(rows), axis=1)
    assert (values[:, -1] - values[:, -2] < 1e-8).any(), "there is a tie to be broken"
    np.testing.assert_array_equal(SVC(**how).fit(rows[order], y[order]).predict(rows), model.predict(rows))


def test_newton_steps_keep_the_sum_of_the_variables():
    """On a singular matrix, too: three free variables on one line."""
    rows = np.array([[1.0], [2.0], [3.0], [5.0]])
    K, sign = rows @ rows.T, np.array([1.0, -1.0, 1.0, -1.0])
    alpha = np.array([0.3, 0.4, 0.5, 0.4])
    f = K @ (sign * alpha) - sign
    smo.newton_on_free(K, alpha, sign, np.ones(4), f)
    assert abs(sign @ alpha) < 1e-12
    np.testing.assert_allclose(f, K @ (sign * alpha) - sign, atol=1e-9)
    assert ((alpha >= 0) & (alpha <= 1)).all()


def test_linear_kernels_have_weights():
    model = SVC(kernel=Linear(), tol=1e-8).fit(TWO, LABELS)
    np.testing.assert_allclose(TWO @ model.coef_[0] + model.intercept_[0], model.decision_function(TWO), atol=1e-9)
    with pytest.raises(AttributeError, match="linear kernel"):
        _ = SVC().fit(TWO, LABELS).coef_


@pytest.mark.filterwarnings("ignore:The `probability` parameter was deprecated")
@pytest.mark.parametrize("strategy", ["ovo", "ovr"])
def test_probabilities_are_calibrated(strategy):
    """On rows held out they are as good as scikit-learn's, which come from other folds."""
    rows, y = make_classification(900, 6, n_informative=4, n_classes=3, flip_y=0.15, random_state=1)
    train, test = slice(0, 500), slice(500, None)
    ours = SVC(probability=True, random_state=0, strategy=strategy).fit(rows[train], y[train])
    theirs = svm.SVC(probability=True, random_state=0).fit(rows[train], y[train])
    found = ours.predict_proba(rows[test])
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.log(found), ours.predict_log_proba(rows[test]))
    assert log_loss(y[test], found) < 1.05 * log_loss(y[test], theirs.predict_proba(rows[test]))


def test_a_sigmoid_that_is_known_is_found():
    rng = np.random.default_rng(0)
    f = rng.normal(size=40_000)
    positive = rng.random(40_000) < 1.0 / (1.0 + np.exp(-2.0 * f + 0.5))
    np.testing.assert_allclose(sigmoid(f, positive, np.ones(40_000)), (-2.0, 0.5), atol=0.06)


def test_pairs_that_agree_give_the_probabilities_they_came_from():
    p = np.random.default_rng(0).dirichlet(np.ones(4), 10)
    r = np.stack([p[:, i] / (p[:, i] + p[:, j]) for i, j in combinations(range(4), 2)], axis=1)
    np.testing.assert_allclose(coupled(r, 4), p, atol=1e-10)


def test_probabilities_have_to_be_asked_for_before_the_fit():
    model = SVC().fit(TWO, LABELS).set_params(probability=True)
    with pytest.raises(NotFittedError, match="fitted with probability=False"):
        model.predict_proba(TWO)
    with pytest.warns(FutureWarning, match="`probability` parameter was deprecated"):
        SVC(probability=False).fit(TWO, LABELS)


def test_probabilities_have_to_be_asked_for():
    assert not hasattr(SVC(), "predict_proba")
    with pytest.warns(FutureWarning, match="`probability` parameter was deprecated"):
        model = SVC(probability=True).fit(TWO, LABELS)
    assert hasattr(model, "predict_proba")


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("model", [SVC(kernel="linear"), SVR(kernel="linear"), OneClassSVM(kernel="linear", nu=0.3)])
def test_sparse_rows_leave_sparse_coefficients(model, kind):
    dense = clone(model).fit(X, Y)
    found = model.fit(kind(X), Y)
    for name in ("support_vectors_", "dual_coef_", "coef_"):
        assert isinstance(getattr(found, name), kind)
        np.testing.assert_allclose(getattr(found, name).toarray(), getattr(dense, name), atol=1e-9)
    np.testing.assert_allclose(found.predict(kind(X)), dense.predict(X), atol=1e-9)
    np.testing.assert_allclose(found.predict(X), dense.predict(X), atol=1e-9)


def test_weights_of_columns_cannot_be_changed_in_vain():
    for rows in (X, sp.csr_array(X)):
        for model in (SVC(kernel="linear"), SVR(kernel="linear"), OneClassSVM(kernel="linear")):
            coef = model.fit(rows, Y).coef_
            assert not (coef.data if sp.issparse(coef) else coef).flags.writeable
            with pytest.raises(AttributeError):
                model.coef_ = 0.0


@pytest.mark.parametrize("model", [SVC(), SVR(), OneClassSVM()], ids=lambda model: type(model).__name__)
def test_machines_read_strings(model):
    words, kind = ["singing", "running", "eating", "singer", "runner", "eater"], [0, 0, 0, 1, 1, 1]
    kernel = StringSpectrum(2)
    K = kernel(words)
    given = clone(model).set_params(kernel="precomputed", tol=1e-9).fit(K, kind).predict(K)
    for each in (kernel, lambda A, B: kernel(A.tolist(), B.tolist())):  # a function gets strings, too
        found = clone(model).set_params(kernel=each, tol=1e-9).fit(words, kind)
        np.testing.assert_allclose(found.predict(np.array(words)), given, atol=1e-6)
