"""Rows as products of factors: non-negative ones, and independent sources."""
