"""All classes jointly: stationarity, the dense formulas, two classes, gradients by differences, averages, weights."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import didact
from didact.core.errors import InputError
from didact.gaussian_process import GaussianProcessClassifier
from didact.gaussian_process.softmax_mode import averaged_softmax, softmax, softmax_mode
from didact.kernels import RBF, StringSpectrum

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
THREE = (X[:, 0] > 0).astype(int) + (X[:, 1] + 0.3 * RNG.normal(size=60) > 0.5)
NEW = RNG.normal(size=(8, 2))
W = RNG.uniform(0.3, 2.0, 60)
LABELS = (THREE[:, None] == np.arange(3)).astype(float)


def joint(kernel, **options):
    return GaussianProcessClassifier(kernel, multi_class="softmax", optimizer=None, **options)


def curvature(pi, w):
    """W as a matrix, values of class c before those of class c + 1."""
    n, C = pi.shape
    blocks = [[np.diag(w * pi[:, c] * ((c == d) - pi[:, d])) for d in range(C)] for c in range(C)]
    return np.block(blocks), np.arange(n * C).reshape(C, n)


def test_the_mode_is_where_the_gradient_vanishes():
    """f = Kω(Y − π) for every class, with weights."""
    K = (5.0 * RBF(1.0))(X)
    found = softmax_mode(K, LABELS, W, 100)
    assert found.converged
    np.testing.assert_allclose(found.f, K @ (W[:, None] * (LABELS - softmax(found.f))), atol=1e-6)
    np.testing.assert_allclose(found.f.sum(axis=1), 0.0, atol=1e-6)  # one kernel for all: Σ_c(Y − π) = 0


def test_the_evidence_is_that_of_the_dense_determinant():
    """Ψ − ½ log|I + (I ⊗ K)W|, from matrices of all classes."""
    K = (5.0 * RBF(1.0))(X)
    found = softmax_mode(K, LABELS, W, 100)
    a = W[:, None] * (LABELS - found.pi)
    psi = (W * np.log((LABELS * found.pi).sum(axis=1))).sum() - 0.5 * (a * found.f).sum()
    dense, _ = curvature(found.pi, W)
    sign, log = np.linalg.slogdet(np.eye(180) + np.kron(np.eye(3), K) @ dense)
    assert sign > 0
    np.testing.assert_allclose(found.value, psi - 0.5 * log, rtol=1e-8)


def test_new_rows_have_the_covariance_of_the_dense_matrix():
    """k** I − k*ᵀ(K + W⁻¹)⁻¹k*, with (K + W⁻¹)⁻¹ = W(I + KW)⁻¹."""
    kernel = 5.0 * RBF(1.0)
    K, model = kernel(X), joint(kernel).fit(X, THREE, W)
    found = softmax_mode(K, LABELS, W, 100)
    dense, places = curvature(found.pi, W)
    R = dense @ np.linalg.inv(np.eye(180) + np.kron(np.eye(3), K) @ dense)
    k, mean = kernel(X, NEW), kernel(X, NEW).T @ (W[:, None] * (LABELS - found.pi))
    variance = np.stack([5.0 - np.einsum("im,ij,jm->m", k, R[np.ix_(i, i)], k) for i in places], axis=1)
    ours = model.latent_mean_and_variance(NEW)
    np.testing.assert_allclose(ours[0], mean, atol=1e-6)
    np.testing.assert_allclose(ours[1], variance, atol=1e-6)


def test_two_classes_are_the_sigmoid_with_twice_the_kernel():
    """f_1 − f_0 is a process with the kernel 2k, and their sum is not seen by the likelihood."""
    y = THREE > 0
    ours = joint(1.5 * RBF(1.0)).fit(X, y, W)
    binary = GaussianProcessClassifier(3.0 * RBF(1.0), optimizer=None).fit(X, y, W)
    np.testing.assert_allclose(ours.log_marginal_likelihood_value_, binary.log_marginal_likelihood_value_, rtol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(NEW), binary.predict_proba(NEW), atol=2e-3)  # both are averages
    np.testing.assert_array_equal(ours.predict(X), binary.predict(X))
    slopes = [m.log_marginal_likelihood(np.log([v, 1.2]), eval_gradient=True)[1]
              for m, v in ((ours, 1.5), (binary, 3.0))]  # fmt: skip
    np.testing.assert_allclose(*slopes, rtol=1e-5, atol=1e-6)


def test_the_gradient_is_that_of_differences():
    model = joint(3.0 * RBF((1.0, 2.0))).fit(X, THREE, W)
    theta, h = np.log([4.0, 0.8, 1.5]), 1e-5
    value, slope = model.log_marginal_likelihood(theta, eval_gradient=True)
    numeric = [
        (model.log_marginal_likelihood(theta + e) - model.log_marginal_likelihood(theta - e)) / (2 * h)
        for e in h * np.eye(3)
    ]
    np.testing.assert_allclose(slope, numeric, rtol=1e-5, atol=1e-6)
    assert value == model.log_marginal_likelihood(theta)


def test_the_kernel_that_is_found_has_no_slope():
    model = GaussianProcessClassifier(1.0 * RBF(1.0), multi_class="softmax").fit(X, THREE)
    value, slope = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)
    assert np.abs(slope).max() < 1e-2
    assert value >= joint(1.0 * RBF(1.0)).fit(X, THREE).log_marginal_likelihood_value_
    warm = GaussianProcessClassifier(1.0 * RBF(1.0), multi_class="softmax", warm_start=True).fit(X, THREE)
    np.testing.assert_allclose(warm.log_marginal_likelihood_value_, value, rtol=1e-6)


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_averages_are_near_those_of_many_draws(classes):
    """Within five standard errors of 200,000 draws, and what so many points may be off."""
    mean, A = RNG.normal(size=classes), RNG.normal(size=(classes, classes))
    draws = softmax(RNG.multivariate_normal(mean, A @ A.T, 200_000))
    found = averaged_softmax(mean[None], (A @ A.T)[None])[0]
    assert (np.abs(found - draws.mean(axis=0)) < 5 * draws.std(axis=0) / np.sqrt(200_000) + 3e-3).all()
    np.testing.assert_allclose(found.sum(), 1.0, rtol=1e-12)
    still = averaged_softmax(mean[None], np.zeros((1, classes, classes)))
    np.testing.assert_allclose(still[0], softmax(mean), rtol=1e-12)


def test_a_weight_is_a_repetition_and_one_of_zero_no_row():
    w = RNG.integers(0, 3, 60)
    weighted = joint(2.0 * RBF(1.5)).fit(X, THREE, w)
    repeated = joint(2.0 * RBF(1.5)).fit(np.repeat(X, w, axis=0), np.repeat(THREE, w))
    np.testing.assert_allclose(
        weighted.log_marginal_likelihood_value_, repeated.log_marginal_likelihood_value_, rtol=1e-9
    )
    np.testing.assert_allclose(weighted.predict_proba(NEW), repeated.predict_proba(NEW), atol=1e-6)
    gone = joint(2.0 * RBF(1.5)).fit(X, THREE, (THREE != 1).astype(float))
    assert (gone.predict_proba(NEW)[:, 1] == 0.0).all()
    assert 1 not in gone.predict(NEW)


def test_tensors_strings_and_separable_labels():
    torch = pytest.importorskip("torch")
    ours, tensor = joint(2.0 * RBF(1.5)).fit(X, THREE), joint(2.0 * RBF(1.5))
    tensor.fit(torch.asarray(X), torch.asarray(THREE))
    found = tensor.predict_proba(torch.asarray(NEW))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), ours.predict_proba(NEW), atol=1e-9)
    texts, labels = ["abab", "baba", "cccc", "bccc", "ddad", "dddd"], list("xxyyzz")
    assert joint(5.0 * StringSpectrum(2)).fit(texts, labels).predict(["abaa", "cccb", "add"]).tolist() == list("xyz")
    X4, y4 = load_iris(return_X_y=True)
    model = joint(50.0 * RBF(2.0)).fit(X4[::2], y4[::2])
    assert model.score(X4[1::2], y4[1::2]) > 0.9


def test_limits_are_said():
    with pytest.warns(ConvergenceWarning, match="Newton steps"):
        joint(50.0 * RBF(1.0), max_iter_predict=1).fit(X, THREE)
    with pytest.raises(InputError, match="positive semidefinite"):
        joint(lambda A, B: -9.0 * (A @ B.T)).fit(X, THREE)


def test_a_file_says_what_the_model_said(tmp_path):
    model = joint(3.0 * RBF(1.0)).fit(X, THREE)
    didact.save(model, tmp_path / "joint.didact")
    again = didact.load(tmp_path / "joint.didact")
    np.testing.assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
