"""Learning by stochastic gradients: against optima, scikit-learn step by step, and rules worked out by hand."""

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier as TheirClassifier
from sklearn.linear_model import SGDRegressor as TheirRegressor

import didact
from didact import Batches
from didact.core.errors import InputError
from didact.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from didact.parts.losses import Hinge, SquaredHinge


def regression(n=2000, p=5, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X @ rng.normal(size=p) + 0.7 + noise * rng.normal(size=n)


def labels(n=2000, p=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    logit = X @ rng.normal(size=p) + 0.4
    return X, (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)


# ------------------------------------------------------------------------------------------------ optima


def test_decreasing_rates_approach_ridge():
    X, y = regression()
    best = Ridge(alpha=0.1 * len(y)).fit(X, y)
    model = SGDRegressor(alpha=0.1, learning_rate="inverse_time", rate_scale=5.0, rate_offset=100.0, tol=None,
                         max_iter=60, average=20_000, random_state=0).fit(X, y)  # fmt: skip
    np.testing.assert_allclose(model.coef_, best.coef_, atol=2e-3)
    np.testing.assert_allclose(model.intercept_, best.intercept_, atol=2e-3)
    assert model.t_ == 1 + 60 * len(y)


@pytest.mark.parametrize("batch_size", [1, 16, "full"])
def test_every_size_of_batch_approaches_logistic_regression(batch_size):
    X, y = labels()
    best = LogisticRegression(C=1 / (0.01 * len(y))).fit(X, y)
    how = {"learning_rate": "constant", "eta0": 2.0} if batch_size == "full" else {"learning_rate": "optimal"}
    model = SGDClassifier("log_loss", alpha=0.01, batch_size=batch_size, tol=None, max_iter=150, random_state=0, **how)
    model.fit(X, y)
    np.testing.assert_allclose(model.coef_, best.coef_, atol=1e-6 if batch_size == "full" else 3e-2)
    np.testing.assert_allclose(model.predict_proba(X), best.predict_proba(X), atol=2e-2)


def objective(loss, penalty, X, y):
    """Mean loss and penalty as a function of (w, b)."""
    return lambda theta: loss.value(y, X @ theta[:-1] + theta[-1]).mean() + penalty(theta[:-1])


def test_the_hinge_loss_is_brought_near_its_minimum():
    X, y = labels()
    f = objective(Hinge(), lambda w: 0.005 * w @ w, X, 2.0 * y - 1)
    model = SGDClassifier(alpha=0.01, tol=None, max_iter=100, average=True, random_state=0).fit(X, y)
    smooth = scipy.optimize.minimize(f, np.zeros(6), method="Powell", options={"maxiter": 50_000, "ftol": 1e-12})
    assert f(np.append(model.coef_, model.intercept_)) < smooth.fun + 2e-4


@pytest.mark.parametrize("p", [1.3, 1.5, 3.0])
@pytest.mark.parametrize("batch_size", [1, "full"])
def test_p_norm_penalties_reach_their_minimum(p, batch_size):
    X, y = labels(800)
    f = objective(SquaredHinge(), lambda w: 0.1 / p * np.sum(np.abs(w) ** p), X, 2.0 * y - 1)
    best = scipy.optimize.minimize(f, np.zeros(6), method="BFGS", options={"gtol": 1e-9})
    how = (
        {"learning_rate": "constant", "eta0": 0.3}
        if batch_size == "full"
        else {"learning_rate": "inverse_time", "rate_scale": 3.0, "rate_offset": 300.0, "random_state": 0}
    )
    model = SGDClassifier("squared_hinge", penalty="pnorm", alpha=0.1, p=p, batch_size=batch_size, tol=None,
                          max_iter=300, **how).fit(X, y)  # fmt: skip
    gap = f(np.append(model.coef_, model.intercept_)) - best.fun
    assert gap < (1e-8 if batch_size == "full" else 1e-4)


def test_l1_penalties_find_the_zeros_of_the_lasso():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20))
    y = 2 * X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=3000)
    full = SGDRegressor(penalty="l1", alpha=0.1, batch_size="full", learning_rate="constant", eta0=0.9, tol=1e-14)
    full.fit(X, y)
    gradient = X.T @ (X @ full.coef_ + full.intercept_ - y) / len(y)
    active = full.coef_ != 0
    np.testing.assert_array_equal(np.flatnonzero(active), [0, 1])
    np.testing.assert_allclose(gradient[active], -0.1 * np.sign(full.coef_[active]), atol=1e-6)
    assert np.abs(gradient[~active]).max() <= 0.1
    drawn = SGDRegressor(penalty="l1", alpha=0.1, tol=None, max_iter=30, random_state=0).fit(X, y)
    np.testing.assert_array_equal(drawn.coef_ != 0, active)
    np.testing.assert_allclose(drawn.coef_, full.coef_, atol=0.05)
    sparse = SGDRegressor(penalty="l1", alpha=0.1, tol=None, max_iter=30, random_state=0).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, drawn.coef_, atol=1e-9)


