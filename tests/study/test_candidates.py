"""Which models are tried on which table, how their columns are prepared, and that what bends finds what bends."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import make_friedman1

import didact
from didact.study import Study
from didact.study import candidates as table
from didact.study.candidates import Facts, candidates, facts_of
from didact.study.columns import Column, judge_columns
from didact.study.pipelines import pipeline
from didact.study.tasks import Task

MIDDLING = {"rows": 1000, "words": 2, "width": 20, "classes": 2, "fewest": 400}


def names(**facts):
    tried, skipped = candidates(Facts(**({"kind": "binary"} | MIDDLING | facts)))
    assert tried[0].name == "Dummy"
    assert not {c.name for c in tried} & {s.name for s in skipped}
    return {c.name for c in tried}, {s.name: s.why for s in skipped}


def test_every_kind_of_model_is_tried_where_it_suits():
    tried, skipped = names(words=0)
    assert skipped == {}
    for kind in ("Naive Bayes", "discriminant", "Decision tree", "Random forest", "Boosting", "neighbours", "Logistic"):
        assert any(kind in name for name in tried), kind
    numbers, _ = names(kind="regression", classes=0)
    assert {"Linear regression", "Decision tree", "Random forest", "Boosting", "Nearest neighbours (5)"} <= numbers
    assert not any("Logistic" in name or "Bayes" in name or "discriminant" in name for name in numbers)
    assert any("Poisson" in name for name in names(kind="count", classes=0)[0])


@pytest.mark.parametrize(
    ("facts", "left_out"),
    [
        ({"words": 1}, {"Quadratic discriminant"}),
        ({"words": 0, "fewest": 50}, {"Quadratic discriminant"}),
        ({"words": 0, "width": 50, "fewest": 400}, {"Nearest neighbours (5)", "Nearest neighbours (many)"}),
        ({"words": 0, "rows": 80, "fewest": 70}, {"Boosting", "Boosting (small steps)"}),
        ({"words": 0, "rows": 10**6, "fewest": 10**5}, {"Nearest neighbours (5)", "Nearest neighbours (many)"}),
        ({"words": 0, "kind": "multiclass", "classes": 9}, {"Boosting (small steps)"}),
    ],
)
def test_what_does_not_suit_a_table_is_left_out_with_a_reason(facts, left_out):
    _, skipped = names(**facts)
    assert set(skipped) == left_out
    assert all(skipped.values())


def test_facts_count_prepared_columns():
    columns = [
        Column("a", "number", 0.0, 50),
        Column("b", "number", 0.1, 50),  # one more for its gaps
        Column("c", "words", 0.0, 4),
        Column("d", "words", 0.0, 900),  # rare levels go together
        Column("e", "number", 0.0, 1, dropped="is constant"),
    ]
    facts = facts_of(Task("binary", "y", (0, 1)), columns, np.array([0] * 30 + [1] * 70), 5, 0)
    assert (facts.rows, facts.words, facts.width, facts.classes, facts.fewest) == (100, 2, 1 + 2 + 5 + 30, 2, 30)


def test_every_row_of_the_table_is_told_to_a_person_and_stands_on_the_page():
    page = Path(didact.__file__).parents[2] / "docs" / "study.md"
    for row in table.TABLE:
        assert row.words[0].islower() or row.words[0].isdigit()
        assert not row.words.endswith(".")
        kind = re.split(r" \(| regression| discriminant", row.name)[0].lower()
        assert kind in page.read_text().lower(), kind


def gaps_and_levels(n=600):
    random = np.random.default_rng(0)
    level = random.choice(["a", "b", "c", "d"], n)
    x = np.where(random.random(n) < 0.2, np.nan, random.normal(size=n))
    y = 2.0 * np.isin(level, ["a", "c"]) + 3.0 * np.isnan(x) + 0.1 * random.normal(size=n)
    return pl.DataFrame({"x": x, "level": level, "y": y}).with_columns(pl.col("x").fill_nan(None))


def test_trees_read_gaps_and_levels_themselves():
    data = gaps_and_levels()
    columns = judge_columns(data, "y", len(data))
    facts = facts_of(Task("regression", "y"), columns, data["y"].to_numpy(), 5, 0)
    row = next(row for row in table.TABLE if row.name == "Decision tree")
    model = pipeline(row, columns, facts).fit(data, data["y"].to_numpy())
    assert model[:-1].transform(data).shape == (600, 2)  # no column for each level, none for gaps
    assert model["model"].categories_.mask.tolist() == [False, True]
    new = pl.DataFrame({"level": ["a", "b", "c", "d", "never seen", None], "x": [0.0, 0.0, None, None, 0.0, 0.0]})
    np.testing.assert_allclose(model.predict(new)[:4], [2.0, 0.0, 5.0, 3.0], atol=0.15)
    assert np.isfinite(model.predict(new)).all()


@pytest.mark.parametrize("name", ["Naive Bayes", "Naive Bayes (binned)", "Boosting", "Random forest", "Decision tree"])
def test_native_models_survive_a_file_and_new_levels(tmp_path, name, monkeypatch):
    monkeypatch.setattr(table, "TABLE", tuple(row for row in table.TABLE if row.name in ("Dummy", name)))
    data = gaps_and_levels().with_columns(y=pl.when(pl.col("y") > 1).then(pl.lit("up")).otherwise(pl.lit("down")))
    result = Study("y", folds=2, out=tmp_path).run(data)
    assert result.best == name
    new = pl.DataFrame({"level": ["a", "never seen", None], "x": [None, 0.0, float("inf")]})
    again = didact.load(tmp_path / "model.didact").predict_proba(new)
    np.testing.assert_array_equal(again, result.model.predict_proba(new))
    np.testing.assert_allclose(again.sum(axis=1), 1.0)


def test_curves_and_products_are_found():
    """Friedman's table, whose truth has a wave, a square and a product: lines explain three quarters of it."""
    X, y = make_friedman1(1500, noise=1.0, random_state=0)
    data = pl.DataFrame({f"x{j}": X[:, j] for j in range(10)}).with_columns(y=pl.Series(y))
    result = Study("y", folds=2).run(data)
    line = next(trial for trial in result.trials if trial.name == "Linear regression")
    assert result.best.startswith("Boosting")
    assert result.best_trial.mean("r2") > line.mean("r2") + 0.1
    assert result.held_out.best["r2"].value > 0.88
    assert {importance.name for importance in result.importances[:5]} == {"x0", "x1", "x2", "x3", "x4"}
    assert result.effects == []
