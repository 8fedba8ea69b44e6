"""Gaussian mixtures: the likelihood never falls, stationary ends, scikit-learn, weights, gaps, labels, conditionals."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as Theirs

import didact
from didact.core.errors import InputError
from didact.engines.components import mixture
from didact.mixture import GaussianMixture

KINDS = ("full", "tied", "diag", "spherical")


def clusters(n=300, p=3, K=3, seed=0, apart=4.0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(K, size=n)
    means, stretch = apart * rng.normal(size=(K, p)), rng.uniform(0.5, 1.5, size=(K, p))
    return means[codes] + stretch[codes] * rng.normal(size=(n, p)), codes


def quiet(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000), st.sampled_from(KINDS), st.integers(1, 5), st.integers(4, 60), st.integers(1, 4),
    st.sampled_from([0.0, 0.2]), st.sampled_from([1e-6, 1e-2]), st.booleans(),
    st.sampled_from(["kmeans", "k-means++", "random", "random_from_data"]),
)  # fmt: skip
def test_the_likelihood_never_falls(seed, kind, K, n, p, gaps, reg, hard, init):
    """Also where reg_covar is large, components collapse, values are missing or rows are equal."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(max(n, K), p)).round(int(rng.integers(0, 4)))
    X[rng.uniform(size=X.shape) < gaps] = np.nan
    X[0] = 0.0
    model = GaussianMixture(K, covariance_type=kind, reg_covar=reg, hard=hard, init_params=init, tol=0.0, max_iter=25)
    found = quiet(model.set_params(random_state=seed), X).lower_bounds_
    assert (np.diff(found) >= -1e-9 * (1 + np.abs(found[0]))).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("compiled", [False, True])
