"""Names of scikit-learn's modules that stand for ours wherever a program asks, and never inside scikit-learn.

A module of scikit-learn that we know becomes a `Public`, the already imported ones at once and the others when they are
imported: a program uses a few of them, and importing all would take a tenth of a second in every process. What stands
in the modules stays scikit-learn's: its own code, also where it imports or asks inside a function, keeps its classes.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import sklearn

from didact.accelerate.names import CLASSES, FUNCTIONS, MODULES

FOLDERS = Path(sklearn.__file__).parent, Path(__file__).parents[1]  # of scikit-learn, and of didact
INSIDE = (*(f"{folder}{os.sep}" for folder in FOLDERS), "<frozen importlib")  # where files begin that find no proxies
KNOWN = {f"sklearn.{module}" for table in (CLASSES, FUNCTIONS) for module in table}


class Public(ModuleType):
    """A module of scikit-learn that has our classes for programs, and its own for scikit-learn's code and for ours."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name not in MODULES or sys._getframe(1).f_code.co_filename.startswith(INSIDE):
            return found
        from didact.accelerate import proxies

        ours = getattr(proxies, name)
        return ours if ours.theirs is found else found  # a program may have put something of its own there

    def __reduce__(self) -> Any:
        """Functions that are sent to other processes take their modules along, by name."""
        return importlib.import_module, (self.__name__,)


class Watch:
    """Finder of modules that finds nothing by itself: it lets us know when scikit-learn's modules are imported."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The specification that the finders after this one give, with a loader that makes the module `Public`."""
        if name not in KNOWN:
            return None
        others = [finder for finder in sys.meta_path if not isinstance(finder, Watch)]
        found = (finder.find_spec(name, path, target) for finder in others if hasattr(finder, "find_spec"))
        spec = next((one for one in found if one is not None), None)
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "__dict__"):
            self.surround(spec.loader)
        return spec

    def surround(self, loader: Any) -> None:
        """Have a loader's module made public once it is executed, if ours are still wanted."""
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            if watch in sys.meta_path:
                module.__class__ = Public

        loader.exec_module = exec_module


watch = Watch()


def replace() -> None:
    """Have ours found in all modules that are imported."""
    change(ModuleType, Public)


def put_back() -> None:
    """Have scikit-learn's own found again."""
    change(Public, ModuleType)


def change(old: type, new: type) -> None:
    """Give the modules of scikit-learn that are of one type another."""
    for name in KNOWN:
        module = sys.modules.get(name)
        if type(module) is old:
            module.__class__ = new
