"""Chapter ``accuracy``: defaults on eight real data sets, in five random splits of three quarters to one quarter.

The score is the area under the ROC curve for two classes, the share of right classes for more, R² for numbers. Of large
sets a split draws 60,000 rows. Every library has its defaults; boosting is told which columns are categories and gets
missing values as they are, and so is a forest that knows categories (to the others their codes are numbers). The data
sets, the sizes and the scores were fixed before the first model was fitted.
"""

import json
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import real_data
from benchmarks.answers import US, Record
from benchmarks.processes import ROOT, python
from benchmarks.splits import MOST

SPLITS, LIMIT = 5, 900  # splits, and seconds for all of them
SKLEARN, LIGHTGBM = "scikit-learn", "LightGBM"
FAMILIES: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "Boosting": {
        US: ("didact.ensemble.HistGradientBoosting", {}),
        LIGHTGBM: ("lightgbm.LGBM", {"verbose": -1, "n_jobs": 2}),
        SKLEARN: ("sklearn.ensemble.HistGradientBoosting", {}),
    },
    "Forests": {
        US: ("didact.ensemble.RandomForest", {}),
        SKLEARN: ("sklearn.ensemble.RandomForest", {"n_jobs": 2}),
    },
}
WORKLOADS: list[Any] = []


def measure(name: str, folder: Path, quick: bool) -> Record:
    """All models on one data set, each in a process of its library."""
    X, y, categorical = real_data.table(name)
    number = y.dtype.kind == "f"
    task = "R²" if number else "two classes, AUC" if y.max() == 1 else f"{y.max() + 1} classes, accuracy"
    families: dict[str, Any] = {}
    for family, models in FAMILIES.items():
        for library, (path, options) in models.items():
            request = {"path": path + ("Regressor" if number else "Classifier"), "options": options}
            request["splits"] = 2 if quick else SPLITS
            command = [python(library), "-m", "benchmarks.splits", str(real_data.CACHE / f"{name}.npz")]
            families.setdefault(family, {})[library] = ask([*command, json.dumps(request)])
    about = {"task": task, "rows": min(MOST, len(y)), "total": len(y), "columns": X.shape[1]}
    about |= {"categories": int(categorical.sum()), "missing": float(np.isnan(X).mean())}
    return {"accuracy": about | {"families": families}}


def ask(command: list[str]) -> Record:
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return {"error": f"over {LIMIT} s"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["died"])[-1][:200]}
    return {"scores": json.loads(done.stdout.splitlines()[-1])}


EXTRAS = {name: partial(measure, name) for name in real_data.SOURCES}
