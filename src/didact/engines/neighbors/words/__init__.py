"""Words: distances between strings and other sequences, and the nearest words."""
