"""The base class: constructors, validation, documentation, the registry, and warnings that point at the user."""

import inspect
import subprocess
import sys
from dataclasses import fields
from numbers import Integral

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.externals._numpydoc.docscrape import ClassDoc
from sklearn.utils import get_tags

from didact import Batches
from didact.core import estimator as module
from didact.core.errors import InputError
from didact.core.estimator import Estimator, instances, registry, report_convergence, tagged
from didact.core.parameters import (
    INSTEAD,
    above,
    above_or_infinite,
    array_like,
    at_least,
    attr,
    attributes,
    between,
    describe,
    has,
    is_bool,
    is_callable,
    none,
    one_of,
    param,
    random_state,
    splitter,
    whole,
)
from didact.engines.loop.result import Result


class Mean(RegressorMixin, Estimator):
    """The mean of y."""

    scale: float = param(1.0, at_least(0), "Factor of the mean.")
    kind: str = param("plain", one_of("plain", "double"), "Which mean.")
    depth: int | None = param(None, [whole(1), none], "A number that does nothing.")

    _attrs = [attr("mean_", "float", "The mean."), attr("twice_", "(1,)", "Its double.", when="kind='double'")]

    def fit(self, X, y=None, sample_weight=None):
        """Fit."""
        rows = self._rows(X, y, sample_weight)
        w = np.ones(rows.n_rows) if rows.columns[2] is None else rows.columns[2]
        self.mean_ = self.scale * float(np.average(rows.columns[1], weights=w))
        if self.kind == "double":
            self.twice_ = np.array([2 * self.mean_])
        return self

    def predict(self, X):
        """Predict."""
        return self._after_fit()._map_rows(X, lambda X, mean: np.full(X.shape[0], mean), self.mean_)


X = np.arange(6.0).reshape(3, 2)


# ------------------------------------------------------------------------------------------------ parameters


def test_constructor_is_declared_once():
    shown = str(inspect.signature(Mean)).partition(" ->")[0]
    assert shown == "(scale: float = 1.0, kind: str = 'plain', depth: int | None = None)"
    assert Mean(2.0).scale == 2.0
    assert Mean().get_params() == {"scale": 1.0, "kind": "plain", "depth": None}
    assert repr(Mean(kind="double")) == "Mean(kind='double')"
    value = np.float64(3.0)
    assert clone(Mean(scale=value)).scale is not None
    assert Mean(scale=value).scale is value, "stored as it is, checked at fit"
    assert Mean() != Mean(), "two models are never the same thing"
    hash(Mean())


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"scale": -1.0}, r"'scale' parameter of Mean must be a float in the range \[0.*Got -1.0"),
        ({"scale": "a"}, "'scale'"),
        ({"kind": "triple"}, r"'kind'.*\{.*'double'.*\}|'kind'"),
        ({"depth": 0}, "'depth'"),
        ({"depth": 1.5}, "'depth'"),
    ],
)
def test_parameters_are_validated_at_fit(wrong, words):
    model = Mean(**wrong)
    with pytest.raises(ValueError, match=words):
        model.fit(X, [1, 2, 3])


def test_machinery_flags_and_unknown_names():
    for flag, hint in INSTEAD.items():
        with pytest.raises(TypeError) as caught:
            Mean(**{flag: 1})
        assert hint in str(caught.value)
    with pytest.raises(TypeError, match="unexpected keyword argument 'alpha'"):
        Mean(alpha=1)


CONSTRAINTS = [
    (at_least(0), [0, 0.5, np.float32(3)], [-0.1, "0", None]),
    (above(0), [0.5, 1], [0, -1]),
    (above_or_infinite(0), [1.0, np.inf], [0, -np.inf]),
    (between(0, 1), [0, 0.5, 1], [-0.1, 1.1]),
    (whole(1), [1, np.int64(4)], [0, 1.5]),
    (at_least(2, Integral), [2], [1, 2.5]),
    (one_of("a", "b"), ["a"], ["c", 1]),
    (is_bool, [True, False], ["yes", 2]),
    (array_like, [[1, 2], np.ones(2)], [1.0]),
    (none, [None], [0]),
    (is_callable, [len], [3]),
    (has("fit"), [Mean()], [3]),
    (random_state, [None, 3, np.random.RandomState(0)], ["seed", -1]),
    (splitter, [3, None], ["five"]),
    ([whole(1), none], [None, 2], [0]),
]


@pytest.mark.parametrize(("constraint", "good", "bad"), CONSTRAINTS)
def test_constraints(constraint, good, bad):
    class Thing(Estimator):
        value: object = param(None, constraint, "A value.")

    for value in good:
        Thing(value=value)._validate_params()
    for value in bad:
        with pytest.raises(ValueError, match="value"):
            Thing(value=value)._validate_params()


