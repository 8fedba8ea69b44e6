"""What a model may be given: odd shapes, types, layouts, sparse matrices, weights, targets, extremes and frames.

A case is a function of `Plain`, rows and a target that suit the model, and gives `Given`: what `fit` gets, and the rows
that are asked about afterwards (those of the fit if there are none). Its name is "group/what".
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp

from didact import Batches

HUGE, LARGE, SMALL, DENORMAL = 1e308, 1e160, 1e-160, 5e-324


class Plain(NamedTuple):
    """A problem without any oddness."""

    X: Any
    y: Any
    labels: bool
    rng: Any


class Given(NamedTuple):
    """What a model gets."""

    X: Any
    y: Any
    w: Any = None
    new: Any = None


CASES: dict[str, Callable[[Plain], Given]] = {}


def case(name: str) -> Callable[[Any], Any]:
    def note(make: Any) -> Any:
        CASES[name] = make
        return make

    return note


def of_rows(group: str, **makers: Callable[[Any], Any]) -> None:
    """Cases in which only X is changed, by a function of it."""
    for name, make in makers.items():
        CASES[f"{group}/{name.replace('_', ' ')}"] = lambda plain, make=make: Given(make(plain.X), plain.y)


def of_targets(group: str, **makers: Callable[[Any], Any]) -> None:
    """Cases in which only y is changed."""
    for name, make in makers.items():
        CASES[f"{group}/{name.replace('_', ' ')}"] = lambda plain, make=make: Given(plain.X, make(plain.y))


def of_weights(group: str, **makers: Callable[[Any], Any]) -> None:
    """Cases in which weights are given, by a function of a vector of ones."""
    for name, make in makers.items():
        key = f"{group}/{name.replace('_', ' ')}"
        CASES[key] = lambda plain, make=make: Given(plain.X, plain.y, make(np.ones(len(plain.y))))


def of_queries(group: str, **makers: Callable[[Any], Any]) -> None:
    """Cases in which the fit is plain, and the rows that are asked about are odd."""
    for name, make in makers.items():
        key = f"{group}/{name.replace('_', ' ')}"
        CASES[key] = lambda plain, make=make: Given(plain.X, plain.y, None, make(plain.X))


def put(array: Any, *where_what: Any) -> Any:
    """A copy with other values in some places: put(a, place, value, place, value)."""
    out = np.array(array)
    for where, what in zip(where_what[::2], where_what[1::2], strict=True):
        out[where] = what
    return out


# ------------------------------------------------------------------------------------------------ shapes


@case("shape/one row")
def _(plain: Plain) -> Given:
    return Given(plain.X[:1], plain.y[:1])


@case("shape/two rows")
def _(plain: Plain) -> Given:
    return Given(plain.X[:2], plain.y[:2])


@case("shape/one column")
def _(plain: Plain) -> Given:
    return Given(plain.X[:, :1], plain.y)


def wide(rows: int, columns: int) -> Callable[[Plain], Given]:
    def make(plain: Plain) -> Given:
        _, first = np.unique(plain.y, return_index=True) if plain.y.ndim == 1 else (None, np.arange(rows))
        pick = np.resize(first[:rows], rows) if plain.labels else np.arange(rows)
        X = np.abs(plain.X).max() * plain.rng.uniform(size=(rows, columns))
        return Given(np.floor(3 * X) if np.array_equal(plain.X, np.floor(plain.X)) else X, plain.y[pick])

    return make


CASES["shape/5 × 40"] = wide(5, 40)
CASES["shape/2 × 3,000"] = wide(2, 3000)
CASES["shape/2 × 30,000"] = wide(2, 30_000)


@case("shape/no rows")
def _(plain: Plain) -> Given:
    return Given(plain.X[:0], plain.y[:0])


@case("shape/fewer targets")
def _(plain: Plain) -> Given:
    return Given(plain.X, plain.y[:-1])


of_rows(
    "shape",
    no_columns=lambda X: X[:, :0],
    one_dimension=lambda X: X[:, 0],
    three_dimensions=lambda X: X[:, :, None],
    equal_rows=lambda X: np.repeat(X[:1], len(X), axis=0),
    equal_columns=lambda X: np.repeat(X[:, :1], X.shape[1], axis=1),
    zeros=lambda X: 0 * X,
    nothing=lambda X: None,
    text=lambda X: "rows",
    number=lambda X: 3.0,
)

# ------------------------------------------------------------------------------------------------ types and layouts


def named(X: Any) -> Any:
    out = np.empty(len(X), dtype=[("a", float), ("b", float)])
    out["a"], out["b"] = X[:, 0], X[:, 1]
    return out


of_rows(
    "type",
    float16=lambda X: X.astype(np.float16),
    float32=lambda X: X.astype(np.float32),
    long_double=lambda X: X.astype(np.longdouble),
    int8=lambda X: np.round(X).astype(np.int8),
    uint64=lambda X: np.abs(np.round(X)).astype(np.uint64),
    large_whole_numbers=lambda X: (np.abs(np.round(X)) + 1).astype(np.int64) * 2**61,
    bool=lambda X: X > 0,
    objects=lambda X: X.astype(object),
    python_numbers=lambda X: X.tolist(),
    words=lambda X: put(X.astype(object), (0, 0), "word"),
    nothing_inside=lambda X: put(X.astype(object), (0, 0), None),
    text=lambda X: X.astype(str),
    bytes=lambda X: X.astype("S8"),
    complex=lambda X: X + 1j,
    times=lambda X: X.astype("datetime64[D]") if X.dtype == int else X.astype(int).astype("datetime64[D]"),
    records=named,
    ragged=lambda X: [[1.0, 2.0], [3.0]],
    masked=lambda X: np.ma.masked_array(X, mask=X > 1),
    matrix=lambda X: X.view(np.matrix),
)


def unaligned(X: Any) -> Any:
    room = np.empty(X.nbytes + 1, dtype=np.uint8)
    out = room[1:].view(X.dtype).reshape(X.shape)
    out[...] = X
    return out


def read_only(X: Any) -> Any:
    X = X.copy()
    X.flags.writeable = False
    return X


of_rows(
    "layout",
    columns_first=np.asfortranarray,
    strided=lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    backwards=lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    read_only=read_only,
    other_bytes=lambda X: X.astype(X.dtype.newbyteorder(">")),
    other_bytes_float32=lambda X: X.astype(">f4"),
    unaligned=unaligned,
    broadcast=lambda X: np.broadcast_to(X[:, :1], X.shape),
)

# ------------------------------------------------------------------------------------------------ sparse


def altered(part: str, change: Callable[[Any], Any], kind: Any = sp.csr_array) -> Callable[[Any], Any]:
    def make(X: Any) -> Any:
        S = kind(X)
        setattr(S, part, change(np.array(getattr(S, part))))
        return S

    return make


def loose(X: Any) -> Any:
    """Rows with their indices backwards, and the first of them twice."""
    S = sp.csr_array(X)
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in zip(S.indptr[:-1], S.indptr[1:], strict=True)])
    S.indices, S.data = S.indices[order.astype(int)], S.data[order.astype(int)]
    if len(S.indices) > 1 and S.indptr[1] > 1:
        S.indices[1] = S.indices[0]
    return S


def locked(X: Any) -> Any:
    S = sp.csr_array(X)
    for part in (S.data, S.indices, S.indptr):
        part.flags.writeable = False
    return S


of_rows(
    "sparse",
    csr=sp.csr_array,
    csr_matrix=sp.csr_matrix,
    csc=sp.csc_array,
    coo=sp.coo_array,
    bsr=sp.bsr_array,
    lil=sp.lil_array,
    dia=sp.dia_array,
    dok=sp.dok_array,
    loose=loose,
    float32=lambda X: sp.csr_array(X.astype(np.float32)),
    whole_numbers=lambda X: sp.csr_array(np.round(X).astype(np.int64)),
    bool=lambda X: sp.csr_array(X > 0),
    complex=lambda X: sp.csr_array(X + 1j),
    read_only=locked,
    without_entries=lambda X: sp.csr_array(X.shape),
    no_rows=lambda X: sp.csr_array((0, X.shape[1])),
    stored_zeros=altered("data", lambda d: 0 * d),
    large_indices=altered("indices", lambda i: i.astype(np.int64)),
    not_a_number=altered("data", lambda d: put(d, 0, np.nan)),
    infinite=altered("data", lambda d: put(d, 0, np.inf)),
    huge=altered("data", lambda d: put(d, 0, HUGE)),
    large=altered("data", lambda d: LARGE * d),
    one_dimension=lambda X: sp.coo_array(X[:, 0]),
)
of_rows(
    "malformed",
    index_too_large=altered("indices", lambda i: put(i, 2, 10**6)),
    index_one_too_large=altered("indices", lambda i: put(i, 2, 40)),
    index_negative=altered("indices", lambda i: put(i, 2, -3)),
    falling_edges=altered("indptr", lambda e: put(e, 2, e[-1])),
    negative_edges=altered("indptr", lambda e: put(e, 1, -5)),
    edges_beyond=altered("indptr", lambda e: put(e, -1, 10**7)),
    few_edges=altered("indptr", lambda e: e[:-3]),
    few_values=altered("data", lambda d: d[:-3]),
    few_indices=altered("indices", lambda i: i[:-3]),
    floats=altered("indices", lambda i: i + 0.5),
    csc_index=altered("indices", lambda i: put(i, 2, 10**6), sp.csc_array),
    coo_index=altered("row", lambda i: put(i, 2, 10**6), sp.coo_array),
    bsr_index=altered("indices", lambda i: put(i, 0, -9), sp.bsr_array),
    dia_offsets=altered("offsets", lambda o: o[:1], sp.dia_array),
    lil_index=altered("rows", lambda r: put(r, 0, [10**6]), sp.lil_array),
)

# ------------------------------------------------------------------------------------------------ weights

of_weights(
    "weights",
    sum_to_one=lambda w: w / len(w),
    tiny=lambda w: w * 1e-300,
    huge=lambda w: w * 1e300,
    some_zeros=lambda w: put(w, np.s_[::3], 0.0),
    one_row=lambda w: put(0 * w, 5, 1.0),
    two_rows=lambda w: put(0 * w, 5, 1.0, 9, 2.0),
    from_tiny_to_huge=lambda w: np.logspace(-200, 200, len(w)),
    denormal=lambda w: w * DENORMAL,
    all_zero=lambda w: 0 * w,
    negative=lambda w: put(w, 3, -1.0),
    not_a_number=lambda w: put(w, 3, np.nan),
    infinite=lambda w: put(w, 3, np.inf),
    too_few=lambda w: w[:-1],
    two_columns=lambda w: np.column_stack([w, w]),
    words=lambda w: ["a"] * len(w),
    bool=lambda w: np.arange(len(w)) % 2 == 0,
    int8=lambda w: w.astype(np.int8),
    complex=lambda w: w + 1j,
    python_numbers=lambda w: w.tolist(),
    series=lambda w: pd.Series(w, index=np.arange(len(w))[::-1]),
    read_only=read_only,
    one_number=lambda w: 2.0,
)


@case("weights/class without any")
def _(plain: Plain) -> Given:
    first = plain.y == plain.y[0] if plain.labels else np.arange(len(plain.y)) < 20
    return Given(plain.X, plain.y, np.where(first, 0.0, 1.0))


# ------------------------------------------------------------------------------------------------ targets

of_targets(
    "target",
    constant=lambda y: np.repeat(y[:1], len(y), axis=0),
    one_different=lambda y: put(
        np.repeat(y[:1], len(y), axis=0), -1, y[np.argmax(y != y[0])] if y.ndim == 1 else y[-1]
    ),
    all_different=lambda y: np.arange(len(y)),
    nothing=lambda y: None,
    text=lambda y: "target",
    words=lambda y: np.array([f"word {i % 3}" for i in range(len(y))]),
    objects=lambda y: y.astype(object),
    mixed=lambda y: put(y.astype(object), 0, 3.5, 1, "word", 2, None),
    bool=lambda y: np.arange(len(y)) % 2 == 0,
    whole_numbers=lambda y: np.arange(len(y)) % 3,
    large_whole_numbers=lambda y: 2**62 + np.arange(len(y)) % 2,
    unsigned=lambda y: (np.arange(len(y)) % 3).astype(np.uint8),
    column=lambda y: (np.arange(len(y)) % 2.0)[:, None],
    two_columns=lambda y: np.column_stack([np.arange(len(y)) % 2, np.arange(len(y)) % 3]),
    three_dimensions=lambda y: np.ones((len(y), 1, 1)),
    no_columns=lambda y: np.ones((len(y), 0)),
    not_a_number=lambda y: put(np.arange(len(y)) % 2.0, 3, np.nan),
    infinite=lambda y: put(np.arange(len(y)) % 2.0, 3, np.inf),
    continuous=lambda y: np.linspace(0.1, 0.9, len(y)),
    huge=lambda y: HUGE * (np.arange(len(y)) % 2),
    large=lambda y: LARGE * (1.0 + np.arange(len(y)) % 2),
    small=lambda y: SMALL * (1.0 + np.arange(len(y)) % 2),
    denormal=lambda y: DENORMAL * (1.0 + np.arange(len(y)) % 3),
    negative=lambda y: -1.0 - np.arange(len(y)) % 2,
    float32=lambda y: (np.arange(len(y)) % 2).astype(np.float32),
    float16=lambda y: (np.arange(len(y)) % 2).astype(np.float16),
    complex=lambda y: np.arange(len(y)) % 2 + 1j,
    times=lambda y: (np.arange(len(y)) % 2).astype("datetime64[D]"),
    sparse=lambda y: sp.csr_array((np.arange(len(y)) % 2.0)[:, None]),
    other_bytes=lambda y: (np.arange(len(y)) % 2.0).astype(">f8"),
    read_only=read_only,
    backwards=lambda y: y[::-1].copy()[::-1],
    series=lambda y: pd.Series(list(y), index=np.arange(len(y))[::-1]),
    polars_series=lambda y: pl.Series(list(y)),
    categories=lambda y: pd.Series([f"word {i % 3}" for i in range(len(y))], dtype="category"),
    nullable=lambda y: pd.Series([i % 2 for i in range(len(y))], dtype="Int64"),
    nullable_missing=lambda y: pd.Series([None, *(i % 2 for i in range(1, len(y)))], dtype="Int64"),
)

# ------------------------------------------------------------------------------------------------ extremes

EXTREMES: dict[str, Callable[[Any], Any]] = {
    "one_large": lambda X: put(X, (3, 1), LARGE),
    "one_huge": lambda X: put(X, (3, 1), HUGE),
    "one_infinite": lambda X: put(X, (3, 1), np.inf),
    "one_negative_infinite": lambda X: put(X, (3, 1), -np.inf),
    "one_not_a_number": lambda X: put(X, (3, 1), np.nan),
    "row_not_a_number": lambda X: put(X, 3, np.nan),
    "column_not_a_number": lambda X: put(X, (slice(None), 1), np.nan),
    "large": lambda X: LARGE * X,
    "small": lambda X: SMALL * X,
    "square_overflows_float32": lambda X: (1e30 * X).astype(np.float32),
    "huge": lambda X: np.where(X > 0, HUGE, -HUGE),
    "denormal": lambda X: np.abs(np.round(X)) * DENORMAL,
}
of_rows("extreme", **EXTREMES)
of_rows(
    "extreme",
    column_large=lambda X: X * np.array([1.0, LARGE, *np.ones(X.shape[1] - 2)]),
    column_constant_huge=lambda X: put(X, (slice(None), 1), HUGE),
    scales=lambda X: X * np.logspace(-200, 200, X.shape[1]),
    far_away=lambda X: X + 1e16,
    negative=lambda X: -np.abs(X) - 0.5,
    float32_huge=lambda X: np.where(X > 0, 3e38, -3e38).astype(np.float32),
)

# ------------------------------------------------------------------------------------------------ frames


def frame(X: Any) -> Any:
    return pd.DataFrame(np.array(X), columns=[f"x{j}" for j in range(X.shape[1])])


def with_column(**columns: Callable[[int], Any]) -> Callable[[Any], Any]:
    def make(X: Any) -> Any:
        return frame(X).assign(**{name: values(len(X)) for name, values in columns.items()})

    return make


def polars(X: Any, **columns: Any) -> Any:
    return pl.DataFrame({f"x{j}": X[:, j].copy() for j in range(X.shape[1])} | columns)


of_rows(
    "frame",
    pandas=frame,
    polars=polars,
    arrow=lambda X: pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])}),
    equal_names=lambda X: frame(X).set_axis(["a"] * X.shape[1], axis=1),
    two_equal_names=lambda X: frame(X).set_axis(["a", "a", *"bcdef"[: X.shape[1] - 2]], axis=1),
    whole_numbers_as_names=lambda X: pd.DataFrame(X.copy()),
    mixed_names=lambda X: frame(X).set_axis([0, *"bcdef"[: X.shape[1] - 1]], axis=1),
    two_levels_of_names=lambda X: frame(X).set_axis(pd.MultiIndex.from_product([["a"], range(X.shape[1])]), axis=1),
    any_index=lambda X: frame(X).set_index(np.zeros(len(X))),
    categories=with_column(x1=lambda n: pd.Categorical(["a", "b"] * (n // 2))),
    categories_of_numbers=with_column(x1=lambda n: pd.Categorical([1, 2] * (n // 2))),
    categories_missing=with_column(x1=lambda n: pd.Categorical(["a", None] * (n // 2))),
    words=with_column(x1=lambda n: ["a", "b"] * (n // 2)),
    objects=lambda X: frame(X).astype(object),
    times=with_column(x1=lambda n: pd.date_range("2020-01-01", periods=n)),
    spans=with_column(x1=lambda n: pd.to_timedelta(np.arange(n), unit="D")),
    nullable=with_column(x1=lambda n: pd.array([0, 1] * (n // 2), dtype="Int64")),
    nullable_missing=with_column(x1=lambda n: pd.array([0, None] * (n // 2), dtype="Int64")),
    nullable_floats=with_column(x1=lambda n: pd.array([0.5, None] * (n // 2), dtype="Float64")),
    nullable_bool=with_column(x1=lambda n: pd.array([True, None] * (n // 2), dtype="boolean")),
    bool=with_column(x1=lambda n: [True, False] * (n // 2)),
    complex=with_column(x1=lambda n: np.ones(n) * 1j),
    sparse_columns=lambda X: frame(X).astype(pd.SparseDtype(float, 0.0)),
    no_rows=lambda X: frame(X)[:0],
    no_columns=lambda X: frame(X)[[]],
    series=lambda X: frame(X)["x0"],
    polars_null=lambda X: polars(X, x1=pl.Series([None] * len(X))),
    polars_missing=lambda X: polars(X, x1=pl.Series([None, 1.0] * (len(X) // 2))),
    polars_categories=lambda X: polars(X, x1=pl.Series(["a", "b"] * (len(X) // 2), dtype=pl.Categorical)),
    polars_words=lambda X: polars(X, x1=pl.Series(["a", "b"] * (len(X) // 2))),
    polars_lists=lambda X: polars(X, x1=pl.Series([[1.0, 2.0]] * len(X))),
    polars_structs=lambda X: polars(X, x1=pl.Series([{"a": 1}] * len(X))),
    polars_decimal=lambda X: polars(X, x1=pl.Series([1, 2] * (len(X) // 2)).cast(pl.Decimal(10, 2))),
    polars_lazy=lambda X: polars(X).lazy(),
    polars_no_rows=lambda X: polars(X)[:0],
    arrow_missing=lambda X: pa.table({f"x{j}": pa.array([None, *X[1:, j].tolist()]) for j in range(X.shape[1])}),
    arrow_equal_names=lambda X: pa.Table.from_arrays([pa.array(x) for x in X.T], names=["a"] * X.shape[1]),
)

# ------------------------------------------------------------------------------------------------ batches


def batches(*change: Callable[[Any], Any]) -> Callable[[Plain], Given]:
    """Batches of twenty rows; one of the changes is made to each of them in turn."""

    def make(plain: Plain) -> Given:
        def read() -> Any:
            for k in range(0, len(plain.y), 20):
                some = change[min(k // 20, len(change) - 1)]
                yield some((plain.X[k : k + 20], plain.y[k : k + 20]))

        return Given(Batches(read), None, None, plain.X)

    return make


CASES["batches/plain"] = batches(lambda b: b)
CASES["batches/without a target"] = batches(lambda b: b[0])
CASES["batches/nothing"] = batches(lambda b: None)
CASES["batches/one has no target"] = batches(lambda b: b, lambda b: b[0])
CASES["batches/one has fewer columns"] = batches(lambda b: b, lambda b: (b[0][:, :-1], b[1]))
CASES["batches/one has two targets"] = batches(lambda b: b, lambda b: (b[0], np.column_stack([b[1], b[1]])))
CASES["batches/one has words"] = batches(lambda b: b, lambda b: (b[0], np.array(["word"] * len(b[0]))))
CASES["batches/one is float32"] = batches(lambda b: b, lambda b: (b[0].astype(np.float32), b[1]))
CASES["batches/one is sparse"] = batches(lambda b: b, lambda b: (sp.csr_array(b[0]), b[1]))
CASES["batches/one is malformed"] = batches(
    lambda b: b, lambda b: (altered("indices", lambda i: put(i, 2, 10**6))(b[0]), b[1])
)
CASES["batches/one has weights"] = batches(lambda b: b, lambda b: (*b, np.ones(len(b[0]))))
CASES["batches/lists"] = batches(lambda b: (b[0].tolist(), list(b[1])))
CASES["batches/five columns"] = batches(lambda b: (*b, None, None, None))
CASES["batches/large"] = batches(lambda b: (LARGE * b[0], b[1]))

# ------------------------------------------------------------------------------------------------ queries

of_queries(
    "new rows",
    none=lambda X: X[:0],
    one=lambda X: X[:1],
    more_columns=lambda X: np.column_stack([X, X]),
    fewer_columns=lambda X: X[:, :-1],
    one_dimension=lambda X: X[0],
    words=lambda X: X.astype(str).astype(object) + "x",
    objects=lambda X: X.astype(object),
    float32=lambda X: X.astype(np.float32),
    float16=lambda X: X.astype(np.float16),
    whole_numbers=lambda X: np.round(X).astype(int),
    bool=lambda X: X > 0,
    complex=lambda X: X + 1j,
    columns_first=np.asfortranarray,
    read_only=read_only,
    backwards=lambda X: X[::-1, ::-1],
    other_bytes=lambda X: X.astype(">f8"),
    unaligned=unaligned,
    frame=frame,
    sparse=sp.csr_array,
    sparse_loose=loose,
    sparse_no_rows=lambda X: sp.csr_array((0, X.shape[1])),
    malformed=altered("indices", lambda i: put(i, 2, 10**6)),
    malformed_edges=altered("indptr", lambda e: put(e, 2, e[-1])),
    nothing=lambda X: None,
    far_away=lambda X: X + 1e6,
    batches=lambda X: Batches(lambda: [X, X[:0], X[:3]]),
    **EXTREMES,
)
