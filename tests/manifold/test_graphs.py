"""Isomap, locally linear and spectral embeddings: curves that unroll, optimality, identities, scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.cluster
import sklearn.manifold
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import make_moons, make_swiss_roll
from sklearn.neighbors import radius_neighbors_graph

from didact.cluster import SpectralClustering, spectral_clustering
from didact.core.errors import InputError
from didact.engines.spectral import paths
from didact.engines.spectral.eigen import eigenpairs
from didact.engines.spectral.local import barycentric, neighbor_weights
from didact.engines.spectral.paths import (
    Narrow,
    by_elimination,
    from_every_node,
    linked_paths,
    shortest_paths,
    undirected,
)  # fmt: skip
from didact.manifold import (
    Isomap,
    LocallyLinearEmbedding,
    SpectralEmbedding,
    locally_linear_embedding,
    spectral_embedding,
)  # fmt: skip

ROLL, PLACE = make_swiss_roll(500, random_state=0)
NEW = make_swiss_roll(40, random_state=1)[0]


def turned(Z, like):
    """The columns of Z with the signs of another embedding's."""
    return Z * np.sign((Z * like).sum(axis=0))


# ------------------------------------------------------------------------------------------------ paths


@settings(deadline=None, max_examples=30)
@given(n=st.integers(1, 30), edges=st.integers(0, 80), seed=st.integers(0, 1000))
def test_shortest_paths_are_those_of_floyd_and_warshall(n, edges, seed):
    """Also with edges of length 0, several edges between two nodes, and nodes that no path reaches."""
    rng = np.random.default_rng(seed)
    i, j, lengths = rng.integers(n, size=edges), rng.integers(n, size=edges), rng.integers(0, 4, size=edges) * 0.5
    table = np.full((n, n), np.inf)
    np.minimum.at(table, (np.append(i, j), np.append(j, i)), np.append(lengths, lengths))
    np.fill_diagonal(table, 0.0)
    for a in range(n):  # Floyd and Warshall
        table = np.minimum(table, table[:, a : a + 1] + table[a : a + 1])
    graph = undirected(i, j, lengths, n)
    np.testing.assert_allclose(shortest_paths(graph), table)
    np.testing.assert_allclose(by_elimination(graph, Narrow.of(graph)), table)
    np.testing.assert_allclose(from_every_node(graph), table)


def test_a_graph_that_is_narrow_is_eliminated(monkeypatch):
    """The rolled-up sheet is; that of many dimensions is not; both ways agree."""
    ways = []
    for name in ("by_elimination", "from_every_node"):
        way = getattr(paths, name)
        monkeypatch.setattr(paths, name, lambda *args, way=way, name=name: ways.append(name) or way(*args))
    for X in (ROLL, np.random.default_rng(0).normal(size=(1200, 20))):
        graph = six_neighbors(X)
        D = shortest_paths(graph)
        np.testing.assert_allclose(D, by_elimination(graph, Narrow.of(graph)), rtol=1e-12)
        np.testing.assert_allclose(D, from_every_node(graph), rtol=1e-12)
    assert ways == ["by_elimination", "from_every_node"]


def six_neighbors(X):
    """The graph of the six nearest rows of each."""
    near = np.argsort(squareform(pdist(X)), axis=1)[:, 1:7]
    i, j = np.repeat(np.arange(len(X)), 6), near.ravel()
    return undirected(i, j, np.linalg.norm(X[i] - X[j], axis=1), len(X))


def test_new_nodes_reach_others_by_their_own_edges():
    D = squareform(pdist(np.arange(5.0)[:, None]))
    found = linked_paths(np.array([0, 2, 3]), np.array([0, 4, 2]), np.array([1.0, 0.5, 2.0]), D)
    np.testing.assert_allclose(found, [[1.0, 2.0, 2.5, 1.5, 0.5], [4.0, 3.0, 2.0, 3.0, 4.0]])


