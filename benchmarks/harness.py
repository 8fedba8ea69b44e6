"""Runs a workload: every library in its own process, rounds alternating, fastest variant that finds the answer.

A workload names the data, the check by which answers are compared, and for each library the variants (solver,
tolerance) that are worth trying. At the first size all variants run; the fastest whose answer passes the check is the
library's entry. The entries then take turns, round by round, and give the median and the minimum; where asked for, once
more beside a process that does nothing but keep a core busy.
"""

import json
import shutil
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.answers import US, Check
from benchmarks.data import Data, write
from benchmarks.processes import FIT_LIMIT, Fit, Worker, busy_process, once

BUDGET = 20  # seconds of alternating rounds, unless three rounds take longer
TENFOLD = 0.6  # seconds up to which a peer is measured at ten times the rows, too
LONG = 10.0  # seconds; a peer that takes longer is not fitted anew for its memory
COLD = (US, "scikit-learn")  # libraries whose cold start is measured
KEEP = 1 << 30  # larger data are loaded anew for each fit, so that one process at a time holds them
Record = dict[str, Any]


def variants(path: str, *changes: dict[str, Any], **common: Any) -> list[Fit]:
    """Variants of one class; the label of a variant is what it changes."""

    def label(change: dict[str, Any]) -> str:
        return ", ".join(x if isinstance(x, str) else f"{name} {x:g}" for name, x in change.items()) or "default"

    return [Fit(path, common | change, label(change)) for change in changes or ({},)]


@dataclass(frozen=True)
class Workload:
    """Data, the check of answers, variants by library, and the peer's time ÷ ours that is aimed at."""

    name: str
    data: Data
    check: Check
    fits: dict[str, list[Fit]]
    targets: dict[str, float] = field(default_factory=dict)
    tune: Callable[[Path], dict[str, Any]] | None = None  # options that depend on the data, such as a penalty
    apart: tuple[str, ...] = ("cold", "memory")  # what is measured in fresh processes
    multiples: tuple[float, ...] = (1, 10)  # of the rows; the targets are for 1
    rounds: int = 3  # at the least
    budget: float = BUDGET  # seconds of rounds, unless the least number takes longer
    warm: float = FIT_LIMIT / 2  # seconds; a first fit that takes longer is not repeated for its time
    busy: tuple[str, ...] = ()  # libraries that are measured beside a busy process, too
    predict_targets: dict[str, float] = field(default_factory=dict)  # for predicting the rows held out


def try_all(workload: Workload, workers: dict[str, Worker], folder: Path, keep: bool) -> dict[str, list[Record]]:
    """Every variant once to warm up and once for its time, with its answer and how far that is off.

    The first fit of a process, in which some libraries compile, counts only if it is long.
    """
    tried: dict[str, list[Record]] = {}
    for library, fits in workload.fits.items():
        for fit in fits:
            enough = min(5, workload.warm) if tried.get(library) else workload.warm
            record = workers[library].fit(fit, folder, keep)
            if record.get("seconds", FIT_LIMIT) < enough:
                record = workers[library].fit(fit, folder, keep)
            tried.setdefault(library, []).append({"library": library, "fit": fit, **record})
        if not keep:
            workers[library].close()
    workload.check.grade([record for records in tried.values() for record in records], folder)
    return tried


def pick(records: list[Record], agree: float) -> Record:
    """The fastest variant that found the answer; else the one that came nearest; else the first failure."""
    good = [r for r in records if r.get("gap", np.inf) <= agree]
    if good:
        return min(good, key=lambda r: r["seconds"])
    return min(records, key=lambda r: r.get("gap", float("inf")))


def alternate(chosen: dict[str, Record], workers: dict[str, Worker], folder: Path, keep: bool, rounds: int) -> None:
    """Rounds in which each library fits once, starting with another one each time; the times go into the records."""
    libraries = [library for library, record in chosen.items() if "error" not in record]
    for library in libraries:
        chosen[library] |= {"rounds": [], "predict": []}
    for r in range(rounds):
        for i in range(len(libraries)):
            library = libraries[(i + r) % len(libraries)]
            reply = workers[library].fit(chosen[library]["fit"], folder, keep)
            if "seconds" in reply:
                chosen[library]["rounds"].append(reply["seconds"])
                chosen[library]["predict"] += [reply["answer"]["predict"]] if "predict" in reply["answer"] else []


def timing(record: Record) -> Record:
    """Median and minimum of the rounds of fitting, and of predicting where there is something to predict."""
    found: Record = {"rounds": record["rounds"]} if "rounds" in record else {}
    if record.get("rounds"):
        found |= {"median": statistics.median(record["rounds"]), "minimum": min(record["rounds"])}
    if record.get("predict"):
        found["predict"] = timing({"rounds": record["predict"]})
    return found


def entry(record: Record, variants: list[Record]) -> Record:
    """What is kept of a library on a workload: plain numbers for the JSON file."""
    kept = {"variant": record["fit"].label, "options": record["fit"].options}
    kept |= {k: record[k] for k in ("error", "gap", "objective") if k in record} | timing(record)
    kept |= {k: record["answer"][k] for k in ("n_iter", "score", "kept") if k in record.get("answer", {})}
    kept["variants"] = [
        {"label": v["fit"].label} | {k: v[k] for k in ("seconds", "gap", "error") if k in v} for v in variants
    ]
    return kept


