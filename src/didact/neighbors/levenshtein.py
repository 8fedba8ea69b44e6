"""Distances between strings and other sequences: the least cost of the edits that turn one into the other."""

from typing import Any

from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.engines.neighbors.words.edit_index import Costs, number_queries, number_words, string_distances


@entrance()
def edit_distance(
    a: Any, b: Any, insert: float = 1.0, delete: float = 1.0, substitute: float = 1.0, transpose: float | None = None
) -> float:
    r"""The least cost of turning a into b by inserting, deleting and replacing letters (Levenshtein).

    .. math:: D_{ij} = \min\{D_{i-1,j}+c_{del},\; D_{i,j-1}+c_{ins},\; D_{i-1,j-1}+c_{sub}[a_i\neq b_j]\}

    Parameters
    ----------
    a, b : str, or sequence of hashable things
        The words to compare. Strings are compared code point by code point: normalise them first if accents matter.
    insert, delete, substitute : float, default=1.0
        Costs of the edits.
    transpose : float or None, default=None
        Cost of swapping two adjacent letters; None: that takes two edits. A swapped pair is not edited again (optimal
        string alignment).

    Returns
    -------
    float
        The distance. It is a metric if insertions and deletions cost the same, all costs are positive, and swaps are
        not allowed.

    Notes
    -----
    Cost O(ab/64) if the three costs are equal, else O(ab). For many words use `edit_distances`, and as a metric of a
    neighbours model ``metric="edit"``.

    References
    ----------
    Wagner, Fischer (1974), doi:10.1145/321796.321811. Myers (1999), doi:10.1145/316542.316550.

    Examples
    --------
    >>> from didact.neighbors import edit_distance
    >>> edit_distance("kitten", "sitting")
    3.0
    >>> edit_distance("form", "from"), edit_distance("form", "from", transpose=1)
    (2.0, 1.0)
    >>> edit_distance(["to", "be"], ["not", "to", "be"], insert=0.5)
    0.5
    """
    return float(edit_distances([a], [b], insert, delete, substitute, transpose)[0, 0])


@entrance()
def edit_distances(
    A: Any, B: Any = None, insert: float = 1.0, delete: float = 1.0, substitute: float = 1.0,
    transpose: float | None = None,
) -> Array:  # fmt: skip
    """All edit distances from the words A to the words B, or among A, as a table of (len(A), len(B)).

    Parameters
    ----------
    A, B : list or array of str, or of sequences
        The words; B None: the words of A.
    insert, delete, substitute, transpose : float
        As in `edit_distance`.

    Returns
    -------
    ndarray of shape (len(A), len(B))
        Distances, which models with ``metric="precomputed"`` take.

    Notes
    -----
    Pairs are compared by compiled loops on the library's threads; letters are numbered once for all pairs.

    References
    ----------
    Wagner, Fischer (1974), doi:10.1145/321796.321811. Myers (1999), doi:10.1145/316542.316550.

    Examples
    --------
    >>> from didact.neighbors import edit_distances
    >>> edit_distances(["cat", "cart"], ["car", "art", "dog"])
    array([[1., 2., 3.],
           [1., 1., 4.]])
    """
    costs = Costs(insert, delete, substitute, transpose).array()
    words = number_words(A if B is None else B)
    return string_distances(words if B is None else number_queries(A, words.alphabet), words, costs)
