"""What programs for scikit-learn rely on beyond parameters: types of errors, its words where matched, warnings."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import DistanceMetric
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import BallTree, KDTree

from didact.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from didact.ensemble import BaggingClassifier, HistGradientBoostingRegressor, RandomForestClassifier
from didact.linear_model import (
    ElasticNetCV,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeCV,
    SGDClassifier,
    enet_path,
)
from didact.naive_bayes import MultinomialNB
from didact.neighbors import KernelDensity, KNeighborsClassifier, NearestNeighbors, kneighbors_graph
from didact.tree import DecisionTreeClassifier

X, y = load_iris(return_X_y=True)


def test_a_singular_covariance_is_numpys_error():
    with pytest.raises(np.linalg.LinAlgError, match=r"covariance matrix of class .+ is not full rank"):
        QuadraticDiscriminantAnalysis().fit(np.column_stack([X, X[:, 0]]), y)


def test_a_solver_without_shrinkage_says_so_by_type():
    with pytest.raises(NotImplementedError):
        LinearDiscriminantAnalysis(shrinkage="auto").fit(X, y)


def test_priors_of_linear_discriminants_are_divided_by_their_sum():
    with pytest.warns(UserWarning, match="Renormalizing"):
        model = LinearDiscriminantAnalysis(priors=[1.0, 1.0, 2.0]).fit(X, y)
    np.testing.assert_allclose(model.priors_, [0.25, 0.25, 0.5])
    for bad in ([1.0, -1.0, 1.0], [0.0, 0.0, 0.0], [np.inf, 0.0, 1.0]):
        with pytest.raises(ValueError, match=r"priors must be|sum of the priors"):
            LinearDiscriminantAnalysis(priors=bad).fit(X, y)


def test_a_small_alpha_that_is_not_forced_is_raised_with_a_warning():
    with pytest.warns(UserWarning, match="alpha too small"):
        MultinomialNB(alpha=0.0, force_alpha=False).fit(X, y)


@pytest.mark.parametrize("model", [Ridge(), DecisionTreeClassifier(), KNeighborsClassifier()], ids=repr)
def test_a_sparse_target_is_refused(model):
    with pytest.raises(TypeError, match="sparse multilabel-indicator"):
        model.fit(X, sp.csr_matrix(np.eye(3)[y]))


@pytest.mark.parametrize("index", [KDTree(X), BallTree(X), NearestNeighbors().fit(X)], ids=lambda i: type(i).__name__)
def test_neighbours_of_rows_that_are_indexed_already(index):
    found = KNeighborsClassifier(n_neighbors=3).fit(index, y)
    np.testing.assert_array_equal(found.predict(X), KNeighborsClassifier(n_neighbors=3).fit(X, y).predict(X))


def test_metrics_as_objects_and_an_infinite_radius():
    plain = NearestNeighbors(metric="manhattan").fit(X).kneighbors(X)[0]
    by_object = NearestNeighbors(metric=DistanceMetric.get_metric("manhattan")).fit(X).kneighbors(X)[0]
    np.testing.assert_allclose(by_object, plain)
    assert len(NearestNeighbors(radius=np.inf).fit(X).radius_neighbors(X[:1])[1][0]) == len(X)
    with pytest.raises(ValueError, match="return_distance must be True"):
        NearestNeighbors().fit(X).radius_neighbors(X, return_distance=False, sort_results=True)


class Silent(ClassifierMixin, BaseEstimator):
    """A classifier whose fit returns nothing."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_models_whose_fit_returns_nothing_are_kept():
    model = BaggingClassifier(Silent(), n_estimators=3).fit(X, y)
    assert all(isinstance(one, Silent) for one in model.estimators_)


def test_a_warm_start_that_adds_nothing_warns():
    forest = RandomForestClassifier(n_estimators=3, warm_start=True, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="does not fit new trees"):
        forest.fit(X, y)
    assert forest.estimators_samples_[0].dtype == np.int32


def test_given_penalties_are_listed_once():
    assert ElasticNetCV(alphas=[0.1, 0.01], l1_ratio=[0.5, 0.9], cv=3).fit(X, y).alphas_.shape == (2,)
    assert ElasticNetCV(alphas=4, l1_ratio=[0.5, 0.9], cv=3).fit(X, y).alphas_.shape == (2, 4)


