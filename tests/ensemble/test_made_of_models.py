"""What all models that are made of others share: what their base models read, kernels, sequences, refusals, tensors."""

import dask.array as da
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeRegressor

from didact import Batches
from didact.core.backend import to_numpy
from didact.core.errors import InputError, ParameterError
from didact.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    BayesianModelCombination,
    CascadeClassifier,
    ClusterwiseClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from didact.linear_model import LinearRegression
from didact.linear_model import LogisticRegression as OwnLogistic
from didact.multiclass import OneVsOneClassifier, OutputCodeClassifier
from didact.neighbors import KNeighborsClassifier as OwnNeighbors
from didact.tree import C45Classifier

X, Y = load_iris(return_X_y=True)


class Filling(ClassifierMixin, BaseEstimator):
    """A classifier that reads NaN and infinity without a tag that says so."""

    def fit(self, X, y):
        self.classes_, self.model_ = np.unique(y), LogisticRegression(max_iter=1000).fit(self._known(X), y)
        return self

    def _known(self, X):
        return np.clip(np.nan_to_num(X), 0, 9)

    def predict(self, X):
        return self.model_.predict(self._known(X))

    def predict_proba(self, X):
        return self.model_.predict_proba(self._known(X))


METAS = [
    BaggingClassifier(n_estimators=5, random_state=0),
    OneVsOneClassifier(),
    OutputCodeClassifier(random_state=0),
    AdaBoostClassifier(n_estimators=3, random_state=0),
]


def named(models):
    return [pytest.param(model, id=type(model).__name__) for model in models]


@pytest.mark.parametrize("meta", named(METAS))
def test_base_models_of_others_judge_missing_values_themselves(meta):
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    pipe = make_pipeline(SimpleImputer(), LogisticRegression(max_iter=1000))
    model = clone(meta).set_params(estimator=pipe).fit(gaps, Y)
    assert np.isin(model.predict(gaps), Y).all()
    gaps[0, 0] = np.inf
    model = clone(meta).set_params(estimator=Filling()).fit(gaps, Y)
    assert np.isin(model.predict(gaps), Y).all()
    with pytest.raises(ValueError, match="NaN"):
        clone(meta).set_params(estimator=LogisticRegression()).fit(gaps, Y)
    with pytest.raises(InputError, match="columns 0, 1"):
        clone(meta).set_params(estimator=OwnLogistic()).fit(gaps, Y)
    boosting = HistGradientBoostingClassifier(max_iter=3)
    assert np.isin(clone(meta).set_params(estimator=boosting).fit(gaps, Y).predict(gaps), Y).all()


KERNELS = [
    BaggingClassifier(SVC(), n_estimators=6, oob_score=False, random_state=0),
    BaggingClassifier(KNeighborsClassifier(3), n_estimators=6, random_state=0, combine="vote"),
    BaggingRegressor(SVR(C=10), n_estimators=6, random_state=0),
    OneVsOneClassifier(SVC()),
    OutputCodeClassifier(SVC(), code="sparse", code_size=3, random_state=0),
    AdaBoostClassifier(SVC(C=100), n_estimators=4, random_state=0),
]


@pytest.mark.parametrize("model", named(KERNELS))
def test_a_precomputed_kernel_is_the_kernel_computed(model):
    """Cut by rows and by columns, as cross-validation cuts it, too."""
    X = load_iris().data + np.random.default_rng(0).normal(scale=0.01, size=(150, 4))  # no equal distances
    if isinstance(model.estimator, KNeighborsClassifier):
        computed, given = {"metric": "sqeuclidean"}, {"metric": "precomputed"}
        K = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    else:
        computed, given, K = {"kernel": "rbf", "gamma": 0.5}, {"kernel": "precomputed"}, rbf_kernel(X, gamma=0.5)
    plain = clone(model).set_params(estimator=clone(model.estimator).set_params(**computed))
    kernel = clone(model).set_params(estimator=clone(model.estimator).set_params(**given))
    expected = clone(plain).fit(X[::2], Y[::2]).predict(X[1::2])
    found = clone(kernel).fit(K[::2, ::2], Y[::2]).predict(K[1::2, ::2])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(cross_val_score(kernel, K, Y), cross_val_score(plain, X, Y), rtol=1e-6)
    with pytest.raises(InputError, match="as many columns as rows"):
        clone(kernel).fit(K[:, :100], Y)


