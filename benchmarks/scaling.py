"""Chapter ``scaling``: one row of every engine on 1, 2, 4, 8 and 16 threads, and the peers on as many.

``python -m benchmarks scaling [--threads 1,2,4] [--rows 0.05] [--only NAME]`` on an idle machine with that many cores;
didact, scikit-learn and LightGBM are those of this Python. Each library and number of threads has a process of its own
(didact.set_threads; for the others OMP_NUM_THREADS and n_jobs), which warms up on a sixteenth of a row's table and then
fits it three times, or until six seconds are over: the least time counts. The first row sums a table in a bare compiled
loop: what the machine's memory allows. The gain of rows that do little but read their table is also shown as a share of
that sum's, measured in the same process. Tables are made once and kept (`--tables FOLDER`; `--make` does no more).
Parts measured one after the other (`--save FILE`) are put together by `--gather FILE FILE …`.
"""

import argparse
import contextlib
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.processes import cpu_name, lines_on_threads
from benchmarks.scaling_rows import ROWS, Row

HERE = Path(__file__).parent
US, PEER, LIGHT = "didact", "scikit-learn", "LightGBM"
BARE, BESIDE = "a bare sum over 2,000,000 × 50", "sum"  # its row, and where those measured beside other rows are kept
PIECE = 1 << 18  # numbers that a thread sums at a time
THREADS = (1, 2, 4, 8, 16)
ROUNDS = 3
LONG = 6.0  # seconds; what takes longer is not repeated
WARM_UP = 16  # a row warms up on this part of its table
TABLES = HERE.parent / ".cache" / "scaling"


def least(work: Callable[[], Any], warm_up: Callable[[], Any]) -> float:
    """The least time of some runs, after something to warm up."""
    warm_up()
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
    pieces = [x[a : a + PIECE] for a in range(0, len(x), PIECE)]
    work = partial(parallel_map, total, pieces)
    return least(work, work)


def kept_table(row: Row, share: float, folder: Path) -> tuple[Any, Any]:
    """The table of a row, made once for all processes and kept in the folder."""
    import numpy as np
    from scipy import sparse

    shape = max(int(row.size[0] * share), 1000), *row.size[1:]
    made = row.data.func if isinstance(row.data, partial) else row.data
    arguments = row.data.args if isinstance(row.data, partial) else ()
    path = folder / "-".join([made.__name__, *map(str, (*arguments, *shape))])
    if not path.exists():
        X, y = row.data(*shape)
        beside = Path(tempfile.mkdtemp(dir=folder))
        if sparse.issparse(X):
            sparse.save_npz(beside / "X.npz", X, compressed=False)
        else:
            np.save(beside / "X.npy", X)
        np.save(beside / "y.npy", y)
        with contextlib.suppress(OSError):  # another process was quicker
            beside.rename(path)
    X = sparse.load_npz(path / "X.npz") if (path / "X.npz").exists() else np.load(path / "X.npy")
    return X, np.load(path / "y.npy")


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


def wanted(only: str) -> dict[str, Row]:
    """The rows whose names contain one of NAME|NAME."""
    return {name: row for name, row in ROWS.items() if any(part.lower() in name.lower() for part in only.split("|"))}


