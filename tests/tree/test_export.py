"""Texts, rules and pictures of trees: scikit-learn's text, the worked rules, and rules that mean what the tree does."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.patches import FancyBboxPatch
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier as SklearnForest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier as SklearnClassifier
from sklearn.tree import DecisionTreeRegressor as SklearnRegressor
from sklearn.tree import export_text as sklearn_text

from didact.core.errors import InputError, ParameterError
from didact.engines.trees.outline import Among, Interval, joined, outline
from didact.engines.trees.tree import TreeBuilder
from didact.plot import png
from didact.tree import C45Classifier, DecisionTreeClassifier, ID3Classifier, export_rules, export_text, plot_tree
from didact.tree.rules import _met

IRIS = load_iris()


class Fitted:
    """A stand-in for a fitted regressor around a tree that was made by hand."""

    _estimator_type = "regressor"

    def __init__(self, tree, n_features, categories=None):
        self.tree_, self.n_features_in_, self.categories_ = tree, n_features, categories

    def fit(self):
        return self

    def __sklearn_tags__(self):
        return SklearnRegressor().__sklearn_tags__()


class Values:
    def __init__(self, *values):
        self.values = values


def course_tree():
    """Example 41: age > 38.5; years-in-job > 2.5; job-type A, B, C."""
    builder = TreeBuilder()
    nodes = {}

    def add(name, parent, left, value):
        nodes[name] = builder.add(parent, left, 0.0, 10, 10.0, np.array([[value]]))
        return nodes[name]

    root = add("root", -1, False, 0.5)
    builder.split(root, 0, 38.5)
    young, old = add("young", root, True, 0.3), add("old", root, False, 0.7)
    builder.split(old, 1, 2.5)
    add("R2", old, True, 0.6)
    add("R1", old, False, 0.8)
    builder.split(young, 2, categories=[0])
    add("R3", young, True, 0.4)
    rest = add("rest", young, False, 0.25)
    builder.split(rest, 2, categories=[1])
    add("R4", rest, True, 0.3)
    add("R5", rest, False, 0.2)
    return Fitted(builder.build(), 3, Values(None, None, np.array(["A", "B", "C"], dtype=object)))


def test_rules_of_the_course():
    rules = export_rules(course_tree(), feature_names=["age", "years-in-job", "job-type"], decimals=1)
    found = {rule.outcome: set(rule.conditions) for rule in rules}
    assert found == {
        0.8: {"age > 38.5", "years-in-job > 2.5"},
        0.6: {"age > 38.5", "years-in-job ≤ 2.5"},
        0.4: {"age ≤ 38.5", "job-type = A"},
        0.3: {"age ≤ 38.5", "job-type = B"},
        0.2: {"age ≤ 38.5", "job-type = C"},
    }
    asked = np.array([[40, 3, 0], [40, 2, 0], [30, 1, 0], [30, 1, 1], [30, 1, 2], [38.5, 1, 0]])
    answers = [next(r.outcome for r in rules if _met(r.tests, row[None])[0]) for row in asked]
    assert answers == [0.8, 0.6, 0.4, 0.3, 0.2, 0.4], "38.5 goes left"
    assert str(rules[-1]).startswith("IF (age > 38.5) AND (years-in-job > 2.5) THEN y = 0.8   [support")


@pytest.mark.parametrize("show_weights", [False, True])
@pytest.mark.parametrize("max_depth", [1, 2, 10])
def test_text_is_scikit_learn_s(show_weights, max_depth):
    names = list(IRIS.feature_names)
    tree = SklearnClassifier(random_state=0).fit(IRIS.data, IRIS.target)
    how = {"feature_names": names, "show_weights": show_weights, "max_depth": max_depth, "decimals": 3}
    assert export_text(tree, **how) == sklearn_text(tree, **how)
    X, y = load_diabetes(return_X_y=True)
    numbers = SklearnRegressor(random_state=0, max_depth=4).fit(X, y)
    assert export_text(numbers, max_depth=max_depth) == sklearn_text(numbers, max_depth=max_depth)


def test_text_of_categories():
    frame = pd.DataFrame({"job": pd.Categorical(["A", "B", "C", "A"]), "age": [1.0, 2.0, 3.0, 4.0]})
    model = C45Classifier(min_cases=1, pruning=None, threshold_cost=False).fit(frame, [0, 1, 1, 0])
    text = export_text(model)
    assert "|--- job = A\n|   |--- class: 0\n" in text
    sets = export_text(course_tree(), feature_names=["age", "years", "job"], decimals=1)
    assert "|   |--- job = A\n" in sets
    assert "|   |--- job in {B, C}\n" in sets


def test_bounds_on_one_feature_become_one_interval():
    path = joined(joined(joined((), Interval(0, -np.inf, 5.0)), Interval(0, 1.0, np.inf)), Interval(1, 0.0, np.inf))
    assert path == (Interval(0, 1.0, 5.0), Interval(1, 0.0, np.inf))
    among = joined((Among(0, frozenset({1, 2, 3})),), Among(0, frozenset({2}), others=True))
    assert among == (Among(0, frozenset({1, 3})),)
    both = joined((Among(0, frozenset({1}), others=True),), Among(0, frozenset({2}), others=True))
    assert both == (Among(0, frozenset({1, 2}), others=True),)


def assert_rules_are_the_tree(model, X, rules):
    """Each row meets exactly one rule, and that rule says what the model says."""
    met = np.array([_met(rule.tests, X) for rule in rules])
    np.testing.assert_array_equal(met.sum(axis=0), 1)
    said = np.array([rule.outcome for rule in rules], dtype=object)[met.argmax(axis=0)]
    if isinstance(rules[0].outcome, float):
        np.testing.assert_allclose(said.astype(float), model.predict(X))
    else:
        np.testing.assert_array_equal(said, model.predict(X).astype(str))


@pytest.mark.parametrize("simplify", [False, True])
@pytest.mark.parametrize(
    "model", [SklearnClassifier(random_state=0), C45Classifier(), C45Classifier(pruning=None), ID3Classifier(n_bins=4)]
)
def test_rules_are_the_tree(model, simplify):
    model.fit(IRIS.data, IRIS.target)
    rules = export_rules(model, simplify=simplify)
    assert_rules_are_the_tree(model, IRIS.data, rules)
    np.testing.assert_allclose(sum(rule.support for rule in rules), 1.0)


def test_rules_of_numbers_are_the_tree():
    X, y = load_diabetes(return_X_y=True)
    model = SklearnRegressor(max_depth=4, random_state=0).fit(X, y)
    rules = export_rules(model)
    assert_rules_are_the_tree(model, X.astype(np.float32).astype(float), rules)
    rule = rules[0]
    mask = _met(rule.tests, X)
    np.testing.assert_allclose(rule.deviation, y[mask].std())
    np.testing.assert_allclose(rule.support, mask.mean())


def test_leaves_of_the_same_class_make_one_rule():
    model = SklearnClassifier(random_state=0, max_depth=3).fit(IRIS.data, IRIS.target)
    few, many = export_rules(model), export_rules(model, simplify=False)
    assert len(few) < len(many) == model.get_n_leaves()


def test_support_and_confidence_on_data_are_counts():
    model = C45Classifier(pruning=None).fit(IRIS.data[::2], IRIS.target[::2])
    X, y = IRIS.data[1::2], IRIS.target[1::2]
    w = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    for rule in export_rules(model, X, y, w):
        mask = _met(rule.tests, X)
        np.testing.assert_allclose(rule.support, w[mask].sum() / w.sum())
        np.testing.assert_allclose(rule.confidence, w[mask] @ (y[mask].astype(str) == rule.outcome) / w[mask].sum())


def test_conditions_that_do_not_matter_are_dropped():
    """y depends on x0 alone, the tree was made to split on x1 first: the rules do not mention it."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 2))
    y = (X[:, 0] > 0.5).astype(int)
    builder = TreeBuilder()
    root = builder.add(-1, False, 0.5, 400, 400.0, np.array([[0.5, 0.5]]))
    builder.split(root, 1, 0.5)
    for left in (True, False):
        child = builder.add(root, left, 0.5, 200, 200.0, np.array([[0.5, 0.5]]))
        builder.split(child, 0, 0.5)
        builder.add(child, True, 0.0, 100, 100.0, np.array([[1.0, 0.0]]))
        builder.add(child, False, 0.0, 100, 100.0, np.array([[0.0, 1.0]]))
    model = SklearnClassifier(max_depth=1).fit(X, y)
    stand_in = Fitted(builder.build(), 2)
    stand_in.classes_, stand_in.__class__ = model.classes_, FittedClassifier
    assert all(len(rule.conditions) == 2 for rule in export_rules(stand_in))
    rules = export_rules(stand_in, X, y)
    assert {rule.conditions for rule in rules} == {("feature_0 ≤ 0.50",), ("feature_0 > 0.50",)}
    assert all(rule.confidence == 1.0 for rule in rules)


