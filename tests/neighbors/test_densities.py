"""Densities: SciPy's and scikit-learn's values, integrals, weights, draws, bandwidths, origins, refusals."""

import math

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import logsumexp
from sklearn.neighbors import KernelDensity as Peer

from didact import Batches
from didact.core.errors import InputError, ParameterError
from didact.neighbors import HistogramDensity, KernelDensity, KernelDensityClassifier, KNeighborsDensity
from didact.parts.windows import WINDOWS


def rows(n=400, p=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) @ (np.eye(p) + 0.3 * np.tri(p))


def line(model, low=-12.0, high=12.0, count=20_001):
    """The integral of a density on the line."""
    x = np.linspace(low, high, count)
    return integrate.trapezoid(np.exp(model.score_samples(x[:, None])), x)


# ------------------------------------------------------------------------------------------------ kernel density


@pytest.mark.parametrize("kernel", sorted(set(WINDOWS) - {"tricube"}))
@pytest.mark.parametrize("p", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_density_is_scikit_learn_s(kernel, p, weighted):
    X, Q = rows(p=p), 1.5 * rows(60, p, seed=1)
    w = np.random.default_rng(2).uniform(0.5, 2, 400) if weighted else None
    for h in (0.2, 1.0):
        expected = Peer(bandwidth=h, kernel=kernel).fit(X, sample_weight=w).score_samples(Q)
        found = KernelDensity(bandwidth=h, kernel=kernel).fit(X, sample_weight=w).score_samples(Q)
        # Far from all rows scikit-learn's sums keep rounding errors of the bounds that it adds and takes away.
        np.testing.assert_allclose(np.exp(found), np.exp(expected), rtol=1e-9, atol=1e-12)
    model = KernelDensity(bandwidth=0.5).fit(X)
    assert model.score(Q) == pytest.approx(Peer(bandwidth=0.5).fit(X).score(Q))


@pytest.mark.parametrize("rule", ["scott", "silverman"])
def test_rules_of_thumb(rule):
    """In units of the columns scikit-learn's; in units of the covariance SciPy's."""
    X, Q = rows(), rows(50, seed=1)
    assert KernelDensity(bandwidth=rule).fit(X).bandwidth_ == pytest.approx(Peer(bandwidth=rule).fit(X).bandwidth_)
    model = KernelDensity(bandwidth=rule, shape="full").fit(X)
    np.testing.assert_allclose(model.score_samples(Q), stats.gaussian_kde(X.T, rule).logpdf(Q.T), rtol=1e-10)


def test_whitening_by_hand():
    """shape="full" is a spherical density of whitened rows, with the determinant of the map."""
    X, Q = rows(), rows(50, seed=1)
    L = np.linalg.cholesky(np.cov(X.T))
    white = KernelDensity(bandwidth=0.4).fit(np.linalg.solve(L, X.T).T)
    expected = white.score_samples(np.linalg.solve(L, Q.T).T) - np.log(np.diagonal(L)).sum()
    np.testing.assert_allclose(KernelDensity(bandwidth=0.4, shape="full").fit(X).score_samples(Q), expected, rtol=1e-9)


def test_the_spread_of_a_column_is_that_of_a_sample():
    """Example 28: the variance and the standard deviation with 1/(N−1)."""
    sample = np.array([5.0, 10, 4, 6, 5, 4, 6, 11, 10, 9, 5, 7, 3])
    values, counts = np.unique(sample, return_counts=True)
    for X, w in ((sample, None), (values, counts)):
        for shape in ("diagonal", "full"):
            frame = KernelDensity(shape=shape).fit(X[:, None], sample_weight=w).frame_.ravel()
            np.testing.assert_allclose(frame, [2.633609], rtol=0, atol=5e-7)
            np.testing.assert_allclose(frame**2, [6.935897], rtol=0, atol=5e-7)


def test_bandwidths_of_columns_are_scaled_columns():
    X, Q, h = rows(p=3), rows(50, 3, seed=1), np.array([0.2, 0.5, 1.5])
    expected = KernelDensity().fit(X / h).score_samples(Q / h) - np.log(h).sum()
    np.testing.assert_allclose(KernelDensity(bandwidth=h).fit(X).score_samples(Q), expected, rtol=1e-10)
    by_deviation = KernelDensity(bandwidth=0.3, shape="diagonal").fit(X)
    same = KernelDensity(bandwidth=0.3 * X.std(axis=0, ddof=1)).fit(X)
    np.testing.assert_allclose(by_deviation.score_samples(Q), same.score_samples(Q), rtol=1e-9)


@pytest.mark.parametrize("kernel", WINDOWS)
@pytest.mark.parametrize("how", [{}, {"adaptive": 0.5}, {"shape": "local", "n_neighbors": 10}])
def test_densities_integrate_to_one(kernel, how):
    model = KernelDensity(bandwidth=0.4, kernel=kernel, **how).fit(rows(80, 1))
    assert line(model) == pytest.approx(1, abs=2e-3 if kernel in ("tophat", "exponential") else 2e-4)


def test_a_covariance_for_each_point_integrates_to_one_in_the_plane():
    model = KernelDensity(shape="local", bandwidth=0.5, n_neighbors=12).fit(rows(60))
    side = np.linspace(-9, 9, 401)
    grid = np.column_stack([g.ravel() for g in np.meshgrid(side, side)])
    assert np.exp(model.score_samples(grid)).sum() * (side[1] - side[0]) ** 2 == pytest.approx(1, abs=1e-3)


def test_abramson_widths_by_hand():
    X, Q = rows(200, 1), rows(30, 1, seed=1)
    model = KernelDensity(bandwidth=0.3, adaptive=0.5).fit(X)
    pilot = Peer(bandwidth=0.3).fit(X).score_samples(X)
    widths = np.exp(-0.5 * (pilot - pilot.mean()))
    np.testing.assert_allclose(model.widths_, widths, rtol=1e-9)
    density = stats.norm.pdf(Q, X[:, 0], 0.3 * widths).mean(axis=1)
    np.testing.assert_allclose(np.exp(model.score_samples(Q)), density, rtol=1e-9)
    assert model.widths_[np.abs(X[:, 0]).argmax()] > 1.5 * model.widths_[np.abs(X[:, 0]).argmin()]


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
@pytest.mark.parametrize("shape", ["spherical", "full", "local"])
def test_cross_validation_really_leaves_out(kernel, shape):
    X = rows(60)
    model = KernelDensity(bandwidth="cv", kernel=kernel, shape=shape, n_neighbors=60, grid=[0.6, 0.9, 2.0]).fit(X)
    for h, score in zip(model.grid_, model.cv_scores_, strict=True):
        whole = KernelDensity(bandwidth=h, kernel=kernel, shape=shape, n_neighbors=60).fit(X)
        window, D = WINDOWS[kernel], 2
        each = []
        for i in range(60):
            d = X - X[i]
            if shape == "local":
                u, logs = np.einsum("ifg,ig->if", whole._ready.shapes[2], d), np.log(whole._ready.shapes[1])
            else:
                u = d if shape == "spherical" else np.linalg.solve(whole.frame_, d.T).T
                logs = np.full(60, 0.0 if shape == "spherical" else -np.log(np.diagonal(whole.frame_)).sum())
            with np.errstate(divide="ignore"):
                k = np.log(window.value((u**2).sum(axis=1) / h**2)) + logs
            each.append(logsumexp(np.delete(k, i)) - math.log(59) - D * math.log(h) - window.log_integral(D))
        assert score == pytest.approx(np.mean(each), rel=1e-9)
    assert model.bandwidth_ == model.grid_[np.argmax(model.cv_scores_)]


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
@pytest.mark.parametrize("shape", ["spherical", "full"])
def test_cross_validation_is_of_the_adaptive_density_itself(kernel, shape):
    X, D, window = rows(60), 2, WINDOWS[kernel]
    how = {"kernel": kernel, "shape": shape, "adaptive": 0.5}
    model = KernelDensity(bandwidth="cv", grid=[1.2, 1.6, 2.5], **how).fit(X)
    for h, score in zip(model.grid_, model.cv_scores_, strict=True):
        whole = KernelDensity(bandwidth=h, **how).fit(X)
        Z = X if shape == "spherical" else np.linalg.solve(whole.frame_, X.T).T
        squares = ((Z[:, None] - Z) ** 2).sum(axis=2) / (h * whole.widths_) ** 2
        k = window.value(squares) * whole.widths_**-D
        np.fill_diagonal(k, 0.0)
        volume = 0.0 if shape == "spherical" else np.log(np.diagonal(whole.frame_)).sum()
        logs = np.log(k.sum(axis=1)) - math.log(59) - D * math.log(h) - window.log_integral(D) - volume
        assert score == pytest.approx(logs.mean(), rel=1e-9)
    fixed = KernelDensity(bandwidth="cv", kernel=kernel, shape=shape, grid=[1.2, 1.6, 2.5]).fit(X)
    assert (fixed.cv_scores_ != model.cv_scores_).all()
    assert model.bandwidth_ == model.grid_[np.argmax(model.cv_scores_)]


def test_cross_validation_finds_a_good_bandwidth():
    X = rows(2000, 1)
    model = KernelDensity(bandwidth="cv").fit(X)
    assert 0.15 < model.bandwidth_ < 0.5  # the best for a standard normal is 1.06 n^(-1/5) = 0.23


@pytest.mark.parametrize("rtol", [1e-2, 1e-4])
def test_tolerance(rtol):
    X, Q = rows(5000, 2), rows(500, 2, seed=1)
    exact = KernelDensity(bandwidth=0.5).fit(X).score_samples(Q)
    loose = KernelDensity(bandwidth=0.5, rtol=rtol).fit(X).score_samples(Q)
    assert np.abs(np.expm1(loose - exact)).max() <= rtol
    assert np.abs(loose - exact).max() > 0
    absolute = np.exp(KernelDensity(bandwidth=0.5, atol=rtol / 10).fit(X).score_samples(Q))
    assert np.abs(absolute - np.exp(exact)).max() <= rtol / 10


@pytest.mark.parametrize("kernel", ["gaussian", "exponential"])
def test_log_densities_far_away_are_finite_and_right(kernel):
    X = rows(300)
    Q = np.array([[1e4, 0.0], [0.0, -300.0]])
    found = KernelDensity(bandwidth=0.1, kernel=kernel).fit(X).score_samples(Q)
    window = WINDOWS[kernel]
    squares = ((Q[:, None] - X) ** 2).sum(axis=2) / 0.01
    expected = logsumexp(window.log_value(squares), axis=1) - math.log(300 * 0.01) - window.log_integral(2)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("how", [{}, {"adaptive": 0.5}, {"shape": "full"}, {"shape": "local", "n_neighbors": 9}])
def test_weights_are_repetitions_also_of_duplicates(how):
    X, Q = np.vstack([rows(150), rows(20).repeat(2, axis=0)]), rows(40, seed=1)
    w = np.random.default_rng(3).integers(0, 4, len(X))
    weighted = KernelDensity(bandwidth=0.4, **how).fit(X, sample_weight=w)
    repeated = KernelDensity(bandwidth=0.4, **how).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(weighted.score_samples(Q), repeated.score_samples(Q), rtol=1e-9)
    grid = [0.3, 0.6]
    chosen = KernelDensity(bandwidth="cv", grid=grid, adaptive=how.get("adaptive", 0.0))
    scores = [chosen.fit(*a).cv_scores_ for a in ((X, None, w), (X.repeat(w, axis=0),))]
    np.testing.assert_allclose(*scores, rtol=1e-9)


@pytest.mark.parametrize("how", [{}, {"kernel": "cosine"}, {"shape": "full"}, {"shape": "local"}, {"adaptive": 0.5}])
def test_draws_come_from_the_density(how):
    """Moments of draws: those of the rows plus those of the windows; and the likelihood of fresh rows."""
    X = rows(300)
    model = KernelDensity(bandwidth=0.5, **how).fit(X)
    drawn = model.sample(20_000, random_state=0)
    np.testing.assert_array_equal(drawn, model.sample(20_000, random_state=0))
    side = np.linspace(-9, 9, 301)
    grid = np.column_stack([g.ravel() for g in np.meshgrid(side, side)])
    p = np.exp(model.score_samples(grid))
    p /= p.sum()
    mean = p @ grid
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.05)
    np.testing.assert_allclose(np.cov(drawn.T), (p[:, None] * (grid - mean)).T @ (grid - mean), atol=0.08)


