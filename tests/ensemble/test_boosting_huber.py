"""Boosting of Huber's loss: its width follows the residuals, its leaves are Friedman's, and units do not matter."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor

from didact.core.errors import ParameterError
from didact.ensemble import HistGradientBoostingRegressor
from didact.parts.losses import Huber
from didact.parts.statistics.weighted_quantile import weighted_quantile

X, Y = load_diabetes(return_X_y=True)


def fitted(y=Y, w=None, **params):
    return HistGradientBoostingRegressor(**{"loss": "huber", "max_iter": 30} | params).fit(X, y, sample_weight=w)


@pytest.mark.parametrize("factor", [-1024.0, 2.0**-20])
@pytest.mark.parametrize("shift", [0.0, 512.0])
def test_other_units_of_y_are_other_units_of_the_prediction(factor, shift):
    """Powers of two multiply without rounding, so that even the ties between splits stay."""
    np.testing.assert_allclose(
        fitted(factor * (Y + shift)).predict(X), factor * (fitted().predict(X) + shift), rtol=1e-9
    )


def test_it_learns_as_well_as_scikit_learn_where_the_width_follows_too():
    train, test = np.arange(len(Y)) % 4 > 0, np.arange(len(Y)) % 4 == 0
    scores = []
    for kind in (HistGradientBoostingRegressor, GradientBoostingRegressor):
        params = {"max_depth": 3, "min_samples_leaf": 20}
        scores.append(kind(loss="huber", **params).fit(X[train], 1000 * Y[train]).score(X[test], 1000 * Y[test]))
    assert scores[0] > scores[1] - 0.05 > 0.2


def friedman(residual, w, delta):
    """The median and one step from it, as in algorithm 4 of Friedman (2001)."""
    middle = weighted_quantile(residual, w, 0.5)
    inside = np.sign(residual - middle) * np.minimum(delta, np.abs(residual - middle))
    return middle + np.average(inside, weights=w)


@pytest.mark.parametrize("loss", ["huber", Huber(20.0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_leaves_are_a_step_from_the_median_of_their_residuals(loss, weighted):
    w = np.random.default_rng(0).uniform(0.5, 2, len(Y)) if weighted else None
    model = fitted(w=w, loss=loss, max_iter=3, max_leaf_nodes=5, learning_rate=0.5, quantile=0.8)
    before = np.full(len(Y), weighted_quantile(Y, w, 0.5))
    for after in model.staged_predict(X):
        residual, added = Y - before, after - before
        delta = weighted_quantile(np.abs(residual), w, 0.8) if loss == "huber" else 20.0
        leaves = np.unique(added.round(9))
        assert len(leaves) == 5
        for value in leaves:
            rows = np.abs(added - value) < 1e-8
            expected = friedman(residual[rows], None if w is None else w[rows], delta)
            np.testing.assert_allclose(value, 0.5 * expected, rtol=1e-7)
        before = after


def test_a_width_beyond_all_residuals_is_the_squared_error():
    params = {"max_iter": 1, "learning_rate": 1.0, "quantile": 1 - 1e-9}
    squared = HistGradientBoostingRegressor(**params).fit(X, Y)
    np.testing.assert_allclose(fitted(**params).predict(X), squared.predict(X), rtol=1e-9)


def test_a_few_wild_targets_hardly_matter():
    wild = Y.copy()
    wild[::20] = 1e6
    robust, plain = fitted(wild), HistGradientBoostingRegressor(max_iter=30).fit(X, wild)
    rest = np.arange(len(Y)) % 20 > 0
    errors = [np.abs(model.predict(X[rest]) - Y[rest]).mean() for model in (fitted(), robust, plain)]
    assert errors[1] < 1.5 * errors[0] < errors[2] / 10


def test_scores_have_the_width_of_the_start():
    model = fitted(max_iter=10, early_stopping=True, validation_fraction=None, n_iter_no_change=99)
    start = np.median(Y)
    loss = Huber(weighted_quantile(np.abs(Y - start), None, 0.9))
    stages = [np.full(len(Y), start), *model.staged_predict(X)]
    expected = [-loss.value(Y, z).mean() for z in stages]
    np.testing.assert_allclose(model.train_score_, expected, rtol=1e-9)


def test_targets_of_which_most_are_equal():
    """The quantile of the residuals is 0 then: the least residual that is not takes its place."""
    y = np.where(X[:, 0] > np.quantile(X[:, 0], 0.95), 7.0, 3.0)
    model = fitted(y, max_iter=100, min_samples_leaf=1)
    np.testing.assert_allclose(model.predict(X), y, atol=0.1)
    np.testing.assert_allclose(fitted(np.full(len(Y), 5.0)).predict(X), 5.0)


def test_a_quantile_that_is_none_of_a_share_is_refused():
    with pytest.raises(ParameterError, match="quantile between 0 and 1"):
        fitted(quantile=1.0)