def test_kernels_that_cannot_be_cut_are_refused():
    K, base = rbf_kernel(X), SVC(kernel="precomputed")
    with pytest.raises(ParameterError, match="max_features"):
        BaggingClassifier(base, max_features=0.5).fit(K, Y)
    with pytest.raises(ParameterError, match="reweight"):
        AdaBoostClassifier(base, weighting="resample").fit(K, Y)
    for model in (ClusterwiseClassifier(base), CascadeClassifier([("a", base)])):
        with pytest.raises(ParameterError, match="precomputed"):
            model.fit(K, Y)
    kernel = BaggingClassifier(base, n_estimators=30, oob_score=True, random_state=0).fit(K, Y)
    plain = BaggingClassifier(SVC(gamma=1 / 4), n_estimators=30, oob_score=True, random_state=0).fit(X, Y)
    assert kernel.oob_score_ == plain.oob_score_ > 0.9


SEQUENCES = [AdaBoostClassifier, AdaBoostRegressor, BaggingClassifier, BaggingRegressor]


@pytest.mark.parametrize("kind", SEQUENCES)
def test_an_ensemble_is_the_sequence_of_its_learners(kind):
    model = kind(n_estimators=4, random_state=0)
    assert model  # not yet fitted, but there
    with pytest.raises(NotFittedError):
        len(model)
    model.fit(X, Y)
    assert len(model) == len(model.estimators_) > 1
    assert model[0] is model.estimators_[0]
    assert model[-1] is model.estimators_[-1]
    assert list(model) == model.estimators_
    assert model[:2] == model.estimators_[:2]


@pytest.mark.parametrize("model", named([
    BayesianModelCombination([("good", LogisticRegression()), ("bad", LinearRegression())]),
    CascadeClassifier([("bad", DecisionTreeRegressor()), ("good", LogisticRegression())]),
    BaggingClassifier(LinearRegression()), AdaBoostClassifier(DecisionTreeRegressor()),
    ClusterwiseClassifier(LinearRegression()),
]))  # fmt: skip
def test_classifiers_made_of_regressors_are_refused(model):
    with pytest.raises(ParameterError, match=r"needs classifiers, but .*Regress.* is a regressor"):
        model.fit(X, Y)


@pytest.mark.parametrize(("kind", "more"), [
    (BaggingClassifier, "oob_decision_function_"), (BaggingRegressor, "oob_prediction_")])  # fmt: skip
def test_a_fit_without_scores_out_of_bag_forgets_those_of_the_last_one(kind, more):
    model = kind(n_estimators=40, oob_score=True, random_state=0).fit(X, Y)
    assert model.oob_score_ > 0.8
    model.set_params(oob_score=False).fit(X[:50], np.arange(50) % 2)
    assert not hasattr(model, "oob_score_")
    assert not hasattr(model, more)


def test_staged_answers_for_tensors():
    torch = pytest.importorskip("torch")
    from far_tensor import FAR

    A, b = load_diabetes(return_X_y=True)
    far = torch.as_tensor(A, device=FAR)
    target = torch.as_tensor(b, device=FAR)
    for model, y in ((AdaBoostRegressor(random_state=0), b), (AdaBoostClassifier(), b > 150)):
        model.set_params(n_estimators=3).fit(A, y)
        for name in ("staged_predict", "staged_decision_function", "staged_predict_proba"):
            for found, expected in zip(*(getattr(model, name, lambda _: [])(rows) for rows in (far, A)), strict=True):
                assert isinstance(found, torch.Tensor) or found.dtype.kind != "f"
                np.testing.assert_array_equal(to_numpy(found), expected)
        far_y = target if y is b else (target > 150)
        assert list(model.staged_score(far, far_y)) == list(model.staged_score(A, y))


