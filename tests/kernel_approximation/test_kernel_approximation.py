"""Features of kernels: exact with all rows as landmarks, unbiased cosines, blocks and batches, models on features."""

from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import kernel_approximation as theirs
from sklearn.metrics.pairwise import pairwise_kernels

from didact import Batches
from didact.core.errors import InputError, ParameterError
from didact.engines.gram import features
from didact.engines.linear import objective
from didact.kernel_approximation import Nystroem, RBFSampler
from didact.kernel_ridge import KernelRidge
from didact.kernels import RBF, Laplacian, Linear, Matern, Polynomial, RationalQuadratic
from didact.svm import LSSVC, SVC, SVR, KernelLogisticRegression, KernelPerceptron, KernelSGDRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
TWO = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
THREE = np.digitize(X[:, 0] + 0.5 * RNG.normal(size=80), [-0.5, 0.5])
Z = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=80)
W = RNG.integers(0, 3, 80)
ALL = {"approximation": "nystroem", "n_components": 80, "random_state": 0}
KERNELS = [RBF(1.3), RBF((1.0, 2.0, 3.0)), Laplacian((1.0, 2.0, 3.0)), Matern(1.5, 0.5), Matern(1.0, 2.5)]
KERNELS += [RationalQuadratic(1.0, 2.0), 3.0 * RBF(1.0)]


@pytest.mark.parametrize("landmarks", ["uniform", "kmeans++"])
def test_all_rows_as_landmarks_are_the_kernel(landmarks):
    kernel = Matern(1.0, 1.5)
    V = Nystroem(kernel, n_components=80, landmarks=landmarks, random_state=0).fit_transform(X)
    np.testing.assert_allclose(V @ V.T, kernel(X), atol=1e-8)


def test_rows_in_the_span_of_the_landmarks_are_exact():
    """The polynomial kernel of degree 2 has 10 features for 3 columns: 12 landmarks span them."""
    kernel = Polynomial(2, 1.0, 1.0)
    V = Nystroem(kernel, n_components=12, random_state=0).fit_transform(X)
    np.testing.assert_allclose(V @ V.T, kernel(X), rtol=1e-6, atol=1e-6)


def test_the_formula_is_that_of_scikit_learn_for_its_landmarks():
    other = theirs.Nystroem(gamma=0.3, n_components=20, random_state=0).fit(X)
    ours = Nystroem(gamma=0.3, n_components=20, random_state=0).fit(X)
    ours.components_, ours.normalization_ = other.components_, other.normalization_
    np.testing.assert_allclose(ours.transform(X), other.transform(X), atol=1e-9)


def test_the_approximation_never_exceeds_the_kernel():
    """K − Nyström's matrix is positive semidefinite, and falls as landmarks are added."""
    kernel, errors = RBF(0.7), []
    for m in (5, 20, 60):
        V = Nystroem(kernel, n_components=m, random_state=0).fit_transform(X)
        rest = kernel(X) - V @ V.T
        assert np.linalg.eigvalsh(rest)[0] > -1e-8
        errors.append(np.trace(rest))
    assert errors[0] > errors[1] > errors[2]


def test_landmarks_far_apart_avoid_copies():
    copies = np.repeat(X[:5], 40, axis=0)
    model = Nystroem(RBF(1.0), n_components=5, landmarks="kmeans++", random_state=0).fit(copies)
    assert len(np.unique(model.components_, axis=0)) == 5


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_random_features_are_unbiased(kernel):
    """By Hoeffding's inequality and a union over all pairs, wrong once in a million if the law of ω is right."""
    m, rows = 20_000, X[:12]
    V = RBFSampler(kernel=kernel, n_components=m, random_state=0).fit_transform(rows)
    scale = kernel.diagonal(rows).max()
    bound = scale * np.sqrt(8 * np.log(2 * 144 * 1e6) / m)
    assert np.abs(V @ V.T - kernel(rows)).max() < bound


def test_the_gaussian_of_scikit_learn():
    V = RBFSampler(gamma=0.4, n_components=20_000, random_state=0).fit_transform(X[:12])
    np.testing.assert_allclose(V @ V.T, RBF(np.sqrt(1 / 0.8))(X[:12]), atol=0.1)
    model = RBFSampler(gamma="scale", random_state=0).fit(X)
    other = theirs.RBFSampler(gamma="scale", random_state=0).fit(X)
    assert model.random_weights_.shape == other.random_weights_.shape


