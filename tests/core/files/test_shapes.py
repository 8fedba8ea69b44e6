"""Fitted arrays that do not fit together: refused where a file is read, and where a compiled loop begins."""

import numpy as np
import pytest
from registry_cases import all_instances, fitted, label, one_of_each

import didact
from didact.cluster import LevelSetClustering, MeanShift, OnlineKMeans
from didact.core.errors import InputError
from didact.core.files.shapes import ANY, Form, check_shapes, forms
from didact.core.parameters import attributes
from didact.kernel_ridge import KernelRidge
from didact.linear_model import HebbianLayer, LogisticRegression, Perceptron, SGDClassifier, SGDRegressor
from didact.manifold import TSNE, Isomap
from didact.neighbors import RunningMedian
from didact.svm import LSSVC, SVC, SVR, KernelLogisticRegression, KernelPerceptron, KernelSGDRegressor, OneClassSVM

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
y, numbers = (X[:, 0] > 0).astype(int) + (X[:, 1] > 1), X @ np.arange(4.0)
MANY = np.resize(X, (3000, 4))  # so many that the compiled ways begin


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("int", [()]),
        ("(n_features,)", [(("n_features", 0),)]),
        ("float or (n_targets,)", [(), (("n_targets", 0),)]),
        ("(n_samples - 1, 2)", [(("n_samples", -1), (None, 2))]),
        ("(n_classes or 1, n_features)", [(("n_classes", 0), ("n_features", 0)), ((None, 1), ("n_features", 0))]),
        ("(n_features[, n_features])", [(("n_features", 0),), (("n_features", 0), ("n_features", 0))]),
        ("([n_l1_ratio, ]n_alphas)", [(("n_alphas", 0),), (("n_l1_ratio", 0), ("n_alphas", 0))]),
        ("ndarray or sparse matrix of shape (n, n)", [(("n", 0), ("n", 0))]),
    ],
)
def test_declarations_are_read(kind, expected):
    assert [form.shape for form in forms(kind)] == expected


def test_declarations_of_lists_and_of_what_has_no_shape():
    assert forms("list of (n_classes, n_values)") == (Form((("n_classes", 0), ("n_values", 0)), True),)
    assert [form.listed for form in forms("(n_classes,), or a list of these")] == [False, True]
    assert forms("Tree") == forms("float or Tree") == forms("dict") == ()


# ------------------------------------------------------------------------------------------------ files


def forged(path, model, name, change):
    """The model in a file after one of its arrays was changed; `name` may lead into a dictionary or a tuple."""
    name, *inside = name.split(".")
    if not inside:
        vars(model)[name] = change(vars(model)[name])
    elif isinstance(vars(model)[name], dict):
        vars(model)[name] = vars(model)[name] | {inside[0]: change(vars(model)[name][inside[0]])}
    else:
        parts = list(vars(model)[name])
        parts[int(inside[0])] = change(parts[int(inside[0])])
        vars(model)[name] = tuple(parts)
    didact.save(model, path)
    return path


@pytest.mark.parametrize("model", [pytest.param(m, id=label(m)) for m in one_of_each(all_instances())])
def test_arrays_of_another_dimension_are_refused_for_every_kind_of_model(model, tmp_path):
    """Every array whose shape is declared, with one dimension more."""
    known = {name: forms(a.kind) for a in attributes(type(model)) for name in a.names.split(", ")}
    found = fitted(model)
    known = {name: ways for name, ways in known.items() if ways and not any(ANY in (w.shape or ()) for w in ways)}
    arrays = [name for name in known if isinstance(vars(found).get(name), np.ndarray)]
    for name in arrays:
        more = 1 + max(len(form.shape or ()) for form in known[name])
        with pytest.raises(InputError, match=type(model).__name__):
            didact.load(forged(tmp_path / "m.didact", fitted(model), name, lambda a, k=more: widened(a, k)))


def widened(a, k):
    """An array with k dimensions."""
    return np.expand_dims(a, tuple(range(k - a.ndim)))


LONGER = [
    (OnlineKMeans(n_clusters=3), "cluster_weights_"),
    (SGDClassifier(), "_state.V"),
    (SGDRegressor(), "_state.S"),
    (Perceptron(), "_state.V"),
    (Perceptron(variant="voted"), "voter_outputs_"),
    (HebbianLayer(n_components=2), "_weights"),
    (KernelRidge(kernel="rbf"), "dual_coef_"),
    (KernelPerceptron(kernel="rbf", variant="voted"), "voters_"),
    (MeanShift(kernel="gaussian", bandwidth=2.0), "_known.1"),
]


