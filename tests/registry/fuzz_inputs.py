"""Fuzz every estimator of the registry: `python tests/registry/fuzz_inputs.py [NAME …] [--cases GROUP …] [--all]`.

Every class is fitted to, and asked about, every case of `fuzz_cases`, by all its methods and entrances, in a child
process, with a time limit for each. A refusal in a sentence (a DidactError, ValueError or TypeError that somebody
raised on purpose) is right, and so is a finite answer. Counted are

* crash: the process died;
* hang: the limit of processor time was used up;
* silent: an answer with NaN or infinity, or probabilities that are none;
* raw: an error that nobody wrote for the user (LinAlgError, IndexError, a ValueError out of NumPy, …);
* changed: an input is not what it was.

What a class cannot do, with the reason, is "fuzz/case" in its `_test_skips`.
"""

# ruff: noqa: E402
import argparse
import contextlib
import faulthandler
import multiprocessing
import multiprocessing.forkserver
import os
import resource
import sys
import time
import traceback
import warnings
from collections import Counter, deque
from pathlib import Path
from typing import Any, NamedTuple

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import scipy.sparse as sp
from asked_methods import ask, entrances, questions
from fuzz_cases import CASES, Given, Plain
from registry_cases import all_instances, excuse, label, problem, takes
from sklearn.base import clone, is_classifier

import didact
from didact import Batches
from didact.core.errors import InputError

Work = tuple[Any, list[str]]  # a model and its cases
FIRST = "the first fit"
KINDS = ("crash", "hang", "silent", "raw", "changed")
SECONDS, WARM_SECONDS = 30.0, 300.0  # of processor time; a first fit may have to compile
MEMORY = 6 << 30
SLOW = ("shape/2 × 30,000", "shape/2 × 3,000")  # take long where they are right, so they are not in the sample
SENTENCES = ("could not convert string to float", "setting an array element with a sequence", "Complex data")
EXTREME = ("extreme", "new rows")  # cases whose values lie at the ends of the range of numbers
UNBOUNDED = (  # what is beyond all numbers is infinite
    *("decision_function", "score_samples", "score", "kneighbors", "kneighbors_graph", "transform"),
    *("inverse_transform", "signed_distances", "distortion", "aic", "bic", "predict_joint_log_proba"),
)
# Logarithms of nothing are −∞.
LOGARITHMS = ("predict_log_proba", "predict_joint_log_proba", "score_samples", "decision_function", "score")
INTERVALS = ("interval", "predict_interval")  # without degrees of freedom they have no ends


SOURCE = {str(f): f.read_text(encoding="utf-8").splitlines() for f in Path(didact.__file__).parent.rglob("*.py")}


class Finding(NamedTuple):
    """Something that should not be."""

    kind: str
    name: str
    case: str
    words: str


def plain(model: Any, seed: int = 0) -> Plain:
    """A small problem that suits the model."""
    X, y = problem(model, n=60, p=4, seed=seed)
    return Plain(X, y, is_classifier(model), np.random.default_rng(seed))


def faults(model: Any, case: str, seed: int = 0) -> list[tuple[str, str]]:
    """What is wrong when a model meets a case: kinds and words."""
    given = CASES[case](plain(model, seed))
    before = [fingerprint(part) for part in given]
    found = [*_run(clone(model), given, case.partition("/")[0] in EXTREME)]
    changed = [k for k, part, old in zip(Given._fields, given, before, strict=True) if fingerprint(part) != old]
    return found + [("changed", f"{', '.join(changed)} after the fit")] * bool(changed)


