r"""Rotations of loadings L (p, k) to where each column loads on few factors.

Varimax and quartimax maximise the fourth powers of the loadings, less for varimax the squared means of their squares,
over orthogonal R; promax goes on from varimax to oblique factors: a least-squares fit to the powers of its loadings.

.. math:: \max_{R^TR=I}\ \sum_{jf}(LR)_{jf}^4 - \frac{\gamma}{p}\sum_f\Big(\sum_j(LR)_{jf}^2\Big)^2,\qquad
    \gamma = 1 \text{ (varimax)},\ 0 \text{ (quartimax)}

Kaiser (1958), doi:10.1007/BF02289233; Hendrickson, White (1964), Promax, doi:10.1111/j.2044-8317.1964.tb00244.x.
"""

from itertools import combinations

import numpy as np

from didact.core.typing import Array

SWEEPS, TOL = 500, 1e-10
POWER = 4  # of promax
SHARE = {"varimax": 1.0, "quartimax": 0.0}


def criterion(L: Array, gamma: float) -> float:
    """What an orthogonal rotation maximises."""
    squares = L * L
    return float((squares * squares).sum() - gamma * (squares.sum(axis=0) ** 2).sum() / len(L))


def orthogonal(L: Array, method: str) -> Array:
    """The orthogonal R (k, k) of varimax or quartimax: plane after plane of two factors, each by its best angle.

    >>> import numpy as np
    >>> L = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> turned = L @ np.array([[0.8, 0.6], [-0.6, 0.8]])
    >>> np.abs(turned @ orthogonal(turned, "varimax")).round(6).max(axis=1)
    array([1., 1., 1.])
    """
    gamma, k = SHARE[method], L.shape[1]
    L, R = np.array(L), np.eye(k)
    for _ in range(SWEEPS):
        turned = 0.0
        for f, g in combinations(range(k), 2):
            angle = _best_angle(L[:, f], L[:, g], gamma)
            c, s = np.cos(angle), np.sin(angle)
            plane = np.array([[c, -s], [s, c]])
            L[:, [f, g]], R[:, [f, g]] = L[:, [f, g]] @ plane, R[:, [f, g]] @ plane
            turned = max(turned, abs(angle))
        if turned < TOL:
            break
    return R


def _best_angle(x: Array, y: Array, gamma: float) -> float:
    """The angle by which two columns of loadings are turned to the greatest criterion (Kaiser)."""
    u, v = x * x - y * y, 2 * x * y
    A, B = u.sum(), v.sum()
    up = 2 * (u @ v) - 2 * gamma * A * B / len(x)
    along = u @ u - v @ v - gamma * (A * A - B * B) / len(x)
    return float(0.25 * np.arctan2(up, along)) if abs(up) > TOL * (u @ u + v @ v) or along < 0 else 0.0


def oblique(L: Array) -> tuple[Array, Array]:
    """Loadings and the correlation of the factors after promax; L are loadings after varimax."""
    Q = np.linalg.lstsq(L, L * np.abs(L) ** (POWER - 1), rcond=None)[0]
    Q = Q * np.sqrt(np.diag(np.linalg.inv(Q.T @ Q)))
    correlation = np.linalg.inv(Q.T @ Q)
    return L @ Q, 0.5 * (correlation + correlation.T)