@pytest.mark.parametrize(("model", "name"), LONGER, ids=[f"{type(m).__name__}.{name}" for m, name in LONGER])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_belongs_together_is_as_long(model, name, tmp_path):
    found = model.fit(X, numbers if isinstance(model, (SGDRegressor, KernelRidge)) else y)
    check_shapes(found)
    for change in (lambda a: a[:-1], lambda a: np.concatenate([a, a])):
        with pytest.raises(InputError, match=type(model).__name__):
            didact.load(forged(tmp_path / "m.didact", model.fit(X, y), name, change))


# ------------------------------------------------------------------------------------------------ loops


def narrow(model, **changes):
    """A fitted model of which some arrays are others."""
    for name, change in changes.items():
        vars(model)[name] = change(vars(model)[name])
    return model


BROKEN = [
    (OnlineKMeans(n_clusters=3), {"cluster_centers_": lambda a: a[:, :2]}),
    (OnlineKMeans(n_clusters=3), {"cluster_weights_": lambda a: a[:1]}),
    (OnlineKMeans(n_clusters=3), {"cluster_centers_": lambda a: a[:0], "cluster_weights_": lambda a: a[:0]}),
    (SGDClassifier(), {"_state": lambda s: s | {"V": s["V"][:1]}}),
    (SGDClassifier(), {"_state": lambda s: s | {"V": s["V"][:, :1]}}),
    (SGDRegressor(), {"_state": lambda s: s | {"S": s["S"][:, :2]}}),
    (Perceptron(), {"_state": lambda s: s | {"V": s["V"][:1], "S": s["S"][:1]}}),
    (Perceptron(variant="voted"), {"voter_outputs_": lambda a: 0 * a}),
    (Perceptron(variant="voted"), {"voters_": lambda a: a[:, :1]}),
    (HebbianLayer(n_components=2), {"_weights": lambda a: a[:, :1]}),
    (KernelPerceptron(kernel="rbf"), {"support_vectors_": lambda a: a[:1]}),
    (KernelSGDRegressor(kernel="rbf"), {"_state": lambda s: {"coef": s["coef"][:1]}}),
]


@pytest.mark.parametrize(("model", "changes"), BROKEN, ids=[f"{type(m).__name__} {sorted(c)}" for m, c in BROKEN])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_partial_fit_goes_on_from_what_fits_its_rows(model, changes):
    model = narrow(model.fit(X, y), **changes)
    with pytest.raises(InputError):
        model.partial_fit(X, y)


ASKED = [
    (KernelRidge(kernel="rbf"), "dual_coef_", lambda a: a[:1]),
    (SVC(), "dual_coef_", lambda a: a[:, :2]),
    (SVR(), "dual_coef_", lambda a: a[:, :1]),
    (OneClassSVM(), "dual_coef_", lambda a: a[:, :1]),
    (LSSVC(), "dual_coef_", lambda a: a[:, :1]),
    (KernelLogisticRegression(), "dual_coef_", lambda a: a[:, :1]),
    (KernelSGDRegressor(kernel="rbf"), "dual_coef_", lambda a: a[:, :1]),
    (KernelPerceptron(kernel="rbf"), "dual_coef_", lambda a: a[:, :1]),
    (LogisticRegression(), "coef_", lambda a: a[:, :1]),
    (LevelSetClustering(bandwidth=1.0), "_known", lambda pair: (pair[0][:, :1], pair[1])),
    (RunningMedian(column=0, n_neighbors=5), "n_neighbors_", lambda k: 10**9),
    (MeanShift(kernel="gaussian", bandwidth=2.0), "_known", lambda pair: (pair[0][:, :1], pair[1])),
    (TSNE(perplexity=5.0, max_iter=250, random_state=0), "embedding_", lambda a: a[:1]),
    (Isomap(n_neighbors=12), "dist_matrix_", lambda a: a[:1, :1]),
]


@pytest.mark.parametrize(("model", "name", "change"), ASKED, ids=[f"{type(m).__name__}.{n}" for m, n, _ in ASKED])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_loops_refuse_arrays_that_do_not_fit(model, name, change):
    """On few rows and on thousands, which the compiled ways take."""
    model = narrow(model.fit(X, y), **{name: change})
    ask = next(getattr(model, m) for m in ("predict", "score_samples", "transform") if hasattr(model, m))
    for rows in (X, MANY):
        with pytest.raises(ValueError, match=r"fit|belong|shape|match|broadcast|same|There are no"):
            ask(rows)
