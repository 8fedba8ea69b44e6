"""Run the numeric tests as other machines would: `python tests/portable.py [--short] [NAME …]`, or make test-portable.

What a test asserts has to hold on every CPU that we support. OpenBLAS, NumPy and Numba choose their code by the CPU,
which changes the order of sums, fused multiply–adds and the last bits of exponentials; environment variables make them
choose as for another one. Each personality below is a set of such variables, left out where this machine lacks the
instructions. `--short` is for every day: two personalities that need no compiling, on what has proved most sensitive.
"""

import argparse
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

from numpy._core import _multiarray_umath as numpy_cpu

ROOT = Path(__file__).parents[1]
NUMERIC = [
    *(f"tests/{name}" for name in ("parts", "engines", "distributions", "optimize", "linear_model", "decision")),
    *(f"tests/{name}" for name in ("discriminant_analysis", "naive_bayes", "neighbors", "tree", "ensemble")),
    *(f"tests/{name}" for name in ("kernels", "svm", "kernel_ridge", "kernel_approximation", "gaussian_process")),
    *(f"tests/{name}" for name in ("cluster", "mixture", "decomposition", "cross_decomposition", "manifold")),
    "tests/docs/test_examples.py::test_code_blocks_run_and_print_what_the_page_shows",
    "tests/test_house.py::test_doctests",
]
SENSITIVE = [
    *(f"tests/parts/{name}" for name in ("links", "families", "losses", "statistics")),
    *(f"tests/engines/linear/test_{name}.py" for name in ("least_squares", "residual_loops", "evidence")),
    "tests/engines/smooth/test_newton.py",
    "tests/svm/test_kernel_models.py",
    *(f"tests/linear_model/test_{name}.py" for name in ("nist", "linear_regression", "ridge", "inference")),
    "tests/test_house.py::test_doctests",
]
X86 = platform.machine().lower() in ("x86_64", "amd64")
FOUND = [name for name in numpy_cpu.__cpu_dispatch__ if numpy_cpu.__cpu_features__.get(name)]
AVX512 = [name for name in FOUND if "512" in name or name == "X86_V4"]
AVX2 = [name for name in FOUND if name in ("AVX2", "FMA3", "X86_V3")]


def personality(core="", numpy_without=(), numba="", threads=0):
    """Environment variables: OpenBLAS's CPU, what NumPy may not use, Numba's CPU and the number of threads."""
    chosen = {
        "OPENBLAS_CORETYPE": core,
        "NPY_DISABLE_CPU_FEATURES": " ".join(numpy_without),
        "NUMBA_CPU_NAME": numba,
        "OMP_NUM_THREADS": str(threads or ""),
    }
    chosen = {key: value for key, value in chosen.items() if value}
    return chosen | ({"NUMBA_CPU_FEATURES": ""} if numba else {})  # those of that CPU, not of this one


def personalities():
    """All that this machine can play, by name."""
    table = {"one-thread": personality(threads=1), "two-threads": personality(threads=2)}
    if X86:
        table |= {
            "nehalem": personality("Nehalem", FOUND, threads=1),
            "sandybridge": personality("Sandybridge", FOUND, threads=2),
            "numba-generic": personality(numba="generic"),
        }
    if AVX2:
        table |= {
            "haswell": personality("Haswell", AVX512, threads=1),
            "zen": personality("Zen", AVX512, threads=2),
            "numba-v3": personality("Haswell", AVX512, "x86-64-v3"),
        }
    if AVX512:
        table["skylakex"] = personality("SkylakeX", threads=1)
    return table


SHORT = ("nehalem", "haswell") if AVX2 else ("nehalem",) if X86 else ("one-thread",)


def run(name, variables, tests, workers):
    """One pass over the tests: the last line that pytest prints, what failed, and whether all is well."""
    print(f"\n{name}: {' '.join(f'{key}={value!r}' for key, value in variables.items())}", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", "--tb=short"]
    command += ["-m", "not cluster", "-n", str(workers), "--dist", "loadfile", *tests]
    environment = {k: v for k, v in os.environ.items() if k not in personality("x", "x", "x", 1)}
    start = time.perf_counter()
    done = subprocess.run(
        command, cwd=ROOT, env=environment | {"SCIPY_ARRAY_API": "1"} | variables, capture_output=True, text=True
    )
    lines = done.stdout.splitlines()
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    if done.returncode:
        print(done.stdout[-20_000:] + done.stderr[-2000:], flush=True)
    return (lines or ["nothing was run"])[-1], failed, done.returncode == 0, time.perf_counter() - start


def main():
    table = personalities()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"personalities: {', '.join(table)}; all by default")
    parser.add_argument("--short", action="store_true", help=f"only {' and '.join(SHORT)}, on the most sensitive tests")
    parser.add_argument("--tests", nargs="+", help="other tests than the usual ones")
    parser.add_argument("--workers", type=int, default=2, help="processes at a time")
    options = parser.parse_args()
    unknown = set(options.names) - set(table)
    if unknown:
        parser.error(f"this machine cannot play {', '.join(sorted(unknown))}: choose from {', '.join(table)}")
    names = options.names or (SHORT if options.short else list(table))
    tests = options.tests or (SENSITIVE if options.short else NUMERIC)
    results = {name: run(name, table[name], tests, options.workers) for name in names}
    print(f"\n{'personality':<16}{'seconds':>8}  result")
    for name, (last, failed, _, seconds) in results.items():
        print(f"{name:<16}{seconds:>8.0f}  {last.strip('= ')}")
        print(*(f"{'':<26}{line}" for line in failed), sep="\n", end="\n" if failed else "")
    sys.exit(not all(good for _, _, good, _ in results.values()))


if __name__ == "__main__":
    main()
