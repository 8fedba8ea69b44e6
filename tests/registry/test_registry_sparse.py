"""Sparse rows, for every estimator that takes them: any format gives the answer of dense rows, none is changed."""

import numpy as np
import pytest
import scipy.sparse as sp
from registry_cases import (
    about,
    all_instances,
    answer,
    assert_same,
    dealt,
    fitted,
    one_of_each,
    over_registry,
    precise,
    problem,
    representatives,
    state,
    takes,
)
from sklearn.base import clone
from sklearn.utils import get_tags

from didact.core.errors import InputError

SPARSE = [model for model in all_instances() if get_tags(model).input_tags.sparse]


def _large_indices(X):
    X = sp.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


FORMATS = {
    "csr": sp.csr_array,
    "csr matrix": sp.csr_matrix,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "64-bit": _large_indices,
}


@over_registry(SPARSE, "sparse")
def test_sparse_equals_dense(model):
    """As CSR, which the loops see, and in one other format; the representatives in all of them."""
    X, y = problem(model)
    X = np.where(np.abs(X) > 0.7, X, 0.0)
    expected = state(precise(model).fit(X, y), X)
    for kind in FORMATS if model in representatives(SPARSE) else ("csr", dealt(model, [*FORMATS][1:])):
        S = FORMATS[kind](X)
        before = S.copy()
        with about(kind):
            assert_same(state(precise(model).fit(S, y), S), expected, rtol=1e-8)
            np.testing.assert_array_equal(S.toarray(), before.toarray())


@over_registry([m for m in SPARSE if takes(m, "sample_weight")], "sparse")
def test_sparse_equals_dense_with_weights_and_many_rows(model):
    X, y = problem(model, n=2500)  # two blocks
    X = np.where(np.abs(X) > 0.7, X, 0.0)
    w = np.random.default_rng(1).integers(0, 3, size=len(y))
    S = sp.csr_array(X)
    got = state(precise(model).fit(S, y, sample_weight=w), S)
    assert_same(got, state(precise(model).fit(X, y, sample_weight=w), X), rtol=1e-8)


def loose(X):
    """Sparse rows as nobody should write them: columns in falling order, and the first entry of a row in two halves."""
    tidy = sp.csr_array(X)
    indices, data, edges = [], [], [0]
    for i in range(tidy.shape[0]):
        part = slice(tidy.indptr[i], tidy.indptr[i + 1])
        columns, values = tidy.indices[part][::-1].tolist(), tidy.data[part][::-1].tolist()
        indices += columns[:1] + columns
        data += [v / 2 for v in values[:1]] * 2 + values[1:]
        edges.append(len(indices))
    return sp.csr_array((np.array(data), np.array(indices, np.int32), np.array(edges, np.int32)), shape=tidy.shape)


@over_registry(one_of_each(SPARSE), "inputs_untouched/sparse")
def test_sparse_inputs_are_neither_sorted_nor_summed_up(model):
    X, y = problem(model)
    S = loose(X)
    before = [part.copy() for part in (S.data, S.indices, S.indptr)]
    found = state(clone(model).fit(S, y), S)
    for part, copy in zip((S.data, S.indices, S.indptr), before, strict=True):
        np.testing.assert_array_equal(part, copy)
    assert_same(found, state(clone(model).fit(sp.csr_array(X), y), sp.csr_array(X)), rtol=1e-9)


@over_registry(one_of_each(SPARSE), "malformed_refused")
def test_malformed_sparse_matrices_are_refused(model):
    X, y = problem(model)
    bad = sp.csr_array(X)
    bad.indices[3] = 10**6
    for method, arguments in [("fit", (bad, y)), (answer(model), (bad,))]:
        with pytest.raises(InputError, match="malformed sparse matrix"):
            getattr(fitted(model), method)(*arguments)