@pytest.mark.parametrize("how", [{"n_neighbors": 8}, {"n_neighbors": None, "radius": 5.0}, {"metric": "manhattan"}])
def test_isomap_is_that_of_scikit_learn(how):
    ours, theirs = Isomap(**how).fit(ROLL), sklearn.manifold.Isomap(**how).fit(ROLL)
    np.testing.assert_allclose(ours.dist_matrix_, theirs.dist_matrix_, rtol=1e-12)
    np.testing.assert_allclose(ours.embedding_, theirs.embedding_, atol=1e-7)
    np.testing.assert_allclose(ours.transform(NEW), theirs.transform(NEW), atol=1e-7)
    np.testing.assert_allclose(ours.reconstruction_error(), theirs.reconstruction_error(), rtol=1e-6)
    np.testing.assert_allclose(ours.transform(ROLL), ours.embedding_, atol=1e-7)


def test_isomap_unrolls_a_roll():
    """The first coordinate goes along the spiral, though its windings lie one upon the other."""
    Z = Isomap(n_neighbors=8).fit_transform(ROLL)
    assert abs(np.corrcoef(Z[:, 0], PLACE)[0, 1]) > 0.98


def test_isomap_with_all_rows_as_neighbours_is_classical_scaling():
    from didact.manifold import ClassicalMDS

    X = ROLL[:60]
    near, far = Isomap(n_neighbors=59).fit(X), ClassicalMDS().fit(X)
    np.testing.assert_allclose(near.embedding_, far.embedding_, atol=1e-8)


def test_a_graph_in_parts_is_joined_with_a_warning_or_refused_in_a_sentence():
    X = np.array([0.0, 1.0, 2.0, 10.0, 11.0, 12.0])[:, None]
    with pytest.warns(UserWarning, match="number of connected components of the neighbors graph is 2 > 1"):
        model = Isomap(n_neighbors=1, n_components=1).fit(X)
    np.testing.assert_allclose(model.dist_matrix_, np.abs(X - X.T))
    graph = radius_neighbors_graph(X, 1.5, mode="distance")
    with pytest.raises(RuntimeError, match=r"is 2 > 1.*increase the number of neighbors"):
        Isomap(n_neighbors=1, metric="precomputed").fit(graph)
    with pytest.warns(UserWarning, match="Graph is not fully connected"):
        SpectralEmbedding(n_neighbors=2).fit(X)
    with pytest.warns(UserWarning, match="graph is 2 > 1: nothing says where they lie"):
        LocallyLinearEmbedding(n_neighbors=1, n_components=1).fit(X)


def test_a_table_of_distances_is_symmetric():
    D = squareform(pdist(ROLL[:12]))
    D[3, 5] *= 2.0
    with pytest.raises(ValueError, match="distance matrix is not symmetric: entry"):
        Isomap(n_neighbors=4, metric="precomputed").fit(D)


def test_neighbourhoods_by_number_and_radius_are_one_or_the_other():
    for cls in (Isomap, LocallyLinearEmbedding):
        with pytest.raises(ValueError, match="Both n_neighbors and radius"):
            cls(radius=1.0).fit(ROLL)
        with pytest.raises(ValueError, match="Neither"):
            cls(n_neighbors=None).fit(ROLL)
        with pytest.raises(ValueError, match="n_samples = 5, n_neighbors = 5: give more rows"):
            cls(n_neighbors=5).fit(ROLL[:5])
        with pytest.raises(ValueError, match="n_samples = 1"):
            cls().fit(ROLL[:1])
        model = cls(n_neighbors=None, radius=6.0).fit(ROLL)
        with pytest.raises(ValueError, match="Row 1 has no fitted row within the radius 6"):
            model.transform([ROLL[0], [1e4, 1e4, 1e4]])


def test_rows_at_one_place_have_paths_of_length_zero():
    X = np.repeat(ROLL[:40], 3, axis=0)
    model = Isomap(n_neighbors=9).fit(X)
    np.testing.assert_allclose(model.dist_matrix_[::3, 1::3].diagonal(), 0.0)


# ------------------------------------------------------------------------------------------------ locally linear


