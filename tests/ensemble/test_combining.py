"""Voting, clusterwise models and Bayesian combination: formulas by hand, identities and refusals."""

import numpy as np
import pytest
import sklearn
import sklearn.ensemble
from scipy.stats import binom
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_blobs
from sklearn.dummy import DummyRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

import didact
from didact.ensemble import (
    BayesianModelCombination,
    ClusterwiseClassifier,
    ClusterwiseRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from didact.ensemble.bayesian_combination import averaging_weights, combination_weights
from didact.linear_model import LinearRegression, LogisticRegression, Ridge
from didact.tree import DecisionTreeClassifier, DecisionTreeRegressor

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
D, T = load_diabetes(return_X_y=True)

# ------------------------------------------------------------------------------------------------ voting


@pytest.mark.parametrize(("voters", "share"), [(1, 0.6), (3, 0.648), (5, 0.68256), (11, 0.753498), (21, 0.825622)])
def test_a_majority_is_better_than_each_voter(voters, share):
    """Example 63, by the formula and by voters that know the class with probability 0.6."""
    assert binom.sf(voters // 2, voters, 0.6) == pytest.approx(share, abs=5e-7)
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 20_000)
    votes = np.where(rng.uniform(size=(voters, len(truth))) < 0.6, truth, 1 - truth)

    class Voter(sklearn.base.ClassifierMixin, sklearn.base.BaseEstimator):
        def __init__(self, number=0):
            self.number = number

        def fit(self, X, y):
            self.classes_ = np.array([0, 1])
            return self

        def predict(self, X):
            return votes[self.number]

    model = VotingClassifier([(f"v{k}", Voter(k)) for k in range(voters)]).fit(np.zeros((2, 1)), [0, 1])
    assert np.mean(model.predict(np.zeros((len(truth), 1))) == truth) == pytest.approx(share, abs=0.01)


MODELS = [
    ("line", LinearRegression()),
    ("tree", DecisionTreeRegressor(max_depth=3)),
    ("far", DummyRegressor(strategy="mean")),
]


def test_voting_by_mean_and_by_median():
    mean, median = (VotingRegressor(MODELS, combine=how).fit(D, T) for how in ("mean", "median"))
    columns = np.column_stack([clone(m).fit(D, T).predict(D) for _, m in MODELS])
    np.testing.assert_allclose(mean.predict(D), columns.mean(axis=1))
    np.testing.assert_allclose(median.predict(D), np.median(columns, axis=1))
    heavy = VotingRegressor(MODELS, combine="median", weights=[1, 5, 1]).fit(D, T)
    np.testing.assert_allclose(heavy.predict(D), columns[:, 1])
    dropped = VotingRegressor(MODELS, combine="median", weights=[1, 2, 1]).set_params(far="drop").fit(D, T)
    np.testing.assert_allclose(dropped.predict(D), columns[:, 1])


def test_the_median_resists_a_model_that_is_far_off():
    models = [*MODELS[:2], ("far", DummyRegressor(strategy="constant", constant=1e6))]
    mean, median = (VotingRegressor(models, combine=how).fit(D, T).score(D, T) for how in ("mean", "median"))
    assert median > 0.4
    assert mean < -100


def test_voting_keeps_scikit_learn_s_interface(tmp_path):
    model = VotingRegressor(MODELS, combine="median")
    assert clone(model).get_params()["combine"] == "median"
    assert model.set_params(tree__max_depth=1).get_params()["tree__max_depth"] == 1
    model = VotingRegressor(MODELS[:2], combine="median").fit(D, T)
    didact.save(model, tmp_path / "votes.didact")
    np.testing.assert_array_equal(didact.load(tmp_path / "votes.didact").predict(D), model.predict(D))
    with pytest.raises(ValueError, match="'mean' or 'median'"):
        VotingRegressor(MODELS, combine="mode").fit(D, T)


def test_stacking_is_scikit_learn_s_with_our_models():
    assert StackingClassifier is sklearn.ensemble.StackingClassifier
    model = StackingClassifier([("a", GaussianNB()), ("b", DecisionTreeClassifier(max_depth=3))], LogisticRegression())
    assert model.fit(X, NAMES).score(X, NAMES) > 0.95
    both = StackingRegressor([("a", Ridge()), ("b", DecisionTreeRegressor(max_depth=3))], LinearRegression()).fit(D, T)
    assert both.score(D, T) > 0.5


# ------------------------------------------------------------------------------------------------ one model per cluster


def test_each_cluster_has_the_model_of_its_rows():
    A, _ = make_blobs(600, 3, centers=4, random_state=1)
    b = np.sin(A[:, 0]) * A[:, 1] + A[:, 2] ** 2
    model = ClusterwiseRegressor(LinearRegression(), n_clusters=4, random_state=0).fit(A, b)
    cluster = model.predict_cluster(A)
    np.testing.assert_array_equal(np.bincount(cluster), model.cluster_sizes_)
    for k in range(4):
        alone = LinearRegression().fit(A[cluster == k], b[cluster == k])
        np.testing.assert_allclose(model.estimators_[k].coef_, alone.coef_)
        np.testing.assert_allclose(model.predict(A[cluster == k]), alone.predict(A[cluster == k]))
        np.testing.assert_allclose(model.cluster_centers_[k], A[cluster == k].mean(axis=0))
    assert model.score(A, b) > LinearRegression().fit(A, b).score(A, b) + 0.02


def test_one_cluster_is_the_model_itself():
    np.testing.assert_allclose(
        ClusterwiseRegressor(Ridge(), n_clusters=1).fit(D, T).predict(D), Ridge().fit(D, T).predict(D)
    )


def test_a_cluster_may_know_one_class_only():
    model = ClusterwiseClassifier(LogisticRegression(), n_clusters=3, random_state=0).fit(X, NAMES)
    assert min(len(m.classes_) for m in model.estimators_) == 1
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.score(X, NAMES) > 0.92


def test_clusterwise_refusals_and_equal_rows():
    with pytest.raises(ValueError, match="too few for 9 clusters"):
        ClusterwiseRegressor(n_clusters=9).fit(D[:5], T[:5])
    same = ClusterwiseRegressor(n_clusters=3, random_state=0).fit(np.ones((20, 2)), np.arange(20.0))
    assert same.predict(np.ones((1, 2)))[0] == pytest.approx(9.5)


# ------------------------------------------------------------------------------------------------ Bayesian combination


def test_averaging_is_bayes_rule():
    P = np.array([[0.9, 0.6], [0.8, 0.7], [0.5, 0.6]])
    expected = np.array([2 * 0.9 * 0.8 * 0.5, 0.6 * 0.7 * 0.6])
    np.testing.assert_allclose(averaging_weights(P, np.ones(3), np.array([2.0, 1.0])), expected / expected.sum())


def test_averaging_of_the_candy_bags():
    """Example 3: five hypotheses, ten limes."""
    lime = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    posterior = averaging_weights(np.tile(lime, (10, 1)), np.ones(10), np.array([0.1, 0.2, 0.4, 0.2, 0.1]))
    np.testing.assert_allclose(posterior, [0, 1.708275e-6, 0.003498546, 0.100871903, 0.895627842], atol=5e-10)
    assert posterior @ lime == pytest.approx(0.973031470)


def test_draws_follow_the_posterior():
    """Two models: the posterior of q on a grid."""
    rng = np.random.default_rng(0)
    P = rng.uniform(0.1, 0.9, size=(30, 2))
    grid = np.linspace(0, 1, 4001)
    log = np.log(grid[:, None] * P[:, 0] + (1 - grid[:, None]) * P[:, 1]).sum(axis=1) + np.log(np.maximum(grid, 1e-300))
    density = np.exp(log - log.max())  # prior Dirichlet(2, 1) ∝ q
    density /= density.sum()
    mean = grid @ density
    std = np.sqrt(((grid - mean) ** 2) @ density)
    draws = combination_weights(P, np.ones(30), np.array([2.0, 1.0]), 20_000, np.random.default_rng(1))
    assert draws[:, 0].mean() == pytest.approx(mean, abs=0.02)
    assert draws[:, 0].std() == pytest.approx(std, rel=0.05)


def test_averaging_takes_one_model_and_combination_mixes():
    """Half of the classes come from the first column, half from the second: no model alone is true."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(2000, 2))
    b = np.where(rng.uniform(size=2000) < 0.5, A[:, 0] > 0, A[:, 1] > 0).astype(int)

    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline

    models = [
        (
            f"column {j}",
            make_pipeline(ColumnTransformer([("keep", "passthrough", [j])]), DecisionTreeClassifier(max_depth=1)),
        )
        for j in (0, 1)
    ]
    mixed, one = (
        BayesianModelCombination(models, method=m, random_state=0).fit(A, b) for m in ("combination", "averaging")
    )
    np.testing.assert_allclose(mixed.weights_, 0.5, atol=0.08)
    assert one.weights_.max() > 0.95
    assert mixed.score(A, b) >= one.score(A, b)
    np.testing.assert_allclose(
        mixed.predict_proba(A),
        sum(q * m.predict_proba(A) for q, m in zip(mixed.weights_, mixed.estimators_, strict=True)),
    )
    assert (mixed.weights_std_ > 0).all()


def test_a_model_that_knows_wins():
    models = [("good", LogisticRegression()), ("bad", DecisionTreeClassifier(max_depth=1))]
    for method in ("combination", "averaging"):
        model = BayesianModelCombination(models, method=method, random_state=0).fit(
            StandardScaler().fit_transform(X), NAMES
        )
        assert model.weights_[0] > 0.8
        assert model.log_likelihoods_[0] > model.log_likelihoods_[1]


def test_bayesian_refusals_and_parameters():
    models = [("a", GaussianNB()), ("b", KNeighborsClassifier())]
    model = BayesianModelCombination(models, random_state=0)
    assert model.set_params(b__n_neighbors=3).get_params()["b__n_neighbors"] == 3
    assert model.fit(X, NAMES).estimators_[1].n_neighbors == 3
    for options, words in [({"prior": [1.0, 2.0, 3.0]}, "each of the 2"), ({"prior": [1.0, -2.0]}, "positive number")]:
        with pytest.raises(ValueError, match=words):
            clone(model).set_params(**options).fit(X, Y)
    with pytest.raises(ValueError, match="pairs"):
        BayesianModelCombination([GaussianNB()]).fit(X, Y)
    with pytest.raises(ValueError, match="not unique"):
        BayesianModelCombination([("a", GaussianNB()), ("a", GaussianNB())]).fit(X, Y)
    with pytest.raises(ValueError, match="cannot weigh rows"):
        model.fit(X, Y, sample_weight=np.ones(150))


def test_metadata_go_to_the_model_that_asks():
    w = np.random.default_rng(0).uniform(0.5, 2, 150)
    with sklearn.config_context(enable_metadata_routing=True):
        models = [("a", GaussianNB().set_fit_request(sample_weight="importance")), ("b", KNeighborsClassifier())]
        model = BayesianModelCombination(models, random_state=0).fit(X, Y, importance=w)
        np.testing.assert_allclose(model.estimators_[0].theta_, GaussianNB().fit(X, Y, w).theta_)
