"""Programs for scikit-learn on our models: the names, what falls back and why, types, copies, processes, the report."""

import copy
import importlib
import inspect
import json
import logging
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn.linear_model
from numpy.testing import assert_allclose
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression as PlainLogistic
from sklearn.linear_model import Ridge as PlainRidge
from sklearn.linear_model import lasso_path
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

import didact.accelerate
from didact.accelerate import accelerated, disable, enable, names, proxies, runs_here
from didact.accelerate.record import COMPARE, REPORT, summary

X, y = load_iris(return_X_y=True)


@pytest.fixture(autouse=True)
def restored():
    yield
    disable()


def test_the_names_are_those_that_both_libraries_have():
    for module, listed in names.CLASSES.items():
        theirs, ours = (importlib.import_module(f"{library}.{module}") for library in ("sklearn", "didact"))
        public = getattr(theirs, "__all__", dir(theirs))
        classes = [
            n
            for n in public
            if isinstance(getattr(theirs, n), type) and issubclass(getattr(theirs, n), sklearn.base.BaseEstimator)
        ]
        shared = {n for n in classes if hasattr(ours, n) and getattr(ours, n) is not getattr(theirs, n)}
        assert set(listed) == shared - {"BaseEstimator"}, module


def test_enable_changes_the_public_names_and_disable_puts_them_back():
    before = sklearn.linear_model.Ridge
    enable()
    enable()
    assert sklearn.linear_model.Ridge is proxies.Ridge is not before
    disable()
    assert sklearn.linear_model.Ridge is before
    with accelerated():
        with accelerated():
            assert sklearn.linear_model.Ridge is proxies.Ridge
        assert sklearn.linear_model.Ridge is proxies.Ridge
    assert sklearn.linear_model.Ridge is before
    with pytest.raises(ZeroDivisionError), accelerated():
        raise ZeroDivisionError
    assert sklearn.linear_model.Ridge is before


LATER = """
import sys
import didact.accelerate
didact.accelerate.enable()
print("sklearn.linear_model" in sys.modules, "sklearn.tree" in sys.modules)
from sklearn.tree import DecisionTreeClassifier
import sklearn.ensemble._forest, sklearn.calibration
print(DecisionTreeClassifier.__module__, sklearn.ensemble.RandomForestClassifier.__module__, sklearn.svm.SVC.__module__)
print(sklearn.ensemble._forest.DecisionTreeClassifier.__module__, sklearn.calibration.LinearSVC.__module__)
try:
    import sklearn.no_such_module
except ModuleNotFoundError:
    print(sklearn.tree.DecisionTreeClassifier is DecisionTreeClassifier)
didact.accelerate.disable()
from sklearn.mixture import GaussianMixture
print(sklearn.tree.DecisionTreeClassifier.__module__, GaussianMixture.__module__)
"""


def test_modules_are_not_imported_before_the_program_does_and_find_scikit_learns_own_inside():
    done = subprocess.run([sys.executable, "-c", LATER], capture_output=True, text=True, check=True)
    proxy = "didact.accelerate.proxies"
    assert done.stdout.split() == [
        *("False", "False"),
        *(proxy, proxy, proxy),
        *("sklearn.tree._classes", "sklearn.svm._classes"),
        "True",
        *("sklearn.tree._classes", "sklearn.mixture._gaussian_mixture"),
    ]


def test_importing_our_models_looks_for_no_garbage():
    """A look at all objects of pandas and SciPy takes longer than the import."""
    code = "import gc, didact.accelerate.proxies as p; looks, proxy = [], p.GaussianNB\n"
    code += "gc.callbacks.append(lambda phase, info: looks.append(info)); proxy.ours(); print(len(looks) < 5)\n"
    code += "print(gc.isenabled()); gc.disable(); p.Ridge.ours(); print(gc.isenabled())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "False"]


