"""The index against tables of distances computed by NumPy and SciPy: every way, ties, duplicates, offsets, threads."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import didact
from didact.core.errors import InputError, ParameterError
from didact.engines.neighbors import boxes, build_index, products, tables
from didact.engines.neighbors import index as index_module
from didact.engines.neighbors.index import Index
from didact.engines.neighbors.partitions import walk
from didact.parts.distances import (
    BrayCurtis,
    Canberra,
    Chebyshev,
    Cosine,
    Euclidean,
    Hamming,
    Haversine,
    Jaccard,
    KernelDistance,
    Manhattan,
    Minkowski,
    Precomputed,
    UserMetric,
    distance_named,
)

COORDINATEWISE = [Euclidean(), Manhattan(), Chebyshev(), Minkowski(3.0), Minkowski(0.5), Canberra()]


def oracle(D, k, skip=None):
    """The k smallest of each row of a table, equal ones by the lower column."""
    D = D.copy()
    if skip is not None:
        D[np.arange(len(D)), skip] = np.nan  # sorts behind everything
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, order, axis=1), order


def exact(noun, Q, X):
    """The table of distances as loops compute them: sums in the order of the columns."""
    D = np.empty((len(Q), len(X)))
    tables.table_rows(noun, np.asarray(Q, float), np.asarray(X, float), D)
    return D


def draw(kind, n, p, seed):
    """Rows of several kinds that make trouble."""
    rng = np.random.default_rng(seed)
    if kind == "grid":
        return rng.integers(0, 3, size=(n, p)).astype(float)
    if kind == "same":
        return np.full((n, p), 0.1)
    if kind == "offset":
        return 1e8 + rng.normal(size=(n, p))
    if kind == "clusters":
        return rng.normal(size=(n, p)) + 1e8 * rng.integers(0, 2, size=(n, 1))
    if kind == "constant column":
        X = rng.normal(size=(n, p))
        X[:, 0] = 7.0
        return X
    return rng.normal(size=(n, p)) * 10.0 ** rng.integers(-20, 20)


KINDS = st.sampled_from(["normal", "grid", "same", "offset", "clusters", "constant column"])
CASES = {"kind": KINDS, "n": st.integers(1, 200), "p": st.integers(1, 9), "seed": st.integers(0, 99)}
CASES |= {"leaf": st.integers(1, 40), "single": st.booleans(), "part": st.floats(0, 1)}


def ways(X, noun, leaf):
    """The same rows indexed in every way that the distance allows."""
    yield build_index(X, noun, "brute", leaf)
    if noun.coordinatewise:
        yield build_index(X, noun, "kd_tree", leaf)
    if noun.metric:
        yield build_index(X, noun, "ball_tree", leaf)
    yield build_index(X, noun, "auto", leaf)


@pytest.mark.parametrize("noun", [*COORDINATEWISE, BrayCurtis(), Jaccard()], ids=str)
@settings(max_examples=25)
@given(**CASES)
def test_every_way_finds_the_same_rows(noun, kind, n, p, seed, leaf, single, part):
    X = draw(kind, n, p, seed).astype(np.float32 if single else np.float64)
    Q = np.vstack([draw(kind, 5, p, seed + 1).astype(X.dtype), X[:3]])
    k = 1 + int(part * (n - 1))
    distances, rows = oracle(exact(noun, Q, X), k)
    for index in ways(X, noun, leaf):
        d, r = index.nearest(Q, k)
        np.testing.assert_array_equal(r, rows)
        np.testing.assert_array_equal(d, distances)
        assert d.dtype == np.float64
        assert r.dtype == np.int64


@pytest.mark.parametrize("noun", [Euclidean(), Manhattan(), Jaccard()], ids=str)
@settings(max_examples=25)
@given(**CASES)
def test_rows_without_themselves(noun, kind, n, p, seed, leaf, single, part):
    X = draw(kind, n + 1, p, seed)
    k = 1 + int(part * (n - 1))
    distances, rows = oracle(exact(noun, X, X), k, skip=np.arange(n + 1))
    for index in ways(X, noun, leaf):
        d, r = index.nearest(None, k)
        np.testing.assert_array_equal(r, rows)
        np.testing.assert_array_equal(d, distances)


@pytest.mark.parametrize("noun", [*COORDINATEWISE, Jaccard()], ids=str)
@settings(max_examples=25)
@given(**CASES)
def test_within_a_radius(noun, kind, n, p, seed, leaf, single, part):
    X = draw(kind, n, p, seed)
    Q = np.vstack([draw(kind, 40, p, seed + 1), X[:3]])
    D = exact(noun, Q, X)
    radius = float(np.quantile(D, part, method="lower"))  # a distance that occurs: the bound belongs to the ball
    for index in ways(X, noun, leaf):
        edges, rows, distances = index.within(Q, radius)
        i, j = np.nonzero(radius >= D)
        np.testing.assert_array_equal(np.repeat(np.arange(len(Q)), np.diff(edges)), i)
        np.testing.assert_array_equal(rows, j)
        np.testing.assert_allclose(distances, D[i, j], rtol=1e-14)
        own = index.within(None, radius)
        assert not (np.repeat(np.arange(n), np.diff(own[0])) == own[1]).any()


@given(n=st.integers(1, 300), p=st.integers(1, 4), leaf=st.integers(1, 50), kind=KINDS, seed=st.integers(0, 50))
def test_boxes_hold_their_rows(n, p, leaf, kind, seed):
    X = draw(kind, n, p, seed)
    tree = boxes(X, leaf)
    tree.check()
    np.testing.assert_array_equal(np.sort(tree.order), np.arange(n))
    for level in range(tree.levels + 1):
        for place in range(1 << level):
            rows = X[tree.order[tree.edge(level, place) : tree.edge(level, place + 1)]]
            np.testing.assert_array_equal(tree.low[(1 << level) - 1 + place], rows.min(axis=0))
            np.testing.assert_array_equal(tree.high[(1 << level) - 1 + place], rows.max(axis=0))
    for leaf_number in range(1 << tree.levels):
        a, b = tree.edge(tree.levels, leaf_number), tree.edge(tree.levels, leaf_number + 1)
        assert 1 <= b - a <= max(leaf, 2)
        np.testing.assert_array_equal(tree.points[a * p : b * p].reshape(p, b - a), X[tree.order[a:b]].T)


def test_ties_are_broken_by_the_lower_row_number():
    X = np.array([[1.0], [-1.0], [1.0], [3.0], [-1.0]])
    for method in ("brute", "kd_tree", "ball_tree"):
        assert build_index(X, Euclidean(), method, 2).nearest(np.zeros((1, 1)), 3)[1].tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["normal", "grid", "same", "offset", "clusters"])
def test_products_agree_with_differences(kind, dtype):
    """More rows than a block; ties and offsets drive queries to float64 and to the tree."""
    X, Q = (draw(kind, n, 70, s).astype(dtype) for n, s in ((1500, 0), (600, 1)))
    index = build_index(X, Euclidean(), "brute")
    assert index.way == "products"
    distances, rows = oracle(exact(Euclidean(), Q, X), 7)
    d, r = index.nearest(Q, 7)
    np.testing.assert_array_equal(r, rows)
    np.testing.assert_array_equal(d, distances)


def test_the_error_bound_of_products_holds():
    """The computed ½‖x‖² − q·x against exact arithmetic (float128 would do; integers do better)."""
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(300, 33)), rng.normal(size=(20, 33))
    ready = products.centred(X, np.float32)
    Z = (Q - ready.centre) * ready.scale
    computed = ready.half - (Z.astype(np.float32) @ ready.rows.T)
    C = (X - ready.centre) * ready.scale
    true = 0.5 * (C * C).sum(axis=1) - Z @ C.T
    margin = products._margin(33, np.sqrt((Z * Z).sum(axis=1)), float(np.sqrt((C * C).sum(axis=1).max())), np.float32)
    error = np.abs(computed - true)
    assert (error <= margin[:, None]).all()
    assert error.max() > 1e-4 * margin.max(), "the bound is of the right order"


@pytest.mark.parametrize("far", [1e3, 1e8, 1e12, 1e20])
def test_queries_far_away_see_ties_as_rounding_makes_them(far):
    """All rows are at nearly the same distance, many at the same one in float64."""
    X, Q = draw("normal", 500, 3, 0), far * np.array([[1.0, 0.5, -0.3], [-1.0, 1.0, 1.0]])
    X = X / np.abs(X).max()
    rows = oracle(exact(Euclidean(), Q, X), 20)[1]
    for index in ways(X, Euclidean(), 16):
        np.testing.assert_array_equal(index.nearest(Q, 20)[1], rows)


def test_queries_that_products_leave_open_are_found_all_the_same(monkeypatch):
    X, Q = draw("grid", 900, 3, 0), draw("grid", 50, 3, 1)
    monkeypatch.setattr(products, "CANDIDATES", 8)
    distances, rows = oracle(exact(Euclidean(), Q, X), 2)
    index = build_index(X, Euclidean(), "brute")
    best, found = np.full((50, 2), np.inf), np.full((50, 2), 900)
    assert len(products.product_nearest(X, index.plan, Q, np.full(50, -1), best, found)) > 32
    d, r = index.nearest(Q, 2)
    np.testing.assert_array_equal(r, rows)
    np.testing.assert_array_equal(d, distances)
    np.testing.assert_array_equal(index.nearest(Q[:5], 2)[1], rows[:5])


def test_block_sizes_do_not_matter(monkeypatch):
    X, Q = draw("normal", 1000, 12, 0), draw("normal", 333, 12, 1)
    expected = build_index(X, Euclidean(), "brute").nearest(Q, 5)
    for module, names in (
        (products, ("PRODUCT_QUERIES", "PRODUCT_ROWS")),
        (tables, ("TABLE_QUERIES", "TABLE_ROWS")),
        (walk, ("SHORT_WALK", "LONG_WALK")),
    ):
        for name, value in zip(names, (7, 65), strict=True):
            monkeypatch.setattr(module, name, value)
    for noun, method in ((Euclidean(), "brute"), (Euclidean(), "kd_tree"), (UserMetric(_euclidean, {}), "auto")):
        d, r = build_index(X, noun, method).nearest(Q, 5)
        np.testing.assert_array_equal(r, expected[1])
        np.testing.assert_allclose(d, expected[0], rtol=1e-14)


def _euclidean(a, b):
    return float(np.sqrt(((a - b) ** 2).sum()))


@pytest.mark.parametrize("method", ["brute", "kd_tree", "ball_tree"])
def test_threads_do_not_matter(method, two_threads):
    X, Q = draw("grid", 3000, 3, 0), draw("normal", 700, 3, 1)
    found = []
    for count in (1, 2):
        didact.set_threads(count)
        index = build_index(X, Euclidean(), method)
        found.append((*index.nearest(Q, 6), *index.within(Q, 1.0)))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    "noun", [Euclidean(), Manhattan(), Cosine(), Hamming(np.ones(30), 30.0)], ids=lambda n: type(n).__name__
)
def test_sparse_rows_are_as_dense_ones(noun):
    rng = np.random.default_rng(0)
    X, Q = (sp.random_array((n, 30), density=0.2, rng=rng, format="csr") for n in (400, 150))
    X = X * 10.0
    X.data[:] = np.round(X.data)
    Q = sp.vstack([Q, X[:20]], format="csr")
    dense, sparse = build_index(X.toarray(), noun, "brute"), build_index(X, noun)
    for a, b in ((Q, Q.toarray()), (None, None)):
        (d, r), (e, s) = sparse.nearest(a, 6), dense.nearest(b, 6)
        np.testing.assert_array_equal(r, s)
        np.testing.assert_allclose(d, e, rtol=1e-12, atol=1e-14)
    for one, two in zip(sparse.within(Q, 2.0), dense.within(Q.toarray(), 2.0), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-14)


def test_haversine_by_balls():
    rng = np.random.default_rng(0)
    X, Q = (rng.uniform([-1.5, -3.1], [1.5, 3.1], size=(n, 2)) for n in (500, 60))
    distances, rows = oracle(Haversine().pairwise(Q, X), 4)
    index = build_index(X, Haversine())
    assert index.way == "balls"
    d, r = index.nearest(Q, 4)
    np.testing.assert_array_equal(r, rows)
    np.testing.assert_allclose(d, distances, rtol=1e-12)


def test_kernel_precomputed_and_functions():
    X, Q = draw("normal", 60, 3, 5), draw("normal", 9, 3, 5)
    rbf = KernelDistance("rbf", {"gamma": 1 / X.var()})
    euclid = build_index(X, Euclidean()).nearest(Q, 4)
    np.testing.assert_array_equal(
        build_index(X, rbf).nearest(Q, 4)[1], euclid[1]
    )  # a decreasing function of the distance
    D = Euclidean().pairwise(X, X)
    table = build_index(D, Precomputed())
    np.testing.assert_array_equal(table.nearest(None, 4)[1], build_index(X, Euclidean()).nearest(None, 4)[1])
    np.testing.assert_allclose(table.nearest(Euclidean().pairwise(Q, X), 4)[0], euclid[0])
    import numba

    compiled = numba.njit(lambda a, b: np.abs(a - b).max())
    for method in ("auto", "ball_tree"):
        noun = UserMetric(compiled, {})
        np.testing.assert_array_equal(
            build_index(X, noun, method, 4).nearest(Q, 4)[1], build_index(X, Chebyshev()).nearest(Q, 4)[1]
        )


def test_bad_requests():
    X = draw("normal", 10, 2, 0)
    index = build_index(X, Euclidean())
    with pytest.raises(InputError, match="11 neighbours were asked for and there are 10 rows"):
        index.nearest(X, 11)
    with pytest.raises(InputError, match="there are 9 rows"):
        index.nearest(None, 10)
    with pytest.raises(InputError, match="3 columns"):
        index.nearest(np.ones((1, 3)), 1)
    with pytest.raises(ParameterError, match="k-d tree cannot serve the distance Jaccard"):
        build_index(X, Jaccard(), "kd_tree")
    with pytest.raises(ParameterError, match="no metric"):
        build_index(X, BrayCurtis(), "ball_tree")
    with pytest.raises(ParameterError, match="method is one of"):
        build_index(X, Euclidean(), "magic")
    with pytest.raises(InputError, match="not a number"):
        build_index(X, UserMetric(lambda a, b: np.nan, {})).nearest(X, 1)


def test_auto_chooses_by_what_a_tree_saves():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(5000, 3)) @ rng.normal(size=(3, 40))  # many columns, three dimensions
    assert build_index(flat, Euclidean()).way == "boxes"
    assert build_index(rng.normal(size=(5000, 40)), Euclidean()).way == "products"
    assert build_index(rng.normal(size=(5000, 3)), Euclidean()).way == "boxes"
    assert build_index(flat, Manhattan()).way == "boxes"


def test_one_neighbour_is_found_in_fewer_leaves_than_many():
    X = np.random.default_rng(7).normal(size=(4000, 3))
    assert build_index(X, Euclidean(), k=1).way == "boxes"
    assert build_index(X, Euclidean(), k=1000).way == "products"


def test_forged_trees_are_refused():
    index = build_index(draw("normal", 100, 2, 0), Euclidean(), "kd_tree", 10)
    tree = index.plan
    tree.check()
    wrong = tree.order.copy()
    wrong[0] = 100
    for forged in (tree._replace(order=wrong), tree._replace(levels=7), tree._replace(points=tree.points[1:])):
        with pytest.raises(InputError, match="makes no sense"):
            forged.check()
    ball = build_index(draw("normal", 100, 2, 0), Euclidean(), "ball_tree", 10).plan
    ball.check()
    with pytest.raises(InputError, match="makes no sense"):
        ball._replace(order=wrong).check()
    assert isinstance(index, Index)
    index.check()
    brute = build_index(draw("normal", 100, 2, 0), Euclidean(), "brute")
    brute.check()
    short = brute.plan._replace(half=brute.plan.half[1:])
    weights = build_index(draw("normal", 100, 2, 0), Hamming(np.ones(1), 1.0))
    for forged in (index._replace(rows=index.rows[1:]), brute._replace(plan=short), weights):
        with pytest.raises(InputError, match="makes no sense"):
            forged.check()


@pytest.mark.parametrize("noun", [Euclidean(), UserMetric(_euclidean, {})], ids=["loops", "Python"])
def test_thousands_of_neighbours(noun, monkeypatch):
    monkeypatch.setattr(index_module, "SORT_FROM", 10)
    X = draw("grid", 300, 3, 0)
    for Q, k in ((draw("grid", 20, 3, 1), 300), (None, 299)):
        distances, rows = oracle(exact(Euclidean(), X if Q is None else Q, X), k, np.arange(300) if Q is None else None)
        d, r = build_index(X, noun).nearest(Q, k)
        np.testing.assert_array_equal(r, rows)
        np.testing.assert_allclose(d, distances, rtol=1e-14)
    assert build_index(X, noun).nearest(np.empty((0, 3)), 20)[1].shape == (0, 20)


def test_no_queries():
    for method in ("brute", "kd_tree", "ball_tree"):
        index = build_index(draw("normal", 50, 2, 0), distance_named("euclidean"), method)
        d, r = index.nearest(np.empty((0, 2)), 3)
        assert d.shape == r.shape == (0, 3)
        assert [len(part) for part in index.within(np.empty((0, 2)), 1.0)] == [1, 0, 0]


@pytest.mark.parametrize("distance", [Euclidean(), Manhattan(), Chebyshev(), Minkowski(3.0)])
@pytest.mark.parametrize("method", ["auto", "brute", "kd_tree", "ball_tree"])
def test_distances_whose_squares_overflow(distance, method):
    """Rows that are 1e200 times as large have the same neighbours at 1e200 times the distance; near rows stay near."""
    rng = np.random.default_rng(0)
    small, ordinary, query = rng.normal(size=(40, 3)), rng.normal(size=(10, 3)), rng.normal(size=(5, 3))
    scale = 2.0**665
    index = build_index(np.vstack([ordinary, small * scale]), distance, method)
    d, rows = index.nearest(query * scale, 7)
    expected, order = oracle(exact(distance, query, np.vstack([0 * ordinary, small])), 7)
    np.testing.assert_allclose(d, expected * scale, rtol=1e-12)
    np.testing.assert_array_equal(rows, order)
    near, close = index.nearest(ordinary, 12)
    np.testing.assert_array_equal(close[:, :10], oracle(exact(distance, ordinary, ordinary), 10)[1])
    assert (near[:, :10] < 10).all()
    assert (near[:, 10:] > 1e199).all()
    assert np.isfinite(near).all()
    edges, inside, far = index.within(query * scale, 2.0 * scale)
    table = exact(distance, query, np.vstack([0 * ordinary, small]))
    np.testing.assert_array_equal(np.diff(edges), (table <= 2.0).sum(axis=1))
    np.testing.assert_array_equal(inside, np.nonzero(table <= 2.0)[1])
    assert np.isfinite(far).all()


def test_distances_beyond_all_numbers_are_refused():
    index = build_index(np.array([[1.7e308], [0.0]]), Euclidean())
    assert index.nearest(np.array([[-1e307]]), 1)[0][0, 0] == 1e307
    with pytest.raises(InputError, match=r"distance of query 1 .* larger than the largest number"):
        index.nearest(np.array([[0.0], [-1.7e308]]), 2)


def test_a_tree_of_no_rows_is_refused():
    """A forged file can have them: the loops that grow a tree read its first row."""
    with pytest.raises(InputError, match="no rows to search"):
        boxes(np.empty((0, 3)))


def test_the_tree_for_radii_is_grown_once(monkeypatch):
    """Rows of many columns are found by products; for all within a radius a tree serves all calls."""
    grown, before = [], len(index_module._TREES)
    monkeypatch.setattr(index_module, "boxes", lambda *args: grown.append(1) or boxes(*args))
    index = build_index(np.random.default_rng(0).normal(size=(300, 40)), Euclidean(), "brute")
    starts, rows, _ = index.within(None, 6.0)
    for a in range(0, 300, 100):
        edges, some = index.within_own(a, a + 100, 6.0)
        np.testing.assert_array_equal(edges, starts[a : a + 101] - starts[a])
        np.testing.assert_array_equal(some, rows[starts[a] : starts[a + 100]])
    assert grown == [1]
    assert len(index_module._TREES) == before + 1
    del index
    assert len(index_module._TREES) == before  # it goes with the rows
