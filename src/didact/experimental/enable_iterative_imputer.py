"""scikit-learn's `enable_iterative_imputer`, which importing it does."""

from sklearn.experimental import enable_iterative_imputer as enable_iterative_imputer
