"""Where machine code is kept: a folder for each file of loops, named by a hash of the sources it depends on.

Two places are looked at: the folder that this machine writes, and `shipped`, which a wheel carries. Code is found that
was compiled for this very CPU, or for the baseline that wheels are compiled for where this CPU is at least that.
"""

import importlib
import os
import pickle
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from didact.core.jit import entries
from didact.core.jit.sources import PACKAGE, fingerprint

KEPT_FOLDERS = 3
SHIPPED = PACKAGE / "core" / "jit" / "shipped"
BASELINE = "x86-64-v3"  # the CPU that wheels are compiled for: Haswell (2013), Zen (2017) and later
BASELINE_FEATURES = "avx,avx2,bmi,bmi2,cx16,f16c,fma,lzcnt,movbe,popcnt,sahf,sse3,sse4.1,sse4.2,ssse3,xsave"
HASHING = b"_numba_hashsecret"  # the symbols that come with Numba's declarations
_SETTINGS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT", "BOUNDSCHECK")


class LoopCache:
    """What Numba asks for the compiled code of one loop; a faulty cache never breaks a fit.

    Code for functions and nouns from outside didact, and of functions that close over variables, is not kept: nothing
    would tell when they change.
    """

    def __init__(self, function: Any) -> None:
        self.function, self.enabled = function, function.__closure__ is None

    @property
    def cache_path(self) -> str | None:
        """The folder that is written."""
        folder = cache_folder(self.function.__code__.co_filename)
        return None if folder is None else str(folder)

    def enable(self) -> None:
        """Use the disk."""
        self.enabled = True

    def disable(self) -> None:
        """Leave the disk alone."""
        self.enabled = False

    def flush(self) -> None:
        """Do nothing: entries are replaced one by one."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code for a signature; None if there is none."""
        arguments = tuple(getattr(sig, "args", sig))
        if not self.enabled or not all(map(_lasting, arguments)):
            return None
        for target in _targets(*target_context.codegen().magic_tuple()):
            key = self._key(arguments, target)
            for folder in self._folders():
                found = _load(folder / entries.name_of(self.function.__qualname__, key), key, target_context)
                if found is not None and tuple(found.signature.args) == arguments:
                    return found
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled code for a signature, if it can be moved to another process."""
        from numba.core.serialize import dumps

        arguments = tuple(getattr(sig, "args", sig))
        folder = cache_folder(self.function.__code__.co_filename)
        if not self.enabled or folder is None or not all(map(_lasting, arguments)):
            return
        if data.library.has_dynamic_globals or any(not lifted.can_cache for lifted in data.lifted):
            return
        key = self._key(arguments, " ".join(data.library.codegen.magic_tuple()))
        parts = list(data._reduce())
        parts[6] = ""  # the annotated source, with the path of the file: nobody reads it
        try:
            entries.write(folder / entries.name_of(self.function.__qualname__, key), key, dumps(tuple(parts)))
        except OSError:  # a full disk, or a folder that was deleted
            self.disable()

    def _folders(self) -> Iterator[Path]:
        file = self.function.__code__.co_filename
        own = cache_folder(file)
        if own is not None:
            yield own
        if (shipped := SHIPPED / folder_name(file)).is_dir():
            yield shipped

    def _key(self, arguments: tuple[Any, ...], target: str) -> str:
        """All that the code depends on besides the sources of the loop, which name the folder."""
        nouns = {noun for kind in arguments for noun in nouns_in(kind)}
        files = {f"{noun.__module__}.{noun.__qualname__}": sys.modules[noun.__module__].__file__ for noun in nouns}
        seen = (f"{name} {fingerprint(str(file))}" for name, file in sorted(files.items()))
        what = f"{self.function.__module__}.{self.function.__qualname__}:{self.function.__code__.co_firstlineno}"
        return "\n".join((target, runtime(), what, *map(str, arguments), *seen))


def _load(file: Path, key: str, target_context: Any) -> Any:
    """The code in a file that is whole; one that is not goes, and the code is compiled anew."""
    from numba.core.compiler import CompileResult
    from numba.core.runtime.nrt import rtsys

    data = entries.read(file, key)
    if data is not None:
        # Machine code needs symbols, not the declarations of all that Numba can compile, which take longer to import
        # than Numba itself. Those come with the first function that is compiled, or with code that hashes.
        rtsys.initialize(target_context)
        if HASHING in data:
            target_context.refresh()
        with suppress(Exception):  # whole, and yet Numba cannot use it: as good as damaged
            return CompileResult._rebuild(target_context, *pickle.loads(data))
    if not file.is_relative_to(SHIPPED):
        with suppress(OSError):  # as a rule there is no such file
            file.unlink()
    return None


@cache
def runtime() -> str:
    """What compiled code needs besides a CPU: the versions of Python, Numba and LLVM, and Numba's settings."""
    import llvmlite
    import numba

    settings = (f"{name}={int(getattr(numba.config, name, 0) or 0)}" for name in _SETTINGS)
    python = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
    return " ".join((python, f"numba {numba.__version__}", f"llvmlite {llvmlite.__version__}", *settings))


