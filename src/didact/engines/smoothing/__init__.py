"""Sums of kernels over points, local regression and running smoothers."""
