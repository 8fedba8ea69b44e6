"""Malformed sparse matrices for all public callables: `python tests/registry/malformed_callables.py [FIRST]`.

Every function, noun and method of a model that didact's modules offer in `__all__` gets matrices whose indices lead
outside their memory, in the place of each argument: by themselves, and as what a function returns. All this happens in
a process of its own, which says each call before it makes it: the last line of one that died names what killed it.

Right is an error that says so, a refusal of any kind where a sound matrix is refused, too, and an answer where nobody
looks at the argument (any object at all will do).
"""

# ruff: noqa: E402
import contextlib
import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ |= {"SCIPY_ARRAY_API": "1", "MPLBACKEND": "agg"}

import numpy as np
import scipy.sparse as sp
from fuzz_cases import altered, put
from registry_cases import all_instances, label, problem
from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import InvalidParameterError, validate_parameter_constraints

import didact
from didact.distributions.base import Distribution
from didact.kernels import Kernel

INNER = ("core", "engines", "cli", "accelerate")  # not what a user calls, or another library's
KEPT = Path(__file__).parents[1] / "core" / "files" / "kept"
N = 12
TABLE = np.abs(np.subtract.outer(np.arange(N), np.arange(N))) % 4 + 0.0  # rows, distances, a graph: all in one
ONES = np.ones(N)

FAULTS = (
    ("edge far beyond", "indptr", lambda e: put(e, 2, 10**8)),
    ("last edge beyond", "indptr", lambda e: put(e, -1, 10**8)),
    ("falling edges", "indptr", lambda e: put(e, 1, e[-1] + 1)),
    ("negative index", "indices", lambda i: put(i, 2, -(10**8))),
    ("index far beyond", "indices", lambda i: put(i, 2, 10**8)),
)
IN_TRIPLES = (
    ("negative row", "row", lambda i: put(i, 2, -(10**8))),
    ("column far beyond", "col", lambda i: put(i, 2, 10**8)),
)
BAD = {f"csr, {name}": altered(part, change, sp.csr_array) for name, part, change in FAULTS}
BAD |= {f"csc, {name}": altered(part, change, sp.csc_matrix) for name, part, change in FAULTS}
BAD |= {f"coo, {name}": altered(part, change, sp.coo_array) for name, part, change in IN_TRIPLES}

GIVEN: dict[str, Any] = {  # what stands in the other places, by the name of an argument
    "X": TABLE, "x": ONES, "x0": ONES, "y": np.arange(N) % 2.0, "X_embedded": TABLE, "Z": TABLE, "P": np.eye(N),
    "q": ONES, "c": ONES, "a": 1.5, "b": 2.5, "A": ["a", "b"], "K": TABLE, "adjacency": TABLE, "affinity": TABLE,
    "dissimilarities": TABLE, "matrix": np.eye(N), "coef": ONES, "actual": ONES, "predicted": ONES, "values": ONES,
    "sample_weight": ONES, "n": 3, "p": 0.5, "rate": 1.0, "shape": 2.0, "scale": 1.0, "location": 0.0, "strength": 1.0,
    "dof": 3.0, "mean": 0.0, "variance": 1.0, "low": 0.0, "high": 1.0, "alpha": 0.5, "kernel": didact.kernels.RBF(),
    "left": didact.kernels.RBF(), "right": didact.kernels.Linear(), "factor": 2.0, "exponent": 2,
    "function": lambda X: np.ones(X.shape[0]), "fun": lambda x: float(np.sum(x**2)), "grad": lambda x: 2 * x,
    "gradient": ONES, "multipliers": None, "n_clusters": 2, "n_components": 1, "n_neighbors": 2, "n_classes": 3,
    "radius": 1.0, "numbers": [1, 2], "bin_size": 1.0, "noise_variance": 1.0, "columns": [0], "distance": None,
    "weights": ONES, "metric": "euclidean", "categorical": ONES > 0, "root": np.eye(N), "centre": ONES, "whole": 1.0,
    "of": None, "kind": "one-vs-rest", "dimensions": 2, "step": 1.0, "family": "poisson", "link": "log",
    "given": "squared_error", "hypotheses": [0.2, 0.8], "prior": [0.5, 0.5], "likelihood": lambda x, h: h, "data": [1],
    "names": ["a"] * N, "name": "a", "unit": "", "counts": np.eye(2), "false_positive": ONES, "true_positive": ONES,
    "area": 0.5, "positive": "a", "scores": [[1.0]] * N, "best": "a", "measure": "a", "rows": ["a"] * N,
    "paths": {"a": np.ones((3, 2))}, "covariance": np.eye(N), "arguments": None, "source": TABLE, "theta": None,
    "stats": None, "noise": np.eye(N), "init": None, "classes": None, "options": {},
}  # fmt: skip


