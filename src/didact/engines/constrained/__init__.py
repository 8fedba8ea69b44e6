"""Methods under constraints: quadratic and linear programs, active sets, the augmented Lagrangian."""
