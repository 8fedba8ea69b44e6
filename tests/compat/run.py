"""``make compat``: scikit-learn's own tests on our classes, a process for each module, and a table of the results.

    python tests/compat/run.py [MODULE …] [--way accelerate] [--save]

A test counts if it calls one of our classes. Tests that `exceptions.toml` names, each with its reason, are counted
apart; one that is named there and passes counts as passed.
"""

import argparse
import fnmatch
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src"
BOOSTING = "ensemble._hist_gradient_boosting.tests."
FILES = {
    "linear_model": [
        *("base", "common", "coordinate_descent", "huber", "logistic", "perceptron", "quantile", "ridge", "sag", "sgd"),
        "sparse_coordinate_descent",
    ],
    "tree": ["tree", "export", "monotonic_tree"],
    "ensemble": ["bagging", "base", "common", "forest", "stacking", "voting", "weight_boosting"],
    "neighbors": ["neighbors", "kde", "graph", "neighbors_pipeline"],
    "cluster": ["k_means"],
    "naive_bayes": [],
    "discriminant_analysis": [],
    "multiclass": [],
}
MORE = {
    "linear_model": ["linear_model._glm.tests.test_glm"],
    "ensemble": [f"{BOOSTING}test_{name}" for name in ("gradient_boosting", "monotonic_constraints", "warm_start")],
}
SAMPLE = {  # for `make test`: quick, and one of each kind
    "linear_model": "test_lasso_zero or test_lasso_toy or test_huber_equals or test_linear_regression_multiple",
    "tree": "test_importances or test_min_samples_leaf or test_class_weight_errors",
    "ensemble": "test_probability or test_staged or test_oob_score_regressors or test_iris",
    "neighbors": "test_kneighbors_classifier or test_kneighbors_regressor or test_radius_neighbors_boundary",
    "naive_bayes": "test_",
    "discriminant_analysis": "test_",
    "multiclass": "test_ovo",
}


def modules(name: str) -> list[str]:
    """The test files of a module, as Python names them."""
    inside = [f"{name}.tests.test_{file}" for file in FILES[name]] or [f"tests.test_{name}"]
    return [f"sklearn.{one}" for one in [*inside, *MORE.get(name, [])]]


def run(name: str, way: str, keywords: str | None = None) -> list[dict]:
    """The results of all tests of a module, in a process of its own."""
    root = Path(importlib.util.find_spec("sklearn").origin).parents[1]
    with tempfile.TemporaryDirectory(prefix="didact-compat-") as folder:
        lines = Path(folder) / "results.jsonl"
        path = os.pathsep.join([str(SOURCE), str(HERE), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        environment = os.environ | {"DIDACT_COMPAT": str(lines), "DIDACT_COMPAT_WAY": way, "PYTHONPATH": path}
        command = [sys.executable, "-m", "pytest", "-c", str(HERE / "compat.ini"), f"--rootdir={root}", "-p", "swap"]
        command += ["--pyargs", *modules(name), *(["-k", keywords] if keywords else [])]
        environment.pop("SCIPY_ARRAY_API", None)  # array libraries are a matter of our own tests
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        if not lines.exists():
            sys.exit(f"{name}: no test ran.\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        found = {}
        for line in lines.read_text().splitlines():  # a test that fails while it is taken down has two lines
            result = json.loads(line)
            if found.get(result["test"], {}).get("outcome") != "failed":
                found[result["test"]] = result
    return [r for r in found.values() if r["used"] or r["outcome"] == "failed"]


def exceptions() -> list[tuple[str, str]]:
    """Patterns of names of tests, and the reason why each does not hold here."""
    groups = tomllib.loads((HERE / "exceptions.toml").read_text(encoding="utf-8"))["exception"]
    return [(pattern, group["reason"]) for group in groups for pattern in group["tests"]]


def judged(results: list[dict]) -> tuple[Counter, list[dict], set[str]]:
    """How many passed, failed and are excepted; the failures; and the patterns that excepted a test."""
    counts, failures, needed = Counter(), [], set()
    for result in results:
        if result["outcome"] in ("passed", "xfailed"):
            counts["passed"] += 1
        elif result["outcome"] == "failed":
            name = result["test"].replace("[", "(").replace("]", ")")  # brackets mean something in patterns
            why = next((p for p, _ in exceptions() if fnmatch.fnmatchcase(name, f"*::{p}")), None)
            counts["excepted" if why else "failed"] += 1
            needed |= {why} if why else set()
            failures += [] if why else [result]
    return counts, failures, needed


def table(rows: dict[str, Counter]) -> str:
    """The results as Markdown."""
    text = "| module | tests | passed | excepted | failed | passed, exceptions apart | of all |\n"
    text += "|---|---|---|---|---|---|---|\n"
    total = sum(rows.values(), Counter())
    for name, c in [*rows.items(), ("all", total)] if len(rows) > 1 else rows.items():
        every = c["passed"] + c["failed"] + c["excepted"]
        share, raw = c["passed"] / max(1, c["passed"] + c["failed"]), c["passed"] / max(1, every)
        text += f"| {name} | {every} | {c['passed']} | {c['excepted']} | {c['failed']} | {share:.1%} | {raw:.1%} |\n"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", help=f"some of {', '.join(FILES)}; all by default")
    parser.add_argument("--way", choices=("import", "accelerate"), default="import", help="how our classes come in")
    parser.add_argument("--save", action="store_true", help="write RESULTS.md and results.json beside this file")
    given = parser.parse_args()
    rows, failures, needed = {}, [], set()
    for name in given.modules or FILES:
        counts, failed, used = judged(run(name, given.way))
        rows[name], needed, failures = counts, needed | used, failures + failed
        print(table({name: counts}).splitlines()[-1], flush=True)
    for result in failures:
        print(f"FAILED {result['test']}: {result['error'].partition(chr(10))[0][:150]}")
    if not given.modules:
        for pattern in sorted({p for p, _ in exceptions()} - needed):
            print(f"no longer needed in exceptions.toml: {pattern}")
    print(table(rows))
    if given.save:
        name = "results" if given.way == "import" else "results_accelerate"
        (HERE / f"{name}.json").write_text(json.dumps(rows, indent=1) + "\n")
        (HERE / f"{name.upper()}.md").write_text(table(rows))


if __name__ == "__main__":
    main()