class Call(NamedTuple):
    """Something to call with one of its arguments replaced."""

    name: str
    made: Any  # () → the callable and its arguments by name
    argument: str
    kinds: tuple[str, ...]  # of matrices
    shape: tuple[int, int] = (N, N)
    returned: bool = False  # whether a function that returns the matrix is given, and not the matrix

    def outcome(self, value: Any) -> str:
        """What comes of it: "answered", "malformed" (an error that says so), or other words."""
        with contextlib.redirect_stdout(None), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                function, given = self.made()
                found = function(**given | {self.argument: (lambda *a, **k: value) if self.returned else value})
                if inspect.isgenerator(found):
                    next(found, None)
            except Exception as error:
                return "malformed" if "malformed sparse" in str(error) else f"{type(error).__name__}: {error}"[:150]
            return "answered"

    def faults(self) -> Iterator[str]:
        """What is wrong with the outcomes."""
        rows = np.resize(TABLE, self.shape)
        for kind in self.kinds:
            if (said := self.outcome(BAD[kind](rows))) == "malformed":
                continue
            if said == "answered" and self.outcome(object()) != "answered":
                yield f"{kind}: answered"
            elif said != "answered" and self.outcome(sp.csr_array(rows)) == "answered":
                yield f"{kind}: {said}"


# ------------------------------------------------------------------------------------------------ what there is


def offered() -> dict[str, Any]:
    """Everything of our own that public modules offer, by full name."""
    found: dict[str, Any] = {}
    for name in sorted(set(didact.__all__) - set(INNER)):
        thing = getattr(didact, name)
        below = getattr(thing, "__path__", [])
        modules = [thing, *(importlib.import_module(i.name) for i in pkgutil.walk_packages(below, f"didact.{name}."))]
        for module in modules:
            for part in (getattr(module, public) for public in getattr(module, "__all__", ())):
                if callable(part) and str(getattr(part, "__module__", "")).startswith("didact."):
                    found[f"{part.__module__}.{part.__qualname__}".removeprefix("didact.")] = part
    return found


