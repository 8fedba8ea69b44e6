"""Loops before they run: importing them is light, they travel between processes, and Numba stays as it was."""

import os
import pickle
import subprocess
import sys

import cloudpickle
import numpy as np
import pytest

import didact
from didact.core.jit import compiler, dispatch, jit
from didact.core.jit.loop import Loop
from didact.linear_model import huber_loops

PACKAGES = sorted(set(didact.__all__) - {"cli", "study"})
RATIO = 1.3  # of the processor time of importing didact.linear_model and sklearn.linear_model, when all is quiet
NOISE = 1.4


@jit
def plus(x, y=1.0):
    return x + y


@jit
def twice(x):
    return plus(plus(x, 0.0), x)


def test_importing_every_package_leaves_numba_alone():
    code = f"import didact, sys; [getattr(didact, name) for name in {PACKAGES}]\n"
    code += "import didact.engines.trees.growers.histogram, didact.engines.neighbors.index, didact.study, didact.cli\n"
    code += "print('numba' in sys.modules, 'llvmlite' in sys.modules)\n"
    code += "from didact.naive_bayes import GaussianNB; GaussianNB().fit([[0.0], [1.0]], [0, 1])\n"
    code += "print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True"]


LOADED = """
import sys
from didact.naive_bayes import GaussianNB
GaussianNB().fit([[0.0], [1.0]], [0, 1])
print("numba" in sys.modules, "numba.np.arraymath" in sys.modules)
import numba, numpy
print(numba.njit(lambda x: numpy.median(x))(numpy.array([3.0, 1.0, 2.0])))
"""


def test_kept_code_is_loaded_without_what_numba_needs_to_compile():
    """Its declarations take longer to import than Numba itself; they come with the first function that is compiled."""
    for _ in range(2):  # the first process may have to compile
        done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "2.0"]


def test_kept_code_that_hashes_finds_its_secret(tmp_path):
    """LLVM ends the process where a symbol is missing, and the secret of hashes comes with Numba's declarations."""
    (tmp_path / "hash_loops.py").write_text(
        "from didact.core.jit import jit\n\n@jit\ndef hashed(text):\n    return hash(text)\n"
    )
    code = (
        "import hash_loops as h; t = 'a text'; print(h.hashed(t) == hash(t), sum(h.hashed.stats.cache_hits.values()))"
    )
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    environment = os.environ | {"PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    found = [
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert [line.split() for line in found] == [["True", "0"], ["True", "1"]]


@pytest.mark.slow
def test_import_costs_little_more_than_scikit_learns(tmp_path):
    """Processor time, with compiled bytecode as in an install; the least of some runs."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment = kept | {"PYTHONPYCACHEPREFIX": str(tmp_path)}

    def seconds(name):
        code = f"import time; start = time.process_time(); import {name}; print(time.process_time() - start)"
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        return float(done.stdout)

    seconds("didact.linear_model")  # writes the bytecode
    mine, theirs = zip(*((seconds("didact.linear_model"), seconds("sklearn.linear_model")) for _ in range(4)))
    assert min(mine) < NOISE * RATIO * min(theirs)


def test_a_loop_is_light_until_it_runs():
    loop = jit(lambda x: x + 1)
    assert isinstance(loop, Loop)
    assert loop.ready is None
    assert loop(1) == 2
    assert loop.ready is loop.compiled
    assert loop.signatures == loop.compiled.signatures
    with pytest.raises(AttributeError):
        loop.no_such_name  # noqa: B018
    with pytest.raises(AttributeError):
        loop.__no_such_name__  # noqa: B018


def test_loops_call_loops_and_take_named_arguments():
    assert twice(2.0) == 4.0
    assert plus(x=1.0, y=3.0) == 4.0
    assert plus.__name__ == "plus"
    assert plus.__wrapped__ is plus.py_func


@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps])
def test_loops_travel_by_name(dumps):
    loop = next(value for value in vars(huber_loops).values() if isinstance(value, Loop))
    assert pickle.loads(dumps(loop)) is loop


def test_a_loop_made_inside_a_function_travels_as_numbas_dispatcher():
    inner = jit(lambda x: 3 * x)
    assert pickle.loads(pickle.dumps(inner))(2) == 6


def test_a_noun_that_comes_after_the_compiler_is_known():
    assert plus(1.0) == 2.0  # Numba is there
    late = dispatch("late1")

    @jit
    def run(noun, x):
        return late(noun, x)

    assert run(plus, 2.0) == 3.0


def test_numba_stays_usable_for_the_users_own_functions(tmp_path):
    (tmp_path / "own.py").write_text("import numba\n@numba.njit(cache=True)\ndef f(x):\n    return x + 1\n")
    code = "import numba.core.config as c; before = {k: v for k, v in vars(c).items() if k.isupper()}\n"
    code += "from didact.naive_bayes import GaussianNB; GaussianNB().fit([[0.0], [1.0]], [0, 1])\n"
    code += "assert before == {k: v for k, v in vars(c).items() if k.isupper()}\n"
    code += "import own; assert own.f(1) == 2; print(own.f.stats.cache_path)"
    environment = os.environ | {"PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}{os.pathsep}{tmp_path}"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().startswith(str(tmp_path / "__pycache__"))


def test_threads_that_run_a_loop_first_build_it_once():
    from concurrent.futures import ThreadPoolExecutor

    loop = jit(lambda x: x * x)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda x: (loop(x), id(loop.compiled)), np.arange(8)))
    assert [value for value, _ in found] == [x * x for x in range(8)]
    assert len({dispatcher for _, dispatcher in found}) == 1


def test_an_attribute_error_of_the_compiler_is_heard_of(monkeypatch):
    def fails(function, options):
        raise AttributeError("no such type")

    monkeypatch.setattr(compiler, "compile_on_call", fails)
    with pytest.raises(AttributeError, match="no such type"):
        Loop(lambda x: x, {})(1.0)
