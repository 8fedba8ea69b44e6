"""Random streams: one seed, spawned per tree, chain, restart or block, so that threads do not change a result."""

from typing import Any

import numpy as np
from numpy.random import Generator, Philox, RandomState, SeedSequence


def seed_sequence(random_state: Any) -> SeedSequence:
    """Turn None, an int, a RandomState or a Generator into one SeedSequence.

    An int gives the same sequence each time; a RandomState or a Generator is drawn from once, which advances it.
    """
    if isinstance(random_state, SeedSequence):
        return random_state
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return SeedSequence(None if random_state is None else int(random_state))
    if isinstance(random_state, RandomState):
        return SeedSequence([int(v) for v in random_state.randint(0, 2**31, size=4)])
    if isinstance(random_state, Generator):
        return SeedSequence([int(v) for v in random_state.integers(0, 2**31, size=4)])
    raise TypeError(f"random_state must be None, an int, a RandomState or a Generator, not {type(random_state)!r}.")


def first_seed(random_state: Any) -> int:
    """A whole number as seed for what takes no other, such as the start of Lanczos' iterations."""
    return int(seed_sequence(random_state).generate_state(1)[0])


def streams(random_state: Any, count: int) -> list[Generator]:
    """Independent generators, one per task; the k-th does not depend on how many follow it."""
    return [np.random.default_rng(s) for s in seed_sequence(random_state).spawn(count)]


def row_uniforms(seed: SeedSequence, start: int, stop: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """One uniform number for each row start…stop−1, the same whatever the chunks (counter-based generator)."""
    key = seed.generate_state(2, np.uint64)
    # Philox makes four 64-bit words per counter step: begin at the step that holds `start`.
    generator = Generator(Philox(counter=[start // 4, 0, 0, 0], key=key))
    return generator.random(stop - 4 * (start // 4))[start % 4 :]
