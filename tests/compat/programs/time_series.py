"""Demand by the hour: lags, cycles as splines and sines, quantiles, splits in time."""

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import QuantileRegressor, Ridge, RidgeCV
from sklearn.metrics import mean_absolute_percentage_error, mean_pinball_loss
from sklearn.model_selection import TimeSeriesSplit, cross_validate
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
)

rng = np.random.RandomState(0)
hours = pd.date_range("2024-01-01", periods=1600, freq="h")
hour = hours.hour.to_numpy()
week = hours.dayofweek.to_numpy()
load = (
    50 + 20 * np.sin(2 * np.pi * (hour - 6) / 24) - 10 * (week >= 5) + 0.005 * np.arange(1600) + rng.normal(0, 3, 1600)
)
df = pd.DataFrame({"hour": hour, "weekday": week, "lag": pd.Series(load).shift(24), "load": load}).dropna()
X, y = df[["hour", "weekday", "lag"]], df["load"]
split = TimeSeriesSplit(n_splits=4, gap=24, max_train_size=1000, test_size=150)


def sine(period):
    return FunctionTransformer(lambda x: np.sin(x / period * 2 * np.pi), feature_names_out="one-to-one")


def spline(period, n_splines):
    knots = np.linspace(0, period, n_splines + 1)[:, None]
    return SplineTransformer(degree=3, n_knots=n_splines + 1, knots=knots, extrapolation="periodic")


days = OneHotEncoder(handle_unknown="ignore")
sines = ColumnTransformer([("sin", sine(24), ["hour"]), ("day", days, ["weekday"])], remainder=MinMaxScaler())
splines = ColumnTransformer([("hour", spline(24, 12), ["hour"]), ("day", days, ["weekday"])], remainder=MinMaxScaler())
products = make_pipeline(splines, PolynomialFeatures(2, interaction_only=True, include_bias=False))
union = FeatureUnion(
    [("marginal", splines), ("cross", make_pipeline(splines, Nystroem(n_components=40, random_state=0)))]
)
for name, model in [
    ("sines", make_pipeline(sines, RidgeCV(alphas=np.logspace(-6, 6, 13)))),
    ("splines", make_pipeline(splines, RidgeCV(alphas=np.logspace(-6, 6, 13)))),
    ("products", make_pipeline(products, Ridge(1.0))),
    ("union", make_pipeline(union, Ridge(1.0))),
    ("boosting", HistGradientBoostingRegressor(max_iter=40, random_state=0)),
]:
    found = cross_validate(model, X, y, cv=split, scoring=["neg_mean_absolute_error", "r2"])
    print(name, -found["test_neg_mean_absolute_error"].mean(), found["test_r2"].mean())
train, test = slice(0, 1200), slice(1200, None)
for alpha in (0.1, 0.9):
    trees = HistGradientBoostingRegressor(loss="quantile", quantile=alpha, max_iter=40, random_state=0)
    trees.fit(X[train], y[train])
    print("trees", f"q{alpha}", mean_pinball_loss(y[test], trees.predict(X[test]), alpha=alpha))
    line = make_pipeline(sines, QuantileRegressor(quantile=alpha, alpha=0.0)).fit(X[train], y[train])
    print("line", f"q{alpha}", mean_pinball_loss(y[test], line.predict(X[test]), alpha=alpha))
print("error", mean_absolute_percentage_error(y[test], trees.predict(X[test])))
