"""The ways in which scikit-learn names the penalty of a logistic regression, with its own warnings for the old ones.

`C` and `l1_ratio` say it all: 1/C is the strength, with none for C = ∞, and the share of the L1 penalty is 0 for "l2",
1 for "l1", and between them for "elasticnet".
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from didact.core.compat import deprecated
from didact.core.errors import ParameterError, users_level
from didact.core.parameters import none, one_of, param

SHARES = {"l2": 0.0, "l1": 1.0, None: 0.0}
USE = "C (inf: no penalty) and l1_ratio (0: L2, 1: L1)"
USE_SEVERAL = "Cs and l1_ratios ((0,): L2, (1,): L1)"


def penalty_param(instead: str, *, without: bool) -> Any:
    """The deprecated parameter `penalty`; `without`: None, for no penalty, is allowed."""
    allowed = [one_of("l1", "l2", "elasticnet", "deprecated"), *([none] if without else [])]
    return param("deprecated", allowed, f"As in scikit-learn up to 1.9, with its warning; use {instead} instead.")


def strength_and_share(penalty: Any, C: float, l1_ratio: float | None) -> tuple[float, float]:
    """C and the share of the L1 penalty, whichever way they were given."""
    if penalty == "deprecated":
        if l1_ratio is None:
            deprecated(
                "'l1_ratio=None' was deprecated in version 1.8 and will trigger an error in 1.10. "
                "Use 0<=l1_ratio<=1 instead."
            )
        return C, l1_ratio or 0.0
    deprecated(
        "'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid this warning, leave 'penalty' "
        "set to its default value and use 'l1_ratio' or 'C' instead. Use l1_ratio=0 instead of penalty='l2', "
        "l1_ratio=1 instead of penalty='l1', l1_ratio set to a float between 0 and 1 instead of penalty='elasticnet', "
        "and C=np.inf instead of penalty=None."
    )
    if penalty == "elasticnet":
        if l1_ratio is None:
            raise ParameterError("l1_ratio must be specified when penalty is elasticnet.")
        return C, l1_ratio
    if l1_ratio is not None and 0 < l1_ratio < 1:
        warnings.warn(
            f"l1_ratio parameter is only used when penalty is 'elasticnet'. Got (penalty={penalty})",
            stacklevel=users_level(),
        )
    elif l1_ratio not in (None, 0, SHARES[penalty]):
        warnings.warn(
            f"Inconsistent values: penalty={penalty} with l1_ratio={l1_ratio}. penalty is deprecated. Please use "
            "l1_ratio only.",
            stacklevel=users_level(),
        )
    if penalty is None and C != 1.0:
        warnings.warn("Setting penalty=None will ignore the C and l1_ratio parameters", stacklevel=users_level())
    return (np.inf if penalty is None else C), SHARES[penalty]


def shares_to_try(penalty: str, l1_ratios: Any) -> Sequence[float]:
    """The shares of the L1 penalty that a cross-validated model tries, whichever way they were given."""
    plain = isinstance(l1_ratios, str)
    if plain:
        deprecated(
            "The default value for l1_ratios will change from None to (0.0,) in version 1.10. From version 1.10 "
            "onwards, only array-like with values in [0, 1] will be allowed, None will be forbidden. To avoid this "
            "warning, explicitly set a value, e.g. l1_ratios=(0,)."
        )
    if penalty == "deprecated":
        if l1_ratios is None:
            deprecated(
                "'l1_ratios=None' was deprecated in version 1.8 and will trigger an error in 1.10. Use an array-like "
                "with values in [0, 1] instead."
            )
        return (0.0,) if plain or l1_ratios is None else l1_ratios
    deprecated(
        "'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid this warning, leave 'penalty' "
        "set to its default value and use 'l1_ratios' and 'Cs' instead. Use l1_ratios=(0,) instead of penalty='l2', "
        "l1_ratios=(1,) instead of penalty='l1', l1_ratios set to floats between 0 and 1 instead of "
        "penalty='elasticnet', and Cs=(np.inf,) instead of penalty=None."
    )
    if penalty != "elasticnet":
        return (SHARES[penalty],)
    if plain or l1_ratios is None:
        raise ParameterError(f"l1_ratios must be an array-like of numbers between 0 and 1; got (l1_ratios={l1_ratios})")
    return l1_ratios
