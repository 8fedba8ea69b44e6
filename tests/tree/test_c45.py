"""ID3 and C4.5: the worked table, gains by definition, fractional cases, pruning by its own rules."""

import itertools
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, entropy
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier as SklearnTree

from didact.core.errors import InputError
from didact.engines.trees.variants.c45 import Cases, Rule, grow_c45, pack_c45, possible_splits
from didact.engines.trees.variants.c45_loops import scan_thresholds
from didact.engines.trees.variants.c45_prune import expected_errors, prune_pessimistic
from didact.engines.trees.variants.multiway import NO_TEST, MultiwayTree
from didact.parts.criteria.impurity import Gini
from didact.tree import C45Classifier, DecisionTreeClassifier, ID3Classifier

# Course M, "ID3 Example Setup": height, weight, sex.
PEOPLE = np.array([list(row) for row in ("THM", "SLF", "MMM", "MMM", "SHM", "SLF", "TLF", "TLM", "MLF")])
X_PEOPLE, SEX = PEOPLE[:, :2], PEOPLE[:, 2]
FULL = Rule(ratio=False, threshold_cost=False, min_cases=0.0, max_depth=np.inf)


def cases_of(X, y, w=None, categorical=()):
    X = np.asarray(X, float)
    counts = np.zeros(X.shape[1], int)
    for j in categorical:
        counts[j] = int(np.nanmax(X[:, j])) + 1
    codes = np.unique(y, return_inverse=True)[1]
    return Cases(
        columns=np.ascontiguousarray(X.T),
        codes=codes,
        weights=np.ones(len(X)) if w is None else w,
        n_classes=codes.max() + 1,
        n_categories=counts,
    )


def coded_people():
    return np.stack([np.unique(c, return_inverse=True)[1] for c in X_PEOPLE.T], axis=1)


def test_worked_example_gains_at_the_root():
    """Examples 30 and 31 of the worked examples: values recomputed by hand."""
    height, weight = possible_splits(cases_of(coded_people(), SEX, categorical=(0, 1)), FULL)
    np.testing.assert_allclose([height.gain, weight.gain], [0.072780, 0.590005], atol=5e-7)
    np.testing.assert_allclose([height.ratio, weight.ratio], [0.045919, 0.411004], atol=5e-7)
    np.testing.assert_allclose(0.991076 - np.array([height.gain, weight.gain]), [0.918296, 0.401071], atol=1e-6)


def test_gini_after_the_root_of_the_worked_example():
    """Example 30, in branches for each value; weight also as a binary split, where both other values are male alone."""
    sex = (SEX == "M").astype(int)
    groups = [[sex[column == value] for value in np.unique(column)] for column in X_PEOPLE.T]
    left = [sum(len(g) * Gini().impurity(g) for g in each) / len(sex) for each in groups]
    np.testing.assert_allclose(left, [4 / 9, 8 / 45])
    tree = DecisionTreeClassifier(max_depth=1).fit((X_PEOPLE[:, 1:] == "L").astype(float), SEX).tree_
    np.testing.assert_allclose(tree.weighted_n_node_samples[1:] @ tree.impurity[1:] / 9, 8 / 45)


def test_worked_example_tree():
    model = ID3Classifier(categorical_features=[0, 1]).fit(X_PEOPLE, SEX)
    tree = model.tree_
    assert tree.feature[0] == 1
    heavy, light, medium = tree.branches(0)
    assert tree.feature[heavy] == tree.feature[medium] == NO_TEST
    assert tree.feature[light] == 0
    light_cases = cases_of(coded_people()[SEX != "x"][X_PEOPLE[:, 1] == "L"], SEX[X_PEOPLE[:, 1] == "L"], None, (0, 1))
    np.testing.assert_allclose(possible_splits(light_cases, FULL)[0].gain, 0.321928, atol=5e-7)
    asked = [["T", "H"], ["S", "M"], ["S", "L"], ["M", "L"], ["T", "L"]]
    assert model.predict(asked).tolist() == ["M", "M", "F", "F", "F"]
    np.testing.assert_array_equal(model.predict_proba([["T", "L"]]), [[0.5, 0.5]])
    assert model.score(X_PEOPLE, SEX) == 8 / 9
    assert model.get_depth() == 2
    assert model.get_n_leaves() == 5


