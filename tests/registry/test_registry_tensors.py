"""Tensors, for every estimator: what arrays give, in the caller's kind of array where it is a number."""

import numpy as np
import torch
from registry_cases import all_instances, answer, assert_same, coefficients, outputs, over_registry, precise, problem


@over_registry(all_instances(), "tensors")
def test_tensors_give_the_answer_of_arrays(model):
    X, y = problem(model)
    tensors = torch.as_tensor(X), torch.as_tensor(y) if np.asarray(y).dtype.kind in "fiub" else y
    expected, fitted = precise(model).fit(X, y), precise(model).fit(*tensors)
    assert_same(coefficients(fitted), coefficients(expected), rtol=1e-6, atol=1e-9)
    assert_same(outputs(fitted, tensors[0]), outputs(expected, X), rtol=1e-6, atol=1e-9)
    for rows in (X, tensors[0]):
        found = getattr(fitted, answer(model))(rows)
        assert isinstance(found, (type(rows), tuple)) or found.dtype.kind != "f"
