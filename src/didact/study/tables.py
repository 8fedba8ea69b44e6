"""One entrance for tables: CSV and Parquet files and data frames of any kind come in, Polars frames go on."""

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from didact.core.errors import InputError, need
from didact.core.validation.entrance import entrance
from didact.datasets import bundled
from didact.preprocessing.frame_columns import to_polars

if TYPE_CHECKING:
    import polars as pl

MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "?"]
_SEPARATORS = (",", ";", "\t", "|")
_PARQUET = {".parquet", ".pq"}
_TEXT = {".csv", ".tsv", ".txt", ".gz", ""}


@entrance()
def read_table(source: Any) -> "pl.DataFrame":
    """Read a table from a path (CSV, Parquet, or the name of a bundled table) or take a data frame of any library.

    The separator is found, dates are parsed, and `NA`, `?`, `null` and their like are gaps, as in a study. Cost: one
    pass over the file.

    Parameters
    ----------
    source : path, str or data frame
        What to read.

    Returns
    -------
    polars.DataFrame
        The table.

    Examples
    --------
    >>> from didact.study import read_table
    >>> read_table("penguins")["Sex"].null_count()
    11
    """
    if isinstance(source, (str, Path)):
        return _read_file(_existing(Path(source)))
    return to_polars(source)


def _existing(path: Path) -> Path:
    if path.is_file():
        return path
    if path.is_dir():
        raise InputError(f"'{path}' is a folder; give the path of a CSV or Parquet file in it.")
    if str(path) in bundled():
        return bundled()[str(path)]
    near = difflib.get_close_matches(path.name, _neighbours(path.parent), n=3)
    hint = f" Did you mean {' or '.join(repr(str(path.parent / name)) for name in near)}?" if near else ""
    raise InputError(f"There is no file '{path}'.{hint}")


def _neighbours(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir() if entry.is_file()]
    except OSError:
        return []


def _read_file(path: Path) -> "pl.DataFrame":
    pl = need("polars", "study")
    suffix = path.suffix.lower()
    if suffix not in _PARQUET | _TEXT:
        raise InputError(f"'{path}' ends in '{path.suffix}'; only CSV and Parquet files can be read.")
    kind = "Parquet" if suffix in _PARQUET else "CSV"
    try:
        if kind == "Parquet":
            checked = need("pyarrow.parquet", "study").ParquetFile(path, page_checksum_verification=True)
            return pl.from_arrow(checked.read())
        return pl.read_csv(
            path,
            separator=_separator(path),
            null_values=MISSING,
            try_parse_dates=True,
            infer_schema_length=None,
        )
    except pl.exceptions.NoDataError:
        raise InputError(f"'{path}' is empty.") from None
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:  # pyarrow says ValueError of what is no Parquet
        why = str(error).strip().partition("\n")[0].rstrip(".")
        raise InputError(f"'{path}' cannot be read as {kind}: {why}.") from None


def _separator(path: Path) -> str:
    """The mark that occurs most often in the header line; a comma where the file is compressed."""
    if path.suffix.lower() == ".gz":
        return ","
    with path.open("rb") as file:
        header = file.readline(1 << 20).decode("utf-8", errors="replace")
    return max(_SEPARATORS, key=header.count)


def require_column(table: "pl.DataFrame", name: str) -> None:
    """Refuse a target that the table does not have, with the names that come near."""
    if name in table.columns:
        return
    by_lower = {column.lower(): column for column in table.columns}
    near = [by_lower[n] for n in difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.5)]
    if near:
        hint = f"did you mean {' or '.join(repr(n) for n in near)}?"
    else:
        shown = ", ".join(table.columns[:12]) + (", …" if len(table.columns) > 12 else "")
        hint = f"the columns are {shown}."
    raise InputError(f"The table has no column {name!r}; {hint}")
