"""Runs a workload: every library in its own process, rounds alternating, fastest variant that finds the answer.

A workload names the data, the check by which answers are compared, and for each library the variants (solver,
tolerance) that are worth trying. At the first size all variants run; the fastest whose answer passes the check is the
library's entry. The entries then take turns, round by round, and give the median and the minimum.
"""

import json
import os
import select
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.answers import US, Check
from benchmarks.data import Data, write

ROOT = Path(__file__).parent.parent
BENCH_PYTHON = ROOT / ".venv-bench" / "bin" / "python"
FIT_LIMIT = 60.0  # seconds; a slower fit is cut off and reported as such
BUDGET = 20  # seconds of alternating rounds, unless three rounds take longer
TENFOLD = 0.6  # seconds up to which a peer is measured at ten times the rows, too
KEEP = 1 << 30  # larger data are loaded anew for each fit, so that one process at a time holds them
PAUSE = 0.1  # seconds between fits, for the threads of the last library to fall asleep
Record = dict[str, Any]


@dataclass(frozen=True)
class Fit:
    """A way to fit: the class by its full name, its parameters, and a short label for the report."""

    path: str
    options: dict[str, Any] = field(default_factory=dict)
    label: str = "default"


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


def python(library: str) -> str:
    return sys.executable if library == US else str(BENCH_PYTHON)


def once(library: str, *arguments: str, limit: float = 4 * FIT_LIMIT) -> Record:
    """One measurement in a fresh process."""
    command = [python(library), "-m", "benchmarks.worker", *arguments]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"error": f"over {limit:.0f} s"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["died"])[-1][:200]}
    return json.loads(done.stdout.splitlines()[-1])


class Worker:
    """A long-lived process of one library; started on demand, and again after it was cut off or died."""

    def __init__(self, library: str):
        self.library = library
        self.process: subprocess.Popen[bytes] | None = None

    def fit(self, fit: Fit, folder: Path, keep: bool) -> Record:
        request = {"path": fit.path, "options": fit.options, "folder": str(folder), "keep": keep}
        if self.process is None:
            command = [python(self.library), "-m", "benchmarks.worker", "serve"]
            self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        reply = self.read_line(time.monotonic() + 1.5 * FIT_LIMIT)  # the half is for loading
        if not reply.endswith(b"\n"):
            died = self.process.poll() is not None or reply == b""
            self.close()
            return {"error": "the process died" if died else f"over {FIT_LIMIT:.0f} s"}
        time.sleep(PAUSE)
        return json.loads(reply)

    def read_line(self, deadline: float) -> bytes:
        """The reply; what there is of it when the time is up (at least a space) or the process has ended."""
        assert self.process is not None
        assert self.process.stdout is not None
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return line + b" "
            piece = os.read(self.process.stdout.fileno(), 1 << 20)
            if not piece:
                return b""
            line += piece
        return line

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def try_all(workload: Workload, workers: dict[str, Worker], folder: Path, keep: bool) -> dict[str, list[Record]]:
    """Every variant once to warm up and once for its time, with its answer and how far that is off.

    The first fit of a process, in which some libraries compile, counts only if it is long.
    """
    tried: dict[str, list[Record]] = {}
    for library, fits in workload.fits.items():
        for fit in fits:
            enough = 5 if tried.get(library) else FIT_LIMIT / 2
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
        chosen[library]["rounds"] = []
    for r in range(rounds):
        for i in range(len(libraries)):
            library = libraries[(i + r) % len(libraries)]
            reply = workers[library].fit(chosen[library]["fit"], folder, keep)
            if "seconds" in reply:
                chosen[library]["rounds"].append(reply["seconds"])


def entry(record: Record, variants: list[Record]) -> Record:
    """What is kept of a library on a workload: plain numbers for the JSON file."""
    kept = {"variant": record["fit"].label, "options": record["fit"].options}
    kept |= {k: record[k] for k in ("error", "gap", "objective", "rounds") if k in record}
    if record.get("rounds"):
        kept |= {"median": statistics.median(record["rounds"]), "minimum": min(record["rounds"])}
    if "n_iter" in record.get("answer", {}):
        kept["n_iter"] = record["answer"]["n_iter"]
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
        alternate(chosen, workers, folder, keep, 2 if quick else max(3, min(15, int(BUDGET / max(turn, 1e-3)))))
    finally:
        for worker in workers.values():
            worker.close()
    libraries = {library: entry(chosen[library], tried[library]) for library in chosen}
    for library, record in libraries.items():
        for task in apart(library) if "error" not in record else []:
            fit = chosen[library]["fit"]
            request = {"path": fit.path, "options": fit.options, "folder": str(folder)}
            record[task] = once(library, task, json.dumps(request))
    shutil.rmtree(folder)
    return {"rows": workload.data.rows, "columns": workload.data.columns, "bytes": size, "libraries": libraries}


def narrowed(workload: Workload, record: Record, times: int) -> Workload:
    """The workload with more rows, and the fastest variants that agreed of each library that is quick enough for it."""
    fits = {}
    for library, variants in workload.fits.items():
        ours = record["libraries"][library]
        if "median" not in ours or (library != US and ours["minimum"] > TENFOLD):
            continue
        seconds = {
            v["label"]: v["seconds"]
            for v in ours["variants"]
            if v.get("gap", np.inf) <= workload.check.agree and v["seconds"] <= 2 * ours["minimum"]
        } | {ours["variant"]: 0.0}
        good = [fit for fit in variants if fit.label in seconds]
        fits[library] = sorted(good, key=lambda fit: seconds[fit.label])[: 2 if ours["minimum"] < 5 else 1]
    return replace(workload, fits=fits, data=replace(workload.data, rows=times * workload.data.rows))


def measure(workload: Workload, folder: Path, quick: bool = False) -> Record:
    """The record of a workload: its size and ten times its rows, with growth."""
    if quick:
        workload = replace(workload, data=replace(workload.data, rows=workload.data.rows // 20))
    small = measure_size(workload, folder / "1", quick, lambda library: workload.apart)
    large = measure_size(
        narrowed(workload, small, 10),
        folder / "10",
        quick,
        lambda library: [task for task in workload.apart if task == "memory" and library == US],
    )
    for library, record in large["libraries"].items():
        if "median" in record:
            record["growth"] = record["median"] / small["libraries"][library]["median"]
    check = type(workload.check).__name__
    return {"check": check, "agree": workload.check.agree, "targets": workload.targets, "sizes": [small, large]}


def import_times(modules: dict[str, str], quick: bool = False) -> Iterator[Record]:
    """Seconds to import each module (name → library) in a fresh process, rounds alternating, the first not counted."""
    found: dict[str, list[float]] = {module: [] for module in modules}
    for _ in range(3 if quick else 10):
        for module, library in modules.items():
            found[module].append(once(library, "import", module).get("seconds", float("nan")))
    for module, seconds in found.items():
        yield {"module": module, "median": statistics.median(seconds[1:]), "minimum": min(seconds[1:])}
