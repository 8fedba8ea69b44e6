"""The number of components: criteria, held-out likelihood, words."""

import numpy as np
import pytest

from didact.core.errors import ParameterError
from didact.mixture import BernoulliMixture, GaussianMixture, component_path


def rows(n, seed):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(m, 1.0, size=(n, 2)) for m in (0.0, 6.0, 12.0)])


def test_three_groups_are_found():
    X, test = rows(60, 0), rows(200, 1)
    path = component_path(GaussianMixture(random_state=0), X, range(1, 6), X_test=test)
    assert path.best.n_components == 3
    assert path.summary() == "BIC is lowest with 3 components."
    np.testing.assert_allclose(path.bic, [m.bic(X) for m in path.models])
    held = component_path(GaussianMixture(random_state=0), X, range(1, 6), "test", X_test=test)
    assert held.best.n_components == 3
    assert held.score[-1] > held.score[2]  # more components fit the training rows better
    assert held.test_score[-1] < held.test_score[2]  # and others worse


def test_free_parameters():
    X = rows(20, 2)
    for kind, count in {"full": 6 + 4 + 1, "tied": 3 + 4 + 1, "diag": 4 + 4 + 1, "spherical": 2 + 4 + 1}.items():
        model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
        assert model.aic(X) + 2 * 60 * model.score(X) == pytest.approx(2 * count)
    model = BernoulliMixture(2, random_state=0).fit(X)
    assert model.aic(X) + 2 * 60 * model.score(X) == pytest.approx(2 * 5)


def test_bad_questions():
    with pytest.raises(ParameterError, match="'bic', 'aic' or 'test'"):
        component_path(GaussianMixture(), rows(5, 0), [1], "gap")
    with pytest.raises(ParameterError, match="X_test"):
        component_path(GaussianMixture(), rows(5, 0), [1], "test")
    with pytest.raises(ParameterError, match="at least one"):
        component_path(GaussianMixture(), rows(5, 0), [])
