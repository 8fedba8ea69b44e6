"""What every iterative method shares: the loop, its result, line searches and numerical derivatives."""
