"""All classes that `accelerate` replaces × all their public methods: each runs here, and the report says so."""

import importlib
import inspect
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from matplotlib import pyplot
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, is_classifier
from sklearn.inspection import PartialDependenceDisplay, partial_dependence
from sklearn.linear_model import Ridge
from sklearn.mixture import BayesianGaussianMixture
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler

from didact.accelerate import accelerated, names, proxies, runs_here
from didact.accelerate.record import REPORT, summary
from didact.core.errors import InputError

CLASSES = sorted({name for listed in names.CLASSES.values() for name in listed})
rng = np.random.default_rng(0)
X = rng.integers(0, 4, (60, 4)) + rng.uniform(0.0, 0.5, (60, 4))
numbers = X @ [1.0, 0.5, 0.0, 2.0] + rng.uniform(0.1, 1.0, 60)
labels = np.digitize(numbers, np.quantile(numbers, [0.3, 0.6]))
PARAMETERS = {
    "KernelPCA": {"fit_inverse_transform": True},
    "MDS": {"n_init": 1, "init": "random"},
    "OneVsOneClassifier": {"estimator": Ridge()},
    "OutputCodeClassifier": {"estimator": Ridge()},
    "SGDClassifier": {"loss": "log_loss"},
    "TSNE": {"perplexity": 5.0, "max_iter": 250},
    "VotingRegressor": {"estimators": [("ridge", Ridge())]},
}
FOR_MODELS = {"OneVsOneClassifier", "OutputCodeClassifier"}
UNFITTED = {"fit", "fit_transform", "fit_predict", "partial_fit", "path", "cost_complexity_pruning_path"}
WITH_TARGETS = UNFITTED | {"score", "staged_score"}
ALONE = {"bic", "aic", "densify", "sparsify", "sample", "reconstruction_error", "log_marginal_likelihood"}


def model_of(name):
    """A model that is not fitted, and its data."""
    kwargs = dict(PARAMETERS.get(name, {}))
    if name in FOR_MODELS:
        kwargs["estimator"] = proxies.LogisticRegression()
    model = getattr(proxies, name)(**kwargs)
    rows = np.floor(X) if name == "CategoricalNB" else X
    targets = labels if is_classifier(model) else numbers
    targets = targets > 0 if name == "GaussianProcessClassifier" else targets
    return model, rows, np.column_stack([targets, targets**2]) if "MultiTask" in name or name == "CCA" else targets


def methods_of(model):
    """The names of the public methods that compute, those that fit first."""
    theirs = type(model).theirs
    found = {name for cls in theirs.__mro__ for name in vars(cls) if name[0] != "_"} - set(dir(BaseEstimator))
    kinds = {name: inspect.getattr_static(theirs, name) for name in found}
    requests = {name for name, kind in kinds.items() if type(kind).__name__ == "RequestMethod"}
    callables = {name for name in found - requests if callable(getattr(theirs, name, None)) and name[:4] != "set_"}
    return sorted(callables - {"loss_functions"}, key=lambda name: (name not in UNFITTED, name))


def arguments(model, method, rows, targets):
    """What a method is asked with."""
    if method == "partial_fit" and is_classifier(model):
        return rows, targets, np.unique(targets)
    if method == "inverse_transform":
        return (model.transform(rows),)
    if method.startswith("get_") or (method in ALONE and method not in ("bic", "aic")):
        return ()
    return (rows, targets) if method in WITH_TARGETS else (rows,)


