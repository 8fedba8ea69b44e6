r"""Rules from trees: the path to a leaf is a conjunction of conditions, and the leaf is what follows from it.

The support of a rule is the share of the weight of all rows that meet its conditions, its confidence the share among
those of the class that it names. Bounds on the same feature are merged. A subtree whose leaves all give the same answer
makes one rule. With data, a condition is left out when that does not raise the error that the rule is expected to make
(its upper limit at confidence ¼, as in C4.5's rules). The rules of a forest are ranked by

.. math:: \mathrm{support}\cdot(\mathrm{confidence} - P(\mathrm{class})),

for numbers by support · \|value − mean\|.

Quinlan (1987), Simplifying decision trees, doi:10.1016/S0020-7373(87)80053-6; Lavrač, Flach, Zupan (1999), Rule
evaluation measures, doi:10.1007/3-540-48751-4_17.
"""

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from didact.core.errors import InputError, ParameterError
from didact.core.parameters import whole
from didact.core.typing import Array
from didact.core.validation.entrance import entrance
from didact.engines.trees.outline import Condition, Place, joined
from didact.engines.trees.variants.c45_prune import expected_errors
from didact.tree.reading import Words, read, rows_in_memory, trees_of

STRONGEST = 20  # rules of a forest that are returned by default
LIMIT = 0.25  # confidence of the upper limit of a rule's error


class Rule(NamedTuple):
    """IF all conditions hold THEN y is the outcome.

    Fields: `conditions` in words, `outcome` (a label, a number or a linear function), `support`, `confidence` (None for
    numbers), `deviation` (root mean squared distance of y from the outcome; None for labels, and where only data could
    tell it) and `tests`, the conditions as values, with `missing` if a missing value meets them.

    >>> from didact.tree import ID3Classifier, export_rules
    >>> model = ID3Classifier(categorical_features=[0]).fit([["tall"], ["short"]], ["M", "F"])
    >>> export_rules(model, feature_names=["height"])[0].conditions
    ('height = short',)
    """

    conditions: tuple[str, ...]
    outcome: Any
    support: float
    confidence: float | None
    deviation: float | None
    tests: tuple[Condition, ...]

    def __str__(self) -> str:
        body = " AND ".join(f"({condition})" for condition in self.conditions) or "(always)"
        outcome = f"{self.outcome:.6g}" if isinstance(self.outcome, float) else self.outcome
        sure = "" if self.confidence is None else f", confidence {self.confidence:.3f}"
        far = "" if self.deviation is None else f", deviation {self.deviation:.3g}"
        return f"IF {body} THEN y = {outcome}   [support {self.support:.3f}{sure}{far}]"


class _Draft(NamedTuple):
    """A rule before it is put into words."""

    tests: tuple[Condition, ...]
    place: Place
    support: float


class _Rows(NamedTuple):
    """Rows on which rules are measured."""

    X: Array
    y: Array
    w: Array


