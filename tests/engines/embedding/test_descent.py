"""Affinities and forces of neighbour embeddings against plain NumPy sums over all pairs."""

import numpy as np
import pytest
import scipy.sparse as sp

import didact
from didact.core.threads import serial
from didact.engines.embedding.affinities import conditional, joint, joint_dense, joint_table
from didact.engines.embedding.descent import ArrayMotion, Schedule, TreeMotion, embed
from didact.engines.embedding.new_points import place_new
from didact.engines.embedding.pairs import pair_gradient, squared_distances
from didact.engines.embedding.starts import principal_start


def affinities(n, rng):
    return joint_dense(np.sqrt(squared_distances(*2 * [rng.normal(size=(n, 5))])), 7.0)


def kernels(Y, freedom):
    t = 1.0 / (1.0 + ((Y[:, None] - Y[None]) ** 2).sum(axis=2) / freedom)
    K = t ** (0.5 * (freedom + 1))
    np.fill_diagonal(K, 0.0)
    return t, K


def divergence(P, Y, freedom):
    _, K = kernels(Y, freedom)
    some = P > 0
    return (P[some] * np.log(P[some] / (K / K.sum())[some])).sum()


def gradient(P, Y, freedom, exaggeration=1.0):
    t, K = kernels(Y, freedom)
    W = (exaggeration * P - K / K.sum()) * t
    return 2.0 * (freedom + 1) / freedom * (W.sum(axis=1)[:, None] * Y - W @ Y)


def seen(P, Y, angle, freedom):
    points = TreeMotion(sp.csr_array(P), Y, angle, freedom)
    points._run(1.0, 0.0, 0.0, 1, 0)
    return points


@pytest.mark.parametrize("perplexity", [1.5, 5.0, 29.0])
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_affinities_have_the_perplexity(perplexity, scale):
    D = np.random.default_rng(0).exponential(size=(50, 30)) * scale
    P = conditional(D.copy(), perplexity)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    entropy = -(P * np.log(np.maximum(P, 1e-300))).sum(axis=1)
    np.testing.assert_allclose(entropy, np.log(perplexity), atol=1e-9)
    order = np.argsort(D, axis=1)
    assert (np.diff(np.take_along_axis(P, order, 1), axis=1) <= 0).all()


def test_affinities_of_equal_distances():
    """More rows at the least distance than the perplexity: they share all; all at one distance: likewise."""
    P = conditional(np.array([[0.0, 0.0, 0.0, 0.0, 1.0, 2.0], [3.0] * 6]), 2.0)
    np.testing.assert_allclose(P, [[0.25] * 4 + [0.0] * 2, [1 / 6] * 6], atol=1e-12)


def test_affinities_of_neighbors_and_of_all_agree():
    D = squared_distances(*2 * [np.random.default_rng(1).normal(size=(40, 3))])
    whole = joint_dense(np.sqrt(D), 6.0)
    np.testing.assert_allclose(whole, whole.T)
    assert np.isclose(whole.sum(), 1.0)
    assert (np.diag(whole) == 0).all()
    np.testing.assert_allclose(joint_table(D, 6.0), whole, rtol=1e-6, atol=1e-15)
    rows = np.argsort(D + np.diag([-1.0] * 40), axis=1)[:, 1:]
    some = joint(conditional(np.take_along_axis(D, rows, 1), 6.0), rows, 40)
    np.testing.assert_allclose(some.toarray(), whole, rtol=1e-6, atol=1e-15)


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_gradient_is_that_of_the_divergence(d):
    rng, freedom = np.random.default_rng(d), max(d - 1, 1)
    P, Y = affinities(60, rng), rng.normal(size=(60, d))
    points = seen(P, Y, 0.0, freedom)
    g = points.motion.gradient
    np.testing.assert_allclose(g, gradient(P, Y, freedom), atol=2e-6 * np.abs(g).max())
    assert np.isclose(points.look().value, divergence(P, Y, freedom), rtol=1e-6)
    for i, c in ((0, 0), (17, d - 1), (59, 0)):
        step = np.zeros_like(Y)
        step[i, c] = 1e-5
        slope = (divergence(P, Y + step, freedom) - divergence(P, Y - step, freedom)) / 2e-5
        assert np.isclose(g[i, c], slope, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("n", [2, 3, 16, 17, 500])
def test_tree_sums_over_all_points(n):
    """Any number of points, also one that fills no leaf: every pair is summed, in single precision."""
    Y = np.random.default_rng(n).normal(size=(n, 2)) * 10
    P = (np.ones((n, n)) - np.eye(n)) / (n * (n - 1))
    points = seen(P, Y, 0.0, 1)
    assert np.isclose(points.motion.totals[0], kernels(Y, 1)[1].sum(), rtol=1e-6)
    wanted = gradient(P, Y, 1)
    np.testing.assert_allclose(points.motion.gradient, wanted, atol=1e-7 + 1e-6 * np.abs(wanted).max())


@pytest.mark.parametrize("d", [1, 2, 3])
def test_angle_bounds_the_error(d):
    """A node that is seen at an angle θ is a distance r ≥ (widest side)/θ away: forces err by a share of order θ²."""
    rng = np.random.default_rng(5)
    Y, P = rng.normal(size=(1500, d)) * 20, sp.csr_array(([1e-300], ([0], [1])), shape=(1500, 1500))
    exact = TreeMotion(P, Y, 0.0, 1)
    exact._run(1.0, 0.0, 0.0, 1, 0)
    for angle in (0.1, 0.3, 0.5):
        near = TreeMotion(P, Y, angle, 1)
        near._run(1.0, 0.0, 0.0, 1, 0)
        error = np.linalg.norm(near.motion.R - exact.motion.R) / np.linalg.norm(exact.motion.R)
        assert error < angle**2
        assert abs(near.motion.totals[0] / exact.motion.totals[0] - 1) < angle**2


def test_points_in_one_place():
    Y = np.zeros((100, 2))
    P = (np.ones((100, 100)) - np.eye(100)) / 9900
    points = seen(P, Y, 0.5, 1)
    assert (points.motion.gradient == 0).all()
    assert np.isclose(points.motion.totals[0], 9900)


def test_points_far_apart_keep_their_digits():
    """A point does not count itself, which would hide sums that are much less than 1."""
    rng = np.random.default_rng(1)
    P, Y = affinities(40, rng), rng.normal(size=(40, 2)) * 1e5
    points, wanted = seen(P, Y, 0.0, 1), gradient(P, Y, 1)
    np.testing.assert_allclose(points.motion.gradient, wanted, rtol=1e-3, atol=1e-5 * np.abs(wanted).max())
    assert np.isclose(points.look().value, divergence(P, Y, 1), rtol=1e-6)


def test_far_from_the_origin():
    """Differences are taken in double precision: a shift by a million changes nothing."""
    rng = np.random.default_rng(0)
    P, Y = affinities(80, rng), rng.normal(size=(80, 2))
    near, far = (seen(P, Y + shift, 0.5, 1).motion.gradient for shift in (0.0, 2.0**20))
    np.testing.assert_allclose(near, far, atol=1e-5 * np.abs(near).max())


def test_threads_change_nothing():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(700, 4))
    P, Y, found = sp.csr_array(joint_dense(np.sqrt(squared_distances(X, X)), 10.0)), X[:, :2] * 1e-4, []
    for threads in (1, 4):
        didact.set_threads(threads)
        points = TreeMotion(P, Y, 0.5, 1)
        points.rooms = [points.rooms[0]._replace(**{k: v.copy() for k, v in points.rooms[0]._asdict().items()})
                        for _ in range(threads)]  # fmt: skip
        points.advance(60, 12.0, 0.5, 50.0)
        found.append(points.places.copy())
    didact.set_threads(None)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("d", [2, 3])
