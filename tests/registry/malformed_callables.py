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
from registry_cases import all_instances, problem
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
    "joint": None, "model": None, "ensemble": None, "figure": None,
    "decision_tree": None, "stats": None, "noise": np.eye(N), "init": None, "classes": None, "options": {},
}  # fmt: skip


SOME = ("csr, edge far beyond", "csc, negative index")
FUNCTIONS = (
    "affinity",
    "connectivity",
    "fun",
    "function",
    "grad",
    "hess",
    "init",
    "jac",
    "kernel",
    "metric",
    "optimizer",
)


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
        with warnings.catch_warnings(), np.errstate(all="ignore"):
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
        inside = pkgutil.walk_packages(getattr(thing, "__path__", []), f"didact.{name}.")
        for module in (thing, *(importlib.import_module(info.name) for info in inside)):
            parts = [getattr(module, public) for public in getattr(module, "__all__", ())]
            for part in filter(inspect.ismodule, [*parts]):
                parts += [f for f in vars(part).values() if inspect.isfunction(f) and f.__module__ == part.__name__]
            for part in (p for p in parts if callable(p) and getattr(p, "__name__", "_")[0] != "_"):
                if (getattr(part, "__module__", None) or "").startswith("didact."):
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
        if not (inspect.isclass(thing) and issubclass(thing, BaseEstimator)):
            names, needed = arguments(thing)
            for argument in names:
                made = lambda f=thing, g=needed: (f, g)
                yield Call(name, made, argument, tuple(BAD))
                if argument in FUNCTIONS:
                    yield Call(f"{name}, returned", made, argument, SOME, returned=True)


def of_nouns() -> Iterator[Call]:
    """Kernels on rows, and all that can be asked of distributions."""
    for name, thing in offered().items():
        if not (inspect.isclass(thing) and issubclass(thing, (Kernel, Distribution))):
            continue
        try:
            noun = thing(**arguments(thing)[1])
        except Exception:
            continue
        inner = {name for name in dir(Kernel) if name != "__call__"} if isinstance(noun, Kernel) else {"__call__"}
        for method in dir(noun):
            if method in inner or not inspect.isfunction(inspect.getattr_static(thing, method)):
                continue
            if method == "__call__" or not method.startswith("_"):
                function = getattr(noun, method)
                names, needed = arguments(function)
                for argument in names if isinstance(noun, Distribution) or "X" in names else ():
                    yield Call(f"{name}.{method}", lambda f=function, g=needed: (f, g), argument, tuple(BAD))


def of_methods() -> Iterator[Call]:
    """All methods of models, those that fit and, of the models in the files that are kept of each kind, the others."""
    fits = ("fit", "partial_fit", "fit_predict", "fit_transform", "fit_resample")
    models = {type(model).__name__: model for model in reversed(all_instances())}
    for k, (kind, model) in enumerate(sorted(models.items())):
        X, y = problem(model, n=60)
        yield from _of_parameters(model, X, y)
        fitted = didact.load(KEPT / f"{kind}-2.didact")
        for method in dir(fitted):
            function = getattr(fitted, method) if method[0] != "_" and not hasattr(BaseEstimator, method) else None
            if not inspect.ismethod(function) or method.startswith("set_"):
                continue
            names, needed = arguments(function)
            wide = method == "inverse_transform" and getattr(fitted, "_n_features_out", 0)
            rows = np.resize(X, (len(X), wide or X.shape[1]))
            given = needed | {name: value for name, value in (("X", rows), ("y", y)) if name in needed}
            asked = clone(model) if method in fits else fitted
            for argument in names:
                chosen = np.take([*BAD], np.arange(k, k + (4 if argument == "X" else 1)), mode="wrap")
                made = lambda m=asked, n=method, g=given: (getattr(m, n), g)
                yield Call(f"{kind}.{method}", made, argument, tuple(chosen), rows.shape)


def _of_parameters(model: Any, X: Any, y: Any) -> Iterator[Call]:
    """The parameters of a model that let a matrix pass, or a function that may return one."""
    for name in model.get_params(deep=False):
        for returned, value in ((False, sp.csr_array(TABLE)), (True, lambda *rows: None)):
            allowed = {name: model._parameter_constraints.get(name, [])}
            with contextlib.suppress(InvalidParameterError):
                validate_parameter_constraints(allowed, {name: value}, "")
                if not returned or name in FUNCTIONS:
                    fit = lambda m=model, **new: clone(m).set_params(**new).fit(X, y)
                    how = f"{type(model).__name__}, {name}{', returned' * returned}"
                    for shape in ((60, 60), (3, X.shape[1])) if returned else ((3, X.shape[1]),):
                        yield Call(how, lambda f=fit: (f, {}), name, SOME, shape, returned)


def calls() -> Iterator[Call]:
    """All of them, in an order that stays."""
    yield from of_functions()
    yield from of_nouns()
    yield from of_methods()


# ------------------------------------------------------------------------------------------------ children


def main(first: int) -> None:
    """Make the calls from number `first` on, and write what is wrong."""
    for k, call in enumerate(calls()):
        if k >= first:
            print(f"{k} {call.name}({call.argument})", flush=True)
            for fault in call.faults():
                print(f"wrong: {call.name}({call.argument}): {fault}", flush=True)


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
