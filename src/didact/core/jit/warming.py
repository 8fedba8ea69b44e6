"""Compiling ahead, on all cores: each process takes one file of loops after the other and runs its `warm()`.

What is compiled here is meant for the baseline CPU, which is also what wheels carry, where this machine is at least
that; with `native`, for this very CPU.
"""

import importlib
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from didact.core.jit import entries
from didact.core.jit.disk_cache import BASELINE, cache_folder, folder_name, has_baseline, runtime
from didact.core.jit.sources import PACKAGE, reached

WarmReport = Callable[[int, int, float], None]  # (files done, files in all, seconds left)


def warm(*chapters: str, native: bool = False, jobs: int | None = None, report: WarmReport | None = None) -> int:
    """Compile the loops of some chapters, or of all, ahead of time, and keep the code; the number of files of loops.

    What has been compiled before, or came with the wheel, is not compiled again.

    Parameters
    ----------
    *chapters : str
        Packages of didact, as "tree" or "linear_model"; all by default.
    native : bool
        Compile for this very CPU instead of for x86-64-v3.
    jobs : int or None
        Processes; by default as many as there are cores.
    report : callable or None
        Called as report(done, total, seconds_left) after each file of loops.

    Examples
    --------
    >>> import didact
    >>> didact.warm("datasets")  # it has no loops
    0
    """
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs must be a whole number of at least 1, not {jobs!r}.")
    waiting: queue.SimpleQueue[Path] = queue.SimpleQueue()
    files = loops_of(chapters)
    for file in files:
        waiting.put(file)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = _Count(sum(map(_weight, files)), len(files), report)
    team = [_Worker(waiting, count, native) for _ in range(min(jobs or cores, len(files)))]
    for worker in team:
        worker.start()
    try:
        for worker in team:
            worker.join()
    finally:
        for worker in team:
            worker.stop()
    if failed := [worker.fault for worker in team if worker.fault]:
        raise RuntimeError(f"Compiling ahead has failed: {failed[0]}")
    return len(files)


def loops_of(chapters: tuple[str, ...]) -> list[Path]:
    """The files of loops that some chapters use, or all; those that take longest first."""
    known = {file.parent.name for file in PACKAGE.glob("*/__init__.py")} - {"core"}
    if unknown := sorted(set(chapters) - known):
        from didact.core.errors import ParameterError

        raise ParameterError(f"{unknown[0]!r} is no chapter of didact; there are {', '.join(sorted(known))}.")
    found = [file for file in _reached_loops(chapters) if "def warm(" in file.read_text("utf-8")]
    return sorted(found, key=lambda file: (-_weight(file), file))


def _reached_loops(chapters: tuple[str, ...]) -> list[Path]:
    """All files of loops that some chapters use, also those that are compiled by the warming of others."""
    roots = [PACKAGE / chapter for chapter in chapters] or [PACKAGE]
    files = reached(sorted(file for root in roots for file in root.rglob("*.py")))
    return [file for file in files if file.name.endswith("_loops.py")]


def _weight(file: Path) -> int:
    """How long a file takes to compile, about: the length of the loops that it has and calls."""
    return sum(source.stat().st_size for source in reached([file]) if source.name.endswith("_loops.py"))


class _Count:
    """Counts the files that are done, and knows how long the others will take."""

    def __init__(self, weight: int, total: int, report: WarmReport | None) -> None:
        self.weight, self.total, self.report = weight, total, report
        self.done = self.done_weight = 0
        self.began, self.lock = time.monotonic(), threading.Lock()

    def __call__(self, file: Path) -> None:
        with self.lock:
            self.done, self.done_weight = self.done + 1, self.done_weight + _weight(file)
            spent = time.monotonic() - self.began
            if self.report is not None:
                self.report(self.done, self.total, spent * (self.weight - self.done_weight) / self.done_weight)


class _Worker(threading.Thread):
    """A process of its own, which is told one file after the other; a plain subprocess needs no guard in scripts."""

    def __init__(self, waiting: "queue.SimpleQueue[Path]", count: _Count, native: bool) -> None:
        super().__init__(daemon=True)
        self.waiting, self.count, self.fault = waiting, count, ""
        code = f"import sys; sys.path[:] = {sys.path!r}; from didact.core.jit.warming import work; work()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | target_settings(native) | {"OMP_NUM_THREADS": "1", "DIDACT_QUIET": "1"},
        )

    def run(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        while not self.fault:
            try:
                file = self.waiting.get_nowait()
            except queue.Empty:
                return
            name = ".".join(("didact", *file.relative_to(PACKAGE).with_suffix("").parts))
            try:
                self.process.stdin.write(f"{name}\n")
                self.process.stdin.flush()
            except OSError:  # it has ended; it says why below
                pass
            if self.process.stdout.readline().strip() != name:
                words = self.process.stderr.read().strip().splitlines()
                self.fault = f"{name}: {words[-1] if words else 'the process has ended'}"
                return
            self.count(file)

    def stop(self) -> None:
        """End the process."""
        if not self.is_alive() and not self.fault:
            self.process.communicate()
        else:
            self.process.kill()
            self.process.wait()


def work() -> None:
    """What such a process does: import the modules that are named on the standard input and call their `warm()`."""
    answer, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        importlib.import_module(line.strip()).warm()
        answer.write(line)
        answer.flush()


def target_settings(native: bool) -> dict[str, str]:
    """The environment in which Numba compiles for the baseline, or for this CPU; nothing if the user has named one."""
    if native:
        return {"DIDACT_NATIVE": "1"}  # what is there for the baseline does not count
    if "NUMBA_CPU_NAME" in os.environ or not has_baseline():
        return {}
    return {"NUMBA_CPU_NAME": BASELINE, "NUMBA_CPU_FEATURES": ""}


def pack_entries(target: Path, chapters: tuple[str, ...] = ()) -> int:
    """Copy the baseline's entries of the present sources into a folder, as a wheel carries them; their number."""
    count = 0
    for file in _reached_loops(chapters):
        folder = cache_folder(str(file))
        for entry in sorted(folder.glob(f"*{entries.ENDING}")) if folder else ():
            key = entries.key_of(entry)
            if key is not None and _fits_here(key):
                place = target / folder_name(str(file))
                place.mkdir(parents=True, exist_ok=True)
                (place / entry.name).write_bytes(entry.read_bytes())
                count += 1
    return count


def _fits_here(key: str) -> bool:
    """Whether an entry is for the baseline, this Python and this Numba."""
    target, needs, *_ = key.split("\n")
    return target.split(" ")[1] == BASELINE and needs == runtime()
