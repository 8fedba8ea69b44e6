"""Chapter ``scaling``: one row of every engine on 1, 2, 4, 8 and 16 threads, and the peers on as many.

``python -m benchmarks scaling [--threads 1,2,4] [--rows 0.05] [--only NAME]`` on an idle machine with that many cores;
didact, scikit-learn and LightGBM are those of this Python. Each library and number of threads has a process of its own
(didact.set_threads; for the others OMP_NUM_THREADS and n_jobs), which fits each row once to warm up and then three
times: the least time counts. A last row sums a table in one compiled loop: what the machine's memory allows. Parts
measured one after the other (`--save FILE`) are put together by `--gather FILE FILE …`.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
US, PEER, LIGHT = "didact", "scikit-learn", "LightGBM"
THREADS = (1, 2, 4, 8, 16)
ROUNDS = 3
LONG = 6.0  # seconds; what takes longer is not repeated
SEED = 2026


def table(rows: int, columns: int) -> tuple[Any, Any, Any]:
    """Standard normal rows, a linear predictor with noise, and the generator."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((rows, columns))
    return X, X @ rng.standard_normal(columns) / columns**0.5 + 0.3 * rng.standard_normal(rows), rng


def numbers(rows: int, columns: int) -> tuple[Any, Any]:
    """A table and a number to predict, with bends."""
    import numpy as np

    X, z, _ = table(rows, columns)
    return X, z + np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0)


def classes(rows: int, columns: int, K: int = 2) -> tuple[Any, Any]:
    """A table and one of K classes."""
    import numpy as np

    X, z, rng = table(rows, columns)
    z = z + 0.5 * rng.standard_normal(rows)
    return X, np.searchsorted(np.quantile(z, np.arange(1, K) / K), z)


def bent_classes(rows: int, columns: int) -> tuple[Any, Any]:
    """A table and two classes with a bent border."""
    X, z = numbers(rows, columns)
    return X, (z > 0).astype(int)


def words(rows: int, columns: int, K: int) -> tuple[Any, Any]:
    """Sparse rows of about a hundred entries, and one of K classes."""
    import numpy as np
    from scipy import sparse

    rng = np.random.default_rng(SEED)
    X = sparse.random_array((rows, columns), density=100 / columns, rng=rng, format="csr", dtype=np.float64)
    X = sparse.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    return X, (X @ rng.standard_normal((columns, K))).argmax(axis=1)


def counts(rows: int, columns: int) -> tuple[Any, Any]:
    """A table and counts with a mean of about 1.5."""
    import numpy as np

    X, z, rng = table(rows, columns)
    return X, rng.poisson(np.exp(np.clip(0.4 * z + 0.3, -5, 5))).astype(float)


def categories(rows: int, columns: int) -> tuple[Any, Any]:
    """A table of small whole numbers, and two classes."""
    import numpy as np

    X, y = classes(rows, columns)
    return np.floor(2 * np.abs(X)), y


def real(name: str, rows: int, columns: int) -> tuple[Any, Any]:
    """Rows of a real table, in random order."""
    import numpy as np

    from benchmarks.real_data import table

    found = table(name)
    chosen = np.random.default_rng(SEED).permutation(len(found.X))[:rows]
    return np.ascontiguousarray(found.X[chosen, :columns], np.float64), found.y[chosen]


@dataclass(frozen=True)
class Row:
    """What is timed: a method of a class on made data; `aim` is the speed-up from the first to the last threads."""

    data: Callable[..., tuple[Any, Any]]
    size: tuple[int, ...]
    path: str
    aim: float
    method: str = "fit"
    options: dict[str, Any] = field(default_factory=dict)
    ours: dict[str, Any] = field(default_factory=dict)
    jobs: bool = False  # scikit-learn's class has n_jobs
    peer: bool = True  # scikit-learn has the same
    light: bool = False  # and LightGBM