def _run(model: Any, given: Given, extreme: bool) -> Any:
    """Fit and ask; yields what is wrong."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            weights = {} if given.w is None or not takes(model, "sample_weight") else {"sample_weight": given.w}
            model.fit(given.X, given.y, **weights)
        except Exception as error:
            yield from _judged(error, "fit")
            return
        new = given.X if given.new is None else given.new
        asked = [(model, name) for name in questions(model)]
        asked += [(clone(model), name) for name in entrances(model) if given.new is None]
        for one, method in asked:
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                try:
                    answer = ask(one, method, new, given.y, given.w if given.new is None else None)
                    answer = list(answer) if isinstance(answer, Batches) else answer
                except Exception as error:
                    yield from _judged(error, method)
                    continue
            if not any(issubclass(w.category, UserWarning) for w in heard):  # else it is not silent
                yield from _looked_at(answer, method, extreme)


def _judged(error: Exception, where: str) -> Any:
    """An error is right if somebody raised it on purpose, as a type that users know."""
    *_, last = traceback.extract_tb(error.__traceback__)
    place = f"{last.filename.rpartition('site-packages/')[2].rpartition('src/')[2]}:{last.lineno}"
    ours = "didact" in last.filename or f"{os.sep}sklearn{os.sep}" in last.filename
    line = SOURCE[last.filename][last.lineno - 1] if last.filename in SOURCE else last.line
    purpose = ours and line.strip().startswith("raise")
    numerical = isinstance(error, np.linalg.LinAlgError) and not isinstance(error, InputError)
    known = isinstance(error, (ValueError, TypeError, ImportError)) and not numerical
    words = (str(error).splitlines() or [""])[0][:100]
    if not (known and (purpose or str(error).startswith(SENTENCES))):
        yield "raw", f"{where}: {type(error).__name__}: {words} ({place})"


def _looked_at(answer: Any, method: str, extreme: bool) -> Any:
    """Numbers have to be finite, and probabilities to be probabilities."""
    if isinstance(answer, (tuple, list)):
        for part in answer:
            yield from _looked_at(part, method, extreme)
        return
    values = answer.data if sp.issparse(answer) else np.asarray(answer)
    if values.dtype.kind not in "fc" or not values.size:
        return
    bad = np.isnan(values)
    if not (method in INTERVALS or (extreme and method.removesuffix("()") in UNBOUNDED)):
        bad |= values == np.inf if method in LOGARITHMS else np.isinf(values)
    if bad.any():
        yield "silent", f"{method}: {values[bad].flat[0]} in {int(bad.sum())} of {bad.size} numbers"
    elif method == "predict_proba" and values.ndim == 2:
        off = np.abs(values.sum(axis=1) - 1).max()
        if off > 1e-4 or values.min() < -1e-9:
            yield "silent", f"{method}: sums are off by {off:.3g}, the least is {values.min():.3g}"


def fingerprint(thing: Any) -> Any:
    """Something that is equal for equal data, bit by bit."""
    if sp.issparse(thing):
        parts = [getattr(thing, k, None) for k in ("data", "indices", "indptr", "row", "col", "offsets", "rows")]
        return thing.format, [fingerprint(part) for part in parts if isinstance(part, np.ndarray)]
    if isinstance(thing, np.ndarray):
        what = thing.tolist() if thing.dtype == object else np.ascontiguousarray(thing).tobytes()
        return thing.dtype.str, thing.shape, thing.strides, repr(what)
    with contextlib.suppress(Exception):
        return repr(thing.to_dict(orient="list") if hasattr(thing, "iloc") else thing.to_dict(as_series=False))
    return repr(thing)


# ------------------------------------------------------------------------------------------------ children


MODELS = all_instances()  # imported by the server, too: its children have them already
multiprocessing.set_forkserver_preload(["fuzz_inputs", "fuzz_files", "skops.io"])


def serve() -> None:
    """Start the server of processes with our path, which Python 3.11 does not hand on: it would import nothing."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    multiprocessing.forkserver.ensure_running()
    os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)