def test_a_law_that_is_not_known_is_said():
    with pytest.raises(ParameterError, match="spectral law"):
        RBFSampler(kernel=Linear()).fit(X)
    with pytest.raises(ParameterError, match="precomputed"):
        KernelRidge(kernel="precomputed", approximation="nystroem").fit(X @ X.T, Z)


MODELS = [
    (SVC(gamma=0.4), SVC(gamma=0.4, tol=1e-9), TWO, 0.02),
    (SVC(gamma=0.4), SVC(gamma=0.4, tol=1e-9), THREE, 0.02),
    (SVC(gamma=0.4, strategy="ovr", class_weight="balanced"), None, THREE, 0.02),
    (SVR(gamma=0.4, C=5.0), SVR(gamma=0.4, C=5.0, tol=1e-9), Z, 0.01),
    (LSSVC(gamma=0.4), None, THREE, 1e-7),
    (KernelLogisticRegression(gamma=0.4, tol=1e-9), None, TWO, 1e-6),
    (KernelLogisticRegression(gamma=0.4, tol=1e-9), None, THREE, 1e-6),
    (KernelRidge(kernel="rbf", gamma=0.4), None, Z, 1e-6),
    (KernelRidge(kernel="rbf", gamma=0.4, alphas=(0.1, 1.0)), None, np.column_stack([Z, Z**2]), 1e-6),
]


@pytest.mark.parametrize(("model", "exact", "y", "atol"), MODELS, ids=lambda v: type(v).__name__)
def test_models_on_all_landmarks_are_the_exact_ones(model, exact, y, atol):
    """Up to the rounding of kinks, by 1/1000 of the margin, for machines with a hinge."""
    exact = (exact or model).__class__(**(exact or model).get_params()).fit(X, y, W)
    found = model.__class__(**{**model.get_params(), **ALL}).fit(X, y, W)
    answer = "predict" if not hasattr(model, "decision_function") else "decision_function"
    np.testing.assert_allclose(getattr(found, answer)(X), getattr(exact, answer)(X), atol=atol)
    if hasattr(exact, "loo_errors_"):
        np.testing.assert_allclose(found.loo_errors_, exact.loo_errors_, rtol=1e-5)


def test_learning_row_by_row_on_all_landmarks_is_exact():
    how = {"gamma": 0.4, "shuffle": False}
    for cls, y in ((KernelPerceptron, TWO), (KernelSGDRegressor, Z)):
        exact, found = cls(**how).fit(X, y), cls(**how, **ALL).fit(X, y)
        np.testing.assert_allclose(found.predict(X).astype(float), exact.predict(X).astype(float), atol=1e-5)
        parts = cls(gamma=0.4, **ALL)
        more = {"classes": [0, 1]} if cls is KernelPerceptron else {}
        parts.partial_fit(X, y, **more).partial_fit(X, y, **more)
        assert parts.t_ == 160