def test_scikit_learn_from_the_same_start(kind, compiled, monkeypatch):
    monkeypatch.setattr(mixture, "COMPILED_WORK", 0 if compiled else 1 << 60)
    X, _ = clusters()
    P = {"full": np.stack([np.eye(3)] * 3), "tied": np.eye(3), "diag": np.ones((3, 3)), "spherical": np.ones(3)}[kind]
    how = {"covariance_type": kind, "weights_init": [0.2, 0.3, 0.5], "means_init": X[:3], "precisions_init": P}
    ours = quiet(GaussianMixture(3, tol=0.0, max_iter=15, **how), X)
    theirs = quiet(Theirs(3, tol=0.0, max_iter=15, **how), X)
    for name in ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8, atol=1e-8, err_msg=name)
    for method in ("score_samples", "predict", "predict_proba"):
        np.testing.assert_allclose(getattr(ours, method)(X), getattr(theirs, method)(X), rtol=1e-8, atol=1e-8)
    for method in ("score", "aic", "bic"):
        assert getattr(ours, method)(X) == pytest.approx(getattr(theirs, method)(X), rel=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_the_end_is_stationary(kind):
    """Another step from there changes nothing, and no small change of a mean or a share raises the likelihood."""
    X, _ = clusters(seed=1)
    model = GaussianMixture(3, covariance_type=kind, reg_covar=0.0, tol=1e-14, max_iter=2000, random_state=0).fit(X)
    assert model.converged_
    assert model.lower_bound_ == pytest.approx(model.score(X), rel=1e-12)
    best = model.score(X)
    rng = np.random.default_rng(0)
    for _ in range(10):
        moved = GaussianMixture(3, covariance_type=kind)
        vars(moved).update({k: v for k, v in vars(model).items() if k.endswith("_")})
        moved.means_ = model.means_ + 1e-3 * rng.normal(size=model.means_.shape)
        shares = model.weights_ * np.exp(1e-3 * rng.normal(size=3))
        moved.weights_ = shares / shares.sum()
        assert moved.score(X) < best


def test_the_mixture_of_the_course():
    """Example 27: the first step and the limit."""
    D = np.array([5, 10, 4, 6, 5, 4, 6, 11, 10, 9, 5, 7, 3.0])[:, None]
    start = {"weights_init": [9 / 13, 4 / 13], "means_init": [[5.0], [10.0]], "precisions_init": [[[0.25]], [[1.0]]]}
    one = quiet(GaussianMixture(2, reg_covar=0.0, tol=0.0, max_iter=1, **start), D)
    np.testing.assert_allclose(one.means_[:, 0], [5.146482, 10.035026], atol=5e-7)
    np.testing.assert_allclose(np.sqrt(one.covariances_[:, 0, 0]), [1.392424, 0.722044], atol=5e-7)
    assert one.lower_bound_ * 13 == pytest.approx(-26.648073, abs=5e-7)
    end = GaussianMixture(2, reg_covar=0.0, tol=1e-14, max_iter=1000, **start).fit(D)
    np.testing.assert_allclose(end.means_[:, 0], [5.004536, 10.002232], atol=5e-7)
    assert end.lower_bound_ * 13 == pytest.approx(-26.368310, abs=5e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gaps", [False, True])
def test_weights_are_repetitions(kind, gaps):
    X, _ = clusters(n=80)
    rng = np.random.default_rng(2)
    if gaps:
        X[rng.uniform(size=X.shape) < 0.1] = np.nan
    w = rng.integers(0, 4, size=len(X))
    how = {"covariance_type": kind, "random_state": 0, "tol": 1e-12, "max_iter": 1000}
    weighted = quiet(GaussianMixture(3, **how), X, sample_weight=w)
    repeated = quiet(GaussianMixture(3, **how), np.repeat(X, w, axis=0))
    np.testing.assert_allclose(weighted.means_, repeated.means_, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(weighted.covariances_, repeated.covariances_, rtol=1e-7, atol=1e-8)
    assert weighted.bic(X, w) == pytest.approx(repeated.bic(np.repeat(X, w, axis=0)), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_batches_give_what_memory_gives(kind):
    X, _ = clusters(n=500)
    X[::17, 1] = np.nan
    how = {"covariance_type": kind, "random_state": 0, "tol": 1e-10, "max_iter": 1000}
    memory = GaussianMixture(3, **how).fit(X)
    batches = GaussianMixture(3, **how).fit(didact.Batches(lambda: (X[k : k + 130] for k in range(0, 500, 130))))
    np.testing.assert_allclose(batches.means_, memory.means_, rtol=1e-8)
    np.testing.assert_allclose(batches.covariances_, memory.covariances_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_missing_values_leave_the_marginal_density(kind):
    """Brute force: the marginal of the columns that are there, summed over components."""
    X, _ = clusters(n=120)
    rng = np.random.default_rng(3)
    X[rng.uniform(size=X.shape) < 0.2] = np.nan
    X[np.isnan(X).all(axis=1), 0] = 0.0
    model = quiet(GaussianMixture(3, covariance_type=kind, random_state=0, max_iter=20), X)
    C = model._matrices()
    total = 0.0
    for x in X:
        there = ~np.isnan(x)
        parts = [multivariate_normal(m[there], S[np.ix_(there, there)]).pdf(x[there]) for m, S in zip(model.means_, C)]
        total += np.log(model.weights_ @ parts)
    assert model.lower_bound_ == pytest.approx(total / len(X), rel=1e-10)
    assert model.score(X) == pytest.approx(total / len(X), rel=1e-10)


def test_missing_values_are_hidden_variables():
    """The ends of EM are maxima of the marginal likelihood: small changes of the means lower it."""
    X, _ = clusters(n=150, p=2, K=2)
    rng = np.random.default_rng(4)
    X[rng.uniform(size=150) < 0.3, 1] = np.nan
    model = GaussianMixture(2, reg_covar=0.0, tol=1e-13, max_iter=5000, random_state=0).fit(X)
    best, means = model.score(X), model.means_.copy()
    for _ in range(10):
        model.means_ = means + 1e-3 * rng.normal(size=means.shape)
        assert model.score(X) < best


def test_labels_of_some_rows():
    """Known rows stay in their components; with all rows known a fit is that of the classes."""
    X, codes = clusters(n=200, apart=1.0, seed=5)
    y = np.where(np.arange(200) < 60, codes, -1)
    model = quiet(GaussianMixture(3, use_labels=True, random_state=0, max_iter=500), X, y)
    assert (np.diff(model.lower_bounds_) >= -1e-12).all()
    every = GaussianMixture(3, use_labels=True, reg_covar=0.0).fit(X, codes)
    for k in range(3):
        np.testing.assert_allclose(every.means_[k], X[codes == k].mean(axis=0), rtol=1e-10)
        np.testing.assert_allclose(every.covariances_[k], np.cov(X[codes == k].T, bias=True), rtol=1e-10, atol=1e-12)
    blind = GaussianMixture(3, random_state=0).fit(X)
    assert (model.predict(X[:60]) == codes[:60]).mean() > (blind.predict(X[:60]) == codes[:60]).mean()
    with pytest.raises(InputError, match="from 0 to 2, or -1"):
        GaussianMixture(3, use_labels=True).fit(X, np.full(200, 7))
    with pytest.raises(InputError, match="y is None, and with use_labels=True"):
        GaussianMixture(3, use_labels=True).fit(X)
    words = np.array(["a", "b", "c"])[codes]
    for labels in (words, words.astype(object), words.tolist(), np.where(codes > 0, codes.astype(object), "b")):
        with pytest.raises(InputError, match=r"from 0 to 2, or -1 .* it holds '\w' in row \d"):
            GaussianMixture(3, use_labels=True).fit(X, labels)
    np.testing.assert_array_equal(GaussianMixture(2, random_state=0).fit(X, np.full(200, 7)).means_.shape, (2, 3))


@pytest.mark.parametrize("kind", KINDS)
def test_conditionals_are_quotients_of_densities(kind):
    X, _ = clusters(seed=6)
    model = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
    x = X[0]
    given = model.conditional([2, 0], [x[2], x[0]])
    marginal = np.log(
        sum(
            a * multivariate_normal(m[[0, 2]], S[np.ix_([0, 2], [0, 2])]).pdf(x[[0, 2]])
            for a, m, S in zip(model.weights_, model.means_, model._matrices(), strict=True)
        )
    )
    assert given.score_samples([[x[1]]])[0] == pytest.approx(model.score_samples([x])[0] - marginal, rel=1e-9)
    filled = model.fill([[x[0], np.nan, x[2]], x])
    assert filled[0, 1] == pytest.approx(given.weights_ @ given.means_[:, 0], rel=1e-9)
    np.testing.assert_array_equal(filled[1], x)
    for columns, values in (([0, 0], [1, 1]), ([3], [0.0]), ([0, 1, 2], [0, 0, 0]), ([0], [np.nan]), (["a"], [1.0])):
        with pytest.raises(ValueError):
            model.conditional(columns, values)


def test_a_sample_has_the_moments_of_the_mixture():
    X, _ = clusters(seed=7)
    for kind in KINDS:
        model = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
        drawn, codes = model.sample(20_000)
        np.testing.assert_allclose(np.bincount(codes) / 20_000, model.weights_, atol=0.02)
        np.testing.assert_allclose(drawn.mean(axis=0), model.weights_ @ model.means_, atol=0.15)
        assert model.score(drawn) == pytest.approx(model.score(model.sample(20_000, random_state=1)[0]), abs=0.1)
    with pytest.raises(ValueError, match="at least one sample"):
        model.sample(0)


def test_a_collapsed_component_is_named():
    """One row far away gets a component of its own: its covariance is reg_covar's alone."""
    rng = np.random.default_rng(8)
    X = np.vstack([rng.normal(size=(50, 2)), [[50.0, 50.0]]])
    with pytest.warns(ConvergenceWarning, match=r"1 of 2 components collapsed .* component \d \(weight 0.0196\)"):
        model = GaussianMixture(2, random_state=0).fit(X)
    assert model.collapsed_.sum() == 1
    with pytest.raises(didact.core.errors.Singular, match=r"covariance of component \d is singular"):
        GaussianMixture(2, random_state=0, reg_covar=0.0).fit(X)
    assert (
        not GaussianMixture(1).fit(np.column_stack([X, np.ones(51)])).collapsed_.any()
    )  # a constant column is no fault


def test_more_components_than_different_rows():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match="collapsed onto equal rows"):
        model = GaussianMixture(3, random_state=0).fit(X)
    assert np.isfinite(model.score(X))
    with pytest.raises(InputError, match="n_components = 11, n_samples = 10"):
        GaussianMixture(11).fit(X)


def test_restarts_prefer_what_has_not_collapsed():
    """The likelihood of a component on one row has no bound: a start that ends lower, but without one, is better."""
    rng = np.random.default_rng(9)
    X = np.concatenate([rng.normal(size=(40, 1)), rng.normal(size=(40, 1)) + 4, [[20.0]]])
    single = [quiet(GaussianMixture(2, random_state=s), X) for s in range(12)]
    assert {bool(m.collapsed_.any()) for m in single} == {False, True}
    best = GaussianMixture(2, random_state=0, n_init=12).fit(X)
    assert not best.collapsed_.any()
    assert best.lower_bound_ < max(m.lower_bound_ for m in single)


def test_hard_assignments_with_one_round_variance_are_those_of_k_means():
    """Equal shares apart, classification EM with tiny equal variances is Lloyd's algorithm (identity 102)."""
    X, _ = clusters(seed=10)
    model = GaussianMixture(3, covariance_type="spherical", hard=True, random_state=0, tol=0.0).fit(X)
    labels = model.predict(X)
    for k in range(3):
        np.testing.assert_allclose(model.means_[k], X[labels == k].mean(axis=0), rtol=1e-10)
        assert model.weights_[k] == pytest.approx((labels == k).mean())


def test_a_warm_start_goes_on():
    X, _ = clusters(seed=11)
    model = GaussianMixture(3, random_state=0, warm_start=True, max_iter=2, tol=0.0)
    for _ in range(3):
        quiet(model, X)
    once = quiet(GaussianMixture(3, random_state=0, max_iter=6, tol=0.0), X)
    np.testing.assert_allclose(model.means_, once.means_, rtol=1e-9)


@pytest.mark.parametrize("how", [
    {"weights_init": [0.5, 0.6]}, {"weights_init": [0.5, -0.5]}, {"weights_init": [1.0]}, {"means_init": [[0.0]]},
    {"precisions_init": [[[1.0, 2.0], [2.0, 1.0]]] * 2}, {"precisions_init": [1.0]},
    {"covariance_type": "diag", "precisions_init": [[1.0, 0.0], [1.0, 1.0]]},
])  # fmt: skip
def test_parameters_to_begin_with_are_checked(how):
    with pytest.raises(ValueError, match=r"(weights|means|precision)' should"):
        GaussianMixture(2, **how).fit(np.random.default_rng(0).normal(size=(20, 2)))


def test_a_column_without_values_is_named():
    X = np.column_stack([np.arange(6.0), np.full(6, np.nan)])
    with pytest.raises(InputError, match="Column 1 has no value"):
        GaussianMixture().fit(X)


@pytest.mark.parametrize("kind", KINDS)
def test_the_origin_and_the_unit_do_not_matter(kind):
    """Rows far from 0, or tiny ones, differ as before: no start takes them for equal."""
    X, _ = clusters(n=90)
    how = {"covariance_type": kind, "random_state": 0, "reg_covar": 0.0, "tol": 1e-10, "max_iter": 500}
    plain = GaussianMixture(3, **how).fit(X)
    assert GaussianMixture(3, **how).fit(X + 1e8).lower_bound_ == pytest.approx(plain.lower_bound_, abs=1e-4)
    tiny = GaussianMixture(3, **how).fit(X * 2.0**-300)
    assert tiny.lower_bound_ == pytest.approx(plain.lower_bound_ + 3 * 300 * np.log(2), rel=1e-9)
    huge = GaussianMixture(3, **how | {"reg_covar": 50.0}).fit(X)
    assert not huge.collapsed_.any()  # what is added is larger than what the rows vary by


@pytest.mark.parametrize("kind", KINDS)
def test_components_without_rows(kind):
    X = np.repeat([[0.0, 0.0], [1.0, 3.0], [2.0, 1.0]], 4, axis=0)
    X[::2] += 0.1
    model = quiet(GaussianMixture(12, covariance_type=kind, random_state=0), X)
    assert np.isfinite(model.means_).all()
    assert np.isfinite(model.score(X))
