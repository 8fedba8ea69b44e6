"""Fitted attributes of scikit-learn's classes are there under the same names, and agree where nothing is random."""

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression as TheirLogisticRegression
from test_sklearn_signatures import NAMES, OURS, THEIRS

# Attributes that are there, but hold something else, with the reason.
RANDOM = "drawn from another random stream"
STEPS = "counts the iterations of another solver"
OTHER = {
    "n_iter_": STEPS,
    "dual_gap_": "how near the solver came, by its own measure",
    "eps_": "the tolerance in the units of the duality gap, there of the sum over the rows",
    "tree_": "a tree of our own, with the same arrays",
    "scalings_": "columns have either sign",
    "components_": "rows have either sign",
    "embedding_": "columns have either sign; tests/manifold compares them",
    "whitening_": "rows have either sign",
    "mixing_": "columns have either sign",
    "code_book_": RANDOM,
    "t_": STEPS,
    "solver_": "solvers have names of their own",
    "CCA.coef_": "least squares on the scores; there the scores of one set stand for those of the other",
}
RANDOM_FITS = ("Tree", "Forest", "Bagging", "AdaBoost", "SGD", "Perceptron", "HistGradient", "MiniBatch")
RANDOM_FITS += ("Nystroem", "RBFSampler", "SpectralClustering", "TSNE")

PARAMS = {
    "LogisticRegressionCV": {"use_legacy_attributes": False, "l1_ratios": (0.0,), "scoring": "neg_log_loss", "Cs": 3},
    "LinearDiscriminantAnalysis": {"store_covariance": True},
    "QuadraticDiscriminantAnalysis": {"store_covariance": True},
    "RidgeCV": {"store_cv_results": True},
    "FactorAnalysis": {"n_components": 1, "svd_method": "lapack"},
    "RidgeClassifierCV": {"store_cv_results": True},
    "OneVsOneClassifier": {"estimator": TheirLogisticRegression()},
    "OutputCodeClassifier": {"estimator": TheirLogisticRegression()},
    "MDS": {"init": "classical_mds"},
    "CCA": {"n_components": 1},
    "NMF": {"n_components": 1},
    "FastICA": {"w_init": np.eye(4)},
    "KMeans": {"init": np.eye(8, 4), "n_init": 1},
    "HistGradientBoostingClassifier": {"max_iter": 3},
    "HistGradientBoostingRegressor": {"max_iter": 3},
    **{f"{kind}Forest{what}": {"n_estimators": 5} for kind in ("Random",) for what in ("Classifier", "Regressor")},
    **{f"ExtraTrees{what}": {"n_estimators": 5} for what in ("Classifier", "Regressor")},
}


def data(name):
    """Rows in a frame, and a target that suits the model."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    z = X @ [1.0, 2.0, 0.0, -1.0] + rng.normal(size=90)
    if name == "FastICA":
        X = X**3  # far from Gaussian
    if name == "FactorAnalysis":
        X += 2 * rng.normal(size=(90, 1))  # without a common factor there are several maxima
    if (name.endswith("NB") and name != "GaussianNB") or name == "NMF":
        X = np.floor(np.abs(2 * X))
    frame = pd.DataFrame(X, columns=list("abcd"))
    if "MultiTask" in name:
        return frame, np.column_stack([z, X[:, 0] - z])
    if is_classifier(OURS[name](**PARAMS.get(name, {}))):
        return frame, np.digitize(z, [-1.0, 1.0])
    return frame, np.exp(np.clip(z, -2, 2)) if name in ("PoissonRegressor", "GammaRegressor") else z


def fitted(cls, name, X, y):
    params = dict(PARAMS.get(name, {}))
    signature = cls._parameter_constraints
    if "tol" in signature and not any(word in name for word in RANDOM_FITS) and "Discriminant" not in name:
        params |= {"tol": 1e-10, "max_iter": 10_000} if "max_iter" in signature else {"tol": 1e-10}
    return cls(**params).fit(X, y)


def public(model):
    """The public fitted attributes by name."""
    names = (n for n in dir(model) if n.endswith("_") and not n.startswith("_"))
    return {name: getattr(model, name) for name in names if hasattr(model, name)}


@pytest.mark.filterwarnings("ignore")  # scikit-learn's solvers, at this tolerance
@pytest.mark.parametrize("name", NAMES)
def test_fitted_attributes(name):
    X, y = data(name)
    ours, theirs = public(fitted(OURS[name], name, X, y)), public(fitted(THEIRS[name], name, X, y))
    assert {(name, one) for one in theirs.keys() - ours.keys()} == set()
    if any(word in name for word in RANDOM_FITS):
        return
    for one, value in theirs.items():
        known = one in ours and not {one, f"{name}.{one}"} & OTHER.keys()
        if known and isinstance(value, (int, float, np.ndarray, np.number)):
            agree(one, np.asarray(ours[one]), np.asarray(value))


def agree(name, ours, theirs):
    """Two attributes have the same shape, and numbers agree as far as the solvers went."""
    assert ours.shape == theirs.shape, name
    if theirs.dtype.kind in "fiu":
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5 * np.abs(theirs).max(initial=1.0), err_msg=name)
    else:
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
