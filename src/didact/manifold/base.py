"""What embeddings share: rows that are finite and numerous enough, distances of all pairs, names of the coordinates."""

from typing import Any

from didact.core.backend import is_tensor, to_numpy
from didact.core.errors import InputError
from didact.core.rows.memory import finite_sum, refuse_non_finite


def finite_rows(model: Any, X: Any) -> Any:
    """The rows of a fit, all in memory, checked once."""
    rows = model._rows(X, target="none").whole().X
    if not finite_sum(rows):
        refuse_non_finite(rows, getattr(model, "feature_names_in_", None))
    return rows


def ready_rows(X: Any) -> Any:
    """Rows as an index of neighbours takes them: a tensor becomes an array."""
    return to_numpy(X) if is_tensor(X) else X


def few_rows(X: Any, least: int, why: str = "an embedding needs") -> None:
    """Refuse fewer rows than the method needs."""
    if X.shape[0] < least:
        raise InputError(f"Found array with {X.shape[0]} sample(s), n_samples = {X.shape[0]}: {why} at least {least}.")
