"""Joint log probabilities of Gaussian classes: SciPy's densities, one covariance or many, rows with gaps."""

import numpy as np
import pytest
from scipy import stats

from didact.engines.components.scores import diagonal_joint, gaussian_joint

RNG = np.random.default_rng(0)
MEANS = RNG.normal(size=(3, 4)) * 3
FACTORS = RNG.normal(size=(3, 4, 4)) + 2 * np.eye(4)
COVARIANCES = FACTORS @ FACTORS.transpose(0, 2, 1)
LOG_PRIOR = np.log([0.2, 0.3, 0.5])
X = RNG.normal(size=(50, 4)) * 3
GAPS = np.where(RNG.uniform(size=X.shape) < 0.3, np.nan, X)
GAPS[0] = np.nan


def expected(rows, covariances):
    out = np.tile(LOG_PRIOR, (len(rows), 1))
    for i, row in enumerate(rows):
        o = np.flatnonzero(~np.isnan(row))
        if len(o):
            for k, C in enumerate(covariances):
                out[i, k] += stats.multivariate_normal(MEANS[k, o], C[np.ix_(o, o)]).logpdf(row[o])
    return out


@pytest.mark.parametrize("rows", [X, GAPS], ids=["complete", "gaps"])
@pytest.mark.parametrize("shared", [False, True])
def test_densities_are_scipys(rows, shared):
    C = COVARIANCES[:1] if shared else COVARIANCES
    whiten = np.stack([np.linalg.inv(np.linalg.cholesky(c)).T for c in C])
    found = gaussian_joint(rows, LOG_PRIOR, MEANS, whiten, np.linalg.slogdet(C)[1])
    np.testing.assert_allclose(found, expected(rows, np.broadcast_to(C, COVARIANCES.shape)), rtol=1e-9)


@pytest.mark.parametrize("rows", [X, GAPS], ids=["complete", "gaps"])
def test_diagonal_densities_are_scipys(rows):
    v = RNG.uniform(0.5, 4, (3, 4))
    found = diagonal_joint(rows, LOG_PRIOR, MEANS, v)
    np.testing.assert_allclose(found, expected(rows, [np.diag(x) for x in v]), rtol=1e-9)
