"""Random numbers inside compiled growers: SplitMix64, a counter with a mixing function, so that any node or tree can
have a stream of its own that depends on no other.

Steele, Lea, Flood (2014), doi:10.1145/2660193.2660195.

Layout: a stream is one uint64, its state; g is the golden ratio in 64 bits::

    stream       [ s | s + g | s + 2g | … ]   its states
    numbers      [ u | u'    | u''    | … ]   53 bits of each, stirred
    child k      [ stirred(stirred(s) + (k + 1) g) | … ]   the first state of a stream of its own
"""

import numpy as np

from didact.core.jit import jit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FACTOR, OTHER_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@jit
def stirred(state: np.uint64) -> np.uint64:
    """The state with all its bits mixed."""
    z = (state ^ (state >> np.uint64(30))) * FACTOR
    z = (z ^ (z >> np.uint64(27))) * OTHER_FACTOR
    return z ^ (z >> np.uint64(31))


@jit
def next_state(state: np.uint64) -> np.uint64:
    """The following state of a stream."""
    return state + GOLDEN


@jit
def uniform(state: np.uint64) -> float:
    """The number in [0, 1) that belongs to a state."""
    return float(stirred(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@jit
def child_state(state: np.uint64, k: int) -> np.uint64:
    """The state of the k-th stream that is spawned from a state."""
    return stirred(stirred(state) + np.uint64(k + 1) * GOLDEN)
