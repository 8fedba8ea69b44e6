"""Where the time of boosting goes: binning, trees, what Python does between them, and predicting afterwards.

Ours is found by putting clocks around the engine's compiled calls. Threads are in such a call at the same time: the
seconds of all of them by their number. scikit-learn's own report tells histograms, splits and partition apart.
"""

import contextlib
import io
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.answers import US, Record
from benchmarks.data import Data, load, write
from benchmarks.processes import ROOT, python

SETTINGS = {"max_iter": 100, "learning_rate": 0.1, "max_leaf_nodes": 31, "min_samples_leaf": 20, "max_bins": 255}
SETTINGS |= {"l2_regularization": 0.0, "early_stopping": False}


def timed(task: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    return task(), time.perf_counter() - start


class Clocks:
    """Seconds by stage, over all threads."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, float]] = []

    def around(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def clocked(*args: Any, **options: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*args, **options)
            finally:
                self.taken.append((stage, time.perf_counter() - start))

        return clocked

    def seconds(self, stage: str) -> float:
        return sum(seconds for name, seconds in self.taken if name == stage)


def in_place_of(function: Any, new: Any) -> None:
    """Put a new function in place of one wherever didact's Python code names it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("didact"):
            for key in [key for key, value in vars(module).items() if value is function]:
                setattr(module, key, new)


def put_clocks(clocks: Clocks) -> None:
    from didact.engines.trees import grown
    from didact.engines.trees.boosting import objective
    from didact.engines.trees.growers import rounds_loops
    from didact.engines.trees.rows import bins, bundles

    for function in (bins.learn_bins, bins.bin_codes, bundles.join_columns):
        in_place_of(function, clocks.around("binning", function))
    in_place_of(rounds_loops.grow_together, clocks.around("passes and trees", rounds_loops.grow_together))
    in_place_of(grown.finished_trees, clocks.around("records of trees", grown.finished_trees))
    objective.Objective.gradients = clocks.around("gradients", objective.Objective.gradients)


def didact(X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Gradients, histograms, splits and partition are passes of one compiled call for each tree and thread."""
    from didact.core.threads import thread_count
    from didact.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(**SETTINGS)
    model.fit(X, y)
    without = timed(lambda: model.fit(X, y))[1]
    clocks = Clocks()
    put_clocks(clocks)
    whole = timed(lambda: model.fit(X, y))[1]
    found = {stage: clocks.seconds(stage) for stage in ("binning", "gradients", "records of trees")}
    found["passes and trees"] = clocks.seconds("passes and trees") / thread_count()
    return complete(found, whole, timed(lambda: model.predict(X))[1]) | {"whole fit without clocks": without}


def scikit_learn(X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """As its own report of the fit says."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(verbose=1, **SETTINGS)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        whole = timed(lambda: model.fit(X, y))[1]
    names = {"binning": r"data: ([\d.]+) s", "histograms": r"computing histograms: *([\d.]+)s"}
    names |= {"splits": r"best splits: *([\d.]+)s", "partition": r"applying splits: *([\d.]+)s"}
    found = {stage: float(match[1]) for stage, name in names.items() if (match := re.search(name, said.getvalue()))}
    return complete(found, whole, timed(lambda: model.predict(X))[1])


def lightgbm(X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Its histograms, splits and partition cannot be told apart from outside: they are in the rest."""
    import lightgbm

    settings = {"objective": "binary", "learning_rate": 0.1, "num_leaves": 31, "min_data_in_leaf": 20, "max_bin": 255}
    settings |= {"num_threads": 2, "verbose": -1}
    data = lightgbm.Dataset(X, y, params=settings)
    binning = timed(data.construct)[1]
    model, training = timed(lambda: lightgbm.train(settings, data, 100))
    return complete({"binning": binning}, binning + training, timed(lambda: model.predict(X))[1])


def complete(found: dict[str, float], whole: float, predict: float) -> dict[str, float]:
    """With what no stage has taken, the whole fit and predicting the same rows."""
    return found | {"the rest": whole - sum(found.values()), "whole fit": whole, "predict the rows fitted": predict}


def measure(folder: Path, quick: bool) -> Record:
    """The stages of each library in a process of its own, after a fit to warm up."""
    rows = 25_000 if quick else 500_000
    write(Data("nonlinear_labels", rows, 20), folder / "data")
    columns = {}
    for library, name in ((US, "didact"), ("scikit-learn", "scikit_learn"), ("LightGBM", "lightgbm")):
        command = [python(library), "-m", "benchmarks.profile_boosting", name, str(folder / "data")]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"The profile of {library} failed: {done.stderr.strip().splitlines()[-1]}")
        columns[library] = json.loads(done.stdout.splitlines()[-1])
    return {"profile": {f"{rows:,} × 20, two classes, 100 trees of 31 leaves": columns}}


if __name__ == "__main__":
    data = load(Path(sys.argv[2]))
    stages = globals()[sys.argv[1]]
    if sys.argv[1] != "didact":
        stages(*data)
    print(json.dumps(stages(*data)))
