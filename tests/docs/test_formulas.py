"""Formulas of the pages: the writer of MathML knows every command in them."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\\$])\$([^$\n]+?)\$", re.DOTALL)


@pytest.fixture(scope="module")
def mathml():
    spec = importlib.util.spec_from_file_location("mathml", DOCS / "_ext" / "mathml.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_formulas_become_mathml(page, mathml):
    for one in FORMULA.finditer(CODE.sub("", page.read_text())):
        assert "<math" in mathml.translated((one[1] or one[2]).strip(), as_block=bool(one[1]))
