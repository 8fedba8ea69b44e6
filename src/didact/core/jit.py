"""Compiled loops: how they are compiled, where the machine code is kept, and how a noun enters them.

This module and `vectors` are the only ones that import Numba. A loop is a plain function under `@jit`, in a file named
`*_loops.py`. What varies in it (a loss, a kernel, a criterion) enters as a NamedTuple, and `dispatch` finds its scalar
method when the loop is compiled. Numba keys its disk cache on the loop's own file alone, and would keep old code after
an edit in what it calls; so a loop's cache folder is named by a hash of its file and of all files of didact that it
imports, and each entry is keyed on the same hash of the nouns it was compiled for. `python -m didact.core.jit` compiles
everything ahead.
"""

import hashlib
import importlib
import os
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, overload

import numba
import numba.extending
from llvmlite import ir
from numba.core import cgutils
from numba.core.caching import FunctionCache
from numba.misc.appdirs import AppDirs

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parents[1]
KEPT_FOLDERS = 3
_config: Any = numba.config
_lock = threading.Lock()


@overload
def jit(function: F) -> F: ...
@overload
def jit(**options: Any) -> Callable[[F], F]: ...
def jit(function: Any = None, **options: Any) -> Any:
    """Compile a loop with Numba, without the interpreter lock and with a disk cache where one can be written.

    Use it as `@jit` or with options of `numba.njit`, as `@jit(fastmath=True)`.

    >>> from didact.core.jit import jit
    >>> @jit
    ... def total(x):
    ...     s = 0.0
    ...     for i in range(x.shape[0]):
    ...         s += x[i]
    ...     return s
    >>> import numpy as np
    >>> total(np.arange(4.0))
    6.0
    """
    if function is None:
        return lambda f: jit(f, **options)
    compiled = numba.njit(nogil=True, **({"_nrt": True} | options))(function)
    folder = cache_folder(function.__code__.co_filename)
    if folder is not None and hasattr(compiled, "_cache"):  # a plain function when NUMBA_DISABLE_JIT is set
        with _lock:
            before, _config.CACHE_DIR = _config.CACHE_DIR, str(folder)
            try:
                compiled._cache = _LoopCache(function)
            except (RuntimeError, OSError):  # no source file (a function typed at a prompt), or no room
                pass
            finally:
                _config.CACHE_DIR = before
    return compiled


@overload
def lean(function: F) -> F: ...
@overload
def lean(**options: Any) -> Callable[[F], F]: ...
def lean(function: Any = None, **options: Any) -> Any:
    """`jit` for a loop that makes no arrays and returns none: references to arrays are not counted in it.

    Counting costs two locked instructions for every slice and every field of a NamedTuple, half the time of loops over
    small nodes, and more when threads share an array. What such a loop calls through `dispatch` must be of its kind.
    """
    how: Any = jit
    return how(function, _nrt=False, **options)


def dispatch(name: str) -> Callable[..., Any]:
    """A function f(noun, *args) for use in loops that calls the noun's scalar method `name`.

    The method is resolved when the loop is compiled. A noun is a NamedTuple whose class defines the method in plain
    Python on scalars, or a single function under `numba.njit`, which then is the method. Code for nouns from outside
    didact, and for functions, is compiled anew in each process: the disk cache could not know when they change.

    >>> from typing import NamedTuple
    >>> from didact.core.jit import dispatch
    >>> class Line(NamedTuple):
    ...     slope: float
    ...     def value1(self, z):
    ...         return self.slope * z
    >>> value1 = dispatch("value1")
    >>> value1(Line(2.0), 3.0)
    6.0
    """

    def call(noun: Any, *args: Any) -> Any:
        method = getattr(type(noun), name, None)
        return noun(*args) if method is None else method(noun, *args)

    @cache
    def compiled(cls: type) -> Any:
        if not hasattr(cls, name):
            raise numba.core.errors.TypingError(f"{cls.__name__} has no scalar method {name!r}")
        return numba.njit(getattr(cls, name))

    @numba.extending.overload(call)
    def resolve(noun, *args):  # type: ignore[no-untyped-def]  # Numba compares the signatures, annotations and all
        if isinstance(noun, numba.types.Dispatcher):
            return lambda noun, *args: noun(*args)
        cls = getattr(noun, "instance_class", None)
        if cls is None:
            return None
        method = compiled(cls)
        return lambda noun, *args: method(noun, *args)

    return call


@numba.extending.intrinsic
def _prefetch(typingctx, array, row, column):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kind, byte, number = signature.args[0], ir.IntType(8).as_pointer(), ir.IntType(32)
        view = context.make_array(kind)(context, builder, args[0])
        place = cgutils.get_item_pointer(context, builder, kind, view, args[3 - kind.ndim :], wraparound=False)
        form = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        ask = cgutils.get_or_insert_function(builder.module, form, "llvm.prefetch.p0")
        builder.call(ask, [builder.bitcast(place, byte), number(0), number(3), number(1)])  # to read, keep, data
        return context.get_dummy_value()

    return numba.types.void(array, numba.types.uint64, numba.types.uint64), generate


# prefetch(array, row, column), in loops that know which rows come next: ask for an element to be brought near; of an
# array with one dimension the element at `column`.
prefetch: Any = (lambda array, row, column: None) if _config.DISABLE_JIT else _prefetch


@numba.extending.intrinsic
def _lowest_bit(typingctx, word):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.cttz(args[0], ir.IntType(1)(1))

    return numba.types.int64(numba.types.uint64), generate