@pytest.mark.parametrize("loss", ["absolute_error", "huber", "epsilon_insensitive"])
def test_robust_losses_resist_planted_outliers(loss):
    X, y = regression(noise=0.1)
    clean = Ridge(alpha=0).fit(X, y).coef_
    spoilt = y.copy()
    spoilt[X[:, 0] > 1.2] = -80.0
    how = {"penalty": None, "tol": None, "max_iter": 30, "random_state": 0, "average": 20_000}
    robust = SGDRegressor(loss, epsilon=0.3, eta0=0.05, **how).fit(X, spoilt)
    squared = SGDRegressor(eta0=0.001, **how).fit(X, spoilt)
    assert np.abs(robust.coef_ - clean).max() < 0.35
    assert np.abs(squared.coef_ - clean).max() > 5


# ------------------------------------------------------------------------------------------------ scikit-learn, by hand


@pytest.mark.parametrize("average", [False, True, 300])
@pytest.mark.parametrize("penalty", ["l2", "l1", None])
@pytest.mark.parametrize("loss", ["hinge", "log_loss", "perceptron", "squared_hinge", "huber"])
def test_classification_steps_are_those_of_scikit_learn(loss, penalty, average):
    if penalty == "l1" and average:
        pytest.skip("scikit-learn's average leaves out what the L1 penalty takes; the twin of the engine checks ours")
    X, y = labels(300)
    how = {"penalty": penalty, "alpha": 0.01, "shuffle": False, "max_iter": 3, "tol": None, "average": average}
    if loss in ("squared_hinge", "huber"):
        how |= {"learning_rate": "constant", "eta0": 0.01}
    ours, theirs = SGDClassifier(loss, **how).fit(X, y), TheirClassifier(loss=loss, **how).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6, atol=1e-9)
    assert ours.t_ == theirs.t_


@pytest.mark.parametrize("rate", ["constant", "invscaling", "adaptive"])
@pytest.mark.parametrize(
    "loss", ["squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"]
)  # fmt: skip
def test_regression_steps_are_those_of_scikit_learn(loss, rate):
    X, y = regression(200)
    how = {"loss": loss, "learning_rate": rate, "shuffle": False, "max_iter": 50, "tol": 1e-3, "n_iter_no_change": 2}
    ours, theirs = SGDRegressor(**how).fit(X, y), TheirRegressor(**how).fit(X, y)
    assert ours.n_iter_ == pytest.approx(theirs.n_iter_, abs=2)  # they watch the penalty of each step, we of each pass
    how |= {"max_iter": 2, "tol": None}
    np.testing.assert_allclose(SGDRegressor(**how).fit(X, y).coef_, TheirRegressor(**how).fit(X, y).coef_, rtol=1e-9)


def test_weighted_steps_are_those_of_scikit_learn():
    X, y = labels(200)
    w = np.random.default_rng(0).uniform(0.5, 2.0, size=200)
    how = {"shuffle": False, "max_iter": 2, "tol": None}
    ours = SGDClassifier("log_loss", **how).fit(X, y, sample_weight=w)
    theirs = TheirClassifier(loss="log_loss", **how).fit(X, y, sample_weight=w / w.mean())
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    np.testing.assert_allclose(SGDClassifier("log_loss", **how).fit(X, y, sample_weight=9 * w).coef_, ours.coef_)


