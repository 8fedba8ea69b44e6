"""Kernel principal components: identities with PCA, Gram matrices by hand, weights, pre-images."""

import numpy as np
import pytest
import scipy.sparse as sp

from didact.core.errors import InputError, ParameterError
from didact.decomposition import PCA, KernelPCA
from didact.kernels import RBF, Linear, Polynomial

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4)) @ np.diag([3.0, 2.0, 1.0, 0.5]) + 1.0


def test_a_linear_kernel_gives_principal_components():
    linear, kernel = PCA(3).fit(X), KernelPCA(3, kernel=Linear()).fit(X)
    np.testing.assert_allclose(np.abs(kernel.transform(X)), np.abs(linear.transform(X)), atol=1e-9)
    np.testing.assert_allclose(kernel.eigenvalues_, linear.singular_values_**2, rtol=1e-10)


def test_a_polynomial_kernel_gives_principal_components_of_its_features():
    features = np.column_stack(
        [X[:, i] * X[:, j] * (1.0 if i == j else np.sqrt(2)) for i in range(4) for j in range(i, 4)]
    )
    kernel, linear = KernelPCA(4, kernel=Polynomial(2, 1.0, 0.0)).fit(X), PCA(4).fit(features)
    np.testing.assert_allclose(np.abs(kernel.transform(X)), np.abs(linear.transform(features)), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("solver", ["auto", "dense", "arpack", "randomized"])
def test_coordinates_of_the_fit_have_the_eigenvalues_as_squares(solver):
    model = KernelPCA(3, kernel="rbf", gamma=0.1, eigen_solver=solver, random_state=0, iterated_power=12)
    Z = model.fit_transform(X)
    np.testing.assert_allclose(Z.T @ Z, np.diag(model.eigenvalues_), atol=1e-8)
    np.testing.assert_allclose(model.transform(X), Z, atol=1e-8)
    K = RBF(np.sqrt(5.0))(X)
    C = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(C)[::-1][:3], rtol=1e-9)


def test_a_matrix_a_function_sparse_rows_and_tensors_say_the_same():
    torch = pytest.importorskip("torch")
    rbf = RBF(2.0)
    expected = KernelPCA(2, kernel=rbf).fit(X).transform(X[:7])
    given = KernelPCA(2, kernel="precomputed").fit(rbf(X)).transform(rbf(X[:7], X))
    function = KernelPCA(2, kernel=lambda a, b: np.exp(-((a - b) ** 2).sum() / 8.0)).fit(X).transform(X[:7])
    sparse = KernelPCA(2, kernel=rbf).fit(sp.csr_array(X))
    tensor = KernelPCA(2, kernel=rbf).fit(torch.as_tensor(X)).transform(torch.as_tensor(X[:7]))
    assert isinstance(tensor, torch.Tensor)
    for found in (given, function, sparse.transform(X[:7]), sparse.transform(sp.csr_array(X[:7])), tensor):
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_weights_are_repeated_rows_also_of_a_matrix():
    w = np.random.default_rng(1).integers(0, 4, size=60)
    again = np.repeat(X, w, axis=0)
    how = {"n_components": 2, "kernel": "rbf", "gamma": 0.05, "fit_inverse_transform": True}
    for way in ("ridge", "fixed_point"):
        weighted = KernelPCA(**how, preimage=way).fit(X, sample_weight=w)
        repeated = KernelPCA(**how, preimage=way).fit(again)
        np.testing.assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, rtol=1e-10)
        Z = weighted.transform(X)
        np.testing.assert_allclose(Z, repeated.transform(X), atol=1e-9)
        np.testing.assert_allclose(weighted.inverse_transform(Z), repeated.inverse_transform(Z), atol=1e-6)
    K = RBF(np.sqrt(10.0))(X)
    given = KernelPCA(2, kernel="precomputed").fit(K, sample_weight=w)
    np.testing.assert_allclose(given.transform(K), weighted.transform(X), atol=1e-9)


def test_a_fixed_point_is_a_stationary_point_of_the_distance_in_features():
    model = KernelPCA(3, kernel="rbf", gamma=0.05, fit_inverse_transform=True, preimage="fixed_point").fit(X)
    Z = model.transform(X[:5] + 0.3)
    found = model.inverse_transform(Z)
    gammas = Z @ (model.eigenvectors_ / np.sqrt(model.eigenvalues_)).T + 1.0 / 60
    nearness = lambda z: (gammas * RBF(np.sqrt(10.0))(z, X)).sum(axis=1)
    for axis in range(4):
        step = 1e-4 * np.eye(4)[axis]
        np.testing.assert_allclose(nearness(found + step) - nearness(found - step), 0.0, atol=1e-9)
    assert (nearness(found) >= nearness(X[:5]) - 1e-12).all()


def test_denoising_brings_points_back_to_the_circle():
    angle = np.linspace(0, 2 * np.pi, 120, endpoint=False)
    circle = np.c_[np.cos(angle), np.sin(angle)]
    noisy = circle + 0.15 * np.random.default_rng(0).normal(size=circle.shape)
    how = {"n_components": 4, "kernel": "rbf", "gamma": 1.0, "fit_inverse_transform": True}
    off = lambda rows: np.abs(np.linalg.norm(rows, axis=1) - 1.0).mean()
    for more in ({"preimage": "fixed_point"}, {"alpha": 0.1}):
        model = KernelPCA(**how, **more).fit(noisy)
        assert off(model.inverse_transform(model.transform(noisy))) < 0.6 * off(noisy)


def test_bad_input_gets_a_sentence():
    with pytest.raises(InputError, match="square matrix"):
        KernelPCA(kernel="precomputed").fit(X)
    with pytest.raises(InputError, match="not positive semidefinite"):
        KernelPCA(kernel="precomputed").fit(-np.eye(4) + 2)
    with pytest.raises(ParameterError, match="Gaussian kernel"):
        KernelPCA(kernel="linear", fit_inverse_transform=True, preimage="fixed_point").fit(X)
    with pytest.raises(ParameterError, match="precomputed"):
        KernelPCA(kernel="precomputed", fit_inverse_transform=True).fit(X @ X.T)
    with pytest.raises(InputError, match="NaN"):
        KernelPCA().fit(np.where(X > 5, np.nan, X))


def test_what_is_no_kernel_and_values_that_overflow_are_said_in_a_sentence():
    X = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(ValueError, match=r"no kernel, or the rows are so far from 0 .* centre the columns"):
        KernelPCA(kernel="precomputed").fit(-X @ X.T)
    with pytest.raises(ValueError, match="NaN or infinity"):  # and no warning beside
        KernelPCA(2).fit(X * 1e160)
