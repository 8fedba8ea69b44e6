"""Using a studied model on a new table."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from didact.core.errors import InputError, need
from didact.core.files.persistence import load
from didact.study.files import beside, folder
from didact.study.tables import read_table

if TYPE_CHECKING:
    import polars as pl


def predictions(model: Any, table: "pl.DataFrame") -> "pl.DataFrame":
    """One row per row: the prediction and, for classes, the probability of each."""
    pl = need("polars", "study")
    if not hasattr(model, "predict_proba"):
        return pl.DataFrame({"prediction": np.asarray(model.predict(table))})
    probability = np.asarray(model.predict_proba(table), dtype=float)
    columns = {"prediction": np.asarray(model.classes_)[probability.argmax(axis=1)].tolist()}
    columns |= {f"probability of {name}": probability[:, k] for k, name in enumerate(model.classes_)}
    return pl.DataFrame(columns)


def predict_file(model: Path, data: Any, out: Path) -> int:
    """Read a model and a table, write the predictions as CSV, and return how many there are."""
    if not model.is_file():
        raise InputError(f"There is no model file '{model}'.")
    table = read_table(data)
    if not len(table):
        raise InputError(f"'{data}' has no rows to predict.")
    found = predictions(load(model), table)
    folder(out.parent)
    with beside(out) as (draft,):
        found.write_csv(draft)
    return len(found)
