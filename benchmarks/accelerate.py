"""``python -m benchmarks accelerate``: ten scripts for scikit-learn, plain and under ``python -m didact.accelerate``.

The scripts in tests/compat/scripts run unchanged, each in fresh processes: alternately plain and accelerated, where the
whole process is timed, and once more with ``--compare``, where every call of a covered class is made by both libraries
and its seconds are summed. Scores are the numbers that a script prints; what they are off by is relative to the larger
of 1 and the plain number.
"""

import argparse
import datetime
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.processes import ROOT
from benchmarks.report import RESULTS, save
from benchmarks.tables import table, three

SCRIPTS = sorted((ROOT / "tests" / "compat" / "scripts").glob("*.py"))
WAYS: dict[str, list[str]] = {"plain": [], "accelerated": ["-m", "didact.accelerate"]}
LIMIT = 600  # seconds for one process: a script takes a few
COMPARED = ["-m", "didact.accelerate", "--compare"]
HEAD = """
## accelerate

{about}. Ten scripts in the way people write them (`tests/compat/scripts`), unchanged. Seconds of the whole process,
imports included, medians of alternating rounds, {rounds} at least, and the least CPU seconds of a round, which other
work on the machine moves little; then the seconds that the calls of covered classes take in both libraries, first calls
in a process included; and the largest difference of a score that the script prints.

"""


def cpu_of_children() -> float:
    """CPU seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(command: list[str], environment: dict[str, str]) -> tuple[float, float, dict[str, float]]:
    """Seconds and CPU seconds of a process, and the names and numbers that it prints."""
    start, before = time.perf_counter(), cpu_of_children()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=ROOT, timeout=LIMIT)
    seconds, cpu = time.perf_counter() - start, cpu_of_children() - before
    lines = [line.rpartition(" ") for line in done.stdout.splitlines()]
    return seconds, cpu, {name: float(value == "True" or value) for name, _, value in lines}


def measure(script: Path, rounds: int) -> dict[str, Any]:
    """The times and scores of one script."""
    environment = {
        k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"
    }  # modules compiled, as installed
    environment |= {"PYTHONWARNINGS": "ignore"}
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    cpu: dict[str, list[float]] = {way: [] for way in WAYS}
    scores: dict[str, dict[str, float]] = {}
    for _ in range(rounds):
        for way, options in WAYS.items():
            took, used, scores[way] = run([sys.executable, *options, str(script)], environment)
            seconds[way].append(took)
            cpu[way].append(used)
    with tempfile.TemporaryDirectory(prefix="didact-bench-") as folder:
        lines = Path(folder) / "calls.jsonl"
        environment |= {"DIDACT_ACCELERATE_KEEP": str(lines)}
        run([sys.executable, *COMPARED, str(script)], environment)
        calls = [json.loads(line) for line in lines.read_text().splitlines()]
    both = [call for call in calls if call["reason"] is None and call["theirs"] is not None]
    plain = scores["plain"]
    return {
        "seconds": {way: statistics.median(took) for way, took in seconds.items()},
        "cpu": {way: min(used) for way, used in cpu.items()},
        "calls": {"didact": sum(c["seconds"] for c in both), "scikit-learn": sum(c["theirs"] for c in both)},
        "left": sorted({f"{c['call']}: {c['reason']}" for c in calls if c["reason"]}),
        "scores": scores,
        "off": max(abs(scores["accelerated"][n] - v) / max(1.0, abs(v)) for n, v in plain.items()),
    }


def markdown(found: dict[str, Any], about: str, rounds: int) -> str:
    """The section of RESULTS.md."""
    rows = [
        [
            name,
            three(r["seconds"]["plain"]),
            three(r["seconds"]["accelerated"]),
            three(r["cpu"]["plain"]),
            three(r["cpu"]["accelerated"]),
            three(r["calls"]["scikit-learn"]),
            three(r["calls"]["didact"]),
            f"{r['off']:.0e}",
            str(len(r["left"])),
        ]
        for name, r in found.items()
    ]
    header = [
        "script",
        "plain, s",
        "accelerated, s",
        "plain, CPU s",
        "accelerated, CPU s",
        "calls: scikit-learn, s",
        "calls: didact, s",
        "scores off by",
        "left",
    ]
    return HEAD.format(about=about, rounds=rounds) + table(header, rows)


def main(argv: list[str]) -> None:
    """Run all scripts, or those named, and save the results of each as soon as it is done."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks accelerate", description=__doc__)
    parser.add_argument("scripts", nargs="*", help="names of scripts; all by default")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each script")
    given = parser.parse_args(argv)
    if unknown := set(given.scripts) - {script.stem for script in SCRIPTS}:
        parser.error(f"there is no script {', '.join(sorted(unknown))}")
    path = RESULTS / "accelerate.json"
    found: dict[str, Any] = json.loads(path.read_text())["results"] if path.exists() and given.scripts else {}
    found = {name: r for name, r in found.items() if "cpu" in r}  # earlier results have none
    for script in SCRIPTS:
        if given.scripts and script.stem not in given.scripts:
            continue
        print(f"{script.stem} … ", end="", flush=True, file=sys.stderr)
        found[script.stem] = measure(script, given.rounds) | {"load": os.getloadavg()[0], "rounds": given.rounds}
        print(found[script.stem]["seconds"], file=sys.stderr)
        about = f"{datetime.date.today().isoformat()}, {len(os.sched_getaffinity(0))} cores, scikit-learn "
        about += f"{version('scikit-learn')}, load average up to {max(r['load'] for r in found.values()):.1f}"
        text = markdown({name: found[name] for name in sorted(found)}, about, min(r["rounds"] for r in found.values()))
        save(path, json.dumps({"results": found, "markdown": text}, indent=1))
    print(text)
