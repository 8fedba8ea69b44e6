"""Tensors, for every estimator: what arrays give, in the caller's kind of array where it is a number.

The tensors are far away: like those on a GPU, they turn into arrays only after `cpu()`.
"""

import numpy as np
import pytest
import torch
from registry_cases import (
    all_instances,
    answer,
    assert_same,
    coefficients,
    outputs,
    over_registry,
    precise,
    problem,
    takes,
)


class FarTensor(torch.Tensor):
    """A tensor that NumPy cannot read where it is."""

    def __array__(self, *args, **kwargs):
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first.")

    def numpy(self, *args, **kwargs):
        return self.__array__()

    def cpu(self, *args, **kwargs):
        return self.as_subclass(torch.Tensor)


def far(values):
    """A far tensor with these values; labels that are no numbers, as they are."""
    values = np.asarray(values)
    return torch.as_tensor(values).as_subclass(FarTensor) if values.dtype.kind in "fiub" else values


def coded(y):
    """Labels as whole numbers, which tensors can hold."""
    return np.unique(y, return_inverse=True)[1] if np.asarray(y).dtype.kind not in "fiub" else y


MODELS = all_instances()


@over_registry(MODELS, "tensors")
def test_tensors_give_the_answer_of_arrays(model):
    X, y = problem(model)
    tensors = far(X), far(y)
    expected, fitted = precise(model).fit(X, y), precise(model).fit(*tensors)
    assert_same(coefficients(fitted), coefficients(expected), rtol=1e-6, atol=1e-9)
    assert_same(outputs(fitted, tensors[0]), outputs(expected, X), rtol=1e-6, atol=1e-9)
    for rows, kind in ((X, np.ndarray), (tensors[0], torch.Tensor)):
        found = getattr(fitted, answer(model))(rows)
        assert isinstance(found, (kind, tuple)) or found.dtype.kind != "f"


@over_registry([model for model in MODELS if takes(model, "sample_weight")], "tensors")
def test_labels_and_weights_may_be_tensors(model):
    X, y = problem(model)
    y, w = coded(y), np.random.default_rng(0).uniform(0.5, 2.0, size=len(X))
    expected = precise(model).fit(X, y, sample_weight=w)
    for rows in (X, far(X)):
        fitted = precise(model).fit(rows, far(y), sample_weight=far(w))
        assert_same(outputs(fitted, rows), outputs(expected, X), rtol=1e-6, atol=1e-9)


def test_far_tensors_are_not_read_by_numpy():
    with pytest.raises(TypeError, match="cuda"):
        np.asarray(far([1.0, 2.0]))
