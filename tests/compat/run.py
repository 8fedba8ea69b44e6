"""``make compat``: scikit-learn's own tests on our classes, a process for each file, and a table of the results.

    python tests/compat/run.py [MODULE or FILE …] [--way accelerate] [--save]

A file is named as in scikit-learn's folder, without its ending: ``linear_model/tests/test_ridge``. With ``--save`` its
counts replace its earlier ones, and the table is made of all.
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
from typing import NamedTuple

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src"
SKLEARN = Path(importlib.util.find_spec("sklearn").origin).parent


class Module(NamedTuple):
    """A module of scikit-learn whose tests run here."""

    sample: str  # keywords of the tests that `make test` runs: quick ones, and one of each kind
    files: str = ""  # its test files, by default all of them
    more: str = ""  # test files in other folders


BOOSTING = "ensemble/_hist_gradient_boosting/tests/test_"
MODULES = {  # a new module is one line here: "svm": Module("test_libsvm_iris or test_linearsvc"),
    "linear_model": Module(
        "test_lasso_zero or test_lasso_toy or test_huber_equals or test_linear_regression_multiple",
        "base common coordinate_descent huber logistic perceptron quantile ridge sag sgd sparse_coordinate_descent",
        "linear_model/_glm/tests/test_glm",
    ),
    "tree": Module("test_importances or test_min_samples_leaf or test_class_weight_errors"),
    "ensemble": Module(
        "test_probability or test_staged or test_oob_score_regressors or test_iris",
        "bagging base common forest stacking voting weight_boosting",
        " ".join(BOOSTING + name for name in ("gradient_boosting", "monotonic_constraints", "warm_start")),
    ),
    "neighbors": Module(
        "test_kneighbors_classifier or test_kneighbors_regressor or test_radius_neighbors_boundary",
        "neighbors kde graph neighbors_pipeline",
    ),
    "mixture": Module(
        "test_gaussian_mixture_attributes or test_check_means or test_sample or test_bic", "gaussian_mixture mixture"
    ),
    "gaussian_process": Module("test_lml or test_prior or test_predict_cov or test_predict_consistent", "gpr gpc"),
    "cluster": Module("test_k_means_fit or test_predict or test_transform or test_kmeans_plusplus_output", "k_means"),
    "decomposition": Module("test_fastica or test_nmf_transform or test_nmf_decreasing", "nmf fastica"),
    "naive_bayes": Module("test_"),
    "discriminant_analysis": Module("test_"),
    "multiclass": Module("test_ovo"),
}


def test_files(name: str) -> list[str]:
    """The test files of a module, relative to scikit-learn's folder and without the ending."""
    folder = f"{name}/tests"
    if not (SKLEARN / folder).is_dir():
        return [f"tests/test_{name}"]
    found = sorted(path.stem.removeprefix("test_") for path in (SKLEARN / folder).glob("test_*.py"))
    return [f"{folder}/test_{file}" for file in MODULES[name].files.split() or found] + MODULES[name].more.split()


def run(files: list[str], way: str, keywords: str | None = None) -> list[dict]:
    """The results of the tests of some files, in a process of their own."""
    with tempfile.TemporaryDirectory(prefix="didact-compat-") as folder:
        lines = Path(folder) / "results.jsonl"
        path = os.pathsep.join([str(SOURCE), str(HERE), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        environment = os.environ | {"DIDACT_COMPAT": str(lines), "DIDACT_COMPAT_WAY": way, "PYTHONPATH": path}
        command = [sys.executable, "-m", "pytest", "-c", str(HERE / "compat.ini"), f"--rootdir={SKLEARN.parent}"]
        command += ["-p", "swap", "--pyargs", *(f"sklearn.{file.replace('/', '.')}" for file in files)]
        command += ["-k", keywords] if keywords else []
        environment.pop("SCIPY_ARRAY_API", None)  # array libraries are a matter of our own tests
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        if not lines.exists():
            sys.exit(f"{files}: no test ran.\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return read(lines)


def read(lines: Path) -> list[dict]:
    """The results that the plugin wrote; those of tests that called none of our classes are left out."""
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


def saved(way: str) -> Path:
    """Where the counts of all files are kept, by module and file."""
    return HERE / ("results.json" if way == "import" else "results_accelerate.json")


def keep(rows: dict[str, dict[str, Counter]], way: str) -> None:
    """Put counts beside those of files that did not run this time, and write the table of all."""
    path = saved(way)
    before = json.loads(path.read_text()) if path.exists() else {}
    every = {name: before.get(name, {}) | rows.get(name, {}) for name in MODULES if name in before or name in rows}
    path.write_text(json.dumps(every, indent=1) + "\n")
    total = {name: sum(map(Counter, files.values()), Counter()) for name, files in every.items()}
    path.with_name(f"{path.stem.upper()}.md").write_text(table(total))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", help=f"some of {', '.join(MODULES)}, or files of them; all by default")
    parser.add_argument("--way", choices=("import", "accelerate"), default="import", help="how our classes come in")
    parser.add_argument("--save", action="store_true", help="write RESULTS.md and results.json beside this file")
    given = parser.parse_args()
    rows, failures, needed = {}, [], set()
    for name in MODULES:
        asked = [f for f in test_files(name) if not given.modules or name in given.modules or f in given.modules]
        for file in asked:
            counts, failed, used = judged(run([file], given.way))
            rows.setdefault(name, {})[file], needed, failures = counts, needed | used, failures + failed
            print(table({file: counts}).splitlines()[-1], flush=True)
    for result in failures:
        print(f"FAILED {result['test']}: {result['error'].partition(chr(10))[0][:150]}")
    if not given.modules:
        for pattern in sorted({p for p, _ in exceptions()} - needed):
            print(f"no longer needed in exceptions.toml: {pattern}")
    print(table({name: sum(files.values(), Counter()) for name, files in rows.items()}))
    if given.save:
        keep(rows, given.way)


if __name__ == "__main__":
    main()
