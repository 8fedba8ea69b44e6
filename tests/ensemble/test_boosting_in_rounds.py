"""Boosting on Dask whose codes stay on the workers: the ensemble of the same codes gathered in memory."""

import dask
import dask.array as da
import numpy as np
import pytest
from dask.sizeof import sizeof
from sklearn.base import clone

from didact.core.random import row_uniforms
from didact.engines.trees.boosting.objective import Objective
from didact.engines.trees.boosting.spread_rows import LossBlock
from didact.engines.trees.rows.bins import Coded
from didact.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from didact.ensemble import hist_gradient_boosting_base as base
from didact.parts.losses import Huber


@pytest.fixture(autouse=True)
def one_process():
    with dask.config.set(scheduler="synchronous"):
        yield


def table(n=1200, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 3)), rng.integers(0, 7, n)])
    X[rng.random(X.shape) < 0.05] = np.nan
    z = np.nan_to_num(X)
    y = 2 * (z[:, 0] > 0.3) + z[:, 1] * (z[:, 2] > 0) + (z[:, 3] % 3 == 1) + 0.3 * rng.normal(size=n)
    return X, y, np.array(["a", "b", "c"])[np.digitize(y, [0.3, 1.8])], rng.integers(0, 3, n) / 2


def on_dask(*columns):
    return [da.from_array(c, chunks=(350, *c.shape[1:])) for c in columns]


def both(monkeypatch, model, *columns):
    """The fit on the workers, from which nothing is gathered, and the one of gathered codes."""
    rounds, gathered = clone(model), clone(model).fit(*on_dask(*columns))
    with monkeypatch.context() as patch:
        patch.setattr(base, "GATHERED", 0)
        patch.setattr(base, "coded_rows", None)
        return rounds.fit(*on_dask(*columns)), gathered


def assert_same_trees(a, b, rtol=1e-12):
    """The same splits, and values up to the rounding of the constant from which both start."""
    np.testing.assert_allclose(a._start, b._start, rtol=rtol, atol=rtol)
    for name in ("nodes", "roots", "output", "sets", "category_sets"):
        np.testing.assert_array_equal(getattr(a._packed, name), getattr(b._packed, name), err_msg=name)
    for name in ("values", "weights"):
        np.testing.assert_allclose(getattr(a._packed, name), getattr(b._packed, name), rtol=rtol, atol=rtol)


COMMON = {"max_iter": 6, "max_leaf_nodes": 9, "min_samples_leaf": 5, "random_state": 1}


