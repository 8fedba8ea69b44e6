"""Kernels of strings and of texts: common subsequences with gaps, common substrings, common words."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from didact.core.errors import InputError
from didact.core.sparse import check_sparse
from didact.core.threads import parallel_map
from didact.core.typing import Array
from didact.kernels.base import Kernel
from didact.kernels.string_loops import subsequence_rows
from didact.parts.noun import Plain, require

PIECES = 1024  # of a Gram matrix, one string each if there are fewer: an interruption waits for the end of a piece


def as_strings(X: Any) -> list[str]:
    """A list of strings, from a list or an array with one dimension or one column."""
    check_sparse(X)
    if isinstance(X, str):
        raise InputError("A string kernel takes a list of strings; got a single one: put it in a list.")
    values = list(np.asarray(X, object).ravel() if np.ndim(X) < 2 or np.shape(X)[1] == 1 else X)
    for i, value in enumerate(values):
        if not isinstance(value, str):
            raise InputError(f"A string kernel takes strings; row {i} is of type {type(value).__name__}.")
    return values


class StringKernel(Kernel):
    """Base of kernels on strings: they write `_raw`, and may be normalised to k(s, s) = 1."""

    __slots__ = ()
    normalize: bool

    def takes_vectors(self) -> bool:
        """No: strings."""
        return False

    def _raw(self, X: list[str], Z: list[str] | None) -> Array:
        raise NotImplementedError

    def _raw_diagonal(self, X: list[str]) -> Array:
        raise NotImplementedError

    def gram(self, X: Any, Z: Any = None) -> Array:
        """k of all pairs, normalised by √(k(s, s)·k(t, t)) if that is asked for."""
        X, Z = as_strings(X), None if Z is None else as_strings(Z)
        K = self._raw(X, Z)
        if not self.normalize:
            return K
        left = self._raw_diagonal(X) if Z is not None else np.diagonal(K).copy()
        right = left if Z is None else self._raw_diagonal(Z)
        size = np.sqrt(np.outer(left, right))
        return np.divide(K, size, out=np.zeros_like(K), where=size > 0)

    def diagonal(self, X: Any, same: bool = True) -> Array:
        """k(s, s)."""
        raw = self._raw_diagonal(as_strings(X))
        return (raw > 0).astype(np.float64) if self.normalize else raw


class StringSubsequence(
    StringKernel, NamedTuple("StringSubsequence", [("length", int), ("decay", float), ("normalize", bool)])
):
    r"""Common subsequences of one length, with gaps: an occurrence that spans l characters counts λ^l.

    .. math:: k(s, t) = \sum_{u\in\Sigma^m}\ \sum_{i:\,u=s[i]}\ \sum_{j:\,u=t[j]} \lambda^{l(i)+l(j)}

    by dynamic programming, m steps for each pair of characters. Lodhi et al. (2002), doi:10.1162/153244302760200687.

    >>> from didact.kernels import StringSubsequence
    >>> k = StringSubsequence(length=2, decay=0.5, normalize=False)
    >>> k(["cat"], ["car", "cart"]) / 0.5**4  # "ca" spans 2 + 2 characters; in "cart", "at" 2 + 3 and "ct" 3 + 4 more
    array([[1.   , 1.625]])
    """

    __slots__ = ()

    def __new__(cls, length: int = 3, decay: float = 0.5, normalize: bool = True) -> Self:
        """A length of at least 1, and a decay λ in (0, 1]."""
        require(length >= 1 and length == int(length), f"The length of subsequences is 1, 2, …, not {length!r}.")
        require(0 < decay <= 1, f"decay is above 0 and at most 1; got {decay!r}.")
        return super().__new__(cls, int(length), float(decay), bool(normalize))

    def _raw(self, X: list[str], Z: list[str] | None) -> Array:
        codes, starts = encoded(X)
        others, other_starts = (codes, starts) if Z is None else encoded(Z)
        K = np.zeros((len(X), len(other_starts) - 1))
        edges = np.linspace(0, len(X), min(len(X), PIECES) + 1).astype(int)

        def piece(k: int) -> None:
            subsequence_rows(
                codes, starts, others, other_starts, self.length, self.decay, Z is None, edges[k], edges[k + 1], K
            )

        parallel_map(piece, range(len(edges) - 1))
        return K if Z is not None else np.triu(K) + np.triu(K, 1).T

    def _raw_diagonal(self, X: list[str]) -> Array:
        return np.array([self._raw([s], None)[0, 0] for s in X])


class PieceKernel(StringKernel):
    """Kernels that count the pieces that two texts have in common."""

    __slots__ = ()

    def _pieces(self, s: str) -> Iterable[str]:
        raise NotImplementedError

    def _counts(self, *texts: list[str]) -> list[sp.csr_array]:
        return counted(*[[self._pieces(s) for s in part] for part in texts])

    def _raw(self, X: list[str], Z: list[str] | None) -> Array:
        A, *B = self._counts(X) if Z is None else self._counts(X, Z)
        return np.asarray((A @ (B[0] if B else A).T).toarray())

    def _raw_diagonal(self, X: list[str]) -> Array:
        (A,) = self._counts(X)
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()


class StringSpectrum(PieceKernel, NamedTuple("StringSpectrum", [("length", int), ("normalize", bool)])):
    """Common substrings of one length: Σ_u (times u occurs in s)·(times it occurs in t).

    Leslie, Eskin, Noble (2002), doi:10.1142/9789812799623_0053.

    >>> from didact.kernels import StringSpectrum
    >>> StringSpectrum(2, normalize=False)(["abab"], ["abc", "ba"])
    array([[2., 1.]])
    """

    __slots__ = ()

    def __new__(cls, length: int = 3, normalize: bool = True) -> Self:
        """A length of at least 1."""
        require(length >= 1 and length == int(length), f"The length of substrings is 1, 2, …, not {length!r}.")
        return super().__new__(cls, int(length), bool(normalize))

    def _pieces(self, s: str) -> Iterable[str]:
        return [s[i : i + self.length] for i in range(len(s) - self.length + 1)]


class WordOverlap(PieceKernel, Plain):
    """The number of different words that two texts have in common, words being parted by white space.

    >>> from didact.kernels import WordOverlap
    >>> WordOverlap()(["the cat sat", "a dog"], ["The cat", "the dog sat"])
    array([[1., 2.],
           [0., 1.]])
    """

    __slots__ = ()
    normalize = False

    def _pieces(self, s: str) -> Iterable[str]:
        return set(s.split())


def encoded(texts: list[str]) -> tuple[Array, Array]:
    """Character codes of all texts one after the other, and where each of them starts."""
    starts = np.append(0, np.cumsum([len(s) for s in texts], dtype=np.int64))
    return np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32).copy(), starts


def counted(*parts: Sequence[Iterable[str]]) -> list[sp.csr_array]:
    """How often each piece occurs in each text, a sparse matrix for each list of texts, with the same columns."""
    place: dict[str, int] = {}
    triples = []
    for texts in parts:
        columns = [[place.setdefault(piece, len(place)) for piece in pieces] for pieces in texts]
        sizes = [len(c) for c in columns]
        triples.append((np.repeat(np.arange(len(sizes)), sizes), [k for c in columns for k in c], len(sizes)))
    return [
        sp.csr_array((np.ones(len(rows)), (rows, np.asarray(columns, np.int64))), shape=(n, max(len(place), 1)))
        for rows, columns, n in triples
    ]