@pytest.mark.parametrize("given", [[0, 1], [[0, 1], [9]], ["a", "b"], [[0.5]]], ids=str)
def test_interaction_constraints_must_be_sets_of_columns(given):
    with pytest.raises(ValueError, match="Interaction constraints must"):
        HistGradientBoostingRegressor(interaction_cst=given).fit(X, y)


def test_a_path_without_alphas_is_deprecated():
    with pytest.warns(FutureWarning, match="'alphas=None' is deprecated"):
        assert len(enet_path(X, y, alphas=None)[0]) == 100


def test_targets_of_one_column():
    column = X[:, :1] + 1.0
    for model in (Ridge(), RidgeCV(), Lasso(), LassoCV(cv=3, alphas=3)):
        model.fit(X[:, 1:], column)
        assert model.coef_.shape == (3,), model
        assert model.predict(X[:, 1:]).shape == (len(X),), model
    assert LinearRegression().fit(X[:, 1:], column).coef_.shape == (1, 3)


def test_a_tiny_penalty_has_the_solution_of_least_norm():
    rng = np.random.default_rng(0)
    wide, target = rng.normal(size=(10, 40)) * np.logspace(-1, 1, 40), rng.normal(size=10)
    model = Ridge(alpha=1e-12, solver="sparse_cg", fit_intercept=False, tol=1e-12).fit(wide, target)
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(wide) @ target, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "liblinear", "newton-cholesky", "saga"])
def test_no_iteration_stays_at_the_start(solver):
    words = {"liblinear": "Liblinear failed to converge", "newton-cholesky": "Newton solver did not converge after 0"}
    words["saga"] = "The max_iter was reached which means the coef_ did not converge"
    with pytest.warns(ConvergenceWarning, match=words.get(solver, f"{solver} failed to converge")):
        model = LogisticRegression(solver=solver, max_iter=0).fit(X, y == 2)
    assert (model.n_iter_[0], np.abs(model.coef_).max(), model.predict_proba(X).max()) == (0, 0.0, 0.5)


def test_parameters_of_stochastic_gradients():
    rows = X[:20], np.arange(20) % 2
    with pytest.warns(FutureWarning, match="Negative values for `power_t` are deprecated"):
        SGDClassifier(power_t=-1.0).fit(*rows)
    with pytest.raises(ValueError, match="l1_ratio must be set when penalty is 'elasticnet'"):
        SGDClassifier(penalty="elasticnet", l1_ratio=None).fit(*rows)
    with pytest.raises(ValueError, match="early_stopping should be False with partial_fit"):
        SGDClassifier(early_stopping=True).partial_fit(*rows)


def test_the_same_rows_are_held_out_as_in_scikit_learn():
    how = {"shuffle": False, "tol": None, "max_iter": 3, "learning_rate": "constant", "eta0": 0.01, "random_state": 3}
    stopped = SGDClassifier(early_stopping=True, validation_fraction=0.4, **how).fit(X, y)
    train = np.sort(next(StratifiedShuffleSplit(test_size=0.4, random_state=3).split(X, y))[0])
    np.testing.assert_array_equal(stopped.coef_, SGDClassifier(**how).fit(X[train], y[train]).coef_)


def test_leave_one_out_of_sparse_rows_by_singular_values_is_deprecated():
    with pytest.warns(FutureWarning, match="'svd' mode is not supported for sparse X"):
        RidgeCV(gcv_mode="svd").fit(sp.csr_matrix(X), y)


def test_an_index_of_the_rows_of_a_density():
    distance, _ = KernelDensity().fit(X).tree_.query(X[:1], k=1)
    assert distance[0, 0] == 0.0
    assert isinstance(KernelDensity(algorithm="ball_tree").fit(X).tree_, BallTree)


def test_neighbours_within_radii_of_their_own():
    model = NearestNeighbors(radius=None, n_neighbors=None).fit(X)
    radii = np.linspace(0.1, 1.0, len(X))
    distances, rows = model.radius_neighbors(X, radius=radii)
    for i in (0, 70, 149):
        one_distance, one_rows = model.radius_neighbors(X[[i]], radius=radii[i])
        np.testing.assert_array_equal(rows[i], one_rows[0])
        np.testing.assert_array_equal(distances[i], one_distance[0])
    with pytest.raises(ValueError, match="radius must be at least 0, got None"):
        model.radius_neighbors(X)
    assert (kneighbors_graph(X, 3, n_jobs=1) != kneighbors_graph(X, 3)).nnz == 0
