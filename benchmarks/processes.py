"""The processes that are measured: one library in each, long-lived or fresh; and one that is merely busy."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.answers import US, Record

ROOT = Path(__file__).parent.parent
BENCH_PYTHON = ROOT / ".venv-bench" / "bin" / "python"
FIT_LIMIT = 60.0  # seconds; a slower fit is cut off and reported as such
PAUSE = 0.1  # seconds between fits, for the threads of the last library to fall asleep


@dataclass(frozen=True)
class Fit:
    """A way to fit: the class by its full name, its parameters, and a short label for the report."""

    path: str
    options: dict[str, Any] = field(default_factory=dict)
    label: str = "default"


def python(library: str) -> str:
    return sys.executable if library == US else str(BENCH_PYTHON)


def once(library: str, *arguments: str, limit: float = 4 * FIT_LIMIT) -> Record:
    """One measurement in a fresh process."""
    command = [python(library), "-m", "benchmarks.worker", *arguments]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"error": f"over {limit:.0f} s"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["died"])[-1][:200]}
    return json.loads(done.stdout.splitlines()[-1])


class Worker:
    """A long-lived process of one library; started on demand, and again after it was cut off or died."""

    def __init__(self, library: str):
        self.library = library
        self.process: subprocess.Popen[bytes] | None = None

    def fit(self, fit: Fit, folder: Path, keep: bool) -> Record:
        request = {"path": fit.path, "options": fit.options, "folder": str(folder), "keep": keep}
        if self.process is None:
            command = [python(self.library), "-m", "benchmarks.worker", "serve"]
            self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        reply = self.read_line(time.monotonic() + 1.5 * FIT_LIMIT)  # the half is for loading
        if not reply.endswith(b"\n"):
            died = self.process.poll() is not None or reply == b""
            self.close()
            return {"error": "the process died" if died else f"over {FIT_LIMIT:.0f} s"}
        time.sleep(PAUSE)
        return json.loads(reply)

    def read_line(self, deadline: float) -> bytes:
        """The reply; what there is of it when the time is up (at least a space) or the process has ended."""
        assert self.process is not None
        assert self.process.stdout is not None
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return line + b" "
            piece = os.read(self.process.stdout.fileno(), 1 << 20)
            if not piece:
                return b""
            line += piece
        return line

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def lines_on_threads(threads: int, module: str, *arguments: str) -> Iterator[Any]:
    """What a fresh process of this Python prints as JSON, line by line; BLAS and OpenMP have so many threads in it."""
    many = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    path = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    call = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        env=os.environ | many | {"PYTHONPATH": path}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    for line in call.stdout or ():
        if line.startswith("{"):
            yield json.loads(line)


def cpu_name() -> str:
    """The processor's name for itself."""
    return Path("/proc/cpuinfo").read_text().partition("model name\t: ")[2].partition("\n")[0] or "unknown"


@contextmanager
def busy_process() -> Iterator[None]:
    """Another process that keeps a core busy, pinned to none."""
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        other.kill()
        other.wait()