@pytest.mark.parametrize("approximation", ["nystroem", "random_features"])
@pytest.mark.parametrize("cls", [SVC, SVR, LSSVC, KernelLogisticRegression, KernelRidge])
def test_features_made_in_each_pass_and_batches_change_nothing(cls, approximation, monkeypatch):
    """In memory at once, block by block, and from batches."""
    y = Z if cls in (SVR, KernelRidge) else THREE
    how = {"approximation": approximation, "n_components": 25, "random_state": 3}
    how |= {"kernel": "rbf", "gamma": 0.3} if cls is KernelRidge else {}
    expected = cls(**how).fit(X, y, W).predict(X)
    batches = Batches(lambda: ((X[a : a + 30], y[a : a + 30], W[a : a + 30]) for a in range(0, 80, 30)))
    np.testing.assert_allclose(cls(**how).fit(batches).predict(X), expected, rtol=1e-5, atol=1e-6)
    monkeypatch.setattr(features, "HELD_SHARE", 0)
    np.testing.assert_allclose(cls(**how).fit(X, y, W).predict(X), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("cls", [SVC, SVR])
def test_machines_on_features_are_fitted_by_compiled_passes(cls, monkeypatch):
    """Not by array code on small blocks, in which threads would wait for the interpreter."""
    monkeypatch.setattr(objective, "_hessian", None)
    monkeypatch.setattr(objective, "_gradient", None)
    cls(approximation="nystroem", n_components=20, random_state=0).fit(X, Z if cls is SVR else THREE)


def test_transformers_may_be_given():
    ours = SVC(approximation=Nystroem(RBF(1.0), n_components=30, random_state=0)).fit(X, TWO)
    named = SVC(kernel=RBF(1.0), approximation="nystroem", n_components=30, random_state=0).fit(X, TWO)
    np.testing.assert_allclose(ours.decision_function(X), named.decision_function(X), atol=1e-9)
    foreign = LSSVC(approximation=theirs.RBFSampler(n_components=30, random_state=0)).fit(X, TWO)
    V = theirs.RBFSampler(n_components=30, random_state=0).fit_transform(X)
    linear = LSSVC(kernel="linear").fit(V, TWO)
    np.testing.assert_allclose(foreign.decision_function(X), linear.decision_function(V), atol=1e-8)


def test_sparse_rows():
    how = {"gamma": 0.4, "approximation": "nystroem", "n_components": 20, "random_state": 0}
    dense, sparse = SVC(**how).fit(X, TWO), SVC(**how).fit(sp.csr_array(X), TWO)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(X)), dense.decision_function(X), atol=1e-7)


def test_bad_input_is_refused_in_a_sentence():
    bad = X.copy()
    bad[3, 1] = np.nan
    for model in (SVC(**ALL), KernelRidge(kernel="rbf", **ALL), Nystroem(), RBFSampler()):
        with pytest.raises(InputError, match="NaN"):
            model.fit(bad, TWO)
    with pytest.raises(ParameterError, match="hard margin"):
        SVC(C=np.inf, **ALL).fit(X, TWO)
    with pytest.raises(ParameterError, match="precomputed"):
        KernelRidge(kernel="precomputed", **ALL).fit(X @ X.T, Z)


@pytest.mark.parametrize("m", [10, 80])
def test_landmarks_of_a_precomputed_kernel_are_columns(m):
    rows = Nystroem(RBF(1.3), n_components=m, random_state=0).fit(X)
    K, new = RBF(1.3)(X), RNG.normal(size=(5, 3))
    given = Nystroem("precomputed", n_components=m, random_state=0).fit(K)
    assert given.component_indices_.tolist() == rows.component_indices_.tolist()
    # Eigenvalues of near-copies are rounding; inner products are what features are for.
    for A, B in ((X, K), (new, RBF(1.3)(new, X)), (X, sp.csr_array(K))):
        V, U = rows.transform(A), given.transform(B)
        np.testing.assert_allclose(U @ U.T, V @ V.T, atol=1e-8)
    with pytest.raises(InputError, match="square"):
        Nystroem("precomputed").fit(X)
    with pytest.raises(ParameterError, match="needs rows to compare"):
        Nystroem("precomputed", landmarks="kmeans++").fit(K)


@pytest.mark.parametrize("kernel", ["additive_chi2", "chi2", "cosine"])
def test_kernels_of_scikit_learn_by_name(kernel):
    positive = np.abs(X)
    said = pytest.warns(UserWarning, match="not positive semidefinite") if kernel == "additive_chi2" else nullcontext()
    with said:
        Z = Nystroem(kernel, n_components=80).fit_transform(positive)
    K = pairwise_kernels(positive, metric=kernel)
    values, Q = np.linalg.eigh(K)
    np.testing.assert_allclose(Z @ Z.T, (Q * np.maximum(values, 0.0)) @ Q.T, atol=1e-6)  # the nearest of all features
    said = pytest.warns(UserWarning, match="not positive semidefinite") if kernel == "additive_chi2" else nullcontext()
    with said:
        KernelRidge(kernel=kernel).fit(positive, TWO)


@pytest.mark.parametrize("given", [{"gamma": 1.0}, {"degree": 2}, {"coef0": 0.0}])
@pytest.mark.parametrize("kernel", ["precomputed", RBF(1.0)], ids=["precomputed", "RBF"])
def test_a_kernel_of_its_own_takes_no_further_parameters(kernel, given):
    with pytest.raises(ParameterError, match="Don't pass gamma"):
        Nystroem(kernel, **given).fit(RBF(1.0)(X))
