"""Other threads of Python limit BLAS to one thread while they work: no bit of what kernel models find may change."""

import numpy as np
import pytest

from didact.core.errors import InputError
from didact.core.rows import memory
from didact.core.threads import one_blas_thread
from didact.decomposition import KernelPCA
from didact.discriminant_analysis import KernelDiscriminantAnalysis
from didact.engines.gram.process import whitened
from didact.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from didact.kernel_approximation import Nystroem
from didact.kernel_ridge import KernelRidge
from didact.kernels import RBF
from didact.manifold import Isomap
from didact.svm import LSSVC, SVC, KernelLogisticRegression

X = np.random.default_rng(0).normal(size=(900, 5))
Y = np.sin(X[:, 0])
NEW = np.random.default_rng(1).normal(size=(1500, 5))
PROCESS = GaussianProcessRegressor(1.0 * RBF(2.0), alpha=0.1, optimizer=None).fit(X, Y)
CLASSES = GaussianProcessClassifier(1.0 * RBF(2.0), optimizer=None)
FITS = {
    "ridge": lambda: KernelRidge(kernel="rbf", alpha=0.1).fit(X, Y).dual_coef_,
    "leave_one_out": lambda: KernelRidge(kernel="rbf", alphas=[0.1, 1.0]).fit(X, Y).dual_coef_,
    "lssvc": lambda: LSSVC().fit(X, Y > 0).decision_function(NEW),
    "logistic": lambda: KernelLogisticRegression().fit(X, Y > 0).decision_function(NEW),
    "svc": lambda: SVC().fit(X, Y > 0).decision_function(NEW),
    "pca": lambda: KernelPCA(3, kernel="rbf").fit(X).transform(NEW),
    "discriminants": lambda: KernelDiscriminantAnalysis().fit(X, Y > 0).transform(NEW),
    "landmarks": lambda: Nystroem(n_components=600, random_state=0).fit(X).normalization_,
    "isomap": lambda: Isomap(n_neighbors=10).fit(X).embedding_,
    "process": lambda: GaussianProcessRegressor(1.0 * RBF(2.0), alpha=0.1, optimizer=None).fit(X, Y).alpha_,
    "means": lambda: PROCESS.predict(NEW),
    "deviations": lambda: PROCESS.predict(NEW, return_std=True)[1],
    "one piece": lambda: PROCESS.predict(NEW[:200], return_std=True)[1],
    "classes": lambda: CLASSES.fit(X[:600], Y[:600] > 0).predict_proba(NEW),
}


@pytest.mark.parametrize("name", FITS)
def test_bits_do_not_depend_on_the_threads_that_blas_has(name, two_threads):
    alone = FITS[name]()
    with one_blas_thread:
        np.testing.assert_array_equal(FITS[name](), alone)


@pytest.mark.parametrize("shape", [(1, 1), (256, 3), (257, 300), (700, 1)])
def test_a_triangular_solve_in_tiles(shape):
    """L V = B, whatever the order of the memory; above the diagonal there may be anything, and B stays."""
    n, m = shape
    rng = np.random.default_rng(n)
    L = np.tril(rng.normal(size=(n, n)) / n) + np.eye(n)
    B = rng.normal(size=(m, n))
    for left in (L, np.asfortranarray(L), L + np.triu(np.full((n, n), 9.0), 1)):
        before = B.copy()
        np.testing.assert_allclose(L @ whitened(left, B.T), B.T, atol=1e-12)
        np.testing.assert_allclose(L @ whitened(left, np.ascontiguousarray(B.T)), B.T, atol=1e-12)
        np.testing.assert_array_equal(B, before)


def test_landmarks_and_features_that_exceed_the_memory_are_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr(memory, "memory_limit", lambda: 8 * 99**2)
    for ask in (
        lambda: Nystroem(n_components=100).fit(X),
        lambda: KernelRidge(kernel="rbf", approximation="random_features", n_components=100).fit(X, Y),
        lambda: LSSVC(approximation="random_features", n_components=100).fit(X, Y > 0),
    ):
        with pytest.raises(InputError, match=r"100 × 100 numbers .* choose fewer features \(n_components\)"):
            ask()
