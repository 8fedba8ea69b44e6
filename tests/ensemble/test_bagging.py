"""Bagging: draws, combinations, out-of-bag estimates, variance, and agreement with scikit-learn and by hand."""

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import accuracy_score, r2_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import didact
from didact.ensemble import BaggingClassifier, BaggingRegressor
from didact.ensemble.bagging_base import draw
from didact.linear_model import LinearRegression, LogisticRegression, Ridge
from didact.parts.statistics.weighted_quantile import weighted_quantile
from didact.tree import DecisionTreeClassifier, DecisionTreeRegressor

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
D, T = load_diabetes(return_X_y=True)


@pytest.mark.parametrize(("n", "share"), [(10, 0.651322), (100, 0.633968), (1000, 0.632305)])
def test_a_bootstrap_sample_holds_the_known_share_of_rows(n, share):
    """Example 18: 1 − (1 − 1/n)^n of the rows on average, which tends to 1 − 1/e."""
    assert 1 - (1 - 1 / n) ** n == pytest.approx(share, abs=5e-7)
    assert 1 - np.exp(-1) == pytest.approx(0.632121, abs=5e-7)
    drawn = [len(np.unique(draw(seed, n, 1, n, 1, True, False, None)[1])) / n for seed in range(5000)]
    assert np.mean(drawn) == pytest.approx(share, abs=4 * np.std(drawn) / np.sqrt(5000))
    data = np.arange(2.0 * n).reshape(n, 2)
    model = BaggingRegressor(LinearRegression(), n_estimators=400, random_state=0).fit(data, data[:, 0])
    shares = [len(np.unique(rows)) / n for rows in model.estimators_samples_]
    assert np.mean(shares) == pytest.approx(1 - (1 - 1 / n) ** n, abs=4 * np.std(shares) / 20)


@pytest.mark.parametrize("base", [Ridge(), KNeighborsRegressor()], ids=["weights", "index"])
@pytest.mark.parametrize("bootstrap", [True, False])
def test_every_model_is_the_fit_to_its_draw(base, bootstrap):
    options = {"max_samples": 0.6, "max_features": 4, "bootstrap": bootstrap, "random_state": 1}
    model = BaggingRegressor(base, n_estimators=5, **options).fit(D, T)
    for fitted, rows, columns in zip(
        model.estimators_, model.estimators_samples_, model.estimators_features_, strict=True
    ):
        assert len(rows) == int(0.6 * len(T))
        assert (len(np.unique(rows)) < len(rows)) == bootstrap
        assert len(np.unique(columns)) == 4
        alone = sklearn.base.clone(base).fit(D[rows][:, columns], T[rows])
        np.testing.assert_allclose(fitted.predict(D[:, columns]), alone.predict(D[:, columns]), rtol=1e-8)
    each = [m.predict(D[:, f]) for m, f in zip(model.estimators_, model.estimators_features_, strict=True)]
    np.testing.assert_allclose(model.predict(D), np.mean(each, axis=0))
    np.testing.assert_allclose(model.set_params(combine="median").predict(D), np.median(each, axis=0))


def test_columns_may_be_drawn_with_replacement():
    model = BaggingClassifier(bootstrap_features=True, n_estimators=20, random_state=0).fit(X, Y)
    assert any(len(np.unique(f)) < 4 for f in model.estimators_features_)
    assert model.score(X, Y) > 0.9


@pytest.mark.parametrize("combine", ["mean", "vote"])
def test_probabilities_are_means_or_shares_of_votes(combine):
    model = BaggingClassifier(LogisticRegression(), combine=combine, random_state=0).fit(X, NAMES)
    if combine == "mean":
        expected = np.mean([m.predict_proba(X) for m in model.estimators_], axis=0)
    else:
        expected = np.mean([np.eye(3)[m.predict(X)] for m in model.estimators_], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), expected)
    np.testing.assert_array_equal(model.predict(X), model.classes_[expected.argmax(axis=1)])


def test_a_draw_may_lack_a_class():
    y = np.where(np.arange(len(Y)) < 3, "rare", NAMES)
    model = BaggingClassifier(n_estimators=15, max_samples=20, random_state=0).fit(X, y)
    assert min(len(m.classes_) for m in model.estimators_) < 4
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (150, 4)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


