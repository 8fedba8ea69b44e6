"""What all rows offer, wherever they are, and the block of rows that functions of one pass get."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from didact.core.errors import InputError
from didact.core.rows.gather import keep, stacked

if TYPE_CHECKING:
    from didact.core.rows.memory import MemoryRows

NO_WEIGHT = "All sample weights are zero: at least one row must have a positive weight."

S = TypeVar("S", bound="Statistic")


class Statistic(Protocol):
    """The result of a block function: small, with an associative `merge` (a sufficient statistic)."""

    def merge(self: S, other: S) -> S:
        """The statistic of both sets of rows together."""
        ...


class Block(NamedTuple):
    """Some rows with their columns by name; an absent column is None."""

    X: Any = None  # (n, p), dense, sparse or a tensor
    y: Any = None  # (n,) or (n, K)
    weight: Any = None  # (n,), at least 0
    offset: Any = None
    groups: Any = None

    def each(self, fn: Callable[..., Any], *args: Any) -> "Block":
        """The block of fn(column, *args) for the columns that are present."""
        return Block._make([None if c is None else fn(c, *args) for c in self])


class Rows(ABC):
    """A sequence of blocks of rows. Abstract; the table in `didact.core.rows` lists the subclasses."""

    n_features: int
    dtype: Any
    y_ndim: int = 1
    n_targets: int = 1
    names: Sequence[str] | None = None
    missing: bool = False  # whether the model accepts NaN in X as missing values
    numeric: bool = False  # whether the model predicts numbers, which are finite for finite rows
    n_rows: int | None = None  # None if only a pass can tell, as for rows that are not in memory
    is_sparse: bool = False  # whether X is a sparse matrix in memory
    on_device: bool = False  # whether X is a tensor

    @abstractmethod
    def reduce(self, fn: Callable[..., S], *args: Any) -> S:
        """One pass: fn(block, *args) on every block, merged in order."""

    @abstractmethod
    def prepared(self, fn: Callable[..., Block], *args: Any) -> "Rows":
        """Rows whose blocks are fn(block, *args): the number of rows stays, the columns may change."""

    def how(self) -> dict[str, Any]:
        """The keyword arguments that `MemoryRows` needs, in addition to columns, for a block of these rows."""
        return {"names": self.names, "missing": self.missing, "numeric": self.numeric}

    def gather(self, dtype: Any = None) -> tuple[Any, Any, Any]:
        """Dense X, y (or None) and weights of the rows with positive weight, in order, for models that store rows."""
        X, y, w = self.reduce(keep).columns()
        return X if dtype is None else X.astype(dtype, copy=False), y, w

    def whole(self) -> Block:
        """All rows in one block, also those of weight zero: sparse rows stay sparse, and absent columns None."""
        blocks = list(self.stream())
        if not any(has_weight(block) for block in blocks):
            raise InputError(NO_WEIGHT if blocks else "The collection is empty: it holds no rows.")
        return Block._make(stacked(parts) for parts in zip(*blocks, strict=True))

    @property
    def memory(self) -> "MemoryRows | None":
        """The rows themselves, if they are in memory; else None."""
        return None

    @property
    def is_wide(self) -> bool:
        """Whether the rows are in memory and fewer than their columns."""
        return self.n_rows is not None and self.n_rows < self.n_features

    def require_memory(self, why: str, error: type[Exception] = InputError) -> "MemoryRows":
        """The rows, if they are in memory; else an error whose message `why` says why they must be."""
        if self.memory is None:
            raise error(why)
        return self.memory

    def only(self, wanted: Callable[[Any], Any]) -> "Rows":
        """In memory, the rows for which wanted(X) is true; from elsewhere all, as a pass would not be shorter."""
        return self

    def on_columns(self, columns: Any) -> "Rows":
        """Rows with a subset of the columns of X."""
        new = self.prepared(_take_columns, columns)
        new.n_features = len(columns)
        return new

    @abstractmethod
    def stream(self) -> Iterator[Block]:
        """The validated blocks one after the other, for models that learn from a stream."""

    @abstractmethod
    def map(self, fn: Callable[..., Any], *args: Any) -> Any:
        """fn(X, *args) of every block, as the kind of collection that X is."""


def target_shape(y: Any) -> tuple[int, int]:
    """The number of dimensions of y, and its number of columns; an absent y counts as one column."""
    return (2, int(y.shape[1])) if getattr(y, "ndim", 1) == 2 else (1, 1)


def _take_columns(block: Block, chosen: Any) -> Block:
    return block._replace(X=block.X[:, chosen])


def has_weight(block: Block) -> bool:
    """Whether a block has a row of positive weight; some blocks may have none, but not all of them."""
    return block.weight is None or bool((block.weight > 0).any())


def merge_two(a: S, b: S) -> S:
    """The statistic of the rows of both."""
    return a.merge(b)
