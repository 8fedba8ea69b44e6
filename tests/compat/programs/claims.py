"""Frequencies and amounts of claims: generalized linear models in pipelines, with exposure as weights."""

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import GammaRegressor, PoissonRegressor, Ridge, TweedieRegressor
from sklearn.metrics import auc, mean_gamma_deviance, mean_poisson_deviance, mean_tweedie_deviance
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler

rng = np.random.RandomState(0)
n = 6000
df = pd.DataFrame(
    {
        "age": rng.randint(18, 80, n),
        "power": rng.gamma(5.0, 20.0, n),
        "area": rng.choice(list("ABCD"), n),
        "exposure": rng.uniform(0.1, 1.0, n),
    }
)
rate = np.exp(-1.5 + 0.3 * (df["area"] == "D") - 0.01 * (df["age"] - 50) + 0.003 * df["power"])
df["claims"] = rng.poisson(rate * df["exposure"])
df["frequency"] = df["claims"] / df["exposure"]
df["amount"] = rng.gamma(2.0, 500.0, n)
log = make_pipeline(FunctionTransformer(np.log, validate=False), StandardScaler())
prepare = ColumnTransformer(
    [
        ("bins", KBinsDiscretizer(6, quantile_method="averaged_inverted_cdf", random_state=0), ["age"]),
        ("log", log, ["power"]),
        ("area", OneHotEncoder(), ["area"]),
    ],
    remainder="drop",
)
train, test = train_test_split(df, test_size=0.33, random_state=0)
ordinal = ColumnTransformer([("area", OrdinalEncoder(), ["area"]), ("rest", "passthrough", ["age", "power"])])
trees = HistGradientBoostingRegressor(loss="poisson", max_leaf_nodes=16, max_iter=30, random_state=0)
for name, steps in [
    ("dummy", [prepare, DummyRegressor()]),
    ("ridge", [prepare, Ridge(alpha=1e-6)]),
    ("poisson", [prepare, PoissonRegressor(alpha=1e-4, solver="newton-cholesky", tol=1e-8)]),
    ("tweedie", [prepare, TweedieRegressor(power=1.5, alpha=0.1, tol=1e-8, max_iter=10_000)]),
    ("boosting", [ordinal, trees]),
]:
    model = Pipeline([("prepare", steps[0]), ("regressor", steps[1])])
    model.fit(train, train["frequency"], regressor__sample_weight=train["exposure"])
    found = np.clip(model.predict(test), 1e-3, None)
    print(name, mean_poisson_deviance(test["frequency"], found, sample_weight=test["exposure"]))
    order = np.argsort(found)
    exposed = test["exposure"].to_numpy()[order]
    claims = (test["frequency"] * test["exposure"]).to_numpy()[order]
    gini = 1 - 2 * auc(np.cumsum(exposed) / exposed.sum(), np.cumsum(claims) / claims.sum())
    print(name, "gini", gini)
    print(name, "tweedie", mean_tweedie_deviance(test["frequency"], found, sample_weight=test["exposure"], power=1.9))
some = train["claims"] > 0
severity = GammaRegressor(alpha=10.0, solver="newton-cholesky").fit(
    prepare.fit_transform(train[some]), train.loc[some, "amount"], sample_weight=train.loc[some, "claims"]
)
print("gamma", mean_gamma_deviance(train.loc[some, "amount"], severity.predict(prepare.transform(train[some]))))