@pytest.mark.parametrize("kinds", [3, 4])
def test_decision_values_of_a_draw_without_some_class(kinds):
    """A class that a model has not seen gets its lowest value; predictions then follow the decision values."""
    y = np.where(np.arange(len(Y)) < 3, "rare", NAMES) if kinds == 4 else np.where(Y == 1, Y, 2 * (np.arange(150) > 2))
    model = BaggingClassifier(LogisticRegression(), n_estimators=15, max_samples=20, random_state=0).fit(X, y)
    assert min(len(m.classes_) for m in model.estimators_) < kinds
    expected = np.zeros((150, kinds))
    for m in model.estimators_:
        values = m.decision_function(X)
        values = np.column_stack([-values, values]) if len(m.classes_) == 2 else values
        for k in range(kinds):
            known = m.classes_.tolist()
            expected[:, k] += values[:, known.index(k)] if k in known else values.min(axis=1)
    np.testing.assert_allclose(model.decision_function(X), expected / 15)
    assert np.mean(model.classes_[model.decision_function(X).argmax(axis=1)] == model.predict(X)) > 0.95


def test_decision_values_of_pairs_of_classes_cannot_be_completed():
    y = np.arange(150) % 5
    y[y == 4] = np.where(np.flatnonzero(y == 4) < 20, 4, 0)
    base = SVC(decision_function_shape="ovo")
    model = BaggingClassifier(base, n_estimators=8, max_samples=20, random_state=0).fit(X, y)
    assert {4, 5} <= {len(m.classes_) for m in model.estimators_}
    with pytest.raises(ValueError, match="held 4 of the 5 classes, and SVC"):
        model.decision_function(X)


@pytest.mark.parametrize("combine", ["mean", "median"])
@pytest.mark.parametrize("base", [None, Ridge(), make_pipeline(StandardScaler(), Ridge())])
def test_several_outputs_where_the_base_model_takes_them(base, combine):
    both = np.column_stack([T, D[:, 2]])
    options = {"n_estimators": 30, "combine": combine, "oob_score": True, "random_state": 0}
    model = BaggingRegressor(base, **options).fit(D, both)
    each = np.array([m.predict(D) for m in model.estimators_])
    np.testing.assert_allclose(model.predict(D), each.mean(axis=0) if combine == "mean" else np.median(each, axis=0))
    out = np.ones((30, len(T)), bool)
    for k, rows in enumerate(model.estimators_samples_):
        out[k, rows] = False
    each[~out] = np.nan
    expected = np.nanmean(each, axis=0) if combine == "mean" else np.nanmedian(each, axis=0)
    np.testing.assert_allclose(model.oob_prediction_, expected)
    assert model.oob_score_ == pytest.approx(r2_score(both, expected))
    if base is not None:
        alone = BaggingRegressor(base, **options).fit(D, T)
        np.testing.assert_allclose(model.predict(D)[:, 0], alone.predict(D), rtol=1e-9)


def test_a_base_model_of_one_output_gets_one():
    with pytest.raises(ValueError, match="1d array"):
        BaggingRegressor(SVR()).fit(D, np.column_stack([T, T]))


def test_out_of_bag_by_hand_and_near_a_held_out_score():
    cancer, target = load_breast_cancer(return_X_y=True)
    train = np.arange(len(target)) % 2 == 0
    model = BaggingClassifier(n_estimators=60, oob_score=True, random_state=0).fit(cancer[train], target[train])
    votes, seen = np.zeros((train.sum(), 2)), np.zeros(train.sum())
    for fitted, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
        out = np.setdiff1d(np.arange(train.sum()), rows)
        votes[out] += fitted.predict_proba(cancer[train][out])
        seen[out] += 1
    np.testing.assert_allclose(model.oob_decision_function_, votes / seen[:, None])
    assert model.oob_score_ == np.mean(votes.argmax(axis=1) == target[train])
    assert model.oob_score_ == pytest.approx(model.score(cancer[~train], target[~train]), abs=0.04)


def test_out_of_bag_of_regressors_and_a_score_of_ones_own():
    model = BaggingRegressor(n_estimators=60, oob_score=True, combine="median", random_state=0).fit(D, T)
    assert 0.3 < model.oob_score_ < model.score(D, T)
    error = BaggingRegressor(n_estimators=60, oob_score=lambda y, f: np.mean(np.abs(y - f)), random_state=0).fit(D, T)
    assert 40 < error.oob_score_ < 60
    share = BaggingClassifier(bootstrap=False, max_samples=0.5, n_estimators=40, oob_score=True, random_state=0)
    assert share.fit(X, Y).oob_score_ > 0.9, "draws without replacement leave rows out, too"
    with pytest.warns(UserWarning, match="Raise n_estimators"):
        few = BaggingClassifier(n_estimators=2, oob_score=accuracy_score, random_state=0).fit(X, Y)
    assert np.isnan(few.oob_decision_function_).any()


