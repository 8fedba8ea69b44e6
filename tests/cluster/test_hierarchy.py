"""Agglomerative clustering: SciPy's and scikit-learn's trees, cuts, graphs, tables of distances, bad input."""

import numpy as np
import pytest
from scipy.cluster import hierarchy
from scipy.spatial.distance import cdist, pdist
from sklearn.cluster import AgglomerativeClustering as Theirs
from sklearn.datasets import make_blobs, make_moons
from sklearn.neighbors import kneighbors_graph

from didact.cluster import AgglomerativeClustering, linkage_tree, ward_tree
from didact.core.errors import InputError, ParameterError

LINKAGES = ["ward", "complete", "average", "single"]


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).standard_normal((90, 3))


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("along", [False, True], ids=["all", "graph"])
def test_trees_and_labels_are_those_of_scikit_learn(X, linkage, along):
    options = {"linkage": linkage, "compute_distances": True, "connectivity": kneighbors_graph(X, 6) if along else None}
    ours, theirs = (cls(5, **options).fit(X) for cls in (AgglomerativeClustering, Theirs))
    assert np.array_equal(ours.labels_, theirs.labels_)
    assert np.array_equal(ours.children_, np.sort(theirs.children_, axis=1))
    assert np.allclose(ours.distances_, theirs.distances_, rtol=1e-12)
    assert ours.n_connected_components_ == theirs.n_connected_components_


@pytest.mark.parametrize("linkage", LINKAGES)
def test_the_linkage_matrix_is_scipy_s(X, linkage):
    model = AgglomerativeClustering(linkage=linkage).fit(X)
    assert np.allclose(model.linkage_, hierarchy.linkage(X, linkage), rtol=1e-12)
    assert len(hierarchy.dendrogram(model.linkage_, no_plot=True)["leaves"]) == 90


def test_ties_are_resolved_as_in_scipy():
    """Of complete linkage, whose distances are exact: rounding decides between others."""
    X = np.random.default_rng(0).integers(0, 4, (60, 2)).astype(float)
    model = AgglomerativeClustering(1, linkage="complete").fit(X)
    assert np.array_equal(model.linkage_[:, [0, 1, 3]], hierarchy.linkage(X, "complete")[:, [0, 1, 3]])


@pytest.mark.parametrize("linkage", LINKAGES[1:])
@pytest.mark.parametrize("metric", ["manhattan", "cosine", "chebyshev", "correlation"])
def test_metrics_tables_and_functions_agree(X, linkage, metric):
    name = {"manhattan": "cityblock"}.get(metric, metric)
    Z = hierarchy.linkage(pdist(X, name), linkage)
    for data, option in (
        (X, metric),
        (cdist(X, X, name), "precomputed"),
        (X, lambda rows: cdist(rows, rows, name)),
        (X, lambda a, b: cdist(a[None], b[None], name)[0, 0]),
    ):
        model = AgglomerativeClustering(linkage=linkage, metric=option).fit(data)
        assert np.allclose(model.linkage_, Z, rtol=1e-9, atol=1e-12)


def test_single_linkage_finds_connected_components():
    """Cut below a distance, single linkage leaves the components of the graph of smaller distances."""
    from scipy.sparse.csgraph import connected_components

    X, _ = make_moons(200, noise=0.05, random_state=0)
    model = AgglomerativeClustering(None, linkage="single", distance_threshold=0.12).fit(X)
    count, labels = connected_components(cdist(X, X) < 0.12)
    assert model.n_clusters_ == count
    assert len(np.unique(np.column_stack([model.labels_, labels]), axis=0)) == count


def test_ward_heights_add_up_to_the_sum_of_squares(X):
    """A Ward merge raises the sum of squares within clusters by half its squared height."""
    model = AgglomerativeClustering().fit(X)
    assert 0.5 * (model.linkage_[:, 2] ** 2).sum() == pytest.approx(((X - X.mean(axis=0)) ** 2).sum(), rel=1e-12)


