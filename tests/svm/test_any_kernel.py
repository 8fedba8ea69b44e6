"""Every kernel model takes kernels, functions, strings and matrices, and refuses what is none."""

import warnings

import numpy as np
import pytest

from didact.core.errors import InputError, ParameterError
from didact.core.files.persistence import load, save
from didact.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from didact.kernel_approximation import Nystroem
from didact.kernel_ridge import KernelRidge
from didact.kernels import RBF, Laplacian, Linear, Sigmoid, StringSpectrum, Tabulated
from didact.svm import (
    LSSVC,
    SVC,
    SVR,
    KernelLogisticRegression,
    KernelPerceptron,
    KernelSGDRegressor,
    OneClassSVM,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
LABELS = (X[:, 0] > 0).astype(int)
WORDS = ["".join(RNG.choice(list("abc"), 6)) for _ in range(40)]
SPECTRUM = StringSpectrum(2)


def of_sets(A, B):
    """A Gaussian of two sets of rows, which fails for two single ones."""
    return np.exp(-0.5 * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


def of_texts(A, B):
    """Common pairs of characters of two sets of strings."""
    return SPECTRUM(list(A), list(B))


MODELS = {
    "SVC": lambda **how: SVC(tol=1e-8, **how),
    "SVR": lambda **how: SVR(tol=1e-8, **how),
    "OneClassSVM": lambda **how: OneClassSVM(tol=1e-10, **how),
    "LSSVC": LSSVC,
    "KernelLogisticRegression": lambda **how: KernelLogisticRegression(tol=1e-10, **how),
    "KernelPerceptron": lambda **how: KernelPerceptron(random_state=0, **how),
    "KernelSGDRegressor": lambda **how: KernelSGDRegressor(random_state=0, **how),
    "KernelRidge": KernelRidge,
    "Nystroem": lambda **how: Nystroem(n_components=40, random_state=0, **how),
    "SVC on landmarks": lambda **how: SVC(approximation="nystroem", random_state=0, **how),
    "GaussianProcessRegressor": lambda **how: GaussianProcessRegressor(alpha=0.1, optimizer=None, **how),
    "GaussianProcessClassifier": lambda **how: GaussianProcessClassifier(optimizer=None, **how),
}
PROCESSES = ("GaussianProcessRegressor", "GaussianProcessClassifier")
LANDMARKS = ("Nystroem", "SVC on landmarks")
EVERY = pytest.mark.parametrize("name", MODELS)


def values(name, rows, **how):
    """What a model says of its rows."""
    model = MODELS[name](**how).fit(rows, LABELS)
    ask = next(m for m in ("decision_function", "predict_proba", "predict", "transform") if hasattr(model, m))
    return np.asarray(getattr(model, ask)(rows))


@EVERY
def test_functions_of_two_sets_and_tables_are_kernels(name):
    expected = values(name, X, kernel=RBF())
    np.testing.assert_allclose(values(name, X, kernel=of_sets), expected, atol=1e-5)
    np.testing.assert_allclose(values(name, np.arange(40)[:, None], kernel=Tabulated(RBF()(X))), expected, atol=1e-5)


@EVERY
def test_strings_are_rows_of_kernels_and_of_functions(name):
    expected = values(name, WORDS, kernel=SPECTRUM)
    np.testing.assert_allclose(values(name, np.array(WORDS), kernel=of_texts), expected, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("SVC on landmarks", *PROCESSES)])
def test_a_matrix_is_a_kernel(name):
    G = RBF()(X)
    np.testing.assert_allclose(values(name, G, kernel="precomputed"), values(name, X, kernel=RBF()), atol=1e-5)
    with pytest.raises(InputError, match="square"):
        MODELS[name](kernel="precomputed").fit(G[:, 1:], LABELS)
    G[3, 7] += 0.1
    if name not in LANDMARKS:  # which look at some of its columns
        with pytest.raises(InputError, match="not symmetric"):
            MODELS[name](kernel="precomputed").fit(G, LABELS)


@EVERY
def test_functions_that_are_no_kernels_are_refused(name):
    for function, words in (
        (lambda A, B: np.full((len(A), len(B)), np.nan) if np.ndim(A) == 2 else np.nan, "NaN or infinity"),
        (lambda A, B: np.ones((len(A) + 1, len(B))), "returned shape"),
        (lambda A, B: of_sets(A, B) * (1 + 1j), "real values"),
        (lambda A, B: of_sets(A, B).astype(str), "real values"),
    ):
        with pytest.raises(InputError, match=words):
            MODELS[name](kernel=function).fit(X, LABELS)


@pytest.mark.parametrize("name", LANDMARKS)
def test_landmarks_of_a_kernel_that_is_none_are_said(name):
    with pytest.warns(UserWarning, match="not positive semidefinite on the landmarks, so that features leave out"):
        MODELS[name](kernel=Sigmoid(1.0, -1.0)).fit(X, LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MODELS[name](kernel=Laplacian()).fit(X, LABELS)


def test_inducing_points_are_no_strings():
    with pytest.raises(ParameterError, match="Inducing points need a kernel of vectors"):
        GaussianProcessRegressor(of_texts, inducing=3).fit(WORDS, LABELS)


@pytest.mark.parametrize("model", [SVC, SVR])
def test_features_have_no_hard_margin(model):
    with pytest.raises(ParameterError, match="needs the exact kernel"):
        model(C=np.inf, approximation="random_features").fit(X, LABELS)


@pytest.mark.parametrize(
    "model",
    [KernelRidge(kernel="rbf"), KernelRidge(), Nystroem(), KernelRidge(kernel="rbf", approximation="nystroem")],
    ids=["rbf", "linear", "Nystroem", "landmarks"],
)
def test_rows_whose_squares_overflow_are_refused_without_noise(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match="overflow: divide it"):
            model.fit(X * 1e160, LABELS)


@pytest.mark.parametrize("model", [LSSVC(), KernelLogisticRegression(), SVC(approximation="nystroem")])
def test_rows_whose_squares_vanish_are_refused(model):
    with pytest.raises(InputError, match="squares vanish"):
        model.fit(X * 1e-160, LABELS)


def test_memory_of_the_rows_may_be_used_again():
    rows = X.copy()
    model = KernelRidge(kernel=RBF()).fit(rows, X[:, 0])
    expected = model.predict(X)
    rows[:] = 0.0
    np.testing.assert_array_equal(model.predict(X), expected)


def test_a_matrix_of_zeros_makes_no_noise():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = SVR(kernel="precomputed").fit(np.zeros((40, 40)), X[:, 0]).predict(np.zeros((2, 40)))
    assert np.ptp(found) == 0.0


def test_kernels_by_name_go_into_files(tmp_path):
    model = KernelRidge(kernel="chi2").fit(np.abs(X), LABELS)
    save(model, tmp_path / "chi2.didact")
    again = load(tmp_path / "chi2.didact")
    np.testing.assert_array_equal(again.predict(np.abs(X)), model.predict(np.abs(X)))


def test_a_linear_kernel_of_single_rows_stays_one():
    """A function that takes both single rows and sets is read as scikit-learn reads it."""
    found = KernelRidge(kernel=lambda a, b: a @ b.T).fit(X, LABELS).predict(X)
    np.testing.assert_allclose(found, KernelRidge(kernel=Linear()).fit(X, LABELS).predict(X), atol=1e-12)
