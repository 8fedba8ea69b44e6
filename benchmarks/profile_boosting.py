"""Where the time of boosting goes: binning, histograms, splits, partition, gradients, and predicting afterwards.

Ours is found by putting clocks around the engine's compiled steps, which then run one after the other from Python as
they do within the compiled grower. Two threads take such steps at the same time: the seconds of both, halved.
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
    from didact.engines.trees.boosting import booster as boost
    from didact.engines.trees.boosting import objective as boost_loss
    from didact.engines.trees.growers import histogram_node_loops as grow_loops
    from didact.engines.trees.rows import bins
    from didact.engines.trees.rows import bundles as joint
    from didact.engines.trees.rows import bundles_loops as joint_loops
    from didact.engines.trees.splits import histogram_loops

    partition, part_rows, move_rows = (
        clocks.around("partition", getattr(histogram_loops, name)) for name in ("partition", "part_rows", "move_rows")
    )
    count_rows = clocks.around("histograms", joint_loops.count_rows)
    subtract = clocks.around("histograms", histogram_loops.subtract)
    find_split = clocks.around("splits", grow_loops.find_split)

    def expand(node, left, right, spare_hist, sample, space, limits, criterion, nodes, hists, work):
        """As grow_loops.expand does it."""
        here = nodes.at[node]
        start, stop, kept = (int(here[name]) for name in ("start", "stop", "hist"))
        grow_loops.fill_table(node, space, nodes, work.goes_left)
        column = sample.columns[int(here["feature"])]
        middle = start + partition(column, work.goes_left, sample.order[start:stop], work.spare)
        grow_loops.make_children(node, left, right, middle, space, nodes)
        if kept >= 0 and spare_hist >= 0:
            small, large = (left, right) if middle - start <= stop - middle else (right, left)
            rows = sample.order[nodes.at[small]["start"] : nodes.at[small]["stop"]]
            count_rows(sample.joint, sample.words, sample.labels, rows, space.slots, hists[spare_hist])
            subtract(hists[kept], hists[spare_hist])
            nodes.at[small]["hist"], nodes.at[large]["hist"] = spare_hist, kept
        for child in (left, right):
            find_split(child, sample, space, limits, criterion, nodes, hists, work)

    def expand_piece(a, b, feature, small_is_left, sample, space, hist, work):
        """As grow_loops.expand_piece does it."""
        rows = sample.order[a:b]
        left = part_rows(sample.columns[feature], work.goes_left, rows, work.spare)
        rows = rows[:left] if small_is_left else work.spare[: b - a - left]
        count_rows(sample.joint, sample.words, sample.labels, rows, space.slots, hist)
        return left

    for old, new in ((grow_loops.expand, expand), (grow_loops.expand_piece, expand_piece)):
        in_place_of(old, new)
    for old, new in ((joint_loops.count_rows, count_rows), (histogram_loops.subtract, subtract)):
        in_place_of(old, new)
    in_place_of(histogram_loops.move_rows, move_rows)
    in_place_of(grow_loops.find_split, find_split)
    for function in (bins.learn_bins, bins.bin_codes, joint.join_columns):
        in_place_of(function, clocks.around("binning", function))
    boost_loss.Objective.gradients = clocks.around("gradients", boost_loss.Objective.gradients)
    boost.Booster._pack = clocks.around("gradients", boost.Booster._pack)
    boost.Booster._add = clocks.around("adding leaves to predictions", boost.Booster._add)


def didact(X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    from didact.core.threads import thread_count
    from didact.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(**SETTINGS)
    model.fit(X, y)
    without = timed(lambda: model.fit(X, y))[1]
    clocks = Clocks()
    put_clocks(clocks)
    whole = timed(lambda: model.fit(X, y))[1]
    found = {stage: clocks.seconds(stage) for stage in ("binning", "gradients", "adding leaves to predictions")}
    found |= {stage: clocks.seconds(stage) / thread_count() for stage in ("histograms", "splits", "partition")}
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