@pytest.fixture
def report(tmp_path, monkeypatch):
    """The lines of the report, read and forgotten."""
    path = tmp_path / "calls.jsonl"
    monkeypatch.setenv(REPORT, str(path))

    def lines():
        found = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        path.unlink(missing_ok=True)
        return found

    return lines


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("name", CLASSES)
def test_every_method_runs_here(name, report):
    model, rows, targets = model_of(name)
    for method in methods_of(model):
        if method in UNFITTED:
            model = model_of(name)[0]
        elif not runs_here(model):
            model.fit(rows, targets)
        try:
            asked = getattr(model, method)
        except AttributeError:
            continue  # not with these parameters
        given = arguments(model, method, rows, targets)
        report()
        found = asked(*given)
        if inspect.isgenerator(found):
            list(found)
        told = [(line["call"], line["reason"]) for line in report()]
        where = method if method == "path" else f"{name}.{method}"
        assert len(told) == 1, told
        assert told[0][1] is None, told
        assert told[0][0] == where or (where == "path" and told[0][0].endswith("_path"))
        assert runs_here(model) or method in ("path", "cost_complexity_pruning_path")
        assert not isinstance(found, type(model)) or found is model


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", [name for name in CLASSES if hasattr(getattr(proxies, name), "transform")])
def test_the_last_fit_transforms(name):
    def seeded():
        model, rows, targets = model_of(name)
        return model.set_params(**{"random_state": 0} if "random_state" in model.get_params() else {}), rows, targets

    model, rows, targets = seeded()
    model.fit(rows[:20] ** 2, targets[:20]).fit_transform(rows[20:], targets[20:])
    alone = seeded()[0].fit(rows[20:], targets[20:])
    assert_allclose(model.transform(rows[20:]), alone.transform(rows[20:]), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    "last", [proxies.TSNE(perplexity=5.0, max_iter=250), proxies.PCA(), proxies.Isomap()], ids=repr
)
def test_inside_pipelines_too(last, report):
    pipe = make_pipeline(StandardScaler(), proxies.PCA(3), last)
    pipe.fit_transform(X)
    name = type(last).__name__
    assert [(line["call"], line["reason"]) for line in report()] == [
        ("PCA.fit_transform", None),
        (f"{name}.fit_transform", None),
    ]
    assert all(runs_here(step) for step in pipe[1:])


def test_every_call_that_is_left_is_named_with_its_reason(report):
    class Own(proxies.PCA):
        """A user's class."""

    own = Own(2)
    own.fit_transform(X)
    own.transform(X)
    refused = proxies.Ridge(alpha=-1.0)
    with pytest.raises(ValueError, match="alpha"):
        refused.fit(X, numbers)
    voting = proxies.VotingRegressor([("own", type("Mine", (proxies.Ridge,), {})())])
    voting.fit(X, numbers)
    lines = report()
    left = [(line["call"], line["reason"]) for line in lines if line["reason"]]
    assert [call for call, _ in left] == ["Own.fit_transform", "Own.transform", "Ridge.fit", "Mine.fit"]
    text = summary(map(json.dumps, lines))
    assert all(f"left to scikit-learn: 1 × {call}: {why}" in text for call, why in left)


def test_while_scikit_learn_computes_it_asks_its_own(report, monkeypatch):
    """Its `fit_transform` fits and transforms: once by itself, and not once more by us."""
    fits = []
    ours = proxies.FactorAnalysis.ours()

    def refuse(self, X, y=None):
        fits.append(self)
        raise InputError("Not today.")

    monkeypatch.setattr(ours, "fit", refuse)
    model = proxies.FactorAnalysis(2)
    found = model.fit_transform(X)
    assert len(fits) == 1
    assert not runs_here(model)
    assert_allclose(found, proxies.FactorAnalysis.theirs(2).fit_transform(X))
    assert [line["call"] for line in report()] == ["FactorAnalysis.fit_transform"]
    assert_allclose(model.transform(X), found)


def test_attributes_are_found_in_the_model_as_there():
    for model in (proxies.PCA(2), proxies.Ridge(), proxies.KMeans(2, n_init=1)):
        there = {name for name in vars(type(model).theirs(**model.get_params()).fit(X, numbers)) if name[-1] == "_"}
        assert there <= set(vars(model.fit(X, numbers)))
        copied = pickle.loads(pickle.dumps(model))
        assert there <= set(vars(copied))
        assert not there & set(model.__getstate__()), "and none twice in a file"
    sgd = proxies.SGDRegressor(max_iter=5, tol=None).fit(X, numbers)
    before = sgd.coef_
    sgd.partial_fit(X, numbers)
    assert vars(sgd)["coef_"] is sgd.coef_ is not before


