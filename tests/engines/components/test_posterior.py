"""Posteriors from joint log probabilities: blocks, Bayes' rule, priors, tensors."""

import numpy as np
import pytest

from didact.core.errors import InputError
from didact.engines.components import posterior as engine
from didact.engines.components.posterior import (
    class_priors,
    in_blocks,
    log_density,
    log_posterior,
    most_probable,
    posterior,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2500, 3))
A = RNG.normal(size=(3, 4)) * 5


def joint(X, A):
    return X @ A


def test_blocks_are_one_call():
    np.testing.assert_allclose(in_blocks(X, joint, A), X @ A, rtol=1e-12)
    assert in_blocks(X.astype(np.float32), joint, A).dtype == np.float32
    seen = []
    in_blocks(X, lambda block: seen.append(len(block)) or block)
    assert sorted(seen) == [2500 - 2 * engine.POSTERIOR_ROWS, engine.POSTERIOR_ROWS, engine.POSTERIOR_ROWS]


@pytest.mark.parametrize("shift", [0.0, -5000.0])
def test_bayes_rule_also_where_densities_are_tiny(shift):
    def moved(X):
        return X @ A + shift

    P = posterior(X, moved)
    expected = np.exp(X @ A) / np.exp(X @ A).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(P, expected, rtol=1e-8)
    np.testing.assert_allclose(np.exp(log_posterior(X, moved)), expected, rtol=1e-8)
    np.testing.assert_allclose(log_density(X, moved), np.log(np.exp(X @ A).sum(axis=1)) + shift, rtol=1e-9)
    labels = np.array(["a", "b", "c", "d"])
    np.testing.assert_array_equal(most_probable(X, labels, moved), labels[expected.argmax(axis=1)])


def test_priors():
    np.testing.assert_allclose(class_priors(None, np.array([1.0, 3.0])), [0.25, 0.75])
    np.testing.assert_allclose(class_priors("equal", np.array([1.0, 3.0])), [0.5, 0.5])
    np.testing.assert_allclose(class_priors([0.1, 0.9], np.array([1.0, 3.0])), [0.1, 0.9])
    for wrong, sentence in [([0.5], "Number"), ([0.5, 0.6], "sum"), ([1.5, -0.5], "non-negative")]:
        with pytest.raises(InputError, match=sentence):
            class_priors(wrong, np.array([1.0, 3.0]))


def test_tensors():
    torch = pytest.importorskip("torch")
    T, B = torch.as_tensor(X), torch.as_tensor(A)
    np.testing.assert_allclose(posterior(T, joint, B).numpy(), posterior(X, joint, A), rtol=1e-9)
    np.testing.assert_allclose(log_density(T, joint, B).numpy(), log_density(X, joint, A), rtol=1e-9)
    labels = np.arange(4)
    np.testing.assert_array_equal(most_probable(T, labels, joint, B), most_probable(X, labels, joint, A))