def test_brute_force_and_trees_agree():
    X, Q = rows(2000), rows(200, seed=1)
    a, b = (KernelDensity(bandwidth=0.2, algorithm=name).fit(X).score_samples(Q) for name in ("brute", "kd_tree"))
    np.testing.assert_allclose(a, b, atol=1e-10)


def test_float32():
    X = rows().astype(np.float32)
    found = KernelDensity(bandwidth=0.4).fit(X).score_samples(X)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, KernelDensity(bandwidth=0.4).fit(X.astype(float)).score_samples(X), rtol=1e-5)


# ------------------------------------------------------------------------------------------------ neighbours


def test_worked_example_of_the_nearest_neighbour_density():
    """Points 0, 1, 3; k = 2; at 0.5: 2/3."""
    found = KNeighborsDensity(n_neighbors=2).fit([[0.0], [1.0], [3.0]]).score_samples([[0.5]])
    assert math.exp(found[0]) == pytest.approx(2 / 3)


@pytest.mark.parametrize("p", [1, 2, 3, 5])
def test_nearest_neighbour_density_in_several_dimensions(p):
    """k over n times the volume of the ball: near the truth for many uniform rows."""
    X, Q = np.random.default_rng(0).uniform(size=(20_000, p)), np.full((1, p), 0.5)
    distance = np.sort(np.sqrt(((X - Q) ** 2).sum(axis=1)))[49]
    volume = math.pi ** (p / 2) / math.gamma(p / 2 + 1) * distance**p
    found = math.exp(KNeighborsDensity(n_neighbors=50).fit(X).score_samples(Q)[0])
    assert found == pytest.approx(50 / (20_000 * volume))
    assert found == pytest.approx(1, abs=0.5)