@pytest.mark.parametrize("method", ["standard", "modified", "ltsa"])
def test_locally_linear_is_that_of_scikit_learn(method):
    how = {"n_neighbors": 12, "method": method}
    ours = LocallyLinearEmbedding(**how).fit(ROLL)
    theirs = sklearn.manifold.LocallyLinearEmbedding(**how, eigen_solver="dense").fit(ROLL)
    np.testing.assert_allclose(turned(ours.embedding_, theirs.embedding_), theirs.embedding_, atol=1e-6)
    np.testing.assert_allclose(ours.reconstruction_error_, theirs.reconstruction_error_, rtol=1e-5)
    signs = np.sign((ours.embedding_ * theirs.embedding_).sum(axis=0))
    np.testing.assert_allclose(ours.transform(NEW) * signs, theirs.transform(NEW), atol=1e-6)


@pytest.mark.parametrize("method", ["standard", "modified", "ltsa", "hessian"])
def test_a_plane_is_flattened(method):
    """Rows of a plane in three dimensions: coordinates are an affine image of those in the plane, by every method."""
    rng = np.random.default_rng(0)
    P = rng.uniform(size=(150, 2))
    X = P @ rng.normal(size=(2, 3))
    Z = LocallyLinearEmbedding(n_neighbors=10, method=method, reg=1e-9).fit_transform(X)
    A = np.c_[np.ones(150), P]
    rest = Z - A @ np.linalg.lstsq(A, Z, rcond=None)[0]
    exact = 0.02 if method == "modified" else 1e-3  # which adds a thousandth of the trace
    assert np.abs(rest).max() < exact * np.abs(Z).max()


def test_hessian_knows_second_derivatives_alone():
    """A quadratic function of the plane is no coordinate, and ltsa refuses it as well; but only hessian's matrix has
    no more rank for each row than there are second derivatives, three."""
    from didact.engines.spectral.local import hessians, tangents

    P = np.random.default_rng(1).uniform(size=(12, 2))
    starts, ends = np.array([0, 11, *[11] * 11]), np.arange(1, 12)
    assert np.linalg.matrix_rank(hessians(P, starts, ends, 2, 1e-4).toarray()) == 3
    assert np.linalg.matrix_rank(tangents(P, starts, ends, 2).toarray()) == 11 - 3


def test_weights_reconstruct_the_rows():
    """They sum to one and solve their equations."""
    X = np.random.default_rng(2).normal(size=(50, 5))
    near = np.argsort(squareform(pdist(X)), axis=1)[:, 1:5]
    starts, reg = np.arange(0, 201, 4), 1e-3
    found = neighbor_weights(X, X, starts, near.ravel(), reg).reshape(50, 4)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    for i in (0, 17, 49):
        C = X[near[i]] - X[i]
        G = C @ C.T
        w = np.linalg.solve(G + reg * np.trace(G) * np.eye(4), np.ones(4))
        np.testing.assert_allclose(found[i], w / w.sum(), rtol=1e-9)


def test_neighbourhoods_of_different_sizes():
    """By radius; where all have the same rows as by number, the embedding is the same."""
    X = np.random.default_rng(3).normal(size=(30, 3))
    for method in ("standard", "ltsa", "modified", "hessian"):
        by_radius = LocallyLinearEmbedding(n_neighbors=None, radius=1e3, method=method).fit(X)
        by_number = LocallyLinearEmbedding(n_neighbors=29, method=method).fit(X)
        np.testing.assert_allclose(
            by_radius.reconstruction_error_, by_number.reconstruction_error_, rtol=1e-6, atol=1e-12
        )
    few = LocallyLinearEmbedding(n_neighbors=None, radius=6.0, method="ltsa").fit(ROLL)
    assert np.isfinite(few.embedding_).all()


def test_the_constant_vector_is_left_out():
    M = barycentric(
        ROLL, np.arange(0, 500 * 8 + 1, 8), np.argsort(squareform(pdist(ROLL)), axis=1)[:, 1:9].ravel(), 1e-3
    )
    np.testing.assert_allclose(M @ np.ones(500), 0.0, atol=1e-12)
    Z = LocallyLinearEmbedding(n_neighbors=8).fit_transform(ROLL)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(Z.T @ Z, np.eye(2), atol=1e-8)


