"""Forged model files: every kind of model, saved, changed by hand with checksums made good, opened and asked.

``python tests/registry/fuzz_files.py [--number 2000] [--only NAME] [--seed 0]`` writes a table with one line for each
instance of the registry: files refused in words, files that still open, and what must not be: raw errors of `load`,
crashes of the process and calls that do not end. Each instance is handled in a child process of its own. First come
every array of the file in turn, in every way of `WAYS`, and every number; then as many changes are drawn as asked for.

Most reads beyond an array crash nothing. With NUMBA_BOUNDSCHECK=1 in the environment, and a folder of its own in
NUMBA_CACHE_DIR, loops are compiled with checks, and what must not be is "beyond", too.
"""

import argparse
import copy
import functools
import io
import json
import multiprocessing
import os
import re
import resource
import signal
import sys
import tempfile
import warnings
import zipfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from asked_methods import MANY, ask, computed, questions
from fuzz_inputs import serve
from registry_cases import all_instances, label, problem
from sklearn.base import clone

import didact
from didact.core.errors import InputError

SECONDS, BYTES = 20, 8 << 30
TURNS, DRAWN = 600, 10**6  # most changes in turn; seeds from which on changes are drawn
HANGS = signal.SIGPROF, signal.SIGALRM
NUMBERS = [
    0,
    -1,
    1,
    2,
    7,
    255,
    2**31 - 1,
    2**31,
    -(2**31),
    2**62,
    -(2**62),
    0.5,
    -3.5,
    1e308,
    float("nan"),
    float("inf"),
]
OTHER = [None, True, "", "no", [], [1], {}]
TYPES = ["i1", "u1", "i2", "<i4", ">i4", "<i8", "<u8", "<f2", "<f4", "<f8", ">f8", "?", "<c16", "S4", "U3", "M8[s]"]


def unpacked(data):
    """The members of a zip by name."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members):
    """A zip with good checksums."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


# ------------------------------------------------------------------------------------------------ changes


def change_array(rng, members, schema):
    """Other numbers, another shape or another type in one of the arrays."""
    names = [name for name in members if name.endswith(".npy")]
    if not names:
        return
    name = names[rng.integers(len(names))]
    array = np.load(io.BytesIO(members[name]))
    how = rng.integers(6)
    if how == 0 and array.size and array.dtype.names is None:
        flat = array.ravel()
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                flat[rng.integers(flat.size)] = np.asarray(NUMBERS[rng.integers(len(NUMBERS))]).astype(array.dtype)
            except (TypeError, ValueError):
                return
        array = flat.reshape(array.shape)
    elif how == 0 and array.size:
        field = array.dtype.names[rng.integers(len(array.dtype.names))]
        array[field].reshape(-1)[...] = rng.integers(-5, 2**31 - 1)
    elif how == 1:
        array = array[: rng.integers(len(array) + 1)] if array.ndim else array
    elif how == 2:
        array = np.concatenate([array, array[: rng.integers(1, 4)]]) if array.ndim else array
    elif how == 3:
        shapes = [np.ravel, lambda a: a[None], np.transpose, lambda a: a.reshape(-1, 1), lambda a: a.ravel()[:0]]
        array = shapes[rng.integers(len(shapes))](array)
    elif how == 4:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                array = array.astype(TYPES[rng.integers(len(TYPES))])
            except (TypeError, ValueError):
                return
    else:
        array = np.roll(array, 1) if array.size else array
    buffer = io.BytesIO()
    np.save(buffer, array)
    members[name] = buffer.getvalue()


def exchange_arrays(rng, members, schema):
    """Two arrays change places."""
    names = [name for name in members if name.endswith(".npy")]
    if len(names) > 1:
        a, b = rng.choice(names, 2, replace=False)
        members[a], members[b] = members[b], members[a]


def leaves(node, path=()):
    """The places of all numbers and texts in the schema that are content."""
    if isinstance(node, dict):
        for key, part in node.items():
            if key not in ("__id__", "protocol", "_skops_version"):
                yield from leaves(part, (*path, key))
    elif isinstance(node, list):
        yield path
        for i, part in enumerate(node):
            yield from leaves(part, (*path, i))
    else:
        yield path


def parent_of(node, path):
    for key in path[:-1]:
        node = node[key]
    return node


def change_leaf(rng, members, schema):
    """Another number or text, or a list that is shorter or longer, somewhere in the schema."""
    places = [path for path in leaves(schema) if path]
    path = places[rng.integers(len(places))]
    parent, key = parent_of(schema, path), path[-1]
    value = parent[key]
    if isinstance(value, list):
        parent[key] = [value[:-1], value + value[-1:], value[::-1], []][rng.integers(4)]
    elif isinstance(value, str) and path[-1] == "content":  # a number or a text as JSON
        new = (NUMBERS + OTHER)[rng.integers(len(NUMBERS) + len(OTHER))]
        parent[key] = json.dumps(new)
    elif isinstance(value, str):
        others = [parent_of(schema, other)[other[-1]] for other in places if other[-1] == key]
        parent[key] = others[rng.integers(len(others))]
    else:
        parent[key] = (NUMBERS + OTHER)[rng.integers(len(NUMBERS) + len(OTHER))]


