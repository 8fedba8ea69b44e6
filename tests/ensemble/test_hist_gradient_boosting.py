"""Truths about boosting: Newton leaves, falling loss, equality with scikit-learn, constraints, weights, quantiles."""

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from sklearn.base import clone
from sklearn.metrics import log_loss, r2_score
from threadpoolctl import threadpool_limits

import didact
from didact import EarlyStopping
from didact.core import threads
from didact.core.errors import InputError, ParameterError
from didact.engines.trees.boosting import booster as boost
from didact.engines.trees.growers import histogram as grow
from didact.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from didact.parts.losses import ExponentialLoss, HalfSquared, Logistic, Poisson, SquaredHinge, Tweedie


def numbers(n=600, p=4, seed=0):
    """Rows with few distinct values, so that bins lose nothing, and a target with an interaction."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, p)), 1)
    return X, X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)


def labels(n=600, classes=2, seed=0):
    X, y = numbers(n, seed=seed)
    return X, np.searchsorted(np.quantile(y, np.arange(1, classes) / classes), y)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson", "gamma"])
@pytest.mark.parametrize("params", [{}, {"l2_regularization": 2.0, "max_depth": 3, "learning_rate": 0.3}])
def test_numbers_as_scikit_learn_predicts_them(loss, params):
    X, y = numbers()
    y = np.exp(0.3 * y) if loss in ("poisson", "gamma") else y
    ours = HistGradientBoostingRegressor(loss=loss, max_iter=15, **params).fit(X, y)
    theirs = sklearn.ensemble.HistGradientBoostingRegressor(loss=loss, max_iter=15, **params).fit(X, y)
    if loss == "absolute_error":  # gradients of ±1 give many equal gains, of which either may be taken
        errors = [np.abs(model.predict(X) - y).mean() for model in (ours, theirs)]
        np.testing.assert_allclose(*errors, rtol=0.02)
        return
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("classes", [2, 4])
def test_classes_as_scikit_learn_predicts_them(classes):
    X, y = labels(classes=classes)
    ours = HistGradientBoostingClassifier(max_iter=10).fit(X, y)
    theirs = sklearn.ensemble.HistGradientBoostingClassifier(max_iter=10).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-5, atol=1e-5)


def test_missing_values_and_categories_as_scikit_learn_predicts_them():
    X, y = numbers(n=2000)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    params = {"max_iter": 10, "early_stopping": False}
    ours = HistGradientBoostingRegressor(**params).fit(X, y)
    theirs = sklearn.ensemble.HistGradientBoostingRegressor(**params).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6, atol=1e-6)
    X = np.nan_to_num(X)
    X[:, 3] = np.random.default_rng(2).integers(0, 8, len(X))
    y = y + np.array([0, 3, 1, 0, 2, 5, 1, 4.0])[X[:, 3].astype(int)]
    ours = HistGradientBoostingRegressor(categorical_features=[3], **params).fit(X, y)
    theirs = sklearn.ensemble.HistGradientBoostingRegressor(categorical_features=[3], **params).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loss", [HalfSquared(), Poisson(), Tweedie(1.5), Logistic(), ExponentialLoss()])
@pytest.mark.parametrize("learning_rate", [0.2, 1.0])
def test_one_leaf_values_are_newton_steps(loss, learning_rate):
    X, y = labels() if loss.classes else numbers()
    y = y if loss.classes else np.exp(0.3 * y)
    kind = HistGradientBoostingClassifier if loss.classes else HistGradientBoostingRegressor
    params = {"max_iter": 1, "max_leaf_nodes": 4, "learning_rate": learning_rate, "l2_regularization": 0.7}
    model = kind(loss=loss, **params).fit(X, y)
    start = model._start[0]
    raw = next(iter(model._staged(X)))[:, 0] - start
    target = np.where(y > 0, *loss.classes[::-1]) if loss.classes else y
    g, h = loss.grad_hess(target, np.full(len(y), start))
    for value in np.unique(raw):
        rows = raw == value
        step = -g[rows].sum() / (h[rows].sum() + 0.7)
        expected = learning_rate * step
        if learning_rate == 1.0 and not isinstance(loss, HalfSquared):
            expected = np.copysign(np.log1p(abs(step)), step)  # the longest step that is sure to lower the loss
        np.testing.assert_allclose(value, expected, rtol=1e-7)
    assert len(np.unique(raw)) == 4


LOSSES = ["squared_error", "huber", "absolute_error", "quantile", "poisson", "tweedie", "gamma"]


@pytest.mark.parametrize("loss", LOSSES)
def test_training_loss_never_rises(loss):
    X, y = numbers()
    y = np.exp(0.3 * y) if loss in ("poisson", "tweedie", "gamma") else y
    model = HistGradientBoostingRegressor(
        loss=loss, quantile=0.7, max_iter=20, early_stopping=True, validation_fraction=None, n_iter_no_change=99
    ).fit(X, y)
    assert len(model.train_score_) == 21
    assert (np.diff(model.train_score_) > -1e-12).all()
    assert model.train_score_[-1] > model.train_score_[0]


def test_staged_predictions_end_at_the_prediction():
    X, y = labels(classes=3)
    model = HistGradientBoostingClassifier(max_iter=7).fit(X, y)
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == 7
    np.testing.assert_array_equal(stages[-1], model.predict_proba(X))
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    shorter = clone(model).set_params(max_iter=3).fit(X, y)
    np.testing.assert_array_equal(stages[2], shorter.predict_proba(X))
    np.testing.assert_array_equal(list(model.staged_decision_function(X))[-1], model.decision_function(X))
    regressor = HistGradientBoostingRegressor(max_iter=5, loss="poisson").fit(X, y)
    np.testing.assert_array_equal(list(regressor.staged_predict(X))[-1], regressor.predict(X))


@pytest.mark.parametrize("subsample", [1.0, 0.5])
def test_trees_added_later_are_those_of_one_fit(subsample):
    X, y = numbers()
    whole = HistGradientBoostingRegressor(max_iter=12, random_state=3, subsample=subsample).fit(X, y)
    parts = HistGradientBoostingRegressor(max_iter=5, random_state=3, subsample=subsample, warm_start=True).fit(X, y)
    parts.set_params(max_iter=12).fit(X, y)
    assert parts.n_iter_ == 12
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), rtol=1e-9)
    with pytest.raises(ParameterError, match="max_iter"):
        parts.set_params(max_iter=3).fit(X, y)


def test_weights_are_repetitions():
    X, y = numbers()
    w = np.random.default_rng(1).integers(0, 4, len(y))
    for params in ({}, {"loss": "absolute_error"}, {"loss": "quantile", "quantile": 0.3}, {"loss": "huber"}):
        model = HistGradientBoostingRegressor(max_iter=8, min_samples_leaf=1, max_leaf_nodes=6, **params)
        weighted = clone(model).fit(X, y, sample_weight=w).predict(X)
        repeated = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(y, w)).predict(X)
        np.testing.assert_allclose(weighted, repeated, rtol=1e-7, atol=1e-7)


def test_class_weights_are_sample_weights():
    X, y = labels(classes=3)
    model = HistGradientBoostingClassifier(max_iter=5, class_weight={0: 3.0, 2: 0.5}).fit(X, y)
    same = HistGradientBoostingClassifier(max_iter=5).fit(X, y, sample_weight=np.array([3.0, 1.0, 0.5])[y])
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X), rtol=1e-9)
    rare = np.where(np.arange(len(y)) % 10 == 0, 1, 0)
    even = HistGradientBoostingClassifier(max_iter=1, class_weight="balanced").fit(X, rare)
    np.testing.assert_allclose(even._start, 0.0, atol=1e-12)


def test_monotone_predictions_are_monotone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = np.sin(4 * X[:, 0]) + X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=2000)
    frame = pd.DataFrame(X, columns=["up", "down"])
    for constraint in ([1, -1], {"up": 1, "down": -1}):
        model = HistGradientBoostingRegressor(max_iter=40, monotonic_cst=constraint).fit(frame, y)
        grid = np.linspace(-3, 3, 300)
        for other in (-1.0, 0.0, 1.0):
            at = pd.DataFrame({"up": grid, "down": other})
            assert (np.diff(model.predict(at)) >= 0).all()
            at = pd.DataFrame({"up": other, "down": grid})
            assert (np.diff(model.predict(at)) <= 0).all()
    theirs = sklearn.ensemble.HistGradientBoostingRegressor(max_iter=40, monotonic_cst=[1, -1]).fit(X, y)
    assert abs(r2_score(y, model.predict(frame)) - r2_score(y, theirs.predict(X))) < 0.005


def test_without_interactions_the_prediction_is_additive():
    X, y = numbers(n=1000)
    model = HistGradientBoostingRegressor(max_iter=20, interaction_cst="no_interactions").fit(X, y)
    a, b = X[:300], X[300:600]
    mixed_ab = np.column_stack([a[:, :2], b[:, 2:]])
    mixed_ba = np.column_stack([b[:, :2], a[:, 2:]])
    left = model.predict(a) + model.predict(b)
    np.testing.assert_allclose(left, model.predict(mixed_ab) + model.predict(mixed_ba), atol=1e-10)
    free = HistGradientBoostingRegressor(max_iter=20, interaction_cst=[{0, 1}]).fit(X, y)
    left = free.predict(a) + free.predict(b)
    np.testing.assert_allclose(left, free.predict(mixed_ab) + free.predict(mixed_ba), atol=1e-10)


def test_quantiles_cover_what_they_say():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(4000, 1))
    y = X[:, 0] + (0.2 + X[:, 0]) * rng.normal(size=4000)
    for q in (0.1, 0.5, 0.9):
        model = HistGradientBoostingRegressor(loss="quantile", quantile=q, max_iter=60).fit(X, y)
        assert abs(np.mean(y <= model.predict(X)) - q) < 0.03
    with pytest.raises(ParameterError, match="quantile"):
        HistGradientBoostingRegressor(loss="quantile").fit(X, y)


def test_missing_values_are_informative():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    gone = rng.random(1000) < 0.3
    X[gone, 0] = np.nan
    model = HistGradientBoostingClassifier(max_iter=10).fit(X, gone)
    assert model.score(X, gone) == 1.0
    never = HistGradientBoostingRegressor(max_iter=5).fit(np.nan_to_num(X), X[:, 1])
    assert np.isfinite(never.predict(np.full((3, 2), np.nan))).all()


def test_unseen_categories_are_like_missing_ones():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"city": pd.Categorical(rng.choice(["a", "b", "c", "d"], 600)), "x": rng.normal(size=600)})
    y = (frame["city"].isin(["a", "c"]) ^ (frame["x"] > 0)).to_numpy()
    model = HistGradientBoostingClassifier(max_iter=20).fit(frame, y)
    assert model.score(frame, y) > 0.97
    assert model.is_categorical_.tolist() == [True, False]
    new = pd.DataFrame({"city": pd.Categorical(["z", None]), "x": [0.5, 0.5]})
    odds = model.decision_function(new)
    assert odds[0] == odds[1]


class Pinball:
    """A user's own loss: the expectile of 80 %."""

    def value(self, y, z):
        return np.where(y > z, 0.8, 0.2) * (y - z) ** 2 / 2

    def grad_hess(self, y, z):
        weight = np.where(y > z, 0.8, 0.2)
        return weight * (z - y), weight


