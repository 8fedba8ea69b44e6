"""One file of each kind of model, kept for ever: `python tests/core/files/kept_files.py` writes those that are missing.

A file is named by its class and the format, `Ridge-2.didact`; beside it stand some rows and what the model said of them
when it was saved. Files are never written anew: what an older didact has saved, every newer one opens.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent / "kept"
sys.path.insert(0, str(Path(__file__).parents[2] / "registry"))


def models():
    """One fitted instance of every class of the registry that can be saved, with a few of its rows."""
    from registry_cases import all_instances, answer, problem
    from sklearn.base import clone

    first = {}
    for model in all_instances():
        first.setdefault(type(model).__name__, model)
    for name, model in sorted(first.items()):
        X, y = problem(model, n=60)
        small = {"n_estimators": 2, "max_iter": 5, "max_leaf_nodes": 4} if "Forest" in name or "Boost" in name else {}
        known = {key: value for key, value in small.items() if key in model.get_params(deep=False)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            few = X if answer(model).startswith("fit_") else X[:5]  # what knows its own rows alone needs them all
            yield name, clone(model).set_params(**known).fit(X, y), few


def answers(model, rows):
    """What a model says of rows, by method, as lists."""
    from registry_cases import outputs

    return {method: np.asarray(value).tolist() for method, value in outputs(model, rows).items()}


def write():
    """Save each kind of model that has no file of this format yet."""
    import didact
    from didact.core.files.persistence import FORMAT

    HERE.mkdir(exist_ok=True)
    for name, model, rows in models():
        path = HERE / f"{name}-{FORMAT}.didact"
        if not path.exists():
            didact.save(model, path)
            said = {"rows": rows.tolist(), "answers": answers(model, rows)}
            path.with_suffix(".json").write_text(json.dumps(said, separators=(",", ":")))


if __name__ == "__main__":
    write()
