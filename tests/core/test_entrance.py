"""The entrance of functions: malformed matrices, and arguments that a constraint does not allow, are refused."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp

from didact.cluster import get_bin_seeds, kmeans_plusplus, linkage_tree
from didact.core.errors import InputError, ParameterError
from didact.core.parameters import none, whole
from didact.core.validation import given_rows
from didact.core.validation.entrance import beside_rows, entrance
from didact.linear_model import LogisticRegression
from didact.manifold import trustworthiness


def malformed():
    """A matrix of four rows that ends beyond its memory."""
    S = sp.csr_array(np.eye(4))
    S.indptr[2] = 10**8
    return S


@entrance(count=[whole(1), none])
def of_rows(X, count=None, *more, **named):
    """A function."""
    return count


def test_arguments_are_looked_at_wherever_they_stand():
    assert of_rows(np.eye(2), 3) == 3
    assert str(inspect.signature(of_rows)) == "(X, count=None, *more, **named)"
    for arguments, named in [((malformed(),), {}), ((), {"X": malformed()})]:
        with pytest.raises(InputError, match="X is a malformed sparse matrix"):
            of_rows(*arguments, **named)
    for count in (0, 2.5, "a", np.float64(2)):
        with pytest.raises(ParameterError, match="'count' parameter of of_rows must be an int"):
            of_rows(np.eye(2), count)


def test_rows_of_methods_are_left_to_the_method():
    asked = beside_rows(lambda self, X, y=None: X)
    S = malformed()
    assert asked(None, S) is S
    for arguments, named in [((S, S), {}), ((S,), {"y": S})]:
        with pytest.raises(InputError, match="y is a malformed sparse matrix"):
            asked(None, *arguments, **named)
    model = LogisticRegression().fit(np.arange(4.0)[:, None], [0, 0, 1, 1])
    with pytest.raises(InputError, match="y is a malformed"):  # a method of scikit-learn's mixin
        model.score(np.arange(4.0)[:, None], S)


def test_given_rows_are_arrays_of_floats_or_csr():
    assert given_rows([[1, 2]]).dtype == np.float64
    assert given_rows(np.ones((2, 2), np.float32)).dtype == np.float32
    found = given_rows(sp.coo_array(np.eye(3, dtype=np.int8)))
    assert (found.format, found.dtype) == ("csr", np.float64)
    for bad, said in [
        (np.ones(3), "two dimensions, rows and columns, not 1"),
        ([["a"]], "Z must be a table of numbers"),
        ([[1.0], [1.0, 2.0]], "Z must be a table of numbers"),
        (np.eye(2) * 1j, "complex"),
        (malformed(), "Z is a malformed sparse matrix"),
    ]:
        with pytest.raises(InputError, match=said):
            given_rows(bad, "Z")


def test_functions_refuse_in_a_sentence():
    with pytest.raises(InputError, match="two dimensions"):
        linkage_tree(np.ones((3, 2, 2)))
    with pytest.raises(ParameterError, match="'n_clusters' parameter"):
        kmeans_plusplus(np.eye(4), 0)
    with pytest.raises(ParameterError, match="'bin_size' parameter"):
        get_bin_seeds(np.eye(4), -1.0)
    with pytest.raises(InputError, match="distances of all pairs"):
        trustworthiness(np.ones((6, 2)), np.arange(6.0)[:, None], n_neighbors=2, metric="precomputed")
