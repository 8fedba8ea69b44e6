"""Methods for smooth functions of a vector: Newton, L-BFGS, conjugate gradients, first order, least squares."""