def test_locally_linear_refuses_what_cannot_be():
    with pytest.raises(ValueError, match="n_neighbors must be greater than 5"):
        LocallyLinearEmbedding(method="hessian").fit(ROLL)
    with pytest.raises(ValueError, match="output dimension must be less"):
        LocallyLinearEmbedding(n_components=4).fit(ROLL)
    with pytest.raises(ValueError, match="enlarge the radius"):
        LocallyLinearEmbedding(n_neighbors=None, radius=1e-3).fit(ROLL)
    with pytest.raises(ValueError, match="enlarge reg"):
        locally_linear_embedding(np.repeat(ROLL[:9], 3, axis=0), n_neighbors=2, n_components=1, reg=0.0)


# ------------------------------------------------------------------------------------------------ graphs


@pytest.mark.parametrize("how", [{"n_neighbors": 12}, {"affinity": "rbf", "gamma": 0.02}])
def test_spectral_embedding_is_that_of_scikit_learn(how):
    ours = SpectralEmbedding(random_state=0, **how).fit(ROLL)
    theirs = sklearn.manifold.SpectralEmbedding(random_state=0, **how).fit(ROLL)
    np.testing.assert_allclose(turned(ours.embedding_, theirs.embedding_), theirs.embedding_, atol=1e-8)


def test_large_graphs_have_the_vectors_of_small_ones():
    """Beyond the size of dense matrices: by the inverse of a sparse Laplacian, and by products of a filled one."""
    X = make_swiss_roll(1200, random_state=0)[0]
    for k in (10, 120):
        A = SpectralEmbedding(n_neighbors=k, random_state=0).fit(X).affinity_matrix_
        Z = spectral_embedding(A, n_components=2, random_state=0)
        d = np.asarray(A.sum(axis=0)).ravel() - A.diagonal()
        roots = np.sqrt(d)
        L = np.eye(1200) - (A - sp.diags_array(A.diagonal())).toarray() / roots / roots[:, None]
        values = np.linalg.eigvalsh(L)[1:3]
        V = Z * roots[:, None]
        V = V / np.linalg.norm(V, axis=0)
        np.testing.assert_allclose(L @ V, V * values, atol=1e-8)


def test_the_path_graph_has_cosines():
    """The unnormalised Laplacian of a path has the eigenvectors cos(π j (i + ½)/n)."""
    n = 20
    A = np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)
    Z = spectral_embedding(A, n_components=3, norm_laplacian=False)
    expected = np.cos(np.pi * np.outer(np.arange(n) + 0.5, np.arange(1, 4)) / n)
    expected /= np.linalg.norm(expected, axis=0)
    np.testing.assert_allclose(turned(Z, expected), expected, atol=1e-10)


def test_components_are_told_apart_by_the_first_vectors():
    A = np.kron(np.eye(3), np.ones((4, 4)))
    with pytest.warns(UserWarning, match="not fully connected"):
        Z = spectral_embedding(A, n_components=3, drop_first=False)
    apart = squareform(pdist(Z)) > 1e-8
    np.testing.assert_array_equal(apart, np.kron(1 - np.eye(3), np.ones((4, 4))) > 0)


@pytest.mark.parametrize("labels", ["kmeans", "discretize", "cluster_qr"])
@pytest.mark.parametrize("affinity", ["nearest_neighbors", "rbf"])
@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
def test_moons_are_told_apart(labels, affinity):
    X, y = make_moons(300, noise=0.05, random_state=0)
    how = {"affinity": affinity, "assign_labels": labels, "gamma": 30.0, "random_state": 0}
    found = SpectralClustering(2, **how).fit_predict(X)
    assert max((found == y).mean(), (found != y).mean()) > 0.99
    theirs = sklearn.cluster.SpectralClustering(2, **how).fit_predict(X)
    assert max((found == theirs).mean(), (found != theirs).mean()) > 0.99


def test_given_affinities():
    A = np.kron(np.eye(2), np.ones((5, 5))) + 0.01
    found = spectral_clustering(A, n_clusters=2, random_state=0)
    assert len(set(found[:5])) == len(set(found[5:])) == 1
    assert found[0] != found[5]
    with pytest.raises(ValueError, match="square matrix"):
        spectral_clustering(A[:4], n_clusters=2)
    with pytest.raises(ValueError, match=r"row \d have a negative sum"):
        spectral_clustering(-A, n_clusters=2)
    with pytest.raises(ValueError, match="n_samples=3 should be >= n_clusters=8"):
        SpectralClustering().fit(ROLL[:3])


