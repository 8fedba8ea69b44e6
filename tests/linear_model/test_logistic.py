"""Logistic and softmax regression: gradients, penalties, separable classes, squared loss, parametrisations, weights."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from scipy.special import expit, softmax
from sklearn import linear_model as reference
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight

from didact import Batches
from didact.core.errors import ParameterError
from didact.linear_model import LogisticRegression

TIGHT = {"tol": 1e-10}


def data(K=2, n=300, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 0.3
    scores = X @ rng.normal(size=(p, K)) + rng.normal(size=K)
    y = (rng.uniform(size=n)[:, None] > np.cumsum(softmax(scores, axis=1), axis=1)[:, :-1]).sum(axis=1)
    return X, np.array(["ape", "bee", "cat", "dog"])[y]


def onehot(model, y):
    return (y[:, None] == model.classes_).astype(float)


def gradients(model, X, y, w=None):
    """Σ w (p − y) x for every class (n_classes, p), and for the intercepts: what a penalty has to balance."""
    R = (model.predict_proba(X) - onehot(model, y)) * (1.0 if w is None else w[:, None])
    return R.T @ X, R.sum(axis=0)


# ------------------------------------------------------------------------------------------------ optimality


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("solver", ["auto", "newton-cholesky", "lbfgs"])
@pytest.mark.parametrize("C", [0.1, 1.0, np.inf])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_gradient_is_zero(K, solver, C, convert):
    X, y = data(K)
    w = np.random.default_rng(1).uniform(0.2, 3, size=len(y))
    model = LogisticRegression(C=C, solver=solver, **TIGHT).fit(convert(X), y, sample_weight=w)
    G, G0 = gradients(model, X, y, w)
    strength = 0.0 if np.isinf(C) else 1 / C
    coef = model.coef_ if K > 2 else np.vstack([-model.coef_, model.coef_])
    np.testing.assert_allclose(G + strength * coef, 0.0, atol=1e-7)
    np.testing.assert_allclose(G0, 0.0, atol=1e-7)
    assert model.coef_.shape == ((K, 4) if K > 2 else (1, 4))
    assert model.n_iter_.shape == (1,)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("ratio", [0.4, 1.0])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_l1_optimality(K, ratio, convert):
    X, y = data(K)
    X = np.column_stack([X, np.random.default_rng(9).normal(size=(len(X), 4))])
    C = 0.05
    model = LogisticRegression(C=C, l1_ratio=ratio, **TIGHT).fit(convert(X), y)
    G, G0 = gradients(model, X, y)
    G = C * (G if K > 2 else G[1:]) + (1 - ratio) * model.coef_
    inside = model.coef_ != 0
    np.testing.assert_allclose(G[inside], -ratio * np.sign(model.coef_[inside]), atol=1e-7)
    assert (np.abs(G[~inside]) <= ratio + 1e-7).all()
    assert (~inside).any()
    np.testing.assert_allclose(G0, 0.0, atol=1e-6)


def test_l1_on_working_sets():
    """More features than the first working set holds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 500))
    y = (X[:, :3].sum(axis=1) + rng.normal(size=150) > 0).astype(int)
    model = LogisticRegression(C=0.1, l1_ratio=1.0, tol=1e-8).fit(X, y)
    G = 0.1 * gradients(model, X, y)[0][1]
    inside = model.coef_[0] != 0
    assert 0 < inside.sum() < 100
    np.testing.assert_allclose(G[inside], -np.sign(model.coef_[0, inside]), atol=1e-5)
    assert (np.abs(G[~inside]) <= 1 + 1e-5).all()


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("kwargs", [{}, {"C": 0.01}, {"fit_intercept": False}, {"l1_ratio": 0.5, "C": 0.2}])
def test_equals_scikit_learn(K, kwargs):
    X, y = data(K)
    ours = LogisticRegression(**kwargs, **TIGHT).fit(X, y)
    solver = {"solver": "saga", "max_iter": 100_000, "random_state": 0} if "l1_ratio" in kwargs else {}
    theirs = reference.LogisticRegression(**kwargs, **solver, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.predict_log_proba(X), np.log(ours.predict_proba(X)), rtol=1e-8, atol=1e-10)


