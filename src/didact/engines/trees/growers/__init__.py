"""From rows to a tree: in memory, on threads, in passes over blocks."""
