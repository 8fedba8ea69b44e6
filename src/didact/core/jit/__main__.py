"""`didact warm`, or `python -m didact.core.jit`: compile loops ahead of time."""

import argparse
import sys
import time
from pathlib import Path

from didact.core.jit.disk_cache import cache_folder
from didact.core.jit.warming import pack_entries, warm

BAR_WIDTH = 30


def main(arguments: list[str] | None = None) -> None:
    """Compile the loops with a bar on a terminal, and print one line about it."""
    parser = argparse.ArgumentParser("didact warm", description="Compile ahead, on all cores, what fits would compile.")
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="as tree or linear_model; all by default")
    parser.add_argument("--native", action="store_true", help="for this very CPU instead of for x86-64-v3")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes; by default one for each core")
    parser.add_argument("--pack", type=Path, metavar="FOLDER", help="copy the code for x86-64-v3 there, for a wheel")
    given = parser.parse_args(arguments)
    begin = time.perf_counter()
    report = _bar if sys.stderr.isatty() else None
    try:
        count = warm(*given.chapters, native=given.native, jobs=given.jobs, report=report)
    except ValueError as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        sys.exit("Interrupted; what has been compiled is kept.")
    seconds = time.perf_counter() - begin
    modules = "1 module" if count == 1 else f"{count} modules"
    folder = cache_folder()
    place = folder.parent if folder else "no folder (none can be written, so each process compiles for itself)"
    sys.stdout.write(f"didact: loops of {modules} ready in {seconds:.1f} s, kept in {place}\n")
    if given.pack is not None:
        sys.stdout.write(f"didact: {pack_entries(given.pack, tuple(given.chapters))} entries copied to {given.pack}\n")


def _bar(done: int, total: int, left: float) -> None:
    filled = "#" * (BAR_WIDTH * done // total)
    line = f"\rcompiling [{filled:.<{BAR_WIDTH}}] {done} of {total}, about {left:.0f} s left"
    sys.stderr.write("\r\033[K" if done == total else f"{line}\033[K")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