def test_equals_statsmodels():
    X, y = data(3)
    ours = LogisticRegression(C=np.inf, **TIGHT).fit(X, y)
    codes = np.searchsorted(ours.classes_, y)
    expected = sm.MNLogit(codes, sm.add_constant(X)).fit(disp=0, tol=1e-12, maxiter=200).params
    differences = ours.coef_[1:] - ours.coef_[0]
    np.testing.assert_allclose(differences.T, expected[1:], rtol=1e-5)
    np.testing.assert_allclose(ours.intercept_[1:] - ours.intercept_[0], expected[0], rtol=1e-5)


# ------------------------------------------------------------------------------------------------ identities


def test_two_classes_of_a_softmax_are_the_logistic():
    """Worked example 88: three classes of which one never occurs, in the limit, and the difference of two vectors."""
    X, y = data(2)
    binary = LogisticRegression(C=np.inf, **TIGHT).fit(X, y)
    np.testing.assert_allclose(binary.predict_proba(X)[:, 1], expit(binary.decision_function(X)), rtol=1e-12)
    three = np.append(y, "cow")
    w = np.append(np.ones(len(y)), 1e-9)
    model = LogisticRegression(C=1e9, tol=1e-9).fit(np.vstack([X, X[:1]]), three, sample_weight=w)
    P = model.predict_proba(X)[:, [0, 1]]
    np.testing.assert_allclose(P[:, 1] / P.sum(axis=1), binary.predict_proba(X)[:, 1], rtol=1e-4)


def test_adding_one_vector_to_all_classes_changes_nothing():
    X, y = data(3)
    model = LogisticRegression(C=np.inf, **TIGHT).fit(X, y)
    P = model.predict_proba(X)
    model.coef_ = model.coef_ + np.array([1.0, -2.0, 3.0, 0.5])
    model.intercept_ = model.intercept_ + 4.0
    np.testing.assert_allclose(model.predict_proba(X), P, rtol=1e-9)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_k_minus_1_parametrisation_gives_the_same_probabilities_without_penalty(convert):
    X, y = data(4)
    X = convert(X)
    symmetric = LogisticRegression(C=np.inf, **TIGHT).fit(X, y)
    relative = LogisticRegression(C=np.inf, parametrization="reference", **TIGHT).fit(X, y)
    np.testing.assert_allclose(relative.predict_proba(X), symmetric.predict_proba(X), rtol=1e-6, atol=1e-9)
    assert not relative.coef_[-1].any()
    assert relative.intercept_[-1] == 0.0
    np.testing.assert_allclose(symmetric.coef_ - symmetric.coef_[-1], relative.coef_, rtol=1e-5, atol=1e-7)


def test_k_minus_1_parametrisation_penalises_differences():
    X, y = data(3)
    model = LogisticRegression(C=0.5, parametrization="reference", **TIGHT).fit(X, y)
    G, _ = gradients(model, X, y)
    np.testing.assert_allclose(G[:2] + model.coef_[:2] / 0.5, 0.0, atol=1e-7)


def test_swapped_labels_swap_signs():
    X, y = data(2)
    a, b = LogisticRegression(**TIGHT).fit(X, y == "ape"), LogisticRegression(**TIGHT).fit(X, y == "bee")
    np.testing.assert_allclose(a.coef_, -b.coef_, rtol=1e-7)


def test_calibration_in_the_large():
    """The maximum likelihood reproduces the share of every class."""
    X, y = data(3)
    model = LogisticRegression(C=np.inf, **TIGHT).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).mean(axis=0), onehot(model, y).mean(axis=0), rtol=1e-7)


# ------------------------------------------------------------------------------------------------ separable classes


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
def test_separable_classes_warn_once_and_are_finite(K, solver):
    """Worked example 89: ‖w‖ grows without bound, probabilities go to 0 and 1."""
    X = np.linspace(-3, 3, 60)[:, None]
    y = np.searchsorted(np.linspace(-3, 3, K + 1)[1:-1], X[:, 0])
    with pytest.warns(ConvergenceWarning, match="separated") as caught:
        model = LogisticRegression(C=np.inf, solver=solver).fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.score(X, y) == 1.0
    assert model.predict_proba(X[[0, -1]])[[0, 1], [0, -1]].min() > 0.999


