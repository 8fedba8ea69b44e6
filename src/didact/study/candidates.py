"""The models that a study compares, each behind the same preparation of columns, as one pipeline.

Everything that is learnt from rows — medians, levels, means and scales — is learnt inside the pipeline, so that a
validation fold or the held-out part can never leak into it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.pipeline import Pipeline, make_pipeline

from didact.impute import SimpleImputer
from didact.linear_model import LinearRegression, LogisticRegression, LogisticRegressionCV, PoissonRegressor, RidgeCV
from didact.preprocessing import FrameColumns, OneHotEncoder, StandardScaler
from didact.study.columns import Column, names_of, rare_below
from didact.study.tasks import Task

MOST_LEVELS = 30
OTHER = "(other)"


@dataclass(frozen=True)
class Candidate:
    """A model to try: its name for a person, what it is in a sentence, and the unfitted estimator."""

    name: str
    words: str
    estimator: Any


def candidates(task: Task, folds: int) -> list[Candidate]:
    """What can be tried on a task, the dummy first."""
    if task.is_classification:
        return [
            Candidate("Dummy", "ignores the columns: the share of each class", DummyClassifier(strategy="prior")),
            Candidate("Logistic regression", "penalty C = 1", LogisticRegression(max_iter=1000)),
            Candidate(
                "Logistic regression, tuned",
                "penalty chosen by cross-validation",
                LogisticRegressionCV(Cs=10, cv=folds, scoring="neg_log_loss", max_iter=1000),
            ),
        ]
    dummy = Candidate("Dummy", "ignores the columns: the mean of the target", DummyRegressor(strategy="mean"))
    ridge = Candidate(
        "Ridge regression, tuned",
        "penalty chosen by leave-one-out",
        RidgeCV(alphas=np.logspace(-3, 4, 22)),
    )
    if task.kind == "regression":
        return [dummy, Candidate("Linear regression", "least squares, no penalty", LinearRegression()), ridge]
    poisson = [
        Candidate(
            f"Poisson regression, α = {alpha:g}",
            f"logarithmic link, {strength} penalty",
            PoissonRegressor(alpha=alpha, max_iter=1000),
        )
        for alpha, strength in ((0.001, "weak"), (0.1, "middling"), (1.0, "strong"))
    ]
    return [dummy, ridge, *poisson]


def pipeline(columns: list[Column], rows: int, estimator: Any) -> Pipeline:
    """Select and type the columns, fill and scale numbers, encode words, then the model."""
    select = FrameColumns(
        numbers=names_of(columns, "number"),
        words=names_of(columns, "words"),
        dates=names_of(columns, "date"),
        moments=names_of(columns, "moment"),
    )
    fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    encode = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=rare_below(rows),
        max_categories=MOST_LEVELS,
    )
    parts = [
        ("numbers", make_pipeline(fill, StandardScaler()), select.number_names()),
        ("words", encode, select.word_names()),
    ]
    prepare = ColumnTransformer([part for part in parts if part[2]])
    return Pipeline([("columns", select), ("prepare", prepare), ("model", estimator)])


def features(model: Pipeline) -> list[tuple[str, str]]:
    """The prepared columns as (column, level), such as ("Sex", "male"); the level of a number is empty."""
    words = sorted(model["columns"].word_names(), key=len, reverse=True)
    return [_feature(str(name), words) for name in model["prepare"].get_feature_names_out()]


def _feature(name: str, words: list[str]) -> tuple[str, str]:
    part, _, rest = name.partition("__")
    if part == "numbers":
        absent = rest.removeprefix("missingindicator_")
        return (rest if absent == rest else f"{absent} is missing"), ""
    column = next(w for w in words if rest.startswith(f"{w}_"))
    level = rest[len(column) + 1 :]
    return column, OTHER if level == "infrequent_sklearn" else level
