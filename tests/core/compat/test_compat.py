"""Parameters of scikit-learn's machinery: threads, progress, solvers by other names, deprecated forms."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

import didact
from didact.core.compat import MACHINERY
from didact.core.errors import ParameterError
from didact.core.threads import thread_count, threads_for
from didact.linear_model import Lasso, LassoCV, LogisticRegression, LogisticRegressionCV, Ridge, RidgeClassifier
from didact.neighbors import KNeighborsClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
y = (X @ [1.0, -1.0, 0.5, 0.0] + RNG.normal(size=120) > 0).astype(int)
THREE = np.digitize(X[:, 0] + 0.5 * RNG.normal(size=120), [-0.5, 0.5])


# ------------------------------------------------------------------------------------------------ threads, progress


@pytest.fixture
def three_of_eight(monkeypatch):
    """A machine of eight cores of which the library may use three, whatever this one has."""
    monkeypatch.setattr("didact.core.threads._machine_limit", lambda: 8)
    monkeypatch.setattr("didact.core.threads._hold.limits", lambda: [64])
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    didact.set_threads(3)
    yield
    didact.set_threads(None)


def test_a_model_s_own_number_of_threads(three_of_eight):
    counts = {}
    for n_jobs in (None, 1, 2, -1, -2):
        with threads_for(n_jobs):
            counts[n_jobs] = thread_count()
            with threads_for(None):  # a model inside another one
                assert thread_count() == counts[n_jobs]
    assert counts == {None: 3, 1: 1, 2: 2, -1: 8, -2: 7}
    assert thread_count() == 3
    with pytest.raises(ParameterError, match="n_jobs == 0"):
        threads_for(0)


@pytest.mark.parametrize(("n_jobs", "threads"), [(None, 3), (1, 1), (2, 2)])
def test_fit_and_predict_keep_to_n_jobs(three_of_eight, monkeypatch, n_jobs, threads):
    seen = []
    rows = KNeighborsClassifier._rows
    monkeypatch.setattr(KNeighborsClassifier, "_rows", lambda *a, **k: (seen.append(thread_count()), rows(*a, **k))[1])
    model = KNeighborsClassifier(n_jobs=n_jobs).fit(X, y)
    model.predict(X)
    assert set(seen) == {threads}


def test_verbose_prints_lines_and_leaves_no_callback(capsys):
    model = LogisticRegression(verbose=2).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert sum("iteration" in line for line in lines) >= model.n_iter_[0]
    assert "done in" in lines[-1]
    assert not hasattr(model, "_skl_callbacks")
    LogisticRegression().fit(X, y)
    assert capsys.readouterr().out == ""


# ------------------------------------------------------------------------------------------------ parameters


def test_parameters_without_effect_say_so_and_have_none():
    plain = Lasso(alpha=0.01).fit(X, y)
    other = Lasso(alpha=0.01, precompute=True, copy_X=False, random_state=3, selection="random").fit(X, y)
    np.testing.assert_array_equal(plain.coef_, other.coef_)
    for name in ("precompute", "copy_X", "random_state", "selection"):
        assert MACHINERY[name][2].startswith("No effect")
        assert f"{name} :" in Lasso.__doc__
    with pytest.raises(ValueError, match="'copy_X' parameter of Lasso"):
        Lasso(copy_X="yes").fit(X, y)


def test_constructors_take_by_position_what_scikit_learn_takes():
    assert Lasso(0.5).alpha == 0.5
    with pytest.raises(TypeError, match="positional"):
        Lasso(0.5, True)
    with pytest.raises(TypeError, match=r"Lasso.__init__\(\) got an unexpected keyword argument 'beta'"):
        Lasso(beta=1)


def test_copies_and_subclasses_keep_all_parameters():
    model = Lasso(0.5, selection="random")
    assert clone(model).get_params() == model.get_params()
    assert pickle.loads(pickle.dumps(model)).get_params() == model.get_params()
    assert repr(model) == "Lasso(alpha=0.5, selection='random')"

    class Mine(Lasso):
        def __init__(self, alpha=2.0):
            super().__init__(alpha)

    assert Mine().get_params() == {"alpha": 2.0}
    assert Mine().fit(X, y).coef_.shape == (4,)


def test_a_model_from_before_a_parameter_was_there_has_its_default():
    model = Ridge().fit(X, y)
    del model.__dict__["copy_X"]
    assert model.get_params()["copy_X"] is True


# ------------------------------------------------------------------------------------------------ solvers


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "newton-cg", "liblinear", "sag", "saga"])
def test_foreign_solvers_of_logistic_regression_find_the_optimum(solver):
    expected = LogisticRegression(tol=1e-10).fit(X, THREE).coef_
    np.testing.assert_allclose(LogisticRegression(solver=solver, tol=1e-10).fit(X, THREE).coef_, expected, rtol=1e-6)


@pytest.mark.parametrize("solver", ["cholesky", "svd", "sparse_cg", "lsqr", "sag", "saga", "lbfgs"])
def test_foreign_solvers_of_ridge_find_the_optimum(solver):
    np.testing.assert_allclose(Ridge(solver=solver).fit(X, y).coef_, Ridge().fit(X, y).coef_, rtol=1e-6)
    np.testing.assert_allclose(
        RidgeClassifier(solver=solver).fit(X, y).coef_, RidgeClassifier().fit(X, y).coef_, rtol=1e-6
    )


# ------------------------------------------------------------------------------------------------ deprecated forms


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"penalty": "l2"}, {}),
        ({"penalty": "l1"}, {"l1_ratio": 1.0}),
        ({"penalty": "elasticnet", "l1_ratio": 0.3}, {"l1_ratio": 0.3}),
        ({"penalty": None}, {"C": np.inf}),
        ({"l1_ratio": None}, {}),
    ],
)
def test_penalty_is_understood_with_scikit_learn_s_warning(old, new):
    with pytest.warns(FutureWarning, match="deprecated in version 1.8"):
        model = LogisticRegression(**old, tol=1e-9).fit(X, y)
    np.testing.assert_array_equal(model.coef_, LogisticRegression(**new, tol=1e-9).fit(X, y).coef_)


def test_penalty_without_a_share_or_against_it():
    with pytest.warns(FutureWarning), pytest.raises(ParameterError, match="l1_ratio must be specified"):
        LogisticRegression(penalty="elasticnet", l1_ratio=None).fit(X, y)
    with pytest.warns(FutureWarning), pytest.warns(UserWarning, match="Inconsistent"):
        LogisticRegression(penalty="l2", l1_ratio=1.0).fit(X, y)
    with pytest.warns(FutureWarning), pytest.warns(UserWarning, match="only used when penalty is 'elasticnet'"):
        LogisticRegression(penalty="l1", l1_ratio=0.5).fit(X, y)
    with pytest.warns(FutureWarning), pytest.warns(UserWarning, match="ignore the C"):
        LogisticRegression(penalty=None, C=2.0).fit(X, y)


def test_the_warning_points_at_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LogisticRegression(penalty="l2").fit(X, y)
    assert [w.filename for w in caught] == [__file__]


def test_legacy_attributes_of_the_cross_validated_model():
    how = {"Cs": 3, "cv": 3, "scoring": "accuracy", "tol": 1e-8}
    theirs = sklearn.linear_model.LogisticRegressionCV(**how, use_legacy_attributes=True, l1_ratios=(0,), max_iter=9999)
    for labels in (y, THREE):
        ours = LogisticRegressionCV(**how, use_legacy_attributes=True).fit(X, labels)
        theirs.fit(X, labels)
        for name in ("C_", "l1_ratio_"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
        for name in ("scores_", "coefs_paths_"):
            assert getattr(ours, name).keys() == getattr(theirs, name).keys()
            for label, table in getattr(theirs, name).items():
                np.testing.assert_allclose(getattr(ours, name)[label], table, atol=1e-3)
        assert ours.n_iter_.shape == theirs.n_iter_.shape
    with pytest.warns(FutureWarning, match="simplified in scikit-learn 1.10"):
        LogisticRegressionCV(**how, use_legacy_attributes="warn").fit(X, y)
    with pytest.warns(FutureWarning, match="l1_ratios will change"):
        assert LogisticRegressionCV(**how, l1_ratios="warn").fit(X, y).l1_ratio_ == 0.0
    with pytest.warns(FutureWarning, match="'penalty' was deprecated"):
        assert LogisticRegressionCV(**how, penalty="l1").fit(X, y).l1_ratio_ == 1.0


def test_metadata_go_to_the_splitter():
    groups = np.arange(120) % 4
    listed = LassoCV(cv=list(GroupKFold(3).split(X, y, groups)), alphas=5).fit(X, y)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = LassoCV(cv=GroupKFold(3), alphas=5).fit(X, y, groups=groups)
    np.testing.assert_array_equal(routed.mse_path_, listed.mse_path_)
    with pytest.raises(ValueError, match="routing"):
        LassoCV(cv=GroupKFold(3)).fit(X, y, groups=groups)
