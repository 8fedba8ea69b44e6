"""Compiled loops: dispatch of nouns, and a disk cache that is fresh, shared, tidy and never in the way."""

import gc
import importlib
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba.core import event

import didact
from didact.core.errors import ParameterError
from didact.core.jit import disk_cache as module
from didact.core.jit import dispatch, entries, flat, jit
from didact.core.threads import parallel_map

SOURCE = Path(didact.__file__).parent


class Huber(NamedTuple):
    delta: float = 1.0

    def grad1(self, y, z):
        r = z - y
        return r if abs(r) <= self.delta else (self.delta if r > 0 else -self.delta)


class Squared(NamedTuple):
    def grad1(self, y, z):
        return z - y


class Mixed(Huber):
    """A noun that inherits its scalar method, as those do that have a common base."""

    __slots__ = ()


class Pair(NamedTuple):
    first: Huber
    weight: float


grad1 = dispatch("grad1")


@jit
def gradient(loss, y, z, out):
    for i in range(y.shape[0]):
        out[i] = grad1(loss, y[i], z[i])


@jit(fastmath={"contract"})
def scaled(pair, y, z):
    return pair.weight * grad1(pair.first, y, z)


# ------------------------------------------------------------------------------------------------ dispatch


@pytest.mark.parametrize("loss", [Huber(), Huber(0.25), Squared(), Mixed(0.5)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_dispatch_equals_python(loss, dtype):
    y, z = np.random.default_rng(0).normal(size=(2, 50)).astype(dtype)
    out = np.empty_like(y)
    gradient(loss, y, z, out)
    expected = np.array([loss.grad1(a, b) for a, b in zip(y, z)])
    assert out.dtype == dtype
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    np.testing.assert_array_equal([grad1(loss, a, b) for a, b in zip(y, z)], expected)


def test_dispatch_on_a_noun_inside_a_noun_and_on_a_compiled_function():
    assert scaled(Pair(Huber(0.5), 3.0), 0.0, 2.0) == 1.5

    @jit
    def absolute(y, z):
        return 1.0 if z > y else -1.0

    y, z, out = np.zeros(3), np.array([-1.0, 2.0, 3.0]), np.empty(3)
    gradient(absolute, y, z, out)
    np.testing.assert_array_equal(out, [-1, 1, 1])
    assert grad1(absolute, 0.0, 2.0) == 1.0


def test_noun_without_the_method_is_named():
    with pytest.raises(Exception, match="Pair has no scalar method 'grad1'"):
        gradient(Pair(Huber(), 1.0), np.zeros(1), np.zeros(1), np.zeros(1))


def test_loops_release_the_interpreter_lock_and_accept_options():
    assert gradient.targetoptions["nogil"]
    assert scaled.targetoptions["fastmath"]


def test_only_the_compiler_imports_numba():
    importers = {f for f in SOURCE.rglob("*.py") if "import numba" in (t := f.read_text()) or "from numba" in t}
    assert {f.relative_to(SOURCE).parts[:2] for f in importers} == {("core", "jit")}


def fork_child(queue):
    out = np.empty(4)
    parallel_map(lambda i: gradient(Huber(), np.zeros(4), np.full(4, float(i)), out), range(3))
    queue.put(out.shape)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
def test_what_the_compiler_leaves_counts_as_old():
    """It is looked at with everything, the next time, and not at once."""
    kept = []

    class Fill(event.Listener):
        def on_start(self, event):
            kept.extend([] for _ in range(200_000))

        def on_end(self, event):
            pass

    @numba.njit  # never cached
    def double(x):
        return x + x

    importlib.import_module("didact.core.jit.compiler")
    gc.collect()
    with event.install_listener("numba:compile", Fill()):
        double(np.uint16(1))
    young = len(gc.get_objects(generation=0)) + len(gc.get_objects(generation=1))
    assert gc.isenabled()
    assert len(kept) >= 200_000
    assert young < 100_000


def test_what_the_user_has_frozen_stays_frozen():
    @numba.njit  # never cached
    def double(x):
        return x + x

    importlib.import_module("didact.core.jit.compiler")
    gc.freeze()
    try:
        double(np.uint16(1))
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_flat_is_a_view_of_all_elements():
    @jit
    def count_up(array):
        words = flat(array)
        for k in range(words.shape[0]):
            words[k] = k
        return words

    array = np.zeros((3, 2, 4))
    found = count_up(array)
    np.testing.assert_array_equal(array, np.arange(24.0).reshape(3, 2, 4))
    assert np.shares_memory(found, array)
    np.testing.assert_array_equal(count_up(array[1:]), flat(array[1:]))
    with pytest.raises(numba.TypingError):
        count_up(np.zeros((3, 2), order="F"))


def test_loops_run_in_a_forked_child():
    fork_child(multiprocessing.SimpleQueue())
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=fork_child, args=(queue,))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert queue.get() == (4,)


# ------------------------------------------------------------------------------------------------ the disk cache

NOUN = """
from typing import NamedTuple
class Line(NamedTuple):
    slope: float = 1.0
    def value1(self, z):
        return FACTOR * self.slope * z
"""
LOOPS = """
import numpy as np
from didact.core.jit import dispatch, jit
from didact.parts.line import Line
value1 = dispatch("value1")
@jit
def total(noun, x):
    s = 0.0
    for i in range(x.shape[0]):
        s += value1(noun, x[i])
    return s
def warm():
    for kind in (np.float32, np.float64):
        total(Line(), np.ones(2, kind))
"""
USE = """
import numpy as np
from didact.engines.sum_loops import total
from didact.parts.line import Line
print(total(Line(), np.ones(3)), sum(total.stats.cache_hits.values()))
"""
FOLDER = "from didact.core.jit import cache_folder; print(cache_folder())"
FOREIGN = """
import numpy as np
from didact.engines.sum_loops import total
import mine
print(total(mine.Line(), np.ones(3)), sum(total.stats.cache_hits.values()))
print(total(mine.twice, np.ones(3)))
"""


class Copy:
    """A small didact of its own in a folder: the real `core/jit`, one noun and one loop."""

    def __init__(self, root, package):
        self.root, self.package = root, package
        for folder in ("core", "parts", "engines"):
            (package / folder).mkdir(parents=True)
            (package / folder / "__init__.py").touch()
        (package / "__init__.py").touch()
        shutil.copytree(SOURCE / "core" / "jit", package / "core" / "jit")
        shutil.copy(SOURCE / "core" / "typing.py", package / "core")
        (package / "engines" / "sum_loops.py").write_text(LOOPS)
        self.noun(1)
        self.environment = {"PYTHONPATH": f"{package.parent}:{root}", "PYTHONDONTWRITEBYTECODE": "1"}
        self.environment |= {"XDG_CACHE_HOME": str(root / "home"), "PATH": os.environ["PATH"], "HOME": str(root)}

    def noun(self, factor):
        (self.package / "parts" / "line.py").write_text(NOUN.replace("FACTOR", str(float(factor))))

    def run(self, *arguments, **environment):
        done = subprocess.run(
            [sys.executable, *arguments],
            env=self.environment | environment,
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def files(self, ending):
        return sorted(self.root.rglob(f"*{ending}"))


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "pyproject.toml").touch()
    return Copy(tmp_path, tmp_path / "src" / "didact")


@pytest.fixture
def installed(tmp_path):
    return Copy(tmp_path, tmp_path / "site-packages" / "didact")


def test_second_process_finds_the_code(checkout):
    assert checkout.run("-c", USE) == "3.0 0"
    assert checkout.run("-c", USE) == "3.0 1"
    assert all(f.is_relative_to(checkout.root / ".cache") for f in checkout.files(".code"))


@pytest.mark.slow
def test_edit_in_a_callee_is_seen_and_old_folders_go(checkout):
    assert checkout.run("-c", USE) == "3.0 0"
    for factor in (2, 3, 4):
        checkout.noun(factor)
        assert checkout.run("-c", USE) == f"{3.0 * factor} 0"
    assert len(list((checkout.root / ".cache" / "numba").glob("sum_loops-*"))) == module.KEPT_FOLDERS
    assert len(checkout.files(".code")) == module.KEPT_FOLDERS


def test_edit_in_a_file_that_a_loop_does_not_know_keeps_its_code(checkout):
    checkout.run("-c", USE)
    (checkout.package / "parts" / "other.py").write_text("FACTOR = 2.0\n")
    assert checkout.run("-c", USE) == "3.0 1"


def test_edit_in_the_vectors_that_a_loop_uses_is_seen(checkout):
    vectors, loops = checkout.package / "core" / "jit" / "simd.py", checkout.package / "engines" / "sum_loops.py"
    whole = vectors.read_text()
    loops.write_text("from didact.core.jit.simd import SCALE\n" + LOOPS.replace("s += ", "s += SCALE * "))
    for scale in (1.0, 2.0):
        vectors.write_text(f"{whole}\nSCALE = {scale}\n")
        assert checkout.run("-c", USE) == f"{3.0 * scale} 0"


@pytest.mark.slow
def test_edit_in_a_noun_that_the_loop_does_not_import_is_seen(checkout):
    loops = checkout.package / "engines" / "sum_loops.py"
    loops.write_text(loops.read_text().replace("from didact.parts.line import Line\n", "").partition("def warm")[0])
    assert checkout.run("-c", USE) == "3.0 0"
    assert checkout.run("-c", USE) == "3.0 1"
    checkout.noun(2)
    assert checkout.run("-c", USE) == "6.0 0"


def test_nouns_of_other_people_are_never_stale_and_leave_nothing(checkout):
    def mine(factor):
        twice = "import numba\n@numba.njit\ndef twice(z):\n    return 2 * z\n"
        (checkout.root / "mine.py").write_text(NOUN.replace("FACTOR", str(factor)) + twice)

    mine(1.0)
    assert checkout.run("-c", FOREIGN) == "3.0 0\n6.0"
    mine(7.0)
    assert checkout.run("-c", FOREIGN) == "21.0 0\n6.0"
    assert checkout.files(".code") == []


def test_install_keeps_the_code_beside_the_package(installed):
    assert installed.run("-c", FOLDER).startswith(str(installed.package / "__pycache__"))


def test_without_a_writable_package_the_users_cache_is_taken(installed):
    (installed.package / "__pycache__").touch()  # a file where the folder would be: as good as read-only, also for root
    assert installed.run("-c", FOLDER).startswith(str(installed.root / "home"))


def test_without_any_writable_folder_loops_still_run(installed):
    (installed.package / "__pycache__").touch()
    (installed.root / "home").touch()
    assert installed.run("-c", FOLDER) == "None"
    assert installed.run("-c", USE) == "3.0 0"
    assert installed.files(".code") == []


def test_folder_of_the_user_is_respected(checkout):
    elsewhere = checkout.root / "elsewhere"
    assert checkout.run("-c", FOLDER, NUMBA_CACHE_DIR=str(elsewhere)).startswith(str(elsewhere))


def flipped(content, place):
    return content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :]


