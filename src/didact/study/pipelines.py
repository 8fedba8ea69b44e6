"""From the columns of a table to a prediction, as one pipeline: the preparation that a model needs, then the model.

Everything that is learnt from rows — medians, levels, means and scales — is learnt inside the pipeline, so that a
validation fold or the held-out part can never leak into it. Models of formulas and distances get numbers: gaps filled
and marked, all on one scale, words as one yes/no column a level. Trees and naive Bayes read gaps and levels themselves.
"""

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline

from didact.impute import SimpleImputer
from didact.preprocessing import FrameColumns, OneHotEncoder, OrdinalEncoder, StandardScaler
from didact.study.candidates import NATIVE, WIDE, Candidate, Facts
from didact.study.columns import MOST_LEVELS, Column, names_of, rare_below

OTHER = "(other)"


def pipeline(candidate: Candidate, columns: list[Column], facts: Facts) -> Pipeline:
    """Select and type the columns, prepare them as the candidate needs it, then the model."""
    select = FrameColumns(
        numbers=names_of(columns, "number"),
        words=names_of(columns, "words"),
        dates=names_of(columns, "date"),
        moments=names_of(columns, "moment"),
    )
    prepare = _native if candidate.preparation == NATIVE else _scaled
    model = candidate.make(facts)
    if candidate.preparation == NATIVE and select.word_names():
        first = len(select.number_names())
        model.set_params(categorical_features=list(range(first, first + len(select.word_names()))))
    return Pipeline([("columns", select), ("prepare", prepare(select, facts)), ("model", model)])


def _scaled(select: FrameColumns, facts: Facts) -> ColumnTransformer:
    """Numbers alone: filled, marked, scaled; a column for each level."""
    fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    encode = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=rare_below(facts.rows),
        max_categories=MOST_LEVELS,
    )
    parts = [
        ("numbers", make_pipeline(fill, StandardScaler()), select.number_names()),
        ("words", encode, select.word_names()),
    ]
    return ColumnTransformer([p for p in parts if p[2]], sparse_threshold=0.0 if facts.width <= WIDE else 0.3)


def _native(select: FrameColumns, facts: Facts) -> ColumnTransformer:
    """Numbers as they are, gaps too; levels as codes, rare ones together; a level never seen is a gap."""
    encode = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, min_frequency=rare_below(facts.rows)
    )
    parts: list[tuple[str, Any, list[str]]] = [
        ("numbers", "passthrough", select.number_names()),
        ("words", encode, select.word_names()),
    ]
    return ColumnTransformer([p for p in parts if p[2]])


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
