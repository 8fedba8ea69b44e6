"""One-vs-one and output codes: identities with votes, with scikit-learn, and between the two; weights and routing."""

import numpy as np
import pytest
import sklearn
import sklearn.multiclass
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression as TheirLogistic
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from didact.core.errors import InputError, ParameterError
from didact.linear_model import LogisticRegression, Ridge
from didact.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier, code_matrix
from didact.multiclass.output_code import LOSSES, distances

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


@pytest.mark.parametrize("base", [TheirLogistic(max_iter=1000), RidgeClassifier()], ids=["logistic", "ridge"])
def test_votes_equal_scikit_learn(base):
    ours, theirs = OneVsOneClassifier(base).fit(X, NAMES), sklearn.multiclass.OneVsOneClassifier(base).fit(X, NAMES)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    two = Y < 2
    ours, theirs = (clone(m).fit(X[two], Y[two]) for m in (ours, theirs))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-12)


def test_summed_discriminants_by_hand():
    model = OneVsOneClassifier(LogisticRegression(), decision="sum").fit(X, Y)
    g = {}
    for model_of_pair, (i, j) in zip(model.estimators_, [(0, 1), (0, 2), (1, 2)], strict=True):
        rows = (i == Y) | (j == Y)
        alone = LogisticRegression().fit(X[rows], Y[rows] == j)
        g[j, i] = alone.decision_function(X)
        g[i, j] = -g[j, i]
        np.testing.assert_allclose(model_of_pair.decision_function(X), g[j, i])
    sums = np.column_stack([sum(g[i, j] for j in range(3) if j != i) for i in range(3)])
    np.testing.assert_allclose(model.decision_function(X), sums, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), sums.argmax(axis=1))
    np.testing.assert_allclose(sums.sum(axis=1), 0, atol=1e-10)


@pytest.mark.parametrize(
    ("base", "decision"),
    [(KNeighborsClassifier(), "sum"), (GaussianNB(), "votes"), (GaussianNB(), "sum"), (Ridge(), "votes")],
)
def test_any_model_will_do(base, decision):
    assert OneVsOneClassifier(base, decision=decision).fit(X, Y).score(X, Y) > 0.95


@pytest.mark.parametrize("decoding", LOSSES)
def test_decoding_adds_the_losses_of_the_margins(decoding):
    rng = np.random.default_rng(0)
    G, W = rng.normal(size=(30, 6)), code_matrix("one_vs_one", 4)
    slow = [[sum(LOSSES[decoding](W[k, j] * g[j]) for j in range(6)) for k in range(4)] for g in G]
    np.testing.assert_allclose(distances(G, W, decoding), slow, rtol=1e-12)


def test_hamming_decoding_is_the_largest_vote():
    model = OutputCodeClassifier(code="exhaustive", decoding="hamming").fit(X, Y)
    letters = np.column_stack([2.0 * m.predict(X) - 1 for m in model.estimators_])
    wrong = (letters[:, None, :] != model.code_book_[None]).sum(axis=2)
    np.testing.assert_allclose(-model.decision_function(X), wrong)
    np.testing.assert_array_equal(model.predict(X), (letters @ model.code_book_.T).argmax(axis=1))


def test_one_vs_one_is_an_output_code():
    pairs = OneVsOneClassifier(decision="sum").fit(X, Y)
    code = OutputCodeClassifier(code="one_vs_one", decoding="hinge").fit(X, Y)
    for a, b in zip(pairs.estimators_, code.estimators_, strict=True):
        np.testing.assert_allclose(a.decision_function(X), -b.decision_function(X), rtol=1e-6, atol=1e-7)


def test_one_vs_rest_is_an_output_code():
    """With the exponential loss: Σ_l e^(−w_kl g_l) falls with g_k − the same sum for all classes."""
    rest = OneVsRestClassifier(LogisticRegression()).fit(X, Y)
    code = OutputCodeClassifier(code=2 * np.eye(3) - 1, decoding="exponential").fit(X, Y)
    G = rest.decision_function(X)
    np.testing.assert_array_equal(code.predict(X), G.argmax(axis=1))
    np.testing.assert_allclose(
        code.decision_function(X), 2 * np.sinh(G) - np.exp(G).sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-6
    )


def test_redundant_codes_correct_the_errors_of_trees():
    D, t = load_digits(return_X_y=True)
    train, test = slice(0, 1000), slice(1000, None)
    weak = DecisionTreeClassifier(max_depth=5, random_state=0)
    scores = {
        kind: OutputCodeClassifier(weak, code=kind, code_size=4, random_state=0, decoding="hamming")
        .fit(D[train], t[train])
        .score(D[test], t[test])
        for kind in ("one_vs_rest", "optimized")
    }
    assert scores["optimized"] > scores["one_vs_rest"] + 0.1


def test_dont_care_classes_are_left_out():
    code = [[1, 0], [-1, 1], [0, -1]]
    model = OutputCodeClassifier(code=code).fit(X, Y)
    alone = LogisticRegression().fit(X[Y > 0], Y[Y > 0] == 1)
    np.testing.assert_allclose(model.estimators_[1].coef_, alone.coef_)


@pytest.mark.parametrize("model", [OneVsOneClassifier(), OutputCodeClassifier(random_state=0)], ids=["pairs", "code"])
def test_weights_reach_the_learners_or_are_refused(model):
    w = np.random.default_rng(0).integers(0, 4, len(Y))
    weighted = clone(model).fit(X, NAMES, sample_weight=w)
    repeated = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(NAMES, w))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-6, atol=1e-7)
    with pytest.raises(ValueError, match="KNeighborsClassifier cannot weigh rows"):
        clone(model).set_params(estimator=KNeighborsClassifier()).fit(X, Y, sample_weight=w)