NOISY = {"alpha": 0.1}
BOOSTING = {"max_iter": 100, "early_stopping": False}
LARGE, TREES = (2_000_000, 50), (464_810, 54, 7)
ROWS = {
    "LinearRegression": Row(numbers, LARGE, "linear_model.LinearRegression", 8),
    "LogisticRegression": Row(classes, LARGE, "linear_model.LogisticRegression", 8),
    "LogisticRegression, 10 classes": Row(classes, (500_000, 50, 10), "linear_model.LogisticRegression", 8),
    "LogisticRegression, predict_proba": Row(classes, LARGE, "linear_model.LogisticRegression", 8, "predict_proba"),
    "PoissonRegressor": Row(counts, LARGE, "linear_model.PoissonRegressor", 8, options={"alpha": 1e-3}),
    "HuberRegressor": Row(numbers, (500_000, 50), "linear_model.HuberRegressor", 8),
    "QuantileRegressor": Row(
        numbers, (100_000, 20), "linear_model.QuantileRegressor", 4, options={"alpha": 0.0}, peer=False
    ),
    "LassoCV": Row(numbers, (20_000, 300), "linear_model.LassoCV", 1, options={"cv": 5}, jobs=True),
    "SGDClassifier": Row(
        classes, (1_000_000, 50), "linear_model.SGDClassifier", 1, options={"max_iter": 5, "tol": None}
    ),
    "SGDRegressor, all rows at once": Row(
        numbers,
        (1_000_000, 50),
        "linear_model.SGDRegressor",
        8,
        options={"max_iter": 20, "tol": None},
        ours={"batch_size": "full"},
        peer=False,
    ),
    "GaussianNB": Row(classes, LARGE, "naive_bayes.GaussianNB", 8),
    "GaussianNB, predict": Row(classes, LARGE, "naive_bayes.GaussianNB", 8, "predict"),
    "BernoulliNB": Row(classes, LARGE, "naive_bayes.BernoulliNB", 8),
    "CategoricalNB": Row(categories, LARGE, "naive_bayes.CategoricalNB", 8),
    "CategoricalNB, predict": Row(categories, LARGE, "naive_bayes.CategoricalNB", 8, "predict"),
    "QuadraticDiscriminantAnalysis": Row(classes, LARGE, "discriminant_analysis.QuadraticDiscriminantAnalysis", 8),
    "QuadraticDiscriminantAnalysis, predict": Row(
        classes, LARGE, "discriminant_analysis.QuadraticDiscriminantAnalysis", 8, "predict"
    ),
    "GaussianMixture, 10 steps": Row(
        classes,
        (500_000, 10),
        "mixture.GaussianMixture",
        8,
        options={"n_components": 8, "tol": 0.0, "max_iter": 10, "random_state": 0},
    ),
    "GaussianMixture, predict_proba": Row(
        classes,
        (500_000, 10),
        "mixture.GaussianMixture",
        8,
        "predict_proba",
        options={"n_components": 8, "max_iter": 3, "random_state": 0},
    ),
    "FactorAnalysis": Row(classes, (500_000, 50), "decomposition.FactorAnalysis", 4, options={"n_components": 5}),
    "ClusterwiseRegressor": Row(
        numbers, (60_000, 20), "ensemble.ClusterwiseRegressor", 4, options={"random_state": 0}, peer=False
    ),
    "KMeans": Row(
        numbers,
        (2_000_000, 16),
        "cluster.KMeans",
        8,
        options={"n_clusters": 50, "init": "random", "n_init": 1, "random_state": 0, "max_iter": 20},
    ),
    "KMeans, predict": Row(
        numbers, (2_000_000, 16), "cluster.KMeans", 8, "predict", options={"n_clusters": 50, "random_state": 0}
    ),
    "KNeighborsClassifier, 8 columns, predict": Row(
        classes, (100_000, 8), "neighbors.KNeighborsClassifier", 8, "predict", jobs=True
    ),
    "KNeighborsClassifier, 64 columns, predict": Row(
        classes, (20_000, 64), "neighbors.KNeighborsClassifier", 8, "predict", jobs=True
    ),
    "KernelDensity, score_samples": Row(
        numbers, (50_000, 4), "neighbors.KernelDensity", 8, "score_samples", options={"bandwidth": 0.3}, peer=False
    ),
    "KernelSmoother, predict": Row(
        numbers, (50_000, 3), "neighbors.KernelSmoother", 8, "predict", options={"bandwidth": 0.2}, peer=False
    ),
    "LocallyWeightedRegression, predict": Row(
        numbers, (10_000, 3), "linear_model.LocallyWeightedRegression", 8, "predict", options={"span": 0.1}, peer=False
    ),
    "RunningMedian": Row(
        numbers,
        (1_000_000, 3),
        "neighbors.RunningMedian",
        4,
        "predict",
        options={"n_neighbors": 101, "column": 0},
        peer=False,
    ),
    "SVC": Row(bent_classes, (10_000, 30), "svm.SVC", 8),
    "SVC, predict": Row(bent_classes, (10_000, 30), "svm.SVC", 8, "predict"),
    "SVC, 10 classes": Row(classes, (20_000, 50, 10), "svm.SVC", 8),
    "SVR": Row(numbers, (8_000, 10), "svm.SVR", 8),
    "OneClassSVM": Row(numbers, (20_000, 10), "svm.OneClassSVM", 8),
    "LinearSVC": Row(classes, LARGE, "svm.LinearSVC", 8),
    "LinearSVC, sparse, 10 classes": Row(words, (20_000, 50_000, 10), "svm.LinearSVC", 8),
    "GaussianProcessRegressor": Row(numbers, (4_000, 5), "gaussian_process.GaussianProcessRegressor", 4, options=NOISY),
    "GaussianProcessRegressor, inducing points": Row(
        numbers,
        (200_000, 8),
        "gaussian_process.GaussianProcessRegressor",
        8,
        options=NOISY,
        ours={"inducing": 100, "optimizer": None, "random_state": 0},
        peer=False,
    ),
    "SVC on 300 landmarks": Row(
        classes,
        (200_000, 20),
        "svm.SVC",
        8,
        options={"approximation": "nystroem", "n_components": 300, "random_state": 0},
        peer=False,
    ),
    "KernelRidge on 300 cosines": Row(
        numbers,
        (500_000, 20),
        "kernel_ridge.KernelRidge",
        8,
        options={"kernel": "rbf", "approximation": "random_features", "random_state": 0},
        peer=False,
    ),
    "KernelLogisticRegression": Row(classes, (5_000, 20, 3), "svm.KernelLogisticRegression", 6, peer=False),
    "KernelPerceptron": Row(
        classes, (5_000, 20), "svm.KernelPerceptron", 2, options={"max_iter": 5, "random_state": 0}, peer=False
    ),
    "DecisionTreeClassifier, exact": Row(
        classes, TREES, "tree.DecisionTreeClassifier", 4, options={"max_depth": 12}, peer=False
    ),
    "DecisionTreeClassifier, binned": Row(
        classes, TREES, "tree.DecisionTreeClassifier", 4, options={"max_depth": 12}, ours={"max_bins": 255}, peer=False
    ),
    "RandomForestClassifier": Row(
        classes, (100_000, 20), "ensemble.RandomForestClassifier", 8, options={"random_state": 0}, jobs=True
    ),
    "RandomForestClassifier, predict": Row(
        classes, (100_000, 20), "ensemble.RandomForestClassifier", 8, "predict", options={"random_state": 0}, jobs=True
    ),
    "ExtraTreesClassifier": Row(
        classes, (100_000, 20), "ensemble.ExtraTreesClassifier", 8, options={"random_state": 0}, jobs=True
    ),
    "HistGradientBoostingRegressor": Row(
        numbers, (500_000, 20), "ensemble.HistGradientBoostingRegressor", 6, options=BOOSTING, light=True
    ),
    "HistGradientBoostingClassifier": Row(
        classes, (500_000, 20), "ensemble.HistGradientBoostingClassifier", 6, options=BOOSTING, light=True
    ),
    "HistGradientBoostingClassifier, Covertype, 7 classes, 30 rounds": Row(
        partial(real, "covertype"),
        (464_810, 54),
        "ensemble.HistGradientBoostingClassifier",
        6,
        options=BOOSTING | {"max_iter": 30},
        light=True,
    ),
    "HistGradientBoostingClassifier, Census-Income": Row(
        partial(real, "census"),
        (239_428, 40),
        "ensemble.HistGradientBoostingClassifier",
        6,
        options=BOOSTING,
        light=True,
    ),
}