def test_the_rule_of_widrow_and_hoff():
    """Two rows by hand, η = ½: 0 → (½, 1), ½ → error 2 − (½ + 1 + ½) = 0 on the first, and so on."""
    X, y = np.array([[1.0, 2.0], [3.0, 0.0]]), np.array([1.0, 4.0])
    how = {"penalty": None, "learning_rate": "constant", "eta0": 0.5, "shuffle": False, "max_iter": 1, "tol": None}
    model = SGDRegressor(**how).fit(X, y)
    # Row 1: error 1, w = (0.5, 1), b = 0.5. Row 2: prediction 2, error 2, w = (3.5, 1), b = 1.5.
    np.testing.assert_allclose(model.coef_, [3.5, 1.0])
    np.testing.assert_allclose(model.intercept_, [1.5])
    mean = SGDRegressor(**how, average=True).fit(X, y)
    np.testing.assert_allclose(mean.coef_, [2.0, 1.0])
    batch = SGDRegressor(**{**how, "batch_size": 2}).fit(X, y)
    np.testing.assert_allclose(batch.coef_, [0.5 * (1 + 12) / 2, 0.5 * 2 / 2])
    np.testing.assert_allclose(SGDRegressor(**{**how, "batch_size": "full"}).fit(X, y).coef_, batch.coef_)
    falling = {**how, "learning_rate": "inverse_time", "rate_scale": 2.0, "rate_offset": 3.0}
    # Rates 2/4 and 2/5: the second row moves by 0.4·2 in place of 0.5·2.
    np.testing.assert_allclose(SGDRegressor(**falling).fit(X, y).coef_, [0.5 + 0.4 * 2 * 3, 1.0])


def test_a_small_full_step_goes_downhill():
    """Against the gradient, not along it."""
    X, y = labels(300)
    signs = 2.0 * y - 1
    for loss in ("exponential", "log_loss", "hinge"):
        values = []
        for passes in (1, 2, 3):
            model = SGDClassifier(loss, penalty=None, batch_size="full", learning_rate="constant", eta0=0.05,
                                  max_iter=passes, tol=None).fit(X, y)  # fmt: skip
            z = signs * model.decision_function(X)
            values.append({"exponential": np.exp(-z), "log_loss": np.log1p(np.exp(-z)),
                           "hinge": np.maximum(0, 1 - z)}[loss].mean())  # fmt: skip
        assert values[0] > values[1] > values[2]


# ------------------------------------------------------------------------------------------------ streams


@pytest.mark.parametrize("penalty", ["l2", "l1", "elasticnet", "pnorm", None])
@pytest.mark.parametrize("average", [False, True])
def test_partial_fits_over_blocks_are_one_pass(penalty, average):
    X, y = labels(600)
    how = {"loss": "log_loss", "penalty": penalty, "alpha": 0.01, "average": average, "shuffle": False,
           "learning_rate": "constant", "eta0": 0.05}  # fmt: skip
    whole = SGDClassifier(max_iter=1, tol=None, **how).fit(X, y)
    parts = SGDClassifier(**how)
    for k in range(0, 600, 90):
        parts.partial_fit(X[k : k + 90], y[k : k + 90], classes=[0, 1])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(parts.intercept_, whole.intercept_, rtol=1e-9)
    assert parts.t_ == whole.t_ == 601


def test_a_saved_model_goes_on_where_it_was(tmp_path):
    X, y = regression(300)
    model = SGDRegressor(penalty="elasticnet", average=True, random_state=0).partial_fit(X[:200], y[:200])
    didact.save(model, tmp_path / "half.didact")
    loaded = didact.load(tmp_path / "half.didact").partial_fit(X[200:], y[200:])
    np.testing.assert_array_equal(loaded.coef_, model.partial_fit(X[200:], y[200:]).coef_)


def full_descent():
    return SGDClassifier("log_loss", batch_size="full", learning_rate="constant", eta0=1.0, max_iter=40, tol=None)


def test_gradient_descent_is_the_same_on_every_kind_of_rows():
    X, y = labels(500)
    w = np.random.default_rng(0).integers(0, 3, size=500).astype(float)
    expected = full_descent().fit(X, y, sample_weight=w).coef_
    batches = Batches(lambda: ((X[k : k + 70], y[k : k + 70], w[k : k + 70]) for k in range(0, 500, 70)))
    blocks = [da.from_array(a, chunks=(90, *a.shape[1:])) for a in (X, y, w)]
    with dask.config.set(scheduler="synchronous"):
        found = [full_descent().fit(batches), full_descent().fit(blocks[0], blocks[1], sample_weight=blocks[2])]
    found.append(full_descent().fit(np.repeat(X, w.astype(int), axis=0), np.repeat(y, w.astype(int))))
    found.append(full_descent().fit(sp.csr_array(X), y, sample_weight=w))
    order = np.random.default_rng(1).permutation(500)
    found.append(full_descent().fit(X[order], y[order], sample_weight=w[order]))
    for model in found:
        np.testing.assert_allclose(model.coef_, expected, rtol=1e-10)