def tuned(workload: Workload, folder: Path) -> Workload:
    """The workload with the options that depend on the data."""
    if workload.tune is None:
        return workload
    more = workload.tune(folder)
    fits = {
        library: [replace(f, options=f.options | more) for f in variants] for library, variants in workload.fits.items()
    }
    return replace(workload, fits=fits)


def measure_size(workload: Workload, folder: Path, quick: bool, apart: Callable[[str], Sequence[str]]) -> Record:
    """One workload at one size; ``apart`` says what to measure in fresh processes for a library (cold, memory)."""
    size = write(workload.data, folder)
    workload = tuned(workload, folder)
    keep = size <= KEEP
    workers = {library: Worker(library) for library in workload.fits}
    try:
        tried = try_all(workload, workers, folder, keep)
        chosen = {library: pick(records, workload.check.agree) for library, records in tried.items()}
        turn = sum(record.get("seconds", 0.0) for record in chosen.values())
        least = min(2, workload.rounds) if quick else workload.rounds
        alternate(
            chosen,
            workers,
            folder,
            keep,
            least if quick else max(least, min(15, int(workload.budget / max(turn, 1e-3)))),
        )
        beside = {
            library: {"fit": chosen[library]["fit"]} for library in workload.busy if "rounds" in chosen.get(library, {})
        }
        if beside:
            with busy_process():
                alternate(beside, workers, folder, keep, least if turn < FIT_LIMIT / 2 else 1)
    finally:
        for worker in workers.values():
            worker.close()
    libraries = {library: entry(chosen[library], tried[library]) for library in chosen}
    for library, record in libraries.items():
        record |= {"busy": timing(beside[library])} if library in beside else {}
        for task in apart(library) if record.get("median", np.inf) < (FIT_LIMIT if library == US else LONG) else []:
            fit = chosen[library]["fit"]
            request = {"path": fit.path, "options": fit.options, "folder": str(folder)}
            record[task] = once(library, task, json.dumps(request))
    shutil.rmtree(folder)
    return {"rows": workload.data.rows, "columns": workload.data.columns, "bytes": size, "libraries": libraries}


def narrowed(workload: Workload, record: Record, rows: int) -> Workload:
    """The workload with more rows, and for each library that is quick enough for it variants that agreed: the fastest.

    Of quick ones the two fastest, and the most exact one, by which others are judged where the answer gives a bound.
    """
    fits = {}
    for library, variants in workload.fits.items():
        ours = record["libraries"][library]
        if "median" not in ours or (library != US and ours["minimum"] > TENFOLD):
            continue
        agreed = [v for v in ours["variants"] if v.get("gap", np.inf) <= workload.check.agree]
        near = sorted((v for v in agreed if v["seconds"] <= 2 * ours["minimum"]), key=lambda v: v["seconds"])
        chosen = {ours["variant"]}
        if ours["minimum"] < 5 and near:
            chosen |= {v["label"] for v in (near[0], near[1 % len(near)], min(near, key=lambda v: v["gap"]))}
        fits[library] = [fit for fit in variants if fit.label in chosen]
    return replace(workload, fits=fits, data=replace(workload.data, rows=rows))


def tasks(workload: Workload, multiple: float, library: str) -> list[str]:
    """What to measure apart: two cold starts at the first size; memory of all at the named size, of ours beyond it."""
    wanted = ["cold"] * (multiple == workload.multiples[0] and library in COLD)
    wanted += ["memory"] * (multiple == 1 or (multiple > 1 and library == US))
    return [task for task in workload.apart if task in wanted]


def measure(workload: Workload, folder: Path, quick: bool = False) -> Record:
    """The record of a workload: its sizes, as a rule one ten times the other, with growth."""
    if quick:
        held = workload.data.held // 20
        workload = replace(workload, data=replace(workload.data, rows=workload.data.rows // 20, held=held))
    sizes: list[Record] = []
    for multiple in workload.multiples:
        rows = int(multiple * workload.data.rows)
        here = replace(workload, data=replace(workload.data, rows=rows))
        if sizes and multiple > 1:  # at the named size itself every variant has its chance
            here = narrowed(workload, sizes[-1], rows)
        here = replace(here, busy=here.busy if multiple == 1 else ())
        sizes.append(measure_size(here, folder / f"{multiple:g}", quick, partial(tasks, workload, multiple)))
    for small, large in pairwise(sizes):
        for library, record in large["libraries"].items():
            if "median" in record and "median" in small["libraries"][library]:
                record["growth"] = record["median"] / small["libraries"][library]["median"]
    kept = {"check": type(workload.check).__name__, "agree": workload.check.agree, "sizes": sizes}
    targets = {"targets": workload.targets, "predict_targets": workload.predict_targets, "held": workload.data.held}
    return kept | targets | {"main": workload.multiples.index(1)}


def import_times(modules: dict[str, str], quick: bool = False) -> Iterator[Record]:
    """Seconds to import each module (name → library) in a fresh process, rounds alternating, the first not counted."""
    found: dict[str, list[float]] = {module: [] for module in modules}
    for _ in range(3 if quick else 10):
        for module, library in modules.items():
            found[module].append(once(library, "import", module).get("seconds", float("nan")))
    for module, seconds in found.items():
        yield {"module": module, "median": statistics.median(seconds[1:]), "minimum": min(seconds[1:])}