class Child:
    """A process that works through some models, each with its cases; another takes over what is left when it dies.

    It comes from a server that has imported everything and used nothing: threads of other libraries, as those of
    Polars, do not survive a fork.
    """

    way = "forkserver"

    def __init__(self, work: list[Work], seconds: float, first: float, note: Any = None):
        self.work = deque((model, list(cases)) for model, cases in work)
        self.seconds, self.first, self.note = seconds, first, note
        self.findings, self.noted = [], 0  # type: tuple[list[Finding], int]
        self.start()

    def start(self) -> None:
        """A new process for the cases that are left."""
        if self.way == "forkserver":
            serve()
        context = multiprocessing.get_context(self.way)
        self.pipe, end = context.Pipe()
        self.process = context.Process(target=_work, args=(list(self.work), end), daemon=True)
        self.process.start()
        end.close()
        self.current, self.spent, self.since = FIRST, 0.0, time.monotonic()

    def step(self) -> bool:
        """Take in what the process has to say; whether it is done."""
        try:
            while self.pipe.poll(0):
                self._hear(*self.pipe.recv())
                if not self.work:
                    self.process.join()
                    return True
        except (EOFError, OSError):
            self.process.join()
            return self._ended("crash", f"exit code {self.process.exitcode}")
        limit = self.first if self.current == FIRST else self.seconds
        if self._processor_time() - self.spent > limit or time.monotonic() - self.since > 10 * limit:
            self.process.kill()
            self.process.join()
            return self._ended("hang", f"more than {limit:.0f} s")
        return False

    def _hear(self, case: str, found: list[tuple[str, str]] | None) -> None:
        """A case begins (nothing found yet), a case has ended, or (no name) a model is done."""
        if case == "":
            self._next_model()
        elif found is None:
            self.current, self.spent, self.since = case, self._processor_time(), time.monotonic()
        else:
            model, left = self.work[0]
            left.remove(case)
            self.findings += [Finding(kind, name_of(model), case, words) for kind, words in found]

    def _next_model(self) -> None:
        model, _ = self.work.popleft()
        if self.note:
            self.note(name_of(model), self.findings[self.noted :])
        self.noted = len(self.findings)

    def _ended(self, kind: str, words: str) -> bool:
        model, left = self.work[0]
        self.findings.append(Finding(kind, name_of(model), self.current, words))
        if self.current in left:
            left.remove(self.current)
        if self.current == FIRST or not left:
            self._next_model()
        if self.work:
            self.start()
        return not self.work

    def _processor_time(self) -> float:
        try:
            with open(f"/proc/{self.process.pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, IndexError):
            return time.monotonic() - self.since


def name_of(model: Any) -> str:
    return label(model)[:60]


def _work(work: list[Work], pipe: Any) -> None:
    """The life of a child: for each model a first fit, then every case, each said before and after."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    faulthandler.disable()
    for model, cases in work:
        pipe.send((FIRST, None))
        for case in ("type/python numbers", "type/float32"):
            with contextlib.suppress(Exception):
                faults(model, case)
        for case in cases:
            pipe.send((case, None))
            pipe.send((case, faults(model, case)))
        pipe.send(("", None))


def fuzz(
    work: list[Work],
    jobs: int = 2,
    seconds: float = SECONDS,
    note: Any = None,
    first: float = WARM_SECONDS,
    each: int = 1,
) -> list[Finding]:
    """Everything that is wrong with some models, each with its cases; what a class excuses is left out.

    A process works through `each` models, so that few processes have to start.
    """
    asked = [(m, [case for case in cases if not excuse(m, f"fuzz/{case}")]) for m, cases in work]
    asked = [(model, cases) for model, cases in asked if cases]
    waiting = [asked[k : k + each] for k in range(0, len(asked), each)][::-1]
    running, found = [], []  # type: tuple[list[Child], list[Finding]]
    while waiting or running:
        while waiting and len(running) < jobs:
            running.append(Child(waiting.pop(), seconds, first, note))
        for child in [child for child in running if child.step()]:
            running.remove(child)
            found += child.findings
        time.sleep(0.01)
    return found


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="classes; all if there are none")
    parser.add_argument(
        "--cases", nargs="*", default=[], help="groups or names of cases, such as sparse or 'type/bool'"
    )
    parser.add_argument("--all", action="store_true", help="all parameter sets of the tests, not the defaults alone")
    parser.add_argument("--quick", action="store_true", help="without the cases that may take long")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="processor time for one case")
    asked = parser.parse_args()
    models = {label(m): m for m in (*(type(m)() for m in MODELS), *(MODELS if asked.all else []))}
    models = {k: m for k, m in models.items() if not asked.names or type(m).__name__ in asked.names}
    cases = [c for c in CASES if c not in (SLOW if asked.quick else ())]
    cases = [c for c in cases if not asked.cases or c in asked.cases or c.partition("/")[0] in asked.cases]
    print(
        f"{len(models)} models, {len(cases)} cases each\n{'model':60s}{''.join(f'{k:>9s}' for k in KINDS)}", flush=True
    )

    def note(name: str, findings: list[Finding]) -> None:
        counts = Counter(f.kind for f in findings)
        print(f"{name:60s}{''.join(f'{counts[k] or chr(183):>9}' for k in KINDS)}", flush=True)
        for f in findings:
            print(f"    {f.kind}: {f.case}: {f.words}", flush=True)

    found = fuzz([(m, cases) for m in models.values()], asked.jobs, asked.seconds, note)
    counts = Counter(f.kind for f in found)
    print(f"{'in all':60s}{''.join(f'{counts[k]:9d}' for k in KINDS)}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
