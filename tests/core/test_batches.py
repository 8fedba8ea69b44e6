"""Batches that are not what the first of them was, or that are gone: copied where that helps, refused where not."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from didact import Batches
from didact.core.errors import InputError
from didact.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from didact.naive_bayes import GaussianNB
from didact.neighbors import KNeighborsRegressor
from didact.parts.statistics.counts import label_codes
from didact.tree import DecisionTreeClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(900, 4))
Y = X @ [1.0, -2.0, 0.5, 3.0] + 0.1 * RNG.normal(size=900)
LABELS = np.where(Y > 0, "yes", "no")
PIECES = [slice(k, k + 30) for k in range(0, 900, 30)]
NAMES = list("abcd")

WRAPPED = {
    "array": lambda a: a,
    "view": lambda a: a[:, :],
    "frame": lambda a: pd.DataFrame(a, columns=NAMES, copy=False),
    "arrow": lambda a: pa.table({name: pa.array(a[:, j]) for j, name in enumerate(NAMES)}),
    "polars": lambda a: pl.from_numpy(a, schema=NAMES),
}


def one_buffer(wrap, rows=X, target=Y):
    """A source that writes every batch into the same memory, column by column."""

    def read():
        room, y = np.empty((30, 4), order="F"), np.empty(30, dtype=target.dtype)
        for s in PIECES:
            room[...], y[...] = rows[s], target[s]
            yield wrap(room), y

    return Batches(read)


@pytest.mark.parametrize("kind", WRAPPED)
@pytest.mark.parametrize("model", [LinearRegression(), KNeighborsRegressor(3)], ids=["reduce", "gather"])
def test_a_source_may_write_into_the_same_memory(model, kind):
    found = model.fit(one_buffer(WRAPPED[kind]))
    new = WRAPPED[kind](np.asfortranarray(X[:30]))
    got = found.predict(new)
    np.testing.assert_allclose(got, model.fit(X, Y).predict(X[:30]), rtol=1e-9)


def test_sparse_batches_may_be_written_into_the_same_memory():
    room = sp.csr_array(np.ones((30, 4)))

    def read():
        for s in PIECES:
            room.data[...] = X[s].ravel()
            yield room, Y[s]

    np.testing.assert_allclose(Ridge().fit(Batches(read)).coef_, Ridge().fit(X, Y).coef_, rtol=1e-9)


def test_queries_may_be_written_into_the_same_memory():
    model = LinearRegression().fit(X, Y)
    source = Batches(lambda: (batch[0] for batch in one_buffer(WRAPPED["array"])))
    np.testing.assert_allclose(np.concatenate(list(model.predict(source))), model.predict(X), rtol=1e-12)


def test_queries_without_rows_are_passed_over():
    model = GaussianNB().fit(X, LABELS)
    found = list(model.predict_proba(Batches(lambda: [X[:0], X[:5], X[5:5], X[5:9]])))
    np.testing.assert_allclose(np.concatenate(found), model.predict_proba(X[:9]), rtol=1e-12)


# ------------------------------------------------------------------------------------------------ one kind


def changed(change, target=Y):
    """A source whose last batches are changed."""
    return Batches(lambda: ((X[s], target[s]) if s.start < 600 else change(X[s], target[s]) for s in PIECES))


CHANGES = {
    "columns": (lambda X, y: (X[:, :3], y), "3 features, but 4"),
    "type": (lambda X, y: (X.astype(np.float32), y), "X of batch 21 is dense float32.*dense float64"),
    "sparse": (lambda X, y: (sp.csr_array(X), y), "X of batch 21 is sparse.*first batch was dense"),
    "targets": (lambda X, y: (X, np.column_stack([y, y])), r"y of batch 21 is 2 column\(s\).*was one column|1d array"),
    "no X": (lambda X, y: (None, y), "no X"),
    "no y": (lambda X, y: X, "y is missing"),
    "a number": (lambda X, y: (3.0, y), "must be an array"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("model", [LinearRegression(), GaussianNB()], ids=["numbers", "labels"])
def test_batches_of_another_kind_are_refused(model, change):
    make, said = CHANGES[change]
    with pytest.raises(ValueError, match=said):
        model.fit(changed(make, Y if isinstance(model, LinearRegression) else LABELS))


@pytest.mark.parametrize("model", [LogisticRegression(), GaussianNB(), DecisionTreeClassifier()], ids=repr)
def test_another_kind_of_labels_is_refused(model):
    with pytest.raises(InputError, match=r"y of batch 21 is one column of values.*was one column of text"):
        model.fit(changed(lambda X, y: (X, (y == "yes").astype(int)), LABELS))


def test_lists_are_batches():
    batches = Batches(lambda: ((X[s].tolist(), Y[s].tolist()) for s in PIECES))
    np.testing.assert_allclose(LinearRegression().fit(batches).coef_, LinearRegression().fit(X, Y).coef_, rtol=1e-9)


def test_whole_numbers_and_floats_are_of_one_kind():
    """A column of a CSV file may look like whole numbers in one file and not in the next."""
    batches = changed(lambda X, y: (np.round(X).astype(int), y))
    assert np.isfinite(LinearRegression().fit(batches).coef_).all()


# ------------------------------------------------------------------------------------------------ passes


def failing(later, first=4, target=None):
    """A source that gives other batches from some opening on."""
    opened = []
    target = np.exp(Y / 9) if target is None else target

    def read():
        opened.append(0)
        pieces = PIECES if len(opened) < first else later
        return [(X[s], target[s]) for s in pieces]

    return Batches(read)


@pytest.mark.parametrize("first", [3, 4, 6])
@pytest.mark.parametrize("later", [PIECES[:-1], PIECES + PIECES[:1], []], ids=["fewer", "more", "none"])
def test_a_pass_with_other_rows_is_refused(later, first):
    """The first openings only look at what there is, the third begins the fit."""
    if later and first == 3:
        return  # all passes of the fit are alike
    with pytest.raises(InputError, match=r"gave (some|900) rows in an earlier pass and (0|870|930) in this one"):
        PoissonRegressor(tol=1e-10).fit(failing(later, first))


@pytest.mark.parametrize("kind", [str, int])
def test_labels_that_appear_in_a_later_pass_are_refused(kind):
    codes = (Y > 0).astype(int)
    for strange in (7, -7):
        opened = []

        def read(opened=opened, strange=strange):
            opened.append(0)
            y = codes if len(opened) < 4 else np.where(np.arange(900) == 55, strange, codes)
            return [(X[s], y[s].astype("U2" if kind is str else int)) for s in PIECES]

        with pytest.raises(InputError, match=f"label '?{strange}'?, which is not among the classes"):
            LogisticRegression(C=1e-3).fit(Batches(read))


def test_codes_of_labels():
    for values in (np.array([-3, 2, 9]), np.array([0, 10**12]), np.array(["a", "b"]), np.array(["a", "b"], object)):
        where = RNG.integers(0, len(values), size=20)
        np.testing.assert_array_equal(label_codes(values[where], values), where)
    for bad in (-4, 0, 10, 2**40):
        with pytest.raises(InputError, match=str(bad)):
            label_codes(np.array([2, bad]), np.array([-3, 2, 9]))
    with pytest.raises(InputError, match="'ab'"):
        label_codes(np.array(["a", "ab"]), np.array(["a", "b"]))
