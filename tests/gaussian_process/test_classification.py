"""Gaussian process classification: the mode, the evidence by integration, gradients, scikit-learn, weights, limits."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn import gaussian_process as theirs
from sklearn.datasets import load_iris

from didact.core.errors import InputError
from didact.engines.gram.laplace import mode
from didact.gaussian_process import GaussianProcessClassifier
from didact.gaussian_process import kernels as sk
from didact.gaussian_process.two_class_problems import averaged_sigmoid
from didact.kernels import RBF, StringSpectrum

RNG = np.random.default_rng(0)
X = RNG.normal(size=(70, 3))
Y = (np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * RNG.normal(size=70) > 0).astype(int)
THREE = Y + (X[:, 2] > 0.5)
NEW = RNG.normal(size=(9, 3))
KERNELS = [1.3 * sk.RBF([1.0, 2.0, 3.0]), sk.RBF(1.0, "fixed") * sk.ConstantKernel(2.0) + sk.DotProduct(1.3)]


def test_the_mode_is_where_the_gradient_vanishes():
    """∇ log p = K⁻¹f, with weights."""
    K, w = (3.0 * RBF(1.0))(X), RNG.uniform(0.0, 3.0, 70)
    found = mode(K, Y.astype(float), w, 100)
    assert found.converged
    np.testing.assert_allclose(found.f, K @ (w * (Y - expit(found.f))), atol=1e-7)


def test_the_evidence_is_near_that_of_an_integral():
    """One row: ∫ σ(f) N(f; 0, k) df = ½ for any k; Laplace's value has to be near for a small variance."""
    found = mode(np.array([[0.05]]), np.ones(1), np.ones(1), 100)
    assert abs(found.value - np.log(0.5)) < 1e-4
    np.testing.assert_allclose(averaged_sigmoid(np.zeros(1), np.ones(1)), 0.5, atol=1e-6)


def test_the_averaged_sigmoid_is_near_its_integral():
    z, weight = np.polynomial.hermite_e.hermegauss(60)
    for mean, variance in ((0.5, 0.1), (-2.0, 1.0), (3.0, 4.0)):
        exact = weight @ expit(mean + np.sqrt(variance) * z) / weight.sum()
        assert abs(averaged_sigmoid(np.array([mean]), np.array([variance]))[0] - exact) < 2e-3  # Williams, Barber


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_a_fixed_kernel_gives_the_numbers_of_scikit_learn(kernel, y):
    ours, ref = (
        cls(kernel, optimizer=None).fit(X, y) for cls in (GaussianProcessClassifier, theirs.GaussianProcessClassifier)
    )
    np.testing.assert_allclose(ours.predict_proba(NEW), ref.predict_proba(NEW), atol=1e-8)
    np.testing.assert_array_equal(ours.predict(NEW), ref.predict(NEW))
    np.testing.assert_allclose(ours.log_marginal_likelihood_value_, ref.log_marginal_likelihood_value_, rtol=1e-8)
    assert ours.kernel_ == ref.kernel_
    if len(ours.classes_) == 2:
        found = ours.latent_mean_and_variance(NEW)
        np.testing.assert_allclose(found, ref.latent_mean_and_variance(NEW), rtol=1e-6, atol=1e-8)
        slopes = (m.log_marginal_likelihood(kernel.theta, eval_gradient=True)[1] for m in (ours, ref))
        np.testing.assert_allclose(*slopes, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "one_vs_one"])
def test_the_evidence_at_the_optimum_is_not_lower(multi_class):
    kernel = 1.3 * sk.RBF(1.0)
    ours, ref = (
        cls(kernel, multi_class=multi_class).fit(X, THREE)
        for cls in (GaussianProcessClassifier, theirs.GaussianProcessClassifier)
    )
    assert ours.log_marginal_likelihood_value_ >= ref.log_marginal_likelihood_value_ - 1e-4
    np.testing.assert_array_equal(ours.predict(X), ref.predict(X))
    assert len(ours.base_estimator_.estimators_) == 3


