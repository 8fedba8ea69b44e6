"""The best cut of one feature of one node, by kind of candidate."""
