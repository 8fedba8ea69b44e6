"""Kernels from a table, in the algebra and in the models that need values among new rows."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from didact.core.errors import InputError, ParameterError
from didact.core.files.persistence import load, save
from didact.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from didact.kernels import RBF, Tabulated, White

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = np.sin(2 * X[:, 0])
G = RBF(1.5)(X)
NUMBERS = np.arange(40)[:, None]


def test_values_are_those_of_the_table():
    k = Tabulated(G)
    np.testing.assert_array_equal(k(NUMBERS[3:5], NUMBERS[::-1]), G[3:5, ::-1])
    np.testing.assert_allclose((2.0 * k + 1.0)(NUMBERS), 2 * G + 1)
    np.testing.assert_array_equal(k.diagonal(NUMBERS[5:7].astype(float)), G.diagonal()[5:7])


def test_tables_are_values():
    given = G.copy()
    k = Tabulated(given)
    given[:] = 0.0  # the memory may be used again
    assert k == Tabulated(G)
    assert k != Tabulated(2 * G)
    assert hash(k) == hash(Tabulated(G))
    assert pickle.loads(pickle.dumps(k)) == k
    assert clone(GaussianProcessRegressor(2.0 * k)).kernel == 2.0 * k


def test_a_process_on_a_table_is_that_on_rows():
    """Amplitude and noise are searched; the table is fixed."""
    given = GaussianProcessRegressor(1.0 * Tabulated(G) + White(0.1)).fit(NUMBERS[:30], Y[:30])
    searched = given.kernel_.theta
    kernel = np.exp(searched[0]) * RBF(1.5) + White(np.exp(searched[1]))
    rows = GaussianProcessRegressor(kernel, optimizer=None).fit(X[:30], Y[:30])
    found, expected = given.predict(NUMBERS[30:], return_std=True), rows.predict(X[30:], return_std=True)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    assert given.log_marginal_likelihood_value_ > rows.log_marginal_likelihood(searched_rows(rows, 0.5))


def searched_rows(rows, step):
    """θ of a model with its amplitude changed."""
    theta = rows.kernel_.theta.copy()
    theta[0] += step
    return theta


def test_classes_on_a_table_are_those_on_rows():
    given = GaussianProcessClassifier(Tabulated(G), optimizer=None).fit(NUMBERS[:30], Y[:30] > 0)
    rows = GaussianProcessClassifier(RBF(1.5), optimizer=None).fit(X[:30], Y[:30] > 0)
    np.testing.assert_allclose(given.predict_proba(NUMBERS[30:]), rows.predict_proba(X[30:]), rtol=1e-6)


def test_a_file_says_what_the_model_said(tmp_path):
    model = GaussianProcessRegressor(Tabulated(G), alpha=0.1).fit(NUMBERS[:30], Y[:30])
    save(model, tmp_path / "table.didact")
    again = load(tmp_path / "table.didact")
    np.testing.assert_array_equal(again.predict(NUMBERS), model.predict(NUMBERS))


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (X, "square"),
        (np.where(np.eye(40) > 0, np.nan, G), "NaN or infinity"),
        (G + np.triu(G), "not symmetric"),
    ],
)
def test_bad_tables_are_refused_in_a_sentence(matrix, words):
    with pytest.raises(ParameterError, match=words):
        Tabulated(matrix)


@pytest.mark.parametrize("rows", [[[40]], [[-1]], [[0.5]], X])
def test_rows_are_numbers(rows):
    with pytest.raises(InputError, match="from 0 to 39"):
        Tabulated(G)(rows)


@pytest.mark.parametrize("cls", [GaussianProcessRegressor, GaussianProcessClassifier])
def test_a_process_says_what_to_use_in_the_place_of_a_matrix(cls):
    with pytest.raises(ParameterError, match=r"Tabulated\(G\)"):
        cls("precomputed").fit(G, Y > 0)
