"""Tables of 30,000 columns: models with a matrix of columns by columns say so at once, others do not form one."""

import numpy as np
import pytest

from didact import Batches
from didact.core.errors import InputError
from didact.decomposition import FactorAnalysis
from didact.gaussian_process import GaussianProcessRegressor
from didact.mixture import ExpectationMaximization, GaussianMixture

LIMIT = 6 << 30


@pytest.fixture
def wide(monkeypatch):
    monkeypatch.setattr("didact.core.rows.memory.memory_limit", lambda: LIMIT)
    return np.random.default_rng(0).normal(size=(2, 30_000))


@pytest.mark.parametrize(
    "model",
    [GaussianMixture(), FactorAnalysis(), ExpectationMaximization(), GaussianProcessRegressor(mean="linear")],
    ids=lambda model: type(model).__name__,
)
def test_matrices_beyond_the_memory_are_refused(model, wide):
    with pytest.raises(InputError, match=r"GiB, more than this process may use: (use|choose)"):
        model.fit(wide, np.array([0.0, 1.0]))


@pytest.mark.parametrize("mean", [None, "zero", "constant"])
def test_a_gaussian_process_forms_no_matrix_of_columns(mean, wide):
    model = GaussianProcessRegressor() if mean is None else GaussianProcessRegressor(mean=mean)
    assert np.isfinite(model.fit(wide, np.array([0.0, 1.0])).predict(wide)).all()


def test_values_whose_squares_overflow_are_named_in_batches():
    X = 1e200 * np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(InputError, match="overflow"):
        ExpectationMaximization().fit(Batches(lambda: [X[:20], X[20:]]))
