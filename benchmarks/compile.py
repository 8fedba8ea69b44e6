"""Chapter ``compile``: what the first fit and the first prediction of each estimator compile, from an empty cache.

``python -m benchmarks compile [NAME …]``: NAME is a class, or ``sum`` (all of them in one process) or ``warm`` (what
``python -m didact.core.jit`` compiles); without one everything is measured. Each has a process and a cache folder of
its own, one thread, and the 200 × 5 table of the registry's checks. Functions are counted by Numba's
events, once for each signature, those that Numba brings itself included; seconds are CPU time.
"""

import argparse
import datetime
import importlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.processes import cpu_name
from benchmarks.tables import table, three

HERE = Path(__file__).parent
SUM, WARM = "sum", "warm"
FILE = report.RESULTS / "compile.json"
SHARED = {SUM: "all of these in one process", WARM: "all that is compiled ahead"}


class Compilations:
    """A listener to Numba: the functions compiled in each module, and the CPU seconds of each kind of work on them."""

    def __init__(self) -> None:
        self.functions: Counter[str] = Counter()
        self.modules: Counter[str] = Counter()
        self.seconds: Counter[str] = Counter()
        self._open: list[tuple[str, str, float]] = []

    def register(self) -> "Compilations":
        from numba.core import event

        listener = type("Listener", (event.Listener,), {"on_start": self._start, "on_end": self._end})()
        for kind in ("numba:compile", "numba:llvm_lock", "numba:run_pass"):
            event.register(kind, listener)
        return self

    def _start(self, event: Any) -> None:
        module = self._open[-1][1] if self._open else ""
        if event.kind == "numba:compile":
            module = event.data["dispatcher"].py_func.__module__
            self.functions[module] += 1
        self._open.append((self._what(event), module, time.thread_time()))

    def _end(self, event: Any) -> None:
        """The time between belongs to this work; what lies within another one is taken from that."""
        what, module, start = self._open.pop()
        seconds = time.thread_time() - start
        self.seconds[what] += seconds
        self.modules[module] += seconds
        if self._open:
            self.seconds[self._open[-1][0]] -= seconds
            self.modules[self._open[-1][1]] -= seconds

    @staticmethod
    def _what(event: Any) -> str:
        if event.kind == "numba:run_pass":
            return "typing" if "type_inference" in event.data["name"] else "lowering"
        return "LLVM" if event.kind == "numba:llvm_lock" else "compiling"

    def record(self) -> dict[str, Any]:
        ours = sum(count for module, count in self.functions.items() if module.startswith("didact"))
        kinds = {what: round(self.seconds[what], 2) for what in ("typing", "lowering", "LLVM")}
        modules = {m: [n, round(self.modules[m], 2)] for m, n in sorted(self.functions.items())}
        compiling = round(sum(self.seconds.values()), 2)
        return {"functions": self.functions.total(), "ours": ours, "compiling": compiling, **kinds, "modules": modules}


def timed(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return round(time.process_time() - start, 2)


def module_of(file: Path, package: Path) -> Any:
    """The module of a file of the package."""
    return importlib.import_module(".".join(("didact", *file.relative_to(package).with_suffix("").parts)))


def serve(name: str) -> None:
    """Measure in this process, and print one line of JSON."""
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(HERE.parent / "tests" / "registry"))
    import registry_cases as cases

    from didact.core.jit.sources import PACKAGE
    from didact.core.jit.warming import loops_of

    compilations = Compilations().register()
    models = [model for model in cases.at_defaults() if name in (SUM, type(model).__name__)]
    problems = [cases.problem(model, 200, 5) for model in models]
    record: dict[str, Any] = {"fit": 0.0, "predict": 0.0}
    for model, (X, y) in zip(models, problems, strict=True):
        record["fit"] += timed(partial(model.fit, X, y))
        record["predict"] += timed(partial(getattr(model, cases.answer(model)), X))
    if name == WARM:
        record["fit"] = timed(lambda: [module_of(file, PACKAGE).warm() for file in loops_of(())])
    record |= compilations.record()
    if name not in SHARED:
        record["again"] = timed(lambda: getattr(model.fit(X, y), cases.answer(model))(X))
    print(json.dumps(record), flush=True)


def names() -> list[str]:
    """The classes that are fitted, by name."""
    code = "import sys; sys.path.insert(0, 'tests/registry'); import registry_cases as c\n"
    code += "print(*sorted(type(model).__name__ for model in c.at_defaults()))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=HERE.parent, env=environment(), capture_output=True, text=True
    )
    return done.stdout.split()


def environment(**more: str) -> dict[str, str]:
    """That of this process, with these sources and one thread."""
    path = os.pathsep.join(map(str, (HERE.parent / "src", HERE.parent, os.environ.get("PYTHONPATH", ""))))
    return os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"} | more


def measured(name: str) -> dict[str, Any]:
    """The record of one class, from an empty cache."""
    with tempfile.TemporaryDirectory(prefix="didact-bench-") as folder:
        call = [sys.executable, "-m", "benchmarks.compile", name]
        env = environment(NUMBA_CACHE_DIR=folder)
        done = subprocess.run(call, cwd=HERE.parent, env=env, stdout=subprocess.PIPE, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {"error": f"ended with {done.returncode}"}


def markdown(results: dict[str, dict[str, Any]], about: str) -> str:
    """The section of RESULTS.md."""
    rows = []
    for name, r in results.items():
        cells = [
            r["fit"],
            r["predict"],
            r.get("again"),
            r["functions"],
            r["ours"],
            r["compiling"],
            r["typing"],
            r["LLVM"],
        ]
        rows.append([SHARED.get(name, name), *("–" if x is None else three(x) for x in cells)])
    header = ["CPU seconds, from an empty cache", "first fit", "first prediction", "both once more"]
    header += ["functions compiled", "of them didact's", "compiling", "of that typing", "LLVM"]
    return f"\n## compile\n\n{about}\n\n" + table(header, rows)


def main(arguments: list[str]) -> None:
    """Measure what is named, or everything; save the numbers after each, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks compile", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    known, asked = [SUM, WARM, *names()], parser.parse_args(arguments)
    wanted = asked.names or known
    if unknown := sorted(set(wanted) - set(known)):
        sys.exit(f"There is no {', '.join(unknown)}; there are: {', '.join(known)}.")
    results = json.loads(FILE.read_text())["results"] if FILE.exists() else {}
    about = f"{datetime.date.today()}, {cpu_name()}, Python {platform.python_version()}, Numba {version('numba')}"
    about += "." if asked.jobs == 1 else f", {asked.jobs} processes at a time."
    with ThreadPoolExecutor(asked.jobs) as pool:
        for name, record in zip(wanted, pool.map(measured, wanted), strict=True):
            results[name] = record
            shown = {key: value for key, value in record.items() if key != "modules"}
            print(f"{name}: {shown}", file=sys.stderr, flush=True)
            results = {n: results[n] for n in known if "fit" in results.get(n, {})}
            content = {"markdown": markdown(results, about), "results": results}
            report.save(FILE, json.dumps(content, indent=1))
    print(markdown({n: results[n] for n in wanted if n in results}, about))


if __name__ == "__main__":
    serve(sys.argv[1])
