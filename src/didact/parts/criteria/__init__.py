"""Criteria by which trees split."""
