"""scikit-learn's `enable_halving_search_cv`, which importing it does."""

from sklearn.experimental import enable_halving_search_cv as enable_halving_search_cv
