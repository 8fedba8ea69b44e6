"""Tensors, for every estimator: what arrays give, in the caller's kind of array where it is a number.

The tensors are far away: like those on a GPU, they turn into arrays only after `cpu()`. With
DIDACT_TEST_DEVICE=cuda they are on a GPU.
"""

import os

import numpy as np
import pytest
from registry_cases import (
    all_instances,
    answer,
    assert_same,
    coefficients,
    fitted,
    one_of_each,
    outputs,
    over_registry,
    precise,
    problem,
    takes,
)
from sklearn.base import clone, is_classifier, is_regressor

from didact.decomposition import KernelPCA
from didact.kernel_approximation import Nystroem
from didact.kernel_ridge import KernelRidge
from didact.linear_model import PoissonRegressor, Ridge
from didact.svm import SVC

torch = pytest.importorskip("torch")
from far_tensor import FAR  # noqa: E402

DEVICE = os.environ.get("DIDACT_TEST_DEVICE", FAR)


def far(values):
    """A far tensor with these values; labels that are no numbers, as they are."""
    values = np.asarray(values)
    if values.dtype.kind not in "fiub":
        return values
    return torch.as_tensor(values, device=DEVICE)


def coded(y):
    """Labels as whole numbers, which tensors can hold."""
    return np.unique(y, return_inverse=True)[1] if np.asarray(y).dtype.kind not in "fiub" else y


MODELS = all_instances()
ON_DEVICE = [model for model in MODELS if model._tensors]  # the others get arrays, which the entrance makes of tensors
SOME = ON_DEVICE + one_of_each([model for model in MODELS if not model._tensors])


@over_registry(SOME, "tensors")
def test_tensors_give_the_answer_of_arrays(model):
    X, y = problem(model)
    tensors = far(X), far(y)
    expected, found = fitted(model, tight=True), precise(model).fit(*tensors)
    assert_same(coefficients(found), coefficients(expected), rtol=1e-6, atol=1e-9)
    assert_same(outputs(found, tensors[0]), outputs(expected, X), rtol=1e-6, atol=1e-9)
    for rows, kind in ((X, np.ndarray), (tensors[0], torch.Tensor)):
        said = getattr(found, answer(model))(rows)
        assert isinstance(said, (kind, tuple)) or said.dtype.kind != "f"
    if is_classifier(model) or is_regressor(model):
        np.testing.assert_allclose(found.score(*tensors), expected.score(X, y), rtol=1e-6, atol=1e-9)


@over_registry([model for model in SOME if takes(model, "sample_weight")], "tensors")
def test_labels_and_weights_may_be_tensors(model):
    X, y = problem(model)
    y, w = coded(y), np.random.default_rng(0).uniform(0.5, 2.0, size=len(X))
    expected = precise(model).fit(X, y, sample_weight=w)
    for rows in (X, far(X)):
        found = precise(model).fit(rows, far(y), sample_weight=far(w))
        assert_same(outputs(found, rows), outputs(expected, X), rtol=1e-6, atol=1e-9)


FUNCTIONS = [
    KernelRidge(kernel="cosine"),
    KernelPCA(2, kernel="cosine"),
    Nystroem("cosine", n_components=20, random_state=0),
    SVC(approximation="nystroem", n_components=20, gamma=0.2, random_state=0, tol=1e-9),
    Ridge(solver="sparse_cg", tol=1e-12),
]


@pytest.mark.parametrize("model", FUNCTIONS, ids=repr)
def test_kernels_and_solvers_that_read_arrays_give_tensors_back(model):
    X, y = problem(model)
    expected, found = clone(model).fit(X, y), clone(model).fit(far(X), far(y))
    assert_same(outputs(found, far(X)), outputs(expected, X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["offset", "exposure"])
def test_offsets_of_tensors(name):
    X, y = problem(PoissonRegressor())
    beside = np.random.default_rng(0).uniform(0.5, 1.5, size=len(X))
    expected = PoissonRegressor().fit(X, y, **{name: beside})
    found = PoissonRegressor().fit(far(X), far(y), **{name: far(beside)})
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-7)
    means = found.predict(far(X), **{name: far(beside)})
    np.testing.assert_allclose(means.cpu(), expected.predict(X, **{name: beside}), rtol=1e-7)


def test_far_tensors_are_not_read_by_numpy():
    with pytest.raises(TypeError, match="cuda"):
        np.asarray(far([1.0, 2.0]))


x, near = far(np.ones((2, 3))), torch.ones((2, 3), dtype=torch.float64)
number, row = near.sum(), near[0]
REFUSED = {
    "sum with an array": lambda: x + near.numpy(),
    "sum": lambda: x + near,
    "one row": lambda: x + row,
    "product": lambda: x @ near.T,
    "cat": lambda: torch.cat([x.sum()[None], number[None]]),
    "stack": lambda: torch.stack([x.sum(), number]),
    "where": lambda: torch.where(near > 0, x, x),
    "clamp": lambda: torch.clamp(x, number),
    "index of near by far": lambda: near[far([0])],
    "into near": lambda: number.clone().add_(x.sum()),
    "whole numbers": lambda: far([[1]]) @ far([[1]]),
}
TAKEN = {
    "number": lambda: x * number,
    "number first": lambda: number - x,
    "NumPy's number": lambda: np.float64(2.0) * x + np.float32(1.0),
    "two numbers": lambda: torch.where(x > 0, number, number),
    "index": lambda: x[torch.tensor([1, 0])],
    "index by an array": lambda: x[np.array([True, False])],
    "made there": lambda: torch.arange(3, device=x.device) + torch.eye(3, device=x.device),
    "moved there": lambda: x @ torch.as_tensor(np.ones(3), device=x.device),
}


@pytest.mark.parametrize("name", REFUSED)
def test_devices_do_not_mix(name):
    with pytest.raises((RuntimeError, TypeError), match=r"device|cuda|implemented"):
        REFUSED[name]()


@pytest.mark.parametrize("name", TAKEN)
def test_what_cuda_takes_is_taken(name):
    found = TAKEN[name]()
    assert found.device == x.device
    assert found.cpu().device.type == found.to("cpu").device.type == "cpu"
