"""Buffers that outlive a pass, for methods that make hundreds of small passes."""

from collections.abc import Callable

from didact.core.typing import Array


class KeptBuffers:
    """Buffers for the threads of a pass, kept for the next one: making them takes a third of a small pass."""

    def __init__(self, make: Callable[[], tuple[Array, ...]]) -> None:
        self.make, self.free = make, list[tuple[Array, ...]]()

    def lend(self, use: Callable[..., None]) -> None:
        """Call use(*buffers) with buffers that no other thread has."""
        try:
            buffers = self.free.pop()
        except IndexError:
            buffers = self.make()
        use(*buffers)
        self.free.append(buffers)
