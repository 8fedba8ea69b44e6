"""Where machine code is kept: a folder for each file of loops, named by a hash of the sources it depends on."""

import hashlib
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.misc.appdirs import AppDirs

PACKAGE = Path(__file__).resolve().parents[2]
KEPT_FOLDERS = 3
_config: Any = numba.config
_lock = threading.Lock()


def attach_cache(compiled: Any, function: Any) -> None:
    """Give a compiled function a disk cache, where one can be written."""
    folder = cache_folder(function.__code__.co_filename)
    if folder is None or not hasattr(compiled, "_cache"):  # with NUMBA_DISABLE_JIT it is a plain function
        return
    with _lock:
        before, _config.CACHE_DIR = _config.CACHE_DIR, str(folder)
        try:
            compiled._cache = LoopCache(function)
        except (RuntimeError, OSError):  # no source file (a function typed at a prompt), or a full disk
            pass
        finally:
            _config.CACHE_DIR = before


class LoopCache(FunctionCache):
    """Numba's disk cache, except that a faulty cache never breaks a fit, and only code for didact's nouns is kept."""

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
        except Exception:  # a file truncated by a crash: start over
            with suppress(OSError):
                self.flush()
            return None
        # Two processes that write at once can swap the code of two signatures: check what was loaded.
        return found if found is None or tuple(found.signature.args) == arguments else None

    def save_overload(self, sig: Any, data: Any) -> None:
        if all(map(_lasting, getattr(sig, "args", sig))):
            try:
                super().save_overload(sig, data)
            except Exception:  # a full disk, or a folder that was deleted
                self.disable()


def _nouns(kind: Any) -> Iterator[type]:
    """The classes of the NamedTuples in a type of argument."""
    if hasattr(kind, "instance_class"):
        yield kind.instance_class
    for inner in getattr(kind, "types", ()):
        yield from _nouns(inner)


def _lasting(kind: Any) -> bool:
    """Whether code for this type of argument may be cached on disk: not for functions and nouns from outside didact."""
    if isinstance(kind, numba.types.Dispatcher):
        return False
    if any(noun.__module__.partition(".")[0] != "didact" for noun in _nouns(kind)):
        return False
    return all(map(_lasting, getattr(kind, "types", ())))


@cache
def cache_folder(file: str = __file__) -> Path | None:
    """The folder of a file's compiled code; None if no folder is writable, so that each process compiles for itself."""
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
    """Candidate folders for the cache: the one that the user chose, one beside the sources, the user's cache folder."""
    if _config.CACHE_DIR:
        yield Path(_config.CACHE_DIR)
    checkout = PACKAGE.parents[1]
    is_checkout = PACKAGE.parent.name == "src" and (checkout / "pyproject.toml").is_file()
    yield checkout / ".cache" if is_checkout else PACKAGE / "__pycache__"
    yield Path(AppDirs(appname="didact", appauthor=False).user_cache_dir)


@cache
def _fingerprint(file: str) -> str:
    """A hash of the file, of all files of didact that it imports, directly or not, and of this package."""
    compiler = (source for source in PACKAGE.joinpath("core", "jit").glob("*.py") if source.name != "__main__.py")
    digest, seen, waiting = hashlib.sha256(), set(), [*sorted(compiler), Path(file)]
    while waiting:
        source = waiting.pop()
        if source not in seen and source.is_file():
            seen.add(source)
            digest.update(source.read_bytes())
            waiting += sorted(_imports(source))
    return digest.hexdigest()[:16]


@cache
def _imports(file: Path) -> set[Path]:
    """The files of didact, except those of core, that this one imports."""
    found = re.findall(r"^\s*(?:from|import) didact\.([\w.]+)(?: import (\([^)]*\)|[^\n]*))?", file.read_text(), re.M)
    modules = {name for name, _ in found}
    modules |= {f"{name}.{member}" for name, members in found for member in re.findall(r"\w+", members)}
    compiled = (name for name in modules if not name.startswith("core"))
    paths = (PACKAGE.joinpath(*name.split(".")) for name in compiled)
    return {file for path in paths for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()}


def _tidy(place: Path, stem: str) -> None:
    """Remove the folders of earlier states of the code, except the newest ones."""
    with suppress(OSError):  # another process may be tidying, too
        folders = [folder for folder in place.glob(f"{stem}-*") if folder.name.removeprefix(f"{stem}-").isalnum()]
        for folder in sorted(folders, key=lambda folder: folder.stat().st_mtime)[:-KEPT_FOLDERS]:
            shutil.rmtree(folder, ignore_errors=True)
