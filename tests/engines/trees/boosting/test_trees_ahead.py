"""Trees that are grown several in one call are those that are grown one by one."""

from typing import Any

import numpy as np
import pytest

from didact.core.threads import threads_for
from didact.engines.trees.boosting import booster
from didact.engines.trees.growers import histogram
from didact.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

BENT = {"max_iter": 12, "early_stopping": False, "random_state": 0}
CASES: dict[str, tuple[Any, dict[str, Any], int]] = {  # and in how many calls the trees are grown
    "regression": (HistGradientBoostingRegressor, {}, 1),
    "classes": (HistGradientBoostingClassifier, {}, 1),
    "drawn features": (HistGradientBoostingRegressor, {"max_features": 0.5}, 1),
    "monotone, no limit of leaves": (
        HistGradientBoostingRegressor,
        {"monotonic_cst": [1, -1, 0, 0, 0, 0], "max_leaf_nodes": None, "max_depth": 5},
        1,
    ),
    "long steps that are shortened": (HistGradientBoostingClassifier, {"learning_rate": 1.0}, 1),
    "rows drawn for each tree": (HistGradientBoostingRegressor, {"subsample": 0.5}, 12),
    "early stopping looks": (HistGradientBoostingRegressor, {"early_stopping": True, "tol": 0.0}, 12),
}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found: list[int] = []
    grow = booster.grow_side_by_side
    monkeypatch.setattr(booster, "grow_side_by_side", lambda begun: found.append(len(begun)) or grow(begun))
    monkeypatch.setattr(histogram, "CODES_PER_THREAD", 2000)  # so that small trees are grown on several threads
    return found


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("name", CASES)
def test_trees_grown_in_one_call_are_those_grown_one_by_one(
    name: str, threads: int, calls: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, options, expected = CASES[name]
    rng = np.random.default_rng(3)
    X = rng.normal(size=(6000, 6))
    y = X[:, 0] - X[:, 1] ** 2 + np.sin(3 * X[:, 2]) + 0.2 * rng.normal(size=6000)
    y = y if kind is HistGradientBoostingRegressor else (y > 0).astype(int)
    with threads_for(threads):
        together = kind(**BENT | options).fit(X, y)
        assert len(calls) == expected
        monkeypatch.setattr(booster, "TREES_AHEAD", 0)
        alone = kind(**BENT | options).fit(X, y)
    assert len(calls) == expected + 12
    for a, b in zip(together._packed, alone._packed, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_fit_ends_at_the_last_iteration_when_trees_are_added(calls: list[int]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = X[:, 0] + rng.normal(size=500)
    model = HistGradientBoostingRegressor(max_iter=3, warm_start=True, early_stopping=False).fit(X, y)
    model.set_params(max_iter=7).fit(X, y)
    whole = HistGradientBoostingRegressor(max_iter=7, early_stopping=False).fit(X, y)
    assert model.n_iter_ == len(model._packed.roots) == 7
    assert calls == [1, 1, 1]
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-12)
