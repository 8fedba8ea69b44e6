"""A wheel for one platform that carries compiled loops, where `make wheel` has put them; else a wheel for all."""

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledLoops(BuildHookInterface):
    """Takes the folder that DIDACT_COMPILED names into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the folder, and name this Python and this platform in the wheel's tag."""
        folder = Path(self.root, os.environ.get("DIDACT_COMPILED") or "nothing")
        if version != "editable" and folder.is_dir():
            build_data["force_include"][str(folder)] = "didact/core/jit/shipped"
            build_data |= {"pure_python": False, "infer_tag": True}