@pytest.mark.parametrize("name", sorted(proxies.MODULES.keys() - {n for f in names.FUNCTIONS.values() for n in f}))
def test_a_proxy_looks_like_the_class_in_whose_place_it_stands(name):
    proxy = getattr(proxies, name)
    theirs = getattr(importlib.import_module(f"sklearn.{names.MODULES[name]}"), name)
    assert issubclass(proxy, theirs)
    assert proxy.__name__ == name
    assert inspect.signature(proxy) == inspect.signature(theirs)
    assert inspect.signature(proxy.fit) == inspect.signature(theirs.fit)
    assert pickle.loads(pickle.dumps(proxy)) is proxy


def test_a_fit_is_ours_and_everything_asks_it():
    model = proxies.Ridge(alpha=2.0).fit(X, y)
    ours = didact.linear_model.Ridge(alpha=2.0).fit(X, y)
    assert runs_here(model)
    assert_allclose(model.coef_, ours.coef_, rtol=0)
    assert_allclose(model.predict(X), ours.predict(X), rtol=0)
    assert model.n_features_in_ == 4
    assert repr(model) == "Ridge(alpha=2.0)"
    assert is_regressor(model)
    assert is_classifier(proxies.GaussianNB())
    check_is_fitted(model)
    with pytest.raises(NotFittedError):
        proxies.Ridge().predict(X)
    with pytest.raises(AttributeError, match="_private"):
        _ = model._private


def test_types():
    model = proxies.Ridge().fit(X, y)
    assert isinstance(model, PlainRidge)
    assert isinstance(PlainRidge(), proxies.Ridge)
    assert isinstance(didact.linear_model.Ridge(), proxies.Ridge)
    assert not isinstance(didact.linear_model.Lasso(), proxies.Ridge)
    assert not isinstance(model, proxies.Lasso)


def test_what_we_refuse_is_left_to_scikit_learn_with_a_reason(caplog, monkeypatch):
    caplog.set_level(logging.INFO, "didact.accelerate")
    ours = didact.linear_model.Ridge

    def fit(self, X, y=None, sample_weight=None):
        raise didact.core.errors.InputError("Not today.")

    monkeypatch.setattr(ours, "fit", fit)
    model = proxies.Ridge().fit(X, y)
    model.of_the_other_fit_ = vars(model)["_didact_names"].add("of_the_other_fit_")
    assert not runs_here(model)
    assert "Ridge.fit is left to scikit-learn: Not today." in caplog.text
    assert_allclose(model.predict(X), PlainRidge().fit(X, y).predict(X), rtol=1e-12)
    monkeypatch.undo()
    assert runs_here(model.fit(X, y)), "the next fit may be ours"
    assert "of_the_other_fit_" not in vars(model), "and nothing of the other fit is left"


def test_errors_are_scikit_learns():
    for bad in ({"alpha": -1.0}, {"solver": "no such"}):
        with pytest.raises(ValueError) as ours:
            proxies.Ridge(**bad).fit(X, y)
        with pytest.raises(ValueError) as theirs:
            PlainRidge(**bad).fit(X, y)
        assert type(ours.value) is type(theirs.value)
        assert str(ours.value) == str(theirs.value)


def test_a_subclass_is_left_to_scikit_learn(caplog):
    class Own(proxies.Ridge):
        """A user's class."""

    caplog.set_level(logging.INFO, "didact.accelerate")
    model = Own().fit(X, y)
    assert not runs_here(model)
    assert "subclass" in caplog.text
    assert not isinstance(proxies.Ridge(), Own)


def test_copies():
    model = proxies.LogisticRegression(C=0.5).fit(X, y)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert type(other) is proxies.LogisticRegression
        assert_allclose(other.predict_proba(X), model.predict_proba(X), rtol=0)
    fresh = clone(model)
    assert fresh.C == 0.5
    with pytest.raises(NotFittedError):
        fresh.predict(X)


def test_a_pickle_opens_in_a_process_that_enabled_nothing(tmp_path):
    joblib.dump(proxies.Ridge().fit(X, y), tmp_path / "model.joblib")
    code = f"import joblib; print(joblib.load({str(tmp_path / 'model.joblib')!r}).predict([[1.0, 2.0, 3.0, 4.0]])[0])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(PlainRidge().fit(X, y).predict([[1.0, 2.0, 3.0, 4.0]])[0])


