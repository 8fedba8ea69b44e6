"""What a report of a problem begins with names everything that the package asks for."""

import platform
import re
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import didact
from didact.core import versions as module
from didact.core.versions import versions

PROJECT = Path(didact.__file__).parents[2] / "pyproject.toml"


@pytest.mark.skipif(not PROJECT.is_file(), reason="only a checkout has the list of what the package asks for")
def test_all_dependencies_and_extras_are_shown():
    project = tomllib.loads(PROJECT.read_text())["project"]
    found = versions()

    def names(requirements):
        return {re.match(r"[\w.-]+", text)[0] for text in requirements} - {"didact"}

    assert names(project["dependencies"]) | {"didact"} == set(found["Needed"])
    for extra, requirements in project["optional-dependencies"].items():
        assert names(requirements) <= set(found.get(f"Extra {extra!r}", ()))
    assert found["Needed"]["numpy"] == np.__version__ == version("numpy")


def test_the_system_and_the_threads_are_shown(capsys):
    didact.show_versions()
    text = capsys.readouterr().out
    for part in (platform.platform(), sys.version.split()[0], f"didact: {didact.__version__}", "threads: ", "compiled"):
        assert part in text


def test_sources_that_are_not_installed_show_what_they_need(monkeypatch):
    def absent(name):
        raise module.PackageNotFoundError(name)

    monkeypatch.setattr(module, "requires", absent)
    monkeypatch.setattr(module, "version", absent)
    assert versions()["Needed"]["numba"] == "not installed"
