"""``python -m benchmarks CHAPTER [--only NAME] [--quick]``; ``python -m benchmarks setup`` and ``… report``."""

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

from benchmarks import harness, report

CHAPTERS = ("linear", "optimize")
DISTRIBUTIONS = ("numpy", "scipy", "scikit-learn", "scikit-learn-intelex", "glum", "statsmodels")
DISTRIBUTIONS += ("celer", "skglm", "quadprog", "cvxopt")


def setup() -> None:
    """Put the peers into .venv-bench, an environment of their own."""
    if not harness.BENCH_PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", harness.BENCH_PYTHON.parent.parent], check=True)
    requirements = Path(__file__).parent / "requirements.txt"
    subprocess.run([harness.BENCH_PYTHON, "-m", "pip", "install", "-q", "-r", requirements], check=True)


def versions(library: str, names: tuple[str, ...]) -> dict[str, str]:
    code = "import sys, importlib.metadata as m; print(*(m.version(n) for n in sys.argv[1:]))"
    done = subprocess.run([harness.python(library), "-c", code, *names], capture_output=True, text=True, check=True)
    return dict(zip(names, done.stdout.split()))


def machine() -> dict[str, Any]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return {
        "date": datetime.date.today().isoformat(),
        "cores": len(os.sched_getaffinity(0)),
        "cpu": next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown"),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
        "versions": versions(harness.US, ("didact", "numba")) | versions("peers", DISTRIBUTIONS),
    }


def run(chapter: str, only: str | None, quick: bool) -> None:
    """Measure the chapter; each finished workload is saved at once (a quick run is printed and not saved)."""
    module = importlib.import_module(f"benchmarks.{chapter}")
    names = [w.name for w in module.WORKLOADS] + list(module.EXTRAS)
    wanted = [name for name in names if only is None or only.lower() in name.lower()]
    if not wanted:
        sys.exit(f"No workload of '{chapter}' contains '{only}'; there are: {', '.join(names)}.")
    path = report.RESULTS / f"{chapter}.json"
    old = json.loads(path.read_text())["results"] if path.exists() and not quick else {}
    content: dict[str, Any] = {"machine": machine(), "results": old}
    with tempfile.TemporaryDirectory(prefix="didact-bench-") as temporary:
        for i, name in enumerate(wanted):
            start = time.monotonic()
            print(f"[{i + 1}/{len(wanted)}] {name} … ", end="", flush=True, file=sys.stderr)
            folder = Path(temporary) / str(i)
            folder.mkdir()
            if name in module.EXTRAS:
                record = module.EXTRAS[name](folder, quick)
            else:
                workload = next(w for w in module.WORKLOADS if w.name == name)
                record = harness.measure(workload, folder, quick)
            content["results"][name] = record | {"measured": content["machine"]["date"]}
            content["results"] = {n: content["results"][n] for n in names if n in content["results"]}
            print(f"{time.monotonic() - start:.0f} s", file=sys.stderr)
            if not quick:
                report.save(path, json.dumps(content, indent=1))
                report.save(report.FOLDER / "RESULTS.md", report.render())
    print(report.section(chapter, content))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("chapter", choices=(*CHAPTERS, "setup", "report"))
    parser.add_argument("--only", help="only the workloads whose name contains this")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the rows, two rounds, nothing saved")
    arguments = parser.parse_args()
    if arguments.chapter == "setup":
        setup()
    elif arguments.chapter == "report":
        report.save(report.FOLDER / "RESULTS.md", report.render())
    else:
        if not harness.BENCH_PYTHON.exists():
            setup()
        run(arguments.chapter, arguments.only, arguments.quick)


if __name__ == "__main__":
    main()