def timed(model: Any, row: Row, X: Any, y: Any) -> float:
    """The least seconds of what a row times."""
    some = slice(max(X.shape[0] // WARM_UP, 1000))
    if row.method == "fit":
        return least(partial(model.fit, X, y), partial(model.fit, X[some], y[some]))
    method = getattr(model.fit(X, y), row.method)
    return least(partial(method, X), partial(method, X[some]))


def serve(library: str, threads: int, share: float, only: str, folder: str) -> None:
    """All rows in this process; one line of JSON each."""
    import importlib
    import warnings

    warnings.simplefilter("ignore")
    if library == US:
        importlib.import_module(US).set_threads(threads)
        print(json.dumps({"name": BARE, "seconds": bare_sum(int(2_000_000 * share))}), flush=True)
    kept: dict[Any, Any] = {}
    for name, row in wanted(only).items():
        if not {US: True, PEER: row.peer, LIGHT: row.light}[library]:
            continue
        if (row.data, row.size) not in kept:
            kept = {(row.data, row.size): kept_table(row, share, Path(folder))}  # one table at a time
        seconds = timed(made_model(library, threads, row), row, *kept[row.data, row.size])
        print(json.dumps({"name": name, "seconds": seconds}), flush=True)
        print(f"{library}, {threads} threads, {name}: {seconds:.3f} s", file=sys.stderr, flush=True)


def measured(library: str, threads: int, options: argparse.Namespace) -> Iterator[tuple[str, float]]:
    """Rows of one library on so many threads, and their seconds."""
    given = [library, str(threads), str(options.rows), options.only, options.tables]
    for record in lines_on_threads(threads, "benchmarks.scaling", "serve", *given):
        yield record["name"], record["seconds"]


def markdown(found: "Seconds", threads: list[int], about: str) -> str:
    """The section of RESULTS.md."""
    from benchmarks.tables import table as lines
    from benchmarks.tables import three

    rows = []
    first, last = str(threads[0]), str(threads[-1])
    others = [(library, t) for library in (PEER, LIGHT) for t in (first, last) if found.get(library, {}).get(t)]
    for name in [name for name in (BARE, *ROWS) if name in found[US][first]]:
        ours = {t: found[US].get(str(t), {}).get(name) for t in threads}
        aim = ROWS[name].aim if name in ROWS else None
        gain = found[US][first][name] / found[US].get(last, {}).get(name, float("nan"))
        bare = [found.get(BESIDE, {}).get(t, {}).get(name) for t in (first, last)]
        share = f"{gain * bare[1] / bare[0]:.0%}" if name in ROWS and ROWS[name].passes and all(bare) else "–"
        shown = [three(seconds) if seconds else "–" for seconds in ours.values()]
        peers = []
        for library, t in others:
            seconds, mine = found[library][t].get(name), ours[int(t)]
            peers.append(three(seconds / mine) if seconds and mine else "–")
        gained = (three(gain) if gain == gain else "–") + (f" [{aim:g}]" if aim else "")
        rows.append([name, *shown, gained, share, *peers])
    header = ["seconds on threads:", *map(str, threads), f"gain from {first} to {last}", "of the bare sum's"]
    header += [f"{library} ÷ didact on {t}" for library, t in others]
    return f"\n## scaling\n\n{about} –: not measured.\n\n" + lines(header, rows)


Seconds = dict[str, dict[str, dict[str, float]]]


def with_sums(found: Seconds) -> Seconds:
    """Measurements of one machine, with the bare sum's seconds beside every row of ours."""
    sums = {t: dict.fromkeys(rows, rows[BARE]) for t, rows in found.get(US, {}).items() if BARE in rows}
    return found | {BESIDE: sums}


def together(files: list[str]) -> tuple[Seconds, str]:
    """Measurements of several files as one, and what the last one says of the machine."""
    found: Seconds = {}
    about = ""
    for file in files:
        part = json.loads(Path(file).read_text())
        about = part["about"]
        for library, by_threads in with_sums(part["seconds"]).items():
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
    parser.add_argument("--tables", default=str(TABLES), help="where made tables are kept; in memory is best")
    parser.add_argument("--make", action="store_true", help="make the tables and measure nothing")
    parser.add_argument("--save", default=None, help="write the numbers to this file, after each row")
    parser.add_argument("--gather", nargs="+", default=None, help="measure nothing; put these files together")
    options = parser.parse_args(arguments)
    threads = [int(t) for t in options.threads.split(",") if t]
    about = f"{len(os.sched_getaffinity(0))} cores of {cpu_name()}, Python {platform.python_version()}. "
    about += f"Least of {ROUNDS} runs, or of those in {LONG:g} seconds, after one to warm up."
    Path(options.tables).mkdir(parents=True, exist_ok=True)
    if options.make:
        for row in {(row.data, row.size): row for row in wanted(options.only).values()}.values():
            kept_table(row, options.rows, Path(options.tables))
        return
    if options.gather:
        found, about = together(options.gather)
    else:
        peers = options.peers.split(",") if options.peers is not None else [str(threads[0]), str(threads[-1])]
        found = {}
        for library, several in ((US, map(str, threads)), (PEER, peers), (LIGHT, peers)):
            for t in filter(None, several):
                print(f"{library} on {t} threads …", file=sys.stderr, flush=True)
                rows = found.setdefault(library, {}).setdefault(t, {})
                for name, seconds in measured(library, int(t), options):
                    rows[name] = seconds
                    if options.save:
                        Path(options.save).write_text(json.dumps({"about": about, "seconds": found}, indent=1))
    if US not in found:
        return
    text = markdown(found if options.gather else with_sums(found), threads, about)
    if options.rows == 1 and not options.only and not options.save:
        (HERE / "results" / "scaling.json").write_text(json.dumps({"markdown": text, "seconds": found}, indent=1))
    print(text)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), sys.argv[5], sys.argv[6])
    else:
        main(sys.argv[1:])
