"""Gram matrices in blocks, and the solvers of models that see rows through a kernel alone."""
