"""Statistics of blocks of rows that can be merged: moments, counts, sums and scatter by class."""
