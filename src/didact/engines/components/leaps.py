r"""Leaps beyond the steps of EM for Gaussian components with missing values.

The more values are missing, the shorter the steps of EM: the expected statistic F(S) of the rows, given that of the
last step, hardly differs from S. Anderson's extrapolation takes the last statistics :math:`S_j` with
:math:`G_j = F(S_j) - S_j` and goes to

.. math:: \sum_j a_jF(S_j),\qquad \sum_j a_j = 1,\quad \Big\|\sum_j a_jG_j\Big\|\text{ least,}

which is a quasi-Newton step for F(S) = S. EM takes the leap only where the likelihood rises (`em`).

Walker, Ni (2011), Anderson acceleration for fixed-point iterations, doi:10.1137/10078356X; Henderson, Varadhan (2019),
Damped Anderson acceleration with restarts and monotonicity control, doi:10.1080/10618600.2019.1594835.
"""

import numpy as np

from didact.core.typing import Array
from didact.engines.components.tuning import LEAP_NUMBERS, LEAP_STATISTICS
from didact.parts.statistics.components import Components

LEAST_RIDGE, MOST_RIDGE = 1e-14, 1.0  # added to the squares of the differences, which are nearly dependent
MORE, LESS = 100.0, 10.0  # factors of the ridge after a leap that was not taken, and after one that was


class Leaps:
    """Extrapolation of the statistics that EM has met; after a leap that EM did not take the next is shorter."""

    def __init__(self, first: Components) -> None:
        variances = np.diagonal(first.covariances(), axis1=1, axis2=2).mean(axis=0)
        self.unit = np.sqrt(np.where(variances > 0, variances, 1.0))
        self.most = min(LEAP_NUMBERS // (first.mean.size + first.scatter.size), LEAP_STATISTICS)
        self.points: list[Array] = []
        self.images: list[Array] = []
        self.ridge, self.made = LEAST_RIDGE, first

    def __call__(self, now: Components, image: Components) -> Components | None:
        """A statistic beyond `image`, which is F(now); None if too little is known or it is no covariance."""
        self.ridge = max(self.ridge / LESS, LEAST_RIDGE) if now is self.made else min(self.ridge * MORE, MOST_RIDGE)
        self.points = [*self.points, self._line(now)][-self.most :]
        self.images = [*self.images, self._line(image)][-self.most :]
        found = image if self.most < 2 or len(self.points) < 2 else self._combined(image)
        self.made = found
        return None if found is image else found

    def _combined(self, image: Components) -> Components:
        images = np.stack(self.images)
        steps = images - np.stack(self.points)
        differences = np.diff(steps, axis=0)
        squares = differences @ differences.T
        squares.flat[:: len(squares) + 1] += self.ridge * np.trace(squares) + np.finfo(float).tiny
        shares = np.linalg.solve(squares, differences @ steps[-1])
        return self._statistic(images[-1] - shares @ np.diff(images, axis=0), image)

    def _line(self, S: Components) -> Array:
        """Means and scatter in one line, in units of the columns and of a row."""
        weight = float(S.weight.sum())
        return np.append(S.mean / self.unit, S.scatter / (weight * np.outer(self.unit, self.unit)))

    def _statistic(self, line: Array, like: Components) -> Components:
        """The statistic that such a line is; `like`, if that has a negative variance."""
        count, weight = like.mean.size, float(like.weight.sum())
        mean = line[:count].reshape(like.mean.shape) * self.unit
        scatter = line[count:].reshape(like.scatter.shape) * (weight * np.outer(self.unit, self.unit))
        variances = np.diagonal(scatter, axis1=1, axis2=2)
        return like._replace(mean=mean, scatter=scatter) if (variances >= 0).all() and np.isfinite(line).all() else like
