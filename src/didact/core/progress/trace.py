"""The states that a fit goes through: a callback that keeps them, and `didact.trace`, which fits with it."""

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

from didact.core.errors import InputError

# What scikit-learn's protocol keeps on a model.
CALLBACKS = ("_skl_callbacks", "_skl_callbacks_to_teardown", "_callback_fit_ctx", "_parent_callback_ctx")


class Snapshot(NamedTuple):
    """A fit after an iteration: its number, the objective where the solver knows it, the model as it was then."""

    iteration: int
    value: float | None
    model: Any

    @property
    def attributes(self) -> dict[str, Any]:
        """The fitted attributes by name."""
        return {name: value for name, value in vars(self.model).items() if name.endswith("_") and name[0] != "_"}


class _Recorder:
    """Callback that keeps a copy of the model after each iteration."""

    def __init__(self) -> None:
        self.seen: list[Snapshot] = []

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to put away."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """An iteration begins."""

    def on_fit_task_end(self, estimator: Any, context: Any, *, fitted_estimator: Any = None) -> bool:
        """Keep the model as it is after the iteration."""
        if hasattr(context, "iteration") and fitted_estimator is not None:
            value = None if context.value is None else float(context.value)
            self.seen.append(Snapshot(int(context.iteration), value, _silent_copy(fitted_estimator)))
        return False


def trace(model: Any, X: Any, y: Any = None, **fit_params: Any) -> list[Snapshot]:
    """Fit a model, and return the states that the fit went through.

    The list has a `Snapshot` for each iteration: a step of a solver or of EM, a round of boosting, a tree of a forest,
    a split of a tree. It holds the iteration, the objective where the solver knows it, and the model as it was then,
    which can predict. The last one is the model at its end; a fit in one step has that one alone, and so have support
    vector machines, Gaussian processes, mean shift and searches over penalties, which make a model at their end.

    Parameters
    ----------
    model : estimator
        A model of didact's; it is fitted in place.
    X, y : array-like
        What its `fit` takes.
    **fit_params
        More of what its `fit` takes, such as sample_weight.

    Returns
    -------
    list of Snapshot
        With the fields `iteration`, `value` and `model`, and the fitted `attributes` by name.

    Notes
    -----
    Cost: that of the fit, and a copy of the fitted attributes for each iteration.

    Examples
    --------
    >>> import didact
    >>> from didact.cluster import KMeans
    >>> states = didact.trace(KMeans(2, init=[[0.0], [1.0]]), [[0.0], [1.0], [5.0], [6.0]])
    >>> [state.model.cluster_centers_.ravel().tolist() for state in states]
    [[0.0, 4.0], [0.5, 5.5]]
    """
    if not hasattr(model, "set_callbacks"):
        raise InputError(f"A {type(model).__name__} tells nothing of its iterations: trace needs a model of didact's.")
    before, recorder = getattr(model, "_skl_callbacks", []), _Recorder()
    model.set_callbacks(*before, recorder)
    try:
        model.fit(X, y, **fit_params) if y is not None else model.fit(X, **fit_params)
    finally:
        model.set_callbacks(*before)
    seen = recorder.seen or list(_grown(model))
    last = seen[-1] if seen else Snapshot(0, None, model)
    return [*seen[:-1], last._replace(model=_silent_copy(model))]


def _grown(model: Any) -> Iterator[Snapshot]:
    """The stages of a model that grows in one compiled call, which no callback hears: they can be read off its end."""
    stages = model._stages() if hasattr(model, "_stages") else ()
    for number, (value, attributes) in enumerate(stages, start=1):
        part = _silent_copy(model)
        vars(part).update(attributes)
        yield Snapshot(number, value, part)


def _silent_copy(model: Any) -> Any:
    """A copy of a model that tells no callbacks of it."""
    bare = copy.copy(model)
    for name in CALLBACKS:
        vars(bare).pop(name, None)
    return copy.deepcopy(bare)
