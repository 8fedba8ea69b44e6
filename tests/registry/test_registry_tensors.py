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


@over_registry([model for model in SOME if takes(model, "sample_weight")], "tensors")
def test_labels_and_weights_may_be_tensors(model):
    X, y = problem(model)
    y, w = coded(y), np.random.default_rng(0).uniform(0.5, 2.0, size=len(X))
    expected = precise(model).fit(X, y, sample_weight=w)
    for rows in (X, far(X)):
        found = precise(model).fit(rows, far(y), sample_weight=far(w))
        assert_same(outputs(found, rows), outputs(expected, X), rtol=1e-6, atol=1e-9)


def test_far_tensors_are_not_read_by_numpy():
    with pytest.raises(TypeError, match="cuda"):
        np.asarray(far([1.0, 2.0]))
