"""Frames in, frames out: names of columns through scalers, decompositions and unions."""

import pandas as pd
from sklearn import set_config
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectPercentile
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder, StandardScaler

X, y = load_wine(as_frame=True, return_X_y=True)
scaled = StandardScaler().set_output(transform="pandas").fit_transform(X)
print("same columns", list(scaled.columns) == list(X.columns))
union = make_union(StandardScaler(), PCA(n_components=2)).set_output(transform="pandas")
wide = union.fit_transform(X)
print("wide", wide.shape[1], abs(wide["pca__pca0"]).sum())
model = make_pipeline(StandardScaler(), SelectPercentile(percentile=50), LogisticRegression())
model.set_output(transform="pandas").fit(X, y)
print("named", model[-1].n_features_in_, model[:-1].transform(X)[model[-1].feature_names_in_].shape[1])
frame = load_iris(as_frame=True).frame.assign(colour=pd.Categorical(["red", "blue", "white"] * 50))
columns = ColumnTransformer(
    [
        ("numbers", PCA(n_components=3), make_column_selector(pattern="cm")),
        ("words", OneHotEncoder(sparse_output=False), make_column_selector(dtype_include="category")),
    ],
    verbose_feature_names_out=False,
)
set_config(transform_output="pandas")
out = columns.fit_transform(frame)
set_config(transform_output="default")
print("one-hot", out["colour_red"].sum(), abs(out["pca0"]).sum())
print("names", len(columns.get_feature_names_out()))
