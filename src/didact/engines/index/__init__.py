"""The neighbour index: brute force, k-d tree and ball tree behind `build`, `nearest` and `within`."""

from didact.engines.index.balls import Balls, balls
from didact.engines.index.boxes import Boxes, boxes
from didact.engines.index.index import Index, build

__all__ = ["Balls", "Boxes", "Index", "balls", "boxes", "build"]
