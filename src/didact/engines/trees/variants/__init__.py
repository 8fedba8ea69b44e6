"""Trees with other splits or leaves: many branches, oblique cuts, linear models."""
