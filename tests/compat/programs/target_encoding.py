"""Categories as numbers: by their targets, in order, one-hot, and as they are in boosting."""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder

rng = np.random.RandomState(0)
n = 3000
X = pd.DataFrame(
    {
        "maker": rng.choice([f"m{i}" for i in range(60)], n),
        "colour": rng.choice(["red", "blue", "black"], n),
        "age": rng.gamma(3.0, 2.0, n),
    }
)
effect = dict(zip(sorted(X["maker"].unique()), rng.normal(size=60), strict=True))
y = (X["maker"].map(effect) + (X["colour"] == "red") - 0.1 * X["age"] + rng.logistic(size=n) > 0).astype(int)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
words, numbers = make_column_selector(dtype_exclude="number"), make_column_selector(dtype_include="number")
for name, encoder in [
    ("target", TargetEncoder(random_state=0)),
    ("one-hot", OneHotEncoder(handle_unknown="ignore", max_categories=40)),
    ("ordinal", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)),
]:
    columns = make_column_transformer((encoder, words), (StandardScaler(), numbers))
    linear = make_pipeline(columns, LogisticRegression()).fit(X_train, y_train)
    print(name, "linear", roc_auc_score(y_test, linear.predict_proba(X_test)[:, 1]))
    forest = make_pipeline(columns, RandomForestClassifier(60, min_samples_leaf=5, random_state=0)).fit(
        X_train, y_train
    )
    print(name, "forest", roc_auc_score(y_test, forest.predict_proba(X_test)[:, 1]))
kinds = X.assign(maker=X["maker"].astype("category"), colour=X["colour"].astype("category"))
boosting = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=40, random_state=0)
print("boosting", cross_val_score(boosting, kinds, y, cv=3, scoring="roc_auc").mean())
codes = OrdinalEncoder(dtype=np.int64).fit_transform(X[["maker", "colour"]])
print("bayes", CategoricalNB(min_categories=[60, 3]).fit(codes, y).score(codes, y))
