"""How every estimator behaves around a fit: callbacks, files, clones, searches, pipelines, routing, docs and names."""

import inspect
import pickle

import numpy as np
import pytest
import sklearn
from registry_cases import (
    about,
    all_instances,
    answer,
    assert_identical,
    assert_same,
    fitted,
    fitted_state,
    numbers,
    one_of_each,
    outputs,
    over_registry,
    precise,
    problem,
    representatives,
    state,
    takes,
)
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.externals._numpydoc.docscrape import ClassDoc
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import didact
from didact.core.parameters import INSTEAD

MODELS = all_instances()
CLASSES = one_of_each(MODELS)
PREDICTORS = [model for model in MODELS if is_classifier(model) or is_regressor(model)]
LIMITED = [model for model in MODELS if "max_iter" in model.get_params()]
WEIGHTED = [model for model in MODELS if takes(model, "sample_weight")]


class Recorder:
    """Counts iterations, and asks to stop after one of them."""

    def __init__(self, stop_at=None):
        self.stop_at, self.iterations, self.values, self.hooks = stop_at, [], [], []

    def setup(self, estimator, context):
        self.hooks.append("setup")

    def teardown(self, estimator, context):
        self.hooks.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.hooks.append("begin")

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        self.hooks.append("end")
        if not hasattr(context, "iteration"):
            return False
        self.iterations.append(context.iteration)
        self.values.append(context.value)
        self.fitted = fitted_estimator
        return context.iteration == self.stop_at


def _iterations(model):
    return int(np.max(model.n_iter_))


def _iterates(model):
    """Whether the model takes several iterations on its problem; a direct solve has nothing to report."""
    return _iterations(fitted(model)) > 1


def test_all_that_should_iterate_do():
    names = {"LogisticRegression", "PoissonRegressor", "GammaRegressor", "GeneralizedLinearRegressor"}
    assert names <= {type(model).__name__ for model in LIMITED if type(model).__name__ in names and _iterates(model)}


@over_registry(LIMITED, "callbacks/iterations")
def test_callbacks_fire_once_per_iteration(model):
    X, y = problem(model)
    recorder = Recorder()
    found = clone(model).set_callbacks(recorder).fit(X, y)
    if _iterates(model):
        assert recorder.iterations == list(range(1, _iterations(found) + 1))
        assert recorder.values[-1] <= recorder.values[0], "the objective falls"
    assert recorder.hooks[:2] == ["setup", "begin"]
    assert recorder.hooks[-2:] == ["end", "teardown"]
    assert_identical(state(found, X), fitted_state(model))


@over_registry(LIMITED, "callbacks/model")
def test_callbacks_get_a_model_that_predicts(model):
    X, y = problem(model)
    recorder = Recorder()
    found = clone(model).set_callbacks(recorder).fit(X, y)
    if _iterates(model):
        assert recorder.fitted is not None, "no attributes were handed to the callback"
        assert_same(outputs(recorder.fitted, X), outputs(found, X), rtol=0.5)


@over_registry(LIMITED, "callbacks/stop")
def test_early_stopping_really_stops(model):
    """No warning either: a fit that was asked to stop has not failed."""
    X, y = problem(model)
    if _iterates(model):
        whole = _iterations(fitted(model, tight=True))
        stopped = clone(model).set_callbacks(didact.EarlyStopping(patience=1, min_delta=1e9)).fit(X, y)
        assert _iterations(stopped) == 2 < whole
        assert _iterations(clone(model).set_callbacks(Recorder(stop_at=1)).fit(X, y)) == 1
        assert all(np.isfinite(v).all() for v in numbers(stopped).values())


@over_registry(LIMITED, "callbacks/limit")
def test_iteration_limit_warns_once(model):
    X, y = problem(model)
    if _iterates(model):
        with pytest.warns(sklearn.exceptions.ConvergenceWarning) as caught:
            short = precise(model).set_params(max_iter=1).fit(X, y)
        assert len(caught) == 1, [str(w.message) for w in caught]
        assert "max_iter" in str(caught[0].message)
        assert caught[0].filename == __file__, "the warning points at the call of fit"
        assert _iterations(short) == 1


# ------------------------------------------------------------------------------------------------ copies and files


@over_registry(MODELS, "save")
def test_saved_and_loaded_models_are_identical(model, tmp_path):
    X, y = problem(model)
    before = fitted(model)
    didact.save(before, tmp_path / "model.didact")
    loaded = didact.load(tmp_path / "model.didact")
    assert type(loaded) is type(before)
    assert repr(loaded) == repr(before)
    assert_identical(numbers(loaded) | outputs(loaded, X), numbers(before) | outputs(before, X))
    assert_identical(state(loaded.fit(X, y), X), fitted_state(model))


@over_registry(MODELS, "save")
def test_pickles_are_identical(model):
    X, _ = problem(model)
    assert_identical(state(pickle.loads(pickle.dumps(fitted(model))), X), fitted_state(model))


