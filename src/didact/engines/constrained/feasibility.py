r"""Whether linear constraints can be satisfied: :math:`\min t \ge 0` such that Gx ≤ h + t, |Ax − b| ≤ t, l ≤ x ≤ u.

This linear program always has a solution; a presolve of the constraints themselves may end undecided.
"""

from typing import Any

import numpy as np
from scipy import optimize, sparse

from didact.core.typing import Array


def least_violation(G: Any, h: Array, A: Any, b: Array, lower: Array, upper: Array) -> float:
    """The least t, NaN if the linear program fails. G and A may be sparse."""
    n = G.shape[1]
    rows = sparse.vstack([sparse.csr_array(M) for M in (G, A, -A)])
    elastic = sparse.hstack([rows, sparse.csr_array(np.full((rows.shape[0], 1), -1.0))])
    limits = np.column_stack([np.append(lower, 0.0), np.append(upper, np.inf)])
    found = optimize.linprog(np.append(np.zeros(n), 1.0), elastic, np.concatenate([h, b, -b]), bounds=limits)
    return float(found.fun) if found.status == 0 else np.nan
