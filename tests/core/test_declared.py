"""What has parameters and no fit is a model as it is made: shown, copied, compared, saved and used."""

import copy
import sys
import types

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import didact
from didact.core.declared import Declared
from didact.core.parameters import above, array_like, attr, param
from didact.linear_model import Ridge

MODULE = "didact.core.declared_for_tests"


class Filter(Declared):
    """A filter with a given matrix.

    Examples
    --------
    >>> Filter([[2.0]]).step([1.0])
    """

    __module__ = MODULE  # a file may name classes of didact alone

    matrix: object = param(None, array_like, "The matrix of a step.")
    scale: float = param(1.0, above(0), "A factor.")

    def step(self, x):
        """The next state."""
        self._after_fit()
        return self.scale * (np.asarray(self.matrix) @ x)


class Counter(Declared):
    """A model that is fitted to something other than rows, with an attribute that only some fits set."""

    _attrs = [attr("total_", "float", "The sum."), attr("last_", "float", "The last number, if there are any.", "data")]

    def fit(self, numbers):
        """Sum up."""
        self.total_ = float(sum(numbers))
        if numbers:
            self.last_ = numbers[-1]
        return self


@pytest.fixture
def home(monkeypatch):
    """The module that `Filter` says it comes from."""
    module = types.ModuleType(MODULE)
    module.Filter = Filter
    monkeypatch.setitem(sys.modules, MODULE, module)


def test_a_model_without_a_fit_is_used_as_it_is_made():
    model = Filter(np.diag([2.0, 3.0]), scale=0.5)
    np.testing.assert_allclose(model.step([1.0, 1.0]), [1.0, 1.5])
    with pytest.raises(ValueError, match="'scale' parameter of Filter must be a float in the range"):
        Filter([[1.0]], scale=-1.0).step([1.0])


def test_it_is_shown_with_its_parameters():
    assert "scale=2.0" in repr(Filter([[1.0]], scale=2.0))
    assert "scale" in Filter([[1.0]])._repr_html_()
    assert "A factor." in Filter.__doc__


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, clone])
def test_copies_are_equal_and_of_their_own(copied):
    model = Filter(np.array([[1.0, np.nan]]), scale=3.0)
    other = copied(model)
    assert other == model
    assert hash(other) == hash(model)
    other.set_params(scale=4.0)
    assert other != model
    assert model.scale == 3.0


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        ([[1.0]], [[1.0]], True),
        ([[1.0]], [[2.0]], False),
        (np.eye(2), np.eye(2), True),
        (np.eye(2), np.eye(3), False),
        (np.eye(2), np.eye(2).tolist(), False),
        (sp.eye_array(2).tocsr(), sp.eye_array(2).tocsr(), True),
        (sp.eye_array(2).tocsr(), 2 * sp.eye_array(2).tocsr(), False),
        ({"a": np.array(["x", None], dtype=object)}, {"a": np.array(["x", None], dtype=object)}, True),
        ({"a": (1, np.nan)}, {"a": (1, np.nan)}, True),
        ({"a": 1}, {"b": 1}, False),
    ],
)
def test_values_are_compared_entry_by_entry(a, b, equal):
    assert (Filter(a) == Filter(b)) is equal


def test_models_of_tables_are_equal_to_themselves_alone():
    model = Ridge()
    assert model == model
    assert model != Ridge()
    assert Filter([[1.0]]) != model


def test_it_goes_into_a_file_and_comes_back(home, tmp_path):
    model = Filter(np.array([[1.0, 2.0], [0.0, 1.0]]), scale=0.25)
    didact.save(model, tmp_path / "filter.didact")
    assert didact.load(tmp_path / "filter.didact") == model


def test_a_fit_forgets_what_only_the_one_before_had_set():
    model = Counter().fit([1.0, 2.0])
    assert model.last_ == 2.0
    assert not hasattr(model.fit([]), "last_")
