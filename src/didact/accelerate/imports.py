"""Names of scikit-learn's modules that stand for ours, put there when a module is imported and not before.

A program uses a few of the fifteen modules; importing all of them would take a tenth of a second in every process.
While a module of scikit-learn is being imported all names are its own: it never finds our classes inside itself.
"""

import sys
import threading
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from didact.accelerate.names import CLASSES, FUNCTIONS

_own: dict[tuple[str, str], Any] = {}  # (module, name) → scikit-learn's own, while ours stand in their place
_lock = threading.RLock()


class Watch:
    """Finder of modules that finds nothing by itself: it lets us know when scikit-learn's modules are imported."""

    def __init__(self) -> None:
        self.inside = 0  # imports under way, each inside the one before or in another thread

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The specification that the finders after this one give, with a loader that tells begin and end."""
        if not name.startswith("sklearn."):
            return None
        others = [finder for finder in sys.meta_path if not isinstance(finder, Watch)]
        found = (finder.find_spec(name, path, target) for finder in others if hasattr(finder, "find_spec"))
        spec = next((one for one in found if one is not None), None)
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "__dict__"):
            self.surround(spec.loader)
        return spec

    def surround(self, loader: Any) -> None:
        """Have a loader's module executed while all names are scikit-learn's own."""
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            with _lock:
                self.inside += 1
                put_back()
            try:
                execute(module)
            finally:
                with _lock:
                    self.inside -= 1
                    if self.inside == 0 and watch in sys.meta_path:
                        replace()

        loader.exec_module = exec_module


watch = Watch()


def replace() -> None:
    """Put ours in the place of all names of modules that are imported."""
    from didact.accelerate import proxies

    for table in (CLASSES, FUNCTIONS):
        for module, names in table.items():
            package = sys.modules.get(f"sklearn.{module}")
            for name in names if package is not None else ():
                if (module, name) not in _own and hasattr(package, name):  # else another thread is importing it
                    ours = getattr(proxies, name)
                    _own[module, name] = getattr(package, name)
                    setattr(package, name, ours)


def put_back() -> None:
    """Put scikit-learn's own back."""
    while _own:
        (module, name), own = _own.popitem()
        setattr(sys.modules[f"sklearn.{module}"], name, own)
