"""What rows score: on lines, on quadratic forms, by category; labels, posteriors and decisions made of the scores."""
