"""The system and the versions of everything that didact uses, for bug reports."""

import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version

_NAME = re.compile(r"[\w.-]+")
_EXTRA = re.compile(r"extra\s*==\s*['\"](\w+)['\"]")


def show_versions() -> None:
    """Print the system, the versions of Python, didact, its dependencies and its extras, threads and cache folder.

    Notes
    -----
    Cost: half a second; Numba is loaded, no extra is.

    References
    ----------
    Modelled on `sklearn.show_versions`.

    Examples
    --------
    >>> import didact
    >>> didact.show_versions()
    System
        ...
        python: ...
    Needed
        didact: ...
    """
    lines = []
    for title, rows in versions().items():
        lines += [title, *(f"{name:>16}: {text}" for name, text in rows.items())]
    sys.stdout.write("\n".join(lines) + "\n")


def versions() -> dict[str, dict[str, str]]:
    """What `show_versions` prints, as a dictionary of sections, each a dictionary from names to texts."""
    import didact

    found = {
        "System": {
            "system": platform.platform(),
            "processor": platform.processor() or platform.machine(),
            "python": sys.version.replace("\n", " "),
            "executable": sys.executable,
        },
        "Needed": {"didact": didact.__version__},
    }
    for requirement in _requirements():
        name = _NAME.match(requirement)
        extra = _EXTRA.search(requirement)
        if name is not None and name[0] != "didact" and not (extra and extra[1] == "all"):
            title = f"Extra {extra[1]!r}" if extra else "Needed"
            found.setdefault(title, {})[name[0]] = _version(name[0])
    return found | {"Running": _running()}


def _requirements() -> list[str]:
    """The requirements of the package; a fixed list if it runs from its sources without being installed."""
    try:
        return requires("didact") or []
    except PackageNotFoundError:
        return ["numpy", "scipy", "scikit-learn", "numba", "skops"]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _running() -> dict[str, str]:
    from threadpoolctl import threadpool_info

    from didact.core.jit import cache_folder
    from didact.core.threads import thread_count

    folder = cache_folder()
    pools = {
        f"{p['internal_api']} ({p['user_api']})": f"{p.get('version')}, {p['num_threads']}" for p in threadpool_info()
    }
    return {
        "threads": str(thread_count()),
        **{name: f"{text} thread{'' if text.endswith(', 1') else 's'}" for name, text in pools.items()},
        "compiled code": "not cached: no folder is writable" if folder is None else str(folder.parent),
    }