@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_the_gradient_is_that_of_differences(y):
    model = GaussianProcessClassifier(1.3 * RBF((1.0, 2.0, 3.0)), optimizer=None).fit(X, y, RNG.uniform(0.5, 2.0, 70))
    theta, h = np.tile(np.log([2.0, 1.0, 1.5, 2.5]), 1 if y is Y else 3), 1e-5
    value, slope = model.log_marginal_likelihood(theta, eval_gradient=True)
    numeric = [
        (model.log_marginal_likelihood(theta + e) - model.log_marginal_likelihood(theta - e)) / (2 * h)
        for e in h * np.eye(len(theta))
    ]
    np.testing.assert_allclose(slope, numeric, rtol=1e-5, atol=1e-6)
    assert value == model.log_marginal_likelihood(theta)


def test_a_weight_is_a_repetition():
    w = RNG.integers(0, 3, 70)
    weighted = GaussianProcessClassifier(2.0 * RBF(1.5)).fit(X, Y, w)
    repeated = GaussianProcessClassifier(2.0 * RBF(1.5)).fit(np.repeat(X, w, axis=0), np.repeat(Y, w))
    np.testing.assert_allclose(
        weighted.log_marginal_likelihood_value_, repeated.log_marginal_likelihood_value_, rtol=1e-6
    )
    np.testing.assert_allclose(weighted.predict_proba(NEW), repeated.predict_proba(NEW), atol=1e-4)


def test_warm_starts_and_restarts_find_the_same_optimum():
    plain = GaussianProcessClassifier(1.0 * RBF(1.0)).fit(X, Y)
    warm = GaussianProcessClassifier(1.0 * RBF(1.0), warm_start=True).fit(X, Y)
    more = GaussianProcessClassifier(1.0 * RBF(1.0), n_restarts_optimizer=1, random_state=0).fit(X, Y)
    value = plain.log_marginal_likelihood_value_
    np.testing.assert_allclose(warm.log_marginal_likelihood_value_, value, rtol=1e-6)
    assert more.log_marginal_likelihood_value_ >= value


def test_tensors_and_strings():
    torch = pytest.importorskip("torch")
    ours = GaussianProcessClassifier(2.0 * RBF(1.5), optimizer=None).fit(X, THREE)
    tensor = GaussianProcessClassifier(2.0 * RBF(1.5), optimizer=None).fit(torch.asarray(X), torch.asarray(THREE))
    found = tensor.predict_proba(torch.asarray(NEW))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), ours.predict_proba(NEW), atol=1e-9)
    texts, labels = ["abab", "baba", "cccc", "bccc", "ccac", "abba"], list("xxyyyx")
    model = GaussianProcessClassifier(5.0 * StringSpectrum(2)).fit(texts, labels)
    assert model.predict(["abaa", "cccb"]).tolist() == ["x", "y"]


def test_iris_is_told_apart():
    X, y = load_iris(return_X_y=True)
    model = GaussianProcessClassifier(1.0 * RBF(1.0), optimizer=None).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.9


@pytest.mark.parametrize(
    ("params", "y", "words"),
    [
        ({}, np.zeros(70), "2 or more distinct classes"),
        ({"kernel": lambda A, B: -9.0 * (A @ B.T)}, Y, "positive semidefinite"),
        ({"kernel": RBF((1.0, 2.0))}, Y, "2 widths"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(params, y, words):
    with pytest.raises(InputError, match=words):
        GaussianProcessClassifier(**params).fit(X, y)


def test_pairs_have_no_probabilities():
    model = GaussianProcessClassifier(multi_class="one_vs_one").fit(X, THREE)
    with pytest.raises(ValueError, match="one_vs_rest"):
        model.predict_proba(NEW)
    with pytest.raises(ValueError, match="binary"):
        model.latent_mean_and_variance(NEW)