def test_as_good_as_scikit_learn():
    train = np.arange(len(T)) % 2 == 0
    ours, theirs = (
        np.mean(
            [m(n_estimators=30, random_state=s).fit(D[train], T[train]).score(D[~train], T[~train]) for s in range(5)]
        )
        for m in (BaggingRegressor, sklearn.ensemble.BaggingRegressor)
    )
    assert ours == pytest.approx(theirs, abs=0.03)


def test_bagging_lowers_the_variance_of_unstable_learners():
    """Variance of trees over training sets, at fixed points: much lower for the mean; for a linear model it is not."""
    rng = np.random.default_rng(0)
    new = rng.normal(size=(200, 3))

    def variance(model):
        found = []
        for _ in range(15):
            A = rng.normal(size=(150, 3))
            found.append(model.fit(A, A[:, 0] ** 2 + A[:, 1] + 0.5 * rng.normal(size=150)).predict(new))
        return np.var(found, axis=0).mean()

    tree, line = DecisionTreeRegressor(), LinearRegression()
    assert variance(BaggingRegressor(tree, n_estimators=30, random_state=0)) < 0.6 * variance(tree)
    assert variance(BaggingRegressor(line, n_estimators=30, random_state=0)) > 0.8 * variance(line)


def test_the_mean_of_correlated_learners_has_the_variance_of_the_formula():
    """Example 64: L = 3, variance 1, covariances ½: 2/3."""
    L, c = 3, 0.5
    assert 1 / L + (1 - 1 / L) * c == pytest.approx(2 / 3)
    draws = np.random.default_rng(0).multivariate_normal(np.zeros(3), np.full((3, 3), c) + (1 - c) * np.eye(3), 200_000)
    assert draws.mean(axis=1).var() == pytest.approx(2 / 3, rel=0.02)


def test_weights_are_probabilities_of_the_draw():
    w = np.where(np.arange(len(Y)) < 100, 1.0, 0.0)
    model = BaggingClassifier(n_estimators=10, random_state=0).fit(X, NAMES, sample_weight=w)
    assert max(rows.max() for rows in model.estimators_samples_) < 100
    heavy = BaggingClassifier(n_estimators=200, random_state=0).fit(X, NAMES, sample_weight=1.0 + 9 * (Y == 2))
    counts = np.bincount(np.concatenate(heavy.estimators_samples_), minlength=150)
    assert counts[Y == 2].sum() / counts.sum() == pytest.approx(10 / 12, abs=0.01)


def test_more_models_are_added_and_equal_a_fit_at_once():
    model = BaggingClassifier(n_estimators=4, random_state=0, warm_start=True).fit(X, Y)
    first = model.estimators_[0]
    model.set_params(n_estimators=9).fit(X, Y)
    assert model.estimators_[0] is first
    once = BaggingClassifier(n_estimators=9, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), once.predict_proba(X))
    with pytest.raises(ValueError, match="must be larger or equal to"):
        model.set_params(n_estimators=3).fit(X, Y)
    model.set_params(n_estimators=12)
    for data, labels, words in [
        (X[:, :2], Y, "2 columns instead of 4"),
        (X, NAMES, "'setosa', .* instead of .0, 1, 2"),
    ]:
        with pytest.raises(ValueError, match=words):
            model.fit(data, labels)
        np.testing.assert_array_equal(model.predict_proba(X), once.predict_proba(X))
    numbers = BaggingRegressor(n_estimators=2, random_state=0, warm_start=True).fit(D, T).set_params(n_estimators=3)
    with pytest.raises(ValueError, match="2 outputs instead of 1"):
        numbers.fit(D, np.column_stack([T, T]))


def test_threads_change_nothing(two_threads):
    found = []
    for threads in (1, 2):
        didact.set_threads(threads)
        found.append(BaggingClassifier(random_state=0, n_estimators=20).fit(X, Y).predict_proba(X))
    np.testing.assert_array_equal(*found)


