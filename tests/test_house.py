"""The rules of the house: quick imports, one door per library, layers, documented names, short files and functions."""

import ast
import doctest
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import didact

ROOT = Path(didact.__file__).parent
CHECKOUT = ROOT.parents[1]
FILES = sorted(ROOT.rglob("*.py"))
MODULES = sorted(m.name for m in pkgutil.walk_packages(didact.__path__, "didact.") if not m.name.endswith("__main__"))
NAMES = {path: path.relative_to(ROOT).as_posix() for path in FILES}
HEAVY = ("numba", "torch", "sklearn", "scipy", "pandas", "polars", "dask", "matplotlib")

IMPORT_SECONDS = 0.2
MACHINE = 1.5  # a machine of continuous integration is slower, and other tests run beside this one
FILE_LINES, FUNCTION_LINES, FIT_LINES = 400, 50, 15

# Each third-party library has one door (a file or a package).
DOORS = {
    "numba": ("core/jit/",),
    "dask": ("core/rows/",),
    "distributed": ("core/rows/",),
    "torch": ("core/backend.py", "core/jit/cuda.py", "neural_network/"),
    "triton": ("core/jit/cuda.py",),
    "matplotlib": ("plot/",),
}


def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(tree):
    """The top-level names of all libraries that a file imports, wherever in the file, also by `need`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", None) == "need" and node.args:
            yield str(getattr(node.args[0], "value", "")).partition(".")[0]


# ------------------------------------------------------------------------------------------------ imports


def test_import_is_quick_and_light():
    code = (
        "import time; start = time.perf_counter(); import didact; seconds = time.perf_counter() - start\n"
        f"import sys; print(seconds, *[name for name in {HEAVY} if name in sys.modules])"
    )
    best, loaded = 1e9, None
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        seconds, *loaded = done.stdout.split()
        best = min(best, float(seconds))
        if best < IMPORT_SECONDS:
            break
        time.sleep(1)
    assert best < MACHINE * IMPORT_SECONDS
    assert loaded == []


def test_submodules_and_names_load_on_first_use():
    code = (
        "import didact, sys; didact.linear_model.Ridge; didact.Batches; assert 'torch' not in sys.modules; dir(didact)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    for name in didact.__all__:
        assert getattr(didact, name) is not None, name
    packages = {folder.parent.name for folder in Path(didact.__file__).parent.glob("*/__init__.py")}
    assert packages <= set(didact.__all__)
    with pytest.raises(AttributeError, match="nonsense"):
        didact.nonsense  # noqa: B018


@pytest.mark.parametrize("library", DOORS)
def test_a_library_has_one_door(library):
    outside = [
        NAMES[path]
        for path in FILES
        if library in set(imported(parsed(path))) and not NAMES[path].startswith(DOORS[library])
    ]
    assert outside == []


def test_scikit_learn_s_internals_have_one_door():
    """Underscored modules and names of scikit-learn: in core alone."""
    outside = []
    for path in FILES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "sklearn":
                private = "._" in node.module or any(alias.name.startswith("_") for alias in node.names)
                if private and not NAMES[path].startswith("core/"):
                    outside.append(NAMES[path])
    assert outside == []


def test_types_are_offered_to_users():
    """The marker of PEP 561, which the wheel takes along with all files of the package."""
    assert (ROOT / "py.typed").exists()
    assert 'packages = ["src/didact"]' in (CHECKOUT / "pyproject.toml").read_text(encoding="utf-8")


def test_imports_are_absolute():
    for path in FILES:
        for node in ast.walk(parsed(path)):
            assert not (isinstance(node, ast.ImportFrom) and node.level), NAMES[path]


def test_layers():
    lint = Path(sys.executable).with_name("lint-imports")
    if not lint.exists():
        pytest.skip("import-linter is not installed beside this Python")
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT / "src")}
    done = subprocess.run([str(lint), "--no-cache"], cwd=CHECKOUT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


# ------------------------------------------------------------------------------------------------ documentation


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    assert (module.__doc__ or "").strip(), "the first lines of a file say what it computes"
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.testmod(module, optionflags=flags).failed == 0


def public_names():
    """What a user meets: the names that didact and its public packages offer and that are written here."""
    packages = [didact, *(importlib.import_module(m) for m in MODULES if m.count(".") == 1)]
    found = {}
    for package in packages:
        for name in getattr(package, "__all__", ()):
            thing = getattr(package, name)
            if inspect.ismodule(thing) or not getattr(thing, "__module__", "").startswith("didact"):
                continue
            found[f"{package.__name__}.{name}"] = thing
    return found


PUBLIC = public_names()


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_have_a_docstring_with_an_example(name):
    thing = PUBLIC[name]
    doc = inspect.getdoc(thing) or ""
    assert doc.strip(), name
    if name.startswith("didact.cli.") or (inspect.isclass(thing) and issubclass(thing, Exception)):
        return  # a command and an error are no examples to run
    assert ">>> " in doc, f"{name} has no runnable example"
    assert doctest.DocTestParser().get_examples(doc)


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_pages_for_developers_name_files_that_exist(page):
    named = re.findall(r"`((?:src|tests|docs|benchmarks)/[\w/.-]*)`", (CHECKOUT / page).read_text(encoding="utf-8"))
    assert named
    assert [name for name in named if not (CHECKOUT / name).exists()] == []


def test_the_page_of_the_architecture_has_every_room():
    named = re.findall(r"`([\w/]+)`", (CHECKOUT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    rooms = [folder for layer in ("core", "parts", "engines") for folder in (ROOT / layer).glob("*/__init__.py")]
    assert {room.parent.name for room in rooms} <= {name.rpartition("/")[2] for name in named}


def test_there_are_public_names():
    assert {"didact.linear_model.Ridge", "didact.Batches", "didact.save", "didact.set_threads"} <= set(PUBLIC)


# ------------------------------------------------------------------------------------------------ size


@pytest.mark.parametrize("path", FILES, ids=NAMES.get)
def test_files_and_functions_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= FILE_LINES
    for node in ast.walk(parsed(path)):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        body = node.body[1:] if ast.get_docstring(node) else node.body
        lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
        limit = FIT_LINES if node.name == "fit" else FUNCTION_LINES
        assert lines <= limit, f"{node.name} has {lines} lines"


def test_no_prints_and_no_utils():
    for path in FILES:
        assert path.name != "utils.py"
        calls = [n for n in ast.walk(parsed(path)) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "print"]
        assert not calls, NAMES[path]


def test_rows_are_asked_what_they_are():
    """`rows.memory`, `rows.is_wide`, `rows.require_memory(why)`: no module but `core/rows` looks at their class."""
    for path in FILES:
        calls = [ast.unparse(n) for n in ast.walk(parsed(path)) if isinstance(n, ast.Call)]
        looks = [call for call in calls if re.match(r"isinstance\(.*\bMemoryRows\b", call)]
        assert not looks or NAMES[path].startswith("core/rows/"), f"{NAMES[path]}: {looks}"


def test_compiled_code_lives_where_the_cache_looks_for_it():
    """The decorators of `core.jit` are used in files named *_loops.py alone: their hash names the cache folder."""
    used = {NAMES[path]: _compiled(parsed(path)) for path in FILES if not NAMES[path].startswith("core/jit")}
    assert len({decorator for found in used.values() for decorator in found}) > 1, "all of them are known"
    assert [name for name, found in used.items() if found and not name.endswith("_loops.py")] == []


def _compiled(tree):
    """The decorators from `core.jit`, under whatever name, that a file has."""
    doors = [
        n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and (n.module or "").startswith("didact.core.jit")
    ]
    names = {alias.asname or alias.name: alias.name for door in doors for alias in door.names}
    marks = [mark for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) for mark in n.decorator_list]
    return {names[id] for mark in marks if (id := getattr(getattr(mark, "func", mark), "id", None)) in names}


# ------------------------------------------------------------------------------------------------ privates

# What a class declares of itself, for its subclasses and the machinery, and what a NamedTuple offers under such names.
DECLARED = {"_parameter_constraints", "_attrs", "_test_skips", "_replace", "_fields", "_make", "_asdict"}
# What estimators offer to the functions of their own packages, and hide from tab completion.
OFFERED = {"_rows", "_map_rows", "_after_fit", "_numbers_like"}
PRIVATES = {
    "core/": (
        {
            "_sparse",
            "_missing",
            "_infinite",
            "_new_codes",
            "_finds_infinity",
            "_tensors",
            "_largest_target",
            "_stages",
        }  # traits that estimators declare
        | {"_validate_params", "_init_callback_context", "_children_map"}  # scikit-learn's protocol
        | {"_cache", "_reduce", "_rebuild"}  # Numba's cache, which we replace
        | {"_getframe", "_current_frames"},  # of Python, which has no other way
        "the machinery reads what estimators declare, and the ecosystem's own privates",
    ),
    "core/jit/inner.py": (
        {"_data_layout", "_function_pass_manager", "_dynfunc", "_reload_init"}
        | {"_compiler", "_customize_flags", "_values"},  # options that are compared at every call
        "Numba has no other way to lower a function and not make machine code of it",
    ),
    "accelerate/imports.py": ({"_getframe"}, "whose code asks for a name shows nowhere else"),
    "core/jit/llvm/intrinsics.py": ({"_getvalue"}, "Numba's documented way to give an array back"),
    "core/jit/contexts.py": ({"_registries"}, "whether Numba has new declarations shows nowhere else"),
    "ensemble/prune.py": (
        {"_members", "_weights_not_none", "_pack"},
        "a copy of an ensemble of any kind with some of its learners has their part of its state",
    ),
    "linear_model/glm_cv.py": (
        {"_target_rows", "_minimise", "_estimates", "_alternate", "_fitted"},
        "the cross-validated model goes along the steps of the plain one",
    ),
    "linear_model/logistic_cv.py": ({"_fitted"}, "as above"),
    "linear_model/inference/result.py": ({"_source"}, "two results of the same class are compared"),
    "linear_model/inference/summary.py": ({"_source"}, "the text of a result: one subject in two files"),
    "linear_model/regularization_path.py": (
        {"_sign", "_response_method", "_kwargs"},
        "scikit-learn's scorers show their parts nowhere else",
    ),
    "neighbors/kernel_density_classifier.py": ({"_ready"}, "the densities of all classes are asked in one pass"),
}


def privates(tree):
    """Private attributes that are read of or written to anything but the object itself or a new one of its class."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not node.attr.startswith("_") or node.attr in DECLARED | OFFERED:
            continue
        receiver = node.value.func if isinstance(node.value, ast.Call) else node.value
        if isinstance(node.value, ast.Call) and isinstance(receiver, ast.Attribute):
            receiver = receiver.value  # what a method of one's own returns
        own = isinstance(receiver, ast.Name) and receiver.id in {"self", "cls", "super"}
        if not own and not node.attr.startswith("__"):
            yield node.attr


def excused(name):
    return [names for place, (names, _) in PRIVATES.items() if name.startswith(place)]


def test_nobody_reads_anothers_privates():
    found = {NAMES[path]: set(privates(parsed(path))) for path in FILES}
    strange = {name: attributes.difference(*excused(name)) for name, attributes in found.items()}
    assert {name: attributes for name, attributes in strange.items() if attributes} == {}
    for place, (names, why) in PRIVATES.items():
        assert why
        used = set().union(*(attributes for name, attributes in found.items() if name.startswith(place)))
        assert names <= used, f"{place} needs no excuse for {sorted(names - used)}"


def test_what_counts_as_anothers_private():
    code = "self._a; cls(1)._b; super()._c; x._d; self.x._e; x.__class__; y._replace(a=1); f(x)._g = 1"
    assert set(privates(ast.parse(code))) == {"_d", "_e", "_g"}
