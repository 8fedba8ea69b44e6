"""Importances are what shuffling does, on held-out rows and whole columns."""

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

from didact.study import Study
from didact.study.measures import point
from didact.study.validation import predict

pytestmark = pytest.mark.usefixtures("few_models")
N = 400


@pytest.fixture
def studied():
    random = np.random.default_rng(0)
    hours = random.integers(0, 24 * 365, N)
    data = pl.DataFrame(
        {
            "x": random.normal(size=N),
            "idle": random.normal(size=N),
            "colour": random.choice(["red", "green", "blue"], N),
            "when": [datetime(2024, 1, 1) + timedelta(hours=int(h)) for h in hours],
        }
    )
    y = 3 * data["x"] + 2.0 * (data["colour"] == "red") + 2.0 * (data["when"].dt.weekday() > 5)
    return Study("y", folds=2).run(data.with_columns(y=y + pl.Series(0.1 * random.normal(size=N)))), data


def test_the_order_is_that_of_the_truth_and_a_date_is_one_column(studied):
    result, _ = studied
    assert [importance.name for importance in result.importances] == ["x", "colour", "when", "idle"]
    values = [importance.value for importance in result.importances]
    assert values[2] > 0.3
    assert abs(values[3]) < 0.05
    assert all(importance.spread >= 0 for importance in result.importances)


def test_a_shuffled_number_costs_what_theory_says(studied):
    """Shuffling x of a linear model adds 2 b² var(x) to the mean squared error."""
    result, data = studied
    rows = result.held_out.rows
    x = data["x"].to_numpy()[rows]
    mse = point(result.measures[0], result.held_out.y, predict(result.model, data[rows], result.task)) ** 2
    found = (np.sqrt(mse) + result.importances[0].value) ** 2 - mse
    assert found == pytest.approx(2 * 9 * x.var(), rel=0.2)  # the mean of ten shuffles of 80 rows


def test_importances_do_not_change_the_rows_and_repeat(studied):
    result, data = studied
    again = Study("y", folds=2).run(data.with_columns(y=pl.Series(result.target_values)))
    assert again.importances == result.importances
