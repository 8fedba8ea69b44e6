"""Held-out rows: a random share of the rows, with every class in both parts where that can be."""

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from didact.core.errors import InputError
from didact.core.typing import Array


def split_rows(codes: Array, w: Any, share: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Row numbers of the training and of the held-out part; rows without weight are left out."""
    held = np.zeros(len(codes), dtype=bool)
    counts = np.ones(len(codes), dtype=bool) if w is None else np.asarray(w) > 0
    for k in np.unique(codes):
        rows = rng.permutation(np.flatnonzero((codes == k) & counts))
        held[rows[: min(round(share * len(rows)), len(rows) - 1)]] = True
    if not held.any():
        raise InputError(
            f"The validation set is empty: a share of {share:.3g} of n_samples={len(codes)} leaves no row; "
            "raise validation_fraction or bring more rows."
        )
    return np.flatnonzero(~held & counts), np.flatnonzero(held)


def stratified_split(n: int, strata: Array | None, share: Any, seed: int) -> tuple[Array, Array]:
    """Numbers, ascending, of rows to fit and of rows to validate with, by class where that can be."""
    few = strata is not None and np.bincount(strata).min() < 2
    try:
        kept, out = train_test_split(np.arange(n), test_size=share, random_state=seed, stratify=None if few else strata)
    except ValueError as error:
        raise InputError(
            f"validation_fraction={share} leaves no rows to fit or to validate ({error}): set it to None or "
            "early_stopping=False."
        ) from error
    return np.sort(kept), np.sort(out)
