"""Reading tables: separators, marks for missing cells, formats, frames; and one clear sentence for what fails."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from didact import Batches
from didact.core.errors import InputError
from didact.study.tables import MISSING, read_table, require_column


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found_from_the_header(tmp_path, separator):
    path = tmp_path / "t.csv"
    path.write_text(f"a{separator}b\n1{separator}x\n2{separator}y\n")
    assert read_table(path).rows() == [(1, "x"), (2, "y")]


@pytest.mark.parametrize("mark", MISSING)
def test_marks_for_missing_cells_do_not_make_numbers_words(tmp_path, mark):
    path = tmp_path / "t.csv"
    path.write_text(f"a,b\n1.5,x\n{mark},y\n")
    assert read_table(path)["a"].to_list() == [1.5, None]


def test_dates_and_late_surprises_are_seen(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("day,v\n" + "2024-01-31,1\n" * 2000 + "2024-02-01,x\n")
    table = read_table(path)
    assert table.schema == {"day": pl.Date, "v": pl.String}


def test_a_flipped_bit_in_a_parquet_file_is_an_error(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table({"a": np.arange(1000.0)}), path, write_page_checksum=True, compression="none", use_dictionary=False
    )
    data = bytearray(path.read_bytes())
    data[3000] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"cannot be read as Parquet: .*[Cc]hecksum"):
        read_table(path)
    with pytest.raises(OSError, match="checksum"):
        list(Batches.from_parquet(path))


def test_parquet_gzip_and_frames_of_other_libraries_give_the_same(tmp_path):
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", None]})
    frame.write_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n1,x\n2,\n"))
    sources = [tmp_path / "t.parquet", tmp_path / "t.csv.gz", frame, frame.lazy(), frame.to_arrow()]
    sources.append(pd.DataFrame({"a": [1, 2], "b": ["x", None]}))
    for source in sources:
        assert read_table(source).rows() == frame.rows()
    assert isinstance(frame.to_arrow(), pa.Table)


def test_a_bundled_table_goes_by_its_name():
    assert read_table("penguins").shape == (344, 17)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"a,b\n1,2,3\n4,5,6,7\n", "cannot be read as CSV"),
        ("t.csv", b"a,b\n\xff\xfe,1\n", "cannot be read as CSV"),
        ("t.parquet", b"not parquet", "cannot be read as Parquet"),
        ("t.xlsx", b"PK", "only CSV and Parquet"),
    ],
)
def test_a_file_that_cannot_be_read_gets_one_sentence(tmp_path, name, content, sentence):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=sentence) as caught:
        read_table(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_names_the_one_that_comes_near(tmp_path):
    (tmp_path / "customers.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match=r"no file .*custmers.csv'\. Did you mean '.*customers.csv'"):
        read_table(tmp_path / "custmers.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(InputError, match="not 'int'"):
        read_table(3)


def test_a_wrong_target_names_the_columns_that_come_near():
    table = pl.DataFrame({"Survived": [1], "Age": [2]})
    with pytest.raises(InputError, match="no column 'survive'; did you mean 'Survived'"):
        require_column(table, "survive")
    with pytest.raises(InputError, match="the columns are Survived, Age"):
        require_column(table, "zzz")