def least(work: Callable[[], Any]) -> float:
    """The least time of some runs, after one to warm up."""
    work()
    times: list[float] = []
    while len(times) < ROUNDS and sum(times) < LONG:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def bare_sum(rows: int) -> float:
    """Seconds of a compiled sum over rows × 50 float64, in pieces on the library's pool."""
    import numba
    import numpy as np

    from didact.core.threads import parallel_map

    @numba.njit(nogil=True, fastmath=True)
    def total(x: Any) -> float:
        s = 0.0
        for i in range(x.shape[0]):
            s += x[i]
        return s

    x = np.ones(rows * 50)
    pieces = [x[a : a + 5_000_000] for a in range(0, len(x), 5_000_000)]
    return least(lambda: parallel_map(total, pieces))


def made_model(library: str, threads: int, row: Row) -> Any:
    """The model of a row; LightGBM's with as many rounds, leaves and bins as the others."""
    import importlib

    module, _, title = row.path.rpartition(".")
    if library == LIGHT:
        options = {"n_estimators": row.options["max_iter"], "n_jobs": threads, "verbose": -1, "max_bin": 255}
        return getattr(importlib.import_module("lightgbm"), title.replace("HistGradientBoosting", "LGBM"))(**options)
    options = row.options | (row.ours if library == US else {"n_jobs": threads} if row.jobs else {})
    package = US if library == US else "sklearn"
    return getattr(importlib.import_module(f"{package}.{module}"), title)(**options)