def test_pipelines_and_nested_parameters():
    pipe = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2))
    model = BaggingClassifier(pipe, random_state=0).fit(X, Y)
    seeds = {m[-1].random_state for m in model.estimators_}
    assert len(seeds) == 10, "each model has a seed of its own"
    model.set_params(estimator__decisiontreeclassifier__max_depth=5)
    assert model.get_params()["estimator__decisiontreeclassifier__max_depth"] == 5
    assert BaggingClassifier(KNeighborsClassifier(), random_state=0).fit(X, Y).score(X, Y) > 0.9
    assert not hasattr(BaggingClassifier(), "decision_function")
    linear = BaggingClassifier(LogisticRegression(), random_state=0).fit(X, Y)
    np.testing.assert_allclose(
        linear.decision_function(X), np.mean([m.decision_function(X) for m in linear.estimators_], axis=0)
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_features": 9}, "more than the 4 columns"),
        ({"bootstrap": False, "max_samples": 500}, "without replacement"),
        ({"bootstrap": False, "oob_score": True}, "out of bag"),
        ({"n_estimators": 0}, "n_estimators"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(ValueError, match=words):
        BaggingClassifier(**options).fit(X, Y)


def test_weighted_median():
    values = np.array([[3.0, 1.0, 2.0], [1.0, 5.0, 9.0]])
    np.testing.assert_array_equal(weighted_quantile(values, np.array([1.0, 1.0, 1.0]), 0.5, averaged=False), [2.0, 5.0])
    np.testing.assert_array_equal(weighted_quantile(values, np.array([5.0, 1.0, 1.0]), 0.5, averaged=False), [3.0, 1.0])


@pytest.mark.parametrize(
    ("base", "method", "asks"),
    [
        (LogisticRegression, "predict", "predict_proba"),
        (LogisticRegression, "predict_log_proba", "predict_log_proba"),
        (SVC, "predict", "predict"),
        (SVC, "predict_log_proba", "predict"),
    ],
)
def test_metadata_go_to_the_method_that_is_called(base, method, asks):
    """Base models without probabilities are asked for classes, and get the metadata of `predict`."""
    seen = []

    class Noting(base):
        def predict(self, X, note=None):
            seen.append(note)
            return super().predict(X)

        if base is LogisticRegression:

            def predict_proba(self, X, note=None):
                seen.append(note)
                return super().predict_proba(X)

            def predict_log_proba(self, X, note=None):
                raise NotImplementedError  # its metadata go with the probabilities

    with sklearn.config_context(enable_metadata_routing=True):
        asking = getattr(Noting(), f"set_{asks}_request")(note=True)
        model = BaggingClassifier(asking, n_estimators=3, random_state=0).fit(X, Y)
        with np.errstate(divide="ignore"):
            getattr(model, method)(X, note="here")
    assert set(seen) == {"here"}


def test_weights_that_change_no_draw_are_said():
    weights = np.arange(1.0, len(Y) + 1)
    for model, y in ((BaggingClassifier(bootstrap=False), Y), (BaggingRegressor(bootstrap=False), Y * 1.0)):
        with pytest.warns(UserWarning, match="with sample_weight it is recommended to use bootstrap=True"):
            model.fit(X, y, sample_weight=weights)
    BaggingClassifier(bootstrap=False, max_samples=0.5).fit(X, Y, sample_weight=weights)  # some rows: no word


def test_a_draw_of_one_class_is_answered_by_it():
    """Linear models refuse one class, of which a rare other one leaves many draws."""
    rare = np.zeros(len(X), int)
    rare[:2] = 1
    model = BaggingClassifier(LogisticRegression(), n_estimators=30, random_state=0).fit(X, rare)
    single = [len(np.unique(rare[rows])) == 1 for rows in model.estimators_samples_]
    assert any(single)
    assert not all(single)
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 1],
        np.mean(
            [
                0 * X[:, 0] if one else m.predict_proba(X)[:, 1]
                for m, one in zip(model.estimators_, single, strict=True)
            ],
            axis=0,
        ),
        rtol=1e-12,
    )
    with pytest.raises(ValueError, match="A draw held 1 of the 2 classes"):
        model.set_params(random_state=0).decision_function(X)
    with pytest.raises(ValueError, match="2 classes"):
        BaggingClassifier(LogisticRegression()).fit(X, np.zeros(len(X)))
