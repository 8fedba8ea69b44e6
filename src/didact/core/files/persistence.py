"""Models in files that can be opened without trusting their author.

A `.didact` file is a zip: `manifest.json` says what it is (format and library versions, class, columns, types, date),
`model.skops` holds the model. There is no pickle and no code in it, and a type that is not known is refused by name.
A third part, `tensors.safetensors`, is reserved for neural networks; models that hold tensors are refused so far.
"""

import copy
import io
import json
import os
import re
import shutil
import stat
import uuid
import warnings
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils._metadata_requests import MetadataRequest, MethodMetadataRequest

from didact.core.errors import InputError
from didact.core.files.left_behind import remove_left_behind
from didact.core.files.nouns import noun_id, noun_of
from didact.core.files.shapes import check_shapes
from didact.core.files.trusted import public_name, public_names, untrusted
from didact.core.progress.trace import CALLBACKS
from didact.core.sparse import check_sparse

FORMAT = 2
LIBRARIES = ("didact", "scikit-learn", "numpy", "scipy", "skops")
MANIFEST, MODEL, TENSORS = "manifest.json", "model.skops", "tensors.safetensors"
NOUN = "a noun of didact"
# The most bytes that a file may unpack to: SMALL, or RATIO times its own size if that is more.
SMALL, RATIO = 64 << 20, 100
COMPRESS_BELOW = 16 << 20  # larger parts are arrays, which hardly shrink
SEARCHED = re.compile(r"SearchCV\.cv_results_\['param_[^']*'\]$")


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, in one step: a file that was there stays whole until the new one is complete.

    Callbacks are not saved. Pipelines and searches of didact's and scikit-learn's models can be saved, too.

    >>> import didact, tempfile, pathlib
    >>> from sklearn.linear_model import Ridge
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "ridge.didact"
    >>> didact.save(Ridge(alpha=2.0).fit([[0.0], [1.0]], [0.0, 1.0]), path)
    >>> didact.load(path).predict([[1.0]])
    array([0.6])
    """
    import skops.io

    name = type(model).__name__
    if not isinstance(model, BaseEstimator):
        raise InputError(f"Only models can be saved, and a {name} is not a model.")
    bare = _mapped(model, _encoded, name, {})
    try:
        part = public_names(skops.io.dumps(bare))
        _, unknown = untrusted(part)
    except Exception as error:
        reason = "it refers to itself" if isinstance(error, RecursionError) else str(error).rstrip(".")
        raise InputError(f"This {name} cannot be saved: {reason}.") from error
    if unknown:
        raise InputError(f"This {name} cannot be saved: it holds {_listed(unknown)}, which may not be in a file.")
    manifest = json.dumps(_manifest(model), indent=2).encode()
    _write(Path(os.path.realpath(path)), {MANIFEST: manifest, MODEL: part})


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model from a file; its predictions are those of the model that was saved, bit for bit.

    Nothing in the file is executed. A damaged file, one from a newer didact, or one that names a type which is not
    known, is refused with a sentence that says so.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import didact
    >>> from didact.linear_model import Ridge
    >>> path = Path(tempfile.mkdtemp()) / "ridge.didact"
    >>> didact.save(Ridge(alpha=2.0).fit([[-1.0], [1.0]], [-2.0, 2.0]), path)
    >>> didact.load(path).predict([[3.0]])
    array([3.])
    """
    import skops.io

    with _opened(path) as file:
        part, manifest = _read(file, os.fspath(path))
    _warn_of_versions(manifest, path)
    try:
        names, unknown = untrusted(part)
        if unknown:
            raise InputError(f"{path} was not opened: it names {_listed(unknown)}, which didact does not trust.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            model = skops.io.loads(part, trusted=names)
        if not isinstance(model, BaseEstimator):
            raise InputError(f"{path} holds a {type(model).__name__}, which is not a model.")
        return _rebuilt(model, type(model).__name__, path)
    except Exception as error:
        if str(path) in str(error):
            raise
        said = str(error).rstrip(".").replace("\n", " ")
        raise InputError(f"{path} is damaged: the model in it cannot be rebuilt ({said}).") from error


# ------------------------------------------------------------------------------------------------ the model


def _mapped(value: Any, leaf: Callable[[Any, str], Any], where: str, memo: dict[int, Any]) -> Any:
    """A copy of a model without its callbacks; `leaf` maps everything that is neither a model nor a plain container."""
    if id(value) in memo:
        return memo[id(value)]

    _refuse_kinds_of_arrays(value, where)

    # `memo` keeps shared objects shared. A model enters it before its parts, so that a reference back to it ends here.
    def inner(part: Any, place: str) -> Any:
        return _mapped(part, leaf, where + place, memo)

    if type(value) in (list, tuple):
        new = type(value)(inner(part, f"[{i}]") for i, part in enumerate(value))
    elif isinstance(value, dict) and NOUN not in value:
        new = copy.copy(value)
        new.update((key, inner(part, f"[{key!r}]")) for key, part in value.items())
    elif isinstance(value, np.ndarray) and value.dtype == object:
        new = value.copy()
        for place, part in np.ndenumerate(value):
            new[place] = inner(part, f"[{place}]")
    elif hasattr(value, "__dict__") and type(value).__module__.partition(".")[0] in ("didact", "sklearn"):
        new = memo[id(value)] = copy.copy(value)
        for name, part in vars(value).items():
            new.__dict__[name] = inner(part, f".{name}")
        for name in CALLBACKS:
            new.__dict__.pop(name, None)
        if isinstance(new, (MetadataRequest, MethodMetadataRequest)) and not isinstance(value.owner, str):
            new.__dict__["owner"] = type(value.owner).__name__  # was the model itself: a reference cycle
    else:
        new = leaf(value, where)
    memo[id(value)] = new
    return new


def _encoded(value: Any, where: str) -> Any:
    """What skops can write: a noun becomes its id and named fields, as skops would drop its class; torch is refused."""
    kind = f"{type(value).__module__}.{type(value).__name__}"
    if any(cls.__module__.partition(".")[0] == "torch" for cls in type(value).__mro__):
        raise InputError(f"{where} is a {kind}, and models that hold torch objects cannot be saved yet.")
    if (name := noun_id(value)) is not None:
        fields = zip(value._fields, value, strict=True)
        return {NOUN: name, "fields": {key: _mapped(field, _encoded, where, {}) for key, field in fields}}
    if isinstance(value, tuple) and type(value).__module__.startswith("didact."):
        raise InputError(f"{where} is a {kind}, which has no id in files and cannot be saved.")
    return value


def _rebuilt(value: Any, where: str, path: Any) -> Any:
    """What was written: nouns again, and models, once what compiled code relies on holds."""
    parts: dict[int, Any] = {}
    found = _mapped(value, partial(_decoded, path=path), where, parts)
    for part in parts.values():
        if isinstance(part, BaseEstimator) and type(part).__module__.startswith("didact."):
            check_shapes(part)
    return found


def _decoded(value: Any, where: str, path: Any) -> Any:
    """The noun that was written as its id and named fields."""
    if not isinstance(value, dict):
        check_sparse(value, where)  # compiled code trusts its indices, and a file may hold any
        return value
    name, fields = value[NOUN], value["fields"]
    if isinstance(fields, list):
        raise InputError(f"{path} has format 1, whose {name} this version cannot read: fit the model anew and save it.")
    noun = noun_of(name, {key: _rebuilt(field, where, path) for key, field in fields.items()})
    if noun is None:
        raise InputError(f"{path} was not opened: {where} is a {name}, which didact does not trust.")
    if hasattr(noun, "check"):  # those that hold indices have one, as compiled code trusts indices
        noun.check()
    return noun


def _refuse_kinds_of_arrays(value: Any, where: str) -> None:
    """Refuse masked arrays, matrices and other subclasses of arrays: they pass every check, but compute differently.

    Masked arrays are allowed in the results of a search, which no prediction reads.
    """
    for part in vars(value).values() if sp.issparse(value) else ():
        _refuse_kinds_of_arrays(part, where)
    if isinstance(value, np.ndarray) and type(value) is not np.ndarray and not SEARCHED.search(where):
        kind = f"{type(value).__module__}.{type(value).__name__}"
        raise InputError(f"{where} is a {kind}, and models in files hold plain arrays only: use numpy.asarray first.")


def _manifest(model: Any) -> dict[str, Any]:
    names = getattr(model, "feature_names_in_", None)
    arrays = {name: value for name, value in vars(model).items() if name.endswith("_") and hasattr(value, "dtype")}
    return {
        "format": FORMAT,
        "class": public_name(type(model)),
        "versions": {library: version(library) for library in LIBRARIES},
        "n_features": getattr(model, "n_features_in_", None),
        "feature_names": None if names is None else [str(name) for name in names],
        "dtypes": {name: str(value.dtype) for name, value in arrays.items()},
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _warn_of_versions(manifest: dict[str, Any], path: Any) -> None:
    then, now = manifest["versions"]["scikit-learn"], version("scikit-learn")
    if then.split(".")[:2] != now.split(".")[:2]:
        warnings.warn(
            f"{path} was saved with scikit-learn {then} and is read with {now}: check its predictions, or fit it anew.",
            UserWarning,
            stacklevel=3,
        )


# ------------------------------------------------------------------------------------------------ the file


def _opened(path: str | os.PathLike[str]) -> BinaryIO:
    """The open file, if it is a regular one: opening a pipe would wait for a writer."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"{path} is not a regular file: a model is read from a file on disk.")
    return os.fdopen(descriptor, "rb")


def _write(path: Path, parts: dict[str, bytes]) -> None:
    """Write to a temporary file in the same folder, flush it to disk, then rename it: a crash leaves the old file."""
    remove_left_behind(path.parent, rf"\.{re.escape(path.name)}\.[0-9a-f]{{32}}")
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with open(beside, "xb") as file:
            with zipfile.ZipFile(file, "w") as archive:
                for name, data in parts.items():
                    how = zipfile.ZIP_DEFLATED if len(data) < COMPRESS_BELOW else zipfile.ZIP_STORED
                    archive.writestr(name, data, compress_type=how)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, beside)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _read(file: BinaryIO, path: str) -> tuple[bytes, dict[str, Any]]:
    """The part that holds the model, and the manifest, once size and version are checked."""
    try:
        _check_size(file, path)
        with zipfile.ZipFile(file) as archive:
            names = set(archive.namelist())
            if missing := {MANIFEST, MODEL} - names:
                raise InputError(f"{path} is not a didact file, or is damaged: {_listed(sorted(missing))} is missing.")
            manifest = _checked(archive.read(MANIFEST))
            if manifest["format"] > FORMAT or TENSORS in names:
                form = manifest["format"]
                raise InputError(f"{path} was written by a newer didact (format {form}): update didact to open it.")
            part = archive.read(MODEL)
    except InputError:
        raise
    except zipfile.BadZipFile as error:
        raise InputError(f"{path} is not a didact file, or is damaged: {error}.") from error
    except Exception as error:
        raise InputError(f"{path} is damaged: {error}.") from error
    return part, manifest


def _checked(text: bytes) -> dict[str, Any]:
    """The manifest, if it has the entries that a reader needs."""
    try:
        manifest = json.loads(text)
        if type(manifest["format"]) is int and re.match(r"\d+\.\d+", manifest["versions"]["scikit-learn"]):
            return dict(manifest)
    except (ValueError, KeyError, TypeError):
        pass
    raise ValueError("its manifest does not state the format and the versions of the libraries")


def _check_size(file: BinaryIO, path: str) -> None:
    """Refuse a zip that would unpack to far more than its own size, at any depth of nesting (a zip bomb)."""
    length = file.seek(0, os.SEEK_END)
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        total = sum(member.file_size for member in members)
        if total > max(SMALL, RATIO * length):
            raise InputError(f"{path} was not opened: its {length} bytes would unpack to {total}.")
        for member in members:
            with archive.open(member) as data:
                inside = data.read(4) == b"PK\x03\x04"
            if inside:
                _check_size(io.BytesIO(archive.read(member)), path)


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
