"""Naive Bayes: scikit-learn's numbers, identities between the models, missing values, draws, bad input."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.naive_bayes as peers
from scipy import stats

from didact import distributions as d
from didact import naive_bayes as nb
from didact.core.errors import InputError, ParameterError
from didact.naive_bayes.mixed import binned, draw_within

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(1.5, (200, 6)).astype(float)
LABELS = RNG.integers(0, 3, 200)
WEIGHTS = RNG.uniform(0.1, 2.0, 200)
COMMON = ("BernoulliNB", "MultinomialNB", "ComplementNB", "GaussianNB", "CategoricalNB")


@pytest.mark.parametrize("name", COMMON)
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_probabilities_are_scikit_learns(name, weights):
    ours = getattr(nb, name)().fit(COUNTS, LABELS, weights)
    theirs = getattr(peers, name)().fit(COUNTS, LABELS, weights)
    np.testing.assert_allclose(ours.predict_log_proba(COUNTS), theirs.predict_log_proba(COUNTS), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(
        ours.predict_joint_log_proba(COUNTS), theirs.predict_joint_log_proba(COUNTS), rtol=1e-6, atol=1e-7
    )


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("MultinomialNB", {"alpha": 0.3, "fit_prior": False}),
        ("MultinomialNB", {"alpha": np.linspace(0.1, 1.0, 6), "class_prior": [0.2, 0.3, 0.5]}),
        ("ComplementNB", {"norm": True, "alpha": 0.5}),
        ("BernoulliNB", {"binarize": 1.5, "alpha": 0.2}),
        ("GaussianNB", {"priors": [0.2, 0.3, 0.5], "var_smoothing": 1e-3}),
        ("CategoricalNB", {"alpha": 0.3, "min_categories": 12}),
    ],
)
def test_parameters_mean_what_they_mean_there(name, parameters):
    ours, theirs = getattr(nb, name)(**parameters), getattr(peers, name)(**parameters)
    np.testing.assert_allclose(
        ours.fit(COUNTS, LABELS).predict_log_proba(COUNTS), theirs.fit(COUNTS, LABELS).predict_log_proba(COUNTS),
        rtol=1e-6, atol=1e-9,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB", "BernoulliNB"])
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.csr_matrix])
def test_sparse_counts_are_dense_counts(name, form):
    dense, sparse = (getattr(nb, name)().fit(X, LABELS, WEIGHTS) for X in (COUNTS, form(COUNTS)))
    np.testing.assert_allclose(sparse.feature_count_, dense.feature_count_)
    np.testing.assert_allclose(sparse.predict_proba(form(COUNTS)), dense.predict_proba(COUNTS), rtol=1e-12)


@pytest.mark.parametrize("name", nb.__all__)
def test_partial_fits_are_one_fit(name):
    whole = getattr(nb, name)().fit(COUNTS, LABELS, WEIGHTS)
    parts = getattr(nb, name)()
    for rows in (slice(0, 30), slice(30, 120), slice(120, 200)):
        parts.partial_fit(COUNTS[rows], LABELS[rows], classes=[0, 1, 2], sample_weight=WEIGHTS[rows])
    np.testing.assert_allclose(parts.predict_log_proba(COUNTS), whole.predict_log_proba(COUNTS), rtol=1e-9, atol=1e-12)


def test_a_class_may_be_absent_at_first():
    model = nb.GaussianNB().partial_fit(COUNTS[:5], np.zeros(5, int), classes=[0, 1])
    assert (model.predict(COUNTS) == 0).all()
    model.partial_fit(COUNTS[5:], np.ones(195, int))
    assert model.class_count_.tolist() == [5.0, 195.0]
    with pytest.raises(InputError, match="do not exist in the initial classes"):
        model.partial_fit(COUNTS[:2], [0, 7])
    with pytest.raises(ParameterError, match="first call"):
        nb.GaussianNB().partial_fit(COUNTS, LABELS)
    with pytest.raises(ParameterError, match="not the same"):
        model.partial_fit(COUNTS[:2], [0, 1], classes=[0, 2])


def test_gaussian_is_the_product_of_gaussians():
    model = nb.GaussianNB(var_smoothing=0.0).fit(COUNTS, LABELS, WEIGHTS)
    for k in range(3):
        one = d.Gaussian.fit(COUNTS[k == LABELS], WEIGHTS[k == LABELS])
        np.testing.assert_allclose(model.theta_[k], one.mean)
        np.testing.assert_allclose(model.var_[k], one.variance)
        expected = one.log_prob(COUNTS).sum(axis=1) + np.log(model.class_prior_[k])
        np.testing.assert_allclose(model.predict_joint_log_proba(COUNTS)[:, k], expected)


def test_far_from_zero_the_variances_survive():
    X = COUNTS + 1e8
    np.testing.assert_allclose(nb.GaussianNB().fit(X, LABELS).var_, nb.GaussianNB().fit(COUNTS, LABELS).var_, rtol=1e-6)


def test_bernoulli_discriminant_is_linear():
    model = nb.BernoulliNB().fit(COUNTS, LABELS)
    grid = np.eye(6)
    base = model.predict_joint_log_proba(np.zeros((1, 6)))
    single = model.predict_joint_log_proba(grid) - base
    np.testing.assert_allclose(model.predict_joint_log_proba(np.ones((1, 6))), base + single.sum(axis=0))


def test_two_categories_are_a_bernoulli():
    X = (COUNTS > 1).astype(float)
    np.testing.assert_allclose(
        nb.CategoricalNB().fit(X, LABELS).predict_proba(X), nb.BernoulliNB().fit(X, LABELS).predict_proba(X), rtol=1e-9
    )


def test_laplaces_rule():
    model = nb.BernoulliNB().fit([[1]] * 3 + [[0]] * 5, np.zeros(8))
    assert np.exp(model.feature_log_prob_[0, 0]) == pytest.approx(0.4)
    words = nb.MultinomialNB().fit([[2, 1, 0]], ["a"])
    np.testing.assert_allclose(np.exp(words.feature_log_prob_[0]), [3 / 6, 2 / 6, 1 / 6])


@pytest.mark.parametrize("name", nb.__all__)
def test_missing_values_say_nothing(name):
    X = COUNTS.copy()
    X[RNG.uniform(size=X.shape) < 0.2] = np.nan
    model = getattr(nb, name)().fit(X, LABELS)
    blank = np.full((1, 6), np.nan)
    prior = model.class_count_ / model.class_count_.sum()
    if name != "ComplementNB":
        np.testing.assert_allclose(model.predict_proba(blank)[0], prior)
    # a row with a gap: the product of the columns that are there
    row = X[:1].copy()
    row[0, 1:] = np.nan
    row[0, 0] = 2.0
    alone = getattr(nb, name)().fit(X[:, :1], LABELS)
    if name in ("GaussianNB", "BernoulliNB", "CategoricalNB", "MixedNB"):
        np.testing.assert_allclose(model.predict_proba(row), alone.predict_proba([[2.0]]), rtol=1e-5)


def test_missing_values_are_left_out_of_the_moments():
    X = COUNTS.copy()
    X[::3, 2] = np.nan
    model = nb.GaussianNB(var_smoothing=0.0).fit(X, LABELS)
    for k in range(3):
        np.testing.assert_allclose(model.theta_[k], np.nanmean(X[k == LABELS], axis=0))
        np.testing.assert_allclose(model.var_[k], np.nanvar(X[k == LABELS], axis=0))


def mixed_table(n=300, seed=1):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n) + y,
            "colour": pd.Categorical(np.array(["red", "green", "blue"])[rng.integers(0, 3 - y)]),
            "visits": rng.poisson(1 + 2 * y),
            "member": (rng.uniform(size=n) < 0.3 + 0.4 * y).astype(int),
        }
    )
    return frame, y


def test_mixed_is_the_sum_of_its_parts():
    frame, y = mixed_table()
    model = nb.MixedNB(kinds={"visits": "poisson", "member": "bernoulli"}).fit(frame, y)
    assert model.kinds_ == ["gaussian", "categorical", "poisson", "bernoulli"]
    codes = frame["colour"].cat.codes.to_numpy()[:, None]
    log_prior = np.log(np.bincount(y) / len(y))
    parts = [
        nb.GaussianNB().fit(frame[["size"]], y).predict_joint_log_proba(frame[["size"]]),
        nb.CategoricalNB().fit(codes, y).predict_joint_log_proba(codes),
        nb.BernoulliNB().fit(frame[["member"]], y).predict_joint_log_proba(frame[["member"]]),
    ]
    rates = [frame["visits"][y == k].mean() for k in (0, 1)]
    poisson = np.stack([stats.poisson(r).logpmf(frame["visits"]) for r in rates], axis=1)
    expected = sum(parts) - 2 * log_prior + poisson
    np.testing.assert_allclose(model.predict_joint_log_proba(frame), expected, rtol=1e-9)
    assert model.score(frame, y) > 0.8


def test_mixed_with_one_kind_is_the_model_of_that_kind():
    gaussian = nb.MixedNB().fit(COUNTS, LABELS)
    np.testing.assert_allclose(
        gaussian.predict_proba(COUNTS), nb.GaussianNB().fit(COUNTS, LABELS).predict_proba(COUNTS)
    )
    words = nb.MixedNB(kinds="categorical").fit(COUNTS, LABELS)
    np.testing.assert_allclose(
        words.predict_proba(COUNTS), nb.CategoricalNB().fit(COUNTS, LABELS).predict_proba(COUNTS)
    )


def test_bins_follow_any_density():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 4000)
    x = np.where(y == 1, rng.normal(0.0, 0.3, 4000), rng.choice([-2.0, 2.0], 4000) + rng.normal(0, 0.3, 4000))[:, None]
    shared = nb.MixedNB().fit(x, y)
    binned = nb.MixedNB(kinds="binned", n_bins=12).fit(x, y)
    assert binned.score(x, y) > 0.98
    assert binned.predict_proba([[50.0]])[0, 0] > 0.9, "beyond the last edge is the last bin"
    assert shared.score(x, y) <= binned.score(x, y) + 0.02


def test_a_category_never_seen_says_nothing():
    frame, y = mixed_table()
    model = nb.CategoricalNB(categorical_features=["colour"]).fit(frame[["colour"]], y)
    new = pd.DataFrame({"colour": pd.Categorical(["violet"])})
    np.testing.assert_allclose(model.predict_proba(new)[0], np.bincount(y) / len(y))
    assert list(model.categories_.values[0]) == list(frame["colour"].cat.categories)


@pytest.mark.parametrize("name", ["GaussianNB", "BernoulliNB", "MultinomialNB", "CategoricalNB", "MixedNB"])
def test_draws_come_from_the_model(name):
    X = (COUNTS > 1).astype(float) if name == "BernoulliNB" else COUNTS
    model = getattr(nb, name)().fit(X, LABELS)
    drawn, labels = model.sample(20000, random_state=0)
    again, _ = model.sample(20000, random_state=0)
    np.testing.assert_array_equal(drawn, again)
    refit = getattr(nb, name)().fit(drawn, labels)
    np.testing.assert_allclose(refit.class_count_ / 20000, model.class_count_ / model.class_count_.sum(), atol=0.02)
    assert np.abs(refit.predict_proba(X) - model.predict_proba(X)).mean() < 0.02


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # draws are arrays
def test_draws_of_categories_are_categories():
    frame, y = mixed_table()
    for model in (nb.CategoricalNB(alpha=0.1), nb.CategoricalNB(categorical_features=["colour"], alpha=0.1)):
        table = frame[["colour"]].astype(object) if model.categorical_features != "from_dtype" else frame[["colour"]]
        drawn, labels = model.fit(table, y).sample(3000, random_state=0)
        assert set(drawn[:, 0]) == {"red", "green", "blue"}
        assert model.score(drawn, labels) == pytest.approx(model.score(table, y), abs=0.05)
        shares = [np.mean(drawn[labels == 0, 0] == colour) for colour in model.categories_.values[0]]
        np.testing.assert_allclose(shares, np.exp(model.feature_log_prob_[0][0]), atol=0.03)
    model = nb.MixedNB(kinds={"visits": "poisson", "member": "bernoulli", "size": "binned"}).fit(frame, y)
    drawn, labels = model.sample(3000, random_state=0)
    assert set(drawn[:, 1]) == {"red", "green", "blue"}
    assert model.score(drawn, labels) == pytest.approx(model.score(frame, y), abs=0.05)


def test_draws_of_numbered_categories_are_numbers():
    X = np.array([[3.0, 1.0], [7.0, 0.0], [7.0, 1.0], [3.0, 2.0]])
    model = nb.CategoricalNB(categorical_features=[0]).fit(X, [0, 1, 1, 0])
    drawn, _ = model.sample(200, random_state=0)
    assert drawn.dtype == np.float64
    assert set(drawn[:, 0]) == {3.0, 7.0}
    unnamed = nb.CategoricalNB(categorical_features=[0], min_categories=4).fit(X, [0, 1, 1, 0]).sample(200, 0)[0]
    assert set(unnamed[~np.isnan(unnamed[:, 0]), 0]) == {3.0, 7.0}, "values without a name are missing"
    assert np.isnan(unnamed[:, 0]).any()


def test_draws_within_bins():
    rng = np.random.default_rng(0)
    X, y = np.column_stack([rng.exponential(size=4000), np.repeat(0.5, 4000)]), rng.integers(0, 2, 4000)
    X[:, 0] += y
    model = nb.MixedNB(kinds="binned", n_bins=40).fit(X, y)
    drawn, labels = model.sample(20000, random_state=0)
    assert drawn[:, 0].min() >= X[:, 0].min()
    assert drawn[:, 0].max() <= X[:, 0].max()
    for k in (0, 1):
        levels = np.linspace(0.1, 0.9, 9)
        np.testing.assert_allclose(
            np.quantile(drawn[labels == k, 0], levels), np.quantile(X[y == k, 0], levels), atol=0.1
        )
    edges, bins = np.array([0.0, 1.0, 5.0]), np.repeat(np.arange(4), 500)
    inside = draw_within(bins, edges, (0.0, 9.0), rng)
    np.testing.assert_array_equal(binned(inside[:, None], [edges])[:, 0], bins)


@pytest.mark.parametrize("model", [nb.CategoricalNB(), nb.MixedNB()])
def test_a_new_category_in_later_rows_is_refused(model):
    first = pd.DataFrame({"colour": pd.Categorical(["red", "blue", "red"])})
    model.partial_fit(first, [0, 1, 0], classes=[0, 1])
    later = pd.DataFrame({"colour": pd.Categorical(["red", "green"])})
    with pytest.raises(InputError, match="Column 'colour' has the value 'green'"):
        model.partial_fit(later, [0, 1])
    np.testing.assert_array_equal(model.class_count_, [2, 1])
    same = later.assign(colour=later["colour"].cat.set_categories(["green", "red", "blue"]))[:1]
    model.partial_fit(same, [0])  # a value that is listed but not there is no new value
    np.testing.assert_array_equal(model.class_count_, [3, 1])
    listed = first.assign(colour=first["colour"].cat.add_categories(["green"]))
    model = type(model)().partial_fit(listed, [0, 1, 0], classes=[0, 1]).partial_fit(later, [0, 1])
    np.testing.assert_array_equal(model.class_count_, [3, 2])


def test_the_complement_model_offers_no_draws():
    model = nb.ComplementNB().fit(COUNTS, LABELS)
    assert not hasattr(model, "sample")
    with pytest.raises(AttributeError, match="no distribution of rows"):
        model.sample(3)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: nb.MultinomialNB().fit(-COUNTS, LABELS), "Negative values"),
        (lambda: nb.CategoricalNB().fit(COUNTS + 0.5, LABELS), "fractions"),
        (lambda: nb.CategoricalNB().fit(COUNTS * 1e9, LABELS), "encode its values"),
        (lambda: nb.MultinomialNB(class_prior=[0.5, 0.5]).fit(COUNTS, LABELS), "Number of priors"),
        (lambda: nb.GaussianNB(priors=[0.5, 0.2, 0.2]).fit(COUNTS, LABELS), "should be 1"),
        (lambda: nb.MultinomialNB(alpha=[0.1, 0.2]).fit(COUNTS, LABELS), "alpha is an array"),
        (lambda: nb.CategoricalNB(min_categories=[1, 2]).fit(COUNTS, LABELS), "min_categories"),
        (lambda: nb.MixedNB(kinds=["gaussian"]).fit(COUNTS, LABELS), "6 words"),
        (lambda: nb.MixedNB(kinds={"age": "poisson"}).fit(COUNTS, LABELS), "'age'"),
        (lambda: nb.MixedNB(kinds="poisson").fit(-COUNTS, LABELS), "counts"),
        (lambda: nb.GaussianNB().fit(COUNTS, LABELS, np.zeros(200)), "zero"),
    ],
)
def test_a_clear_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


@pytest.mark.parametrize("weights", [None, [1.0, 1.0, 0.0]])
def test_an_infinite_category_is_refused_by_the_name_of_its_column(weights):
    X = pd.DataFrame({"a": [0.0, 1.0, 1.0], "b": [0.0, 2.0, np.inf]})
    with pytest.raises(InputError, match=r"infinity.*'b'"):
        nb.CategoricalNB().fit(X, [0, 1, 1], weights)


def test_an_empty_text_gets_the_prior():
    model = nb.MultinomialNB().fit(sp.csr_array(COUNTS), LABELS)
    np.testing.assert_allclose(model.predict_proba(sp.csr_array((1, 6)))[0], np.bincount(LABELS) / 200)


def test_without_smoothing_nothing_breaks():
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    for name in ("MultinomialNB", "BernoulliNB", "CategoricalNB"):
        proba = getattr(nb, name)(alpha=0.0).fit(X, [0, 1]).predict_proba(X)
        np.testing.assert_allclose(proba, np.eye(2), atol=1e-12)


def test_one_class_and_one_row():
    assert nb.GaussianNB().fit([[1.0, 2.0]], ["a"]).predict([[5.0, 5.0]]).tolist() == ["a"]
    assert nb.ComplementNB().fit([[1.0, 2.0]], ["a"]).predict([[5.0, 5.0]]).tolist() == ["a"]


def test_a_class_without_weight_and_a_column_without_values_have_the_moments_of_all_rows():
    """Whatever the rows of no weight hold, and in whatever blocks the rows come."""
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(5000, 3)) + LABELS[:3], rng.integers(0, 3, 5000), rng.uniform(0.5, 2.0, 5000)
    w[y == 0] = 0.0
    models = [nb.GaussianNB(var_smoothing=0.0).fit(Z, y, w) for Z in (X, np.where(y[:, None] == 0, 1e3, X))]
    for model in models:
        np.testing.assert_allclose(model.theta_[0], np.average(X, axis=0, weights=w), rtol=1e-10)
        np.testing.assert_allclose(model.var_[0], np.cov(X.T, aweights=w, ddof=0).diagonal(), rtol=1e-9)
        np.testing.assert_allclose(model.theta_[1:], models[0].theta_[1:], rtol=1e-10)
    X[y == 1, 2] = np.nan
    model = nb.GaussianNB(var_smoothing=0.0).fit(X, y)
    np.testing.assert_allclose(model.theta_[1, 2], np.nanmean(X[:, 2]), rtol=1e-10)
    np.testing.assert_allclose(model.var_[1, 2], np.nanvar(X[:, 2]), rtol=1e-9)