def test_coefficients_of_separable_classes_grow_with_the_tolerance():
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    sizes = []
    for tol in (1e-2, 1e-4, 1e-6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            sizes.append(float(LogisticRegression(C=np.inf, tol=tol).fit(X, y).coef_[0, 0]))
    assert sizes[0] < sizes[1] < sizes[2]


def test_partly_separable_classes_warn_too():
    """One column is 1 in one class only; the others overlap."""
    X, y = data(2)
    X = np.column_stack([X, (y == "bee") * (np.arange(len(y)) % 3 == 0)])
    with pytest.warns(ConvergenceWarning, match="in part"):
        LogisticRegression(C=np.inf).fit(X, y)


def test_no_warning_where_there_is_an_optimum():
    for K in (2, 3, 4):
        LogisticRegression(C=np.inf).fit(*data(K))  # warnings are errors
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)) * [1.0, 1e-4, 1e3]
    y = (X @ [2.0, 1e4, 1e-3] + rng.logistic(size=400) > 0).astype(int)
    LogisticRegression(C=np.inf).fit(X, y)
    LogisticRegression(C=np.inf).fit(np.column_stack([X, X[:, 0]]), y)  # collinear is not separable


def test_a_penalty_makes_separable_classes_harmless():
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    model = LogisticRegression(**TIGHT).fit(X, y)
    residual = model.predict_proba(X)[:, 1] - y
    np.testing.assert_allclose(X.T @ residual + model.coef_[0], 0.0, atol=1e-8)


def test_contradictory_labels_give_one_half():
    """Worked example 49."""
    model = LogisticRegression(C=np.inf).fit([[0.0, 0.0, 0.0]] * 2, [1, 0])
    np.testing.assert_allclose(model.predict_proba([[0.0, 0.0, 0.0]]), 0.5, rtol=1e-12)


# ------------------------------------------------------------------------------------------------ squared loss


@pytest.mark.parametrize("K", [2, 3])
def test_squared_loss_has_gradient_zero(K):
    """½ Σ ‖p − y‖² with its penalty, differentiated numerically at the fit."""
    X, y = data(K)
    C = 2.0
    model = LogisticRegression(loss="squared", C=C, **TIGHT).fit(X, y)
    Y = onehot(model, y)

    def objective(theta):
        table = theta.reshape(-1, 5)
        scores = X @ table[:, :4].T + table[:, 4]
        if K == 2:
            errors = 0.5 * (expit(scores[:, 0]) - Y[:, 1]) ** 2
        else:
            errors = 0.5 * ((softmax(scores, axis=1) - Y) ** 2).sum(axis=1)
        return C * errors.sum() + 0.5 * np.sum(table[:, :4] ** 2)

    theta = np.column_stack([model.coef_, model.intercept_]).ravel()
    steps = 1e-5 * np.eye(len(theta))
    gradient = [(objective(theta + e) - objective(theta - e)) / 2e-5 for e in steps]
    np.testing.assert_allclose(gradient, 0.0, atol=1e-5)
    assert objective(theta) < objective(0 * theta)


