"""The rules of the house on names, records, folders and prose (see docs/vocabulary.md)."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import didact

ROOT = Path(didact.__file__).parent
BELOW = ("core/", "parts/", "engines/")
FOLDER = 16  # modules, `__init__` apart
FIELDS = 4  # of a record that may be built without naming them
# Names of which every room, or every module of loops, has its own by agreement.
SHARED = {"warm", "T", "R", "F", "S", "Array", "AnyArray", "Objective"}
SHARED |= {
    "Poisson",
    "Gamma",
    "Tweedie",
    "NegativeBinomial",
}  # a family, and the loss that it makes with the logarithm as its link


def sources():
    """Every file of the library with its path from the package and its syntax tree."""
    for path in sorted(ROOT.rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


SOURCES = dict(sources())


def defined(tree):
    """Public names that a module defines; scalar methods found by `dispatch` are the nouns' names."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Assign) and "dispatch(" not in ast.unparse(node.value):
            yield from (n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def test_a_name_stands_for_one_thing():
    places = defaultdict(set)
    for file, tree in SOURCES.items():
        if file.startswith(BELOW):
            for name in defined(tree):
                if not name.startswith("_") and name not in SHARED:
                    places[name].add(file)
    assert {name: sorted(files) for name, files in places.items() if len(files) > 1} == {}


def test_a_folder_holds_about_a_dozen_modules():
    modules = defaultdict(int)
    for file in SOURCES:
        if file.startswith(BELOW) and not file.endswith("__init__.py"):
            modules[file.rpartition("/")[0]] += 1
    assert {folder: count for folder, count in modules.items() if count > FOLDER} == {}


def fields_of(node):
    """The fields of a NamedTuple, or nothing for another class."""
    if not any("NamedTuple" in ast.unparse(base) for base in node.bases):
        return []
    inner = [base.args[1].elts for base in node.bases if isinstance(base, ast.Call)]
    own = [n for n in node.body if isinstance(n, ast.AnnAssign) and "ClassVar" not in ast.unparse(n.annotation)]
    return [*(inner[0] if inner else []), *own]


def records():
    """By module and name: the classes of records with more than a few fields and no constructor of their own."""
    for file, tree in SOURCES.items():
        module = "didact." + file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for node in tree.body:
            made = isinstance(node, ast.ClassDef) and any(getattr(n, "name", "") == "__new__" for n in node.body)
            if isinstance(node, ast.ClassDef) and len(fields_of(node)) > FIELDS and not made:
                yield module, node.name


RECORDS = set(records())


@pytest.mark.parametrize("file", list(SOURCES))
def test_long_records_are_built_by_keyword(file):
    module = "didact." + file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    known = {name for home, name in RECORDS if home == module}
    for node in ast.walk(SOURCES[file]):
        if isinstance(node, ast.ImportFrom):
            known |= {a.asname or a.name for a in node.names if (node.module, a.name) in RECORDS}
    for node in ast.walk(SOURCES[file]):
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in known:
            assert len(node.args) <= FIELDS, f"line {node.lineno}: {ast.unparse(node)}"


@pytest.mark.parametrize("file", SOURCES)
def test_docstrings_say_what_a_thing_is(file):
    """A docstring that begins "The same" sends its reader away to find out the same as what."""
    for node in ast.walk(SOURCES[file]):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            assert not (ast.get_docstring(node) or "").startswith("The same"), getattr(node, "name", file)


LAYOUT = re.compile(r"^Layout\b[^\n]*(?:\n[^\n]+)*?::\n\n((?: {4}[^\n]*\n|\n)+)", re.M)
DRAWN = re.compile(r"\[ .+ \]|[┌├└│]|(?:^|\s)\^ ")  # cells between brackets, frames, pointers to cells


def drawn_lines(text: str) -> list[str]:
    """The lines of the paragraph "Layout" of a docstring that draw something, in its literal block."""
    block = LAYOUT.search(text + "\n")
    return [line for line in block[1].splitlines() if DRAWN.search(line)] if block else []


@pytest.mark.parametrize("file", [f for f in SOURCES if f.endswith("_loops.py")])
def test_loops_show_how_their_memory_is_laid_out(file):
    """The docstring of a module of loops has a paragraph "Layout…::" with a picture: words and shapes do not do."""
    assert len(drawn_lines(ast.get_docstring(SOURCES[file]) or "")) >= 2


def test_words_are_no_picture():
    """A paragraph of words, or a table of names and shapes, draws nothing; cells, frames and pointers do."""
    assert not drawn_lines("Loops.\n\nLayout: D (n, n) distances; D[c, i] that of row i from c.")
    assert not drawn_lines(
        "Layout::\n\n    D (n, n)   distances, D[c, i] that of row i\n    costs (k,) rank << 32 | row"
    )
    picture = "    data   [ row 0 | row 1 | … ]\n             ^ indptr[0]\n    hist   ┌ bin 0\n"
    assert len(drawn_lines(f"Layout, for n rows::\n\n{picture}\nData::\n\n    x [ a | b ]")) == 3