def test_c45_on_the_worked_example_splits_on_weight_too():
    model = C45Classifier(categorical_features=[0, 1], min_cases=1, pruning=None).fit(X_PEOPLE, SEX)
    assert model.tree_.feature[0] == 1
    assert model.score(X_PEOPLE, SEX) == 8 / 9


def test_id3_learns_xor_though_no_feature_gains_anything():
    X = np.array(list(itertools.product("ab", "cd")) * 2)
    y = (X[:, 0] == "a") ^ (X[:, 1] == "c")
    assert ID3Classifier(categorical_features=[0, 1]).fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_thresholds_are_those_of_an_exhaustive_search(seed):
    rng = np.random.default_rng(seed)
    x, y, w = np.sort(rng.integers(0, 12, 60).astype(float)), rng.integers(0, 3, 60), rng.integers(1, 4, 60) * 1.0

    def rest(cut):
        sides = [np.bincount(y[s], w[s], 3) for s in (x <= cut, x > cut)]
        return sum(side.sum() * entropy(side, base=2) for side in sides)

    values = np.unique(x)
    allowed = [v for v in values[:-1] if min(w[x <= v].sum(), w[x > v].sum()) >= 10]
    best, last, tries = scan_thresholds(x, y, w, 3, 10.0)
    assert tries == len(allowed)
    np.testing.assert_allclose(best, min(map(rest, allowed)), rtol=1e-12)
    np.testing.assert_allclose(rest(x[last]), best, rtol=1e-12)


def test_numbers_alone_and_gain_alone_is_the_entropy_tree_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    y = (np.sin(3 * X[:, 0]) + 0.3 * rng.normal(size=300) > 0).astype(int)
    nodes = grow_c45(cases_of(X, y), FULL._replace(max_depth=1))
    theirs = SklearnTree(criterion="entropy", max_depth=1, min_samples_leaf=15).fit(X, y)
    np.testing.assert_allclose(nodes[0].threshold, theirs.tree_.threshold[0], rtol=1e-6)


def test_average_gain_rule_and_ratio():
    """An identifier has the largest gain, but a poor ratio: ID3 takes it, C4.5 does not."""
    rng = np.random.default_rng(1)
    signal = np.repeat([0, 1], 20)
    y = np.where(rng.uniform(size=40) < 0.1, 1 - signal, signal)
    X = np.column_stack([np.arange(40), signal])
    cases = cases_of(X, y, categorical=(0, 1))
    identifier, useful = possible_splits(cases, FULL)
    assert identifier.gain > useful.gain
    assert identifier.ratio < useful.ratio
    assert grow_c45(cases, FULL)[0].feature == 0
    three = cases_of(np.column_stack([X[:, 1], X[:, 1]]), y, categorical=(0, 1))
    assert grow_c45(three, FULL._replace(ratio=True))[0].feature == 0, "of equals the first"


def test_cost_of_a_threshold():
    X, y = np.arange(8.0)[:, None], np.array([0, 0, 1, 0, 1, 1, 1, 1])
    free, paid = (possible_splits(cases_of(X, y), FULL._replace(threshold_cost=c))[0] for c in (False, True))
    np.testing.assert_allclose(free.gain - paid.gain, np.log2(7) / 8)
    np.testing.assert_allclose(paid.ratio / paid.gain, free.ratio / free.gain)
    assert free.threshold == paid.threshold == 3.5


# ------------------------------------------------------------------------------------------------ missing values


def test_gain_with_unknown_values_is_the_gain_of_the_known_times_their_share():
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 3, 50).astype(float), rng.integers(0, 2, 50)
    known = possible_splits(cases_of(x[10:, None], y[10:], categorical=(0,)), FULL)[0]
    x[:10] = np.nan
    every = possible_splits(cases_of(x[:, None], y, categorical=(0,)), FULL)[0]
    np.testing.assert_allclose(every.gain, 0.8 * known.gain, rtol=1e-12)
    sizes = np.append(np.bincount(x[10:].astype(int)), 10)
    np.testing.assert_allclose(every.ratio, every.gain / entropy(sizes, base=2), rtol=1e-12)


