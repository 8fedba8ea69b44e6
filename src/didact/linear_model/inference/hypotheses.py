r"""Test statistics and their p-values: Wald's quadratic form as χ² or F, and the χ² of a likelihood ratio.

A hypothesis :math:`R\beta = r` of m rows, missed by the estimate by g = Rβ − r with covariance C, has
:math:`g^TC^{-1}g \sim \chi^2_m`; with an estimated variance :math:`g^TC^{-1}g/m` is F with m and the residual degrees
of freedom.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg, special

from didact.core.typing import Array


class TestResult(NamedTuple):
    """A test statistic, χ² (df_residual is infinite) or F, with its p-value."""

    statistic: float
    p_value: float
    df: float
    df_residual: float = np.inf


TestResult.__test__ = False  # type: ignore[attr-defined]  # no test case, whatever pytest makes of the name


def f_result(F: float, df: float, df_residual: float) -> TestResult:
    """P(F > the statistic)."""
    return TestResult(F, float(special.fdtrc(df, df_residual, max(F, 0.0))), df, df_residual)


def chi_result(chi: float, df: float) -> TestResult:
    """P(χ² > the statistic)."""
    return TestResult(chi, float(special.chdtrc(df, max(chi, 0.0))), df)


def wald(gap: Array, spread: Array, df_residual: float) -> TestResult:
    """gapᵀ(DDᵀ)⁻¹gap for a root D of its covariance: χ² if df_residual is infinite, else F; NaN for singular D."""
    m, scale = len(gap), np.sqrt((spread * spread).sum(axis=1))
    chi = np.nan
    if scale.all() and np.isfinite(scale).all():
        U, s, _ = linalg.svd(spread / scale[:, None], full_matrices=False)
        if len(s) == m and s[-1] > m * np.finfo(np.float64).eps * s[0]:
            chi = float(np.sum((U.T @ (gap / scale) / s) ** 2))
    return chi_result(chi, m) if np.isinf(df_residual) else f_result(chi / m, m, df_residual)
