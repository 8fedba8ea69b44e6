"""Sparse matrices at the door: malformed ones are refused in a sentence, others come as rows of their own."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from didact import Batches
from didact.core.errors import InputError
from didact.core.sparse import check_sparse, own_rows
from didact.linear_model import Ridge
from didact.tree import DecisionTreeRegressor

DENSE = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 0.0, 5.0], [0.0, 6.0, 0.0]])
FORMATS = ["csr", "csc", "coo", "bsr", "lil", "dia", "dok"]


def compressed(part, value, form="csr"):
    """A sound matrix with another array in place of one of its parts."""
    X = sp.csr_array(DENSE).asformat(form)
    setattr(X, part, np.asarray(value))
    return X


def lists(row, part, value):
    X = sp.lil_array(DENSE)
    getattr(X, part)[row] = value
    return X


def coordinates(axis, value):
    X = sp.coo_array(DENSE)
    coords = list(X.coords)
    coords[axis] = np.asarray(value)
    X.coords = tuple(coords)
    return X


BAD = {
    "csr index": (compressed("indices", [0, 2, 1, 0, 9, 1]), "the index 9 is not between 0 and 2"),
    "csr far index": (compressed("indices", [0, 2, 1, 0, 2**30, 1]), "is not between 0 and 2"),
    "csr negative": (compressed("indices", [0, -2, 1, 0, 2, 1]), "the index -2"),
    "csr floats": (compressed("indices", [0.0, 2, 1, 0, 2, 1]), "whole numbers"),
    "csr values": (compressed("data", [1.0, 2.0]), "2 values and 6 indices"),
    "csr stacked": (compressed("data", np.ones((6, 1))), "more than one dimension"),
    "csr short indptr": (compressed("indptr", [0, 2, 6]), "indptr has 3 entries where 5 are needed"),
    "csr long indptr": (compressed("indptr", [0, 2, 3, 5, 6, 6]), "indptr has 6 entries"),
    "csr beyond": (compressed("indptr", [0, 2, 3, 5, 60]), "indptr runs from 0 to 60, but there are 6"),
    "csr start": (compressed("indptr", [-4, 2, 3, 5, 6]), "indptr runs from -4"),
    "csr decreasing": (compressed("indptr", [0, 5, 3, 5, 6]), "indptr decreases after place 1"),
    "csc index": (compressed("indices", [0, 2, 1, 3, 0, 4], "csc"), "the index 4 is not between 0 and 3"),
    "bsr index": (compressed("indices", [0, 2, 1, 0, 3, 1], "bsr"), "the index 3"),
    "bsr blocks": (compressed("data", np.ones((6, 2, 2)), "bsr"), "do not fill it"),
    "coo row": (coordinates(0, [0, 0, 1, 2, 2, 7]), "the index 7 is not between 0 and 3"),
    "coo column": (coordinates(1, [0, 2, 1, 0, -1, 1]), "the index -1"),
    "coo lengths": (coordinates(1, [0, 2]), "6 values, but 6 and 2 indices"),
    "lil index": (lists(1, "rows", [8]), "the index 8"),
    "lil lengths": (lists(1, "data", [1.0, 2.0]), "row 1 does not have as many values as column"),
}
BAD["dia"] = (sp.dia_array(DENSE), "offsets")
BAD["dia"][0].offsets = np.array([0])


@pytest.mark.parametrize("case", BAD)
def test_malformed_matrices_are_refused_in_a_sentence(case):
    X, said = BAD[case]
    with pytest.raises(InputError, match=f"malformed sparse matrix.*{said}"):
        check_sparse(X)
    with pytest.raises(InputError, match=said):
        Ridge().fit(X, np.ones(4))
    sound = Ridge().fit(DENSE, np.ones(4))
    with pytest.raises(InputError, match=said):
        sound.predict(X)


@pytest.mark.parametrize("case", [case for case in BAD if case.startswith("csr")])
def test_malformed_blocks_are_refused_in_a_sentence(case):
    X, said = BAD[case]
    good = sp.csr_array(DENSE)
    with pytest.raises(InputError, match=said):
        Ridge().fit(Batches(lambda: [(good, np.ones(4)), (X, np.ones(4))]))
    with pytest.raises(InputError, match=said):  # its categories are looked for before anything else
        DecisionTreeRegressor(categorical_features=[0]).fit(X, np.ones(4))


def test_malformed_blocks_on_dask_are_refused():
    X, said = BAD["csr index"]
    parts = da.from_array(DENSE, chunks=(4, 3)).map_blocks(lambda _: X, meta=sp.csr_array((0, 0)))
    with pytest.raises(InputError, match=said):
        Ridge().fit(parts, da.ones(4))


@pytest.mark.parametrize("form", FORMATS)
def test_sound_matrices_pass(form):
    X = sp.csr_array(DENSE).asformat(form)
    check_sparse(X)
    check_sparse(sp.csr_array((0, 3)).asformat(form))
    np.testing.assert_array_equal(
        Ridge().fit(X, np.arange(4.0)).coef_, Ridge().fit(sp.csr_array(DENSE), np.arange(4.0)).coef_
    )


def test_unused_entries_behind_the_last_row_are_left_out():
    X = compressed("indptr", [0, 2, 3, 5, 5])
    X.indices[5] = 77  # SciPy allows for room behind the rows
    check_sparse(X)
    np.testing.assert_array_equal(own_rows(X).toarray(), np.vstack([DENSE[:3], np.zeros(3)]))


def test_rows_share_arrays_if_they_are_in_order():
    X = sp.csr_array(DENSE)
    own = own_rows(X)
    assert own is not X
    assert np.shares_memory(own.data, X.data)
    assert np.shares_memory(own.indices, X.indices)
    assert own.has_canonical_format


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_the_callers_matrix_is_not_sorted_or_summed_up(kind):
    X = kind((np.array([1.0, 2.0, 4.0, 8.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])), shape=(2, 3))
    X.has_canonical_format = True  # a claim that is not true, and a door must not believe
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    own = own_rows(X)
    assert isinstance(own, kind)
    np.testing.assert_array_equal(own.indices, [0, 2, 1])
    np.testing.assert_array_equal(own.data, [2.0, 5.0, 8.0])
    for array, kept in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(array, kept)


def test_large_indices_stay_large():
    X = sp.csr_array(DENSE)
    X.indptr = X.indptr.astype(np.int64)
    assert own_rows(X).indices.dtype == own_rows(X).indptr.dtype == np.int64