def test_training_with_fractions_equals_training_on_the_fractions():
    """A row with an unknown value is the same as its parts, each with a known value and a part of the weight."""
    x = np.array([0, 0, 0, 1, 1, np.nan])
    y = np.array([0, 0, 1, 1, 1, 0])
    tree = pack_c45(grow_c45(cases_of(x[:, None], y, categorical=(0,)), FULL))
    np.testing.assert_allclose(tree.value, [[3, 3], [2 + 0.6, 1], [0.4, 2]])
    np.testing.assert_allclose(tree.value[1:].sum(axis=0), tree.value[0])


def test_prediction_with_missing_values_is_the_mixture_over_branches():
    model = ID3Classifier(categorical_features=[0, 1]).fit(X_PEOPLE, SEX)
    weights = np.array([2, 5, 2]) / 9
    asked = np.array([["S", None]], dtype=object)
    by_branch = model.predict_proba([["S", "H"], ["S", "L"], ["S", "M"]])
    np.testing.assert_allclose(model.predict_proba(asked)[0], weights @ by_branch, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba([["S", "never seen"]]), model.predict_proba(asked))


def test_a_category_without_cases_at_the_node_gets_the_answer_of_the_node():
    X = np.array([["a", "u"], ["a", "v"], ["b", "w"], ["b", "w"], ["a", "u"]])
    model = ID3Classifier(categorical_features=[0, 1]).fit(X, [0, 1, 0, 0, 0])
    tree = model.tree_
    inner = [i for i in range(tree.node_count) if tree.feature[i] != NO_TEST and (tree.branches(i) < 0).any()]
    if inner:  # "w" never came with "a"
        np.testing.assert_allclose(
            model.predict_proba([["a", "w"]])[0], tree.value[inner[0]] / tree.value[inner[0]].sum()
        )
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("cls", [C45Classifier, ID3Classifier])
def test_probabilities_sum_to_one_with_anything_missing(cls):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 4))
    X[rng.uniform(size=X.shape) < 0.2] = np.nan
    X[:, 3] = np.nan
    y = (np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) > 0).astype(int)
    model = cls(**({"n_bins": 3} if cls is ID3Classifier else {})).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)
    assert model.score(X, y) > 0.8
    assert model.feature_importances_[3] == 0


# ------------------------------------------------------------------------------------------------ pruning


@pytest.mark.parametrize(("wrong", "total"), [(0, 6), (1, 16), (3, 10), (7, 9)])
def test_expected_errors_are_the_exact_limit(wrong, total):
    value = np.array([total - wrong, wrong], float)
    limit = expected_errors(value, wrong, 0.25) / total
    np.testing.assert_allclose(binom.cdf(wrong, total, limit), 0.25, rtol=1e-9)


def test_expected_errors_of_quinlan_s_example():
    """C4.5, section 4.2: U(0, 6) = 0.206, U(0, 9) = 0.143, U(0, 1) = 0.750."""
    found = [expected_errors(np.array([n, 0.0]), 0, 0.25) / n for n in (6, 9, 1)]
    np.testing.assert_allclose(found, [0.206, 0.143, 0.750], atol=5e-4)
    assert expected_errors(np.array([0.0, 3.0]), 3.0, 0.25) == 3.0


