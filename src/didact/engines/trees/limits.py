"""When a tree stops growing, and how its splits are drawn."""

from typing import NamedTuple


class Limits(NamedTuple):
    """Limits of growth. One that is not wanted is 0 (minima) or a large number (maxima)."""

    max_depth: int = 1 << 30
    max_leaf_nodes: int = 0  # 0: no limit, depth-first; else best-first
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0  # weight (or hessian) that each side must have
    min_gain: float = 0.0  # a split needs gain ≥ this (score units: total weight × impurity decrease)
    max_features: int = 0  # drawn per node; 0: all
    random_splits: bool = False  # one random threshold per feature (extra trees)
    category_smoothing: float = 0.0  # histograms: weight added to that of a category for its place in the order
    min_category: int = 1  # histograms: rows that a category needs in a node to be sent left
