"""The tree engine: one value, `Tree`, and the verbs around it: grow, prune, predict."""
