"""Kernels made explicit, so that linear models learn what kernel machines do."""

import numpy as np
from sklearn.datasets import load_digits, make_circles
from sklearn.kernel_approximation import (
    AdditiveChi2Sampler,
    Nystroem,
    PolynomialCountSketch,
    RBFSampler,
    SkewedChi2Sampler,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics.pairwise import chi2_kernel, cosine_similarity, pairwise_kernels, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

X, y = load_digits(n_class=6, return_X_y=True)
X = MinMaxScaler().fit_transform(X)[:700]
y = y[:700]
train, test = slice(0, 450), slice(450, 700)
linear = LinearSVC(dual=False, C=1.0)
for name, model in [
    ("exact", SVC(gamma=0.2)),
    ("nu", NuSVC(gamma=0.2, nu=0.1)),
    ("nystroem", make_pipeline(Nystroem(gamma=0.2, n_components=150, random_state=1), linear)),
    ("fourier", make_pipeline(RBFSampler(gamma=0.2, n_components=400, random_state=1), linear)),
    ("sketch", make_pipeline(PolynomialCountSketch(degree=2, n_components=300, random_state=1), linear)),
    ("additive", make_pipeline(AdditiveChi2Sampler(), linear)),
    ("skewed", make_pipeline(SkewedChi2Sampler(skewedness=0.01, n_components=200, random_state=1), linear)),
    ("sgd", make_pipeline(RBFSampler(gamma=0.2, random_state=1), SGDClassifier(max_iter=50, random_state=0))),
]:
    print(name, model.fit(X[train], y[train]).score(X[test], y[test]))
table = SVC(kernel="precomputed").fit(chi2_kernel(X[train]), y[train])
print("precomputed", table.score(chi2_kernel(X[test], X[train]), y[test]))
callable_kernel = SVC(kernel=lambda A, B: cosine_similarity(A, B)).fit(X[train], y[train])
print("callable", callable_kernel.score(X[test], y[test]))
print("kernels", rbf_kernel(X[:50]).mean(), pairwise_kernels(X[:50], metric="laplacian").mean())
rng = np.random.RandomState(0)
x = 5 * rng.rand(120, 1)
target = np.sin(x).ravel() + 0.1 * rng.normal(size=120)
search = GridSearchCV(KernelRidge(kernel="rbf"), {"alpha": [1e-2, 0.1], "gamma": np.logspace(-1, 1, 3)}, cv=4)
print("ridge", search.fit(x, target).best_score_, search.predict(x).std())
X, y = make_circles(200, factor=0.4, noise=0.1, random_state=0)
print("circles", make_pipeline(Nystroem(n_components=50, random_state=0), LogisticRegression()).fit(X, y).score(X, y))
