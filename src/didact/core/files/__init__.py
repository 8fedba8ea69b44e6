"""Models in files: how they are written and read, and which types a file may name."""
