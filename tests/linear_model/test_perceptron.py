"""The perceptron: logic tables, the bound on its mistakes, distances, variants; and the neuron without learning."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from didact.linear_model import McCullochPittsNeuron, Perceptron
from didact.linear_model.perceptron import row_lengths

TABLE = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


@pytest.mark.parametrize("target", [[0, 0, 0, 1], [0, 1, 1, 1]])
@pytest.mark.parametrize("variant", ["plain", "averaged", "voted"])
def test_and_or_are_learnt(target, variant):
    model = Perceptron(variant=variant, max_iter=200, tol=None).fit(TABLE, target)
    assert model.predict(TABLE).tolist() == target


def test_xor_is_never_learnt_and_that_is_said():
    with pytest.warns(ConvergenceWarning):
        model = Perceptron(max_iter=50, tol=None).fit(TABLE, [0, 1, 1, 0])
    assert model.score(TABLE, [0, 1, 1, 0]) < 1.0


@pytest.mark.parametrize("seed", range(4))
def test_mistakes_stay_within_the_bound(seed):
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(5)
    X = rng.standard_normal((300, 5))
    X = X[np.abs(X @ w) > 0.5]
    y = (X @ w > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = Perceptron(max_iter=2000, tol=None, random_state=seed).fit(X, y)
    assert model.score(X, y) == 1.0
    # The constant counts as one more coordinate of each row: R² = max ‖x‖² + 1, and γ is the separator's margin there.
    rows = np.column_stack([X, np.ones(len(X))])
    unit = np.append(model.coef_[0], model.intercept_[0])
    margin = np.min((2 * y - 1) * (rows @ unit)) / np.linalg.norm(unit)
    np.testing.assert_allclose(model.mistake_bound_, (rows**2).sum(axis=1).max() / margin**2, rtol=1e-8)
    assert 0 < model.n_mistakes_[0] <= model.mistake_bound_[0]


def test_updates_are_those_of_the_rule():
    X, y = np.array([[1.0, 2.0], [-1.0, 1.0], [2.0, -1.0]]), np.array([0, 1, 1])
    w, b = np.zeros(2), 0.0
    for _ in range(3):
        for x, t in zip(X, 2 * y - 1, strict=True):
            if t * (w @ x + b) <= 0:
                w, b = w + t * x, b + t
    model = Perceptron(shuffle=False, max_iter=3, tol=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    np.testing.assert_allclose(np.append(model.coef_[0], model.intercept_), np.append(w, b))


def test_signed_distances_are_those_to_the_hyperplane():
    model = Perceptron(max_iter=200, tol=None).fit(TABLE, [0, 0, 0, 1])
    distance = model.signed_distances(TABLE)
    expected = (TABLE @ model.coef_[0] + model.intercept_[0]) / np.linalg.norm(model.coef_[0])
    np.testing.assert_allclose(distance, expected)


def test_gates_built_by_hand():
    assert McCullochPittsNeuron.gate("and").predict(TABLE).tolist() == [0, 0, 0, 1]
    assert McCullochPittsNeuron.gate("or").predict(TABLE).tolist() == [0, 1, 1, 1]
    assert McCullochPittsNeuron.gate("nor").predict(TABLE).tolist() == [1, 0, 0, 0]
    assert McCullochPittsNeuron.gate("not").predict([[0], [1]]).tolist() == [1, 0]
    assert McCullochPittsNeuron.gate("and not").predict(TABLE).tolist() == [0, 0, 1, 0]
    either, both = McCullochPittsNeuron.gate("or"), McCullochPittsNeuron.gate("and")
    inner = np.column_stack([either.predict(TABLE), both.predict(TABLE)])
    assert McCullochPittsNeuron.gate("and not").predict(inner).tolist() == [0, 1, 1, 0]  # two layers make XOR


def test_a_neuron_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="but there are 2 inputs"):
        McCullochPittsNeuron(weights=[1.0, 1.0, 1.0]).fit(TABLE)
    with pytest.raises(ValueError, match="There is no gate 'xor'"):
        McCullochPittsNeuron.gate("xor")


def test_lengths_of_rows_whose_squares_overflow():
    X = np.array([[3e200, 4e200], [0.0, -1e190]])
    for rows in (X, sp.csr_array(X)):
        np.testing.assert_allclose(row_lengths(rows), [5e200, 1e190])
    np.testing.assert_allclose(row_lengths((X / 1e170).astype(np.float32)), [5e30, 1e20], rtol=1e-6)
    np.testing.assert_array_equal(row_lengths(np.zeros((2, 3))), 0.0)
