"""Which files a loop depends on: a hash of them names its compiled code, and a chapter's loops are found by them."""

import hashlib
import re
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]
# Of this package, the files that say what code is made; the others say where it is kept.
_CODE = ("__init__.py", "atomics.py", "compiler.py", "inner.py", "intrinsics.py", "nouns.py", "simd.py", "llvm/*.py")


@cache
def fingerprint(file: str) -> str:
    """A hash of the contents of the file, of all files of didact that it imports, and of `core/jit`."""
    compiler = sorted(source for name in _CODE for source in Path(__file__).parent.glob(name))
    digest = hashlib.sha256()
    for source in (*compiler, *reached([Path(file)])):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def reached(files: list[Path]) -> list[Path]:
    """These files and all that they import of didact except core, directly or not."""
    seen: dict[Path, None] = {}
    waiting = files[::-1]
    while waiting:
        source = waiting.pop()
        if source not in seen and source.is_file():
            seen[source] = None
            waiting += sorted(_imports(source))
    return list(seen)


@cache
def _imports(file: Path) -> set[Path]:
    """The files of didact, except those of core, that this one imports."""
    text = file.read_text(encoding="utf-8")
    found = re.findall(r"^\s*(?:from|import) didact\.([\w.]+)(?: import (\([^)]*\)|[^\n]*))?", text, re.M)
    modules = {name for name, _ in found}
    modules |= {f"{name}.{member}" for name, members in found for member in re.findall(r"\w+", members)}
    compiled = (name for name in modules if not name.startswith("core"))
    paths = (PACKAGE.joinpath(*name.split(".")) for name in compiled)
    return {file for path in paths for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()}