def test_parameters_section_is_written_from_the_declarations():
    doc = ClassDoc(Mean)
    entries = {entry.name: entry for entry in doc["Parameters"]}
    assert list(entries) == ["scale", "kind", "depth"]
    assert "default=1.0" in entries["scale"].type
    assert entries["scale"].type.startswith("float in the interval [0, inf), ")
    assert entries["kind"].type == "{'plain', 'double'}, default='plain'"
    assert entries["kind"].desc == ["Which mean."]
    attributes = {entry.name: entry for entry in doc["Attributes"]}
    assert list(attributes) == ["mean_", "twice_", "n_features_in_", "feature_names_in_"]
    assert attributes["twice_"].type == "ndarray of shape (1,)"
    assert attributes["twice_"].desc == ["Its double. Only with `kind='double'`."]
    text = inspect.getdoc(Mean)
    assert text.index("Parameters") < text.index("Attributes")


@pytest.mark.parametrize(
    ("constraint", "kind"),
    [
        (is_bool, "bool"),
        ([whole(1), none], "int in the interval [1, inf) or None"),
        ([none, above(0), array_like], "float in the interval (0, inf), array-like or None"),
        (between(0, 0.5, closed="left"), "float in the interval [0, 0.5)"),
        ([one_of("b", "a"), is_callable], "{'b', 'a'} or callable"),
        ([splitter, none], "int, cross-validation generator, iterable or None"),
        (random_state, "int, RandomState instance or None"),
        ([has("fit", "predict"), dict], "estimator object or dict"),
        (has("grad_hess"), "object with grad_hess"),
        (one_of(*map(str, range(40))), "str"),
    ],
)
def test_constraints_read_as_in_scikit_learn(constraint, kind):
    field = param(None, constraint, "Text.")
    field.name = "x"
    assert describe(field) == f"x : {kind}, default=None\n    Text."


def test_bases_declare_attributes_for_their_children():
    class _Base(Estimator):
        _attrs = [attr("a_", "int", "Base's."), attr("b_", "int", "Base's.")]

    class Child(ClassifierMixin, _Base):
        """Child."""

        _attrs = [attr("b_", "float", "Its own.")]

    assert [(one.names, one.doc) for one in attributes(Child)][:3] == [
        ("b_", "Its own."),
        ("classes_", "Labels, sorted."),
        ("a_", "Base's."),
    ]


def test_a_fit_forgets_what_only_another_one_sets():
    model = Mean(kind="double").fit([[1.0], [2.0]], [1.0, 3.0])
    assert model.twice_ == 4.0
    assert not hasattr(model.set_params(kind="plain").fit([[1.0], [2.0]], [1.0, 3.0]), "twice_")
    assert model.mean_ == 2.0


def test_a_docstring_that_has_the_section_is_left_alone():
    class Own(Estimator):
        """Own.

        Parameters
        ----------
        a : int
            Mine.
        """

        a: int = param(1, whole(1), "Not shown.")

    assert "Not shown" not in Own.__doc__

    class Bare(Estimator):
        """Bare."""

        a: int = param(1, whole(1), "Shown.")

    assert "Shown." in Bare.__doc__

    class Without(Estimator):
        """Without parameters."""

    assert "Parameters" not in Without.__doc__
    assert Without().get_params() == {}


def test_parameters_are_inherited_and_replaced():
    class _Base(Estimator):
        alpha: float = param(0.0, at_least(0), "Base.")
        tol: float = param(1e-6, at_least(0), "Tolerance.")

    class Child(_Base):
        """Child."""

        alpha: float = param(1.0, at_least(0), "Child.")
        power: float = param(2.0, at_least(0), "More.")

    assert [f.name for f in fields(Child)] == ["alpha", "tol", "power"]
    assert Child().get_params() == {"alpha": 1.0, "tol": 1e-6, "power": 2.0}
    assert set(Child._parameter_constraints) == {"alpha", "tol", "power"}
    assert "Child." in Child.__doc__


# ------------------------------------------------------------------------------------------------ data


def test_rows_and_map_rows():
    model = Mean().fit(X, [1, 2, 6], sample_weight=[1, 1, 0])
    assert model.mean_ == 1.5
    np.testing.assert_array_equal(model.predict(X), [1.5] * 3)
    with pytest.raises(ValueError, match="3 features"):
        model.predict(np.ones((2, 3)))


