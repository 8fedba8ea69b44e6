"""Constrained optimisation: quadratic and quantile programs, active sets, the augmented Lagrangian."""
