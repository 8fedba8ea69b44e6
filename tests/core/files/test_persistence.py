"""Model files: what comes back is what was saved, nothing in a file is trusted, and nothing on disk is lost."""

import io
import json
import os
import re
import stat
import sys
import types
import warnings
import zipfile
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
import skops.io
from sklearn import neighbors
from sklearn.callback import ScoringMonitor
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge, TweedieRegressor
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, RepeatedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import didact
from didact.core.errors import InputError
from didact.core.estimator import Estimator
from didact.core.files import nouns, persistence
from didact.core.overflow import Largest
from didact.neighbors import KNeighborsClassifier
from didact.parts.families import GLMLoss
from didact.parts.families.power import Tweedie
from didact.parts.links import Power
from didact.parts.losses import regression as regression_losses

X, y = make_classification(80, 6, random_state=0)
X = np.abs(X)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.didact"


def again(model, path):
    didact.save(model, path)
    return didact.load(path)


def rewrite(path, **parts):
    """Replace parts of a file; None removes one."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    content |= {name.replace("__", "."): data for name, data in parts.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            if data is not None:
                archive.writestr(name, data)


def manifest(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("manifest.json"))


def forged(path, change, model=None):
    """A file whose skops schema has been changed by hand."""
    didact.save(FunctionTransformer(np.log1p) if model is None else model, path)
    with zipfile.ZipFile(path) as archive:
        part = archive.read("model.skops")
    with zipfile.ZipFile(io.BytesIO(part)) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(content["schema.json"])
    change(schema)
    content["schema.json"] = json.dumps(schema).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    rewrite(path, model__skops=buffer.getvalue())


# ------------------------------------------------------------------------------------------------ there and back

MODELS = {
    "ridge": Ridge(),
    "logistic": LogisticRegression(),
    "poisson": PoissonRegressor(),
    "tweedie": TweedieRegressor(),
    "gp": GaussianProcessRegressor(alpha=0.1),
    "pipeline": make_pipeline(StandardScaler(), SelectKBest(k=3), LogisticRegression()),
    "columns": make_pipeline(
        ColumnTransformer([("log", FunctionTransformer(np.log1p), [0]), ("hot", OneHotEncoder(), slice(1, 2))]),
        Ridge(),
    ),
    "search": GridSearchCV(Ridge(), {"alpha": np.logspace(-2, 2, 3)}, cv=RepeatedKFold(n_splits=3, n_repeats=1)),
    "search of a pipeline": GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression()),
        {"logisticregression__C": [0.1, 1.0]},
        scoring={"f": make_scorer(f1_score), "a": "accuracy"},
        refit="f",
        cv=3,
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_identical(name, path):
    model = MODELS[name].fit(X.round(1), y)
    loaded = again(model, path)
    assert type(loaded) is type(model)
    assert repr(loaded.get_params()) == repr(model.get_params())
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, method):
            np.testing.assert_array_equal(getattr(loaded, method)(X.round(1)), getattr(model, method)(X.round(1)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_attributes_keep_value_type_and_order(dtype, path):
    model = Ridge().fit(X.astype(dtype), np.stack([y, -y], axis=1).astype(dtype))
    model.more_ = {"a": [1, 2.5, None, "text", True], 3: (np.float64(0.1), float("inf")), "nan": float("nan")}
    model.coef_ = np.asfortranarray(model.coef_)
    loaded = again(model, path)
    assert loaded.coef_.dtype == dtype
    assert loaded.coef_.flags.f_contiguous
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    assert repr(loaded.more_) == repr(model.more_)


def test_sparse_training_data_and_metadata_requests(path):
    model = KNeighborsClassifier(algorithm="brute").fit(sp.csr_array(X), y)
    assert sp.issparse(model._index.rows)
    np.testing.assert_array_equal(again(model, path).predict_proba(X), model.predict_proba(X))
    with sklearn.config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=True).fit(X, y)
        loaded = again(model, path)
        assert loaded.get_metadata_routing().fit.requests == {"sample_weight": True}
        assert model.get_metadata_routing().owner is model


def test_an_unfitted_model_and_frames(path):
    pandas = pytest.importorskip("pandas")
    assert again(Ridge(alpha=0.3), path).alpha == 0.3
    frame = pandas.DataFrame(X[:, :2], columns=["length", "width"])
    model = Ridge().fit(frame, y)
    np.testing.assert_array_equal(again(model, path).predict(frame), model.predict(frame))
    said = manifest(path)
    assert said["feature_names"] == ["length", "width"]
    assert said["n_features"] == 2
    assert said["dtypes"]["coef_"] == "float64"
    assert said["format"] == persistence.FORMAT
    assert said["class"] == "sklearn.linear_model._ridge.Ridge"
    assert set(said["versions"]) >= {"didact", "scikit-learn", "numpy", "scipy"}
    assert said["saved"].startswith("20")


def test_callbacks_are_dropped_and_stay_on_the_model_in_memory(path):
    monitor, stop = ScoringMonitor(scoring="r2"), didact.EarlyStopping()
    inner = LogisticRegression().set_callbacks(monitor)
    search = GridSearchCV(make_pipeline(StandardScaler(), inner), {"logisticregression__C": [1.0]}, cv=2).fit(X, y)
    search.set_callbacks(stop)
    before = {id(m): dict(vars(m)) for m in (search, search.best_estimator_[-1], inner)}
    loaded = again(search, path)
    for model in (loaded, loaded.estimator[-1], loaded.best_estimator_[-1]):
        assert not any("callback" in name for name in vars(model))
    for model in (search, search.best_estimator_[-1], inner):
        assert vars(model).keys() == before[id(model)].keys()
        assert all(vars(model)[k] is v for k, v in before[id(model)].items())
    assert search._skl_callbacks == [stop]
    assert inner._skl_callbacks == [monitor]
    np.testing.assert_array_equal(loaded.predict(X), search.predict(X))


# ------------------------------------------------------------------------------------------------ types of didact


class Slope(NamedTuple):
    value: float = 2.0


class Model(Estimator):
    """A small model."""

    def fit(self, X, y=None):
        self.slope_ = Slope(3.0)
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0] * self.slope_.value


def test_estimators_and_nouns_of_didact_are_known(path, monkeypatch):
    monkeypatch.setitem(nouns.PLACES, "slope", "didact.parts.some_slope.Slope")
    for cls, home in ((Slope, "didact.parts.some_slope"), (Model, "didact.linear_model.some_model")):
        module = types.ModuleType(home)
        monkeypatch.setattr(cls, "__module__", home)
        monkeypatch.setitem(sys.modules, home, module)
        setattr(module, cls.__name__, cls)
    model = make_pipeline(StandardScaler(), Model()).fit(X, y)
    loaded = again(model, path)
    assert type(loaded[-1]) is Model
    assert loaded[-1].slope_ == Slope(3.0)
    assert type(loaded[-1].slope_) is Slope
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize("name", ["LinearRegression", "Ridge", "PoissonRegressor", "LogisticRegression"])
def test_models_of_didact(name, path):
    target = y if name == "LogisticRegression" else y + 1.0
    model = make_pipeline(StandardScaler(), getattr(didact.linear_model, name)()).fit(X, target)
    loaded = again(model, path)
    assert type(loaded[-1]) is type(model[-1])
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert manifest(path)["n_features"] == 6


def test_nouns_come_back_whole(path):
    model = Ridge()
    model.nouns_ = {"loss": regression_losses.Huber(0.7), "links": [GLMLoss(Tweedie(1.5), Power(0.5))]}
    loaded = again(model, path)
    assert loaded.nouns_ == model.nouns_  # nouns are equal only to nouns of their class
    assert loaded.nouns_["links"][0].link.inverse(np.array([2.0])) == 4.0
    assert type(model.nouns_["loss"]) is regression_losses.Huber


def test_a_forged_noun_is_refused_by_name(path):
    model = Ridge()
    for name in (
        "os.system",
        "didact.core.files.persistence.save",
        "didact.linear_model.ridge.Ridge",
        "didact.parts.links.math",
        "link/math/1",
        "link/Link/1",
        "link/get_link/1",
        "tree/Tree/1",
    ):
        model.loss_ = {persistence.NOUN: name, "fields": {"x": "touch /tmp/trace"}}
        didact_file(path, model)
        refuses(path, f"Ridge.loss_ is a {name}, which didact does not trust")
    for wrong in ({persistence.NOUN: 3}, {persistence.NOUN: "link/Power/1", "fields": {"p": 1, "q": 2}}):
        model.loss_ = wrong
        didact_file(path, model)
        refuses(path, "damaged")


class Shift(NamedTuple):
    """What `Slope` became: a factor and an offset."""

    value: float
    offset: float
    version = 2


def test_a_noun_whose_fields_have_changed_is_read_from_older_files(path, monkeypatch):
    """The id stays, the class may get another name and place, and older fields are translated."""
    monkeypatch.setitem(nouns.PLACES, "slope", "didact.parts.some_slope.Slope")
    module = types.ModuleType("didact.parts.some_slope")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for cls in (Slope, Shift):
        monkeypatch.setattr(cls, "__module__", module.__name__)
        setattr(module, cls.__name__, cls)
    model = Ridge()
    model.slope_ = Slope(3.0)
    didact.save(model, path)

    monkeypatch.setitem(nouns.PLACES, "slope", "didact.parts.some_slope.Shift")
    monkeypatch.setitem(nouns.UPGRADES, "slope/1", lambda fields: fields | {"offset": 0.0})
    assert didact.load(path).slope_ == Shift(3.0, 0.0)
    model.slope_ = Shift(1.0, 2.0)
    assert again(model, path).slope_ == Shift(1.0, 2.0)
    monkeypatch.setitem(nouns.PLACES, "slope", "didact.parts.some_slope.Slope")
    refuses(path, "slope/2 was written by a newer didact")


def test_nouns_by_module_of_the_first_format_are_refused_in_words(path):
    model = Ridge()
    model.loss_ = {persistence.NOUN: "didact.parts.links.Power", "fields": [2.0]}
    didact_file(path, model)
    refuses(path, "has format 1, whose didact.parts.links.Power this version cannot read: fit the model anew")


def test_no_module_of_didact_is_named_in_a_file(path):
    """Classes stand under the names that users import, so that their modules may move."""
    didact.save(make_pipeline(StandardScaler(), didact.linear_model.PoissonRegressor()).fit(X, y + 1.0), path)
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(io.BytesIO(archive.read("model.skops"))) as inner:
        found = set(re.findall(r"didact\.[\w.]+", inner.read("schema.json").decode()))
    assert found == {"didact.linear_model"}


def test_a_noun_without_an_id_is_not_written(path):
    model = Ridge()
    model.block_ = Largest(np.ones(2))
    with pytest.raises(InputError, match=r"Ridge.block_ is a didact\..*Largest, which has no id in files"):
        didact.save(model, path)


def test_every_id_of_a_noun_leads_to_a_class():
    assert all(nouns._class(name) is not None for name in nouns.PLACES)
    assert all(nouns._class(f"{kind}/Nothing") is None for kind in nouns.KINDS)


def didact_file(path, model):
    """A file around whatever skops writes."""
    didact.save(Ridge(), path)
    rewrite(path, model__skops=skops.io.dumps(model))


def refuses(path, match):
    with pytest.raises(InputError, match=match) as error:
        didact.load(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_types_of_other_people_are_refused_by_name(path):
    with pytest.raises(InputError, match=r"This Model cannot be saved: it holds .*test_persistence\.Model"):
        didact.save(Model().fit(X), path)
    with pytest.raises(InputError, match="lambda"):
        didact.save(FunctionTransformer(lambda x: x), path)
    for model in (DecisionTreeClassifier(), neighbors.KNeighborsClassifier(), SVC(), KMeans(2, n_init=1)):
        with pytest.raises(InputError, match=rf"holds sklearn\..*{type(model).__name__}"):
            didact.save(model.fit(X, y), path)
    with pytest.raises(InputError, match="a dict is not a model"):
        didact.save({"a": 1}, path)
    assert not path.exists()


def test_torch_is_refused_with_its_place(path, monkeypatch):
    torch = types.ModuleType("torch")
    tensor = type("Linear", (), {"__module__": "torch.nn.modules.linear"})
    monkeypatch.setitem(sys.modules, "torch", torch)
    model = make_pipeline(StandardScaler(), Ridge()).fit(X, y)
    model[-1].nets_ = [None, tensor()]
    with pytest.raises(
        InputError, match=r"Pipeline\.steps\[1\]\[1\]\.nets_\[1\] is a torch\.nn\.modules\.linear\.Linear"
    ):
        didact.save(model, path)


def test_a_model_that_holds_itself_is_refused(path):
    model = Ridge().fit(X, y)
    model.me_ = [model]
    with pytest.raises(InputError, match="it refers to itself"):
        didact.save(model, path)


# ------------------------------------------------------------------------------------------------ forged files


@pytest.mark.parametrize(
    ("module", "name", "loader"),
    [
        ("os", "system", "FunctionNode"),
        ("builtins", "eval", "FunctionNode"),
        ("builtins", "exec", "TypeNode"),
        ("subprocess", "Popen", "TypeNode"),
        ("didact.core.files.persistence", "save", "FunctionNode"),
        ("didact.core.threads", "serial", "TypeNode"),
        ("didact.core.errors", "InputError", "TypeNode"),
        ("didact.cli", "main", "FunctionNode"),
        ("didact.no_such_module", "Model", "TypeNode"),
        ("didact.core..persistence", "save", "FunctionNode"),
        ("scipy.stats._distn_infrastructure", "rv_frozen", "TypeNode"),
        ("sklearn.utils._testing", "TempMemmap", "TypeNode"),
        ("numpy", "fromfile", "FunctionNode"),
    ],
)
def test_a_forged_file_is_refused_by_name(path, module, name, loader):
    def change(schema):
        schema["content"]["content"]["func"] |= {"__module__": module, "__class__": name, "__loader__": loader}

    forged(path, change)
    with pytest.raises(InputError) as error:
        didact.load(path)
    assert f"{module}.{name}" in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_nothing_is_executed(path, tmp_path):
    trace = tmp_path / "trace"
    arguments = skops.io.dumps((f"touch {trace}",))
    with zipfile.ZipFile(io.BytesIO(arguments)) as archive:
        state = json.loads(archive.read("schema.json"))

    def change(schema):
        call = {"__module__": "os", "__class__": "system", "__loader__": "ConstructorFromReduceNode", "content": state}
        schema["content"]["content"]["func"] = call

    forged(path, change)
    with pytest.raises(InputError, match=r"it names os\.system"):
        didact.load(path)
    assert not trace.exists()


def test_a_method_in_a_forged_file_is_refused(path):
    def change(schema):
        model = json.loads(json.dumps(schema))
        model.pop("__id__")
        node = {k: model[k] for k in ("__module__", "__class__")} | {"__loader__": "MethodNode"}
        schema["content"]["content"]["func"] = node | {"content": {"func": "fit", "obj": model}}

    forged(path, change)
    with pytest.raises(InputError, match=r"FunctionTransformer\.fit"):
        didact.load(path)


def test_forged_indices_of_a_sparse_matrix_are_refused(path):
    model = KNeighborsClassifier(algorithm="brute").fit(sp.csr_array(X), y)
    didact.save(model, path)
    model._index.rows.indices[3] = 10**6
    didact.save(model, path)
    with pytest.raises(InputError, match="is damaged"):
        didact.load(path)


def test_a_file_that_holds_no_model_is_refused(path):
    didact.save(Ridge(), path)
    rewrite(path, model__skops=skops.io.dumps([1, 2]))
    with pytest.raises(InputError, match="holds a list, which is not a model"):
        didact.load(path)


@pytest.mark.parametrize(
    "kind", [np.ma.MaskedArray, lambda a: np.ma.array(a.astype(object)), lambda a: a.view(np.recarray)]
)
def test_only_plain_arrays_are_written_and_read(path, kind):
    model = Ridge().fit(X, y)
    model.coef_ = kind(np.asarray(model.coef_))
    with pytest.raises(InputError, match=r"Ridge\.coef_ is a numpy.*plain arrays only"):
        didact.save(model, path)
    didact_file(path, model)
    with pytest.raises(InputError, match=r"plain arrays only|is damaged|does not trust"):
        didact.load(path)


def test_masked_arrays_hidden_in_sparse_matrices_and_nouns(path):
    model = Ridge()
    model.table_ = sp.csr_array(X)
    model.table_.data = np.ma.array(model.table_.data)
    with pytest.raises(InputError, match="plain arrays only"):
        didact.save(model, path)
    model = Ridge()
    model.loss_ = {persistence.NOUN: "link/Power/1", "fields": {"p": np.ma.array([1.0])}}
    didact_file(path, model)
    refuses(path, "plain arrays only")


def test_types_that_read_beyond_their_arrays_are_refused(path):
    for model in (neighbors.KNeighborsClassifier(algorithm="brute"), SVC(), KMeans(2, n_init=1)):
        didact_file(path, model.fit(X, y))
        refuses(path, f"names .*{type(model).__name__}")


# ------------------------------------------------------------------------------------------------ damaged files


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="This system has no named pipes.")
def test_a_pipe_is_no_file(path):
    os.mkfifo(path)
    with pytest.raises(InputError, match="not a regular file"):
        didact.load(path)
    with pytest.raises(InputError, match="not a regular file"):
        didact.load(path.parent)


def test_files_that_are_no_zip(path):
    for content in (b"", b"hello", os.urandom(5000)):
        path.write_bytes(content)
        refuses(path, "not a didact file")
    with pytest.raises(FileNotFoundError):
        didact.load(path.with_name("missing.didact"))


def test_truncated_and_flipped_files(path):
    didact.save(LogisticRegression().fit(X, y), path)
    whole = path.read_bytes()
    for length in range(1, len(whole), len(whole) // 20):
        path.write_bytes(whole[:length])
        refuses(path, "damaged")
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    path.write_bytes(bytes(flipped))
    refuses(path, "damaged")


@pytest.mark.parametrize("part", ["manifest.json", "model.skops"])
def test_missing_parts(path, part):
    didact.save(Ridge(), path)
    rewrite(path, **{part.replace(".", "__"): None})
    refuses(path, f"{part} is missing")


def test_nonsense_inside(path):
    for wrong in (
        b"not json",
        b"[]",
        b"{}",
        b'{"format": "1"}',
        b'{"format": 1, "versions": {}}',
        b"\xff\xfe",
        b"[" * 99999,
    ):
        didact.save(Ridge(), path)
        rewrite(path, manifest__json=wrong)
        refuses(path, "damaged")
    for wrong in (b"no zip", b"", b"PK\x03\x04 cut short"):
        didact.save(Ridge(), path)
        rewrite(path, model__skops=wrong)
        refuses(path, "damaged")
    forged(path, lambda schema: schema.pop("protocol"))
    refuses(path, "damaged")
    forged(path, lambda schema: schema["content"].pop("content"))
    refuses(path, "damaged")


def test_a_newer_format(path):
    didact.save(Ridge(), path)
    said = manifest(path)
    newer = persistence.FORMAT + 1
    rewrite(path, manifest__json=json.dumps(said | {"format": newer}))
    refuses(path, rf"newer didact \(format {newer}\)")
    didact.save(Ridge(), path)
    rewrite(path, tensors__safetensors=b"")
    refuses(path, "newer didact")


def test_bombs_are_refused_at_each_level(path, monkeypatch):
    monkeypatch.setattr(persistence, "SMALL", 1 << 20)
    zeros = bytes(8 << 20)

    def bomb():
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("data.npy", zeros)
        return buffer.getvalue()

    didact.save(Ridge(), path)
    rewrite(path, more=zeros)
    refuses(path, "would unpack")
    didact.save(Ridge(), path)
    rewrite(path, model__skops=bomb())
    refuses(path, "would unpack")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("model.skops", bomb())
    didact.save(Ridge(), path)
    rewrite(path, model__skops=buffer.getvalue())
    refuses(path, "would unpack")
    model = Ridge()
    model.zeros_ = np.zeros(1 << 18)  # what is large is stored as it is, so that it never looks like a bomb
    monkeypatch.setattr(persistence, "COMPRESS_BELOW", 1 << 20)
    np.testing.assert_array_equal(again(model, path).zeros_, model.zeros_)


# ------------------------------------------------------------------------------------------------ versions


def test_only_another_minor_version_of_scikit_learn_warns(path):
    model = LogisticRegression().fit(X, y)
    didact.save(model, path)
    said = manifest(path)
    rewrite(path, manifest__json=json.dumps(said | {"versions": said["versions"] | {"scikit-learn": "1.8.2"}}))
    with pytest.warns(UserWarning, match=r"saved with scikit-learn 1\.8\.2") as record:
        didact.load(path)
    assert len(record) == 1
    assert record[0].filename == __file__

    def patch(schema):
        schema["content"]["content"]["_sklearn_version"]["content"] = '"1.9.0"'

    forged(path, patch, model)
    rewrite(path, manifest__json=json.dumps(said | {"versions": said["versions"] | {"numpy": "1.0", "scipy": "9.9"}}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        didact.load(path)


# ------------------------------------------------------------------------------------------------ writing


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_interrupted_write_leaves_the_old_file(path, monkeypatch, step, error):
    didact.save(Ridge(alpha=1.0), path)
    before = path.read_bytes()

    def fail(*arguments):
        raise error

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(error)):
        didact.save(Ridge(alpha=2.0), path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]
    assert didact.load(path).alpha == 1.0


def test_what_killed_saves_left_behind_is_removed_in_time(path):
    old, new, other = (path.with_name(f".{name}.{'0a' * 16}") for name in (path.name, path.name, "else.didact"))
    new = new.with_name(new.name[:-1] + "b")
    for file in (old, new, other):
        file.write_bytes(b"half")
    for file in (old, other):
        os.utime(file, (0, 0))
    didact.save(Ridge(), path)
    assert sorted(os.listdir(path.parent)) == sorted([path.name, new.name, other.name])


def test_a_model_that_cannot_be_saved_leaves_the_old_file(path):
    didact.save(Ridge(), path)
    with pytest.raises(InputError):
        didact.save(FunctionTransformer(lambda x: x), path)
    assert isinstance(didact.load(path), Ridge)
    assert os.listdir(path.parent) == [path.name]


def test_permissions_and_links_are_kept(path):
    didact.save(Ridge(alpha=1.0), path)
    path.chmod(0o600)
    link = path.with_name("link.didact")
    link.symlink_to(path)
    didact.save(Ridge(alpha=2.0), str(link))
    assert link.is_symlink()
    assert didact.load(path).alpha == 2.0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_there_is_no_pickle_in_a_file(path):
    didact.save(MODELS["search of a pipeline"].fit(X, y), path)
    with zipfile.ZipFile(path) as archive:
        assert sorted(archive.namelist()) == ["manifest.json", "model.skops"]
        with zipfile.ZipFile(io.BytesIO(archive.read("model.skops"))) as inner:
            assert {name.rpartition(".")[2] for name in inner.namelist()} <= {"npy", "npz", "json"}
            for name in inner.namelist():
                if name.endswith(".npy"):
                    np.load(io.BytesIO(inner.read(name)), allow_pickle=False)


def test_arrays_of_other_types_than_loops_are_compiled_for_are_refused(path):
    """They would make every loop that meets them be compiled anew, for minutes."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    tree = didact.tree.DecisionTreeClassifier(max_depth=2).fit(X, X[:, 0] > 0)
    for field, kind in (("threshold", np.float32), ("children_left", np.int64), ("value", np.float16)):
        whole = tree.tree_
        tree.tree_ = whole._replace(**{field: getattr(whole, field).astype(kind)})
        didact.save(tree, path)
        refuses(path, "not of the types that a tree has")
        tree.tree_ = whole
    for method, field in (("kd_tree", "low"), ("ball_tree", "radii"), ("brute", "half")):
        model = KNeighborsClassifier(algorithm=method).fit(X, X[:, 0] > 0)
        index = model._index
        bad = {field: getattr(index.plan, field).astype(np.float16)}
        model._index = index._replace(plan=index.plan._replace(**bad))
        didact.save(model, path)
        refuses(path, "makes no sense")
