"""The neighbour index: brute force, k-d tree and ball tree behind `build`, `nearest` and `within`."""

from didact.engines.neighbors.index import Index, build_index
from didact.engines.neighbors.partitions.balls import Balls, balls
from didact.engines.neighbors.partitions.boxes import Boxes, boxes

__all__ = ["Balls", "Boxes", "Index", "balls", "boxes", "build_index"]
