"""The rows of chapter ``scaling``: made and real tables, and what is timed on them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

SEED = 2026


def table(rows: int, columns: int) -> tuple[Any, Any, Any]:
    """Standard normal rows, a linear predictor with noise, and the generator."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((rows, columns))
    return X, X @ rng.standard_normal(columns) / columns**0.5 + 0.3 * rng.standard_normal(rows), rng


def numbers(rows: int, columns: int) -> tuple[Any, Any]:
    """A table and a number to predict, with bends."""
    import numpy as np

    X, z, _ = table(rows, columns)
    return X, z + np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0)


def classes(rows: int, columns: int, K: int = 2) -> tuple[Any, Any]:
    """A table and one of K classes."""
    import numpy as np

    X, z, rng = table(rows, columns)
    z = z + 0.5 * rng.standard_normal(rows)
    return X, np.searchsorted(np.quantile(z, np.arange(1, K) / K), z)


def bent_classes(rows: int, columns: int) -> tuple[Any, Any]:
    """A table and two classes with a bent border."""
    X, z = numbers(rows, columns)
    return X, (z > 0).astype(int)


def words(rows: int, columns: int, K: int) -> tuple[Any, Any]:
    """Sparse rows of about a hundred entries, and one of K classes."""
    import numpy as np
    from scipy import sparse

    rng = np.random.default_rng(SEED)
    X = sparse.random_array((rows, columns), density=100 / columns, rng=rng, format="csr", dtype=np.float64)
    X = sparse.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    return X, (X @ rng.standard_normal((columns, K))).argmax(axis=1)


def counts(rows: int, columns: int) -> tuple[Any, Any]:
    """A table and counts with a mean of about 1.5."""
    import numpy as np

    X, z, rng = table(rows, columns)
    return X, rng.poisson(np.exp(np.clip(0.4 * z + 0.3, -5, 5))).astype(float)


def categories(rows: int, columns: int) -> tuple[Any, Any]:
    """A table of small whole numbers, and two classes."""
    import numpy as np

    X, y = classes(rows, columns)
    return np.floor(2 * np.abs(X)), y


def nonnegative(rows: int, columns: int) -> tuple[Any, Any]:
    """A table of numbers of at least 0, in which 20 parts add up."""
    from benchmarks.data import parts

    return parts(table(1, 1)[2], rows, columns)


def skewed(rows: int, columns: int) -> tuple[Any, Any]:
    """Mixtures of independent sources."""
    from benchmarks.data import mixed_sources

    return mixed_sources(table(1, 1)[2], rows, columns)


def real(name: str, rows: int, columns: int) -> tuple[Any, Any]:
    """Rows of a real table, in random order."""
    import numpy as np

    from benchmarks.real_data import table

    found = table(name)
    chosen = np.random.default_rng(SEED).permutation(len(found.X))[:rows]
    return np.ascontiguousarray(found.X[chosen, :columns], np.float64), found.y[chosen]


@dataclass(frozen=True)
class Row:
    """What is timed: a method of a class on made data; `aim` is the speed-up from the first to the last threads."""

    data: Callable[..., tuple[Any, Any]]
    size: tuple[int, ...]
    path: str
    aim: float
    method: str = "fit"
    options: dict[str, Any] = field(default_factory=dict)
    ours: dict[str, Any] = field(default_factory=dict)
    jobs: bool = False  # scikit-learn's class has n_jobs
    peer: bool = True  # scikit-learn has the same
    light: bool = False  # and LightGBM
    passes: bool = False  # does little but read its rows, once or several times: memory limits it as it does a sum