def noisy(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(rng.uniform(size=n) < 0.2, rng.integers(0, 2, n), X[:, 0] > 0.3).astype(int)


def test_pessimistic_pruning_keeps_the_signal_and_drops_the_noise():
    X, y = noisy()
    how = {"threshold_cost": False}
    full = C45Classifier(pruning=None, **how).fit(X, y)
    plain = C45Classifier(subtree_raising=False, **how).fit(X, y)
    raised = C45Classifier(**how).fit(X, y)
    assert full.get_n_leaves() > 3 * plain.get_n_leaves()
    X_new, y_new = noisy(2000, 1)
    assert plain.score(X_new, y_new) > full.score(X_new, y_new) + 0.03
    assert raised.score(X_new, y_new) > full.score(X_new, y_new) + 0.03
    assert raised.tree_.feature[0] == 0


def test_after_pruning_no_subtree_expects_more_errors_than_a_leaf_would():
    X, y = noisy()
    cases = cases_of(X, y)
    nodes = grow_c45(cases, FULL)
    prune_pessimistic(nodes, cases, 0.25, raising=False)
    tree = pack_c45(nodes)
    expected = np.array([expected_errors(v, v.sum() - v.max(), 0.25) for v in tree.value])
    for node in range(tree.node_count - 1, -1, -1):
        if tree.feature[node] != NO_TEST:
            below = expected[tree.branches(node)].sum()
            assert expected[node] > below + 0.1
            expected[node] = below


def test_raising_keeps_every_case():
    """Whatever is replaced, the children's class weights add up to their parent's."""
    X, y = noisy(600, 4)
    X[::7, 1] = np.nan
    cases = cases_of(X, y)
    nodes = grow_c45(cases, FULL)
    prune_pessimistic(nodes, cases, 0.4, raising=True)
    tree = pack_c45(nodes)
    for node in np.flatnonzero(tree.feature != NO_TEST):
        np.testing.assert_allclose(tree.value[tree.branches(node)].sum(axis=0), tree.value[node], atol=1e-9)
    np.testing.assert_allclose(tree.arrived(X, cases.codes, cases.weights), tree.value, atol=1e-9)


def test_raising_replaces_a_useless_root():
    """The root splits on noise (gain only slightly positive), its heavy branch on the signal."""
    X, y = noisy(800, 5)
    cases = cases_of(X, y)
    nodes = grow_c45(cases, FULL)
    full = pack_c45(nodes).node_count
    prune_pessimistic(nodes, cases, 0.25, raising=True)
    assert pack_c45(nodes).node_count < full / 5


def test_reduced_error_pruning_makes_no_more_errors_than_any_other_pruned_tree():
    X, y = noisy(120, 6)
    model = C45Classifier(pruning=None, threshold_cost=False, max_depth=3).fit(X, y)
    X_held, y_held = noisy(200, 7)
    tree = model.tree_
    inner = np.flatnonzero(tree.feature != NO_TEST)
    from didact.engines.trees.variants.c45_prune import cut_back
    from didact.engines.trees.variants.multiway import class_fractions

    def errors(t):
        return int((class_fractions(X_held, t).argmax(axis=1) != y_held).sum())

    best = np.inf
    for bits in itertools.product([True, False], repeat=len(inner)):
        keep = np.zeros(tree.node_count, bool)
        keep[inner] = bits
        best = min(best, errors(cut_back(tree, keep)))
    model.prune(X_held, y_held)
    assert errors(model.tree_) == best
    assert model.tree_.node_count <= tree.node_count


def test_reduced_error_pruning_inside_fit():
    X, y = noisy(600, 8)
    pruned = C45Classifier(pruning="reduced_error", threshold_cost=False, random_state=0).fit(X, y)
    full = C45Classifier(pruning=None, threshold_cost=False).fit(X, y)
    assert pruned.get_n_leaves() < full.get_n_leaves() / 3
    X_new, y_new = noisy(2000, 9)
    assert pruned.score(X_new, y_new) > full.score(X_new, y_new)


# ------------------------------------------------------------------------------------------------ words and weights


def test_numbers_are_refused_by_id3_by_name():
    frame = pd.DataFrame({"height": pd.Categorical(X_PEOPLE[:, 0]), "age": np.arange(9.0)})
    with pytest.raises(InputError, match=r"'age' holds numbers.*n_bins.*C45Classifier"):
        ID3Classifier().fit(frame, SEX)
    assert ID3Classifier(n_bins=9).fit(frame, SEX).score(frame, SEX) == 1.0


def test_frames_with_category_types():
    frame = pd.DataFrame({"height": pd.Categorical(X_PEOPLE[:, 0]), "weight": pd.Categorical(X_PEOPLE[:, 1])})
    array = ID3Classifier(categorical_features=[0, 1]).fit(X_PEOPLE, SEX)
    np.testing.assert_array_equal(ID3Classifier().fit(frame, SEX).predict_proba(frame), array.predict_proba(X_PEOPLE))


def test_weights_equal_repetition_with_missing_values_and_categories():
    rng = np.random.default_rng(10)
    X = np.column_stack([rng.normal(size=(150, 2)), rng.integers(0, 4, 150)])
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    y, w = rng.integers(0, 3, 150), rng.integers(0, 4, 150)
    weighted = C45Classifier(categorical_features=[2], confidence=0.6).fit(X, y, sample_weight=w)
    repeated = C45Classifier(categorical_features=[2], confidence=0.6).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-9)


