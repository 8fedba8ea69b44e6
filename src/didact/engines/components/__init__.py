"""Models of components: Gaussian scores with and without gaps, posteriors, EM, Lloyd's algorithm, experts."""
