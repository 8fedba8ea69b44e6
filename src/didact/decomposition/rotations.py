r"""Rotations of loadings L (p, k) to where each column loads on few factors.

Varimax and quartimax maximise the fourth powers of the loadings, less for varimax the squared means of their squares,
over orthogonal R; promax goes on from varimax to oblique factors: a least-squares fit to the powers of its loadings.

.. math:: \max_{R^TR=I}\ \sum_{jf}(LR)_{jf}^4 - \frac{\gamma}{p}\sum_f\Big(\sum_j(LR)_{jf}^2\Big)^2,\qquad
    \gamma = 1 \text{ (varimax)},\ 0 \text{ (quartimax)}

Kaiser (1958), doi:10.1007/BF02289233; Hendrickson, White (1964), Promax, doi:10.1111/j.2044-8317.1964.tb00244.x.
"""

import numpy as np

from didact.core.typing import Array

STEPS, TOL = 1000, 1e-12
POWER = 4  # of promax
SHARE = {"varimax": 1.0, "quartimax": 0.0}


def criterion(L: Array, gamma: float) -> float:
    """What an orthogonal rotation maximises."""
    squares = L * L
    return float((squares * squares).sum() - gamma * (squares.sum(axis=0) ** 2).sum() / len(L))


def orthogonal(L: Array, method: str) -> Array:
    """The orthogonal R (k, k) of varimax or quartimax, by projected gradients (singular value decompositions).

    >>> import numpy as np
    >>> L = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> turned = L @ np.array([[0.8, 0.6], [-0.6, 0.8]])
    >>> np.abs(turned @ orthogonal(turned, "varimax")).round(6).max(axis=1)
    array([1., 1., 1.])
    """
    gamma, R = SHARE[method], np.eye(L.shape[1])
    value = criterion(L, gamma)
    for _ in range(STEPS):
        rotated = L @ R
        slope = rotated**3 - gamma * rotated * (rotated**2).mean(axis=0)
        U, _, Vt = np.linalg.svd(L.T @ slope)
        step = U @ Vt
        new = criterion(L @ step, gamma)
        if new <= value + TOL * abs(value):
            return step if new > value else R
        R, value = step, new
    return R


def oblique(L: Array) -> tuple[Array, Array]:
    """Loadings and the correlation of the factors after promax; L are loadings after varimax."""
    Q = np.linalg.lstsq(L, L * np.abs(L) ** (POWER - 1), rcond=None)[0]
    Q = Q * np.sqrt(np.diag(np.linalg.inv(Q.T @ Q)))
    correlation = np.linalg.inv(Q.T @ Q)
    return L @ Q, 0.5 * (correlation + correlation.T)