NOISY = {"alpha": 0.1}
BOOSTING = {"max_iter": 100, "early_stopping": False}
LARGE, TREES = (2_000_000, 50), (464_810, 54, 7)
ROWS = {
    "LinearRegression": Row(numbers, LARGE, "linear_model.LinearRegression", 8, passes=True),
    "LogisticRegression": Row(classes, LARGE, "linear_model.LogisticRegression", 8, passes=True),
    "LogisticRegression, 10 classes": Row(
        classes, (500_000, 50, 10), "linear_model.LogisticRegression", 8, passes=True
    ),
    "LogisticRegression, predict_proba": Row(classes, LARGE, "linear_model.LogisticRegression", 8, "predict_proba"),
    "PoissonRegressor": Row(counts, LARGE, "linear_model.PoissonRegressor", 8, options={"alpha": 1e-3}, passes=True),
    "HuberRegressor": Row(numbers, (500_000, 50), "linear_model.HuberRegressor", 8, passes=True),
    "QuantileRegressor": Row(
        numbers, (100_000, 20), "linear_model.QuantileRegressor", 4, options={"alpha": 0.0}, peer=False
    ),
    "LassoCV": Row(numbers, (20_000, 300), "linear_model.LassoCV", 1, options={"cv": 5}, jobs=True),
    "SGDClassifier": Row(
        classes, (1_000_000, 50), "linear_model.SGDClassifier", 1, options={"max_iter": 5, "tol": None}
    ),
    "SGDRegressor, all rows at once": Row(
        numbers,
        (1_000_000, 50),
        "linear_model.SGDRegressor",
        8,
        options={"max_iter": 20, "tol": None},
        ours={"batch_size": "full"},
        peer=False,
        passes=True,
    ),
    "GaussianNB": Row(classes, LARGE, "naive_bayes.GaussianNB", 8, passes=True),
    "GaussianNB, predict": Row(classes, LARGE, "naive_bayes.GaussianNB", 8, "predict"),
    "BernoulliNB": Row(classes, LARGE, "naive_bayes.BernoulliNB", 8, passes=True),
    "CategoricalNB": Row(categories, LARGE, "naive_bayes.CategoricalNB", 8, passes=True),
    "CategoricalNB, predict": Row(categories, LARGE, "naive_bayes.CategoricalNB", 8, "predict"),
    "QuadraticDiscriminantAnalysis": Row(classes, LARGE, "discriminant_analysis.QuadraticDiscriminantAnalysis", 8),
    "QuadraticDiscriminantAnalysis, predict": Row(
        classes, LARGE, "discriminant_analysis.QuadraticDiscriminantAnalysis", 8, "predict"
    ),
    "GaussianMixture, 10 steps": Row(
        classes,
        (500_000, 10),
        "mixture.GaussianMixture",
        8,
        options={"n_components": 8, "tol": 0.0, "max_iter": 10, "random_state": 0},
    ),
    "GaussianMixture, predict_proba": Row(
        classes,
        (500_000, 10),
        "mixture.GaussianMixture",
        8,
        "predict_proba",
        options={"n_components": 8, "max_iter": 3, "random_state": 0},
    ),
    "PCA": Row(numbers, (500_000, 100), "decomposition.PCA", 8, options={"n_components": 10}),
    "PCA, transform": Row(numbers, (500_000, 100), "decomposition.PCA", 2, "transform", options={"n_components": 10}),
    "FactorAnalysis": Row(classes, (500_000, 50), "decomposition.FactorAnalysis", 4, options={"n_components": 5}),
    "NMF": Row(
        nonnegative,
        (50_000, 400),
        "decomposition.NMF",
        8,
        options={"n_components": 20, "tol": 0.0, "max_iter": 20, "random_state": 0},
    ),
    "NMF, sparse": Row(
        words, (20_000, 50_000, 2), "decomposition.NMF", 8, options={"n_components": 20, "tol": 0.0, "max_iter": 20}
    ),
    "FastICA": Row(
        skewed, (1_000_000, 20), "decomposition.FastICA", 8, options={"random_state": 0, "whiten_solver": "eigh"}
    ),
    "ClusterwiseRegressor": Row(
        numbers, (60_000, 20), "ensemble.ClusterwiseRegressor", 4, options={"random_state": 0}, peer=False
    ),
    "KMeans": Row(
        numbers,
        (2_000_000, 16),
        "cluster.KMeans",
        8,
        options={"n_clusters": 50, "init": "random", "n_init": 1, "random_state": 0, "max_iter": 20},
    ),
    "KMeans, k-means++ and one iteration": Row(
        numbers,
        (200_000, 32),
        "cluster.KMeans",
        8,
        options={"n_clusters": 200, "init": "k-means++", "n_init": 1, "random_state": 0, "max_iter": 1},
    ),
    "KMeans, predict": Row(
        numbers, (2_000_000, 16), "cluster.KMeans", 8, "predict", options={"n_clusters": 50, "random_state": 0}
    ),
    "Isomap": Row(numbers, (4_000, 3), "manifold.Isomap", 8, options={"n_neighbors": 10}, jobs=True),
    "LocallyLinearEmbedding, tangent spaces": Row(
        numbers,
        (8_000, 3),
        "manifold.LocallyLinearEmbedding",
        2,
        options={"n_neighbors": 12, "method": "ltsa", "random_state": 0},
        peer=False,
    ),
    "MDS, 20 steps": Row(
        numbers,
        (4_000, 10),
        "manifold.MDS",
        8,
        options={"init": "random", "max_iter": 20, "eps": 0.0, "random_state": 0},
        jobs=True,
    ),
    "SpectralEmbedding, all pairs": Row(
        numbers,
        (3_000, 10),
        "manifold.SpectralEmbedding",
        2,
        options={"affinity": "rbf", "random_state": 0},
        peer=False,
    ),
    "TSNE": Row(numbers, (20_000, 20), "manifold.TSNE", 8, options={"max_iter": 250, "random_state": 0}),
    "TSNE, transform": Row(
        numbers, (20_000, 20), "manifold.TSNE", 8, "transform", options={"max_iter": 250, "random_state": 0}, peer=False
    ),
    "DBSCAN": Row(numbers, (1_000_000, 3), "cluster.DBSCAN", 8, options={"eps": 0.05, "min_samples": 10}, jobs=True),
    "MeanShift": Row(numbers, (20_000, 3), "cluster.MeanShift", 8, options={"bandwidth": 1.0}, peer=False),
    "MeanShift, Gaussian": Row(
        numbers, (5_000, 3), "cluster.MeanShift", 8, options={"bandwidth": 0.5, "kernel": "gaussian"}, peer=False
    ),
    "AgglomerativeClustering, single linkage": Row(
        numbers, (50_000, 16), "cluster.AgglomerativeClustering", 6, options={"linkage": "single"}
    ),
    "AgglomerativeClustering, Ward linkage": Row(numbers, (30_000, 16), "cluster.AgglomerativeClustering", 6),
    "AgglomerativeClustering, average linkage": Row(
        numbers, (15_000, 16), "cluster.AgglomerativeClustering", 2, options={"linkage": "average"}
    ),
    "KNeighborsClassifier, 8 columns, predict": Row(
        classes, (100_000, 8), "neighbors.KNeighborsClassifier", 8, "predict", jobs=True
    ),
    "KNeighborsClassifier, 64 columns, predict": Row(
        classes, (20_000, 64), "neighbors.KNeighborsClassifier", 8, "predict", jobs=True
    ),
    "KernelDensity, score_samples": Row(
        numbers, (50_000, 4), "neighbors.KernelDensity", 8, "score_samples", options={"bandwidth": 0.3}, peer=False
    ),
    "KernelSmoother, predict": Row(
        numbers, (50_000, 3), "neighbors.KernelSmoother", 8, "predict", options={"bandwidth": 0.2}, peer=False
    ),
    "LocallyWeightedRegression, predict": Row(
        numbers, (10_000, 3), "linear_model.LocallyWeightedRegression", 8, "predict", options={"span": 0.1}, peer=False
    ),
    "RunningMedian": Row(
        numbers,
        (1_000_000, 3),
        "neighbors.RunningMedian",
        4,
        "predict",
        options={"n_neighbors": 101, "column": 0},
        peer=False,
    ),
    "SVC": Row(bent_classes, (10_000, 30), "svm.SVC", 8),
    "SVC, predict": Row(bent_classes, (10_000, 30), "svm.SVC", 8, "predict"),
    "SVC, 10 classes": Row(classes, (20_000, 50, 10), "svm.SVC", 8),
    "SVR": Row(numbers, (8_000, 10), "svm.SVR", 8),
    "OneClassSVM": Row(numbers, (20_000, 10), "svm.OneClassSVM", 8),
    "LinearSVC": Row(classes, LARGE, "svm.LinearSVC", 8, passes=True),
    "LinearSVC, sparse, 10 classes": Row(words, (20_000, 50_000, 10), "svm.LinearSVC", 8),
    "GaussianProcessRegressor": Row(numbers, (4_000, 5), "gaussian_process.GaussianProcessRegressor", 4, options=NOISY),
    "GaussianProcessRegressor, inducing points": Row(
        numbers,
        (200_000, 8),
        "gaussian_process.GaussianProcessRegressor",
        8,
        options=NOISY,
        ours={"inducing": 100, "optimizer": None, "random_state": 0},
        peer=False,
    ),
    "SVC on 300 landmarks": Row(
        classes,
        (200_000, 20),
        "svm.SVC",
        8,
        options={"approximation": "nystroem", "n_components": 300, "random_state": 0},
        peer=False,
    ),
    "SVR on 300 landmarks": Row(
        numbers,
        (200_000, 20),
        "svm.SVR",
        8,
        options={"approximation": "nystroem", "n_components": 300, "random_state": 0},
        peer=False,
    ),
    "KernelRidge on 300 cosines": Row(
        numbers,
        (500_000, 20),
        "kernel_ridge.KernelRidge",
        8,
        options={"kernel": "rbf", "approximation": "random_features", "random_state": 0},
        peer=False,
    ),
    "KernelLogisticRegression": Row(classes, (5_000, 20, 3), "svm.KernelLogisticRegression", 6, peer=False),
    "KernelPerceptron": Row(
        classes, (5_000, 20), "svm.KernelPerceptron", 2, options={"max_iter": 5, "random_state": 0}, peer=False
    ),
    "DecisionTreeClassifier, exact": Row(
        classes, TREES, "tree.DecisionTreeClassifier", 4, options={"max_depth": 12}, peer=False
    ),
    "DecisionTreeClassifier, binned": Row(
        classes, TREES, "tree.DecisionTreeClassifier", 4, options={"max_depth": 12}, ours={"max_bins": 255}, peer=False
    ),
    "RandomForestClassifier": Row(
        classes, (100_000, 20), "ensemble.RandomForestClassifier", 8, options={"random_state": 0}, jobs=True
    ),
    "RandomForestClassifier, predict": Row(
        classes, (100_000, 20), "ensemble.RandomForestClassifier", 8, "predict", options={"random_state": 0}, jobs=True
    ),
    "ExtraTreesClassifier": Row(
        classes, (100_000, 20), "ensemble.ExtraTreesClassifier", 8, options={"random_state": 0}, jobs=True
    ),
    "HistGradientBoostingRegressor": Row(
        numbers, (500_000, 20), "ensemble.HistGradientBoostingRegressor", 6, options=BOOSTING, light=True
    ),
    "HistGradientBoostingClassifier": Row(
        classes, (500_000, 20), "ensemble.HistGradientBoostingClassifier", 6, options=BOOSTING, light=True
    ),
    "HistGradientBoostingClassifier, Covertype, 7 classes, 30 rounds": Row(
        partial(real, "covertype"),
        (464_810, 54),
        "ensemble.HistGradientBoostingClassifier",
        6,
        options=BOOSTING | {"max_iter": 30},
        light=True,
    ),
    "HistGradientBoostingClassifier, Census-Income": Row(
        partial(real, "census"),
        (239_428, 40),
        "ensemble.HistGradientBoostingClassifier",
        6,
        options=BOOSTING,
        light=True,
    ),
}