def test_nearest_neighbour_density_with_weights_and_ties():
    X = rows(100)
    w = np.random.default_rng(0).integers(1, 4, 100)
    model = KNeighborsDensity(n_neighbors=7)
    Q = rows(30, seed=1)
    expected = model.fit(X.repeat(w, axis=0)).score_samples(Q)
    np.testing.assert_allclose(model.fit(X, sample_weight=w).score_samples(Q), expected, rtol=1e-10)
    small = KNeighborsDensity(n_neighbors=4).fit(X, sample_weight=np.full(100, 0.25)).score_samples(Q)
    np.testing.assert_allclose(small, KNeighborsDensity(n_neighbors=4).fit(X).score_samples(Q), rtol=1e-10)
    assert np.isposinf(KNeighborsDensity(n_neighbors=3).fit(np.zeros((5, 2))).score_samples([[0.0, 0.0]]))[0]


# ------------------------------------------------------------------------------------------------ classifier


def test_classifier_is_bayes_rule_with_scikit_learn_s_densities():
    X = np.vstack([rows(120), rows(80, seed=1) + 2])
    y, Q = np.repeat(["a", "b"], [120, 80]), rows(50, seed=2) + 1
    h = {"a": 0.3, "b": 0.8}
    model = KernelDensityClassifier(bandwidth=h).fit(X, y)
    logs = np.column_stack([Peer(bandwidth=h[k]).fit(X[y == k]).score_samples(Q) for k in "ab"]) + np.log([0.6, 0.4])
    np.testing.assert_allclose(model.predict_joint_log_proba(Q), logs, rtol=1e-9)
    np.testing.assert_allclose(model.predict_log_proba(Q), logs - logsumexp(logs, axis=1, keepdims=True), rtol=1e-8)
    np.testing.assert_array_equal(model.predict(Q), np.array(["a", "b"])[logs.argmax(axis=1)])
    even = KernelDensityClassifier(bandwidth=h, priors=[0.5, 0.5]).fit(X, y)
    np.testing.assert_allclose(even.predict_joint_log_proba(Q), logs - np.log([1.2, 0.8]), rtol=1e-9)


