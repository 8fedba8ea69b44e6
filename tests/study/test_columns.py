"""Judging columns: what is useless is dropped with its reason, what is useful stays."""

from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from didact.core.errors import InputError
from didact.study.columns import judge_columns, names_of

N = 100
RANDOM = np.random.default_rng(0)
TARGET = RANDOM.choice(["yes", "no"], N)
CASES = {
    "constant": (["same"] * N, "words", "is constant"),
    "constant number": ([3] * N, "number", "is constant"),
    "identifier": ([f"id-{i}" for i in range(N)], "words", "is an identifier"),
    "row number": (RANDOM.permutation(N), "number", "row number"),
    "customer_id": (RANDOM.choice(10**6, N, replace=False), "number", "identifier"),
    "names": ([f"name {i // 2}" for i in range(N)], "words", "hardly repeat"),
    "empty": ([None] * N, "empty", "is empty"),
    "copy": (TARGET, "words", "copy of the target"),
    "lists": ([[1]] * N, "other", "not understood"),
    "measurement": (RANDOM.normal(size=N), "number", ""),
    "big whole numbers": (RANDOM.choice(10**6, N, replace=False), "number", ""),
    "flag": (RANDOM.random(N) < 0.5, "number", ""),
    "colour": (RANDOM.choice(["red", "blue"], N), "words", ""),
    "remark": ([None] * (N - 3) + ["a", "a", "b"], "words", ""),
    "day": ([date(2024, 1, 1) + timedelta(i) for i in range(N)], "date", ""),
    "moment": ([datetime(2024, 1, 1) + timedelta(hours=i) for i in range(N)], "moment", ""),
}


@pytest.mark.parametrize("name", CASES)
def test_each_column_is_judged(name):
    values, kind, reason = CASES[name]
    table = pl.DataFrame({"y": TARGET, "useful": np.arange(N) % 7, name: values})
    column = judge_columns(table, "y", N)[1]
    assert column.kind == kind
    assert (reason in column.dropped) if reason else column.dropped == ""


def test_the_judgement_is_kept_by_kind_and_missing_is_counted():
    table = pl.DataFrame({"y": TARGET, "a": [None, 1.0] * 50, "b": CASES["colour"][0], "c": CASES["constant"][0]})
    columns = judge_columns(table, "y", N)
    assert names_of(columns, "number") == ["a"]
    assert names_of(columns, "words") == ["b"]
    assert columns[0].missing == 0.5


def test_nothing_left_is_said_with_the_reasons():
    table = pl.DataFrame({"y": TARGET, "k": CASES["constant"][0]})
    with pytest.raises(InputError, match="No column is left to predict 'y' from: 'k' is constant"):
        judge_columns(table, "y", N)
    with pytest.raises(InputError, match="there is no other column"):
        judge_columns(table.select("y"), "y", N)
