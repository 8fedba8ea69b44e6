"""Rows that are unlike the others: forests, densities, envelopes and support vectors."""

import numpy as np
from sklearn.covariance import EllipticEnvelope
from sklearn.datasets import make_blobs
from sklearn.ensemble import IsolationForest
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDOneClassSVM
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.svm import OneClassSVM

inliers, _ = make_blobs(n_samples=285, centers=[[2, 2], [-2, -2]], cluster_std=[0.5, 0.5], random_state=0)
far = np.random.RandomState(42).uniform(-6, 6, size=(15, 2))
X, truth = np.r_[inliers, far], np.r_[np.zeros(285), np.ones(15)]
for name, model in [
    ("envelope", EllipticEnvelope(contamination=0.05, random_state=42)),
    ("svm", OneClassSVM(nu=0.05, kernel="rbf", gamma=0.1, tol=1e-6)),
    ("sgd", make_pipeline(Nystroem(gamma=0.1, random_state=42), SGDOneClassSVM(nu=0.05, random_state=42, tol=1e-6))),
    ("forest", IsolationForest(contamination=0.05, random_state=42)),
]:
    print(name, (model.fit(X).predict(X) == -1).sum())
    print(name, "auc", roc_auc_score(truth, -model.decision_function(X)))
local = LocalOutlierFactor(n_neighbors=35, contamination=0.05)
print("local", (local.fit_predict(X) == -1).sum(), local.negative_outlier_factor_.min())
print("novelty", LocalOutlierFactor(novelty=True).fit(inliers).score_samples(far).mean())
print("density", roc_auc_score(truth, -KernelDensity(bandwidth=0.7).fit(inliers).score_samples(X)))