def exchange_nodes(rng, members, schema):
    """A part of the schema stands in the place of another one."""
    places = [path for path in leaves(schema) if len(path) > 2]
    a, b = (places[rng.integers(len(places))][: -1 - rng.integers(2)] for _ in range(2))
    if a and b and a != b[: len(a)] and b != a[: len(b)]:
        parent_of(schema, a)[a[-1]] = copy.deepcopy(parent_of(schema, b)[b[-1]])


def mask_array(rng, members, schema):
    """An array becomes a masked one, which is an array, too, and has another memory."""
    places = [path[:-1] for path in leaves(schema) if path[-1] == "__loader__"]
    nodes = [parent_of(schema, (*place, "")) for place in places]
    nodes = [node for node in nodes if node["__loader__"] == "NdArrayNode" and node.get("type") == "numpy"]
    if nodes:
        node = nodes[rng.integers(len(nodes))]
        data = copy.deepcopy(node)
        node.clear()
        node |= {"__module__": "numpy.ma", "__class__": "MaskedArray", "__loader__": "MaskedArrayNode", "__id__": 1}
        node["content"] = {"data": data, "mask": copy.deepcopy(data)}


CHANGES = [mask_array, change_array, change_array, change_leaf, exchange_arrays, exchange_nodes]


def resized(way):
    """A change of the shape of an array, as a function of it, for arrays of one dimension or more."""
    return lambda a: way(a) if a.ndim else None


def filled(value, all_of_it):
    """A change that puts a number into the last or into all places of an array of whole numbers."""

    def change(a):
        if a.dtype.kind not in "iu" or not a.size:
            return None
        out = a.copy()
        with np.errstate(all="ignore"):
            out.reshape(-1)[... if all_of_it else -1] = np.array(value).astype(a.dtype)
        return out

    return change