# lowest_bit(word): the place of the lowest bit that is set in an np.uint64 other than 0.
lowest_bit: Any = (lambda word: (int(word) & -int(word)).bit_length() - 1) if _config.DISABLE_JIT else _lowest_bit


class _LoopCache(FunctionCache):
    """Numba's disk cache, which here never breaks a fit and holds code of didact's own nouns only."""

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        nouns = {noun for kind in getattr(sig, "args", sig) for noun in _nouns(kind)}
        files = sorted({str(sys.modules[noun.__module__].__file__) for noun in nouns})
        return *super()._index_key(sig, codegen), *map(_fingerprint, files)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        arguments = tuple(getattr(sig, "args", sig))
        if not all(map(_lasting, arguments)):
            return None
        try:
            found = super().load_overload(sig, target_context)
        except Exception:  # a file cut short by a crash: begin anew
            with suppress(OSError):
                self.flush()
            return None
        # Two processes that write at once can exchange two files.
        return found if found is None or tuple(found.signature.args) == arguments else None

    def save_overload(self, sig: Any, data: Any) -> None:
        if all(map(_lasting, getattr(sig, "args", sig))):
            try:
                super().save_overload(sig, data)
            except Exception:  # a full disk, a folder that went away
                self.disable()


def _nouns(kind: Any) -> Iterator[type]:
    """The classes of the NamedTuples in a type of argument."""
    if hasattr(kind, "instance_class"):
        yield kind.instance_class
    for inner in getattr(kind, "types", ()):
        yield from _nouns(inner)


def _lasting(kind: Any) -> bool:
    """Whether code for this type of argument may stay on disk: all but functions and other people's nouns."""
    if isinstance(kind, numba.types.Dispatcher):
        return False
    if any(noun.__module__.partition(".")[0] != "didact" for noun in _nouns(kind)):
        return False
    return all(map(_lasting, getattr(kind, "types", ())))


@cache
def cache_folder(file: str = __file__) -> Path | None:
    """The folder of a file's compiled code, or None if none can be written: loops are then compiled in each process."""
    name = f"{Path(file).stem}-{_fingerprint(file)}"
    for place in _places():
        folder = place / "numba" / name
        try:
            fresh = not folder.exists()
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            os.utime(folder)
        except OSError:
            continue
        if fresh:
            _tidy(folder.parent, Path(file).stem)
        return folder
    return None


def _places() -> Iterator[Path]:
    """Where the cache may be: as the user says, with the sources, in the user's cache."""
    if _config.CACHE_DIR:
        yield Path(_config.CACHE_DIR)
    checkout = PACKAGE.parents[1]
    is_checkout = PACKAGE.parent.name == "src" and (checkout / "pyproject.toml").is_file()
    yield checkout / ".cache" if is_checkout else PACKAGE / "__pycache__"
    yield Path(AppDirs(appname="didact", appauthor=False).user_cache_dir)


@cache
def _fingerprint(file: str) -> str:
    """A hash of the file and of all files of didact that it leads to."""
    digest, seen, waiting = hashlib.sha256(), set(), [Path(__file__).resolve(), Path(file)]
    while waiting:
        source = waiting.pop()
        if source not in seen and source.is_file():
            seen.add(source)
            digest.update(source.read_bytes())
            waiting += sorted(_imports(source))
    return digest.hexdigest()[:16]


@cache
def _imports(file: Path) -> set[Path]:
    """The files of didact, but for most of core, that this one imports."""
    found = re.findall(r"^\s*(?:from|import) didact\.([\w.]+)(?: import (\([^)]*\)|[^\n]*))?", file.read_text(), re.M)
    modules = {name for name, _ in found}
    modules |= {f"{name}.{member}" for name, members in found for member in re.findall(r"\w+", members)}
    compiled = (name for name in modules if not name.startswith("core") or name == "core.vectors")
    paths = (PACKAGE.joinpath(*name.split(".")) for name in compiled)
    return {file for path in paths for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()}


def _tidy(place: Path, stem: str) -> None:
    """Remove all but the newest folders of earlier states of the code."""
    with suppress(OSError):  # another process may be tidying, too
        folders = [folder for folder in place.glob(f"{stem}-*") if folder.name.removeprefix(f"{stem}-").isalnum()]
        for folder in sorted(folders, key=lambda folder: folder.stat().st_mtime)[:-KEPT_FOLDERS]:
            shutil.rmtree(folder, ignore_errors=True)


def warm() -> list[str]:
    """Import every module of loops and call its `warm()`, which runs its loops on tiny arrays; the modules' names."""
    names = []
    for file in sorted(PACKAGE.rglob("*_loops.py")):
        name = ".".join(("didact", *file.relative_to(PACKAGE).with_suffix("").parts))
        module = importlib.import_module(name)
        if hasattr(module, "warm"):
            module.warm()
            names.append(name)
    return names


def main() -> None:
    """Warm the cache and say so in one line."""
    begin = time.perf_counter()
    count = len(warm())
    modules = "1 module" if count == 1 else f"{count} modules"
    folder = cache_folder()
    place = folder.parent if folder else "no folder (none can be written, so each process compiles for itself)"
    sys.stdout.write(f"didact: loops of {modules} ready in {time.perf_counter() - begin:.1f} s, kept in {place}\n")


if __name__ == "__main__":
    from didact.core.jit import main as run  # the importable module, not this second copy of it

    run()