def serve(library: str, threads: int, share: float, only: str) -> None:
    """All rows in this process; one line of JSON each."""
    import importlib
    import warnings

    warnings.simplefilter("ignore")
    if library == US:
        importlib.import_module(US).set_threads(threads)
    made: dict[Any, Any] = {}
    for name, row in ROWS.items():
        if not any(part.lower() in name.lower() for part in only.split("|")):
            continue
        if not {US: True, PEER: row.peer, LIGHT: row.light}[library]:
            continue
        shape = max(int(row.size[0] * share), 1000), *row.size[1:]
        if (row.data, shape) not in made:
            made = {(row.data, shape): row.data(*shape)}  # one table at a time
        X, y = made[row.data, shape]
        model = made_model(library, threads, row)
        work = partial(model.fit, X, y) if row.method == "fit" else partial(getattr(model.fit(X, y), row.method), X)
        seconds = least(work)
        print(json.dumps({"name": name, "seconds": seconds}), flush=True)
        print(f"{library}, {threads} threads, {name}: {seconds:.3f} s", file=sys.stderr, flush=True)
    if library == US and not only:
        print(json.dumps({"name": "a sum over 50 columns", "seconds": bare_sum(int(2_000_000 * share))}), flush=True)


def measured(library: str, threads: int, share: float, only: str) -> dict[str, float]:
    """Seconds by row of one library on so many threads."""
    many = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    call = [sys.executable, __file__, "serve", library, str(threads), str(share), only]
    path = os.pathsep.join([str(HERE.parent / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(call, env=os.environ | many | {"PYTHONPATH": path}, stdout=subprocess.PIPE, text=True)
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {record["name"]: record["seconds"] for record in records}


def markdown(found: "Seconds", threads: list[int], about: str) -> str:
    """The section of RESULTS.md."""
    from benchmarks.tables import table as lines
    from benchmarks.tables import three

    rows = []
    first, last = str(threads[0]), str(threads[-1])
    for name in found[US][first]:
        ours = {t: found[US].get(str(t), {}).get(name) for t in threads}
        aim = ROWS[name].aim if name in ROWS else None
        gain = found[US][first][name] / found[US].get(last, {}).get(name, float("nan"))
        shown = [three(seconds) if seconds else "–" for seconds in ours.values()]
        peers = []
        for library in (PEER, LIGHT):
            for t in (first, last):
                seconds, mine = found.get(library, {}).get(t, {}).get(name), ours[int(t)]
                peers.append(three(seconds / mine) if seconds and mine else "–")
        rows.append([name, *shown, three(gain) + (f" [{aim:g}]" if aim else ""), *peers])
    header = ["seconds on threads:", *map(str, threads), f"gain from {first} to {last}"]
    header += [text for peer in (PEER, LIGHT) for text in (f"{peer} ÷ didact on {first}", f"on {last}")]
    return f"\n## scaling\n\n{about}\n\n" + lines(header, rows)


Seconds = dict[str, dict[str, dict[str, float]]]


def together(files: list[str]) -> tuple[Seconds, str]:
    """Measurements of several files as one, and what the last one says of the machine."""
    found: Seconds = {}
    about = ""
    for file in files:
        part = json.loads(Path(file).read_text())
        about = part["about"]
        for library, by_threads in part["seconds"].items():
            for threads, rows in by_threads.items():
                found.setdefault(library, {}).setdefault(threads, {}).update(rows)
    return found, about


def main(arguments: list[str]) -> None:
    """Measure, save the numbers and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks scaling", description=__doc__)
    parser.add_argument("--threads", default=",".join(map(str, THREADS)))
    parser.add_argument("--rows", type=float, default=1.0, help="this share of the rows; less than 1 is not saved")
    parser.add_argument("--only", default="", help="only rows whose names contain one of NAME|NAME; not saved")
    parser.add_argument("--peers", default=None, help="threads of the peers; by default the first and the last")
    parser.add_argument("--save", default=None, help="write the numbers to this file, after each process")
    parser.add_argument("--gather", nargs="+", default=None, help="measure nothing; put these files together")
    options = parser.parse_args(arguments)
    threads = [int(t) for t in options.threads.split(",") if t]
    cpu = Path("/proc/cpuinfo").read_text().partition("model name\t: ")[2].partition("\n")[0]
    about = f"{len(os.sched_getaffinity(0))} cores of {cpu}, Python {platform.python_version()}. "
    about += f"Least of {ROUNDS} runs after one to warm up."
    if options.gather:
        found, about = together(options.gather)
    else:
        peers = options.peers.split(",") if options.peers is not None else [str(threads[0]), str(threads[-1])]
        found = {}
        for library, wanted in ((US, map(str, threads)), (PEER, peers), (LIGHT, peers)):
            for t in filter(None, wanted):
                print(f"{library} on {t} threads …", file=sys.stderr, flush=True)
                found.setdefault(library, {})[t] = measured(library, int(t), options.rows, options.only)
                if options.save:
                    Path(options.save).write_text(json.dumps({"about": about, "seconds": found}, indent=1))
    if US not in found:
        return
    text = markdown(found, threads, about)
    if options.rows == 1 and not options.only and not options.save:
        (HERE / "results" / "scaling.json").write_text(json.dumps({"markdown": text, "seconds": found}, indent=1))
    print(text)


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), sys.argv[5])
    else:
        main(sys.argv[1:])
