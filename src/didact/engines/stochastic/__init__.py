"""Methods that visit one row at a time: stochastic gradients, perceptrons, Hebbian learning."""