@pytest.mark.parametrize("linkage", LINKAGES)
def test_cuts_are_those_of_new_fits(X, linkage):
    model = AgglomerativeClustering(linkage=linkage).fit(X)
    for count in (1, 2, 11, 90):
        assert np.array_equal(model.cut(count), AgglomerativeClustering(count, linkage=linkage).fit(X).labels_)
    high = float(np.median(model.linkage_[:, 2]))
    other = AgglomerativeClustering(None, distance_threshold=high, linkage=linkage).fit(X)
    assert np.array_equal(model.cut(distance_threshold=high), other.labels_)
    assert other.n_clusters_ == 1 + (model.linkage_[:, 2] >= high).sum()


@pytest.mark.parametrize("scale", [1e-160, 1e160, 1e300])
@pytest.mark.parametrize("linkage", LINKAGES)
def test_no_scale_of_the_columns_is_too_large_or_too_small(X, linkage, scale):
    model = AgglomerativeClustering(4, linkage=linkage).fit(scale * X)
    assert np.array_equal(model.labels_, AgglomerativeClustering(4, linkage=linkage).fit(X).labels_)
    assert np.allclose(model.linkage_[:, 2] / scale, hierarchy.linkage(X, linkage)[:, 2], rtol=1e-9)


def test_a_graph_in_pieces_is_completed_with_its_shortest_edges(X):
    X = np.vstack([X, 1.3 * X + 50.0])
    graph = kneighbors_graph(X, 5)
    for linkage in LINKAGES:
        ours, theirs = (cls(2, linkage=linkage, connectivity=graph) for cls in (AgglomerativeClustering, Theirs))
        with pytest.warns(UserWarning, match="components"):
            ours.fit(X)
        with pytest.warns(UserWarning, match="components"):
            theirs.fit(X)
        assert np.array_equal(ours.labels_, theirs.labels_)
        assert ours.n_connected_components_ == 2


def test_a_graph_of_all_rows_restricts_nothing(X):
    for linkage in LINKAGES:
        free = AgglomerativeClustering(linkage=linkage).fit(X).linkage_
        whole = AgglomerativeClustering(linkage=linkage, connectivity=np.ones((90, 90))).fit(X)
        assert np.allclose(whole.linkage_, free, rtol=1e-9)


def test_a_graph_without_edges_restricts_nothing(X):
    """The shortest edges between single rows are all edges; components of any size are joined by theirs."""
    for linkage in LINKAGES:
        free = AgglomerativeClustering(linkage=linkage).fit(X).linkage_
        with pytest.warns(UserWarning, match="components of the connectivity matrix is 90"):
            model = AgglomerativeClustering(linkage=linkage, connectivity=np.zeros((90, 90))).fit(X)
        assert np.allclose(model.linkage_, free, rtol=1e-9)
    three = X + 20.0 * (np.arange(90) % 3)[:, None]
    with pytest.warns(UserWarning, match="is 3"):
        ours = AgglomerativeClustering(2, connectivity=kneighbors_graph(three, 4), linkage="single").fit(three)
    assert np.allclose(ours.linkage_[-2:, 2], hierarchy.linkage(three, "single")[-2:, 2], rtol=1e-12)


def test_partial_trees_end_at_the_clusters(X):
    graph = kneighbors_graph(X, 6)
    model = AgglomerativeClustering(20, connectivity=graph, compute_full_tree=False).fit(X)
    theirs = Theirs(20, connectivity=graph, compute_full_tree=False).fit(X)
    assert model.children_.shape == theirs.children_.shape == (70, 2)
    assert len(np.unique(np.column_stack([model.labels_, theirs.labels_]), axis=0)) == 20
    assert model.linkage_.shape == (89, 4)


def test_functions_return_what_scikit_learn_s_do(X):
    from sklearn.cluster import linkage_tree as their_tree
    from sklearn.cluster import ward_tree as their_ward

    graph = kneighbors_graph(X, 6)
    for ours, theirs in (
        (ward_tree(X, return_distance=True), their_ward(X, return_distance=True)),
        (ward_tree(X, connectivity=graph), their_ward(X, connectivity=graph)),
        (linkage_tree(X, graph, 12, "average"), their_tree(X, graph, 12, "average")),
        (linkage_tree(X, affinity="cosine"), their_tree(X, affinity="cosine")),
    ):
        for a, b in zip(ours, theirs, strict=True):
            assert (a is b is None) or np.allclose(a, b)