def test_parameters_changed_after_the_fit_count_for_predictions():
    model = proxies.KNeighborsClassifier(n_neighbors=50).fit(X, y)
    model.set_params(n_neighbors=1)
    assert model.score(X, y) == 1.0
    ridge = proxies.Ridge().fit(X, y)
    ridge.coef_ = np.zeros(4)
    assert_allclose(ridge.predict(X), ridge.intercept_)


def test_warm_starts_and_partial_fits_go_on():
    forest = proxies.RandomForestClassifier(n_estimators=3, warm_start=True, random_state=0).fit(X, y)
    first = forest.estimators_[0]
    assert len(forest.set_params(n_estimators=5).fit(X, y).estimators_) == 5
    assert_allclose(forest.estimators_[0].predict(X), first.predict(X))
    model = proxies.GaussianNB().partial_fit(X[::2], y[::2], classes=[0, 1, 2]).partial_fit(X[1::2], y[1::2])
    assert_allclose(model.theta_, didact.naive_bayes.GaussianNB().fit(X, y).theta_)
    assert runs_here(model)


def test_inside_pipelines_and_searches_in_other_processes():
    pipe = make_pipeline(StandardScaler(), proxies.LogisticRegression())
    plain = make_pipeline(StandardScaler(), PlainLogistic())
    assert list(pipe.named_steps) == ["standardscaler", "logisticregression"]
    assert_allclose(cross_val_score(pipe, X, y), cross_val_score(plain, X, y), atol=0.02)
    search = GridSearchCV(pipe, {"logisticregression__C": [0.1, 1.0]}, n_jobs=2, cv=3).fit(X, y)
    assert runs_here(search.best_estimator_[-1])


def test_models_inside_models_are_ours():
    model = proxies.BaggingClassifier(proxies.DecisionTreeClassifier(max_depth=2), n_estimators=3, random_state=0)
    model.fit(X, y)
    assert runs_here(model)
    assert isinstance(model.estimators_[0], proxies.DecisionTreeClassifier)
    assert clone(model).estimator.max_depth == 2


def test_output_containers():
    model = proxies.LinearDiscriminantAnalysis().set_output(transform="pandas")
    assert isinstance(model.fit_transform(X, y), pd.DataFrame)
    assert isinstance(model.set_output(transform="default").transform(X), np.ndarray)


def test_functions():
    found, theirs = (
        f(X, y, alphas=[0.1, 0.01], tol=1e-9, max_iter=100_000)[1] for f in (proxies.lasso_path, lasso_path)
    )
    assert_allclose(found, theirs, atol=1e-6)
    assert pickle.loads(pickle.dumps(proxies.lasso_path)) is proxies.lasso_path


def test_report(tmp_path, monkeypatch):
    path = tmp_path / "calls.jsonl"
    monkeypatch.setenv(REPORT, str(path))
    monkeypatch.setenv(COMPARE, "1")
    model = proxies.Ridge().fit(X, y)
    model.predict(X)
    calls = [json.loads(line) for line in path.read_text().splitlines()]
    assert [call["call"] for call in calls] == ["Ridge.fit", "Ridge.predict"]
    assert all(call["theirs"] > 0 for call in calls)
    left = json.dumps({"call": "Ridge.fit", "seconds": 1.0, "reason": "because", "theirs": None})
    text = summary([*path.read_text().splitlines(), left])
    assert "left to scikit-learn: 1 × Ridge.fit: because" in text
    assert "no covered class" in summary([])


def test_command_line(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom sklearn.linear_model import Ridge\n"
        "print(Ridge().fit([[0.0], [1.0]], [0.0, 1.0]).coef_, sys.argv[1:], __name__)\n"
    )
    command = [sys.executable, "-m", "didact.accelerate"]
    done = subprocess.run(
        [*command, "--report", str(script), "--report", "x"], capture_output=True, text=True, check=True
    )
    assert "['--report', 'x'] __main__" in done.stdout
    assert "Ridge.fit" in done.stderr
    missing = subprocess.run([*command, "nothing.py"], capture_output=True, text=True)
    assert missing.returncode
    assert "no file 'nothing.py'" in missing.stderr
