"""Trees fitted one after the other to a loss."""
