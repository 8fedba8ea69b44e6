"""Kernel ridge regression: the equations, scikit-learn, leave-one-out by fits, ridge as the linear case, tensors."""

import re

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge as Reference
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from didact.core.errors import InputError, ParameterError
from didact.kernel_ridge import KernelRidge
from didact.kernels import RBF, Linear, Polynomial, StringSpectrum, White


def without_address(value):
    """The name of a case, alike in all processes."""
    return re.sub(r" at 0x\w+", "", str(value))


RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3))
Y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=50)
W = RNG.integers(0, 4, 50).astype(float)


@pytest.mark.parametrize(
    "params",
    [
        {"kernel": "rbf"},
        {"kernel": "laplacian", "gamma": 0.3},
        {"kernel": "poly", "degree": 2},
        {"kernel": "cosine"},
        {"kernel": lambda a, b: float(a @ b)},
        {"alpha": 0.01},
    ],
    ids=without_address,
)
def test_agrees_with_scikit_learn(params):
    ours, theirs = KernelRidge(**params).fit(X, Y, W), Reference(**params).fit(X, Y, W)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8, atol=1e-10)


def test_a_kernel_that_is_not_positive_semidefinite_ends_with_a_warning():
    """The answer is still that of scikit-learn, which says nothing."""
    params = {"kernel": "sigmoid", "gamma": 0.01}
    with pytest.warns(UserWarning, match="KernelRidge: the kernel is not positive semidefinite on the fitted rows"):
        ours = KernelRidge(**params).fit(X, Y, W)
    np.testing.assert_allclose(ours.predict(X), Reference(**params).fit(X, Y, W).predict(X), rtol=1e-8, atol=1e-10)
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        KernelRidge(kernel="precomputed").fit(-X @ X.T, Y)


def test_a_function_of_two_strings_is_a_kernel():
    texts, values = ["abab", "bcbc", "abcd", "dddd"], np.arange(4.0)
    common = lambda a, b: float(len(set(a) & set(b)))
    K = np.array([[common(a, b) for b in texts] for a in texts])
    found = KernelRidge(kernel=common).fit(texts, values).predict(texts)
    np.testing.assert_allclose(found, KernelRidge(kernel="precomputed").fit(K, values).predict(K), atol=1e-12)


def test_the_equations_hold():
    model = KernelRidge(kernel=RBF(1.0), alpha=0.3).fit(X, Y, W)
    counts = W > 0
    residual = Y - model.predict(X)
    np.testing.assert_allclose(residual[counts], 0.3 * model.dual_coef_[counts] / W[counts], atol=1e-12)
    np.testing.assert_array_equal(model.dual_coef_[~counts], 0.0)


def test_the_linear_kernel_is_ridge_regression():
    np.testing.assert_allclose(
        KernelRidge(alpha=0.7).fit(X, Y).predict(X), Ridge(0.7, fit_intercept=False).fit(X, Y).predict(X), atol=1e-12
    )


def test_leave_one_out_errors_are_those_of_fits():
    alphas = [0.01, 0.1, 1.0]
    model = KernelRidge(kernel="rbf", alphas=alphas).fit(X, Y)
    errors = [
        np.mean((cross_val_predict(Reference(alpha=a, kernel="rbf"), X, Y, cv=LeaveOneOut()) - Y) ** 2) for a in alphas
    ]
    np.testing.assert_allclose(model.loo_errors_, errors, rtol=1e-9)
    assert model.alpha_ == alphas[int(np.argmin(errors))]
    np.testing.assert_allclose(
        model.predict(X), KernelRidge(kernel="rbf", alpha=model.alpha_).fit(X, Y).predict(X), atol=1e-10
    )


def test_several_targets_with_penalties_of_their_own():
    targets = np.column_stack([Y, Y**2])
    model = KernelRidge(kernel="rbf", alpha=[0.1, 2.0]).fit(X, targets)
    for k, a in enumerate([0.1, 2.0]):
        np.testing.assert_allclose(
            model.predict(X)[:, k], KernelRidge(kernel="rbf", alpha=a).fit(X, targets[:, k]).predict(X), atol=1e-12
        )


def test_white_noise_is_a_penalty():
    """k + σ²·[same row] and λ is k with λ + σ² on the fitted rows."""
    noisy = KernelRidge(kernel=RBF() + White(0.5), alpha=0.5).fit(X, Y)
    np.testing.assert_allclose(noisy.dual_coef_, KernelRidge(kernel=RBF(), alpha=1.0).fit(X, Y).dual_coef_, atol=1e-12)


def test_no_penalty_interpolates_and_singular_kernels_are_solved():
    np.testing.assert_allclose(KernelRidge(kernel=RBF(), alpha=0.0).fit(X, Y).predict(X), Y, atol=1e-6)
    found = KernelRidge(kernel=Polynomial(1), alpha=0.0).fit(X, Y).predict(X)
    A = np.column_stack([X, np.ones(50)])
    np.testing.assert_allclose(found, A @ np.linalg.lstsq(A, Y)[0], atol=1e-8)


def test_tensors_give_the_answer_of_arrays():
    torch = pytest.importorskip("torch")
    model = KernelRidge(kernel=RBF()).fit(torch.asarray(X), torch.asarray(Y))
    found = model.predict(torch.asarray(X))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), KernelRidge(kernel=RBF()).fit(X, Y).predict(X), atol=1e-10)


def test_bad_input_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="square kernel matrix"):
        KernelRidge(kernel="precomputed").fit(X, Y)
    with pytest.raises(ParameterError, match="alpha has 3 entries, and y has 1 columns"):
        KernelRidge(alpha=[1.0, 2.0, 3.0]).fit(X, Y)
    with pytest.raises(ParameterError, match="alphas is a list of penalties"):
        KernelRidge(alphas=[0.0, 1.0]).fit(X, Y)
    with pytest.raises(InputError, match="NaN"):
        KernelRidge(kernel=Linear()).fit(np.where(X > 2, np.nan, X), Y)
    with pytest.raises(InputError, match=r"returned shape \(3,\) for .* it has to return a number for two rows"):
        KernelRidge(kernel=lambda a, b: np.ones(3)).fit(X, Y)
    with pytest.raises(InputError, match="NaN or infinity"):
        KernelRidge(kernel=lambda a, b: np.nan).fit(X, Y)


@pytest.mark.parametrize("more", [{}, {"alphas": (0.01, 0.1, 1.0)}])
def test_kernels_of_strings(more):
    X, y = ["abcabc", "abdabd", "xyzxyz", "xywxyw", "abcabd"], np.array([0.0, 0.5, 1.0, 1.0, 0.0])
    kernel = StringSpectrum(2, True)
    model = KernelRidge(kernel=kernel, alpha=0.1, **more).fit(X, y)
    K = kernel(np.array(X))
    np.testing.assert_allclose(model.predict(X), K @ np.linalg.solve(K + model.alpha_ * np.eye(5), y), atol=1e-12)
