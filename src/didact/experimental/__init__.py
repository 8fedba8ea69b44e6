"""What an import enables, by `enable_halving_search_cv` and `enable_iterative_imputer`: scikit-learn's, handed on."""

from didact.core.handed_on import hand_on

__getattr__, __dir__ = hand_on(__name__, "enable_hist_gradient_boosting")  # which nothing needs to enable any more
