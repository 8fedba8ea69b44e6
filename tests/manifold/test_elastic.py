"""The elastic embedding: its energy and gradient, an optimum, new rows, and what it is without repulsion."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances

from didact.core.errors import InputError, ParameterError
from didact.engines.embedding.affinities import joint_dense
from didact.engines.embedding.elastic import (
    elastic_embedding,
    elastic_objective,
    gauss_forces,
    new_elastic,
    spring_solver,
)
from didact.manifold import ElasticEmbedding, trustworthiness


def springs(n, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return joint_dense(pairwise_distances(X), 6.0) * n


def energy(W, Y, force):
    D = pairwise_distances(Y) ** 2
    return (W * D).sum() + force * (np.exp(-D).sum() - len(Y))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_gradient_is_that_of_the_energy(d):
    W, Y = springs(25), np.random.default_rng(d).normal(size=(25, d))
    value, g = elastic_objective(sp.csr_array(W), 0.7, d)(Y.ravel())
    assert np.isclose(value, energy(W, Y, 0.7))
    for k in (0, 7, 25 * d - 1):
        step = np.zeros(25 * d)
        step[k] = 1e-6
        change = energy(W, Y + step.reshape(Y.shape), 0.7) - energy(W, Y - step.reshape(Y.shape), 0.7)
        assert np.isclose(g[k], change / 2e-6, rtol=1e-5, atol=1e-6)


def test_two_points_rest_where_the_forces_agree():
    r"""2 w d² + 2 f exp(−d²) is least at d² = log(f/w), and at 0 if the repulsion is the weaker."""
    W = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    for force, squared in ((5.0, np.log(5.0)), (0.9, 0.0)):
        result = elastic_embedding(W, np.array([[-0.3], [0.4]]), force, 0.0, 500)
        assert np.isclose(float(np.diff(result.x)[0]) ** 2, squared, atol=1e-6)


def test_distant_points_do_not_repel():
    Y = np.array([[0.0, 0.0], [60.0, 0.0], [61.0, 0.0]])
    total, push = gauss_forces(Y, None)
    np.testing.assert_allclose(total, [0.0, np.exp(-1), np.exp(-1)], atol=1e-15)
    np.testing.assert_allclose(push[:, 0], [0.0, -np.exp(-1), np.exp(-1)], atol=1e-13)


def test_springs_are_solved_alike_by_factor_and_iteration(monkeypatch):
    W, g = sp.csr_array(springs(60)), np.random.default_rng(1).normal(size=120)
    exact = spring_solver(W, 2)(g)
    monkeypatch.setattr("didact.engines.embedding.elastic.DENSE_SPRINGS", 0)
    monkeypatch.setattr("didact.engines.embedding.elastic.CG_TOL", 1e-12)
    monkeypatch.setattr("didact.engines.embedding.elastic.CG_STEPS", 500)
    np.testing.assert_allclose(spring_solver(W, 2)(g), exact, rtol=1e-6)
    monkeypatch.setattr("didact.engines.embedding.elastic.CG_STEPS", 2)
    assert spring_solver(W, 2)(g) @ g > 0, "two steps lead downhill, too"


def test_energy_falls_to_a_stationary_point():
    W, start = sp.csr_array(springs(80)), np.random.default_rng(2).normal(size=(80, 2))
    result = elastic_embedding(W, start, 10.0 / 79, 1e-13, 2000)
    assert (np.diff(result.history) <= 0).all()
    first, last = (np.abs(elastic_objective(W, 10.0 / 79, 2)(x)[1]).max() for x in (start.ravel(), result.x))
    assert last < 1e-4 * first


def test_model_minimises_what_it_says():
    X = load_digits().data[:200]
    model = ElasticEmbedding(perplexity=10.0, method="exact").fit(X)
    W = 200 * joint_dense(pairwise_distances(X), 10.0)
    assert np.isclose(model.energy_, energy(W, model.embedding_, 30.0 / 199), rtol=1e-8)
    assert trustworthiness(X, model.embedding_) > 0.9
    spread = [np.ptp(ElasticEmbedding(perplexity=10.0, repulsion=r).fit(X).embedding_) for r in (1.0, 10.0, 100.0)]
    assert spread[0] < spread[1] < spread[2]


def test_new_rows_are_stationary():
    X = load_digits().data[:220]
    model = ElasticEmbedding(perplexity=10.0).fit(X[:200])
    new = model.transform(X[200:])
    np.testing.assert_array_equal(model.transform(X[:5]), model.embedding_[:5])
    np.testing.assert_allclose(model.transform(X[205:206])[0], new[5], atol=1e-4)
    Y, rows, P = model.embedding_, np.array([[0, 1, 2]]), np.array([[0.5, 0.3, 0.2]])
    y = new_elastic(Y, rows, P, 0.1)[0]
    K = np.exp(-((y - Y) ** 2).sum(axis=1))
    pull, push = P[0] @ (y - Y[rows[0]]), 0.1 * K @ (y - Y)
    np.testing.assert_allclose(pull, push, atol=1e-4)


@pytest.mark.parametrize(
    ("how", "rows", "sentence"),
    [
        ({"perplexity": 20.0}, np.eye(20), r"perplexity \(20.0\) must be less than n_samples \(20\)"),
        ({"metric": "precomputed", "init": "random"}, np.triu(np.ones((9, 9))), "not symmetric"),
        ({}, np.ones((1, 3)), "n_samples = 1"),
    ],
)
def test_bad_input_gets_one_sentence(how, rows, sentence):
    with pytest.raises((InputError, ParameterError), match=sentence):
        ElasticEmbedding(**{"perplexity": 3.0, **how}).fit(rows)
