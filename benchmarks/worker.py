"""One library in a process of its own: ``python -m benchmarks.worker serve|cold|memory|import``.

``serve`` answers one JSON request a line (fit this class on that folder) for as long as its input is open; ``cold``,
``memory`` and ``import`` measure once in a fresh process. Nothing heavy is imported before a timer runs.
"""

import gc
import importlib
import json
import os
import resource
import sys
import time
import warnings
from pathlib import Path
from typing import Any


def find(path: str) -> Any:
    module, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(module), name)


def resident(field: str = "VmRSS") -> int:
    """Bytes resident now (VmRSS) or at the most so far (VmHWM) in this process."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return 1024 * int(line.split()[1])


def timed_fit(cls: Any, options: dict[str, Any], X: Any, y: Any) -> tuple[Any, float]:
    model = cls(**options)
    if hasattr(model, "prepare"):
        model.prepare(X, y)
    gc.collect()
    start = time.perf_counter()
    model.fit(X, y)
    return model, time.perf_counter() - start


def score(model: Any, X: Any, y: Any) -> dict[str, float]:
    """The share of classes that are right, or R², on rows held out, and the seconds to predict them (a median)."""
    import numpy as np

    seconds: list[float] = []
    while len(seconds) < 3 and sum(seconds) < 1:
        start = time.perf_counter()
        predicted = model.predict(X)
        seconds.append(time.perf_counter() - start)
    predicted = np.asarray(predicted)
    right = np.mean(predicted == y) if y.dtype.kind == "i" else 1 - np.mean((predicted - y) ** 2) / np.var(y)
    found = {"score": float(right), "predict": float(np.median(seconds)), "first": seconds[0]}
    return found | ({"kept": model.kept_} if hasattr(model, "kept_") else {})


def answer(model: Any) -> dict[str, Any]:
    import numpy as np

    if hasattr(model, "answer_"):
        return {name: np.asarray(value).tolist() for name, value in model.answer_.items()}
    found = {"coef": np.asarray(model.coef_).tolist(), "intercept": np.asarray(model.intercept_).tolist()}
    if hasattr(model, "alpha_"):
        found["alpha"] = float(model.alpha_)
    if hasattr(model, "n_iter_") and model.n_iter_ is not None:
        found["n_iter"] = int(np.max(model.n_iter_))
    return found


def serve_fit(held: dict[str, Any], path: str, options: dict[str, Any], folder: str, keep: bool) -> dict[str, Any]:
    """One fit; the data stay loaded for the next one only where memory allows it (``keep``)."""
    from benchmarks.data import held_out, load

    if folder not in held:
        held.clear()
        test = held_out(Path(folder))
        held[folder] = load(Path(folder)), load(test) if test.exists() else None
    try:
        fitted, test = held[folder]
        model, seconds = timed_fit(find(path), options, *fitted)
        return {"seconds": seconds, "answer": score(model, *test) if test else answer(model)}
    finally:
        if not keep:
            held.clear()


def serve() -> None:
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints goes to the error stream
    held: dict[str, Any] = {}
    for line in sys.stdin:
        try:
            reply = serve_fit(held, **json.loads(line))
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def cold(path: str, options: dict[str, Any], folder: str) -> dict[str, float]:
    """What the first fit of a new process costs beyond a warm one: imports, loading compiled code, starting threads."""
    start = time.perf_counter()
    cls = find(path)
    imports = time.perf_counter() - start
    from benchmarks.data import load

    X, y = load(Path(folder))
    first, *later = (timed_fit(cls, options, X, y)[1] for _ in range(3))
    return {"import": imports, "first": first, "warm": min(later)}


def memory(path: str, options: dict[str, Any], folder: str) -> dict[str, int]:
    """Peak resident bytes of loading and fitting, above the imports (those that a first, tiny fit brings included)."""
    from benchmarks.data import load

    cls = find(path)
    timed_fit(cls, options, *load(Path(folder), rows=2000))
    gc.collect()
    before = resident()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts afresh here
    X, y = load(Path(folder))
    timed_fit(cls, options, X, y)
    return {"bytes": resident("VmHWM") - before}


def import_time(module: str) -> dict[str, float]:
    start = time.perf_counter()
    importlib.import_module(module)
    return {"seconds": time.perf_counter() - start}


if __name__ == "__main__":
    most = int(0.8 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))  # a MemoryError, not the death of the machine
    task = sys.argv[1]
    if task == "import":
        print(json.dumps(import_time(sys.argv[2])))
    else:
        warnings.simplefilter("ignore")  # the answers are checked, whatever a library says of its convergence
        if task == "serve":
            serve()
        else:
            print(json.dumps({"cold": cold, "memory": memory}[task](**json.loads(sys.argv[2]))))
