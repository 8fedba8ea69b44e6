"""`python -m didact.core.jit`: compile all loops ahead of time."""

import importlib
import sys
import time

from didact.core.jit.disk_cache import PACKAGE, cache_folder


def warm() -> list[str]:
    """Import every module of loops and call its `warm()`, which runs its loops on tiny arrays; return their names."""
    names = []
    for file in sorted(PACKAGE.rglob("*_loops.py")):
        name = ".".join(("didact", *file.relative_to(PACKAGE).with_suffix("").parts))
        module = importlib.import_module(name)
        if hasattr(module, "warm"):
            module.warm()
            names.append(name)
    return names


def main() -> None:
    """Compile all loops and print one line about it."""
    begin = time.perf_counter()
    count = len(warm())
    modules = "1 module" if count == 1 else f"{count} modules"
    folder = cache_folder()
    place = folder.parent if folder else "no folder (none can be written, so each process compiles for itself)"
    sys.stdout.write(f"didact: loops of {modules} ready in {time.perf_counter() - begin:.1f} s, kept in {place}\n")


if __name__ == "__main__":
    main()
