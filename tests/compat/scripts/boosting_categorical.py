"""Gradient boosting on a table with a category column and missing values."""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import train_test_split

rng = np.random.RandomState(0)
n = 20_000
df = pd.DataFrame(
    {
        "area": rng.gamma(6.0, 15.0, n),
        "rooms": rng.randint(1, 7, n).astype(float),
        "town": pd.Categorical(rng.choice(["Aarau", "Basel", "Chur", "Davos", "Emmen"], n)),
        "year": rng.randint(1900, 2024, n),
    }
)
df.loc[rng.rand(n) < 0.1, "rooms"] = np.nan
price = 3.0 * df["area"] + 20 * df["rooms"].fillna(3.0) + 40 * df["town"].cat.codes + 0.2 * (df["year"] - 1900)
price = price + rng.normal(scale=15.0, size=n)

X_train, X_test, y_train, y_test = train_test_split(df, price, random_state=0)
model = HistGradientBoostingRegressor(categorical_features="from_dtype", max_iter=200, random_state=0, verbose=0)
model.fit(X_train, y_train)
print("r2", r2_score(y_test, model.predict(X_test)))
print("mae", mean_absolute_error(y_test, model.predict(X_test)))