def test_every_row_votes_for_its_class_by_its_window():
    """With one bandwidth and the priors of the data: shares of Σ K((x − x_i)/h) by class."""
    X, y, Q = rows(90), np.arange(90) % 3, rows(20, seed=1)
    votes = np.exp(-0.5 * ((Q[:, None] - X) ** 2).sum(axis=2) / 0.5**2) @ np.eye(3)[y]
    found = KernelDensityClassifier(bandwidth=0.5).fit(X, y).predict_proba(Q)
    np.testing.assert_allclose(found, votes / votes.sum(axis=1, keepdims=True), rtol=1e-9)


def test_classifier_far_away():
    X, y = np.array([[0.0], [1.0], [10.0], [11.0]]), [0, 0, 1, 1]
    far = [[1e6], [-1e6]]
    assert KernelDensityClassifier(bandwidth=1.0).fit(X, y).predict(far).tolist() == [1, 0]
    compact = KernelDensityClassifier(bandwidth=1.0, kernel="tophat", priors=[0.2, 0.8]).fit(X, y)
    np.testing.assert_allclose(compact.predict_proba(far), [[0.2, 0.8]] * 2)


# ------------------------------------------------------------------------------------------------ histogram


@pytest.mark.parametrize("p", [1, 2, 3])
def test_histogram_is_numpy_s(p):
    X = rows(500, p)
    w = np.random.default_rng(0).integers(0, 3, 500)
    model = HistogramDensity(bins=[4, 7, 5][:p]).fit(X, sample_weight=w)
    used = X[w > 0]
    expected, edges = np.histogramdd(used, [4, 7, 5][:p], weights=w[w > 0].astype(float), density=True)
    for one, other in zip(model.edges_, edges, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    np.testing.assert_allclose(model.counts / w.sum() / np.prod(model.width_), expected, rtol=1e-10)
    centres = np.column_stack(
        [g.ravel() for g in np.meshgrid(*[e[:-1] + np.diff(e) / 2 for e in edges], indexing="ij")]
    )
    np.testing.assert_allclose(np.exp(model.score_samples(centres)), expected.ravel(), rtol=1e-10)
    assert np.isneginf(model.score_samples(np.full((1, p), 99.0)))[0]


@pytest.mark.parametrize(("rule", "name"), [("sturges", "sturges"), ("scott", "scott")])
def test_rules_for_bins_are_numpy_s(rule, name):
    X = rows(3000, 1)
    np.testing.assert_allclose(
        HistogramDensity(bins=rule).fit(X).edges_[0], np.histogram_bin_edges(X[:, 0], name), rtol=1e-9
    )


def test_freedman_diaconis():
    X = rows(3001, 1)
    low, high = np.quantile(X, [0.25, 0.75], method="inverted_cdf")
    width = HistogramDensity(bins="freedman_diaconis").fit(X).width_[0]
    wanted = 2 * (high - low) * 3001 ** (-1 / 3)
    assert width == pytest.approx(np.ptp(X) / math.ceil(np.ptp(X) / wanted))


def test_origin_moves_the_edges():
    X = np.array([[0.2], [0.9], [1.5], [3.1]])
    for origin in (-100.3, 0.0, 0.7, 55.1):
        model = HistogramDensity(width=1.0, origin=origin).fit(X)
        edges = model.edges_[0]
        np.testing.assert_allclose((edges - origin) % 1.0 % 1.0, 0, atol=1e-9) if origin != 55.1 else None
        assert edges[0] <= 0.2
        assert edges[-1] >= 3.1
        assert line(model, -2, 6, 80_001) == pytest.approx(1, abs=1e-3)
        x = 1.2
        same = np.floor(X[:, 0] - origin) == math.floor(x - origin)
        assert math.exp(model.score_samples([[x]])[0]) == pytest.approx(same.mean())


@pytest.mark.parametrize("criterion", ["least_squares", "likelihood"])
def test_cross_validated_bins_by_leaving_out(criterion):
    X = np.random.default_rng(0).uniform(size=(200, 1)) ** 2
    model = HistogramDensity(bins="cv", criterion=criterion).fit(X)
    for m, score in zip(model.grid_[:6], model.cv_scores_[:6], strict=True):
        one = HistogramDensity(bins=int(m)).fit(X)
        ends = [(X.min(), X.max())]
        out = [
            math.exp(
                HistogramDensity(bins=int(m), range=ends).fit(np.delete(X, i, axis=0)).score_samples(X[i : i + 1])[0]
            )
            for i in range(200)
        ]
        if criterion == "least_squares":
            expected = 2 * np.mean(out) - (np.exp(one.score_samples(X))).mean()
        else:
            with np.errstate(divide="ignore"):
                expected = np.log(out).mean()
        assert score == pytest.approx(expected, rel=1e-9)
    assert len(model.edges_[0]) - 1 == model.grid_[np.argmax(model.cv_scores_)] > 1


def test_histograms_of_batches_and_given_ranges():
    X = rows(1000)
    whole = HistogramDensity(bins=6).fit(X)
    parts = HistogramDensity(bins=6).fit(Batches(lambda: (X[k : k + 90] for k in range(0, 1000, 90))))
    np.testing.assert_array_equal(whole.counts, parts.counts)
    inside = HistogramDensity(bins=4, range=[[-1, 1], [-1, 1]]).fit(X)
    share = (np.abs(X) <= 1).all(axis=1).mean()
    assert inside.counts.sum() / inside.total_ == pytest.approx(share)


def test_a_classifier_hands_the_neighbours_of_a_covariance_on():
    X, y, Q = rows(60), np.arange(60) % 2, rows(20, seed=1)
    model = KernelDensityClassifier(bandwidth=0.5, shape="local", n_neighbors=7).fit(X, y)
    alone = [KernelDensity(bandwidth=0.5, shape="local", n_neighbors=7).fit(X[y == k]).score_samples(Q) for k in (0, 1)]
    np.testing.assert_allclose(model.predict_joint_log_proba(Q), np.transpose(alone) + np.log(0.5), rtol=1e-12)


def test_draws_from_a_histogram():
    X = rows(500)
    model = HistogramDensity(bins=5).fit(X)
    drawn = model.sample(50_000, random_state=1)
    assert np.isfinite(model.score_samples(drawn)).all()
    again = HistogramDensity(bins=5, range=[[e[0], e[-1]] for e in model.edges_]).fit(drawn)
    np.testing.assert_allclose(again.counts / 50_000, model.counts / 500, atol=0.01)


# ------------------------------------------------------------------------------------------------ refusals

X5 = rows(5)


@pytest.mark.parametrize(
    ("model", "X", "words"),
    [
        (KernelDensity(bandwidth=0.0), X5, "bandwidth"),
        (KernelDensity(bandwidth=-1.0), X5, "bandwidth"),
        (KernelDensity(bandwidth=math.inf), X5, "bandwidth"),
        (KernelDensity(bandwidth=[0.5, 0.0]), X5, "positive"),
        (KernelDensity(bandwidth=[0.5]), X5, "one for each"),
        (KernelDensity(bandwidth=["a", "b"]), X5, "bandwidth is a number"),
        (KernelDensity(bandwidth="scott", shape="diagonal"), [[1.0, 2.0], [3.0, 2.0]], "Column 1 is constant"),
        (KernelDensity(shape="full"), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "singular"),
        (KernelDensity(shape="full"), [[1.0, 2.0]], "two rows"),
        (KernelDensity(bandwidth="cv"), [[1.0]], "n_samples = 1"),
        (KernelDensity(bandwidth="cv"), [[1.0], [1.0]], "All rows are equal"),
        (KernelDensity(bandwidth="cv", grid=[1.0, -1.0]), X5, "grid"),
        (KernelDensity(shape="local"), np.ones((3, 2)), "All rows are equal"),
        (KernelDensity(shape="local", adaptive=0.5), X5, "one of them"),
        (KernelDensity(), [[np.nan, 1.0], [0.0, 1.0]], "NaN"),
        (KNeighborsDensity(n_neighbors=6), X5, "n_neighbors is 6, and there are only n_samples = 5"),
        (HistogramDensity(width=-1.0), X5, "width"),
        (HistogramDensity(width=[1.0, 0.0]), X5, "positive"),
        (HistogramDensity(bins=[2, 3, 4]), X5, "one for each"),
        (HistogramDensity(bins=[1.5, 2]), X5, "whole numbers"),
        (HistogramDensity(width=1e-12), X5, "too many"),
        (HistogramDensity(range=[[0, 1]]), X5, "range"),
        (HistogramDensity(), [[np.inf, 1.0], [0.0, 1.0]], "infinity"),
    ],
)
def test_refusals(model, X, words):
    with pytest.raises(ValueError, match=words):
        model.fit(X)


def test_classifier_refusals():
    with pytest.raises(ValueError, match="one class"):
        KernelDensityClassifier().fit(X5, ["a"] * 5)
    with pytest.raises(ValueError, match="no entry for the class 'b'"):
        KernelDensityClassifier(bandwidth={"a": 1.0}).fit(X5, list("aabba"))
    for wrong in (0, -1.0, math.inf, "foo", None):
        with pytest.raises(ValueError, match=r"for the class 'b': The 'bandwidth' parameter .* must be"):
            KernelDensityClassifier(bandwidth={"a": 1.0, "b": wrong}).fit(X5, list("aabba"))
    with pytest.raises(ValueError, match="positive"):
        KernelDensityClassifier(bandwidth={"a": 1.0, "b": [1.0, 0.0]}).fit(X5, list("aabba"))
    with pytest.raises(ValueError, match="2 classes and 3 priors"):
        KernelDensityClassifier(bandwidth=1.0, priors=[0.2, 0.3, 0.5]).fit(X5, list("aabba"))
    with pytest.raises(ValueError, match="add up to 1"):
        KernelDensityClassifier(bandwidth=1.0, priors=[0.2, 0.3]).fit(X5, list("aabba"))


@pytest.mark.parametrize("far", [1e154, -1e160, 1.7e308])
@pytest.mark.parametrize("name", ["gaussian", "exponential", "epanechnikov", "cv", "full", "local"])
def test_values_whose_squares_overflow_are_refused_in_words(name, far):
    X = rows(30)
    how = {"cv": {"bandwidth": "cv"}, "full": {"shape": "full"}, "local": {"shape": "local"}}.get(
        name, {"kernel": name}
    )
    model = KernelDensity(**how).fit(X)
    with pytest.raises(InputError, match=r"Column 1 has values .* overflow"):
        model.score_samples([[0.0, far]])
    X[3, 1] = far
    with pytest.raises(InputError, match=r"Column 1 has values .* overflow"):
        model.fit(X)
    with pytest.raises(InputError, match=r"Column 0 has values .* overflow"):
        KernelDensity(bandwidth=1e-160).fit(rows(30)).score_samples(rows(3))
    with pytest.raises(InputError, match=r"Column 1 has values .* overflow"):
        KernelDensityClassifier(bandwidth=1.0).fit(X, np.arange(30) % 2)


def test_a_histogram_of_many_columns_keeps_the_cells_that_are_not_empty():
    """6³⁰ cells cannot be numbered; those that hold rows can be named."""
    X = np.random.default_rng(0).normal(size=(40, 30))
    w = np.random.default_rng(1).integers(0, 3, 40)
    model = HistogramDensity().fit(X, sample_weight=w)
    assert model.cells_.shape == (np.count_nonzero(w), 30)
    repeated = HistogramDensity().fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(model.score_samples(X), repeated.score_samples(X), rtol=1e-12)
    assert np.isfinite(model.score_samples(X[w > 0])).all()
    assert np.isneginf(model.score_samples(X[w == 0])).all()
    assert np.isfinite(model.score_samples(model.sample(20, random_state=0))).all()


def test_a_class_of_equal_rows_gets_the_bandwidth_of_all_rows():
    X, y = np.vstack([rows(30), np.full((3, 2), 4.0)]), np.repeat(["wide", "point"], [30, 3])
    model = KernelDensityClassifier().fit(X, y)
    assert model.predict([[4.1, 4.0], [0.0, 0.0]]).tolist() == ["point", "wide"]
    single = KernelDensityClassifier().fit(X[:31], y[:31])
    assert single.predict([[4.1, 4.0], [0.0, 0.0]]).tolist() == ["point", "wide"]
    with pytest.raises(InputError, match="All rows are equal"):
        KernelDensityClassifier().fit(np.ones((4, 2)), list("aabb"))


# ------------------------------------------------------------------------------------------------ metrics


NORMS = [("manhattan", None), ("chebyshev", None), ("minkowski", {"p": 3}), ("seuclidean", {"V": [1.0, 4.0]})]
NORMS += [("mahalanobis", {"V": np.array([[2.0, 0.5], [0.5, 1.0]])})]


@pytest.mark.parametrize("kernel", ["gaussian", "exponential", "epanechnikov"])
@pytest.mark.parametrize(("metric", "more"), [*NORMS, ("haversine", None), ("canberra", None), ("braycurtis", None)])
def test_metrics_are_scikit_learn_s_up_to_the_volume_of_the_ball(metric, more, kernel):
    X, Q, w = rows(100), rows(20, seed=1), np.random.default_rng(0).integers(1, 4, 100)
    how = {"metric": metric, "metric_params": more, "kernel": kernel, "bandwidth": 0.8}
    ours = KernelDensity(**how).fit(X, sample_weight=w).score_samples(Q)
    theirs = Peer(**how, algorithm="ball_tree").fit(X, sample_weight=w).score_samples(Q)
    seen = np.isfinite(ours)
    np.testing.assert_array_equal(seen, theirs > -700)
    ratio = {"manhattan": math.pi / 2, "chebyshev": math.pi / 4, "seuclidean": 0.5, "mahalanobis": 1.75**-0.5}
    ratio["minkowski"] = math.pi / (2 * math.gamma(4 / 3)) ** 2 * math.gamma(5 / 3)
    np.testing.assert_allclose(ours[seen] - theirs[seen], math.log(ratio.get(metric, 1.0)), atol=1e-9)


@pytest.mark.parametrize(("metric", "more"), NORMS)
def test_densities_under_a_norm_integrate_to_one_and_are_drawn_from(metric, more):
    model = KernelDensity(metric=metric, metric_params=more, bandwidth=0.8).fit(rows(20))
    line = np.linspace(-8, 8, 161)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    p = np.exp(model.score_samples(grid))
    assert p.sum() * 0.01 == pytest.approx(1.0, abs=1e-3)
    drawn = np.exp(model.score_samples(model.sample(4000, random_state=0)))
    error = 5 * drawn.std() / math.sqrt(4000)
    assert drawn.mean() == pytest.approx((p * p).sum() * 0.01, abs=error + 1e-3), "its mean under p is ∫p²"


def test_bandwidths_are_chosen_under_other_metrics_too():
    X = rows(60)
    w = np.random.default_rng(0).integers(1, 3, 60)
    model = KernelDensity(metric="manhattan", bandwidth="cv").fit(X, sample_weight=w)
    R = np.repeat(X, w, axis=0)
    h = model.bandwidth_
    left = [KernelDensity(metric="l1", bandwidth=h).fit(np.delete(R, i, axis=0)).score(R[[i]]) for i in range(len(R))]
    assert model.cv_scores_.max() == pytest.approx(np.mean(left), rel=1e-10)
    own = KernelDensity(metric=lambda a, b: np.abs(a - b).sum(), bandwidth=1.0).fit(X)
    named = KernelDensity(metric="l1", bandwidth=1.0).fit(X)
    gaps = own.score_samples(X) - named.score_samples(X)
    np.testing.assert_allclose(gaps, math.log(2 / math.pi), atol=1e-12)


def test_what_needs_the_euclidean_metric_says_so():
    with pytest.raises(ParameterError, match="Euclidean metric"):
        KernelDensity(metric="manhattan", shape="full").fit(rows(20))
    with pytest.raises(InputError, match="'mahalanobis' needs the spread of at least two rows"):
        KernelDensity(metric="mahalanobis").fit(rows(1))
    with pytest.raises(ParameterError, match="no rule to draw"):
        KernelDensity(metric="canberra").fit(rows(20)).sample()