def test_batches_are_taken_in_order():
    """In memory, from batches and from Dask the same rows come in the same order, pass after pass."""
    X, y = regression(400)
    model = SGDRegressor(shuffle=False, max_iter=5, tol=None).fit(X, y)
    batches = Batches(lambda: ((X[k : k + 64], y[k : k + 64]) for k in range(0, 400, 64)))
    np.testing.assert_allclose(SGDRegressor(shuffle=False, max_iter=5, tol=None).fit(batches).coef_, model.coef_)
    turned = SGDRegressor(shuffle=False, max_iter=5, tol=None).fit(X[::-1], y[::-1])
    assert np.abs(turned.coef_ - model.coef_).max() > 1e-6
    once, again = (SGDRegressor(random_state=0, max_iter=5, tol=None).fit(batches) for _ in range(2))
    np.testing.assert_array_equal(once.coef_, again.coef_)
    assert np.abs(once.coef_ - model.coef_).max() > 1e-6


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
@pytest.mark.parametrize("rare", [0.5, 0.05])
def test_nearly_empty_rows_reach_the_objective_of_scikit_learn(loss, rare):
    """After as many passes; where one class is rare, far below it: its intercept cannot find its place in time."""
    rng = np.random.default_rng(0)
    X = sp.random_array((4000, 3000), density=0.005, rng=rng, data_sampler=rng.standard_normal, format="csr")
    logit = X @ rng.normal(size=3000)
    y = (rng.random(4000) < 1 / (1 + np.exp(-logit + np.quantile(logit, 1 - rare)))).astype(int)
    y[(rng.random(4000) < 1 - rare) & (y == 1) & (rare < 0.5)] = 0

    def objective(model):
        margin = (2 * y - 1) * model.decision_function(X)
        losses = np.maximum(0, 1 - margin) if loss == "hinge" else np.logaddexp(0, -margin)
        return losses.mean() + 0.5 * 1e-3 * np.sum(model.coef_**2)

    how = {"loss": loss, "alpha": 1e-3, "max_iter": 5, "tol": None}
    ours, theirs = (
        np.mean([objective(cls(random_state=seed, **how).fit(X, y)) for seed in range(6)])
        for cls in (SGDClassifier, TheirClassifier)
    )
    assert ours < 1.01 * theirs


def test_sparse_rows_with_many_columns_equal_dense_ones():
    rng = np.random.default_rng(0)
    S = sp.random_array((400, 3000), density=0.01, rng=rng, format="csr")
    y = (S @ rng.normal(size=3000) > 0).astype(int)
    for penalty in ("l2", "l1", "elasticnet", "pnorm"):
        how = {"penalty": penalty, "alpha": 1e-3, "random_state": 0, "max_iter": 4, "tol": None, "fit_intercept": False}
        sparse, dense = SGDClassifier(**how).fit(S, y), SGDClassifier(**how).fit(S.toarray(), y)
        np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-7, atol=1e-10)


def test_sorted_tables_are_shuffled_well_enough():
    """A large table in the order of its classes is learnt as well as one in random order."""
    X, y = labels(60_000, 20)
    order = np.argsort(y, kind="stable")
    scores = [
        SGDClassifier("log_loss", random_state=0, max_iter=2, tol=None).fit(X[rows], y[rows]).score(X, y)
        for rows in (order, np.arange(len(y)))
    ]
    assert scores[0] > scores[1] - 0.02


# ------------------------------------------------------------------------------------------------ course of a fit


def test_held_out_rows_stop_a_fit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 60)), rng.integers(0, 2, 120)  # nothing to learn: more passes only fit the noise
    how = {"loss": "log_loss", "alpha": 1e-6, "learning_rate": "constant", "eta0": 0.02, "random_state": 0, "tol": 1e-4}
    stopped, on = SGDClassifier(early_stopping=True, **how).fit(X, y), SGDClassifier(**how).fit(X, y)
    assert stopped.n_iter_ < on.n_iter_ / 5
    assert np.linalg.norm(stopped.coef_) < np.linalg.norm(on.coef_)
    w = np.ones(120)
    w[:30] = 0
    X[:30] = 1e6  # neither learnt nor held out
    assert np.isfinite(SGDClassifier(early_stopping=True, **how).fit(X, y, sample_weight=w).coef_).all()
    full = SGDRegressor(early_stopping=True, batch_size="full", learning_rate="constant", random_state=0, eta0=0.1)
    assert full.fit(X[30:], y[30:].astype(float)).n_iter_ < 100
    with pytest.raises(ValueError, match="EarlyStopping"):
        SGDClassifier(early_stopping=True).fit(Batches(lambda: [(X, y)]))
    for model in (SGDClassifier(validation_fraction=1e-4), SGDRegressor(validation_fraction=0.999)):
        with pytest.raises(InputError, match="leaves too few rows to fit or to validate"):
            model.set_params(early_stopping=True).fit(X, y)
    with pytest.raises(ValueError, match="partial_fit"):
        SGDClassifier(early_stopping=True).partial_fit(X, y, classes=[0, 1])


