"""Boosting that cannot go well is refused in one sentence: other data after warm_start, losses that give nonsense."""

import numpy as np
import pandas as pd
import pytest

from didact import ProgressLog
from didact.core.errors import InputError, ParameterError
from didact.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
Y = X[:, 0] + 0.1 * rng.normal(size=300)


def letters(values, n=300, **more):
    return pd.DataFrame({"c": pd.Categorical(np.resize(list(values), n)), **more})


def test_added_trees_need_the_columns_categories_and_classes_of_the_last_fit():
    labels = np.tile([0, 1], 150)
    model = HistGradientBoostingClassifier(max_iter=3, warm_start=True, min_samples_leaf=5).fit(letters("pq"), labels)
    before = model.predict_proba(letters("pq"))
    model.set_params(max_iter=4)
    for frame, y, word in (
        (letters("qr"), labels, "'r' in column 'c'"),
        (letters("pq", d=np.arange(300.0)), labels, "columns"),
        (pd.DataFrame({"c": np.arange(300.0)}), labels, "categorical"),
        (letters("pq").rename(columns={"c": "d"}), labels, "feature names"),
        (letters("pq"), np.arange(300) % 3, "classes"),
    ):
        with pytest.raises(ValueError, match=word):
            model.fit(frame, y)
        np.testing.assert_array_equal(model.predict_proba(letters("pq")), before)
    model.fit(letters("qp"), 1 - labels)  # the same values with other numbers
    assert model.n_iter_ == 4
    assert (model.predict(letters("pq")) == labels).all()
    numbers = HistGradientBoostingRegressor(max_iter=2, warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="2 features"):
        numbers.set_params(max_iter=3).fit(X[:, :2], Y)


class Own:
    """Squared errors of log(1 + y), with whatever `change` makes of the gradients and curvatures."""

    def __init__(self, change=lambda g, h: (g, h)):
        self.change = change

    def grad_hess(self, y, z):
        return self.change(z - np.log1p(y), np.ones_like(z))

    def inverse(self, z):
        return np.expm1(z)


class Valued(Own):
    def value(self, y, z):
        return 0.5 * (z - np.log1p(y)) ** 2


def test_staged_predictions_of_a_loss_with_a_link_end_at_the_prediction():
    model = HistGradientBoostingRegressor(loss=Valued(), max_iter=4).fit(X, np.exp(Y))
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda g, h: g, "two arrays"),
        (lambda g, h: (g[:, None], h[:, None]), "two arrays"),
        (lambda g, h: (g, 1.0), "two arrays"),
        (lambda g, h: (np.where(g > 0.5, np.nan, g), h), "finite"),
        (lambda g, h: (g, np.where(g > 0.5, -1.0, h)), "at least 0"),
    ],
)
def test_losses_that_give_nonsense_are_refused(change, sentence):
    with pytest.raises(ParameterError, match=rf"grad_hess\(y, z\) of the loss Valued must give.*{sentence}"):
        HistGradientBoostingRegressor(loss=Valued(change)).fit(X, np.exp(Y))


def test_early_stopping_needs_the_value_of_the_loss():
    y = np.exp(Y)
    with pytest.raises(ParameterError, match=r"value\(y, z\) of the loss, which Own has not"):
        HistGradientBoostingRegressor(loss=Own(), early_stopping=True).fit(X, y)
    scored = HistGradientBoostingRegressor(loss=Own(), early_stopping=True, scoring="r2", max_iter=30).fit(X, y)
    assert scored.train_score_[-1] > 0.5
    HistGradientBoostingRegressor(loss=Own(), max_iter=2).set_callbacks(ProgressLog()).fit(X, y)

    class Total(Own):
        def value(self, y, z):
            return np.sum((z - np.log1p(y)) ** 2)

    with pytest.raises(ParameterError, match="one number a row"):
        HistGradientBoostingRegressor(loss=Total(), early_stopping=True).fit(X, y)


@pytest.mark.parametrize("loss", ["poisson", "tweedie"])
def test_counts_that_are_all_zero_are_refused(loss):
    with pytest.raises(InputError, match=r"sum\(y\) > 0: all y"):
        HistGradientBoostingRegressor(loss=loss).fit(X, np.zeros(300))
    with pytest.raises(InputError, match=r"sum\(y\) > 0: all y"):
        HistGradientBoostingRegressor(loss=loss).fit(X, np.maximum(Y, 0), sample_weight=Y <= 0)


@pytest.mark.parametrize("loss", ["squared_error", "huber"])
def test_tiny_targets_are_fitted_as_others_or_refused(loss):
    model = HistGradientBoostingRegressor(loss=loss, max_iter=5, early_stopping=False)
    expected = model.fit(X, Y).predict(X)
    for exponent in (-400, -200, 200, 400):
        np.testing.assert_array_equal(model.fit(X, Y * 2.0**exponent).predict(X), expected * 2.0**exponent)
    for exponent in (-1000, -540, -500):
        with pytest.raises(InputError, match=r"Input y has no values above .* vanish: multiply"):
            model.fit(X, Y * 2.0**exponent)


def test_limits_count_rows_and_sums_of_curvature_count_relative_weight():
    few, y = np.arange(30.0)[:, None], np.arange(30) >= 15
    y = y.astype(float)
    for kind, leaves in ((15, 2), (16, 1)):
        model = HistGradientBoostingRegressor(max_iter=1, min_samples_leaf=kind)
        assert len(np.unique(model.fit(few, y, sample_weight=np.full(30, 9.0)).predict(few))) == leaves
    model = HistGradientBoostingRegressor(max_iter=1, min_samples_leaf=1)
    light = model.fit(few, y, sample_weight=np.full(30, 1e-5)).predict(few)
    np.testing.assert_allclose(light, model.fit(few, y).predict(few), rtol=1e-12)
