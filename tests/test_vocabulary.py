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
SHARED = {"warm", "T", "R", "F", "S", "Objective"}  # names of which modules of a room have their own by agreement
ARGUMENTS = 12  # of a function; beyond that they are a record
# Functions that took more when the rule came; none is added.
LONG = {
    "decomposition/fast_ica.py:fastica",
    "decomposition/nmf.py:non_negative_factorization",
    "engines/centroids/cuda.py:lloyd_tiles",
    "engines/components/cuda.py:mixture_tiles",
    "engines/components/mixture_loops.py:mixture_pass",
    "engines/constrained/quantile_loops.py:corrector",
    "engines/constrained/quantile_loops.py:take_step",
    "engines/factors/nonnegative_loops.py:dense_pass",
    "engines/factors/nonnegative_loops.py:solve_pass",
    "engines/factors/nonnegative_loops.py:sparse_step_pass",
    "engines/factors/source_loops.py:source_pass",
    "engines/gram/dual_loops.py:sweep_active",
    "engines/gram/dual_loops.py:sweep_classes",
    "engines/gram/dual_loops.py:sweep_rows",
    "engines/linear/coordinate_descent_loops.py:descend_sparse",
    "engines/linear/pass_loops.py:linear_pass",
    "engines/linear/pass_loops.py:linear_piece",
    "engines/linear/pass_loops.py:sparse_pass",
    "engines/linear/pass_loops.py:sparse_piece",
    "engines/linear/softmax_loops.py:_curvature_piece",
    "engines/linear/softmax_loops.py:_softmax_piece",
    "engines/linear/softmax_loops.py:curvature_pass",
    "engines/linear/softmax_loops.py:softmax_pass",
    "engines/neighbors/partitions/balls_loops.py:within_balls",
    "engines/neighbors/partitions/walk_loops.py:nearest_of",
    "engines/neighbors/partitions/walk_loops.py:within_boxes",
    "engines/neighbors/partitions/walk_loops.py:within_of",
    "engines/scores/score_loops.py:score_pass",
    "engines/scores/score_loops.py:score_tile",
    "engines/smoothing/kernel_sums_loops.py:add_points",
    "engines/smoothing/kernel_sums_loops.py:block",
    "engines/smoothing/kernel_sums_loops.py:blocks",
    "engines/smoothing/kernel_sums_loops.py:settle",
    "engines/smoothing/kernel_sums_loops.py:settle_range",
    "engines/stochastic/perceptron_loops.py:vote",
    "engines/stochastic/sgd_loops.py:sgd_steps",
    "engines/stochastic/sgd_loops.py:sgd_sweep",
    "engines/trees/splits/histogram_cut_loops.py:scan_cuts",
    "engines/trees/splits/histogram_cut_loops.py:scan_fixed",
    "engines/trees/splits/histogram_cut_loops.py:scan_numbers",
    "engines/trees/splits/histogram_cut_loops.py:scan_pairs",
    "engines/trees/splits/histogram_subset_loops.py:scan_feature",
    "engines/trees/splits/histogram_subset_loops.py:scan_subsets",
    "linear_model/huber_loops.py:_huber_piece",
    "linear_model/huber_loops.py:huber_pass",
    "linear_model/lasso_path.py:enet_path",
    "tree/export.py:plot_tree",
    "tree/graphviz.py:export_graphviz",
}
# Rooms that import each other, which the room of the compiled pass and one skeleton of growth are to part.
CYCLES = [{"trees", "trees/boosting", "trees/growers", "trees/predict", "trees/rows", "trees/splits"}]
VOCABULARY = (ROOT.parents[1] / "docs" / "vocabulary.md").read_text(encoding="utf-8")


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


def test_a_name_stands_for_one_thing_in_its_room():
    places = defaultdict(set)
    for file, tree in SOURCES.items():
        if file.startswith(BELOW):
            for name in defined(tree):
                if not name.startswith("_") and name not in SHARED:
                    places[file.rpartition("/")[0], name].add(file)
    assert {place: sorted(files) for place, files in places.items() if len(files) > 1} == {}


def reserved():
    """Reserved words of the vocabulary, as they would be written in names, with the room that may define each."""
    table = VOCABULARY.partition("## Reserved words")[2]
    for word, _, room in re.findall(r"^\| ([^|]+) \| ([^|]+) \| `([\w/]+)` \|", table, re.M):
        yield re.sub(r"\W", "", word).lower(), room


def test_reserved_words_have_one_meaning():
    homes = dict(reserved())
    assert {"potential", "observed", "minibatch", "sequence", "state", "episode", "policy"} <= set(homes)
    strange = [
        (file, name)
        for file, tree in SOURCES.items()
        for name in defined(tree)
        if not name.startswith("_") and not file.startswith(homes.get(name.replace("_", "").lower(), file))
    ]
    assert strange == []


def room_of(module):
    """The room of engines that a module belongs to; None outside."""
    parts = module.removeprefix("didact.engines.").split(".")
    if not module.startswith("didact.engines.") or not (ROOT / "engines" / parts[0]).is_dir():
        return None
    inner = "/".join(parts[:2])
    return inner if parts[0] == "trees" and (ROOT / "engines" / inner).is_dir() else parts[0]


def imports_of_rooms():
    """Which rooms of engines import which."""
    edges = defaultdict(set)
    for file, tree in SOURCES.items():
        here = room_of("didact." + file.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        if here is None:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("didact.engines"):
                for alias in node.names:
                    there = room_of(f"{node.module}.{alias.name}")
                    edges[here] |= {there} - {here, None}
    return edges


def reached_from(start, edges):
    """All rooms that a room imports, directly or not."""
    seen, waiting = set(), [start]
    while waiting:
        for room in edges[waiting.pop()] - seen:
            seen.add(room)
            waiting.append(room)
    return seen


def test_rooms_form_no_cycles():
    edges = imports_of_rooms()
    reached = {room: reached_from(room, edges) for room in list(edges)}
    cycles = [{other for other in reached[room] if room in reached.get(other, ())} for room in reached]
    found = [cycle for cycle in cycles if cycle]
    assert [cycle for cycle in found if cycle not in CYCLES] == []
    assert [cycle for cycle in CYCLES if cycle not in found] == [], "this one is gone: take it off the list"


def long_functions():
    """Functions with more arguments than a reader can hold, by file and name."""
    for file, tree in SOURCES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name not in ("__init__", "__new__"):
                names = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                if sum(name.arg not in ("self", "cls") for name in names) > ARGUMENTS:
                    yield f"{file}:{node.name}"


def test_functions_take_a_dozen_arguments_at_most():
    found = set(long_functions())
    assert found - LONG == set()
    assert LONG - found == set(), "these are shorter now: take them off the list"


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
