"""A pipeline that scales numbers and encodes text columns before a logistic regression."""

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

rng = np.random.RandomState(3)
n = 8000
data = pd.DataFrame(
    {
        "age": rng.normal(40, 12, n),
        "fare": rng.lognormal(3, 1, n),
        "sex": rng.choice(["female", "male"], n),
        "port": rng.choice(["C", "Q", "S"], n, p=[0.2, 0.1, 0.7]),
    }
)
data.loc[rng.rand(n) < 0.15, "age"] = np.nan
z = 1.8 * (data["sex"] == "female") + 0.3 * np.log(data["fare"]) - 0.02 * data["age"].fillna(40) - 0.6
y = (rng.rand(n) < 1 / (1 + np.exp(-z))).astype(int)

numeric = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
prepare = ColumnTransformer(
    [("num", numeric, ["age", "fare"]), ("cat", OneHotEncoder(handle_unknown="ignore"), ["sex", "port"])]
)
clf = Pipeline([("prepare", prepare), ("model", LogisticRegression(max_iter=1000))])
print("accuracy", cross_val_score(clf, data, y, cv=5).mean())
print("auc", cross_val_score(clf, data, y, cv=5, scoring="roc_auc").mean())
