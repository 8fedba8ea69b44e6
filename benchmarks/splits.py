"""Scores in random splits of a table: ``python -m benchmarks.splits TABLE.npz REQUEST``, in a library's own process."""

import json
import sys
from typing import Any

import numpy as np

from benchmarks.adapters.categories import model
from benchmarks.data import SEED

MOST = 60_000  # rows of a split


def scores(table: dict[str, np.ndarray], path: str, options: dict[str, Any], splits: int) -> list[float]:
    """The score on the rows that are held out in each split."""
    from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

    X, y, categorical = table["X"], table["y"], np.flatnonzero(table["categorical"]).tolist()
    found = []
    for seed in range(splits):
        order = np.random.default_rng([SEED, seed]).permutation(len(y))[:MOST]
        held, rest = np.split(order, [len(order) // 4])
        fitted = model(path, categorical, X.shape[1], random_state=seed, **options).fit(X[rest], y[rest])
        if y.dtype.kind == "f":
            found.append(r2_score(y[held], fitted.predict(X[held])))
        elif y.max() == 1:
            found.append(roc_auc_score(y[held], fitted.predict_proba(X[held])[:, 1]))
        else:
            found.append(accuracy_score(y[held], fitted.predict(X[held])))
    return [float(s) for s in found]


if __name__ == "__main__":
    with np.load(sys.argv[1]) as table:
        print(json.dumps(scores(dict(table), **json.loads(sys.argv[2]))))
