"""``python -m benchmarks CHAPTER|all [--only NAME] [--quick]``; setup, report, accelerate, scaling, compile."""

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
from pathlib import Path
from typing import Any

from benchmarks import accelerate, harness, processes, real_data, report, scaling
from benchmarks import compile as compiling

CHAPTERS = ("linear", "optimize", "probability", "trees", "neighbors", "density", "kernels", "mixtures")
CHAPTERS += ("gaussian_process", "kernel_models", "cluster", "projections", "sources", "embeddings", "tsne", "accuracy")
CHAPTERS += ("avx2",)  # the last: it changes the environment
DISTRIBUTIONS = ("numpy", "scipy", "scikit-learn", "scikit-learn-intelex", "glum", "statsmodels")
DISTRIBUTIONS += ("celer", "skglm", "quadprog", "cvxopt", "lightgbm", "xgboost", "faiss-cpu", "imbalanced-learn")
DISTRIBUTIONS += ("python-picard", "kmedoids", "opentsne", "fastcluster", "gpytorch", "gpy", "pomegranate")
LARGE = ("gpytorch", "gpy", "pomegranate")  # with what they bring; a row of one that cannot be installed says so
TORCH = "torch==2.13.0"  # which they need
ALONE = "xgboost"  # installed without its dependencies: the one that others do not bring is a library for GPUs


def setup() -> None:
    """Put the peers into .venv-bench, an environment of their own."""
    if not processes.BENCH_PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", processes.BENCH_PYTHON.parent.parent], check=True)
    lines = (Path(__file__).parent / "requirements.txt").read_text().splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    pip = [processes.BENCH_PYTHON, "-m", "pip", "install", "-q"]
    subprocess.run([*pip, *(line for line in wanted if not line.startswith(ALONE))], check=True)
    subprocess.run([*pip, "--no-deps", *(line for line in wanted if line.startswith(ALONE))], check=True)
    for name in LARGE:
        if subprocess.run([*pip, TORCH, name], check=False).returncode:
            print(f"{name} could not be installed: its rows will say that it is missing.", file=sys.stderr)


def versions(library: str, names: tuple[str, ...]) -> dict[str, str]:
    """The versions of those that are installed where this library runs."""
    code = "import sys, importlib.metadata as m; print(*(f'{d.name}={d.version}' for d in m.distributions()))"
    done = subprocess.run([processes.python(library), "-c", code], capture_output=True, text=True, check=True)
    found = dict(pair.split("=") for pair in done.stdout.lower().split())
    return {name: found[name] for name in names if name in found}


def machine() -> dict[str, Any]:
    return {
        "date": datetime.date.today().isoformat(),
        "cores": len(os.sched_getaffinity(0)),
        "cpu": processes.cpu_name(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
        "versions": versions(processes.US, ("didact", "numba")) | versions("peers", DISTRIBUTIONS),
    }


def one(module: Any, name: str, folder: Path, quick: bool) -> dict[str, Any]:
    """The record of one workload or extra."""
    if name in module.EXTRAS:
        return module.EXTRAS[name](folder, quick)
    return harness.measure(next(w for w in module.WORKLOADS if w.name == name), folder, quick)


def run(chapter: str, only: str | None, quick: bool) -> None:
    """Measure the chapter; each finished workload is saved at once (a quick run is printed and not saved)."""
    module = importlib.import_module(f"benchmarks.{chapter}")
    names = [w.name for w in module.WORKLOADS] + list(module.EXTRAS)
    wanted = [name for name in names if only in (None, name)] or [n for n in names if str(only).lower() in n.lower()]
    if not wanted:
        sys.exit(f"No workload of '{chapter}' contains '{only}'; there are: {', '.join(names)}.")
    os.environ.update(getattr(module, "ENVIRONMENT", {}))  # for the processes that are measured
    path = report.RESULTS / f"{chapter}.json"
    old = json.loads(path.read_text())["results"] if path.exists() and not quick else {}
    content: dict[str, Any] = {"machine": machine(), "results": old}
    with tempfile.TemporaryDirectory(prefix="didact-bench-") as temporary:
        for i, name in enumerate(wanted):
            start = time.monotonic()
            print(f"[{i + 1}/{len(wanted)}] {name} … ", end="", flush=True, file=sys.stderr)
            folder = Path(temporary) / str(i)
            folder.mkdir()
            try:
                record = one(module, name, folder, quick)
            except real_data.NotReachable as why:
                print(why, file=sys.stderr)
                content["results"].setdefault(name, {"skipped": str(why)})
                continue
            content["results"][name] = record | {"measured": content["machine"]["date"]}
            content["results"] = {n: content["results"][n] for n in names if n in content["results"]}
            print(f"{time.monotonic() - start:.0f} s", file=sys.stderr)
            if not quick:
                report.save(path, json.dumps(content, indent=1))
                report.write()
    print(report.section(chapter, content))


def main() -> None:
    if sys.argv[1:2] == ["scaling"]:  # another machine, and options of its own
        scaling.main(sys.argv[2:])
        report.write()
        return
    if sys.argv[1:2] == ["compile"]:
        compiling.main(sys.argv[2:])
        report.write()
        return
    if sys.argv[1:2] == ["accelerate"]:  # no peers beside scikit-learn itself
        accelerate.main(sys.argv[2:])
        report.write()
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("chapter", choices=(*CHAPTERS, "all", "setup", "report"))
    parser.add_argument("--only", help="only the workload of this name, or all whose name contains it")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the rows, two rounds, nothing saved")
    arguments = parser.parse_args()
    if arguments.chapter == "setup":
        setup()
    elif arguments.chapter == "report":
        report.write()
    else:
        if not processes.BENCH_PYTHON.exists():
            setup()
        for chapter in CHAPTERS if arguments.chapter == "all" else (arguments.chapter,):
            run(chapter, arguments.only, arguments.quick)


if __name__ == "__main__":
    main()
