"""Principal components: axes with known variances, the least distances, every solver and every collection alike."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA as TheirPCA
from sklearn.exceptions import ConvergenceWarning

from didact import Batches
from didact.core.errors import InputError, ParameterError, Singular
from didact.decomposition import PCA, IncrementalPCA, ProbabilisticPCA

SOLVERS = ("full", "covariance_eigh", "arpack", "randomized", "power")


def built(n, p, variances, seed=0, mean=3.0):
    """Rows whose covariance (divided by n − 1) has these eigenvalues exactly, and its eigenvectors."""
    rng = np.random.default_rng(seed)
    k = len(variances)
    Z = rng.normal(size=(n, k))
    U = np.linalg.qr(Z - Z.mean(axis=0))[0]
    V = np.linalg.qr(rng.normal(size=(p, k)))[0]
    return mean + np.sqrt(n - 1) * (U * np.sqrt(variances)) @ V.T, V


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(120, 12), (30, 60)])
def test_axes_and_variances_that_were_built_in(solver, shape):
    variances = np.array([9.0, 4.0, 1.0, 0.25, 0.01])
    X, V = built(*shape, variances)
    model = PCA(3, svd_solver=solver, random_state=0).fit(X)
    np.testing.assert_allclose(model.explained_variance_, variances[:3], rtol=1e-9)
    np.testing.assert_allclose(np.abs((model.components_ @ V)[:, :3]), np.eye(3), atol=1e-7)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(model.explained_variance_ratio_, variances[:3] / variances.sum(), rtol=1e-9)
    np.testing.assert_allclose(model.singular_values_, np.sqrt((shape[0] - 1) * variances[:3]), rtol=1e-9)
    np.testing.assert_allclose(model.noise_variance_, 0.26 / (min(shape) - 3), rtol=1e-7)


def test_the_rest_of_a_reconstruction_is_the_variance_left_out():
    X, _ = built(80, 10, np.array([5.0, 3.0, 2.0, 0.5, 0.2]))
    model = PCA(2).fit(X)
    rest = X - model.inverse_transform(model.transform(X))
    np.testing.assert_allclose((rest**2).sum() / 79, 2.7, rtol=1e-9)
    for seed in range(5):  # no other subspace is nearer
        other = np.linalg.qr(model.components_.T + 0.1 * np.random.default_rng(seed).normal(size=(10, 2)))[0]
        D = X - X.mean(axis=0)
        assert ((D - D @ other @ other.T) ** 2).sum() > (rest**2).sum()


def test_whitened_coordinates_have_the_unit_covariance():
    X, _ = built(90, 7, np.array([100.0, 4.0, 0.01]))
    model = PCA(3, whiten=True).fit(X)
    np.testing.assert_allclose(np.cov(model.transform(X).T), np.eye(3), atol=1e-8)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-8)


def test_power_iterations_say_when_variances_are_too_close():
    X, _ = built(60, 6, np.array([1.0, 1.0 - 1e-5, 0.5, 0.2]))
    with pytest.warns(ConvergenceWarning, match="close variances"):
        PCA(1, svd_solver="power", random_state=0).fit(X)
    both = PCA(2, svd_solver="power", random_state=0, tol=1e-4).fit(X)
    np.testing.assert_allclose(both.explained_variance_.sum(), 2.0, atol=1e-3)


@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "randomized"])
def test_krylov_spaces_leave_out_little_of_a_slow_spectrum(solver):
    X, _ = built(700, 640, 1.0 / np.arange(1.0, 300.0))
    best = TheirPCA(20, svd_solver="full").fit(X).explained_variance_ratio_.sum()
    found = PCA(20, svd_solver=solver, random_state=0).fit(X).explained_variance_ratio_.sum()
    assert best * (1 - 1e-3) < found < best * (1 + 1e-10)


def test_a_space_as_large_as_the_rank_is_exact():
    X, _ = built(40, 90, np.linspace(2.0, 1.0, 30))
    found = PCA(4, svd_solver="randomized", iterated_power=10, random_state=0).fit(X)
    np.testing.assert_allclose(found.explained_variance_, np.linspace(2.0, 1.0, 30)[:4], rtol=1e-10)


def test_collections_and_kinds_of_arrays_give_the_same_axes():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 8)) * (rng.uniform(size=(400, 8)) < 0.4) @ np.diag(np.arange(1.0, 9.0))
    w = rng.integers(1, 4, size=400).astype(float)
    expected = PCA(3, svd_solver="full").fit(np.repeat(X, w.astype(int), axis=0))
    pieces = [(X[a : a + 90], None, w[a : a + 90]) for a in range(0, 400, 90)]
    tensors = torch.as_tensor(X), torch.as_tensor(w)
    fits = {
        "memory": PCA(3).fit(X, sample_weight=w),
        "full": PCA(3, svd_solver="full").fit(X, sample_weight=w),
        "lanczos": PCA(3, svd_solver="arpack").fit(sp.csr_array(X), sample_weight=w),
        "sparse": PCA(3).fit(sp.csr_array(X), sample_weight=w),
        "batches": PCA(3).fit(Batches(lambda: iter(pieces))),
        "dask": PCA(3).fit(da.from_array(X, chunks=(90, 8)), sample_weight=da.from_array(w, chunks=90)),
        "tensor": PCA(3).fit(tensors[0], sample_weight=tensors[1]),
        "full tensor": PCA(3, svd_solver="full").fit(tensors[0], sample_weight=tensors[1]),
        "krylov tensor": PCA(3, svd_solver="randomized", iterated_power=9).fit(tensors[0], sample_weight=tensors[1]),
    }
    for name, model in fits.items():
        for one in ("components_", "explained_variance_", "mean_", "noise_variance_", "n_samples_"):
            np.testing.assert_allclose(getattr(model, one), getattr(expected, one), rtol=1e-8, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(expected.transform(sp.csr_array(X)), expected.transform(X), atol=1e-10)
    np.testing.assert_allclose(expected.score_samples(sp.csr_array(X)), expected.score_samples(X), rtol=1e-9)
    moved = expected.transform(tensors[0])
    assert isinstance(moved, torch.Tensor)
    np.testing.assert_allclose(expected.inverse_transform(moved), expected.inverse_transform(expected.transform(X)))


def test_values_far_from_zero_lose_no_digits():
    X, _ = built(200, 30, np.array([3.0, 2.0, 1.0]), mean=0.0)
    for solver in SOLVERS:
        far = PCA(2, svd_solver=solver, random_state=0).fit(X + 1e7)
        np.testing.assert_allclose(far.explained_variance_, [3.0, 2.0], rtol=1e-6, err_msg=solver)


@pytest.mark.parametrize("share", [0.3, 0.9, 0.9999, "mle"])
@pytest.mark.parametrize("solver", ["full", "covariance_eigh"])
def test_the_number_of_axes_is_chosen_as_scikit_learn_does(share, solver):
    X, _ = built(200, 12, np.array([8.0, 4.0, 2.0, 1.0, *np.linspace(0.11, 0.1, 8)]))
    ours, theirs = PCA(share, svd_solver=solver).fit(X), TheirPCA(share, svd_solver="full").fit(X)
    assert ours.n_components_ == theirs.n_components_
    np.testing.assert_allclose(ours.noise_variance_, theirs.noise_variance_, rtol=1e-8)


def test_the_density_is_that_of_probabilistic_components():
    X, _ = built(150, 6, np.array([6.0, 3.0, 1.0, 0.8, 0.5, 0.4]))
    model = PCA(2).fit(X)
    np.testing.assert_allclose(model.get_precision() @ model.get_covariance(), np.eye(6), atol=1e-10)
    D, C = X - X.mean(axis=0), model.get_covariance()
    expected = -0.5 * ((D @ np.linalg.inv(C)) * D).sum(axis=1) - 0.5 * np.linalg.slogdet(2 * np.pi * C)[1]
    np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-9)
    np.testing.assert_allclose(model.score(X), expected.mean(), rtol=1e-10)
    scaled = ProbabilisticPCA(2).fit(X).get_covariance() * 150 / 149  # greatest likelihood divides by n
    np.testing.assert_allclose(C, scaled, rtol=1e-9)
    whole = PCA().fit(X)
    np.testing.assert_allclose(whole.get_precision(), np.linalg.inv(np.cov(X.T)), rtol=1e-7)


def test_bad_input_gets_a_sentence():
    X, _ = built(10, 20, np.array([2.0, 1.0]))
    with pytest.raises(Singular, match="flat subspace"):
        PCA().fit(X).score_samples(X)
    with pytest.raises(InputError, match="two rows"):
        PCA().fit(X[:1])
    with pytest.raises(InputError, match="two rows of positive weight"):
        PCA().fit(X, sample_weight=np.eye(10)[0])
    with pytest.raises(ParameterError, match=r"n_components=11 must be between 0 and min\(n_samples, n_features\)=10"):
        PCA(11).fit(X)
    with pytest.raises(ParameterError, match="cannot be a string"):
        PCA("mle", svd_solver="arpack").fit(X.T)
    with pytest.raises(InputError, match="in memory"):
        PCA(2, svd_solver="full").fit(Batches(lambda: iter([(X,)])))
    with pytest.raises(InputError, match="rows of 2 components"):
        PCA(2).fit(X).inverse_transform(X)
    with pytest.raises(InputError, match="column 3"):
        PCA().fit(np.where(np.arange(20) == 3, 1e200 * X, X))
    np.testing.assert_array_equal(PCA(2).fit(np.ones((5, 3))).explained_variance_ratio_, [0.0, 0.0])


def test_batches_one_after_the_other_lose_nothing_with_all_axes():
    X, _ = built(95, 6, np.array([6.0, 3.0, 1.0, 0.8, 0.5, 0.4]))
    whole, bit = PCA().fit(X), IncrementalPCA(batch_size=20).fit(X)
    by_hand = IncrementalPCA()
    for a in range(0, 95, 25):
        by_hand.partial_fit(X[a : a + 25])
    for model in (bit, by_hand):
        assert model.n_samples_seen_ == 95
        np.testing.assert_allclose(model.components_, whole.components_, atol=1e-10)
        np.testing.assert_allclose(model.explained_variance_, whole.explained_variance_, rtol=1e-10)
        np.testing.assert_allclose(model.var_, X.var(axis=0), rtol=1e-10)
        np.testing.assert_allclose(model.score(X), whole.score(X), rtol=1e-9)


def test_batches_with_few_axes_come_near():
    X, _ = built(400, 20, np.array([9.0, 6.0, 4.0, 0.1, 0.1, 0.1, 0.1]))
    bit, whole = IncrementalPCA(3, batch_size=50).fit(sp.csr_array(X)), PCA(3).fit(X)
    np.testing.assert_allclose(bit.explained_variance_, whole.explained_variance_, rtol=0.05)
    assert (np.abs((bit.components_ * whole.components_).sum(axis=1)) > 0.99).all()
    with pytest.raises(InputError, match="no weights"):
        IncrementalPCA(3).fit(Batches(lambda: iter([(X, None, np.ones(400))])))