@entrance(decimals=whole(0))
def export_rules(
    model: Any,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    *,
    feature_names: Any = None,
    class_names: Any = None,
    simplify: bool = True,
    min_support: float = 0.0,
    min_confidence: float = 0.0,
    max_rules: int | None = None,
    decimals: int = 2,
    show_missing: bool | None = None,
) -> list[Rule]:
    r"""IF–THEN rules of a tree, or the strongest rules of a forest, with support and confidence.

    The path to a leaf is a rule; bounds on one feature are merged. Cost: leaves × depth, and with data rows ×
    conditions² for each rule.

    Parameters
    ----------
    model : estimator
        A fitted tree, forest or bag of trees, of didact or scikit-learn.
    X, y, sample_weight : array-like, optional
        Rows on which support, confidence and deviation are measured and conditions are tried; by default they are those
        of the training rows, as the tree has stored them. It has stored no deviation if it was grown by another
        criterion than the squared error, with monotone constraints or with smoothing: then there is none without rows.
    feature_names, class_names : sequence of str, optional
        Names; by default those that the model knows.
    simplify : bool, default=True
        Whether to drop conditions that do not matter: those between leaves of the same answer and, with data, those
        without which the rule is not expected to err more often.
    min_support, min_confidence : float, default=0
        Weaker rules are left out.
    max_rules : int, optional
        How many of the strongest rules are returned; by default all of a tree and 20 of a forest.
    decimals : int, default=2
        Digits of numbers.
    show_missing : bool, optional
        Whether a condition that a missing value meets says "or missing"; by default those on columns of X that have
        missing values. (C4.5 and ID3 send a missing value down all branches, in parts: it meets no condition.)

    Returns
    -------
    list of Rule
        In the order of the leaves; the strongest first for forests and if `max_rules` is given. `str(rule)` is a line.

    References
    ----------
    Quinlan (1987), doi:10.1016/S0020-7373(87)80053-6; Lavrač, Flach, Zupan (1999), doi:10.1007/3-540-48751-4_17.

    Examples
    --------
    >>> from didact.tree import ID3Classifier, export_rules
    >>> X = [["tall", "heavy"], ["short", "light"], ["tall", "light"], ["short", "heavy"]]
    >>> model = ID3Classifier(categorical_features=[0, 1]).fit(X, ["M", "F", "F", "M"])
    >>> for rule in export_rules(model, feature_names=["height", "weight"]):
    ...     print(rule)
    IF (weight = heavy) THEN y = M   [support 0.500, confidence 1.000]
    IF (weight = light) THEN y = F   [support 0.500, confidence 1.000]
    """
    if max_rules is not None and (not isinstance(max_rules, Integral) or isinstance(max_rules, bool) or max_rules < 1):
        raise ParameterError(f"max_rules must be a whole number from 1 on, or None; got {max_rules!r}.")
    outlines, words = read(model, feature_names, class_names, decimals)
    if any(len(places[0].value) > 1 for places in outlines):
        raise InputError("Rules are made from trees with one output.")
    rows = _rows(model, X, y, sample_weight)
    told: Any = np.full(len(words.features), bool(show_missing))
    if show_missing is None and rows is not None:
        told = np.isnan(rows.X).any(axis=0)
    words = words._replace(missing=frozenset(np.flatnonzero(told).tolist()))
    judge = None if rows is None else _judge(model, rows, words)
    stored = all(_stores_squares(held.owner) for held in trees_of(model))
    found: dict[Any, list[Rule]] = {}
    for places in outlines:
        for draft in drafts(places, words, simplify):
            rule = _rule(draft, words, stored) if judge is None else judge(draft, simplify)
            if rule.support >= min_support and (rule.confidence is None or rule.confidence >= min_confidence):
                found.setdefault((frozenset(rule.conditions), rule.outcome), []).append(rule)
    rules = [_average(same) for same in found.values()]
    if max_rules is None and len(outlines) == 1:
        return rules
    prior = np.mean([places[0].value[0] for places in outlines], axis=0)
    return sorted(rules, key=lambda rule: -_strength(rule, prior, words))[: max_rules or STRONGEST]


def drafts(places: list[Place], words: Words, simplify: bool) -> Iterator[_Draft]:
    """The paths to the leaves, in their order; to the top of a subtree that always gives the same answer."""
    answers = _answers(places, words) if simplify else {}
    waiting: list[tuple[int, tuple[Condition, ...]]] = [(0, ())]
    while waiting:
        i, tests = waiting.pop()
        if not places[i].branches or answers.get(i) is not None:
            yield _Draft(tests, places[i], places[i].weight / places[0].weight)
        else:
            waiting += [(child, joined(tests, condition)) for condition, child in reversed(places[i].branches)]


def _answers(places: list[Place], words: Words) -> dict[int, str | None]:
    """The one answer of all leaves below each node, None where they differ."""
    order, waiting = [], [0]
    while waiting:
        order.append(i := waiting.pop())
        waiting += [child for _, child in places[i].branches]
    answers: dict[int, str | None] = {}
    for i in reversed(order):
        below = {answers[child] for _, child in places[i].branches}
        own = None if places[i].linear else words.answer(places[i])  # a mean does not stand for linear functions
        answers[i] = (below.pop() if len(below) == 1 else None) if below else own
    return answers