WITHOUT_A_CLASS = [
    AdaBoostClassifier(n_estimators=5),
    BaggingClassifier(random_state=0),
    BayesianModelCombination(random_state=0, n_draws=20),
    CascadeClassifier(random_state=0),
    ClusterwiseClassifier(random_state=0),
    HistGradientBoostingClassifier(max_iter=5),
    OneVsOneClassifier(),
    OneVsOneClassifier(decision="sum"),
    OutputCodeClassifier(random_state=0, code_size=4),
    OutputCodeClassifier(code="one_vs_rest", decoding="hinge"),
]


@pytest.mark.parametrize("model", named(WITHOUT_A_CLASS))
@pytest.mark.parametrize("gone", [[0], [1], [2, 3]])
def test_a_class_without_weight_stays_and_is_never_predicted(model, gone):
    y = np.where((Y == 2) & (X[:, 0] > 6.5), 3, Y)
    w = np.where(np.isin(y, gone), 0.0, 1.0)
    model.fit(X, y, sample_weight=w)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert not np.isin(model.predict(X), gone).any()
    if hasattr(model, "predict_proba") and not isinstance(model, AdaBoostClassifier):  # whose softmax leaves none at 0
        assert (model.predict_proba(X)[:, gone] < 1e-6).all()


@pytest.mark.parametrize("factor", [1e-3, 1e3])
@pytest.mark.parametrize("model", named([
    HistGradientBoostingClassifier(max_iter=60, min_samples_leaf=3),  # until curvatures are next to nothing
    HistGradientBoostingClassifier(max_iter=5, categorical_features=[3]),
    HistGradientBoostingRegressor(max_iter=5, loss="huber"),
    BaggingClassifier(max_samples=0.5, random_state=0), BaggingRegressor(max_samples=0.5, random_state=0),
    AdaBoostClassifier(n_estimators=10), AdaBoostRegressor(n_estimators=5, weighting="reweight"),
    ClusterwiseClassifier(random_state=0), CascadeClassifier(random_state=0),
]))  # fmt: skip
def test_only_proportions_of_weights_count(model, factor):
    rng = np.random.default_rng(0)
    A, w = np.column_stack([X[:, :3], np.floor(3 * X[:, 3])]), rng.integers(1, 5, len(Y)) / 2
    expected = clone(model).fit(A, Y, sample_weight=w).predict(A)
    np.testing.assert_allclose(clone(model).fit(A, Y, sample_weight=factor * w).predict(A), expected, rtol=1e-9)


@pytest.mark.parametrize("kind", ["batches", "dask", "workers"])
def test_boosting_keeps_a_class_without_weight_wherever_the_rows_are(kind, monkeypatch):
    w = np.where(Y == 2, 0.0, 1.0)
    model = HistGradientBoostingClassifier(max_iter=3)
    expected = clone(model).fit(X, Y, sample_weight=w).predict_proba(X)
    if kind == "workers":
        monkeypatch.setattr("didact.ensemble.hist_gradient_boosting_base.GATHERED", 0)
    if kind == "batches":
        model.fit(Batches(lambda: [(X[::2], Y[::2], w[::2]), (X[1::2], Y[1::2], w[1::2])]))
    else:
        model.fit(*(da.from_array(a, chunks=(50, 4) if a.ndim == 2 else 50) for a in (X, Y, w)))
    assert model.classes_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("base", named([C45Classifier(), OwnNeighbors(1), OwnNeighbors(5)]))
def test_adaboost_of_models_that_count_rows(base):
    """They get weights that sum to 1; the first round must be the base model itself, and later ones not at chance."""
    A, b = load_wine(return_X_y=True)
    A = (A - A.mean(axis=0)) / A.std(axis=0)
    train, test = np.arange(len(b)) % 3 > 0, np.arange(len(b)) % 3 == 0
    alone = clone(base).fit(A[train], b[train])
    model = AdaBoostClassifier(clone(base), n_estimators=10, random_state=0).fit(A[train], b[train])
    np.testing.assert_array_equal(model.estimators_[0].predict(A), alone.predict(A))
    assert model.score(A[test], b[test]) > max(0.8, alone.score(A[test], b[test]) - 0.1)
