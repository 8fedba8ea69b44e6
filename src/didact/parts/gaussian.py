r"""The logarithm of the Gaussian density, of numbers and of vectors.

.. math:: \log N(x; \mu, \Sigma) = -\tfrac12\big(p\log 2\pi + \log|\Sigma| + (x-\mu)^T\Sigma^{-1}(x-\mu)\big)
"""

import math
from typing import Any

LOG_2PI = math.log(2 * math.pi)


def gaussian_log_density(squares: Any, log_det: Any, columns: Any = 1) -> Any:
    """The log density from squared distances in deviations, the log determinant of the covariance, and p.

    >>> gaussian_log_density(0.0, 0.0) == -0.5 * LOG_2PI
    True
    """
    return -0.5 * (columns * LOG_2PI + log_det + squares)