def test_a_loss_of_ones_own():
    X, y = numbers()
    model = HistGradientBoostingRegressor(loss=Pinball(), max_iter=30).fit(X, y)
    g, _ = Pinball().grad_hess(y, model.predict(X))
    assert abs(g.mean()) < 0.01, "the mean gradient of an expectile is zero"
    assert np.mean(y < model.predict(X)) > 0.6
    X, y = labels()
    hinge = HistGradientBoostingClassifier(loss=SquaredHinge(), max_iter=20).fit(X, y)
    assert hinge.score(X, y) > 0.85
    with pytest.raises(ParameterError, match="two classes"):
        HistGradientBoostingClassifier(loss="exponential").fit(*labels(classes=3))


def test_early_stopping_by_held_out_rows_and_by_callbacks():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = rng.normal(size=500)  # nothing to learn
    model = HistGradientBoostingRegressor(early_stopping=True, n_iter_no_change=3, random_state=0).fit(X, y)
    assert model.n_iter_ < 20
    assert len(model.validation_score_) == len(model.train_score_) == model.n_iter_ + 1
    scored = HistGradientBoostingRegressor(early_stopping=True, scoring="r2", n_iter_no_change=3, random_state=0)
    assert scored.fit(X, y).n_iter_ < 30
    stopped = HistGradientBoostingRegressor().set_callbacks(EarlyStopping(patience=1, min_delta=1e9)).fit(X, y)
    assert stopped.n_iter_ == 2


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"interaction_cst": [{9}]}, "Interaction constraints"),
        ({"monotonic_cst": [1, 0]}, "monotonic_cst"),
        ({"monotonic_cst": [0, 0, 0, 1], "categorical_features": [3]}, "Categorical features cannot"),
        ({"early_stopping": True, "validation_fraction": 600}, "validation_fraction"),
    ],
)
def test_bad_parameters_are_refused_in_words(change, word):
    X, y = numbers()
    with pytest.raises(ValueError, match=word):
        HistGradientBoostingRegressor(**change).fit(X, y)


