"""The constructors of scikit-learn 1.9's classes that are here under the same name.

Before the asterisk stands what may be passed by position, in order; behind it the parameters of scikit-learn's
machinery, which `MACHINERY` declares, with a default where it is not the usual one. What a class declares itself is not
written again: it goes by keyword. The tests compare the outcome with scikit-learn.
"""

_PATH = "copy_X random_state selection"
_FOREST = "n_estimators * n_jobs verbose"

SIGNATURES = {
    "linear_model": {
        "ElasticNet": f"alpha * precompute {_PATH}",
        "ElasticNetCV": f"* precompute='auto' {_PATH} n_jobs verbose",
        "GammaRegressor": "* verbose",
        "HuberRegressor": "*",
        "Lasso": f"alpha * precompute {_PATH}",
        "LassoCV": f"* precompute='auto' {_PATH} n_jobs verbose",
        "LinearRegression": "* copy_X n_jobs",
        "LogisticRegression": "penalty * dual intercept_scaling random_state n_jobs verbose",
        "LogisticRegressionCV": "* dual intercept_scaling random_state n_jobs verbose",
        "MultiTaskElasticNet": f"alpha * {_PATH}",
        "MultiTaskElasticNetCV": f"* {_PATH} n_jobs verbose",
        "MultiTaskLasso": f"alpha * {_PATH}",
        "MultiTaskLassoCV": f"* {_PATH} n_jobs verbose",
        "Perceptron": "* n_jobs verbose",
        "PoissonRegressor": "* verbose",
        "QuantileRegressor": "*",
        "Ridge": "alpha * copy_X random_state",
        "RidgeCV": "alphas * gcv_mode",
        "RidgeClassifier": "alpha * copy_X random_state",
        "RidgeClassifierCV": "alphas *",
        "SGDClassifier": "loss * n_jobs verbose",
        "SGDRegressor": "loss * verbose",
        "TweedieRegressor": "* verbose",
    },
    "ensemble": {
        "AdaBoostClassifier": "estimator *",
        "AdaBoostRegressor": "estimator *",
        "BaggingClassifier": "estimator n_estimators * n_jobs verbose",
        "BaggingRegressor": "estimator n_estimators * n_jobs verbose",
        "ExtraTreesClassifier": _FOREST,
        "ExtraTreesRegressor": _FOREST,
        "HistGradientBoostingClassifier": "loss * verbose",
        "HistGradientBoostingRegressor": "loss * verbose",
        "RandomForestClassifier": _FOREST,
        "RandomForestRegressor": _FOREST,
    },
    "tree": {
        "DecisionTreeClassifier": "*",
        "DecisionTreeRegressor": "*",
        "ExtraTreeClassifier": "*",
        "ExtraTreeRegressor": "*",
    },
    "neighbors": {
        "KNeighborsClassifier": "n_neighbors * n_jobs",
        "KNeighborsRegressor": "n_neighbors * n_jobs",
        "KernelDensity": "* breadth_first",
        "NearestNeighbors": "* n_jobs",
        "RadiusNeighborsClassifier": "radius * n_jobs",
        "RadiusNeighborsRegressor": "radius * n_jobs",
    },
    "naive_bayes": {
        "BernoulliNB": "*",
        "CategoricalNB": "*",
        "ComplementNB": "*",
        "GaussianNB": "*",
        "MultinomialNB": "*",
    },
    "discriminant_analysis": {
        "LinearDiscriminantAnalysis": (
            "solver shrinkage priors n_components store_covariance tol covariance_estimator *"
        ),
        "QuadraticDiscriminantAnalysis": "*",
    },
    "svm": {
        "LinearSVC": "penalty loss * random_state verbose",
        "LinearSVR": "* random_state verbose",
        "OneClassSVM": "* verbose=False",
        "SVC": "* verbose=False",
        "SVR": "* verbose=False",
    },
    "kernel_ridge": {"KernelRidge": "alpha *"},
    "mixture": {
        "GaussianMixture": "n_components * verbose",
    },
    "decomposition": {
        "FactorAnalysis": "n_components *",
        "FastICA": "n_components *",
        "NMF": "n_components * verbose",
        "IncrementalPCA": "n_components *",
        "KernelPCA": "n_components * n_jobs",
        "PCA": "n_components *",
    },
    "cross_decomposition": {"CCA": "n_components *"},
    "manifold": {
        "ClassicalMDS": "n_components *",
        "Isomap": "* n_jobs",
        "LocallyLinearEmbedding": "* n_jobs",
        "MDS": "n_components * n_jobs verbose",
        "SpectralEmbedding": "n_components * n_jobs",
        "TSNE": "n_components * n_jobs verbose",
    },
    "gaussian_process": {
        "GaussianProcessClassifier": "kernel * n_jobs",
        "GaussianProcessRegressor": "kernel *",
    },
    "cluster": {
        "AgglomerativeClustering": "n_clusters *",
        "DBSCAN": "eps * n_jobs",
        "KMeans": "n_clusters * verbose",
        "MeanShift": "* n_jobs",
        "MiniBatchKMeans": "n_clusters * verbose",
        "SpectralClustering": "n_clusters * n_jobs verbose=False",
    },
    "kernel_approximation": {"Nystroem": "kernel * n_jobs", "RBFSampler": "*"},
    "multiclass": {
        "OneVsOneClassifier": "estimator * n_jobs",
        "OutputCodeClassifier": "estimator * n_jobs",
    },
}
