"""Mean shift and level sets: scikit-learn as a reference, the climb of the density, identities, bad input."""

import math
import warnings

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn import cluster as sklearn_cluster
from sklearn import neighbors as sklearn_neighbors
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from didact.cluster import DBSCAN, LevelSetClustering, MeanShift, estimate_bandwidth, get_bin_seeds, mean_shift
from didact.core.errors import InputError, ParameterError
from didact.engines.smoothing.mean_shift import climb_from, hills_of

X = make_blobs(300, centers=[[0, 0], [4, 0], [2, 4]], cluster_std=0.8, random_state=0)[0]


def log_density(Q, rows, h, w=None):
    """The logarithm of a Gaussian density up to a constant, written down."""
    squares = ((Q[:, None] - rows) ** 2).sum(axis=2)
    return logsumexp(-0.5 * squares / h**2, axis=1, b=np.ones(len(rows)) if w is None else w)


@pytest.mark.parametrize("options", [{}, {"bin_seeding": True}, {"cluster_all": False}, {"max_iter": 2}], ids=repr)
@pytest.mark.parametrize("h", [0.4, 1.0, 2.5])
def test_flat_modes_are_scikit_learns(h, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours = MeanShift(bandwidth=h, **options).fit(X)
    theirs = sklearn_cluster.MeanShift(bandwidth=h, **options).fit(X)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    assert ours.n_iter_ == theirs.n_iter_


def test_the_estimated_bandwidth_is_scikit_learns():
    for how in ({}, {"quantile": 0.1}, {"quantile": 0.0}, {"n_samples": 50, "random_state": 3}):
        assert estimate_bandwidth(X, **how) == pytest.approx(sklearn_cluster.estimate_bandwidth(X, **how), rel=1e-9)
    np.testing.assert_allclose(mean_shift(X)[0], sklearn_cluster.mean_shift(X)[0], rtol=1e-9, atol=1e-9)


def test_bins_are_scikit_learns():
    ours, theirs = get_bin_seeds(X, 0.7, 3), sklearn_cluster.get_bin_seeds(X, 0.7, 3)
    np.testing.assert_allclose(ours, theirs[np.lexsort(theirs.T[::-1])], rtol=1e-6)


def test_gaussian_climbs_never_go_down_and_end_where_the_gradient_vanishes():
    model = MeanShift(bandwidth=0.6, kernel="gaussian", keep_paths=True, tol=1e-9, max_iter=3000).fit(X)
    assert len(model.paths_) == len(X)
    for start, path in zip(X, model.paths_, strict=True):
        np.testing.assert_array_equal(path[0], start)
        assert (np.diff(log_density(path, X, 0.6)) >= -1e-12).all()
    step = 1e-4 * np.eye(2)
    for mode in model.cluster_centers_:
        around = log_density(np.vstack([mode + step, mode - step]), X, 0.6)
        assert (around < log_density(mode[None], X, 0.6)).all()
    assert (np.diff(log_density(model.cluster_centers_, X, 0.6)) <= 0).all(), "the highest comes first"


def test_a_row_belongs_to_the_mode_that_it_climbs_to():
    model = MeanShift(bandwidth=0.6, kernel="gaussian", keep_paths=True).fit(X)
    ends = np.array([path[-1] for path in model.paths_])
    apart = np.linalg.norm(ends - model.cluster_centers_[model.labels_], axis=1)
    assert apart.max() < 0.1 * 0.6
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_two_gaussians_have_one_mode_up_to_twice_their_width():
    """Σ of two equal Gaussians a distance d apart has two modes exactly if d > 2h."""
    for d, modes in ((1.9, 1), (2.2, 2)):
        model = MeanShift(bandwidth=1.0, kernel="gaussian", max_iter=10_000, tol=1e-10).fit([[0.0], [d]])
        assert len(model.cluster_centers_) == modes
    one = MeanShift(bandwidth=1.0, kernel="gaussian").fit([[0.0], [1.0]])
    np.testing.assert_allclose(one.cluster_centers_, [[0.5]], atol=1e-4)


def test_one_move_is_the_weighted_mean_of_the_course():
    rows, w = X[:40], np.arange(1.0, 41.0)
    for kernel, weights in (
        ("gaussian", lambda q: w * np.exp(-0.5 * ((q - rows) ** 2).sum(axis=1) / 0.49)),
        ("flat", lambda q: w * (np.linalg.norm(q - rows, axis=1) <= 0.7)),
    ):
        climbs = climb_from(rows, hills_of(rows, w), kernel, 0.7, 0.0, 0)
        expected = [weights(q) @ rows / weights(q).sum() for q in rows]
        np.testing.assert_allclose(climbs.ends, expected, rtol=1e-12)


def test_gaussian_starts_far_away_from_all_rows_find_them():
    model = MeanShift(bandwidth=0.5, kernel="gaussian", seeds=[[1000.0, 0.0]]).fit(X)
    assert log_density(model.cluster_centers_, X, 0.5) > log_density(np.array([[2.0, 1.5]]), X, 0.5)


def test_wider_windows_have_fewer_modes():
    counts = [len(MeanShift(bandwidth=h, kernel="gaussian").fit(X).cluster_centers_) for h in (1e-5, 0.3, 0.8, 5.0)]
    assert counts == sorted(counts, reverse=True)
    assert (counts[0], counts[2], counts[3]) == (300, 3, 1)


@pytest.mark.parametrize(
    "model", [MeanShift(), MeanShift(bandwidth=0.7, kernel="gaussian"), LevelSetClustering()], ids=repr
)
def test_weights_count_rows(model):
    w = np.random.default_rng(0).integers(0, 4, len(X))
    labels = model.fit(X, sample_weight=w * 0.01).labels_
    repeated = model.fit(np.repeat(X, w, axis=0)).labels_
    np.testing.assert_array_equal(np.repeat(labels, w), repeated)


def test_level_sets_of_flat_windows_are_the_cores_of_dbscan():
    eps, m = 0.5, 6
    cores = DBSCAN(eps=eps, min_samples=m).fit(X)
    level = (m - 0.5) / (len(X) * math.pi * eps**2)
    model = LevelSetClustering(bandwidth=eps, kernel="tophat", threshold=level).fit(X)
    np.testing.assert_array_equal(np.flatnonzero(model.labels_ >= 0), cores.core_sample_indices_)
    at = cores.core_sample_indices_
    assert adjusted_rand_score(model.labels_[at], cores.labels_[at]) == 1.0


def test_densities_and_levels():
    for kernel in ("gaussian", "epanechnikov"):
        model = LevelSetClustering(bandwidth=0.8, kernel=kernel, quantile=0.2).fit(X)
        theirs = sklearn_neighbors.KernelDensity(bandwidth=0.8, kernel=kernel, rtol=0).fit(X).score_samples(X)
        np.testing.assert_allclose(model.log_density_, theirs, rtol=1e-8)
        assert (model.labels_ < 0).mean() == pytest.approx(0.2, abs=1.5 / len(X))
        assert np.exp(model.log_density_[model.labels_ < 0]).max() <= model.threshold_ * (1 + 1e-8)
        np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_a_higher_level_parts_what_touches():
    rows = make_moons(1000, noise=0.16, random_state=0)[0]
    for quantile, parts in ((0.1, 1), (0.4, 2)):
        labels = LevelSetClustering(bandwidth=0.1, quantile=quantile, radius=0.15).fit(rows).labels_
        assert (np.bincount(labels[labels >= 0]) > 250).sum() == parts


def test_rows_of_one_density_are_one_cluster():
    """A share of the rows that cannot be told from the others is not left out."""
    assert set(LevelSetClustering().fit(np.ones((20, 2))).labels_) == {0}
    np.testing.assert_array_equal(LevelSetClustering().fit([[1.0]]).labels_, [0])


def test_a_level_above_all_rows_leaves_nothing():
    model = LevelSetClustering(bandwidth=1.0, threshold=1e6).fit(X)
    assert (model.n_clusters_, set(model.labels_), set(model.predict(X[:3]))) == (0, {-1}, {-1})


def test_bad_input_says_what_to_do():
    with pytest.raises(InputError, match=r"No point was within bandwidth=0\.1"):
        MeanShift(bandwidth=0.1, seeds=[[50.0, 50.0]]).fit(X)
    with pytest.raises(ParameterError, match="seeds has shape"):
        MeanShift(bandwidth=1.0, seeds=[[1.0, 2.0, 3.0]]).fit(X)
    with pytest.raises(ParameterError, match="seeds contain NaN"):
        MeanShift(bandwidth=1.0, seeds=[[1.0, np.nan]]).fit(X)
    with pytest.raises(InputError, match="bandwidth is 0"):
        MeanShift(kernel="gaussian").fit(np.ones((5, 1)))
    with pytest.raises(InputError, match="so far apart"):
        MeanShift(bandwidth=1.0).fit([[0.0], [1e160]])
    with pytest.warns(ConvergenceWarning, match="had not come to rest after max_iter=1"):
        MeanShift(bandwidth=0.6, kernel="gaussian", max_iter=1).fit(X)
