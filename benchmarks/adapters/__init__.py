"""Libraries without scikit-learn's ``fit`` given it, one file each: what ``fit`` does is timed, ``prepare`` is not.

An adapter that has no coefficients puts what it found into ``answer_``, a dictionary that can become JSON.
"""
