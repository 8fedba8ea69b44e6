"""Chapter ``alone``: what one thread does by itself in the rows of ``scaling``, and which gains that leaves room for.

``python -m benchmarks alone [--rows 0.05] [--only NAME]`` needs no machine with many cores. Every row runs on one
thread, cut into pieces as for sixteen, and each piece is clocked: whatever is outside of pieces is done by one thread
alone, and pieces that are few or unequal leave threads without work. The bound is the time of one thread ÷ that of
sixteen which take the pieces in their order and cost nothing themselves; no memory is shared between pieces then.

Threads that share a board of tasks inside compiled code (trees, support vectors, t-SNE, linkage) are one call here;
its tasks are not clocked, and it is counted as if all threads had an equal part of it. Where matrices are left to
BLAS, its threads would take part in what is alone here.
"""

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from benchmarks.processes import cpu_name, lines_on_threads
from benchmarks.scaling import HERE, TABLES, US, kept_table, made_model, wanted
from benchmarks.scaling_rows import ROWS, Row

THREADS = 16
ROUNDS = 2
IDLE = 0.02  # of the longest piece: a call that came to a board of tasks when nothing was left; so did half of them


class Round(NamedTuple):
    """Pieces that threads may share: the whole time, and that of each piece."""

    seconds: float
    pieces: list[float]

    def shared(self) -> float:
        """The time of all threads together, each of which takes the next piece when it has done one."""
        if 2 * sum(piece < IDLE * max(self.pieces) for piece in self.pieces) >= len(self.pieces):
            return self.seconds / THREADS
        busy = [0.0] * THREADS
        for piece in self.pieces:
            busy[busy.index(min(busy))] += piece
        return max(busy)


class Clocked:
    """The functions of the pool, on one thread that says it is one of sixteen, with a clock around each piece."""

    def __init__(self) -> None:
        from didact.core import threads

        self.pool, self.state, self.rounds = threads, threads._state, list[Round]()

    def inside(self) -> bool:
        """Whether this is a call from a piece of work, which runs by itself."""
        return bool(getattr(self.state, "serial", False))

    def count(self) -> int:
        """In place of `thread_count`."""
        return 1 if self.inside() else THREADS

    def map(self, fn: Callable[[Any], Any], items: Iterable[Any], left: Any = None) -> list[Any]:
        """In place of `parallel_map`."""
        items = list(items)
        if self.inside() or len(items) < 2:
            return [fn(item) for item in items]
        results, pieces, start = [], [], time.perf_counter()
        with self.pool.serial():
            for item in items:
                before = time.perf_counter()
                results.append(fn(item))
                pieces.append(time.perf_counter() - before)
        self.rounds.append(Round(time.perf_counter() - start, pieces))
        return results

    def share(self, pieces: int, loop: Callable[[Any], Any]) -> None:
        """In place of `share_pieces`."""
        import numpy as np

        turn, start, inside = np.array([0, self.pool.PIECES_AT_ONCE]), time.perf_counter(), self.inside()
        with self.pool.serial():
            while turn[0] < max(pieces, 1):
                loop(turn)
        if pieces > 1 and not inside:  # equal parts, as compiled code takes them without a clock
            seconds = time.perf_counter() - start
            self.rounds.append(Round(seconds, [seconds / pieces] * pieces))

    def enter(self) -> None:
        """Stand in place of the pool's functions wherever didact's Python code names them."""
        from benchmarks.profile_boosting import in_place_of

        in_place_of(self.pool.thread_count, self.count)
        in_place_of(self.pool.parallel_map, self.map)
        in_place_of(self.pool.share_pieces, self.share)


def clocked(row: Row, share: float) -> dict[str, float]:
    """Seconds on one thread, those outside of pieces, rounds, and the bound of the gain: the run with the best."""
    X, y = kept_table(row, share, TABLES)
    model = made_model(US, THREADS, row).fit(X, y)  # imports and compiles
    work = partial(model.fit, X, y) if row.method == "fit" else partial(getattr(model, row.method), X)
    work()
    clocks, found = Clocked(), []
    clocks.enter()
    for _ in range(ROUNDS):
        clocks.rounds.clear()
        start = time.perf_counter()
        work()
        whole = time.perf_counter() - start
        alone = whole - sum(one.seconds for one in clocks.rounds)
        least = alone + sum(one.shared() for one in clocks.rounds)
        found.append({"whole": whole, "alone": alone, "rounds": len(clocks.rounds), "bound": whole / least})
    return min(found, key=lambda one: one["whole"])


def markdown(found: dict[str, dict[str, float]], about: str) -> str:
    """The section of RESULTS.md."""
    from benchmarks.tables import table, three

    path = HERE / "results" / "scaling.json"
    measured = json.loads(path.read_text())["seconds"][US] if path.exists() else {}
    rows = []
    for name, one in found.items():
        gain = measured.get("1", {}).get(name, 0.0) / measured.get(str(THREADS), {}).get(name, float("inf"))
        bound = "BLAS" if ROWS[name].blas else three(one["bound"])
        shown = [three(one["whole"]), f"{one['alone'] / one['whole']:.1%}", f"{one['rounds']:.0f}", bound]
        rows.append([name, *shown, three(gain) if gain else "–"])
    header = ["row", "on one thread, s", "of it alone", "rounds", "bound of the gain", "measured (scaling)"]
    return f"\n## alone\n\n{about}\n\n" + table(header, rows)


def main(arguments: list[str]) -> None:
    """Clock all rows, each in a process of its own, save and print the table."""
    from benchmarks.report import save

    parser = argparse.ArgumentParser(prog="python -m benchmarks alone", description=__doc__)
    parser.add_argument("--rows", type=float, default=1.0, help="this share of the rows; less than 1 is not saved")
    parser.add_argument("--only", default="", help="only rows whose names contain one of NAME|NAME; not saved")
    options = parser.parse_args(arguments)
    TABLES.mkdir(parents=True, exist_ok=True)
    found = {}
    for name in wanted(options.only):
        (found[name],) = lines_on_threads(1, "benchmarks.alone", name, str(options.rows))
        print(name, found[name], file=sys.stderr, flush=True)
    about = (
        f"One thread of {cpu_name()}, Python {platform.python_version()}, cut into pieces as for {THREADS}: what is "
        "outside of pieces, how many rounds of pieces there are, and the gain that pieces as long as these leave room "
        "for where threads cost nothing and share no memory. Threads that share a board of tasks count as equally "
        "busy; BLAS: its threads take part in what is alone here."
    )
    text = markdown(found, about)
    if options.rows == 1 and not options.only:
        save(HERE / "results" / "alone.json", json.dumps({"markdown": text, "seconds": found}, indent=1))
    print(text)


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    print(json.dumps(clocked(ROWS[sys.argv[1]], float(sys.argv[2]))))