@pytest.mark.parametrize("cls", [OneVsOneClassifier, OutputCodeClassifier])
def test_metadata_are_routed_to_the_learners(cls):
    w = np.random.default_rng(0).integers(1, 4, len(Y)).astype(float)
    options = {"random_state": 0} if cls is OutputCodeClassifier else {}
    direct = cls(LogisticRegression(), **options).fit(X, Y, sample_weight=w)
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline("passthrough", LogisticRegression().set_fit_request(sample_weight="importance"))
        routed = cls(pipe, **options).fit(X, Y, importance=w)
        np.testing.assert_allclose(routed.decision_function(X), direct.decision_function(X))
        with pytest.raises(TypeError, match="nonsense"):
            cls(pipe, **options).fit(X, Y, nonsense=w)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        cls(LogisticRegression(), **options).fit(X, Y, importance=w)


def test_nested_parameters():
    model = OneVsOneClassifier(make_pipeline(StandardScaler(), LogisticRegression()))
    model.set_params(estimator__logisticregression__C=0.1)
    assert model.fit(X, Y).estimators_[0][-1].C == 0.1
    assert "C" not in OneVsOneClassifier().get_params()


@pytest.mark.parametrize("cls", [OneVsOneClassifier, OutputCodeClassifier])
def test_one_class_only_is_refused(cls):
    with pytest.raises(ValueError, match="one class only: 'setosa'"):
        cls().fit(X[:50], NAMES[:50])


def test_a_given_code_must_fit_the_classes():
    with pytest.raises(ValueError, match="each of the 3 classes"):
        OutputCodeClassifier(code=[[1], [-1]]).fit(X, Y)


def test_pairs_go_on_learning_as_their_base_model_does():
    """partial_fit of all pairs is partial_fit of each base model on the rows of its two classes, batch by batch."""
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, names = X[order], np.array(["a", "b", "c"])[y[order]]
    model = OneVsOneClassifier(GaussianNB())
    batches = [slice(0, 20), slice(20, 25), slice(25, 150)]
    for part in batches:
        model.partial_fit(X[part], names[part], classes=["a", "b", "c"])
    for learner, (i, j) in zip(model.estimators_, ["ab", "ac", "bc"], strict=True):
        rows = np.isin(names, [i, j])
        alone = GaussianNB().fit(X[rows], (names[rows] == j).astype(int))
        np.testing.assert_allclose(learner.theta_, alone.theta_)
    theirs = sklearn.multiclass.OneVsOneClassifier(GaussianNB())
    for part in batches:
        theirs.partial_fit(X[part], y[order][part], classes=[0, 1, 2])  # it cannot read words
    np.testing.assert_array_equal(model.predict(X), np.array(["a", "b", "c"])[theirs.predict(X)])
    before = model.estimators_[0].class_count_.sum()
    only = model.partial_fit(X[names == "c"], names[names == "c"])  # no row for the first pair
    assert only.estimators_[0].class_count_.sum() == before


def test_pairs_that_cannot_go_on_say_why():
    X, y = load_iris(return_X_y=True)
    assert not hasattr(OneVsOneClassifier(), "partial_fit")
    model = OneVsOneClassifier(GaussianNB())
    with pytest.raises(ParameterError, match="classes must be passed on the first call"):
        model.partial_fit(X, y)
    with pytest.raises(InputError, match="at least 2 classes"):
        model.partial_fit(X, y, classes=[1])
    with pytest.raises(InputError, match="label 2, which is none"):
        model.partial_fit(X, y, classes=[0, 1])
    model = OneVsOneClassifier(GaussianNB()).partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ParameterError, match="not the same as on last call"):
        model.partial_fit(X, y, classes=[0, 1, 3])
    with pytest.raises(ValueError, match="3 features"):
        model.partial_fit(X[:, :3], y)
    weighted = OneVsOneClassifier(GaussianNB()).partial_fit(X, y, [0, 1, 2], sample_weight=1.0 + (y == 1))
    np.testing.assert_array_equal(weighted.estimators_[0].class_count_, [50, 100])


class Loud(RidgeClassifier):
    """A linear classifier whose margins are beyond all bounds."""

    def decision_function(self, X):
        return np.where(super().decision_function(X) > 0, np.inf, -np.inf)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("decoding", LOSSES)
def test_margins_without_bounds_count_as_sure_ones(decoding, dtype):
    """Infinity times the 0 of a word would be NaN, and NaN would win every comparison."""
    code = [[1, 1, 0], [-1, 1, 1], [0, -1, -1]]
    model = OutputCodeClassifier(Loud(), code=code, decoding=decoding).fit(X.astype(dtype), Y)
    quiet = OutputCodeClassifier(RidgeClassifier(), code=code, decoding="hamming").fit(X, Y)
    assert np.isfinite(model.decision_function(X.astype(dtype))).all()
    if decoding == "hamming":
        np.testing.assert_array_equal(model.predict(X), quiet.predict(X))
    for rule in ("votes", "sum"):
        pairs = OneVsOneClassifier(Loud(), decision=rule).fit(X.astype(dtype), Y)
        assert np.isfinite(pairs.decision_function(X.astype(dtype))).all()
        np.testing.assert_array_equal(pairs.predict(X), OneVsOneClassifier(RidgeClassifier()).fit(X, Y).predict(X))
