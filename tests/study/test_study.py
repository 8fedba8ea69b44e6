"""The whole procedure: repeatable, honest about held-out rows, and in agreement with scikit-learn's own validation."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score

import didact
from didact.core.errors import ParameterError
from didact.datasets import load_penguins
from didact.study import Study
from didact.study.measures import measures
from didact.study.tasks import Task, strata
from didact.study.validation import choose
from didact.study.words import answer, number, verdict

pytestmark = pytest.mark.usefixtures("few_models")


def table(n=120, seed=0):
    random = np.random.default_rng(seed)
    x, z = random.normal(size=n), random.normal(size=n)
    colour = random.choice(["red", "green", "blue"], n)
    return pl.DataFrame(
        {
            "x": x,
            "z": z,
            "colour": colour,
            "group": np.where(x + 0.5 * (colour == "red") + 0.3 * random.normal(size=n) > 0, "up", "down"),
            "amount": 2.0 * x - 3.0 * (colour == "blue") + 0.1 * random.normal(size=n),
        }
    ).with_columns(z=pl.when(pl.int_range(n) % 10 == 0).then(None).otherwise("z"))


def numbers(result):
    return [(trial.name, trial.validation) for trial in result.trials], result.model["model"].coef_.tolist()


def test_a_linear_truth_is_found_and_named():
    result = Study("amount").run(table().drop("group"))
    assert result.task.kind == "regression"
    assert result.held_out.best["r2"].value > 0.98
    assert [effect.name for effect in result.effects[:2]] == ["x", "colour = blue"]
    assert result.effects[0].values[0] == pytest.approx(2.0, rel=0.2)  # x has standard deviation about 1
    assert result.effects[1].values[0] < 0
    assert "more than chance" in answer(result)[2]


def test_the_same_seed_gives_the_same_numbers_and_another_seed_another_split():
    first, again, other = (Study("group", seed=s, folds=3).run(table()) for s in (0, 0, 1))
    assert json.dumps(first.scores) == json.dumps(again.scores)
    assert first.held_out.rows.tolist() != other.held_out.rows.tolist()


def test_scores_are_what_scikit_learn_gets_with_the_same_folds():
    data = table()
    result = Study("group", folds=4, seed=7).run(data)
    train = np.setdiff1d(np.arange(len(data)), result.held_out.rows)
    trial = result.trials[1]
    # The order of rows decides the folds: take the training rows in the order of the study's own split.
    study = Study("group", folds=4, seed=7)
    y = data["group"].to_numpy()
    order, _ = study._set_aside(y, result.task)
    assert sorted(order) == train.tolist()
    cv = StratifiedKFold(4, shuffle=True, random_state=7)
    assert strata(y[order], result.task, 4).tolist() == (y[order] == "up").tolist()
    reference = cross_val_score(clone(trial.pipeline), data[order], y[order], cv=cv, scoring="neg_log_loss")
    np.testing.assert_allclose(trial.validation["log_loss"], -reference, rtol=1e-6)


def test_held_out_features_cannot_reach_the_model():
    data = table()
    first = Study("group", folds=3).run(data)
    away = pl.Series(np.isin(np.arange(len(data)), first.held_out.rows))
    spoilt = data.with_columns(
        x=pl.when(away).then(1e9).otherwise("x"),
        z=pl.when(away).then(None).otherwise("z"),
        colour=pl.when(away).then(pl.lit("never seen")).otherwise("colour"),
    )
    second = Study("group", folds=3).run(spoilt)
    assert second.held_out.rows.tolist() == first.held_out.rows.tolist()
    assert numbers(second) == numbers(first)
    assert second.columns == first.columns
    assert second.held_out.best != first.held_out.best


def test_held_out_targets_cannot_reach_the_model():
    data = table(38).drop("group")  # with nine folds there is one stratum, so that the split ignores the target
    first = Study("amount", folds=9).run(data)
    away = pl.Series(np.isin(np.arange(len(data)), first.held_out.rows))
    second = Study("amount", folds=9).run(data.with_columns(amount=pl.when(away).then(-77.5).otherwise("amount")))
    assert numbers(second) == numbers(first)
    assert second.held_out.best["rmse"].value > 10 * first.held_out.best["rmse"].value


def test_knowing_which_rows_are_held_out_does_not_help():
    data = table()
    first = Study("group", folds=3).run(data)
    marked = data.with_columns(is_test=pl.Series(np.isin(np.arange(len(data)), first.held_out.rows)))
    second = Study("group", folds=3).run(marked)
    assert second.columns[-1].dropped.startswith("is constant")
    assert numbers(second) == numbers(first)
    assert second.held_out.best == first.held_out.best


def test_noise_is_called_noise():
    random = np.random.default_rng(5)
    noise = pl.DataFrame({"a": random.normal(size=150), "b": random.normal(size=150), "y": random.normal(size=150)})
    result = Study("y").run(noise)
    assert result.held_out.best["r2"].low < 0.05
    assert "more than chance" not in answer(result)[2]


def test_a_copy_of_the_target_is_not_used():
    data = table().with_columns(leak=pl.col("amount")).drop("group")
    result = Study("amount").run(data)
    assert "leak" not in result.model["columns"].numbers
    assert "Column “leak” was not used: it is a copy of the target." in result.notes


def test_a_column_of_pandas_or_arrow_is_the_same_study():
    data = table()
    other = pd.DataFrame({name: data[name].to_list() for name in data.columns})
    assert Study("group", folds=3).run(other).scores == Study("group", folds=3).run(data.to_arrow()).scores


def test_the_model_takes_frames_with_gaps_new_levels_and_other_order():
    result = Study("amount").run(table().drop("group"))
    new = pl.DataFrame({"colour": ["blue", "violet", None], "z": [None, 0.0, 1.0], "x": [1.0, None, 2.0]})
    found = result.model.predict(new)
    assert found.shape == (3,)
    assert found[0] == pytest.approx(2.0 - 3.0, abs=0.3)


def test_parameters_are_checked():
    with pytest.raises(ParameterError, match="folds must be"):
        Study("group", folds=1).run(table())
    with pytest.raises(ParameterError, match="too many for 40 rows; use at most 10"):
        Study("group", folds=11).run(table(40))
    with pytest.raises(ParameterError, match="time_limit"):
        Study("group", time_limit=0).run(table())


def test_steps_are_told_in_order_and_come_to_their_end():
    seen = []
    Study("group", folds=3, on_step=lambda *step: seen.append(step)).run(table())
    done = [step[1] for step in seen]
    assert done == list(range(len(seen)))
    assert seen[-1][1] == seen[-1][2] - 1


def edge_tables():
    random = np.random.default_rng(2)
    n = 150
    level = random.integers(0, 25, n)
    days = pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 1, 1) + pl.duration(days=n - 1), eager=True)
    x = random.normal(size=n)
    return {
        "only words": {"city": [f"city {k}" for k in level], "y": level % 5 + 0.1 * x},
        "yes or no": {"x": x, "y": x + 0.5 * random.normal(size=n) > 0},
        "only a date": {"day": days, "y": np.arange(n) + x},
        "more columns than rows": {f"x{k}": random.normal(size=40) for k in range(50)} | {"y": random.normal(size=40)},
    }


@pytest.mark.parametrize("name", edge_tables())
def test_odd_tables_give_a_model_that_survives_a_file(tmp_path, name):
    data = pl.DataFrame(edge_tables()[name])
    result = Study("y", folds=3, out=tmp_path).run(data)
    again = didact.load(tmp_path / "model.didact")
    assert again.predict(data).tolist() == result.model.predict(data).tolist()
    useful = name != "more columns than rows"
    assert ("more than chance" in verdict(result)) == useful
    assert ("better than by the dummy" in result.report_path.read_text()) == (result.best == "Dummy")


def test_columns_that_say_the_same_are_pointed_out():
    data = table().drop("group").with_columns(twin=pl.col("x") + 0.001 * pl.col("amount").sin())
    result = Study("amount").run(data)
    assert {"x", "twin"} <= set(result.entangled)
    assert Study("amount").run(table().drop("group")).entangled == []


def test_a_model_without_a_finite_score_is_not_chosen():
    first, second = Study("amount", folds=2).run(table().drop("group")).trials[:2]
    measure = measures(Task("regression", "amount"))[0]
    first.validation["rmse"][0] = float("nan")
    assert choose([first, second], measure) is choose([second, first], measure) is second


def test_the_penguins_are_studied_without_a_complaint(every_model):
    result = Study("Species", folds=3).run(load_penguins())
    assert result.task.kind == "multiclass"
    assert result.held_out.best["accuracy"].value > 0.95
    dropped = {column.name for column in result.columns if column.dropped}
    assert dropped == {"Region", "Stage", "Individual ID"}


@pytest.mark.parametrize(
    ("value", "key", "text"),
    [
        (0.1234, "accuracy", "12.3 %"),
        (-1e-9, "r2", "0.000"),
        (1234.5, "", "1,234"),
        (12.0, "", "12.0"),
        (0.00123456, "", "0.00123"),
        (123.0, "", "123"),
        (float("nan"), "", "–"),
    ],
)
def test_numbers_are_written_for_people(value, key, text):
    assert number(value, key) == text
