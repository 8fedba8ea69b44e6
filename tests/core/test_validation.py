"""The door: what is let in and as what, and the sentence for what is not."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from didact import Batches
from didact.core.errors import InputError
from didact.core.frames import column_names
from didact.core.rows import blocks_of
from didact.core.validation import BlockCheck, check_memory, describe_collection, refuse_text
from didact.linear_model import LinearRegression, LogisticRegression
from didact.tree import DecisionTreeRegressor

X3 = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])


def memory(X, y=None, w=None, *more, target="numeric", reset=True, model=None):
    model = LinearRegression() if model is None else model
    return check_memory(model, X, y, w, *more, target=target, reset=reset)


# ------------------------------------------------------------------------------------------------ in memory


def refused(*args, **kwargs):
    raise AssertionError("scikit-learn's checks were asked")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_new_rows_that_need_no_change_are_taken_as_they_are(dtype, monkeypatch):
    X = X3.astype(dtype)
    model, tree = LinearRegression().fit(X, np.arange(3.0)), DecisionTreeRegressor().fit(X, np.arange(3.0))
    expected = model.predict(X), tree.predict(X)
    monkeypatch.setattr("didact.core.validation.validate_data", refused)
    assert memory(X, target="none", reset=False, model=model).X is X
    np.testing.assert_array_equal(model.predict(X), expected[0])
    np.testing.assert_array_equal(tree.predict(X), expected[1])
    for other in (X[:, :1], X[0], X[:0], X.astype(np.int64), X.astype(np.float16), X.astype(">f8"), X.view(np.matrix)):
        with pytest.raises(AssertionError, match="asked"):
            model.predict(other)
    with pytest.raises(AssertionError, match="asked"):
        tree.predict(np.asfortranarray(X))  # whose loops read rows
    model.feature_names_in_ = np.array(["a", "b"])
    with pytest.raises(AssertionError, match="asked"):
        model.predict(X)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_new_rows_that_are_not_finite_are_still_refused(bad):
    model = LinearRegression().fit(X3, np.arange(3.0))
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.predict([[1.0, bad]])
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.predict(np.array([[1.0, bad]]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_types_stay(dtype):
    X, y, w, *_ = memory(X3.astype(dtype), np.ones(3, dtype), np.ones(3, dtype))
    assert X.dtype == dtype
    assert y.dtype == w.dtype == np.float64, "targets and weights are summed up in float64"


@pytest.mark.parametrize("dtype", [np.int8, np.uint32, np.int64, bool, np.float16])
def test_other_types_become_floats(dtype):
    X, *_ = memory(X3.astype(dtype), np.ones(3))
    assert X.dtype in (np.float64, np.float32)
    np.testing.assert_array_equal(X, X3.astype(dtype).astype(float))


def test_sparse_becomes_csr_with_its_indices():
    S = sp.csc_array(X3)
    X, *_ = memory(S, np.ones(3))
    assert X.format == "csr"
    large = sp.csr_array(X3)
    large.indices, large.indptr = large.indices.astype(np.int64), large.indptr.astype(np.int64)
    X, *_ = memory(large, np.ones(3))
    np.testing.assert_array_equal(X.toarray(), X3)


def test_names_and_number_of_columns_are_set_and_checked():
    model = LinearRegression()
    memory(pd.DataFrame(X3, columns=["a", "b"]), np.ones(3), model=model)
    assert list(model.feature_names_in_) == ["a", "b"]
    assert model.n_features_in_ == 2
    with pytest.raises(ValueError, match="feature names"):
        memory(pd.DataFrame(X3, columns=["a", "c"]), model=model, target="none", reset=False)
    with pytest.raises(ValueError, match="3 features"), pytest.warns(UserWarning, match="feature names"):
        memory(np.ones((2, 3)), model=model, target="none", reset=False)
    memory(X3, np.ones(3), model=model)  # no names this time
    assert not hasattr(model, "feature_names_in_"), "a new fit forgets the old names"


def test_targets():
    assert memory(X3, [1, 2, 3])[1].dtype == np.float64
    assert memory(X3, np.ones((3, 2)), target="outputs")[1].shape == (3, 2)
    np.testing.assert_array_equal(memory(X3, ["a", "b", "a"], target="labels")[1], ["a", "b", "a"])
    with pytest.warns(UserWarning, match="column-vector"):
        assert memory(X3, np.array([[1], [2], [1]]), target="labels")[1].shape == (3,)
    with pytest.raises(ValueError, match="1d"):
        memory(X3, np.ones((3, 2)))
    with pytest.raises(ValueError, match="continuous"):
        memory(X3, [0.1, 0.2, 0.3], target="labels")
    with pytest.raises(ValueError, match="NaN"):
        memory(X3, [1.0, np.nan, 2.0])
    with pytest.raises(ValueError, match="inconsistent"):
        memory(X3, [1.0, 2.0])


def test_weights_and_offsets():
    *_, w, offset, nothing = memory(X3, np.ones(3), [1, 0, 2], [0.5, 0.5, 0.5], None)
    assert w.dtype == offset.dtype == np.float64
    assert nothing is None
    for bad, word in [([1, 2], "2"), ([1, -1, 1], "[Nn]egative"), ([1, np.nan, 1], "NaN"), ([[1], [1], [1]], "1D")]:
        with pytest.raises(ValueError, match=word):
            memory(X3, np.ones(3), bad)
    with pytest.raises(InputError, match="3 rows and the offset or exposure has 2"):
        memory(X3, np.ones(3), None, [1.0, 2.0])
    with pytest.raises(ValueError, match="NaN"):
        memory(X3, np.ones(3), None, [1.0, np.nan, 2.0])


def test_missing_values_are_left_to_the_pass():
    """They show in what is summed up, so that the door does not read the data once more."""
    X, *_ = memory(np.array([[1.0, np.nan]]), np.ones(1))
    assert np.isnan(X).any()


# ------------------------------------------------------------------------------------------------ names and text


def test_column_names():
    frame = pd.DataFrame(X3, columns=["a", "b"])
    arrow = pa.Table.from_pandas(frame)
    for table in (frame, pl.from_pandas(frame), arrow, arrow.to_batches()[0]):
        assert column_names(table) == ["a", "b"], type(table)
    assert column_names(X3) is None
    assert column_names(sp.csr_array(X3)) is None
    assert column_names(pd.DataFrame(X3)) is None, "numbers are no names"
    assert column_names(pd.DataFrame(X3, columns=["column_names", "schema"])) == ["column_names", "schema"]


@pytest.mark.parametrize("kind", ["str", "object", "category"])
def test_text_columns_of_pandas(kind):
    frame = pd.DataFrame({"a": [1.0, 2.0], "town": pd.Series(["x", "y"], dtype=kind), "b": ["u", "v"]})
    with pytest.raises(InputError, match=r"Column 'town' holds .* \(2 such column\(s\)\).*OneHotEncoder"):
        refuse_text(frame)


def test_text_columns_of_polars_and_arrow():
    frame = pl.DataFrame({"a": [1.0], "town": ["x"]})
    kinds = [frame, frame.with_columns(town=pl.col("town").cast(pl.Categorical)), frame.to_arrow()]
    kinds += [frame.with_columns(town=pl.col("town").cast(pl.Enum(["x"]))), frame.to_arrow().to_batches()[0]]
    for table in kinds:
        with pytest.raises(InputError, match="'town'"):
            refuse_text(table)


def test_numbers_booleans_and_nulls_are_no_text():
    frame = pd.DataFrame({"a": [1, 2], "b": [True, False], "c": [1.5, None], "d": pd.array([1, None], dtype="Int64")})
    refuse_text(frame)
    refuse_text(pl.from_pandas(frame))


def test_dates_are_refused_in_words():
    frame = pd.DataFrame({"a": [1.0, 2.0], "day": pd.to_datetime(["2020-01-01", "2020-01-02"])})
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        with pytest.raises(InputError, match=r"'day' holds .*days since"):
            LinearRegression().fit(table, [1.0, 2.0])


# ------------------------------------------------------------------------------------------------ blocks


def check(target="numeric", names=("a", "b"), width=3, n_features=2):
    return BlockCheck(n_features=n_features, names=names, target=target, width=width, sparse=True)


def test_blocks_become_plain_columns():
    frame = pd.DataFrame(X3, columns=["a", "b"])
    arrow = pa.Table.from_pandas(frame)
    for block in (X3, sp.csc_array(X3), frame, pl.from_pandas(frame), arrow, arrow.to_batches()[0], X3.tolist()):
        X, y, w, *_ = check()(block, [1, 2, 3], [1, 1, 2])
        np.testing.assert_array_equal(X.toarray() if sp.issparse(X) else X, X3)
        assert y.dtype == w.dtype == np.float64


def test_arrow_types():
    table = pa.table({"a": pa.array([1, 2], pa.int8()), "b": pa.array([0.5, None], pa.float32())})
    X, *_ = check("none")(table)
    assert X.flags["C_CONTIGUOUS"]
    np.testing.assert_array_equal(X, [[1, 0.5], [2, np.nan]])
    single = pa.table({"a": pa.array([1, 2], pa.float32()), "b": pa.array([0.5, 1.5], pa.float32())})
    assert check("none")(single)[0].dtype == np.float32
    chunked = pa.concat_tables([single, single])
    assert check("none")(chunked)[0].shape == (4, 2)


def test_blocks_that_do_not_fit_are_refused_in_words():
    with pytest.raises(InputError, match=r"the columns \['a', 'c'\], the fit has \['a', 'b'\]"):
        check()(pd.DataFrame(X3, columns=["a", "c"]), np.ones(3))
    with pytest.raises(InputError, match="X has 3 features, but 2"):
        check()(np.ones((4, 3)), np.ones(4))
    with pytest.raises(InputError, match="y is missing"):
        check()(X3)
    with pytest.raises(InputError, match="3 rows of X and 2 of y"):
        check()(X3, np.ones(2))
    with pytest.raises(InputError, match="tuple of 4"):
        check()(X3, np.ones(3), None, np.ones(3))
    with pytest.raises(ValueError, match="NaN"):
        check()(X3, [1, np.nan, 2])
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        check()(X3, np.ones(3), [-1, 1, 1])
    with pytest.raises(InputError, match=r"'a'"):
        check()(pd.DataFrame({"a": ["x"], "b": [1.0]}), [1.0])


def test_weight_zero_for_a_whole_block_is_allowed():
    """A block is not the whole: another one may have weight."""
    assert not check()(X3, np.ones(3), np.zeros(3))[2].any()


def test_offsets_of_blocks():
    wide = check(width=4)
    assert wide(X3, np.ones(3))[3] is None
    np.testing.assert_array_equal(wide(X3, np.ones(3), None, [1, 2, 3])[3], [1.0, 2.0, 3.0])


def test_labels_of_blocks_stay_as_they_are():
    assert check("labels")(X3, np.array(["u", "v", "u"]))[1].dtype.kind == "U"
    _, y, *_ = check("labels")(X3, pd.Series(["u", "v", "u"], dtype="category"))
    assert list(y) == ["u", "v", "u"]


def test_describe_collection():
    model = LogisticRegression()
    assert describe_collection(model, X3.astype(np.float32), reset=True) == np.float32
    assert model.n_features_in_ == 2
    describe_collection(model, pl.DataFrame({"a": [1.0], "b": [2.0]}), reset=True)
    assert list(model.feature_names_in_) == ["a", "b"]
    with pytest.raises(InputError, match="two dimensions"):
        describe_collection(model, np.ones(3), reset=True)
    with pytest.raises(InputError, match="empty"):
        describe_collection(model, None, reset=True)
    with pytest.raises(ValueError, match="3 features"):
        describe_collection(model, np.ones((2, 3)), reset=False)


# ------------------------------------------------------------------------------------------------ without a sentence


FRAMES = {
    "pandas": lambda names: pd.DataFrame(X3, columns=names),
    "arrow": lambda names: pa.Table.from_arrays([pa.array(x) for x in X3.T], names=names),
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("model", [LinearRegression(), DecisionTreeRegressor()], ids=["numbers", "categories"])
def test_equal_names_of_columns_are_refused(model, kind):
    with pytest.raises(InputError, match="Several columns of X have the name 'a'"):
        model.fit(FRAMES[kind](["a", "a"]), np.ones(3))
    fitted = model.fit(FRAMES[kind](["a", "b"]), np.ones(3))
    with pytest.raises(InputError, match="Several columns of X have the name 'b'"):
        fitted.predict(FRAMES[kind](["b", "b"]))
    with pytest.raises(InputError, match="have the name 'a'"):
        model.fit(Batches(lambda: [(FRAMES[kind](["a", "a"]), np.ones(3))]))


def test_equal_names_that_are_no_text_are_refused():
    with pytest.raises(InputError, match="have the name 1"):
        memory(pd.DataFrame(X3, columns=[1, 1]), np.ones(3))


def test_frames_without_columns_and_records_are_refused():
    with pytest.raises(InputError, match=r"0 feature\(s\)"):
        memory(pd.DataFrame(index=range(3)), np.ones(3))
    with pytest.raises(InputError, match="records"):
        memory(np.zeros(3, dtype=[("a", float), ("b", float)]), np.ones(3))


def test_targets_without_finite_squares_are_refused():
    assert memory(X3, [1e149, -1e149, 0.0])[1].max() == 1e149
    for bad in (1e160, -1e308):
        with pytest.raises(InputError, match=r"Input y has values up to 1e.*overflow"):
            memory(X3, [1.0, bad, 0.0])


@pytest.mark.parametrize("entry", [np.ones(2), [1.0, 2.0], (1.0, 2.0)])
@pytest.mark.parametrize("of", [pd.Series, lambda rows: np.fromiter(rows, object, len(rows))])
def test_columns_of_arrays_are_refused_as_targets(entry, of):
    y = of([entry] * 3)
    block = BlockCheck(n_features=2, names=None, target="outputs", width=3, sparse=True)
    for check in (memory, lambda X, y: memory(X, y, target="labels"), block):
        with pytest.raises(InputError, match=r"row 0.*two-dimensional y"):
            check(X3, y)


def test_labels_of_a_block_are_one_column():
    check = BlockCheck(n_features=2, names=None, target="labels", width=3, sparse=True)
    np.testing.assert_array_equal(check(X3, [["a"], ["b"], ["a"]])[1], ["a", "b", "a"])
    with pytest.raises(ValueError, match="1d"):
        check(X3, [["a", "b"]] * 3)
    with pytest.raises(ValueError, match="y"):
        check(X3, "a")


def test_tensors_of_a_batch_are_read_where_numpy_cannot():
    torch = pytest.importorskip("torch")
    from far_tensor import FAR

    X, y, w = (torch.as_tensor(a, device=FAR) for a in (np.ones((3, 2)), np.arange(3.0), np.ones(3)))
    columns = BlockCheck(n_features=2, names=None, target="numeric", width=3, sparse=True)(X, y, w)[:3]
    assert [type(c) for c in columns] == [np.ndarray] * 3
    assert next(iter(blocks_of(X))).shape == (3, 2)