def test_classes_that_scikit_learn_uses_inside_are_its_own():
    """Wherever it imports or asks them: the file of the asking code decides."""
    code = "from sklearn.{0} import {1}\nimport sklearn.{0}\nfound = {1}, getattr(sklearn.{0}, '{1}')"
    with accelerated():
        for name, module in names.MODULES.items():
            importlib.import_module(f"sklearn.{module}")
            inside, outside = {}, {}
            exec(compile(code.format(module, name), Path(sklearn.__file__).parent / "any" / "file.py", "exec"), inside)
            exec(compile(code.format(module, name), "program.py", "exec"), outside)
            ours = getattr(proxies, name)
            assert inside["found"] == (ours.theirs, ours.theirs)
            assert outside["found"] == (ours, ours)
    assert not any(hasattr(cls, "theirs") for cls in inside["found"])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_scikit_learn_computes_by_itself_does_not_change():
    def computed():
        bins = KBinsDiscretizer(3, strategy="kmeans", encode="ordinal").fit(X)
        mixture = BayesianGaussianMixture(n_components=2, random_state=0, max_iter=5).fit(X)
        nearby = NeighborhoodComponentsAnalysis(init="lda", n_components=2, max_iter=2).fit(X, labels)
        return [*bins.bin_edges_, mixture.means_, nearby.components_]

    before = computed()
    with accelerated():
        after = computed()
    for one, other in zip(before, after, strict=True):
        assert_allclose(one, other, rtol=0, atol=0)


def test_modules_can_be_sent_and_patched(monkeypatch):
    with accelerated():
        assert pickle.loads(pickle.dumps(sklearn.linear_model)) is sklearn.linear_model
        monkeypatch.setattr("sklearn.linear_model.Ridge", "mine")
        assert sklearn.linear_model.Ridge == "mine"
        monkeypatch.undo()
        assert sklearn.linear_model.Ridge is proxies.Ridge


def broken():
    S = sp.csr_matrix(X)
    S.indptr[2] = 10**8
    return S


@pytest.mark.parametrize("name", CLASSES)
def test_no_malformed_matrix_comes_to_scikit_learn(name, monkeypatch):
    """Whether we refuse it, or refuse something else before we look at it."""
    model, _, targets = model_of(name)
    ours, inherited = type(model).ours(), type(model).theirs

    def fall(self, *args, **kwargs):
        raise AssertionError("scikit-learn was asked")

    for method in ("fit", "fit_transform", "fit_predict"):
        if hasattr(inherited, method):
            with pytest.raises(InputError, match="X is a malformed sparse matrix"):
                getattr(model, method)(broken(), targets)
            monkeypatch.setattr(ours, method, fall)
            with pytest.raises(InputError, match="X is a malformed sparse matrix"):
                getattr(model, method)(broken(), targets)
            monkeypatch.undo()


def test_nor_do_malformed_parameters_weights_and_queries(monkeypatch):
    S = broken()
    with pytest.raises(InputError, match="malformed"):
        proxies.AgglomerativeClustering(connectivity=S).fit(X)
    with pytest.raises(InputError, match="malformed"):
        proxies.Ridge().fit(X, y=S)
    monkeypatch.setattr(proxies.Ridge.ours(), "fit", None)
    left = proxies.Ridge().fit(X, numbers)
    assert not runs_here(left)
    for ask in (left.predict, lambda S: left.score(X=S, y=numbers), proxies.Ridge().predict, proxies.lasso_path):
        with pytest.raises(InputError, match="malformed"):
            ask(S) if ask is not proxies.lasso_path else ask(S, numbers)


@pytest.mark.parametrize("name", ["DecisionTreeRegressor", "RandomForestRegressor", "HistGradientBoostingRegressor"])
def test_pictures_of_partial_dependence(name):
    model = getattr(proxies, name)().fit(X, numbers)
    display = PartialDependenceDisplay.from_estimator(model, X, [0, (0, 3)], grid_resolution=5)
    pyplot.close("all")
    for j, features in enumerate(([0], [0, 3])):
        expected = partial_dependence(model, X, features, grid_resolution=5, method="recursion")["average"]
        assert_allclose(display.pd_results[j]["average"], expected)