def test_bad_data_are_refused_in_words():
    X, y = numbers()
    with pytest.raises(InputError, match="class"):
        HistGradientBoostingClassifier().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match=r"[Ww]eight"):
        HistGradientBoostingRegressor().fit(X, y, sample_weight=np.zeros(len(y)))
    for loss in ("poisson", "gamma"):
        with pytest.raises(InputError, match=r"requires|needs"):
            HistGradientBoostingRegressor(loss=loss).fit(X, -np.abs(y))
    X[:, 0] = np.nan  # a column that is all missing is no error: it says nothing
    without = HistGradientBoostingRegressor(max_iter=3).fit(X[:, 1:], y).predict(X[:, 1:])
    np.testing.assert_array_equal(HistGradientBoostingRegressor(max_iter=3).fit(X, y).predict(X), without)
    many = HistGradientBoostingRegressor(max_iter=3, max_bins=10_000).fit(X, y)  # more bins than values
    np.testing.assert_array_equal(many.predict(X), without)


def test_many_rows_on_several_threads_are_scikit_learns():
    """Where the bins coincide; enough rows that nodes are divided among threads."""
    rng = np.random.default_rng(0)
    X = np.clip(np.round(30 * rng.normal(size=(40_000, 6))), -100, 100) / 30
    z = X[:, 0] + np.sin(3 * X[:, 1]) * X[:, 2] + 0.5 * (X[:, 3] > 0.3) * X[:, 4]
    y = (z + rng.normal(size=len(X)) > 0).astype(int)
    how = {"max_iter": 15, "early_stopping": False, "random_state": 0}
    ours = HistGradientBoostingClassifier(**how).fit(X, y).decision_function(X)
    theirs = sklearn.ensemble.HistGradientBoostingClassifier(**how).fit(X, y).decision_function(X)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("loss", ["log_loss", "poisson", "gamma"])
