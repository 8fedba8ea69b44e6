"""Single instructions of LLVM that Numba does not offer, as functions for use in loops.

What stands here is what they do in Python, where prefetching does nothing; `llvm.intrinsics` has their code.
"""

from typing import Any

LINE = 64  # bytes of a cache line


def prefetch(array: Any, row: Any, column: Any) -> None:
    """Prefetch an element into L1, in loops that know which rows come next; of one dimension, that at `column`."""


def prefetch_row(X: Any, i: Any) -> None:
    """Prefetch a whole row into L2, where it does not evict what the loop is working on in L1."""


def flat(array: Any) -> Any:
    """The elements of a C-ordered array one after the other; much less to compile than `reshape`."""
    return array.reshape(-1)


def lowest_bit(word: Any) -> int:
    """The position of the lowest bit that is set in an np.uint64 other than 0."""
    return (int(word) & -int(word)).bit_length() - 1
