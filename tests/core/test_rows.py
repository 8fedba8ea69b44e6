"""Rows of every kind: what reduce sees, in which order, how often a source is opened, and what map gives back."""

import resource
import threading
from functools import partial
from typing import Any, NamedTuple

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import didact
from didact import Batches
from didact.core.errors import InputError
from didact.core.rows import BatchRows, Block, ClusterRows, KeptBlocks, MemoryRows, is_dask, memory
from didact.core.rows.memory import memory_limit, refuse_square
from didact.core.sparse import row_slice


class Seen(NamedTuple):
    """A statistic that does not commute: the rows in the order in which they were merged, and the sizes of blocks."""

    rows: tuple
    sizes: tuple

    def merge(self, other):
        return Seen(self.rows + other.rows, self.sizes + other.sizes)


def look(block, *args):
    X = block.X.toarray() if sp.issparse(block.X) else block.X
    return Seen(tuple(np.asarray(X)[:, 0].tolist()), (X.shape[0],))


class Total(NamedTuple):
    value: Any

    def merge(self, other):
        return Total(self.value + other.value)


def total(block, scale):
    return Total(float(scale * block.X.sum()))


def plain(X, y=None, w=None, *more):
    """A check that lets everything through; frames become arrays."""
    return Block(X if sp.issparse(X) else np.asarray(X), y, w, *more)


def numbered(n, p=3):
    X = np.random.default_rng(0).normal(size=(n, p))
    X[:, 0] = np.arange(n)
    return X


