"""Digits in a few numbers: principal axes, independent and non-negative parts, dictionaries, factors."""

import numpy as np
from sklearn.cross_decomposition import CCA, PLSCanonical, PLSRegression
from sklearn.datasets import load_digits, load_linnerud
from sklearn.decomposition import (
    NMF,
    PCA,
    FactorAnalysis,
    FastICA,
    IncrementalPCA,
    KernelPCA,
    MiniBatchDictionaryLearning,
    SparsePCA,
    TruncatedSVD,
    fastica,
    non_negative_factorization,
)
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, orthogonal_mp
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.extmath import randomized_svd, svd_flip

X, y = load_digits(return_X_y=True)
X, y = X[:400, 2:], y[:400]
for name, model in [
    ("pca", PCA(8, svd_solver="randomized", random_state=0)),
    ("svd", TruncatedSVD(8, random_state=0)),
    ("incremental", IncrementalPCA(8, batch_size=100)),
    ("nmf", NMF(8, init="nndsvda", tol=1e-5, max_iter=5000)),
    ("nmf mu", NMF(8, init="nndsvda", solver="mu", beta_loss="kullback-leibler", max_iter=500)),
    ("ica", FastICA(8, whiten="unit-variance", random_state=0, max_iter=2000)),
]:
    back = model.inverse_transform(model.fit_transform(X))
    print(name, np.mean((X - back) ** 2))
print("share", PCA(n_components=0.9).fit(X).n_components_, PCA("mle").fit(X[:, 18:28]).n_components_)
print("factors", FactorAnalysis(3, tol=1e-5).fit(X[:, 16:21]).score(X[:, 16:21]))
print("probabilistic", cross_val_score(PCA(3), X[:, 16:21]).mean())
kernel = KernelPCA(6, kernel="rbf", gamma=1e-3, fit_inverse_transform=True, alpha=0.1).fit(X)
print("kernel", kernel.eigenvalues_.sum(), np.mean((kernel.inverse_transform(kernel.transform(X)) - X) ** 2))
print("sparse", np.mean(SparsePCA(4, random_state=0, max_iter=20).fit(X).components_ == 0))
dictionary = MiniBatchDictionaryLearning(8, alpha=0.1, max_iter=5, batch_size=50, random_state=0).fit(X)
codes = orthogonal_mp(dictionary.components_.T, X[:20].T, n_nonzero_coefs=3)
print("codes", (codes != 0).sum())
pipe = Pipeline([("scale", StandardScaler()), ("pca", PCA()), ("model", LogisticRegression(C=0.1))])
search = GridSearchCV(pipe, {"pca__n_components": [5, 20], "model__C": [0.01, 0.1]}, cv=3).fit(X, y)
print("search", search.best_score_)
print("lda", make_pipeline(PCA(20), LinearDiscriminantAnalysis(n_components=3)).fit_transform(X, y).std())
print("fastica", np.abs(fastica(X[:, 18:22], 2, random_state=0, whiten="unit-variance")[2]).std(axis=0).sum())
W, H, _ = non_negative_factorization(X, n_components=3, init="nndsvd", tol=1e-6, max_iter=5000)
print("factorization", np.mean((W @ H - X) ** 2))
U, s, V = randomized_svd(X, 4, random_state=0)
print("singular", s[0], svd_flip(U, V)[0].shape[1])
X, Y = load_linnerud(return_X_y=True)
for model in (PLSRegression(2), PLSCanonical(2), CCA(2, tol=1e-10, max_iter=5000)):
    U, V = model.fit(X, Y).transform(X, Y)
    print(type(model).__name__, abs(np.corrcoef(U[:, 0], V[:, 0])[0, 1]))
print("pls", PLSRegression(1).fit(X, Y).score(X, Y))
