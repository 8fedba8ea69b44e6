"""What programs for scikit-learn rely on beyond parameters: types of errors, its words where matched, warnings."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.metrics import DistanceMetric
from sklearn.neighbors import BallTree, KDTree

from didact.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from didact.ensemble import BaggingClassifier, HistGradientBoostingRegressor, RandomForestClassifier
from didact.linear_model import ElasticNetCV, Ridge
from didact.naive_bayes import MultinomialNB
from didact.neighbors import KNeighborsClassifier, NearestNeighbors
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