def test_squared_loss_of_two_classes_is_bounded_where_the_other_is_not():
    """An outlier with the wrong label moves the squared loss less: its price is at most ½."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1))
    y = (X[:, 0] + 0.3 * rng.normal(size=200) > 0).astype(int)
    X, y = np.append(X, [[50.0]], axis=0), np.append(y, 0)
    slopes = {loss: LogisticRegression(loss=loss, C=100.0).fit(X, y).coef_[0, 0] for loss in ("log", "squared")}
    assert slopes["squared"] > 3 * slopes["log"]


# ------------------------------------------------------------------------------------------------ weights of classes


def test_class_weight_is_sample_weight():
    X, y = data(3)
    given = {"ape": 2.0, "cat": 0.5}
    w = np.array([given.get(label, 1.0) for label in y])
    a = LogisticRegression(class_weight=given, **TIGHT).fit(X, y)
    b = LogisticRegression(**TIGHT).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-8)
    both = LogisticRegression(class_weight=given, **TIGHT).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(both.coef_, LogisticRegression(**TIGHT).fit(X, y, sample_weight=w * w).coef_, rtol=1e-8)


@pytest.mark.parametrize("K", [2, 3])
def test_balanced_classes(K):
    X, y = data(K)
    balanced = dict(zip(np.unique(y), compute_class_weight("balanced", classes=np.unique(y), y=y), strict=True))
    a = LogisticRegression(class_weight="balanced", **TIGHT).fit(X, y)
    b = LogisticRegression(class_weight=balanced, **TIGHT).fit(X, y)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-8)
    pieces = [slice(k, k + 70) for k in range(0, len(y), 70)]
    c = LogisticRegression(class_weight="balanced", **TIGHT).fit(Batches(lambda: ((X[s], y[s]) for s in pieces)))
    np.testing.assert_allclose(c.coef_, a.coef_, rtol=1e-8)


def test_class_weights_of_labels_that_do_not_occur():
    X, y = data(2)
    with pytest.raises(ParameterError, match="'eel'"):
        LogisticRegression(class_weight={"eel": 1.0}).fit(X, y)


# ------------------------------------------------------------------------------------------------ labels


@pytest.mark.parametrize(
    "values", [[0, 1, 2], [-5, 3, 1000], [True, False, True], ["x", "y", "zebra"], [0.0, 1.0, 2.0]]
)
def test_labels_of_every_kind_come_back(values):
    X, y = data(3)
    labels = np.asarray(values)[np.unique(y, return_inverse=True)[1]]
    model = LogisticRegression().fit(X, labels)
    assert set(model.predict(X).tolist()) <= set(np.asarray(values).tolist())
    np.testing.assert_array_equal(model.classes_, np.unique(labels))
    assert model.predict(X).dtype == labels.dtype


def test_labels_that_appear_in_a_late_batch_only():
    X, y = data(3)
    order = np.argsort(y)
    X, y = X[order], y[order]
    batches = Batches(lambda: ((X[k : k + 50], y[k : k + 50]) for k in range(0, len(y), 50)))
    model = LogisticRegression(**TIGHT).fit(batches)
    np.testing.assert_allclose(model.coef_, LogisticRegression(**TIGHT).fit(X, y).coef_, rtol=1e-8)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="2 classes"):
        LogisticRegression().fit([[1.0], [2.0]], ["a", "a"])
    with pytest.raises(ValueError, match="one class with positive weight"):
        LogisticRegression().fit([[1.0], [2.0]], ["a", "b"], sample_weight=[1, 0])


def test_extreme_scores_have_finite_logarithms():
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    model.coef_ = np.array([[1000.0]])
    logs = model.predict_log_proba([[-100.0], [100.0]])
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(logs[0, 1], -1e5 + model.intercept_[0], rtol=1e-6)
    np.testing.assert_allclose(model.predict_proba([[-100.0], [100.0]]), [[1, 0], [0, 1]], atol=1e-300)


def test_warm_start():
    X, y = data(3)
    model = LogisticRegression(warm_start=True).fit(X, y)
    cold = int(model.n_iter_[0])
    assert int(model.fit(X, y).n_iter_[0]) < cold
    model.set_params(C=np.inf).fit(X, y)
    fresh = LogisticRegression(C=np.inf, **TIGHT).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), fresh.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("K", [2, 3])
def test_many_rows_start_from_a_sample_and_end_at_the_optimum(K):
    X, y = data(K, n=60_000, p=3)
    model = LogisticRegression(tol=1e-9).fit(X, y)
    G, G0 = gradients(model, X, y)
    coef = model.coef_ if K > 2 else np.vstack([-model.coef_, model.coef_])
    assert np.abs(G + coef).max() / len(y) < 2e-9
    assert np.abs(G0).max() / len(y) < 2e-9


@pytest.mark.parametrize(
    "options", [{}, {"class_weight": "balanced"}, {"solver": "lbfgs"}, {"l1_ratio": 0.5}], ids=repr
)
def test_a_class_without_weight_stays_and_is_never_predicted(options):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), np.repeat(["a", "b", "c"], 30)
    model = LogisticRegression(**options).fit(X, y, np.where(y == "b", 0.0, 1.0))
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_proba(X)[:, 1].max() < 1e-5
    assert set(model.predict(X)) == {"a", "c"}


def test_balanced_weights_do_not_count_a_class_without_weight():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), np.repeat([0, 1, 2], [50, 20, 20])
    w = np.where(y == 1, 0.0, 1.0)
    model = LogisticRegression(class_weight="balanced", C=np.inf, parametrization="reference", tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="separated"):
        share = model.fit(X, y, w).predict_proba(X)
    alone = LogisticRegression(class_weight="balanced", C=np.inf, tol=1e-9).fit(X[y != 1], y[y != 1])
    np.testing.assert_allclose(share[:, [0, 2]], alone.predict_proba(X), atol=1e-6)