def test_class_weight_equals_sample_weight():
    X, y = noisy(200, 11)
    by_class = C45Classifier(class_weight={0: 3.0}).fit(X, y)
    by_row = C45Classifier().fit(X, y, sample_weight=np.where(y == 0, 3.0, 1.0))
    np.testing.assert_array_equal(by_class.predict_proba(X), by_row.predict_proba(X))


def test_bad_input_in_one_sentence():
    X, y = noisy(30, 12)
    with pytest.raises(InputError, match="held-out set"):
        C45Classifier(pruning="reduced_error", validation_fraction=1e-9, random_state=0).fit(X, y)
    with pytest.raises(InputError, match="not there at fit"):
        C45Classifier().fit(X, y).prune(X, y + 5)
    with pytest.raises(ValueError, match="class_weight names"):
        C45Classifier(class_weight={7: 1.0}).fit(X, y)
    only = C45Classifier().fit(X, np.zeros(30))
    assert only.get_n_leaves() == 1
    assert (only.predict(X) == 0).all()


@pytest.mark.parametrize("factor", [1e-9, 1 / 150, 0.001, 1000.0])
@pytest.mark.parametrize("params", [{}, {"pruning": None}, {"pruning": "reduced_error", "random_state": 0}])
def test_a_constant_factor_of_the_weights_changes_nothing(params, factor):
    X, y = load_iris(return_X_y=True)
    for w in (np.ones(150), np.random.default_rng(0).integers(0, 4, 150), np.random.default_rng(0).uniform(size=150)):
        one, other = (C45Classifier(**params).fit(X, y, sample_weight=k * w) for k in (1.0, factor))
        np.testing.assert_array_equal(one.tree_.feature, other.tree_.feature)
        np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-9)
    assert C45Classifier(**params).fit(X, y, sample_weight=np.full(150, factor)).score(X, y) > 0.9


@pytest.mark.parametrize("model", [ID3Classifier(), C45Classifier(), DecisionTreeClassifier()])
def test_text_is_to_be_named_as_categories(model):
    frame = pd.DataFrame({"height": ["tall", "short"] * 8, "width": ["wide", "slim"] * 8})
    for X in (frame, frame.to_numpy(), frame.to_numpy().tolist(), np.array(frame.to_numpy(), dtype=str)):
        with pytest.raises(InputError, match="ame it in categorical_features") as caught:
            model.fit(X, [0, 1] * 8)
        assert "OneHotEncoder" not in str(caught.value)
    model.set_params(categorical_features=[0, 1]).fit(frame, [0, 1] * 8)
    assert model.predict(frame).tolist() == [0, 1] * 8


def test_a_forged_tree_is_refused_before_anything_is_made_of_it():
    """The sizes add up in 32 bits, but the branches of the nodes would fill 6 GiB."""
    first = np.array([0, 2**31 - 1, -(2**31), 2**31 - 1, 0], np.int32)
    leaves, none = np.full(4, NO_TEST, np.int32), np.full(4, np.nan)
    tree = MultiwayTree(
        feature=leaves, threshold=none, first=first, children=np.zeros(0, np.int32), value=np.ones((4, 2))
    )
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="do not fit together"):
            tree.check()
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