@pytest.mark.parametrize("change", [
    {}, {"loss": "absolute_error"}, {"loss": "quantile", "quantile": 0.3, "subsample": 0.6}, {"loss": "poisson"},
    {"loss": Huber(0.5)}, {"loss": "huber", "subsample": 0.6}, {"subsample": 0.5, "max_features": 0.5},
    {"categorical_features": [3], "max_depth": 3},
    {"monotonic_cst": [1, -1, 0, 0], "loss": "absolute_error"}, {"interaction_cst": [[0, 1], [2]]},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_in_rounds(change, weighted, monkeypatch):
    X, y, _, w = table()
    model = HistGradientBoostingRegressor(**COMMON | {"early_stopping": False} | change)
    columns = [X, np.abs(y), w] if weighted else [X, np.abs(y)]
    assert_same_trees(*both(monkeypatch, model, *columns))


@pytest.mark.parametrize("change", [{}, {"class_weight": "balanced"}, {"class_weight": {"a": 0.0}}], ids=str)
@pytest.mark.parametrize("labels", [2, 3])
def test_classes_in_rounds(change, labels, monkeypatch):
    X, _, y, _ = table()
    y = np.where(y == "b", "c", y) if labels == 2 else y
    if labels == 2 and change == {"class_weight": {"a": 0.0}}:
        change = {"loss": "exponential", "l2_regularization": 1.0}
    model = HistGradientBoostingClassifier(**COMMON | {"early_stopping": False} | change)
    rounds, gathered = both(monkeypatch, model, X, y)
    assert rounds.classes_.tolist() == gathered.classes_.tolist()
    assert_same_trees(rounds, gathered, 1e-12 if change else 0.0)


def test_early_stopping_holds_rows_out_by_their_number(monkeypatch):
    X, y, _, w = table()
    model = HistGradientBoostingRegressor(**COMMON | {"max_iter": 60, "early_stopping": True, "n_iter_no_change": 3})

    def split(rows, test_size, random_state, stratify):
        out = row_uniforms(np.random.SeedSequence(random_state), 0, len(rows)) < test_size
        return rows[~out], rows[out]

    monkeypatch.setattr("didact.ensemble.held_out.train_test_split", split)
    rounds, gathered = both(monkeypatch, model, X, y, w)
    assert 3 < rounds.n_iter_ < 60
    assert_same_trees(rounds, gathered, 1e-11)
    np.testing.assert_allclose(rounds.train_score_, gathered.train_score_, rtol=1e-12)
    np.testing.assert_allclose(rounds.validation_score_, gathered.validation_score_, rtol=1e-12)


def test_a_width_that_is_zero_is_the_least_that_is_not(monkeypatch):
    X, y, _, _ = table()
    y = np.where(np.arange(len(y)) % 16 == 0, y, 0.0)  # nine tenths of the residuals are 0 at the start
    model = HistGradientBoostingRegressor(**COMMON | {"loss": "huber", "learning_rate": 1.0, "min_samples_leaf": 1})
    assert_same_trees(*both(monkeypatch, model, X, y))


def test_without_weights_two_classes_stop_at_the_same_iteration_of_the_training_loss(monkeypatch):
    X, _, y, _ = table()
    options = {"early_stopping": True, "validation_fraction": None, "tol": 0.01, "n_iter_no_change": 2, "max_iter": 50}
    rounds, gathered = both(monkeypatch, HistGradientBoostingClassifier(**COMMON | options), X, y == "a")
    assert rounds.n_iter_ < 50
    assert_same_trees(rounds, gathered, 0.0)
    assert len(rounds.validation_score_) == 0


def test_trees_are_added_later(monkeypatch):
    X, y, labels, _ = table()
    monkeypatch.setattr(base, "GATHERED", 0)
    for kind, target in ((HistGradientBoostingRegressor, y), (HistGradientBoostingClassifier, labels)):
        whole = kind(**COMMON | {"subsample": 0.7}).fit(*on_dask(X, target))
        parts = kind(**COMMON | {"subsample": 0.7, "max_iter": 2}, warm_start=True).fit(*on_dask(X, target))
        assert_same_trees(parts.set_params(max_iter=6).fit(*on_dask(X, target)), whole)


class Fair:
    """The logistic loss by hand, for a loss that is not the library's."""

    def value(self, y, z):
        return np.logaddexp(0, z) - y * z

    def grad_hess(self, y, z):
        p = 1 / (1 + np.exp(-z))
        return p - y, p * (1 - p)


def test_a_loss_of_ones_own_and_callbacks(monkeypatch):
    X, _, y, _ = table()
    seen = []

    class Listen:
        def setup(self, estimator, context):
            pass

        teardown = setup

        def on_fit_task_begin(self, estimator, context, **data):
            pass

        def on_fit_task_end(self, estimator, context, **data):
            if hasattr(context, "value"):
                seen.append(context.value)

    model = HistGradientBoostingClassifier(loss=Fair(), **COMMON).set_callbacks(Listen())
    rounds, gathered = both(monkeypatch, model, X, (y == "a").astype(int))
    assert_same_trees(rounds, gathered)
    np.testing.assert_allclose(seen[:6], seen[6:], rtol=1e-12)
    assert seen[5] < seen[0]


def test_empty_blocks_and_trees_without_limits(monkeypatch):
    X, y, _, _ = table(400)
    model = HistGradientBoostingRegressor(**COMMON)
    gathered = clone(model).fit(X, y)
    monkeypatch.setattr(base, "GATHERED", 0)
    chunks = (0, 150, 0, 250)
    DX, Dy = da.from_array(X, chunks=(chunks, 4)), da.from_array(y, chunks=(chunks,))
    assert_same_trees(clone(model).fit(DX, Dy), gathered)
    # As for a tree that may have very many leaves.
    monkeypatch.setattr("didact.engines.trees.growers.passes.HISTOGRAM_BYTES", 1)
    monkeypatch.setattr(base, "SpreadRows", None)
    assert_same_trees(clone(model).fit(DX, Dy), gathered)


def test_bad_data_on_the_workers_are_refused_in_words(monkeypatch):
    monkeypatch.setattr(base, "GATHERED", 0)
    X, y, labels, _ = table(200)
    with pytest.raises(ValueError, match="poisson"):
        HistGradientBoostingRegressor(loss="poisson").fit(*on_dask(X, y - 5))
    with pytest.raises(ValueError, match="one class"):
        HistGradientBoostingClassifier().fit(*on_dask(X, np.full(200, "a")))
    with pytest.raises(ValueError, match="validation_fraction"):
        HistGradientBoostingClassifier(early_stopping=True, validation_fraction=1e-9).fit(*on_dask(X, labels))


def test_a_scheduler_knows_how_large_blocks_are():
    codes, y = np.zeros((1000, 30), np.uint8), np.zeros(1000)
    part = LossBlock(Coded(codes, None), Objective(Huber(1.0), y, y))
    assert sizeof(part) > codes.nbytes + 2 * y.nbytes