class FittedClassifier(Fitted):
    """The same for a classifier."""

    def __sklearn_tags__(self):
        return SklearnClassifier().__sklearn_tags__()


def test_strongest_rules_of_a_forest():
    forest = SklearnForest(20, random_state=0, max_depth=3).fit(IRIS.data, IRIS.target)
    names = list(IRIS.feature_names)
    rules = export_rules(forest, IRIS.data, IRIS.target, feature_names=names, class_names=list("svw"), max_rules=6)
    assert len(rules) == 6
    strength = [rule.support * (rule.confidence - 1 / 3) for rule in rules]
    np.testing.assert_allclose(strength, sorted(strength, reverse=True), atol=0.01)
    assert len({rule.conditions for rule in rules}) == 6
    assert rules[0].confidence > 0.95
    assert len(export_rules(forest)) == 20
    assert all(
        rule.support >= 0.1 and rule.confidence >= 0.9
        for rule in export_rules(forest, min_support=0.1, min_confidence=0.9)
    )


def test_outline_of_category_sets():
    places = outline(course_tree().tree_)
    young = places[places[0].branches[0][1]]
    (first, _), (second, _) = young.branches
    assert first.codes == second.codes == {0}
    assert second.others
    assert first.holds(np.array([[0, 0, 0.0], [0, 0, 7.0]])).tolist() == [True, False]


