"""Mixture of experts: likelihood that never falls, optimality, known mixtures, and other kinds of rows."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import load_iris

from didact import Batches
from didact.core.errors import InputError
from didact.core.rows import MemoryRows
from didact.engines.components.experts import Mixture, expectation, penalty
from didact.ensemble import MixtureOfExperts
from didact.ensemble.mixture_of_experts import frame_of, run, started
from didact.linear_model import LinearRegression, LogisticRegression

X, Y = load_iris(return_X_y=True)


def bent(n=400, seed=0):
    """Two lines that meet at 0, with noise of their own."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, n)
    noise = np.where(x < 0, 0.1, 0.4) * rng.normal(size=n)
    return x[:, None], np.where(x < 0, -2 * x, 0.5 * x) + noise


@pytest.mark.parametrize("classify", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_likelihood_never_falls(classify, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(150, 3))
    b = (A[:, 0] * A[:, 1] > 0).astype(int) if classify else np.abs(A[:, 0]) + 0.3 * rng.normal(size=150)
    rows = MemoryRows(A, b, None)
    frame, weight, _ = frame_of(rows, classify)
    d = rng.normal(size=3)
    result = run(rows, started(d / np.linalg.norm(d), 3, 2 if classify else 0), frame, weight, 1e-2, 0.0, 80)
    assert (np.diff(result.history) <= 1e-11).all()
    assert result.history[-1] < result.history[0] - 0.01


@pytest.mark.parametrize("classify", [False, True])
def test_the_end_is_a_maximum(classify):
    """The gradient of the penalised likelihood, by differences, is zero where EM ends."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(120, 2))
    b = (A[:, 0] * A[:, 1] > 0).astype(int) if classify else np.abs(A[:, 0]) + 0.3 * rng.normal(size=120)
    rows = MemoryRows(A, b, rng.uniform(0.5, 2, 120))
    frame, weight, first = frame_of(rows, classify)
    alpha = 0.5
    theta = run(rows, started(first, 2, 2 if classify else 0), frame, weight, alpha, 1e-14, 5000).x

    def value(theta):
        return (rows.reduce(expectation, theta, frame).parts[0] - penalty(theta, alpha)) / weight

    for name in ("gates", "experts") if classify else Mixture._fields:
        table = getattr(theta, name)
        for place in np.ndindex(*table.shape):
            step = np.zeros_like(table)
            step[place] = 1e-5
            up, down = (value(theta._replace(**{name: table + s * step})) for s in (1, -1))
            assert abs(up - down) / 2e-5 < 2e-4, (name, place)


def test_two_lines_are_found():
    x, y = bent()
    model = MixtureOfExperts(n_experts=2, alpha=1e-3).fit(x, y)
    order = np.argsort(model.expert_coef_[:, 0])
    np.testing.assert_allclose(model.expert_coef_[order, 0], [-2, 0.5], atol=0.1)
    np.testing.assert_allclose(model.expert_intercept_[order], 0, atol=0.2)
    np.testing.assert_allclose(np.sqrt(model.noise_variance_[order]), [0.1, 0.4], rtol=0.25)
    assert model.score(x, y) > LinearRegression().fit(x, y).score(x, y) + 0.2
    gates = model.gate(np.array([[-2.0], [2.0]]))
    np.testing.assert_allclose(gates[:, order], np.eye(2), atol=0.05)
    np.testing.assert_allclose(gates.sum(axis=1), 1)


def test_the_log_likelihood_by_hand():
    x, y = bent(100)
    model = MixtureOfExperts(n_experts=2, alpha=0.0, max_iter=5000).fit(x, y)
    G = model.gate(x)
    means = x @ model.expert_coef_.T + model.expert_intercept_
    density = (G * norm.pdf(y[:, None], means, np.sqrt(model.noise_variance_))).sum(axis=1)
    assert np.log(density).mean() == pytest.approx(model.log_likelihood_ - np.log(y.std()), abs=1e-8)
    np.testing.assert_allclose(model.predict(x), (G * means).sum(axis=1))


def test_one_expert_is_the_model_itself():
    x, y = bent()
    one = MixtureOfExperts(n_experts=1, alpha=0.0).fit(x, y)
    np.testing.assert_allclose(one.predict(x), LinearRegression().fit(x, y).predict(x), rtol=1e-6)
    logistic = MixtureOfExperts(n_experts=1, experts="logistic", alpha=1.0, tol=1e-13).fit(X, Y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(
        logistic.predict_proba(X), LogisticRegression(C=1.0, tol=1e-9).fit(Z, Y).predict_proba(Z), atol=1e-5
    )


@pytest.mark.parametrize("seed", range(8))
def test_one_certain_class_ends_quietly(seed):
    """Constant terms grow for ever where one class has all weight; steps must not become quotients of rounding."""
    rng = np.random.default_rng(seed)
    rows, labels = rng.uniform(size=(10, 10)), np.arange(10) % 2
    model = MixtureOfExperts(experts="logistic").fit(rows, labels, sample_weight=labels)
    assert model.log_likelihood_ > -1e-3
    np.testing.assert_array_equal(model.predict(rng.uniform(size=(10, 10))), 1)


def test_experts_solve_exclusive_or():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(1000, 2))
    b = np.where((A[:, 0] > 0) ^ (A[:, 1] > 0), "odd", "even")
    model = MixtureOfExperts(experts="logistic", n_init=3, random_state=0).fit(A, b)
    assert model.score(A, b) > 0.95
    assert LogisticRegression().fit(A, b).score(A, b) < 0.7
    np.testing.assert_allclose(model.predict_proba(A).sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_, ["even", "odd"])


def test_more_starts_are_never_worse():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(300, 3))
    b = np.where(A[:, 2] > 0, A[:, 0], -A[:, 0]) + 0.1 * rng.normal(size=300)
    few, many = (MixtureOfExperts(n_init=n, random_state=0).fit(A, b) for n in (1, 6))
    assert many.log_likelihood_ >= few.log_likelihood_


def test_batches_give_the_same():
    x, y = bent(300)
    batches = Batches(lambda: ((x[k : k + 70], y[k : k + 70]) for k in range(0, 300, 70)))
    memory, other = MixtureOfExperts(tol=1e-10).fit(x, y), MixtureOfExperts(tol=1e-10).fit(batches)
    np.testing.assert_allclose(other.predict(x), memory.predict(x), rtol=1e-7)


def test_kind_of_the_model_and_refusals():
    from sklearn.base import is_classifier, is_regressor

    assert is_regressor(MixtureOfExperts())
    assert is_classifier(MixtureOfExperts(experts="logistic"))
    assert not hasattr(MixtureOfExperts(), "predict_proba")
    with pytest.raises(ValueError, match="one class only"):
        MixtureOfExperts(experts="logistic").fit(X, np.zeros(150))
    with pytest.raises(ValueError, match="experts"):
        MixtureOfExperts(experts="trees").fit(X, Y)


@pytest.mark.parametrize("classify", [False, True])
def test_more_columns_than_rows_are_the_same_maximum(classify, monkeypatch):
    """Along the directions in which rows differ: the coefficients of the long way, with its p × p matrices."""
    rng = np.random.default_rng(0)
    A, w = rng.normal(size=(9, 14)) * rng.uniform(0.1, 10, 14) + 3, rng.uniform(0.5, 2, 9)
    A[:, 4] = 0.1  # a column that does not vary
    b = rng.integers(0, 3, 9) if classify else A[:, 0] + rng.normal(size=9)
    model = MixtureOfExperts(experts="logistic" if classify else "linear", alpha=1.0, tol=1e-12)

    def answers():  # constant terms of logistic experts have no bound here, what they say has
        said = model.predict_proba(A) if classify else model.expert_intercept_
        return model.gate(A), model.gate_coef_, model.expert_coef_, said, model.log_likelihood_

    model.fit(A, b, sample_weight=w)
    found = answers()
    monkeypatch.setattr("didact.ensemble.mixture_of_experts._wide_frame", None)
    rows = Batches(lambda: [(A[:4], b[:4], w[:4]), (A[4:], b[4:], w[4:])])  # whose number nobody knows
    model.fit(rows)
    for one, other in zip(found, answers(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5 * np.abs(other).max())


@pytest.mark.parametrize("p", [3_000, 60_000])
def test_two_rows_of_very_many_columns(p):
    """A p × p matrix of the second would have 27 GiB. Gates part the rows, and each expert knows its own."""
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(2, p)), np.array([1.0, 2.0])
    np.testing.assert_allclose(MixtureOfExperts().fit(A, b).predict(A), b, atol=1e-3)
    assert MixtureOfExperts(experts="logistic").fit(A, [0, 1]).predict(A).tolist() == [0, 1]


def test_weights_are_repetitions_at_the_defaults_where_experts_know_all_rows():
    """The variances are at their least then, and with them the penalty: rounding must not be divided by it."""
    rng = np.random.default_rng(0)
    A, b, w = rng.uniform(size=(15, 30)), rng.integers(0, 3, 15).astype(float), rng.integers(0, 5, 15)
    order = rng.permutation(w.sum())
    repeated = MixtureOfExperts().fit(np.repeat(A, w, axis=0)[order], np.repeat(b, w)[order])
    np.testing.assert_allclose(MixtureOfExperts().fit(A, b, w).predict(A), repeated.predict(A), rtol=1e-9)


@pytest.mark.parametrize("size", [1e160, 1e300])
def test_values_whose_squares_overflow_are_refused_at_once(size):
    A = np.random.default_rng(0).normal(size=(40, 3))
    large = A.copy()
    large[3, 1] = size
    for model, target in ((MixtureOfExperts(), A[:, 0]), (MixtureOfExperts(experts="logistic"), A[:, 0] > 0)):
        with pytest.raises(InputError, match="X in column 1 has values up to"):
            model.fit(large, target)
        with pytest.raises(InputError, match="X in column 1 has values up to"):
            model.fit(np.hstack([large, np.zeros((40, 60))]), target)
    with pytest.raises(InputError, match="y has values up to"):
        MixtureOfExperts().fit(A, size * A[:, 0])
