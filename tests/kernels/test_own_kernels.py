"""A kernel of one's own, by what `Kernel` asks for; and sums of kernels with numbers, noise and each other."""

import math
from typing import NamedTuple

import numpy as np
import pytest

from didact import save
from didact.core.errors import InputError, ParameterError
from didact.decomposition import KernelPCA
from didact.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from didact.kernel_approximation import Nystroem
from didact.kernel_ridge import KernelRidge
from didact.kernels import (
    RBF,
    Fixed,
    Kernel,
    Linear,
    RationalQuadratic,
    StringSpectrum,
    StringSubsequence,
    White,
    WordOverlap,
)
from didact.svm import SVC

X = np.random.default_rng(0).normal(size=(150, 2))
NEW = np.random.default_rng(1).normal(size=(5, 2))
Y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(2).normal(size=150)
WORDS = ["cat", "car", "cart", "dog", "dig", "dug", "catalog", "dogma", "cargo", "dogs", "art", "rat"]


def rational(X, Z, scale, width):
    """a/(1 + ‖x − z‖²/(2w²)), which is `scale * RationalQuadratic(width, 1)`, and its derivatives."""
    apart = ((X[:, None] - (X if Z is None else Z)) ** 2).sum(axis=2) / (2 * width**2)
    return scale / (1 + apart), scale * 2 * apart / (1 + apart) ** 2


class Plain(Kernel):
    """With parameters as attributes."""

    def __init__(self, scale=1.0, width=1.0):
        self.scale, self.width = scale, width

    def gram(self, X, Z=None):
        return rational(X, Z, self.scale, self.width)[0]

    def searched(self):
        return ("scale", "width")

    def partials(self, X, Z=None):
        return list(rational(X, Z, self.scale, self.width))


class Named(Kernel, NamedTuple("Named", [("scale", float), ("width", float)])):
    """As a NamedTuple."""

    gram, searched, partials = Plain.gram, Plain.searched, Plain.partials


class Values(Kernel):
    """Without parameters."""

    def gram(self, X, Z=None):
        return rational(X, Z, 1.3, 0.8)[0]


OWN = [Plain(1.3, 0.8), Named(1.3, 0.8), Values()]
SAME = 1.3 * RationalQuadratic(0.8, 1.0)
COMBINED = [lambda k: k, lambda k: k + White(0.2), lambda k: 2.0 * k + RBF(), lambda k: (k * Linear() + 1.0) ** 2]


@pytest.mark.parametrize("own", OWN, ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("combine", COMBINED)
def test_models_of_a_kernel_of_ones_own_are_those_of_the_same_one_of_ours(own, combine):
    mine, ours = combine(own), combine(SAME)
    models = [
        (lambda k: SVC(kernel=k, tol=1e-9).fit(X, Y > 0).decision_function(NEW)),
        (lambda k: KernelRidge(kernel=k).fit(X, Y).predict(NEW)),
        (lambda k: abs(KernelPCA(2, kernel=k).fit(X).transform(NEW))),
        (lambda k: GaussianProcessRegressor(k, alpha=0.1, optimizer=None).fit(X, Y).predict_interval(NEW)),
        (lambda k: GaussianProcessClassifier(k, optimizer=None).fit(X, Y > 0).predict_proba(NEW)),
    ]
    for model in models:
        np.testing.assert_allclose(model(mine), model(ours), atol=1e-6)


@pytest.mark.parametrize("own", OWN[:2], ids=lambda k: type(k).__name__)
def test_the_gradient_of_the_evidence_counts_its_diagonal(own):
    """An amplitude is on the diagonal, too, which only `partials` tells."""
    model = GaussianProcessRegressor(own + White(0.1), optimizer=None, alpha=0.0).fit(X, Y)
    theta = model.kernel_.theta
    _, slope = model.log_marginal_likelihood(theta, eval_gradient=True)
    steps = 1e-5 * np.eye(len(theta))
    apart = [model.log_marginal_likelihood(theta + h) - model.log_marginal_likelihood(theta - h) for h in steps]
    np.testing.assert_allclose(slope, np.array(apart) / 2e-5, rtol=1e-5, atol=1e-5)
    found = GaussianProcessRegressor(own + White(0.1), alpha=0.0).fit(X, Y)
    assert found.log_marginal_likelihood_value_ > model.log_marginal_likelihood_value_
    assert own.scale == 1.3  # the kernel that was given stays as it is


def test_parameters_without_derivatives_are_refused():
    class Half(Values):
        def searched(self):
            return ("width",)

        width = 1.0

    with pytest.raises(ParameterError, match="Half has parameters to be searched, width: it has to write `partials`"):
        GaussianProcessRegressor(Half(), alpha=0.1).fit(X, Y)


@pytest.mark.parametrize("own", [OWN[0], 2.0 * OWN[1] + White(0.1)], ids=["alone", "in a sum"])
def test_files_refuse_it_by_name(own, tmp_path):
    with pytest.raises(InputError, match=r"cannot be saved: it holds .*(Plain|Named), which may not be in a file"):
        save(KernelRidge(kernel=own).fit(X, Y), tmp_path / "model.didact")


def test_sums_and_products_of_a_list():
    assert sum([RBF(), Linear(), RBF(2.0)]) == RBF() + Linear() + RBF(2.0)
    assert RBF() + 0 == 0.0 + RBF() == RBF()
    np.testing.assert_array_equal(math.prod([RBF(), Linear()])(NEW), RBF()(NEW) * Linear()(NEW))
    with pytest.raises(ParameterError, match="positive value"):
        RBF() + -1.0


@pytest.mark.parametrize(
    "kernel",
    [
        StringSpectrum(2) + 1.0,
        White(0.1) + WordOverlap(),
        2.0 * StringSubsequence(2) * White(0.3) + (StringSpectrum(1) + 0.5) ** 2,
        Fixed(StringSpectrum(2) + White(0.1)) + 1.0,
    ],
    ids=str,
)
def test_kernels_of_strings_with_numbers_and_noise_take_lists(kernel):
    K = kernel(WORDS)
    np.testing.assert_array_equal(kernel(np.array(WORDS)), K)
    np.testing.assert_allclose(kernel.diagonal(WORDS), np.diag(K))
    between = kernel(WORDS, WORDS)
    np.testing.assert_allclose(kernel.diagonal(WORDS, same=False), np.diag(between))
    np.testing.assert_allclose(np.triu(K, 1), np.triu(between, 1))
    theta, A = kernel.theta, np.random.default_rng(0).normal(size=K.shape)
    slopes = [((kernel.with_theta(theta + h)(WORDS) - kernel.with_theta(theta - h)(WORDS)) * A).sum() / 2e-6
              for h in 1e-6 * np.eye(len(theta))]  # fmt: skip
    np.testing.assert_allclose(kernel.pull(WORDS, A), slopes, atol=1e-7)
    lengths = np.array([len(word) for word in WORDS], float)
    ridge = KernelRidge(kernel=kernel, alpha=0.1).fit(WORDS, lengths)
    process = GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None).fit(WORDS, lengths)
    np.testing.assert_allclose(process.predict(WORDS[:3]), ridge.predict(WORDS[:3]))
    np.testing.assert_allclose(ridge.dual_coef_, np.linalg.solve(K + 0.1 * np.eye(12), lengths))


def test_features_of_strings_with_a_number():
    kernel = StringSpectrum(2) + 1.0
    Z = Nystroem(kernel, n_components=12).fit_transform(WORDS)
    np.testing.assert_allclose(Z @ Z.T, kernel(WORDS), atol=1e-10)
