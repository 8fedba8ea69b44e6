"""No mathematics: parameters, input, threads, compilation, progress, errors and files."""
