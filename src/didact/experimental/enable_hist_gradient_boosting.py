"""scikit-learn's `enable_hist_gradient_boosting`, which importing it does."""

from sklearn.experimental import enable_hist_gradient_boosting as enable_hist_gradient_boosting
