"""Points divided into nested boxes or balls, and the walk through them that finds neighbours."""