def test_warm_starts_and_given_weights():
    X, y = regression(200)
    how = {"shuffle": False, "learning_rate": "constant", "max_iter": 1, "tol": None}
    two = SGDRegressor(**{**how, "max_iter": 2}).fit(X, y)
    warm = SGDRegressor(**how, warm_start=True).fit(X, y).fit(X, y)
    np.testing.assert_allclose(warm.coef_, two.coef_, rtol=1e-12)
    one = SGDRegressor(**how).fit(X, y)
    given = SGDRegressor(**how).fit(X, y, coef_init=one.coef_, intercept_init=one.intercept_)
    np.testing.assert_allclose(given.coef_, two.coef_, rtol=1e-12)
    with pytest.raises(ValueError, match="coef_init"):
        SGDRegressor().fit(X, y, coef_init=np.ones(3))


def test_several_classes_are_learnt_against_the_rest():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6))
    y = np.argmax(X @ rng.normal(size=(6, 4)) + 0.3 * rng.gumbel(size=(3000, 4)), axis=1)
    model = SGDClassifier("log_loss", alpha=1e-3, shuffle=False, max_iter=3, tol=None).fit(X, y)
    theirs = TheirClassifier(loss="log_loss", alpha=1e-3, shuffle=False, max_iter=3, tol=None).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-8)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), rtol=1e-8)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)))
    assert not hasattr(SGDClassifier("hinge"), "predict_proba")


def test_class_weights():
    X, y = labels(500)
    heavy = np.where(y == 1, 3.0, 1.0)
    how = {"shuffle": False, "max_iter": 3, "tol": None}
    by_class = SGDClassifier(class_weight={1: 3.0}, **how).fit(X, y)
    np.testing.assert_allclose(by_class.coef_, SGDClassifier(**how).fit(X, y, sample_weight=heavy).coef_)
    rare = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:20]])
    balanced, plain = (
        SGDClassifier("log_loss", class_weight=c, random_state=0).fit(X[rare], y[rare]) for c in ("balanced", None)
    )
    assert balanced.predict(X).mean() > plain.predict(X).mean() + 0.1


def test_sentences_for_what_cannot_be():
    X, y = labels(60)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        SGDClassifier().partial_fit(X, y)
    with pytest.raises(ValueError, match="not among the classes"):
        SGDClassifier().partial_fit(X, y, classes=[0, 2])
    with pytest.raises(ValueError, match="last call"):
        SGDClassifier().partial_fit(X, y, classes=[0, 1]).partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="class_weight parameter"):
        SGDClassifier(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="alpha must be above 0"):
        SGDClassifier(alpha=0.0).fit(X, y)
    with pytest.raises(ValueError, match=r"overflow.*Scaling input data with StandardScaler"):
        SGDRegressor(eta0=1e6).fit(1e150 * X, y.astype(float))
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        SGDClassifier(max_iter=1, random_state=0).fit(X, y)
    spoilt = X.copy()
    spoilt[5, 2] = np.nan
    with pytest.raises(ValueError, match="column 2"):
        SGDClassifier().partial_fit(spoilt, y, classes=[0, 1])


def test_tensors_are_learnt_from_and_predicted():
    torch = pytest.importorskip("torch")
    X, y = labels(200)
    for how in ({"random_state": 0}, {"batch_size": "full", "learning_rate": "constant", "eta0": 0.5}):
        here = SGDClassifier("log_loss", **how).fit(X, y)
        there = SGDClassifier("log_loss", **how).fit(torch.as_tensor(X), torch.as_tensor(y))
        np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-8)
        np.testing.assert_allclose(there.decision_function(torch.as_tensor(X)), here.decision_function(X), rtol=1e-6)