def test_batches_come_alone():
    with pytest.raises(ValueError, match="come from the batches"):
        Mean().fit(Batches(lambda: [(X, np.ones(3))]), np.ones(3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_type_of_dask_collections(dtype):
    """The float type is the one that the same rows would have in memory."""
    table = np.arange(40).reshape(20, 2).astype(dtype)
    kept = np.float32 if dtype == np.float32 else np.float64
    frame = pd.DataFrame(table, columns=["a", "b"])
    for collection in (da.from_array(table, chunks=(5, 2)), dd.from_pandas(frame, npartitions=2)):
        rows = Mean()._rows(collection, target="none")
        assert rows.dtype == kept
        answer = rows.map(lambda X: X[:, 0] * 2)
        assert answer.dtype == kept
        assert answer.compute(scheduler="synchronous").dtype == kept


# ------------------------------------------------------------------------------------------------ convergence


def ended(status, n_iter=7):
    return Result(np.zeros(1), 0.0, n_iter, status, 1e-3)


def test_report_convergence():
    model = Mean()
    for status in ("converged", "stopped"):
        report_convergence(model, ended(status))  # warnings are errors here
        assert model.n_iter_ == 7
    report_convergence(model, ended("converged", 0))
    assert model.n_iter_ == 1
    for status, word in [("iteration limit", "max_iter"), ("not finite", "NaN"), ("no progress", "No step")]:
        with pytest.warns(ConvergenceWarning, match=f"^Mean: .*{word}.*iterations: 7, optimality: 0.001") as caught:
            report_convergence(model, ended(status))
        assert caught[0].filename == __file__


# ------------------------------------------------------------------------------------------------ registry


def test_registry_holds_public_classes_of_the_package_only(monkeypatch):
    monkeypatch.setattr(module, "_REGISTRY", {})

    class Public(Estimator):
        """Public."""

        __module__ = "didact.somewhere"

    class _Private(Estimator):
        __module__ = "didact.somewhere"

    class Foreign(Estimator):
        """Not of didact."""

    same_name = type("Public", (Estimator,), {"__module__": "didact.elsewhere"})
    assert list(registry().values()) == [same_name, Public]
    assert next(iter(registry())) == "didact.elsewhere.Public"


def test_instances():
    class Two(Estimator):
        """Two."""

        _test_params = [{}, {"a": 3}]
        a: int = param(1, whole(1), "A.")

    assert [model.a for model in instances(Two)] == [1, 3]
    assert [model.scale for model in instances(Mean)] == [1.0]


def test_tags():
    assert Mean().__sklearn_tags__().input_tags.sparse

    class Dense(Estimator):
        """Dense."""

        _sparse = False

    assert not Dense().__sklearn_tags__().input_tags.sparse


def test_importing_the_base_imports_no_optional_library():
    code = "import didact.core.estimator, sys; print(sorted({'dask', 'torch', 'numba', 'polars'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ------------------------------------------------------------------------------------------------ no silent NaN


class Overflowing(RegressorMixin, Estimator):
    """A model without a guard of its own.

    Attributes
    ----------
    coef_ : ndarray
        Some numbers.
    """

    def fit(self, X, y=None, sample_weight=None):
        """Fit."""
        X = self._rows(X, y).columns[0]
        with np.errstate(all="ignore"):
            self.coef_ = (X**2).sum(axis=0) / (X**2).sum()
        return self

    def predict(self, X):
        """Predict."""
        return self._after_fit()._map_rows(
            X, lambda X, coef: (X * X).sum(axis=1) / (X * X).max() + coef.sum(), self.coef_
        )


def test_coefficients_that_are_no_numbers_end_in_a_sentence():
    X, y = np.array([[1.0, 2.0], [3.0, 1e200]]), np.ones(2)
    with pytest.raises(InputError, match=r"column 1 has values up to 1e\+200"):
        Overflowing().fit(X, y)


class Solving(RegressorMixin, Estimator):
    """A model that calls a library without a look at what it gives it."""

    def fit(self, X, y=None, sample_weight=None):
        """Fit."""
        X = self._rows(X, y).columns[0]
        X = X.toarray() if sp.issparse(X) else X
        with np.errstate(all="ignore"):
            self.values_ = np.linalg.eigvalsh(np.asarray_chkfinite(X.T @ X))
        return self


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, lambda X: pd.DataFrame(X, columns=["a", "b"])])
def test_errors_of_libraries_name_the_columns_that_are_too_large(kind):
    X = np.array([[1.0, 2.0], [3.0, 1e200]])
    with pytest.raises(InputError, match=r"column (1|'b').*power of ten") as caught:
        Solving().fit(kind(X), np.ones(2))
    assert isinstance(caught.value.__cause__, ValueError), "what the library said is kept"


def test_answers_that_are_no_numbers_name_the_columns_that_are_too_large():
    near, far = (pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, b]}) for b in (4.0, -1e200))
    with pytest.raises(InputError, match=r"'b'.*power of ten"):
        Overflowing().fit(near, np.ones(2)).predict(far)
    model = Overflowing().fit(near.to_numpy(), np.ones(2))
    with pytest.raises(InputError, match=r"column 1 has values up to 1e\+200"):
        model.predict(far.to_numpy())
    with pytest.raises(InputError, match=r"columns 0, 1 has no values above"):
        model.predict(1e-200 * near.to_numpy())
    with pytest.raises(InputError, match="column 1"):
        list(model.predict(Batches(lambda: [far.to_numpy()])))


def test_tags_are_declared_once_for_a_class_and_its_subclasses():
    @tagged(target_tags__multi_output=True, regressor_tags__poor_score=True)
    class _Base(RegressorMixin, Estimator):
        """Abstract."""

    @tagged(regressor_tags__poor_score=False, input_tags__positive_only=True)
    class _Model(_Base):
        """Abstract."""

    base, model = get_tags(_Base()), get_tags(_Model())
    assert (base.target_tags.multi_output, base.regressor_tags.poor_score, base.input_tags.positive_only) == (1, 1, 0)
    assert (model.target_tags.multi_output, model.regressor_tags.poor_score, model.input_tags.positive_only) == (
        1,
        0,
        1,
    )
