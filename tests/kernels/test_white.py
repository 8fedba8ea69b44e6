"""White noise in a kernel: for every model that takes a kernel the same as σ² on the diagonal of a given matrix."""

import functools
import importlib
import pkgutil

import numpy as np
import pytest

import didact
from didact.core.errors import ParameterError
from didact.core.estimator import registry
from didact.engines.gram import online
from didact.kernel_approximation import Nystroem
from didact.kernels import RBF, Linear, Polynomial, White
from didact.svm import SVC, KernelPerceptron, KernelSGDRegressor

NOISE = 0.7
X = np.random.default_rng(0).normal(size=(40, 3))
NEW = np.random.default_rng(1).normal(size=(7, 3))
Y = X[:, 0] + np.sin(2 * X[:, 1])
METHODS = ("decision_function", "predict_proba", "predict", "transform", "score_samples")


@functools.cache
def kernel_models():
    """The classes with a parameter `kernel` that fit with one of ours and with a given matrix."""
    for module in pkgutil.iter_modules(didact.__path__):
        if module.ispkg and module.name in ("svm", "kernel_ridge", "decomposition", "discriminant_analysis", "cluster"):
            importlib.import_module(f"didact.{module.name}")
    found = []
    for cls in registry().values():
        names = cls._get_param_names() if cls.__module__.startswith("didact.") else ()
        if "kernel" in names and fitted(cls, "precomputed", Linear()(X)) and fitted(cls, Linear(), X):
            found.append(cls)
    return found


def fitted(cls, kernel, rows):
    """The model at a kernel; None if it takes none such."""
    names = cls._get_param_names()
    how = ({"tol": 1e-10} if "shrinking" in names else {}) | ({"random_state": 0} if "random_state" in names else {})
    model = cls(kernel=kernel, **how)
    try:
        return model.fit(rows, Y > 0 if model.__sklearn_tags__().classifier_tags is not None else Y)
    except (ParameterError, TypeError):
        return None


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "kernel", [Linear() + White(NOISE), White(NOISE) + RBF(2.0), (Polynomial(1) + White(0.5)) ** 2]
)
def test_white_noise_is_a_diagonal_for_every_model_and_nothing_for_new_rows(kernel):
    models = kernel_models()
    assert {"SVC", "SVR", "OneClassSVM", "KernelRidge", "KernelPCA"} <= {cls.__name__ for cls in models}
    for cls in models:
        own, given = fitted(cls, kernel, X), fitted(cls, "precomputed", kernel(X))
        for method in METHODS:
            if hasattr(own, method):
                found, expected = getattr(own, method)(NEW), getattr(given, method)(kernel(NEW, X))
                np.testing.assert_allclose(found, expected, atol=1e-6, err_msg=f"{cls.__name__}.{method}")


@pytest.mark.parametrize("shrinking", [True, False])
def test_white_noise_in_many_rows_with_a_small_cache(shrinking):
    """Several working sets, tiles of rows, shrinking: β are those of the matrix."""
    rng = np.random.default_rng(2)
    many = rng.normal(size=(1500, 2))
    labels = many[:, 0] + 0.5 * rng.normal(size=1500) > 0
    kernel = 0.1 * RBF(1.0) + White(0.3)
    own = SVC(kernel=kernel, tol=1e-8, cache_size=5, shrinking=shrinking).fit(many, labels)
    given = SVC(kernel="precomputed", tol=1e-8).fit(kernel(many), labels)
    assert own.kkt_residual_ <= 1e-8
    np.testing.assert_allclose(own.decision_function(many), given.decision_function(kernel(many, many)), atol=1e-6)


def test_white_noise_of_rows_learnt_one_by_one(monkeypatch):
    """Where the Gram matrix is not kept, a row meets itself in the next pass, and the longest step depends on it."""
    kernel = RBF(2.0) + White(NOISE)

    def learnt():
        steps = KernelSGDRegressor(kernel=kernel, max_iter=5, random_state=0).fit(X, Y)
        assert steps.eta0_ == pytest.approx(1 / (1 + NOISE))
        return steps.predict(NEW), KernelPerceptron(kernel=kernel, random_state=0).fit(X, Y > 0).decision_function(NEW)

    kept = learnt()
    monkeypatch.setattr(online, "CACHED", 0)
    np.testing.assert_allclose(learnt(), kept, atol=1e-10)


def test_tensors_have_white_noise_as_well():
    torch = pytest.importorskip("torch")
    kernel = RBF(1.0) + White(0.5)
    here = SVC(kernel=kernel, tol=1e-9).fit(X, Y > 0).decision_function(NEW)
    there = (
        SVC(kernel=kernel, tol=1e-9).fit(torch.asarray(X), torch.asarray(Y > 0)).decision_function(torch.asarray(NEW))
    )
    np.testing.assert_allclose(there.numpy(), here, atol=1e-6)


def test_features_of_white_noise_are_refused():
    with pytest.raises(ParameterError, match="White noise in a kernel"):
        Nystroem(RBF() + White(0.1), n_components=5).fit(X)
    with pytest.raises(ParameterError, match="has no features"):
        SVC(kernel=RBF() + White(0.1), approximation="nystroem", n_components=5).fit(X, Y > 0)
