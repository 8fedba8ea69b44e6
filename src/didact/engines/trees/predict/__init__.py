"""Rows down many trees, and what a prediction is made of."""
