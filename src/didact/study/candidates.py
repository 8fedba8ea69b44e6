"""The models that a study may compare, as one table: what each is, for which tasks and tables, and how it is made.

A row says the name and a sentence for a person, the tasks, the preparation of columns that the model needs, a function
that makes the unfitted model, and one that says why a table does not suit it. The cheapest come first. The chapters of
the library load when a model of theirs is made, so that nothing is loaded or compiled that a table does not need.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

import didact
from didact.study.columns import MOST_LEVELS, Column, names_of
from didact.study.tasks import Task

CLASSES, NUMBERS = ("binary", "multiclass"), ("regression", "count")
SCALED, NATIVE = "scaled", "native"
WIDE = 200  # prepared columns up to which covariances of classes are estimated, and tables are kept dense
NARROW = 30  # prepared columns up to which distances between rows tell them apart
FEW_FOR_TREES = 100  # rows below which sums of trees have hardly anything to split
MOST_FOR_NEIGHBOURS = 50_000
MOST_OF_A_TREE = 20_000  # rows that one tree of a forest is grown on


@dataclass(frozen=True)
class Facts:
    """What decides which models suit: the task, rows to learn from, columns before and after preparation."""

    kind: str
    rows: int
    words: int
    width: int
    classes: int = 0
    fewest: int = 0
    folds: int = 5
    seed: int = 0


@dataclass(frozen=True)
class Candidate:
    """A model to try. `bends` says that it is not a formula with straight lines; `growth` is the power of the rows in
    the time of a fit, for foretelling it from a sample.
    """

    name: str
    words: str
    tasks: tuple[str, ...]
    preparation: str
    make: Callable[[Facts], Any]
    unsuited: Callable[[Facts], str] = lambda facts: ""
    bends: bool = False
    growth: float = 1.0


@dataclass(frozen=True)
class Skipped:
    """A model that was not compared, and why; `late` if for want of time."""

    name: str
    why: str
    late: bool = False


def facts_of(task: Task, columns: list[Column], y: np.ndarray, folds: int, seed: int) -> Facts:
    """The facts of a task and its training rows."""
    used = [column for column in columns if not column.dropped]
    levels = {"words": 1, "date": 19, "moment": 43}  # months and weekdays, hours
    width = sum(
        min(column.different + 1, MOST_LEVELS) if column.kind == "words" else levels.get(column.kind, 1)
        for column in used
    )
    width += sum(column.kind == "number" and column.missing > 0 for column in used)
    fewest = int(np.unique(y, return_counts=True)[1].min()) if task.is_classification else len(y)
    words = sum(len(names_of(columns, kind)) for kind in ("words", "date", "moment"))
    return Facts(task.kind, len(y), words, width, len(task.classes), fewest, folds, seed)


def candidates(facts: Facts) -> tuple[list[Candidate], list[Skipped]]:
    """What can be tried on a table, the dummy first, and what does not suit it."""
    meant = [candidate for candidate in TABLE if facts.kind in candidate.tasks]
    unsuited = [Skipped(candidate.name, why) for candidate in meant if (why := candidate.unsuited(facts))]
    names = {skipped.name for skipped in unsuited}
    return [candidate for candidate in meant if candidate.name not in names], unsuited


def _for_covariances(facts: Facts) -> str:
    if facts.width > WIDE:
        return f"it is meant for up to {WIDE} prepared columns, and here are about {facts.width:,}"
    return "" if facts.rows >= 3 * facts.width else "it needs three rows for each prepared column"


def _for_covariance_of_each_class(facts: Facts) -> str:
    if facts.words:
        return "it is meant for columns of numbers"
    if facts.fewest < 3 * facts.width:
        return "it needs, in each class, three rows for each column"
    return _for_covariances(facts)


def _for_neighbours(facts: Facts) -> str:
    if facts.width > NARROW:
        return f"in more than {NARROW} prepared columns (here about {facts.width:,}) all rows are far from each other"
    return "" if facts.rows <= MOST_FOR_NEIGHBOURS else f"it is meant for up to {MOST_FOR_NEIGHBOURS:,} rows"


def _for_boosting(facts: Facts) -> str:
    return "" if facts.rows >= FEW_FOR_TREES else f"it needs {FEW_FOR_TREES} rows to learn from"


def _for_small_steps(facts: Facts) -> str:
    if facts.classes > 5:
        return "with more than five classes it takes very long"
    return _for_boosting(facts)


def _of_kind(facts: Facts, classifier: Any, regressor: Any, **parameters: Any) -> Any:
    return (classifier if facts.kind in CLASSES else regressor)(**parameters)


def _tree(facts: Facts) -> Any:
    room = didact.tree
    limits = {"max_leaf_nodes": 16, "min_samples_leaf": max(5, facts.rows // 100), "random_state": facts.seed}
    return _of_kind(facts, room.DecisionTreeClassifier, room.DecisionTreeRegressor, **limits)


def _forest(facts: Facts) -> Any:
    room = didact.ensemble
    draw = MOST_OF_A_TREE if facts.rows * (facts.folds - 1) / facts.folds > MOST_OF_A_TREE else None
    limits = {"min_samples_leaf": 5 if facts.kind in NUMBERS else 2, "max_samples": draw, "random_state": facts.seed}
    return _of_kind(facts, room.RandomForestClassifier, room.RandomForestRegressor, **limits)


def _boosting(facts: Facts, **parameters: Any) -> Any:
    room = didact.ensemble
    if facts.kind == "count":
        parameters["loss"] = "poisson"
    parameters["random_state"] = facts.seed
    return _of_kind(facts, room.HistGradientBoostingClassifier, room.HistGradientBoostingRegressor, **parameters)


def _neighbours(facts: Facts, k: int) -> Any:
    room = didact.neighbors
    return _of_kind(facts, room.KNeighborsClassifier, room.KNeighborsRegressor, n_neighbors=k)


def _many(facts: Facts) -> int:
    """About the root of the number of rows: as many neighbours as keep both noise and blur small."""
    return int(np.clip(np.sqrt(facts.rows) / 2, 3, 100)) * 2 + 1


def _poisson(alpha: float, strength: str) -> Candidate:
    return Candidate(
        f"Poisson regression (α = {alpha:g})",
        f"logarithmic link, {strength} penalty",
        ("count",),
        SCALED,
        lambda facts: didact.linear_model.PoissonRegressor(alpha=alpha, max_iter=1000),
    )


TABLE = (
    Candidate(
        "Dummy",
        "ignores the columns: the share of each class",
        CLASSES,
        SCALED,
        lambda facts: DummyClassifier(strategy="prior"),
    ),
    Candidate(
        "Dummy",
        "ignores the columns: the mean of the target",
        NUMBERS,
        SCALED,
        lambda facts: DummyRegressor(strategy="mean"),
    ),
    Candidate(
        "Linear regression",
        "least squares, no penalty",
        ("regression",),
        SCALED,
        lambda facts: didact.linear_model.LinearRegression(),
    ),
    Candidate(
        "Ridge regression (tuned)",
        "least squares; penalty chosen by leave-one-out",
        NUMBERS,
        SCALED,
        lambda facts: didact.linear_model.RidgeCV(alphas=np.logspace(-3, 4, 22)),
    ),
    Candidate(
        "Logistic regression",
        "straight borders between classes; penalty C = 1",
        CLASSES,
        SCALED,
        lambda facts: didact.linear_model.LogisticRegression(max_iter=1000),
    ),
    Candidate(
        "Linear discriminant",
        "classes as clouds of one shape: straight borders",
        CLASSES,
        SCALED,
        lambda facts: didact.discriminant_analysis.LinearDiscriminantAnalysis(),
        _for_covariances,
    ),
    Candidate(
        "Quadratic discriminant",
        "each class a cloud of its own shape: curved borders",
        CLASSES,
        SCALED,
        lambda facts: didact.discriminant_analysis.QuadraticDiscriminantAnalysis(reg_param=0.1),
        _for_covariance_of_each_class,
        bends=True,
    ),
    Candidate(
        "Naive Bayes",
        "each column by itself, numbers as normal curves",
        CLASSES,
        NATIVE,
        lambda facts: didact.naive_bayes.MixedNB(),
        bends=True,
    ),
    Candidate(
        "Naive Bayes (binned)",
        "each column by itself, numbers cut into ten ranges",
        CLASSES,
        NATIVE,
        lambda facts: didact.naive_bayes.MixedNB(kinds="binned"),
        bends=True,
    ),
    *(_poisson(*row) for row in ((0.001, "weak"), (0.1, "middling"), (1.0, "strong"))),
    Candidate(
        "Decision tree",
        "a few questions one after the other, at most 16 answers",
        (*CLASSES, *NUMBERS),
        NATIVE,
        _tree,
        bends=True,
        growth=1.1,
    ),
    Candidate(
        "Boosting",
        "100 small trees, each mending the errors of those before",
        (*CLASSES, *NUMBERS),
        NATIVE,
        _boosting,
        _for_boosting,
        bends=True,
    ),
    Candidate(
        "Boosting (small steps)",
        "up to 400 trees with half the say each, smaller ones where rows are few",
        (*CLASSES, *NUMBERS),
        NATIVE,
        lambda facts: _boosting(
            facts,
            learning_rate=0.05,
            max_iter=400,
            max_leaf_nodes=31 if facts.rows > 10_000 else 8,
            l2_regularization=1.0,
        ),
        _for_small_steps,
        bends=True,
    ),
    Candidate(
        "Nearest neighbours (5)",
        "the five rows most alike decide",
        (*CLASSES, *NUMBERS),
        SCALED,
        lambda facts: _neighbours(facts, 5),
        _for_neighbours,
        bends=True,
        growth=1.5,
    ),
    Candidate(
        "Nearest neighbours (many)",
        "the rows most alike decide, about √n of n",
        (*CLASSES, *NUMBERS),
        SCALED,
        lambda facts: _neighbours(facts, _many(facts)),
        _for_neighbours,
        bends=True,
        growth=1.5,
    ),
    Candidate(
        "Random forest",
        "the mean of 100 trees, each grown on another draw of rows and columns",
        (*CLASSES, *NUMBERS),
        NATIVE,
        _forest,
        bends=True,
        growth=1.1,
    ),
    Candidate(
        "Logistic regression (tuned)",
        "straight borders between classes; penalty chosen by cross-validation",
        CLASSES,
        SCALED,
        lambda facts: didact.linear_model.LogisticRegressionCV(
            Cs=10, cv=min(facts.folds, 5), scoring="neg_log_loss", max_iter=1000
        ),
    ),
)