def _targets(triple: str, cpu: str, features: str) -> Iterator[str]:
    """The targets whose code runs here, best first: this CPU, and the baseline unless the user has named a CPU."""
    settings: Any = importlib.import_module("numba.core.config")
    yield f"{triple} {cpu} {features}"
    if settings.CPU_NAME is settings.CPU_FEATURES is None and has_baseline(features):
        yield f"{triple} {BASELINE} "


def has_baseline(features: str | None = None) -> bool:
    """Whether code for the baseline runs on this machine, given LLVM's list of its features."""
    if platform.machine().lower() not in ("x86_64", "amd64") or os.environ.get("DIDACT_NATIVE", "0") not in ("", "0"):
        return False
    if features is None:
        from llvmlite.binding import get_host_cpu_features

        features = get_host_cpu_features().flatten()
    return set(features.replace("+", "").split(",")) >= set(BASELINE_FEATURES.split(","))


def nouns_in(kind: Any) -> Iterator[type]:
    """The classes of the NamedTuples in a type of argument."""
    if hasattr(kind, "instance_class"):
        yield kind.instance_class
    for inner in getattr(kind, "types", ()):
        yield from nouns_in(inner)


def _lasting(kind: Any) -> bool:
    """Whether code for this type of argument may be cached on disk: not for functions and nouns from outside didact."""
    from numba.core.types import Dispatcher

    if isinstance(kind, Dispatcher):
        return False
    if any(noun.__module__.partition(".")[0] != "didact" for noun in nouns_in(kind)):
        return False
    return all(map(_lasting, getattr(kind, "types", ())))


def folder_name(file: str) -> str:
    """The name of the folder of a file's compiled code."""
    return f"{Path(file).stem}-{fingerprint(file)}"


@cache
def cache_folder(file: str = __file__) -> Path | None:
    """The folder of a file's compiled code; None if no folder is writable, so that each process compiles for itself."""
    if not Path(file).is_file():  # a function typed at a prompt
        return None
    for place in _places():
        folder = place / "numba" / folder_name(file)
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
    settings = getattr(sys.modules.get("numba"), "config", None)
    if chosen := getattr(settings, "CACHE_DIR", os.environ.get("NUMBA_CACHE_DIR")):
        yield Path(chosen)
    checkout = PACKAGE.parents[1]
    is_checkout = PACKAGE.parent.name == "src" and (checkout / "pyproject.toml").is_file()
    yield checkout / ".cache" if is_checkout else PACKAGE / "__pycache__"
    with suppress(RuntimeError):  # no home
        yield _users_cache() / "didact"


def _users_cache() -> Path:
    """Where this system keeps what programs can make again."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _tidy(place: Path, stem: str) -> None:
    """Remove the folders of earlier states of the code, except the newest ones."""
    with suppress(OSError):  # another process may be tidying, too
        folders = [folder for folder in place.glob(f"{stem}-*") if folder.name.removeprefix(f"{stem}-").isalnum()]
        for folder in sorted(folders, key=lambda folder: folder.stat().st_mtime)[:-KEPT_FOLDERS]:
            shutil.rmtree(folder, ignore_errors=True)
