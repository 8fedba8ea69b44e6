"""Every fit that iterates says how it went: its status, what was compared with the tolerance, the objective."""

import numpy as np
import pytest
from registry_cases import all_instances, label, one_of_each, problem
from sklearn.base import clone
from sklearn.callback import CallbackSupportMixin

import didact
from didact.cluster import KMeans
from didact.core.estimator import Ended, how_it_went, remember
from didact.core.parameters import HOW_IT_WENT, attributes
from didact.engines.loop.result import MESSAGES
from didact.linear_model import LogisticRegression

# Their solution is found in one step, unless values are missing, or rows are sparse.
DIRECT = {
    *("CCA", "GaussianClassifier", "KernelPCA", "LinearDiscriminantAnalysis", "LinearRegression", "ProbabilisticPCA"),
    *("QuadraticDiscriminantAnalysis", "Ridge", "RidgeClassifier"),
}
# They pass over the rows until nothing changes, and have no limit.
UNLIMITED = {"CondensedNearestNeighbor", "EditedNearestNeighbors"}
BINARY = {"SVC", "SVR", "OneClassSVM"}  # scikit-learn's 0 and 1


def iterating():
    for model in one_of_each(all_instances()):
        names = {name for attribute in attributes(type(model)) for name in attribute.names.split(", ")}
        if "n_iter_" in names and type(model).__name__ not in DIRECT | UNLIMITED:
            yield pytest.param(model, id=label(model))


class StopAtOnce:
    """A callback that stops every fit after its first iteration."""

    def setup(self, estimator, context):
        pass

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator, context):
        return hasattr(context, "iteration")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", list(iterating()))
def test_a_fit_that_iterates_says_why_it_ended(model):
    X, y = problem(model, n=60, p=4)
    model = clone(model).fit(X, y)
    went = how_it_went(model)
    if type(model).__name__ in BINARY:
        assert went["fit_status_"] == 0
        assert went["optimality_"] == model.kkt_residual_ <= model.tol
        return
    assert went["fit_status_"] in MESSAGES
    history = went.get("objective_history_", np.zeros(1))
    assert history.ndim == 1
    assert np.isfinite(history).all()
    stopped = clone(model).set_callbacks(StopAtOnce()).fit(X, y)
    assert stopped.fit_status_ in ("stopped", "converged", went["fit_status_"])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_limits_and_callbacks_are_told_apart():
    X, y = problem(LogisticRegression())
    assert LogisticRegression().fit(X, y).fit_status_ == "converged"
    assert LogisticRegression(max_iter=1).fit(X, y).fit_status_ == "iteration limit"
    assert LogisticRegression().set_callbacks(StopAtOnce()).fit(X, y).fit_status_ == "stopped"


def test_the_history_is_that_of_the_objective():
    X, y = problem(LogisticRegression())
    model = LogisticRegression(tol=1e-10).fit(X, y)
    values = model.objective_history_
    assert len(values) == model.n_iter_[0] + 1
    assert (np.diff(values) <= 1e-12).all()
    assert model.optimality_ <= 1e-10


def test_it_is_kept_in_files_and_shown(tmp_path):
    model = KMeans(2, random_state=0).fit(np.arange(10.0)[:, None])
    didact.save(model, tmp_path / "means.didact")
    other = didact.load(tmp_path / "means.didact")
    np.testing.assert_equal(how_it_went(other), how_it_went(model))
    assert "fit_status_" in model._repr_html_()


def test_a_fit_forgets_how_the_one_before_went():
    model = KMeans(2, random_state=0).fit(np.arange(10.0)[:, None])
    model.objective_history_ = "of old"
    model.fit(np.arange(10.0)[:, None])
    assert model.objective_history_[-1] == pytest.approx(model.inertia_)


def test_problems_side_by_side_are_one_fit():
    class Model(CallbackSupportMixin):
        pass

    model = Model()
    remember(model, Ended("converged", 0.5, [3.0, 1.0]), Ended("iteration limit", 0.25, [2.0, 1.5, 1.0]))
    assert (model.fit_status_, model.optimality_) == ("iteration limit", 0.5)
    np.testing.assert_array_equal(model.objective_history_, [5.0, 2.5, 2.0])
    assert {attribute.names for attribute in HOW_IT_WENT} == set(how_it_went(model))
