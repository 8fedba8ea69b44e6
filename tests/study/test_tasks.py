"""Finding the task from the target."""

import numpy as np
import polars as pl
import pytest

from didact.core.errors import InputError, ParameterError
from didact.study.tasks import Task, set_task, strata

RANDOM = np.random.default_rng(0)
N = 400
TARGETS = {
    "words, two": (RANDOM.choice(["a", "b"], N), "binary"),
    "words, three": (RANDOM.choice(["a", "b", "c"], N), "multiclass"),
    "yes and no": (RANDOM.random(N) < 0.5, "binary"),
    "zero and one": (RANDOM.integers(0, 2, N), "binary"),
    "two floats": (RANDOM.choice([0.5, 1.5], N), "binary"),
    "few whole numbers": (RANDOM.integers(1, 6, N), "multiclass"),
    "floats": (RANDOM.normal(size=N), "regression"),
    "visits": (RANDOM.poisson(6.0, N), "count"),
    "visits as floats": (RANDOM.negative_binomial(1, 0.05, N).astype(float), "count"),
    "prices in whole dollars": (RANDOM.integers(5_000, 90_000, N), "regression"),
    "ages": (RANDOM.integers(18, 90, N), "regression"),
    "incomes with zeros": (RANDOM.integers(0, 90_000, N), "regression"),
    "differences": (RANDOM.integers(-20, 20, N), "regression"),
}


@pytest.mark.parametrize("name", TARGETS)
def test_the_kind_is_found(name):
    values, kind = TARGETS[name]
    task, _, y, _ = set_task(pl.DataFrame({"y": values}), "y", "auto", 5)
    assert task.kind == kind
    assert len(y) == N


def test_the_kind_can_be_asked_for():
    table = pl.DataFrame({"y": TARGETS["few whole numbers"][0]})
    assert set_task(table, "y", "regression", 5)[0].kind == "regression"
    assert set_task(table, "y", "count", 5)[0].kind == "count"
    note = set_task(table, "y", "auto", 5)[3]
    assert any("--task regression" in text for text in note)
    with pytest.raises(ParameterError, match="task must be one of"):
        set_task(table, "y", "ranking", 5)


def test_rows_without_a_target_are_left_out_and_said():
    values = [1.5, None, float("nan")] + list(np.linspace(0, 1, 30))
    task, table, y, notes = set_task(pl.DataFrame({"y": values}), "y", "auto", 5)
    assert (task.kind, len(table), len(y)) == ("regression", 31, 31)
    assert notes == ["2 rows had no value of “y” and had to be left out."]


def test_rare_classes_are_left_out_and_said():
    values = ["a"] * 40 + ["b"] * 40 + ["once"] + ["twice"] * 2
    task, table, _, notes = set_task(pl.DataFrame({"y": values}), "y", "auto", 5)
    assert task == Task("binary", "y", ("a", "b"))
    assert len(table) == 80
    assert notes[0].startswith("3 rows of 2 rare classes (once, twice) were left out")


@pytest.mark.parametrize(
    ("values", "asked", "sentence"),
    [
        (["a"] * 30, "auto", "constant"),
        ([1.0] * 30, "auto", "constant"),
        ([1.0, 2.0], "auto", "Only 2 rows"),
        ([None] * 30, "auto", "Only 0 rows"),
        ([f"name {i}" for i in range(50)], "auto", "too few to learn to tell classes apart"),
        (["a", "b"] * 20, "regression", "holds words, not numbers"),
        ([-1.0, 2.0] * 20, "count", "negative values"),
        ([[1], [2]] * 20, "auto", "type List"),
    ],
)
def test_a_target_that_cannot_be_learnt_gets_one_sentence(values, asked, sentence):
    with pytest.raises(InputError, match=sentence):
        set_task(pl.DataFrame({"y": values}), "y", asked, 5)


def test_strata_are_equal_ranges_of_a_number():
    y = RANDOM.normal(size=1000)
    groups = strata(y, Task("regression", "y"), 5)
    assert np.bincount(groups).tolist() == [100] * 10
    assert all(y[groups == k].max() <= y[groups == k + 1].min() for k in range(9))
