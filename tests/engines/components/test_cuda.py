"""The kernel of an EM step on a GPU, against array functions in float64. Skipped where there is no GPU."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if not torch.cuda.is_available():
    pytest.skip("no GPU here", allow_module_level=True)

from didact.core.errors import InputError  # noqa: E402
from didact.core.rows import Block  # noqa: E402
from didact.engines.components.mixture import GaussianFamily, array_step, gaussians, gpu_step  # noqa: E402
from didact.mixture import GaussianMixture  # noqa: E402


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "p", "K"), [(40, 1, 1), (700, 5, 3), (60_001, 16, 8), (3000, 32, 4)])
def test_a_step_is_that_of_float64(n, p, K, weighted):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(n, p)) + 7).astype(np.float32)
    w = rng.uniform(size=n).astype(np.float32) if weighted else None
    A, family = rng.normal(size=(K, p, p)), GaussianFamily("full")
    theta = gaussians(np.full(K, 1 / K), X[:K].astype(float), A @ A.transpose(0, 2, 1) + np.eye(p), "full")
    expected = array_step(Block(X.astype(float), weight=w), family, theta, False)
    tensors = [None if a is None else torch.as_tensor(a, device="cuda") for a in (X, w)]
    value, found = gpu_step(*tensors, family, theta)
    assert value == pytest.approx(expected[0], rel=1e-5)
    np.testing.assert_allclose(found.weight, expected[1].weight, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found.mean, expected[1].mean, atol=1e-4)
    np.testing.assert_allclose(found.scatter, expected[1].scatter, atol=1e-4 * np.abs(expected[1].scatter).max())


def test_a_fit_is_that_of_the_rows_in_memory_and_nan_is_refused():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(4000, 4)), rng.normal(size=(4000, 4)) + 4]).astype(np.float32)
    model = GaussianMixture(2, means_init=X[[0, -1]], tol=1e-6)
    here, there = (model.fit(rows).lower_bound_ for rows in (X, torch.as_tensor(X, device="cuda")))
    assert there == pytest.approx(here, rel=1e-5)
    X[3, 2] = np.nan
    with pytest.raises(InputError, match="Missing values in tensors"):
        model.fit(torch.as_tensor(X, device="cuda"))