def test_words_for_wrong_arguments():
    model = C45Classifier().fit(IRIS.data, IRIS.target)
    with pytest.raises(InputError, match="feature_names must contain 4 elements, got 2"):
        export_text(model, feature_names=["a", "b"])
    with pytest.raises(InputError, match="class_names has 2 entries"):
        export_rules(model, class_names=["a", "b"])
    with pytest.raises(InputError, match="holds no trees"):
        export_rules(LinearRegression().fit(IRIS.data, IRIS.target))


def test_picture_shows_every_node_in_words():
    model = SklearnClassifier(max_depth=4, random_state=0).fit(IRIS.data, IRIS.target)
    drawn = plot_tree(model, feature_names=IRIS.feature_names, class_names=IRIS.target_names)
    texts = words_of(drawn)
    assert sum(text in IRIS.target_names for text in texts) == model.get_n_leaves()
    assert sum(text.startswith("≤ ") for text in texts) == model.get_n_leaves() - 1
    assert "50 of 50" in texts
    assert png(drawn[0].figure)[1:4] == b"PNG"
    assert len(plot_tree(model, max_depth=1, proportion=True, impurity=True)) == 3 * 2 + 2
    assert len(plot_tree(course_tree())) == 9 * 2 + 8


def words_of(texts):
    return [text.get_text() for text in texts]


def test_picture_is_drawn_where_pyplot_stands_as_scikit_learns():
    model = SklearnClassifier(max_depth=3, random_state=0).fit(IRIS.data, IRIS.target)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(4, 3))
    right.plot([0, 1], [0, 1])
    drawn = plot_tree(model)
    assert {text.axes for text in drawn} == {right}
    assert not left.texts
    assert len(right.lines) == model.tree_.node_count - 1, "what was there is gone"
    figure.canvas.draw()
    box = min(p.get_window_extent().width for p in right.patches if isinstance(p, FancyBboxPatch))
    assert max(text.get_window_extent().width for text in drawn) < 1.2 * box, "letters find room"
    pyplot.close("all")
    assert plot_tree(model)[0].figure is pyplot.gcf(), "a figure of its own, if there is none"
    other = pyplot.figure().add_subplot()
    assert {text.axes for text in plot_tree(model, ax=left)} == {left}
    assert not other.texts


def test_picture_obeys_what_scikit_learn_can_be_told():
    model = SklearnRegressor(max_depth=2, random_state=0).fit(*load_diabetes(return_X_y=True))
    told = words_of(plot_tree(model, impurity=True, precision=3))
    assert "mean 152, n = 442, impurity 5.93e+03" in told
    assert "152, 442, 5.93e+03" in words_of(plot_tree(model, impurity=True, precision=3, label="none"))
    root = words_of(plot_tree(model, label="root"))
    assert sum(" = " in text for text in root) == 1
    with pytest.raises(ParameterError, match="label must be"):
        plot_tree(model, label="leaves")
    numbers = [text.split()[0] for text in words_of(plot_tree(model, node_ids=True)) if text.startswith("#")]
    assert numbers == [f"#{i}" for i in range(7)]
    assert words_of(plot_tree(model, node_ids=True, max_depth=1))[-2].startswith("#4 "), "numbers of the tree itself"
    for rounded, corners in ((True, "Round"), (False, "Square")):
        boxes = [p for p in plot_tree(model, rounded=rounded)[0].axes.patches if isinstance(p, FancyBboxPatch)]
        assert {type(box.get_boxstyle()).__name__ for box in boxes} == {corners}
    sizes = {text.get_fontsize() for text in plot_tree(model, fontsize=14)}
    assert max(sizes) == 14


def test_several_outputs_of_classes():
    """Every output is named; texts of scikit-learn name the first class of each of them alone."""
    X = IRIS.data
    Y = np.column_stack([IRIS.target, X[:, 0] > 5.8])
    model = DecisionTreeClassifier(max_depth=2).fit(X, Y)
    text = export_text(model, class_names=[list("svw"), ["short", "long"]], show_weights=True)
    leaves = [line.split("weights: ")[1] for line in text.splitlines() if "class" in line]
    expected = []
    for leaf in np.unique(model.apply(X)):
        rows = Y[model.apply(X) == leaf]
        counts = [np.bincount(rows[:, 0], minlength=3), np.bincount(rows[:, 1], minlength=2)]
        weights = ", ".join("[" + ", ".join(f"{c:.2f}" for c in each) + "]" for each in counts)
        expected.append(f"{weights} class: {'svw'[counts[0].argmax()]}, {('short', 'long')[counts[1].argmax()]}")
    assert leaves == expected
    assert "class: 0, 0" in export_text(model)
    assert sum(", " in t for t in words_of(plot_tree(model))) == model.get_n_leaves()
    with pytest.raises(InputError, match="class_names has 3 lists, but the tree has 2 outputs"):
        export_text(model, class_names=list("svw"))
    with pytest.raises(InputError, match="one output"):
        export_rules(model)