class Mischief:
    """A pickle that leaves a trace when it is loaded."""

    def __reduce__(self):
        return open, ("trace", "w")


DAMAGE = {
    "one bit in the middle": lambda content: flipped(content, len(content) // 2),
    "one bit at the end": lambda content: flipped(content, len(content) - 1),
    "one bit of the checksum": lambda content: flipped(content, len(entries.MAGIC) + 3),
    "truncated": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "another pickle": lambda content: pickle.dumps(Mischief()),
    "another pickle behind the checksum": lambda content: content[:54] + zlib.compress(pickle.dumps(Mischief())),
}


@pytest.mark.slow
def test_damaged_entry_is_compiled_anew(checkout):
    checkout.run("-c", USE)
    (file,) = checkout.files(entries.ENDING)
    whole = file.read_bytes()
    for name, damage in DAMAGE.items():
        file.write_bytes(damage(whole))
        assert checkout.run("-c", USE) == "3.0 0", name
        assert not (checkout.root / "trace").exists(), name
        assert entries.key_of(file) is not None, "it has been written anew"
    assert checkout.run("-c", USE) == "3.0 1"


@pytest.mark.parametrize("place", [0, 20, 52, 60, -1])
def test_every_flipped_bit_is_found(tmp_path, place):
    file, key = tmp_path / "entry", "triple cpu features\nfunction"
    entries.write(file, key, b"machine code" * 20)
    assert entries.read(file, key) == b"machine code" * 20
    assert entries.read(file, "another key") is None
    content = file.read_bytes()
    file.write_bytes(flipped(content, place % len(content)))
    assert entries.read(file, key) is None
    assert entries.key_of(file) is None
    assert os.listdir(tmp_path) == ["entry"]


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def full(*places):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(entries.os, "replace", full)
    with pytest.raises(OSError):
        entries.write(tmp_path / "entry", "key", b"code")
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_processes_that_compile_at_once_leave_whole_entries(checkout):
    command = [sys.executable, "-c", USE]
    team = [subprocess.Popen(command, env=checkout.environment, cwd=checkout.root) for _ in range(4)]
    assert [process.wait(100) for process in team] == [0] * 4
    assert [entries.key_of(file) is not None for file in checkout.files(entries.ENDING)] == [True]
    assert checkout.run("-c", USE) == "3.0 1"


@pytest.mark.slow
def test_exchanged_files_are_noticed(checkout):
    checkout.run("-m", "didact.core.jit")
    first, second = checkout.files(".code")
    first_bytes, second_bytes = first.read_bytes(), second.read_bytes()
    first.write_bytes(second_bytes)
    second.write_bytes(first_bytes)
    assert checkout.run("-c", USE) == "3.0 0"


def test_cache_that_fills_up_does_not_break_a_fit(checkout):
    code = "import didact.core.jit.entries as entries\n"
    code += "def full(*a): raise OSError(28, 'No space left on device')\n"
    code += "entries.os.replace = full\n" + USE
    assert checkout.run("-c", code) == "3.0 0"


def test_warm_up_command(checkout):
    line = checkout.run("-m", "didact.core.jit")
    assert "\n" not in line
    assert "loops of 1 module ready" in line
    assert str(checkout.root / ".cache") in line
    assert checkout.run("-c", USE) == "3.0 1"


def test_loops_run_without_numba_when_it_is_switched_off(checkout):
    code = USE.replace("sum(total.stats.cache_hits.values())", "type(total.compiled).__name__")
    assert checkout.run("-c", code, NUMBA_DISABLE_JIT="1") == "3.0 function"


# ------------------------------------------------------------------------------------------------ warming

SECOND = LOOPS.replace("total", "other")
LOUD = """
import sys
from didact.core.jit.warming import warm
print("in the code of this module", file=sys.stderr)
print(warm(report=lambda done, total, left: print(done, total, left >= 0)))
"""


def test_warming_in_several_processes_reports_and_leaves_code_for_the_baseline(checkout):
    (checkout.package / "engines" / "more_loops.py").write_text(SECOND)
    assert checkout.run("-c", LOUD) == "1 2 True\n2 2 True\n2"
    keys = [entries.key_of(file) for file in checkout.files(entries.ENDING)]
    assert len(keys) == 4
    if module.has_baseline():
        assert {key.split(" ")[1] for key in keys} == {module.BASELINE}
    assert checkout.run("-c", USE) == "3.0 1"
    assert checkout.run("-c", USE, DIDACT_NATIVE="1") == "3.0 0", "the CPU itself, for who asks for it"
    assert checkout.run("-c", USE) == "3.0 1"


@pytest.mark.slow
def test_warming_for_this_very_cpu_comes_beside_the_baseline(checkout):
    checkout.run("-m", "didact.core.jit")
    before = set(checkout.files(entries.ENDING))
    checkout.run("-m", "didact.core.jit", "--native")
    fresh = set(checkout.files(entries.ENDING)) - before
    if module.has_baseline():
        assert len(fresh) == len(before) == 2
        assert all(entries.key_of(file).split(" ")[1] != module.BASELINE for file in fresh)
    assert checkout.run("-c", USE, DIDACT_NATIVE="1") == "3.0 1"


def test_warming_a_chapter_compiles_what_it_uses(checkout):
    (checkout.package / "engines" / "more_loops.py").write_text(SECOND)
    (checkout.package / "tree").mkdir()
    (checkout.package / "tree" / "__init__.py").write_text("from didact.engines.more_loops import other\n")
    assert "loops of 1 module ready" in checkout.run("-m", "didact.core.jit", "tree")
    assert {file.parent.name.partition("-")[0] for file in checkout.files(entries.ENDING)} == {"more_loops"}


def test_a_chapter_that_does_not_exist_is_named():
    with pytest.raises(ParameterError, match=r"'trees' is no chapter of didact; there are .*linear_model.*tree"):
        didact.warm("trees")


def test_a_file_of_loops_that_fails_is_named(checkout):
    (checkout.package / "engines" / "bad_loops.py").write_text("def warm():\n    raise ValueError('no good')\n")
    code = "from didact.core.jit.warming import warm\ntry:\n    warm(jobs=1)\nexcept RuntimeError as e:\n    print(e)"
    assert checkout.run("-c", code) == "Compiling ahead has failed: didact.engines.bad_loops: ValueError: no good"


# ------------------------------------------------------------------------------------------------ loops in loops


@jit
def root(x, k):
    if x[k] < 0.0:
        raise ValueError("negative")
    return x[k] ** 0.5


@jit
def roots(x):
    return root(x, 0) + root(x, 1)


def test_a_loop_that_others_call_is_compiled_into_them():
    """It has no machine code of its own before Python calls it, and no variants for constants."""
    assert roots(np.array([4.0, 9.0])) == 5.0
    assert root.overloads == {}
    compiled = next(iter(roots.overloads.values()))
    code = compiled.library._shared_module or compiled.library._final_module
    seen = [v.name for v in code.global_variables if v.name.startswith("_ZN08NumbaEnv") and "4rootB" in v.name]
    assert len(seen) == 1
    assert root(np.array([4.0, 9.0]), 1) == 3.0
    assert len(root.overloads) == 1


def test_errors_in_a_loop_that_others_call_come_out():
    with pytest.raises(ValueError, match="negative"):
        roots(np.array([4.0, -9.0]))


def test_a_users_function_may_call_a_loop():
    mine = numba.njit(lambda x: roots(x) + 1.0)
    assert mine(np.array([4.0, 9.0])) == 6.0


# ------------------------------------------------------------------------------------------ what loops call


def run_with_empty_cache(folder, code):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_cold_loop_is_compiled_for_size_and_once(tmp_path):
    code = """
import numpy as np
from didact.core.jit import jit
@jit(cold=True)
def seldom(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
    return total
@jit
def often(x):
    return seldom(x) + max(x[0], x[1]) * min(x[0], x[1])
x = np.arange(1.0, 9.0)
assert often(x) == often.py_func(x) and seldom(x) == seldom.py_func(x)
text = often.inspect_llvm(often.signatures[0])
assert "noinline" in text and "optsize" in text
assert any("call" in line and "seldom" in line for line in text.splitlines())
"""
    run_with_empty_cache(tmp_path, code)


def test_functions_of_numba_in_a_loop_make_no_machine_code_of_their_own(tmp_path):
    """One piece of machine code for the loop, whatever it calls; a user's function is compiled as ever."""
    code = """
import numba, numpy as np
from numba.core import codegen
from didact.core.jit import jit
made, finalize = [], codegen.JITCodeLibrary._finalize_specific
codegen.JITCodeLibrary._finalize_specific = lambda library: (made.append(library.name), finalize(library))[1]
def wide(a, b):
    return max(a[0], b[0]) - min(a[0], b[0])
def user(a, b):
    return max(a[0], b[0]) - min(a[0], b[0])
x, y = np.array([3.0]), np.array([5.0])
assert jit(wide)(x, y) == 2.0 and set(made) <= {"nrt", "wide"}, made
assert numba.njit(user)(y, x) == 2.0 and "user" in made
"""
    run_with_empty_cache(tmp_path, code)


def test_a_loop_knows_what_was_declared_after_other_loops_were_compiled():
    def twice(x):
        return 2 * x

    @jit
    def plain(x):
        return x[0] + x[1]

    @jit
    def declared(x):
        return x[0] + twice(x[1])

    assert plain(np.arange(3.0)) == 1.0
    numba.extending.overload(twice)(lambda x: lambda x: 2 * x)
    assert declared(np.arange(3.0)) == 2.0