def test_places_in_memory_change_nothing(d):
    """Arrays that lie side by side must not be summed in another order: t-SNE would magnify that."""
    rng = np.random.default_rng(5)
    P, Y, kept = sp.csr_array(affinities(150, rng) * (rng.random((150, 150)) < 0.1)), rng.normal(size=(150, d)), []
    for k in range(12):
        points = TreeMotion(P, Y, 0.5, 1)
        points.advance(3, 12.0, 0.5, 50.0)
        kept += [points, np.empty(17 * k, np.float32)]
    for points in kept[::2]:
        np.testing.assert_array_equal(points.places, kept[0].places)


def test_array_code_takes_the_same_steps():
    rng = np.random.default_rng(4)
    P, Y = affinities(90, rng), rng.normal(size=(90, 2)) * 1e-2
    tree, table = TreeMotion(sp.csr_array(P), Y, 0.0, 1), ArrayMotion(pair_gradient(P, 1), Y)
    for points in (tree, table):
        points.advance(20, 4.0, 0.5, 10.0)
    np.testing.assert_allclose(tree.places, table.places, atol=1e-3 * np.abs(table.places).max())
    assert np.isclose(tree.look().value, table.look().value, rtol=1e-4)


def test_descent_ends_when_the_gradient_vanishes():
    rng = np.random.default_rng(6)
    points = ArrayMotion(pair_gradient(affinities(30, rng), 1), rng.normal(size=(30, 2)) * 1e-4)
    how = Schedule(rate=5.0, exaggeration=2.0, max_iter=5000, patience=300, min_grad_norm=1e-3)
    result = embed(points, how)
    assert result.status == "converged"
    assert result.n_iter < 5000
    assert result.n_iter % 50 == 0
    quick = embed(points, how._replace(max_iter=250, min_grad_norm=0.0))
    assert quick.n_iter == 250
    assert quick.status == "iteration limit"


def test_new_points_are_stationary_and_independent():
    rng = np.random.default_rng(7)
    Y = rng.normal(size=(400, 2)) * 10
    rows = np.argsort(squared_distances(Y[:30] + 0.3, Y), axis=1)[:, :16]
    P = conditional(np.sort(squared_distances(Y[:30] + 0.3, Y), axis=1)[:, :16].copy(), 5.0)
    found = place_new(Y, rows, P, 0.0, 1)
    with serial():
        alone = place_new(Y, rows[3:4], P[3:4], 0.0, 1)[0]
    np.testing.assert_allclose(alone, found[3], atol=1e-5)  # forces are float32, of places up to 40
    for i in range(30):
        t = 1.0 / (1.0 + ((found[i] - Y) ** 2).sum(axis=1))
        pull = (P[i] * t[rows[i]]) @ (found[i] - Y[rows[i]])
        push = (t * t) @ (found[i] - Y) / t.sum()
        assert np.linalg.norm(pull - push) < 1e-2 * (np.linalg.norm(pull) + 0.1)


@pytest.mark.parametrize(("n", "p"), [(30, 4), (6, 40)])
def test_start_is_principal_components(n, p):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(n, p)) * np.linspace(1, 3, p) + 5.0
    scores = (lambda U, s, _: U * s)(*np.linalg.svd(X - X.mean(axis=0), full_matrices=False))[:, :2]
    for rows in (X, sp.csr_array(X), X * 1e160):
        Y = principal_start(rows, 2, rng)
        np.testing.assert_allclose(np.abs(Y / Y[:, 0].std()), np.abs(scores / scores[:, 0].std()), atol=1e-6)
    assert np.isclose(Y[:, 0].std(), 1e-4)
    assert np.isfinite(principal_start(np.ones((5, 3)), 2, rng)).all()