def test_more_clusters_than_distinct_rows_are_said():
    few = np.repeat(np.eye(3), 8, axis=0)
    for X, kinds in (
        (np.ones((30, 3)), 1),
        (few, 3),
        (sp.csr_array(few), 3),
    ):  # equal eigenvalues, too: LAPACK gives up
        with pytest.warns(UserWarning, match=rf"only {kinds} distinct row\(s\), fewer than n_clusters=8"):
            labels = SpectralClustering(8, random_state=0).fit_predict(X)
        assert labels.shape == (X.shape[0],)
    SpectralClustering(3, random_state=0).fit(few)


@pytest.mark.parametrize("largest", [True, False])
def test_crowds_of_equal_eigenvalues(largest):
    n = 30
    A = (np.ones((n, n)) - np.eye(n)) / (n - 1) * (1 if largest else -1)
    for k in range(1, n):
        values, vectors = eigenpairs(A, k, largest=largest)
        np.testing.assert_allclose(np.abs(values), np.r_[1.0, np.full(k - 1, 1 / (n - 1))], atol=1e-14)
        np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-14)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-13)


def test_spectral_neighbourhoods_by_radius():
    ball = SpectralEmbedding(radius=6.0).fit(ROLL)
    np.testing.assert_array_equal(ball.affinity_matrix_.toarray(), radius_neighbors_graph(ROLL, 6.0).toarray())
    theirs = sklearn.manifold.SpectralEmbedding(affinity="precomputed", random_state=0)
    theirs = theirs.fit_transform(radius_neighbors_graph(ROLL, 6.0))
    np.testing.assert_allclose(turned(ball.embedding_, theirs), theirs, atol=1e-12)
    given = SpectralEmbedding(affinity="precomputed_nearest_neighbors", radius=6.0).fit(squareform(pdist(ROLL)))
    np.testing.assert_allclose(given.embedding_, ball.embedding_, atol=1e-12)
    with pytest.raises(ValueError, match="Both n_neighbors and radius"):
        SpectralEmbedding(n_neighbors=5, radius=1.0).fit(ROLL)


def test_eigenpairs_beside_zero_are_told_apart():
    """Eigenvalues of a sparse matrix far below the usual shift, which has to be smaller for them."""
    values = np.r_[0.0, 1e-9, 2e-9, np.linspace(0.1, 1.0, 1497)]
    Q = sp.kron(sp.eye_array(750), np.array([[0.6, 0.8], [-0.8, 0.6]]), format="csr")
    A = (Q @ sp.diags_array(values) @ Q.T).tocsr()
    found, vectors = eigenpairs(A, 3, largest=False, shift=1e-12)
    np.testing.assert_allclose(found, values[:3], atol=1e-14)
    np.testing.assert_allclose(A @ vectors, vectors * found, atol=1e-14)


@pytest.mark.parametrize("huge", [1e160, 1e308])
def test_values_beyond_squares_are_refused_in_a_sentence(huge):
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[0, 0], X[1, 1] = huge, -huge
    with pytest.raises(InputError, match=r"distances has values up to .* overflow"):
        Isomap().fit(X)
    if huge < 1e300:  # a row that is so far away is like no other
        with pytest.warns(UserWarning, match="not fully connected"):
            labels = SpectralClustering(3, random_state=0).fit(X).labels_
        assert [np.count_nonzero(labels == labels[k]) for k in (0, 1)] == [1, 1]
    else:
        with pytest.raises(InputError, match="affinities hold NaN or infinity"):
            SpectralClustering(3, random_state=0).fit(X)
    with pytest.warns(UserWarning, match="not fully connected"):
        assert np.isfinite(SpectralEmbedding(affinity="rbf", random_state=0).fit_transform(X)).all()
    with pytest.raises(InputError, match=r"columns 0, 1, 2 has values up to .* overflow"):
        LocallyLinearEmbedding().fit(huge * np.random.default_rng(0).uniform(0.5, 1.0, size=(60, 3)))