def test_trees_are_kept(X, tmp_path):
    model = AgglomerativeClustering(3, memory=str(tmp_path)).fit(X)
    assert any(tmp_path.rglob("*.pkl"))
    again = AgglomerativeClustering(4, memory=str(tmp_path)).fit(X)
    assert np.array_equal(model.linkage_, again.linkage_)


def test_bad_input_is_refused_in_a_sentence(X):
    D = cdist(X, X)
    D[3, 5] += 1.0
    with pytest.raises(InputError, match=r"not symmetric: entry \(3, 5\)"):
        AgglomerativeClustering(linkage="average", metric="precomputed").fit(D)
    with pytest.raises(InputError, match=r"should be square, got matrix of shape \(90, 3\)"):
        AgglomerativeClustering(linkage="average", metric="precomputed").fit(X)
    with pytest.raises(ParameterError, match="100 clusters were given for a tree with 90 leaves"):
        AgglomerativeClustering(100).fit(X)
    with pytest.raises(ParameterError, match="Exactly one of n_clusters and distance_threshold"):
        AgglomerativeClustering(2, distance_threshold=1.0).fit(X)
    with pytest.raises(ParameterError, match="Ward can only work with euclidean"):
        AgglomerativeClustering(metric="manhattan").fit(X)
    with pytest.raises(InputError, match=r"Wrong shape for connectivity matrix: \(4, 4\)"):
        AgglomerativeClustering(connectivity=np.ones((4, 4))).fit(X)
    with pytest.raises(InputError, match="row 2 is one"):
        AgglomerativeClustering(linkage="average", metric="cosine").fit(np.vstack([X[:2], np.zeros(3), X[3:]]))
    with pytest.raises(InputError, match="not finite"):
        AgglomerativeClustering(linkage="average", metric=lambda a, b: np.nan).fit(X)
    with pytest.raises(InputError, match="minimum of 2"):
        AgglomerativeClustering().fit(X[:1])
    with pytest.raises(ParameterError, match="at least one cluster"):
        AgglomerativeClustering().fit(X).cut(0)


def test_more_clusters_than_distinct_rows_are_told():
    X = np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)
    with pytest.warns(UserWarning, match="n_clusters=4 is more than the number of distinct rows"):
        model = AgglomerativeClustering(4).fit(X)
    assert len(np.unique(model.labels_)) == 4
    assert AgglomerativeClustering(3).fit(X).labels_.reshape(3, 4).std(axis=1).max() == 0


def test_dendrograms_show_the_clusters_in_colours():
    X, _ = make_blobs(60, centers=3, random_state=0)
    model = AgglomerativeClustering(3).fit(X)
    for leaves, brackets in ((100, 59), (12, 11), (2, 1)):
        axes = model.plot_dendrogram(leaves=leaves).axes[0]
        lines = [line for line in axes.lines if len(line.get_xdata()) == 4]
        assert len(lines) == brackets
        assert len(axes.get_xticks()) == brackets + 1
        heights = sorted(max(line.get_ydata()) for line in lines)
        assert np.allclose(heights, model.linkage_[-brackets:, 2])
    assert len({line.get_color() for line in model.plot_dendrogram(leaves=60).axes[0].lines[:59]}) == 4


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_inputs_are_left_as_they_are(linkage, metric):
    """Also a single column, whose transpose is the same memory."""
    if linkage == "ward" and metric == "precomputed":
        return
    X = np.random.default_rng(0).standard_normal((30, 1))
    X = cdist(X, X) if metric == "precomputed" else X
    before = X.copy()
    AgglomerativeClustering(linkage=linkage, metric=metric).fit(X)
    assert np.array_equal(X, before)
