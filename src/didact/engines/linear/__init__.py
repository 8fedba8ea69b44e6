"""Fits of linear models: objectives over rows, least squares, lasso paths, designs with centring and intercept."""