def _stores_squares(owner: Any) -> bool:
    """Whether the impurity of a leaf is the mean squared distance from what it predicts."""
    squares = getattr(owner, "criterion", "squared_error") in ("squared_error", "friedman_mse")
    return squares and getattr(owner, "monotonic_cst", None) is None and not getattr(owner, "smoothing", 0)


def _rule(draft: _Draft, words: Words, stored: bool) -> Rule:
    """A draft in words, with what the tree has stored of its training rows."""
    place, numbers = draft.place, words.classes is None
    constant = numbers and not place.linear
    return Rule(
        conditions=tuple(words.sentence(condition) for condition in draft.tests),
        outcome=float(place.value[0, 0]) if constant else words.answer(place),
        support=draft.support,
        confidence=None if numbers else float(place.value[0].max()),
        deviation=float(np.sqrt(max(place.impurity, 0.0))) if numbers and stored else None,
        tests=draft.tests,
    )


def _rows(model: Any, X: Any, y: Any, sample_weight: Any) -> _Rows | None:
    """The rows to measure on, checked; None if there are none."""
    if X is None and y is None and sample_weight is None:
        return None
    if X is None or y is None:
        raise InputError("Rules are measured on rows with their answers: give both X and y, or neither.")
    X = np.asarray(rows_in_memory(model, X), np.float64)
    y = np.asarray(y)
    w = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    for name, column in (("y", y), ("sample_weight", w)):
        if column.shape not in ((len(X),), (len(X), 1)):
            raise InputError(f"X has {len(X)} rows, but {name} has the shape {column.shape}.")
    if not (w >= 0).all() or not w.any():
        raise InputError("sample_weight must hold numbers from 0 on, not all of them 0.")
    return _Rows(X, y.ravel(), w.ravel())


def _judge(model: Any, rows: _Rows, words: Words) -> Callable[[_Draft, bool], Rule]:
    """A function that measures drafts on rows, and drops conditions if asked to."""
    X, y, w = rows

    def errors(mask: Array, place: Place) -> Array:
        if words.classes is None:
            return (y[mask] - place.numbers(X[mask])) ** 2
        return y[mask] != model.classes_[int(place.value[0].argmax())]

    def badness(tests: tuple[Condition, ...], place: Place) -> float:
        mask = _met(tests, X)
        total, wrong = float(w[mask].sum()), float(w[mask] @ errors(mask, place))
        if total == 0:
            return np.inf
        if words.classes is None:
            return wrong / total
        return expected_errors(np.array([total - wrong, wrong]), wrong, LIMIT) / total

    def judge(draft: _Draft, simplify: bool) -> Rule:
        tests, present = draft.tests, badness(draft.tests, draft.place)
        while simplify and tests:
            without = [tests[:k] + tests[k + 1 :] for k in range(len(tests))]
            scores = [badness(rest, draft.place) for rest in without]
            if min(scores) > present:
                break
            tests, present = without[int(np.argmin(scores))], min(scores)
        mask = _met(tests, X)
        total, rule = float(w[mask].sum()), _rule(draft._replace(tests=tests), words, False)
        mean = float(w[mask] @ errors(mask, draft.place)) / total if total else np.nan
        right, far = (None, float(np.sqrt(mean))) if words.classes is None else (1.0 - mean, None)
        return rule._replace(support=total / float(w.sum()), confidence=right, deviation=far)

    return judge


def _met(tests: tuple[Condition, ...], X: Array) -> Array:
    """Which rows meet all conditions."""
    mask = np.ones(len(X), bool)
    for condition in tests:
        mask &= condition.holds(X)
    return mask


def _average(same: list[Rule]) -> Rule:
    """One rule for those that several trees, or several leaves after simplification, have in common."""
    known = [name for name in ("support", "confidence", "deviation") if getattr(same[0], name) is not None]
    means: dict[str, Any] = {name: float(np.mean([getattr(rule, name) for rule in same])) for name in known}
    return same[0]._replace(**means)


def _strength(rule: Rule, prior: Array, words: Words) -> float:
    if words.classes is None:
        return rule.support * abs(rule.outcome - float(prior[0])) if isinstance(rule.outcome, float) else rule.support
    return rule.support * (float(rule.confidence or 0.0) - float(prior[words.classes[0].index(rule.outcome)]))
