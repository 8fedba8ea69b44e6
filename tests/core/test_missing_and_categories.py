"""A model that reads missing values and categories gets codes and NaN from every kind of collection."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.utils import get_tags

from didact import Batches
from didact.core.categories import Categories
from didact.core.errors import InputError
from didact.core.estimator import Estimator
from didact.core.files.persistence import _decoded, _encoded
from didact.core.parameters import array_like, none, one_of, param


class Seen(NamedTuple):
    """Sums of the codes that are there, and how many are missing."""

    total: Any
    missing: Any

    def merge(self, other):
        return Seen(self.total + other.total, self.missing + other.missing)


def look(block):
    X = block.X
    return Seen(np.nansum(X, axis=0), np.isnan(X).sum(axis=0))


def row_sums(X, categories):
    return np.nansum(X, axis=1)


class _Reader(Estimator):
    """Counts what it is given."""

    _missing = True

    categorical_features: Any = param("from_dtype", [one_of("from_dtype"), array_like, none], "Columns of categories.")

    def fit(self, X, y=None):
        rows = self._rows(X, y, target="none" if y is None else "label columns", categories=self.categorical_features)
        self.seen_ = rows.reduce(look)
        return self

    def predict(self, X):
        return self._after_fit()._map_rows(X, row_sums, self.categories_)


def frame(colours=("b", "a", None, "b", "c", "a")):
    return pd.DataFrame(
        {"x": [1.0, np.nan, 3.0, 4.0, 5.0, 6.0][: len(colours)], "c": pd.Categorical(list(colours), ["a", "b", "c"])}
    )


def test_tags_say_that_missing_values_are_read():
    assert get_tags(_Reader()).input_tags.allow_nan


def test_memory():
    model = _Reader().fit(frame())
    np.testing.assert_array_equal(model.seen_.total, [19.0, 4.0])
    np.testing.assert_array_equal(model.seen_.missing, [1, 1])
    np.testing.assert_array_equal(model.predict(frame()), [2.0, 0.0, 3.0, 5.0, 7.0, 6.0])
    assert list(model.feature_names_in_) == ["x", "c"]


def test_a_category_never_seen_counts_as_missing():
    model = _Reader().fit(frame())
    other = pd.DataFrame({"x": [1.0, 1.0], "c": pd.Categorical(["z", "c"])})
    np.testing.assert_array_equal(model.predict(other), [1.0, 3.0])


def test_batches_and_dask_agree_with_memory():
    da = pytest.importorskip("dask.dataframe")
    whole = _Reader().fit(frame())
    blocks = [frame().iloc[:2], frame().iloc[2:]]
    for source in (Batches(lambda: iter(blocks)), da.from_pandas(frame(), npartitions=2)):
        model = _Reader().fit(source)
        np.testing.assert_array_equal(model.categories_.values[1], whole.categories_.values[1])
        np.testing.assert_array_equal(model.seen_.total, whole.seen_.total)
        np.testing.assert_array_equal(model.seen_.missing, whole.seen_.missing)
    parts = list(whole.predict(Batches(lambda: iter(blocks))))
    np.testing.assert_array_equal(np.concatenate(parts), whole.predict(frame()))
    np.testing.assert_array_equal(
        whole.predict(da.from_pandas(frame(), npartitions=2)).compute(), whole.predict(frame())
    )


def test_text_of_batches_is_gathered_over_all_of_them():
    blocks = [np.array([["b", 1.0]], dtype=object), np.array([["a", 2.0], [None, 3.0]], dtype=object)]
    model = _Reader(categorical_features=[0]).fit(Batches(lambda: iter(blocks)))
    assert list(model.categories_.values[0]) == ["a", "b"]
    np.testing.assert_array_equal(model.seen_.total, [1.0, 6.0])


def test_infinity_is_refused_and_columns_must_match():
    with pytest.raises(ValueError, match="infinity"):
        _Reader().fit(np.array([[1.0, np.inf]]))
    with pytest.raises(ValueError, match="infinity"):
        _Reader().fit(frame().assign(x=[np.inf] * 6))
    model = _Reader().fit(frame())
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame().rename(columns={"x": "z"}))
    with pytest.raises(InputError, match="holds"):
        _Reader(categorical_features=None).fit(frame())


def test_several_columns_of_labels():
    X = np.zeros((3, 2))
    y = np.array([["a", "u"], ["b", "v"], ["a", "v"]], dtype=object)
    columns = _Reader()._rows(X, y, target="label columns").columns
    assert columns[1].shape == (3, 2)


def test_categories_survive_a_file():
    value = Categories((None, np.array(["a", "b"], dtype=object), np.array([1.0, 2.0])))
    written = skops.io.dumps(_encoded(value, "here"))
    back = _decoded(skops.io.loads(written), "here", "a file")
    assert isinstance(back, Categories)
    np.testing.assert_array_equal(back.encode(np.array([[5.0, "b", 1.0]], dtype=object)), [[5.0, 1.0, 0.0]])