@over_registry(one_of_each(MODELS), "parameters")
def test_clone_get_params_set_params_repr(model):
    X, _ = problem(model)
    before = fitted(model)
    params = before.get_params(deep=False)
    assert set(params) == set(inspect.signature(type(model)).parameters)
    copy = clone(before)
    assert copy.get_params(deep=False) == params
    assert not numbers(copy)
    if get_tags(model).requires_fit and not answer(model).startswith("fit_"):
        with pytest.raises(NotFittedError):
            getattr(copy, answer(model))(X)
    assert type(model)().set_params(**params).get_params(deep=False) == params
    assert type(model)(**params).get_params(deep=False) == params
    assert repr(copy).startswith(type(model).__name__ + "(")
    changed = {k: v for k, v in params.items() if v != type(model)().get_params()[k]}
    assert all(f"{name}=" in repr(copy) for name in changed)
    with pytest.raises(ValueError, match="nonsense"):
        copy.set_params(nonsense=1)
    with pytest.raises(TypeError, match="nonsense"):
        type(model)(nonsense=1)


# ------------------------------------------------------------------------------------------------ other people's tools


@over_registry(representatives(PREDICTORS), "search")
def test_grid_search_in_processes(model):
    X, y = problem(model)
    grid = {"fit_intercept": [True, False]} if "fit_intercept" in model.get_params() else {}
    search = GridSearchCV(clone(model), grid, cv=2, n_jobs=2).fit(X, y)
    alone = GridSearchCV(clone(model), grid, cv=2).fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert_identical(outputs(search.best_estimator_, X), outputs(alone.best_estimator_, X))


@over_registry(one_of_each(MODELS), "pipeline")
def test_pipeline_equals_the_steps(model):
    X, y = problem(model)
    scaled = StandardScaler().fit_transform(X)
    pipe = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
    assert_identical(outputs(pipe, X), outputs(clone(model).fit(scaled, y), scaled))
    if hasattr(model, "score"):
        assert np.isfinite(cross_val_score(pipe, X, y, cv=2)).all()


@over_registry(one_of_each(WEIGHTED), "routing")
def test_sample_weight_is_routed(model):
    X, y = problem(model)
    w = np.random.default_rng(1).integers(0, 4, size=len(y)).astype(float)
    expected = outputs(clone(model).fit(X, y, sample_weight=w), X)
    with sklearn.config_context(enable_metadata_routing=True):
        asks = clone(model).set_fit_request(sample_weight=True)
        pipe = make_pipeline("passthrough", asks).fit(X, y, sample_weight=w)
        assert_identical(outputs(pipe[-1], X), expected)
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            make_pipeline("passthrough", clone(model)).fit(X, y, sample_weight=w)


@over_registry(one_of_each(PREDICTORS), "score")
def test_score_takes_weights(model):
    X, y = problem(model)
    w = np.random.default_rng(1).integers(0, 4, size=len(y))
    before = fitted(model)
    repeated = before.score(np.repeat(X, w, axis=0), np.repeat(y, w, axis=0))
    np.testing.assert_allclose(before.score(X, y, sample_weight=w), repeated, rtol=1e-9)


# ------------------------------------------------------------------------------------------------ words


@over_registry(CLASSES, "flags")
def test_machinery_flags_say_what_to_use_instead(model):
    """Where scikit-learn has a class of the name, those that it takes are taken."""
    flags = {"n_jobs", "verbose", "copy_X", "precompute", "cache_size"}
    for flag in sorted(flags - type(model)._parameter_constraints.keys()):
        with about(flag), pytest.raises(TypeError) as caught:
            type(model)(**{flag: 1})
        message = str(caught.value)
        assert type(model).__name__ in message
        assert INSTEAD[flag] in message


@over_registry(CLASSES, "docs")
def test_docstring(model):
    doc = ClassDoc(type(model))
    assert " ".join(doc["Summary"]).endswith((".", ":"))
    names = [entry.name for entry in doc["Parameters"]]
    assert names == list(inspect.signature(type(model)).parameters)
    assert all(entry.type and " ".join(entry.desc).strip() for entry in doc["Parameters"])
    assert all(entry.type and " ".join(entry.desc).strip() for entry in doc["Attributes"])
    for section in ("Notes", "References", "Examples"):
        assert doc[section], f"no section {section}"
    assert ">>>" in "\n".join(doc["Examples"])
    assert "doi:" in "\n".join(doc["References"])
    for method in ("fit", "predict", "transform"):
        if hasattr(model, method):
            assert inspect.getdoc(getattr(model, method)), method


@over_registry(CLASSES, "parameters")
def test_unfitted_models_say_so(model):
    X, _ = problem(model)
    for method in outputs(fitted(model), X):
        if method.startswith("fit_"):  # it says nothing of new rows
            continue
        if not get_tags(model).requires_fit:  # it speaks of its prior
            assert np.isfinite(getattr(clone(model), method)(X)).all()
            continue
        with pytest.raises(NotFittedError, match="not fitted"):
            getattr(clone(model), method)(X)