WAYS = {
    "first row": resized(lambda a: a[:1]),
    "half": resized(lambda a: a[: len(a) // 2]),
    "one less": resized(lambda a: a[:-1]),
    "one more": resized(lambda a: np.concatenate([a, a[-1:]])),
    "ten times": resized(lambda a: np.concatenate([a] * 10)),
    "wider": lambda a: np.repeat(a, 3, axis=-1) if a.ndim > 1 else None,
    "narrower": lambda a: a[..., :1] if a.ndim > 1 else None,
    "turned": lambda a: np.ascontiguousarray(a.T) if a.ndim > 1 else None,
    "flat": lambda a: a.ravel() if a.ndim > 1 else None,
    "a column": lambda a: a[:, None] if a.ndim == 1 else None,
    "a row": resized(lambda a: a[None]),
    "no rows": resized(lambda a: a[:0]),
    "number": lambda a: a.reshape(-1)[0] if a.size else None,
    "by columns": lambda a: np.asfortranarray(a) if a.ndim > 1 else None,
    "int8": lambda a: a.astype(np.int8) if a.dtype.kind in "fiu" else None,
    "float32": lambda a: a.astype(np.float32) if a.dtype.kind in "fiu" else None,
    "float64": lambda a: a.astype(np.float64) if a.dtype.kind in "iu" else None,
    "last −1": filled(-1, False),
    "last huge": filled(2**31 - 1, False),
    "all −7": filled(-7, True),
    "all huge": filled(2**40 + 12_345, True),
}
INSTEAD = "0", "-1", "3", "1000000", "4611686018427387904"  # of a number in the schema


@functools.cache
def in_turn(original):
    """Every array with every way to change it, and every number with every other one, in random order."""
    members = unpacked(unpacked(original)["model.skops"])
    schema = json.loads(members["schema.json"])
    arrays = [(name, way) for name in members if name.endswith(".npy") for way in WAYS]
    numbers = [path for path in leaves(schema) if path and path[-1] == "content" and _is_number(schema, path)]
    turns = arrays + [(path, text) for path in numbers for text in INSTEAD]
    some = np.random.default_rng(0).permutation(len(turns))[:TURNS]  # of forests, whose trees are alike
    return [turns[k] for k in some]


def _is_number(schema, path):
    text = parent_of(schema, path)[path[-1]]
    try:
        return type(json.loads(text)) in (int, float)
    except (TypeError, ValueError):
        return False


def apply_one(members, schema, place, how):
    """One of the changes of `in_turn`; whether it changes anything."""
    if isinstance(place, tuple):
        parent_of(schema, place)[place[-1]] = how
        return True
    array = np.load(io.BytesIO(members[place]))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        new = WAYS[how](array) if array.dtype.names is None or "flat" not in how else None
    if new is None:
        return False
    buffer = io.BytesIO()
    np.save(buffer, new)
    members[place] = buffer.getvalue()
    return True


def forged(original, seed):
    """The file with one change of `in_turn`, or from the seed DRAWN on with one to three; None if there is none."""
    if len(in_turn(original)) <= seed < DRAWN:
        return None
    rng = np.random.default_rng(seed)
    outer = unpacked(original)
    members = unpacked(outer["model.skops"])
    schema = json.loads(members["schema.json"])
    if seed < DRAWN:
        if not apply_one(members, schema, *in_turn(original)[seed]):
            return None
    else:
        for _ in range(rng.integers(1, 4)):
            CHANGES[rng.integers(len(CHANGES))](rng, members, schema)
    members["schema.json"] = json.dumps(schema).encode()
    return packed(outer | {"model.skops": packed(members)})


# ------------------------------------------------------------------------------------------------ a child


def saved(model):
    """A fitted model as the bytes of a file, and rows and a target to ask it about."""
    X, y = problem(model, n=60, p=4)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        fitted = clone(model).fit(X, y)
        path = Path(folder) / "model.didact"
        didact.save(fitted, path)
        return path.read_bytes(), X, y


def attempt(path, X, y):
    """What becomes of one file: refused, opened, or a raw error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = didact.load(path)
        except InputError:
            return "refused"
        except Exception as error:
            return f"raw {type(error).__name__}"
        attributes = computed(model)
        for name in (*questions(model), *attributes):
            try:
                getattr(model, name) if name in attributes else ask(model, name, X, y)
            except Exception as error:
                if isinstance(error, IndexError) and str(error) == "index is out of bounds":  # what Numba says
                    return f"beyond: {name}"
    return "opened"


def limit(seconds):
    """Allow so many seconds of processor time and, for calls that only wait, ten times as many by the clock; 0: any."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 10 * seconds)


def child(index, seeds, sender):
    """Forge and open files one after the other; before each, its seed is told, and after it what became of it."""
    model = all_instances()[index]
    original, X, y = saved(model)
    many = np.resize(X, (MANY, X.shape[1])), np.resize(y, (MANY, *y.shape[1:]))
    for kind in HANGS:
        signal.signal(kind, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for stream in (1, 2):  # a forged `verbose` writes much
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forged.didact"
        for seed in seeds:
            changed = forged(original, seed)
            sender.send((seed, None))
            if changed is None:
                continue
            path.write_bytes(changed)
            limit(SECONDS)
            outcome = attempt(path, X, y)
            if outcome == "opened":
                limit(SECONDS)
                outcome = attempt(path, *many)
            limit(0)
            sender.send((seed, outcome))
    sender.send(None)


def count(index, seeds):
    """How often what became of the files of one instance, and the seeds of those that must not be."""
    outcomes, bad = Counter(), []
    left = list(seeds)
    serve()
    context = multiprocessing.get_context("forkserver")
    while left:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=child, args=(index, left, sender))
        process.start()
        sender.close()
        current, ended = None, False
        while not ended:
            try:
                message = receiver.recv()
            except EOFError:
                break
            ended = message is None
            current, outcome = message or (current, None)
            if outcome is not None:
                outcomes[re.match(r"\w+", outcome)[0]] += 1
                if outcome not in ("refused", "opened"):
                    bad.append((current, outcome))
        process.join()
        if ended:
            return outcomes, bad
        if current is None:
            return outcomes, [(left[0], f"could not begin (exit {process.exitcode})")]
        kind = "hang" if -process.exitcode in HANGS else f"crash ({process.exitcode})"
        outcomes[kind.partition(" ")[0]] += 1
        bad.append((current, kind))
        left = left[left.index(current) + 1 :]
    return outcomes, bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--number", type=int, default=2000, help="forged files for each instance, beside those in turn")
    parser.add_argument("--only", default="", help="part of the name of the instances to try")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true", help="all parameter sets of the tests, not one of each class")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    models = [(i, model) for i, model in enumerate(all_instances()) if arguments.only in label(model)]
    first = {type(model): (i, model) for i, model in reversed(models)}
    models = models if arguments.all else sorted(first.values(), key=lambda pair: pair[0])
    total, failures = Counter(), 0
    drawn = range(DRAWN + arguments.seed, DRAWN + arguments.seed + arguments.number)
    seeds = [*range(TURNS if arguments.seed == 0 else 0), *drawn]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        found = pool.map(lambda pair: count(pair[0], seeds), models)
        for (_, model), (outcomes, bad) in zip(models, found, strict=True):
            total += outcomes
            failures += len(bad)
            print(f"{label(model)[:90]:90s}", dict(outcomes), bad[:8], flush=True)
    print("in sum", dict(total))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
