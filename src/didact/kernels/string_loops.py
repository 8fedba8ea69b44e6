"""The gap-weighted subsequence kernel of two strings, by dynamic programming.

Layout, for all strings, and for two of lengths a and b::

    codes        [ string 0    | string 1 | … ]   character codes
                   ^ starts[0]   ^ starts[1]
    table        [ (0, 0) | (0, 1) | … | (0, b) ]   (length, b + 1): K'_m of the first u characters of one and the
                 [ …      |        | … | (m, b) ]   first v of the other, u going up

`row` is K''_m of the current u and v. Work: length × a × b multiply-adds. A row m looks at row m − 1 of one u less, so
m goes down.
"""

import numpy as np

from didact.core.jit import jit
from didact.core.typing import Array


@jit
def subsequence_rows(
    codes: Array, starts: Array, others: Array, other_starts: Array, length: int, decay: float, same: bool,
    begin: int, end: int, out: Array,
) -> None:  # fmt: skip
    """k of strings begin … end − 1 with all others into out; if both sets are the same, for j ≥ i alone."""
    longest = 0
    for j in range(len(other_starts) - 1):
        longest = max(longest, other_starts[j + 1] - other_starts[j])
    table = np.empty((length, longest + 1))
    for i in range(begin, end):
        s = codes[starts[i] : starts[i + 1]]
        for j in range(i if same else 0, len(other_starts) - 1):
            t = others[other_starts[j] : other_starts[j + 1]]
            out[i, j] = subsequence(s, t, length, decay, table)


@jit
def subsequence(s: Array, t: Array, length: int, decay: float, table: Array) -> float:
    """Σ over common subsequences of that length of decay^(span in s + span in t)."""
    a, b = len(s), len(t)
    if min(a, b) < length:
        return 0.0
    for m in range(length):
        for v in range(b + 1):
            table[m, v] = 1.0 if m == 0 else 0.0
    total = 0.0
    for u in range(a):
        for v in range(b):
            if s[u] == t[v]:
                total += table[length - 1, v]
        for m in range(length - 1, 0, -1):
            row = 0.0
            for v in range(b):
                row *= decay
                if s[u] == t[v]:
                    row += decay * decay * table[m - 1, v]
                table[m, v + 1] = decay * table[m, v + 1] + row
    return decay * decay * total


def warm() -> None:
    """Compile for the types that are used."""
    codes, starts = np.zeros(4, np.uint32), np.array([0, 2, 4])
    subsequence_rows(codes, starts, codes, starts, 2, 0.5, True, 0, 2, np.zeros((2, 2)))