def arguments(function: Any) -> tuple[list[str], dict[str, Any]]:
    """The names of all arguments, and what is given for those that are needed."""
    listed = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    named = [p for p in listed if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return [p.name for p in named], {p.name: GIVEN.get(p.name, 1.0) for p in named if p.default is p.empty}


def of_functions() -> Iterator[Call]:
    """Functions and constructors of nouns, every argument."""
    for name, thing in offered().items():
        if inspect.isclass(thing) and issubclass(thing, BaseEstimator):
            continue
        names, needed = arguments(thing)
        for argument in names:
            made = lambda f=thing, g=needed: (f, g)
            yield Call(name, made, argument, tuple(BAD))
            yield Call(
                f"{name}, returned", made, argument, ("csr, edge far beyond", "csc, negative index"), returned=True
            )


def of_nouns() -> Iterator[Call]:
    """Kernels on rows, and all that can be asked of distributions."""
    for name, thing in offered().items():
        if not (inspect.isclass(thing) and issubclass(thing, (Kernel, Distribution))):
            continue
        try:
            noun = thing(**arguments(thing)[1])
        except Exception:
            continue
        for method in dir(noun):
            theirs = getattr(Kernel, method, None) if isinstance(noun, Kernel) else None
            if method == "__call__" or not (method.startswith("_") or theirs or hasattr(tuple, method)):
                if inspect.isfunction(inspect.getattr_static(thing, method)):
                    function = getattr(noun, method)
                    names, needed = arguments(function)
                    for argument in names:
                        yield Call(f"{name}.{method}", lambda f=function, g=needed: (f, g), argument, tuple(BAD))


def of_fits() -> Iterator[Call]:
    """Everything that a fit takes, and parameters that let a matrix, or a function, pass."""
    kinds = tuple(BAD)
    for k, model in enumerate(all_instances()):
        X, y = problem(model, n=60)
        for method in ("fit", "partial_fit", "fit_predict", "fit_transform"):
            if hasattr(model, method):
                names, needed = arguments(getattr(model, method))
                for argument in (a for a in names if a not in ("check_input",)):
                    made = (
                        lambda m=model, n=method, g={"X": X, "y": y} | {a: v for a, v in needed.items() if a not in "Xy"}: (
                            getattr(clone(m), n),
                            g,
                        )
                    )
                    chosen = [kinds[(k + j) % len(kinds)] for j in range(4 if argument == "X" else 1)]
                    yield Call(f"{label(model)}.{method}", made, argument, tuple(chosen), X.shape)
        yield from _of_parameters(model, X, y)


def _of_parameters(model: Any, X: Any, y: Any) -> Iterator[Call]:
    values = {False: sp.csr_array(TABLE), True: lambda *rows: None}
    for name in model.get_params(deep=False):
        for returned, value in values.items():
            constraints = {name: type(model)._parameter_constraints.get(name, [])}
            try:
                validate_parameter_constraints(constraints, {name: value}, "")
            except InvalidParameterError:
                continue
            made = lambda m=model, n=name: (lambda **p: clone(m).set_params(**p).fit(X, y), {})
            for shape in ((60, 60), (3, 5)):
                kinds = ("csr, edge far beyond", "csc, negative index")
                yield Call(f"{label(model)}, {name}{', returned' * returned}", made, name, kinds, shape, returned)


def of_methods() -> Iterator[Call]:
    """All methods of fitted models, from the files that are kept of each kind."""
    base = {*dir(BaseEstimator), "fit", "partial_fit", "fit_predict", "fit_transform", "fit_resample"}
    kinds = tuple(BAD)
    models = {type(model).__name__: model for model in all_instances()}
    for k, path in enumerate(sorted(KEPT.glob("*-2.didact"))):
        model = didact.load(path)
        X, y = problem(models[path.stem.partition("-")[0]], n=60)
        for method in (m for m in dir(model) if not (m.startswith(("_", "set_")) or m in base)):
            function = getattr(model, method)
            if not inspect.ismethod(function) or isinstance(getattr(function, "__self__", None), type):
                continue
            names, needed = arguments(function)
            width = X.shape[1]
            if method == "inverse_transform":
                with contextlib.suppress(Exception):
                    width = model.transform(X).shape[1]
            here = {"X": X[:, :width], "y": y} | {a: v for a, v in needed.items() if a not in "Xy"}
            here = {a: v for a, v in here.items() if a in needed}
            for argument in names:
                chosen = [kinds[(k + j) % len(kinds)] for j in range(4 if argument == "X" else 1)]
                made = lambda f=function, g=here: (f, g)
                yield Call(f"{type(model).__name__}.{method}", made, argument, tuple(chosen), (60, width))


def calls() -> Iterator[Call]:
    yield from of_functions()
    yield from of_nouns()
    yield from of_fits()
    yield from of_methods()


# ------------------------------------------------------------------------------------------------ children


def main(first: int) -> None:
    """Make the calls from number `first` on, and write what is wrong."""
    out = sys.stdout
    import time

    for k, call in enumerate(calls()):
        if k >= first:
            print(f"{k} {call.name}({call.argument})", file=out, flush=True)
            t = time.perf_counter()
            for fault in call.faults():
                print(f"wrong: {call.name}({call.argument}): {fault}", file=out, flush=True)
            if (t := time.perf_counter() - t) > 0.3:
                print("slow", t, call.name, call.argument, file=sys.stderr)


def wrong() -> tuple[int, list[str]]:
    """How many calls there are, and what is wrong with them; a process that dies is followed by another."""
    first, found = 0, []  # type: tuple[int, list[str]]
    while True:
        ended = subprocess.run([sys.executable, __file__, str(first)], capture_output=True, text=True)
        lines = [line for line in ended.stdout.splitlines() if line]
        found += [line for line in lines if line.startswith("wrong: ")]
        number, _, name = [line for line in lines if line[0].isdigit()][-1].partition(" ")
        if ended.returncode == 0:
            return int(number) + 1, found
        found.append(f"crash: {name}: exit code {ended.returncode}: {ended.stderr.strip()[-200:]}")
        first = int(number) + 1


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
