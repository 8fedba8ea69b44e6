"""Compiled sets that only grow together: a forest in which each set is a tree, joined by any number of threads.

The root of a set is its member of the lowest rank, whatever the order of the joins. A root is hung under another tree
once and never again, so that a counter for each member decides between threads: who adds to it first may hang it.

Layout::

    parent [ p_0 p_1 … ]   the next member on the way to the root; its own number at the root
    claims [ 0   1   … ]   how many threads have wanted to hang member i: the first one does, the others wait for it
    rank   [ r_0 r_1 … ]   a permutation: parents have a lower rank than their children, so there are no circles
"""

import numpy as np

from didact.core.backend import read_only
from didact.core.jit import jit_unmanaged
from didact.core.jit.atomics import SPINS, atomic_add, atomic_load, atomic_store, pause, yield_core
from didact.core.typing import Array


@jit_unmanaged
def find_root(parent: Array, i: int) -> int:
    """The root of member i; members on the way are hung under their grandparents."""
    while True:
        up = atomic_load(parent, i)
        above = atomic_load(parent, up)
        if above == up:
            return up
        parent[i] = above  # another thread may have gone further: any ancestor is right
        i = above


@jit_unmanaged
def unite(parent: Array, claims: Array, rank: Array, a: int, b: int) -> None:
    """Join the sets of two members."""
    while True:
        a, b = find_root(parent, a), find_root(parent, b)
        if a == b:
            return
        if rank[a] > rank[b]:
            a, b = b, a
        if atomic_add(claims, b, 1) == 0:
            atomic_store(parent, b, a)
            return
        looks = 0
        while atomic_load(parent, b) == b:
            looks += 1
            if looks > SPINS:
                yield_core()
            else:
                pause()


@jit_unmanaged
def unite_pairs(parent: Array, claims: Array, rank: Array, first: Array, second: Array) -> None:
    """Join the sets of the members of each pair."""
    for t in range(first.shape[0]):
        unite(parent, claims, rank, first[t], second[t])


@jit_unmanaged
def set_roots(parent: Array) -> None:
    """Hang every member under its root."""
    for i in range(parent.shape[0]):
        parent[i] = find_root(parent, i)


def warm() -> None:
    """Compile for int64."""
    own, zero = np.arange(1), np.zeros(1, np.int64)
    unite_pairs(own, zero, read_only(own), zero, zero)
    set_roots(own)
