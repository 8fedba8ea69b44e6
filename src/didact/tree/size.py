"""How large a fitted tree is."""

from typing import Any

from sklearn.utils.validation import check_is_fitted


class TreeSize:
    """Mixed into models with `tree_`: its depth and its leaves."""

    tree_: Any

    def get_depth(self) -> int:
        """Edges from the root to the deepest leaf: the tests on the longest path."""
        check_is_fitted(self)
        return int(self.tree_.max_depth)

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return int(self.tree_.n_leaves)
