"""``python -m didact.accelerate [--report] [--compare] [-v] script.py [args]``, or ``… -m module [args]``."""

import argparse
import logging
import os
import runpy
import sys
import tempfile
from pathlib import Path

from didact.accelerate import enable
from didact.accelerate.record import COMPARE, KEEP, REPORT, read_report


def arguments() -> argparse.Namespace:
    """The command line; what follows the program's name is the program's own."""
    parser = argparse.ArgumentParser(
        prog="python -m didact.accelerate", description="Run a program written for scikit-learn on didact's models."
    )
    parser.add_argument("--report", action="store_true", help="print at the end what ran where, and how long")
    parser.add_argument(
        "--compare", action="store_true", help="fit scikit-learn's models as well, for their times in the report"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="log each call that is left to scikit-learn")
    parser.add_argument("-m", dest="module", action="store_true", help="the program is a module, not a file")
    parser.add_argument("program", help="the script or module to run")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="its arguments")
    return parser.parse_args()


def main() -> None:
    """Enable, run the program, report."""
    given = arguments()
    if not given.module and not Path(given.program).is_file():
        sys.exit(f"There is no file {given.program!r}: give the path of a Python script, or -m and a module.")
    if given.verbose:
        logging.basicConfig(format="%(name)s: %(message)s")
        logging.getLogger("didact.accelerate").setLevel(logging.INFO)
    with tempfile.TemporaryDirectory(prefix="didact-") as folder:
        lines = Path(os.environ.get(KEEP) or Path(folder) / "calls.jsonl")
        if given.report or given.compare:
            os.environ[REPORT] = str(lines)
            os.environ[COMPARE] = "1" if given.compare else "0"
        enable()
        sys.argv = [given.program, *given.args]
        try:
            if given.module:
                runpy.run_module(given.program, run_name="__main__", alter_sys=True)
            else:
                sys.path[0] = str(Path(given.program).resolve().parent)
                runpy.run_path(given.program, run_name="__main__")
        finally:
            if os.environ.pop(REPORT, None):
                sys.stderr.write(read_report(lines) + "\n")


if __name__ == "__main__":
    main()