@pytest.mark.parametrize("learning_rate", [0.1, 1.0, 20.0])
def test_no_step_is_so_long_that_the_loss_rises(loss, learning_rate):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 3))
    chance = 1 / (1 + np.exp(-4 * X[:, 0] - 2))
    params = {"max_iter": 15, "learning_rate": learning_rate, "min_samples_leaf": 2, "early_stopping": True}
    params |= {"n_iter_no_change": 100, "validation_fraction": None, "random_state": 0}
    if loss == "log_loss":
        model = HistGradientBoostingClassifier(**params).fit(X, rng.random(600) < chance)
    else:
        y = rng.poisson(20 * chance) + (loss == "gamma") * 0.01
        model = HistGradientBoostingRegressor(loss=loss, **params).fit(X, y)
    assert (np.diff(model.train_score_) >= -1e-12).all()
    assert np.isfinite(model.train_score_).all()


def test_rare_classes_do_not_run_away():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 4))
    y = np.searchsorted([-2.5, -1.5, 0.0, 1.5, 2.5], X[:, 0] + 0.4 * rng.normal(size=4000))
    model = HistGradientBoostingClassifier(max_iter=150, early_stopping=False, learning_rate=0.3).fit(
        X[:2000], y[:2000]
    )
    raw = model.decision_function(X[2000:])
    assert np.abs(raw).max() < 60  # they were thousands
    assert log_loss(y[2000:], model.predict_proba(X[2000:])) < 2.5


@pytest.mark.parametrize("kind", ["numbers", "medians", "two", "three"])
def test_threads_change_nothing(kind, two_threads, monkeypatch):
    monkeypatch.setattr(threads, "_machine_limit", lambda: 8)
    for module in (grow, boost):
        monkeypatch.setattr(module, "CODES_PER_THREAD", 500)  # small trees on several threads, classes side by side
    X, y = numbers(6000) if kind in ("numbers", "medians") else labels(6000, {"two": 2, "three": 3}[kind])
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    found = []
    for count in (1, 2, 3, 8):
        didact.set_threads(count)
        with threadpool_limits(8, user_api="blas"):
            if kind in ("two", "three"):
                model = HistGradientBoostingClassifier(max_iter=4, random_state=0).fit(X, y, w)
                found.append(model.predict_proba(X))
            else:
                loss = "absolute_error" if kind == "medians" else "squared_error"
                model = HistGradientBoostingRegressor(max_iter=4, loss=loss, random_state=0).fit(X, y, w)
                found.append(model.predict(X))
        np.testing.assert_array_equal(found[-1], found[0])