# ------------------------------------------------------------------------------------------------ memory


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, np.asfortranarray])
@pytest.mark.parametrize("n", [1, 2047, 2048, 2049, 20_001])
def test_memory_blocks_cover_all_rows_in_order(n, convert, two_threads):
    didact.set_threads(2)
    seen = MemoryRows(convert(numbered(n)), None, None).reduce(look)
    assert list(seen.rows) == list(range(n))
    blocks = -(-n // memory.BLOCK_ROWS)
    assert len(seen.sizes) == (min(blocks, 4) if convert is sp.csr_array else blocks)  # few entries are few tasks


def test_cuts_do_not_depend_on_the_number_of_threads(two_threads):
    X, sizes = numbered(30_000), []
    for count in (1, 2):
        didact.set_threads(count)
        sizes.append(MemoryRows(X, None, None).reduce(look).sizes)
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize(
    ("n", "p", "pieces"),
    [(1, 3, 1), (5_000, 3, 3), (100_000, 3, 8), (400_000, 3, 16), (800_000, 1, 32), (60_000, 400, 16)],
)
def test_functions_of_large_blocks_get_few_of_them(n, p, pieces):
    @memory.in_pieces
    def place(block):
        return Seen((int(block.y[0]),), (len(block.X),))

    seen = MemoryRows(np.broadcast_to(0.0, (n, p)), np.arange(n), None).reduce(place)
    assert len(seen.sizes) == pieces
    assert list(seen.rows) == np.cumsum([0, *seen.sizes[:-1]]).tolist()
    assert sum(seen.sizes) == n


@pytest.mark.parametrize(("n", "pieces"), [(0, 1), (1, 1), (1 << 18, 1), (600_000, 3)])
def test_functions_of_y_alone_get_long_blocks(n, pieces):
    @memory.column_pass
    def place(block):
        return Seen((int(block.y[0]) if n else 0,), (len(block.y),))

    seen = MemoryRows(np.broadcast_to(0.0, (n, 3)), np.arange(n), None).reduce(place)
    assert len(seen.sizes) == pieces
    assert sum(seen.sizes) == n
    assert list(seen.rows) == np.cumsum([0, *seen.sizes[:-1]]).tolist()


def test_functions_of_y_alone_do_not_cut_tensors():
    torch = pytest.importorskip("torch")

    @memory.column_pass
    def place(block):
        return Seen((0,), (len(block.y),))

    n = 3 << 18
    assert MemoryRows(torch.zeros(n, 1), torch.zeros(n), None).reduce(place).sizes == (n,)


@pytest.mark.parametrize(
    ("n", "p", "square", "pieces"),
    [
        (1, 0, False, 1),
        (10_000, 50, False, 1),
        (100_000, 50, False, 10),
        (10_000_000, 50, False, 64),
        (1_000_000_000, 50, False, 1490),  # none longer than some ten milliseconds
        (100, 1_000_000, False, 2),  # what a piece returns is not larger than the piece
        (10_000, 300, True, 12),
        (3_000, 2_000, True, 1),
        (100, 300, True, 1),
    ],
)
def test_compiled_passes_get_pieces_by_their_work(n, p, square, pieces):
    X = np.broadcast_to(np.float64(0), (n, p))
    edges = memory.pass_edges(X, 1 + square, square)
    assert len(edges) == pieces + 1
    assert (edges[0], edges[-1]) == (0, n)
    assert (np.diff(edges) >= min(n, 1)).all()


@pytest.mark.parametrize(
    ("n", "light", "pieces"),
    [
        (100, 1, 1),
        (125_000, 1, 24),
        (2_000_000, 1, 128),
        (500_000, 10, 96),
        (1_000_000_000, 1, 1490),
        (50_000, 1000, 1),  # what the pieces return is not larger than the rows
    ],
)
def test_passes_with_few_sums_get_more_pieces(n, light, pieces):
    edges = memory.pass_edges(np.broadcast_to(np.float64(0), (n, 50)), 1, light=light)
    assert len(edges) == pieces + 1
    assert (edges[0], edges[-1]) == (0, n)
    assert np.ptp(np.diff(edges)) <= 1


def test_a_compiled_pass_takes_all_rows_at_once_in_an_order_that_loops_read():
    seen = []

    @memory.compiled_pass
    def look(block, factor):
        seen.append(block.X)
        return Total(factor * len(block.y))

    X = numbered(5000)
    for table, kept in (
        (X, True),
        (X[::3], True),
        (np.asfortranarray(X), True),
        (np.repeat(X, 2, axis=1)[:, ::2], False),
    ):
        rows = MemoryRows(table, np.arange(len(table)))
        assert rows.reduce(look, 2).value == rows.reduce(partial(look, factor=2)).value == 2 * len(table)
        assert np.shares_memory(seen[-1], table) == kept
        assert seen[-1] is seen[-2]  # copied once at most, not in each pass
        np.testing.assert_array_equal(seen[-1], table)


def test_all_columns_are_cut_alike():
    n = 5000
    X, y, w, offset = numbered(n), np.arange(n), np.arange(n) + 0.5, 2.0 * np.arange(n)

    def check(block):
        np.testing.assert_array_equal(block.X[:, 0], block.y)
        np.testing.assert_array_equal(block.weight, block.y + 0.5)
        np.testing.assert_array_equal(block.offset, 2.0 * block.y)
        assert block.groups is None
        return Total(len(block.y))

    for kind in (np.asarray, sp.csr_array):
        check_kind = check if kind is np.asarray else lambda b: check(b._replace(X=b.X.toarray()))
        assert MemoryRows(kind(X), y, w, offset).reduce(check_kind).value == n


def test_a_block_has_its_columns_by_name():
    block = Block(y=np.arange(3), groups=np.arange(3.0))
    assert (block.X, block.weight, block.offset) == (None, None, None)
    doubled = block.each(lambda column, k: k * column, 2)
    assert (doubled.y[2], doubled.groups[2], doubled.X) == (4, 4.0, None)


@given(st.integers(1, 60), st.integers(0, 60), st.integers(0, 60), st.floats(0, 1))
def test_sparse_slices_equal_dense_ones(n, a, b, density):
    start, stop = sorted((min(a, n), min(b, n)))
    X = sp.random_array((n, 4), density=density, rng=np.random.default_rng(n), format="csr")
    block = row_slice(X, start, stop)
    assert block.nnz == 0 or np.shares_memory(block.data, X.data), "a slice is a view"
    np.testing.assert_array_equal(block.toarray(), X.toarray()[start:stop])
    block.check_format(full_check=True)  # it may copy


def test_prepared_on_columns_thinned_and_map():
    X, y = numbered(100), np.arange(100.0)
    rows = MemoryRows(X, y, None, names=["a", "b", "c"])
    doubled = rows.prepared(lambda block, k: block._replace(y=k * block.y), 2.0)
    assert doubled.reduce(lambda block: Total(block.y.sum())).value == 2 * y.sum()
    assert doubled.names == rows.names
    some = rows.on_columns(np.array([0, 2]))
    assert some.n_features == 2
    assert some.reduce(total, 3.0).value == pytest.approx(3 * X[:, [0, 2]].sum())
    thin = rows.thinned(16)
    assert list(thin.reduce(look).rows) == list(range(0, 100, 16))
    assert all(column.flags.c_contiguous for column in thin.columns[1:] if column is not None)
    np.testing.assert_array_equal(rows.map(lambda X, b: X @ b, np.ones(3)), X.sum(axis=1))
    assert (rows.n_rows, rows.n_features, rows.y_ndim) == (100, 3, 1)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_non_finite_columns_are_named(convert, value, word):
    X = numbered(3000)
    X[2500, 1] = value
    for names, column in [(None, "column 1"), (["a", "b", "c"], "column 'b'")]:
        rows = MemoryRows(convert(X), None, None, names=names)
        with pytest.raises(InputError, match=f"{word}.*{column}"):
            rows.reduce(total, 1.0)
        with pytest.raises(InputError, match=f"{word}.*{column}"):
            rows.map(lambda X: np.zeros(X.shape[0]))


def test_many_bad_columns_are_counted():
    X = np.full((4, 7), np.nan)
    with pytest.raises(InputError, match=r"28 missing or infinite value\(s\) in columns 0, 1, 2, 3, 4, …"):
        MemoryRows(X, None, None).reduce(total, 1.0)


def test_overflow_in_a_statistic_is_not_the_data_s_fault():
    X = np.full((4, 2), 1e300)
    assert np.isinf(MemoryRows(X, None, None).reduce(total, 1e10).value)
    assert MemoryRows(X * 1e8, None, None).map(lambda X: X[:, 0]).shape == (4,)


def test_labels_and_counts_in_a_statistic_are_not_mistaken_for_numbers():
    rows = MemoryRows(numbered(10), None, None)
    assert rows.reduce(lambda block: Seen(("a", None), (1,))).rows == ("a", None)


# ------------------------------------------------------------------------------------------------ batches


def counting(X, size):
    """A source that counts how often it was opened, and the batches that were read from it."""
    opened = []

    def read():
        opened.append(0)
        for k in range(0, len(X), size):
            opened[-1] += 1
            yield X[k : k + size], np.arange(k, min(k + size, len(X)))

    return Batches(read), opened


def test_every_pass_opens_the_source_once_and_keeps_the_order():
    X = numbered(50)
    source, opened = counting(X, 7)
    rows = BatchRows(source, plain)
    before = len(opened)
    for k in range(1, 4):
        assert list(rows.reduce(look).rows) == list(range(50))
        assert len(opened) == before + k
        assert opened[-1] == 8
    assert (rows.n_features, rows.y_ndim, rows.dtype) == (3, 1, np.float64)


def test_empty_batches_are_passed_over():
    X = numbered(6)
    parts = [X[:0], X[:2], X[2:2], X[2:], X[6:]]
    rows = BatchRows(Batches(lambda: iter(parts)), plain)
    assert list(rows.reduce(look).rows) == list(range(6))


def test_mapped_batches_are_lazy_and_reopen():
    X = numbered(20)
    source, opened = counting(X, 6)
    answer = BatchRows(source, plain).map(lambda X, k: k * X[:, 0], 3.0)
    before = len(opened)
    assert isinstance(answer, Batches)
    for _ in range(2):
        np.testing.assert_array_equal(np.concatenate(list(answer)), 3.0 * np.arange(20))
    assert len(opened) == before + 2


def test_prepared_batches():
    X = numbered(20)
    source, _ = counting(X, 6)
    rows = BatchRows(source, plain).prepared(lambda block, k: block._replace(y=block.y + k), 100)
    assert rows.reduce(lambda block: Total(int(block.y.min()))).value == 100 + 106 + 112 + 118
    some = rows.on_columns([0, 1])
    assert some.n_features == 2
    assert some.reduce(lambda block: Total(block.X.shape[1])).value == 4 * 2


def test_an_error_in_the_source_reaches_the_caller():
    def broken():
        yield numbered(3)
        raise OSError("the disk is gone")

    rows = BatchRows(Batches(broken), plain)
    with pytest.raises(OSError, match="the disk is gone"):
        rows.reduce(look)


def test_no_reader_thread_is_left_behind():
    others = set(threading.enumerate())  # of tests before, whose iterators nobody has collected yet

    def readers():
        return [t for t in threading.enumerate() if t.name == "didact-reader" and t not in others]

    source, _ = counting(numbered(50), 2)
    rows = BatchRows(source, plain)
    iterator = iter(rows.stream())
    next(iterator)
    assert readers()
    iterator.close()
    assert not readers()

    def fail(block):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        rows.reduce(fail)
    del iterator
    assert not readers()


def test_at_most_two_batches_are_ahead():
    """One waits in the queue and one in the reader's hand: memory does not grow with a slow reader of results."""
    handed, used, most = [0], [0], [0]

    def read():
        for _ in range(30):
            handed[0] += 1
            most[0] = max(most[0], handed[0] - used[0])
            yield np.ones((1, 1))

    rows = BatchRows(Batches(read), plain)
    handed[0] = most[0] = 0

    def count(block):
        used[0] += 1
        threading.Event().wait(0.002)
        return Total(1)

    assert rows.reduce(count).value == 30
    assert most[0] <= 3


def test_an_iterator_that_cannot_be_opened_again_is_refused():
    from didact.linear_model import LinearRegression

    once = iter([(numbered(5), np.ones(5)), (numbered(5), np.ones(5))])
    with pytest.raises(InputError, match="same iterator twice"):
        LinearRegression().fit(Batches(lambda: once))


def test_bad_sources_are_refused():
    with pytest.raises(InputError, match="a function that opens"):
        Batches([numbered(3)])
    with pytest.raises(InputError, match="empty"):
        BatchRows(Batches(list), plain)


# ------------------------------------------------------------------------------------------------ files


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same table as Parquet, CSV and Arrow, each also as a folder of two files."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    table = pa.table({"a": np.arange(100.0), "b": rng.normal(size=100), "y": rng.normal(size=100), "w": np.ones(100)})
    for kind in ("parquet", "csv", "arrow"):
        (folder / kind).mkdir()
        for name, part in [("all", table), (f"{kind}/1", table[:40]), (f"{kind}/2", table[40:])]:
            path = folder / f"{name}.{kind}"
            if kind == "parquet":
                pa.parquet.write_table(part, path, row_group_size=30)
            elif kind == "csv":
                pa.csv.write_csv(part, path)
            else:
                pa.feather.write_feather(part, path, chunksize=30, compression="uncompressed")
    return folder, table


OPEN = {"parquet": Batches.from_parquet, "csv": Batches.from_csv, "arrow": Batches.from_arrow}


@pytest.mark.parametrize("where", ["file", "folder", "list"])
@pytest.mark.parametrize("kind", OPEN)
def test_files_give_back_the_table(files, kind, where):
    folder, table = files
    path = {"file": folder / f"all.{kind}", "folder": folder / kind}.get(where)
    path = [folder / kind / f"{k}.{kind}" for k in (1, 2)] if path is None else path
    source = OPEN[kind](str(path) if where == "file" else path, target="y", sample_weight="w")
    for _ in range(2):
        batches = list(source)
        X = pa.concat_tables([pa.Table.from_batches([batch[0]]) for batch in batches])
        assert X.column_names == ["a", "b"]
        np.testing.assert_allclose(X["b"].to_numpy(), table["b"].to_numpy(), rtol=1e-15)
        np.testing.assert_allclose(np.concatenate([b[1] for b in batches]), table["y"].to_numpy(), rtol=1e-15)
        np.testing.assert_array_equal(np.concatenate([b[2] for b in batches]), 1.0)


@pytest.mark.parametrize("kind", OPEN)
def test_columns_and_several_targets(files, kind):
    folder, table = files
    source = OPEN[kind](folder / f"all.{kind}", target=["y", "w"], columns=["b"])
    batches = list(source)
    assert batches[0][0].schema.names == ["b"]
    Y = np.concatenate([b[1] for b in batches])
    np.testing.assert_allclose(Y, np.column_stack([table["y"], table["w"]]), rtol=1e-15)
    assert batches[0][2] is None
    assert next(iter(OPEN[kind](folder / f"all.{kind}")))[1] is None


@pytest.mark.parametrize("kind", OPEN)
def test_missing_files_and_columns_are_named(files, kind, tmp_path):
    folder, _ = files
    with pytest.raises(InputError, match=r"no file '.*nothing"):
        list(OPEN[kind](folder / "nothing"))
    with pytest.raises(InputError, match="no files"):
        list(OPEN[kind](tmp_path))
    with pytest.raises(InputError, match="no column 'z'; the columns are 'a', 'b'"):
        list(OPEN[kind](folder / f"all.{kind}", target="z"))


def test_parquet_batches_have_the_size_asked_for(files):
    sizes = [batch[0].num_rows for batch in Batches.from_parquet(files[0] / "all.parquet", batch_rows=16)]
    assert max(sizes) <= 16
    assert sum(sizes) == 100


# ------------------------------------------------------------------------------------------------ cluster


@pytest.fixture(autouse=True)
def one_process():
    with dask.config.set(scheduler="synchronous"):
        yield


def cluster(*columns, check=plain):
    return ClusterRows(columns, check, columns[0].shape[1], np.dtype(np.float64))


@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_tree_reduction_keeps_the_order(chunk):
    X = da.from_array(numbered(100), chunks=(chunk, 2))
    seen = cluster(X, None, None).reduce(look)
    assert list(seen.rows) == list(range(100))
    assert sum(seen.sizes) == 100


def test_one_round_of_the_scheduler_per_pass():
    rounds = []

    def get(graph, keys, **kwargs):
        rounds.append(len(keys))
        return dask.get(graph, keys, **kwargs)

    rows = cluster(da.from_array(numbered(100), chunks=(5, -1)), None, None)
    with dask.config.set(scheduler=get):
        for k in range(1, 4):
            rows.reduce(look)
            assert len(rounds) == k


def test_chunks_of_other_columns_follow_those_of_x():
    X = da.from_array(numbered(100), chunks=(30, -1))
    y = da.from_array(np.arange(100.0), chunks=7)

    def check(block):
        np.testing.assert_array_equal(block.X[:, 0], block.y)
        np.testing.assert_array_equal(block.offset, block.y)
        return Total(len(block.y))

    rows = cluster(X, y, None, np.arange(100.0))
    assert rows.reduce(check).value == 100


def test_unknown_chunk_sizes_and_empty_partitions():
    frame = pd.DataFrame(numbered(60), columns=["a", "b", "c"]).assign(y=np.arange(60.0))
    table = dd.from_pandas(frame, npartitions=4)
    table = table[table["a"] >= 20]  # the first partition is now empty

    def check(block):
        np.testing.assert_array_equal(np.asarray(block.X)[:, 0], block.y)
        return Total(len(block.y))

    X, y = table[["a", "b", "c"]], table["y"]
    assert cluster(X, y, None).reduce(check).value == 40
    assert cluster(X.to_dask_array(), y.to_dask_array(), None).reduce(check).value == 40
    answer = cluster(X, y, None).map(lambda X: np.asarray(X)[:, 0])
    np.testing.assert_array_equal(answer.compute(), np.arange(20.0, 60.0))
    with pytest.raises(InputError, match="empty"):
        cluster(X[X["a"] > 1e9], y[y > 1e9], None).reduce(check)


def test_blocks_that_do_not_match_are_refused():
    X = dd.from_pandas(pd.DataFrame(numbered(60)), npartitions=4)
    with pytest.raises(InputError, match="4 blocks"):
        cluster(X, dd.from_pandas(pd.Series(np.arange(60.0)), npartitions=3), None)
    with pytest.raises(InputError, match="Dask collections"):
        cluster(X, np.arange(60.0), None)


def test_blocks_of_different_lengths_are_refused():
    from didact.linear_model import LinearRegression

    X = dd.from_pandas(pd.DataFrame(numbered(60)), npartitions=3).to_dask_array()
    y = dd.from_pandas(pd.Series(np.arange(60.0))[:50], npartitions=3).to_dask_array()
    with pytest.raises(InputError, match="rows of X"):
        LinearRegression().fit(X, y)
    with pytest.raises(ValueError, match=r"(50|60)"):
        LinearRegression().fit(da.from_array(numbered(60)), da.from_array(np.arange(50.0)))


def test_map_knows_shape_and_type():
    X = da.from_array(numbered(100).astype(np.float32), chunks=(30, 2))
    rows = ClusterRows((X,), plain, 3, X.dtype)
    answer = rows.map(lambda X, k: np.stack([X[:, 0], k * X[:, 0]], axis=1), np.float32(2))
    assert answer.shape == (100, 2)
    assert answer.dtype == np.float32
    assert answer.chunks[0] == (30, 30, 30, 10)
    np.testing.assert_array_equal(answer.compute(), numbered(100)[:, :1].astype(np.float32) * [1, 2])


def test_kept_blocks_are_made_once_and_worked_on_where_they_are():
    frame = pd.DataFrame(numbered(60), columns=["a", "b", "c"])
    table = dd.from_pandas(frame, npartitions=4)
    made = []

    def first_column(block, factor):
        made.append(len(block.X))
        return factor * block.X[:, 0]

    kept = cluster(table[table["a"] >= 20], None, None).kept(first_column, 2.0)  # the first block has no rows
    assert sum(made) == 40
    firsts = KeptBlocks([0, 100, 200, 300])
    moved = kept.map(lambda x, first, step: x + first + step, firsts, 1.0)
    assert moved.each(len) == [None, 10, 15, 15]
    seen = moved.reduce(lambda x, before: Seen(tuple((x - before).tolist()), (len(x),)), kept)
    assert seen == Seen((101.0,) * 10 + (201.0,) * 15 + (301.0,) * 15, (10, 15, 15))
    assert kept.reduce(lambda x: Total(float(x.sum()))).value == 2 * sum(range(20, 60))
    assert sum(made) == 40
    with pytest.raises(InputError, match="empty"):
        KeptBlocks([None, None]).reduce(len)


def test_is_dask():
    X = da.ones((3, 2))
    assert is_dask(X)
    assert is_dask(dd.from_pandas(pd.DataFrame({"a": [1]}), npartitions=1))
    assert not is_dask(np.ones(3))
    assert not is_dask(pd.DataFrame({"a": [1]}))


# ------------------------------------------------------------------------------------------------ gathered rows


def three_kinds(X, y, w):
    parts = [slice(0, 4), slice(4, 7), slice(7, None)]
    batches = Batches(lambda: ((X[s], y[s], None if w is None else w[s]) for s in parts))
    chunked = [None if c is None else da.from_array(c, chunks=((4, 3, len(y) - 7), *c.shape[1:])) for c in (X, y, w)]
    return MemoryRows(X, y, w), BatchRows(batches, plain), cluster(*chunked)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_all_kinds_are_gathered_alike(weighted):
    X, y = numbered(12).astype(np.float32), np.arange(12.0)
    w = np.arange(12.0) % 3 if weighted else None
    counts = np.ones(12, bool) if w is None else w > 0
    for rows in three_kinds(X, y, w):
        kept = rows.gather()
        for got, expected in zip(kept, (X, y, np.ones(12) if w is None else w), strict=True):
            np.testing.assert_array_equal(got, expected[counts])
        assert kept[0].dtype == np.float32
        assert rows.gather(np.float64)[0].dtype == np.float64
        whole = rows.whole()
        np.testing.assert_array_equal(whole.X, X)
        np.testing.assert_array_equal(whole.y, y)
        assert whole.weight is None if w is None else (whole.weight == w).all()


def test_sparse_batches_stay_sparse_as_a_whole():
    X = sp.random_array((12, 4), density=0.3, format="csr", rng=np.random.default_rng(0))
    rows = BatchRows(Batches(lambda: (X[s] for s in (slice(0, 5), slice(5, 12)))), plain)
    assert sp.issparse(rows.whole().X)
    np.testing.assert_array_equal(rows.whole().X.toarray(), X.toarray())
    np.testing.assert_array_equal(rows.gather()[0], X.toarray())


def test_rows_say_where_they_are_and_why_they_must_be_in_memory():
    X, y = numbered(12), np.arange(12.0)
    memory_rows, *others = three_kinds(X, y, None)
    assert memory_rows.require_memory("Folds") is memory_rows.memory is memory_rows
    assert (memory_rows.n_rows, memory_rows.is_sparse, memory_rows.on_device) == (12, False, False)
    assert MemoryRows(sp.csr_array(X)).is_sparse
    assert MemoryRows(X.T).is_wide
    assert not any(rows.is_wide for rows in (memory_rows, MemoryRows(X[: X.shape[1]]), *others))
    for rows in others:
        assert rows.n_rows is rows.memory is None
        with pytest.raises(InputError, match="Folds are taken from rows in memory"):
            rows.require_memory("Folds are taken from rows in memory.")


def test_only_the_wanted_rows_of_those_in_memory():
    X, y = numbered(12), np.arange(12.0)
    memory_rows, *others = three_kinds(X, y, None)
    np.testing.assert_array_equal(memory_rows.only(lambda X: X[:, 0] > X[4, 0]).whole().y, y[5:])
    assert all(rows.only(lambda X: X[:, 0] < np.inf) is rows for rows in (memory_rows, *others))


def test_no_row_with_weight_is_no_whole():
    X = numbered(12)
    for rows in three_kinds(X, np.arange(12.0), np.zeros(12))[1:]:
        with pytest.raises(InputError, match="All sample weights are zero"):
            rows.whole()


def test_matrices_beyond_the_memory_of_the_process_are_refused(monkeypatch):
    """A limit on the process counts like the machine's memory, and it is three matrices that have to fit."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 30, resource.RLIM_INFINITY))
    assert memory_limit() == 1 << 30
    refuse_square(6_000, "…")
    with pytest.raises(InputError, match=r"3 matrices of 7000 × 7000 numbers .* 1 GiB.*: use fewer columns\."):
        refuse_square(7_000, "use fewer columns")
