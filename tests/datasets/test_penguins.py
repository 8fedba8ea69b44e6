"""The bundled table is the published one: counts and means as in the paper's data, and a licence beside it."""

import hashlib

import polars as pl
import pytest

from didact.datasets import bundled, load_penguins


def test_counts_of_species_and_missing_cells():
    table = load_penguins()
    counts = dict(table["Species"].str.split(" ").list.first().value_counts().rows())
    assert counts == {"Adelie": 152, "Chinstrap": 68, "Gentoo": 124}
    assert table["Sex"].null_count() == 11
    assert table["Body Mass (g)"].mean() == pytest.approx(4201.754, abs=1e-3)
    assert table.schema["Date Egg"] == pl.Date


def test_every_bundled_table_is_small_and_has_its_source_licence_and_checksum():
    readme = (bundled()["penguins"].parent / "README.md").read_text()
    for name, path in bundled().items():
        assert path.stat().st_size < 150_000
        assert f"## {name}.csv" in readme
        assert hashlib.sha256(path.read_bytes()).hexdigest() in readme
    assert "CC0" in readme
