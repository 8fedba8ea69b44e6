"""Compiled scores, labels and posteriors: equal to array code for every kind, layout and type, and blind to no gap."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import didact
from didact.core.threads import set_threads
from didact.engines.components import posterior as answers
from didact.engines.components.scores import diagonal_joint, gaussian_joint
from didact.engines.scores import score_tables
from didact.engines.scores.score_loops import (
    AS_CODES,
    AS_LOG_POSTERIOR,
    AS_LOG_SUM,
    AS_POSTERIOR,
    AS_SCORES,
    score_rows,
)
from didact.engines.scores.score_tables import line_tables, tables_of
from didact.engines.scores.tuning import FEW_NUMBERS
from didact.naive_bayes.categorical import categorical_joint
from didact.naive_bayes.discrete import bernoulli_joint, linear_joint

LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "every third row": lambda X: np.repeat(X, 3, axis=0)[::3],
    "some columns": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
}


@pytest.fixture(scope="module", autouse=True)
def compiled_passes():
    """Few rows are scored by array code, too, and here by compiled passes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(score_tables, "FEW_NUMBERS", -1)
        yield


KINDS = ("diagonal", "full", "shared", "counts", "ones", "categories")


def kind_of_scores(kind, p, K, rng):
    """A function of rows and its arguments."""
    prior, mean = np.log(rng.dirichlet(np.ones(K))), rng.normal(size=(K, p))
    if kind == "diagonal":
        return partial(diagonal_joint, log_prior=prior, mean=mean, variance=rng.uniform(0.5, 2, (K, p)))
    if kind in ("full", "shared"):
        groups = K if kind == "full" else 1
        return partial(
            gaussian_joint, log_prior=prior, means=mean, whiten=np.eye(p) + 0.3 * rng.normal(size=(groups, p, p)),
            log_dets=rng.normal(size=groups),
        )  # fmt: skip
    if kind == "counts":
        return partial(linear_joint, log_prior=prior, weights=rng.normal(size=(p, K)))
    if kind == "ones":
        return partial(bernoulli_joint, log_prior=prior, log_one=np.log(rng.uniform(0.1, 0.9, (K, p))), threshold=0.2)
    tables = [rng.normal(size=(K, values)) for values in rng.integers(1, 4, p)]
    return partial(categorical_joint, log_prior=prior, tables=tables)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(0, 300),
    p=st.integers(1, 20),
    K=st.integers(2, 14),
    dtype=st.sampled_from([np.float32, np.float64]),
    layout=st.sampled_from(sorted(LAYOUTS)),
    kind=st.sampled_from(KINDS),
)
def test_every_answer_is_that_of_array_code(n, p, K, dtype, layout, kind):
    rng = np.random.default_rng([n, p, K])
    fn = kind_of_scores(kind, p, K, rng)
    X = rng.normal(size=(n, p)).astype(dtype)
    joint, X = fn(X), LAYOUTS[layout](X)
    tables = tables_of(X, fn, ())
    close = {"rtol": 1e-10 if dtype == np.float64 else 1e-5, "atol": 1e-9 if dtype == np.float64 else 1e-4}
    expected = {
        AS_SCORES: joint,
        AS_POSTERIOR: special.softmax(joint, axis=1),
        AS_LOG_POSTERIOR: special.log_softmax(joint, axis=1),
        AS_LOG_SUM: special.logsumexp(joint, axis=1),
    }
    for answer, values in expected.items():
        found, lost = score_rows(X, tables, answer)
        assert found.dtype == dtype
        assert not len(lost)
        np.testing.assert_allclose(found, values, **close)
    codes, _ = score_rows(X, tables, AS_CODES)
    np.testing.assert_allclose(joint[np.arange(n), codes], joint.max(axis=1, initial=-np.inf), **close)


@pytest.mark.parametrize("kind", KINDS)
def test_gaps_and_overflow_go_to_array_code(kind):
    rng = np.random.default_rng(0)
    fn = kind_of_scores(kind, 6, 3, rng)
    X = rng.normal(size=(400, 6))
    X[rng.random(X.shape) < 0.05] = np.nan
    if kind in ("diagonal", "full", "shared"):
        X[7] = 1e200
    with np.errstate(all="ignore"):
        for name in ("posterior", "log_posterior", "class_scores"):
            answer = {"posterior": AS_POSTERIOR, "log_posterior": AS_LOG_POSTERIOR, "class_scores": AS_SCORES}[name]
            expected = answers.ARRAY_FORMS[answer](X, fn)
            np.testing.assert_allclose(getattr(answers, name)(X, fn), expected, rtol=1e-9, atol=1e-12)
        labels = np.array(["a", "b", "c"])
        assert (answers.most_probable(X, labels, fn) == labels[answers.ARRAY_FORMS[AS_CODES](X, fn)]).all()


def test_a_class_without_probability_has_none():
    X = np.array([[0.0], [1.0]])
    fn = partial(diagonal_joint, log_prior=np.array([0.0, -np.inf]), mean=np.zeros((2, 1)), variance=np.ones((2, 1)))
    np.testing.assert_array_equal(answers.posterior(X, fn), [[1.0, 0.0], [1.0, 0.0]])
    np.testing.assert_array_equal(answers.log_posterior(X, fn), [[0.0, -np.inf], [0.0, -np.inf]])


def test_ties_are_the_first_class():
    tables = line_tables(np.ones((1, 2)), 0.0, classes=2)
    assert score_rows(np.array([[1.0, -1.0], [1.0, 0.0], [-1.0, 0.0]]), tables, AS_CODES)[0].tolist() == [0, 1, 0]


def test_any_number_of_threads_gives_the_same_bits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 20))
    for kind in KINDS:
        tables, found = tables_of(X, kind_of_scores(kind, 20, 3, rng), ()), []
        for threads in (1, 3, 8):
            set_threads(threads)
            found.append(score_rows(X, tables, AS_POSTERIOR)[0])
        set_threads(None)
        assert np.array_equal(found[0], found[1])
        assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_and_probabilities_of_linear_models(layout, dtype):
    rng = np.random.default_rng(1)
    X, labels = rng.normal(size=(500, 7)).astype(dtype), np.array(["no", "perhaps", "yes"])
    for K in (2, 3):
        y = labels[rng.integers(0, K, 500)]
        model = didact.linear_model.LogisticRegression().fit(X, y)
        scores = np.asarray(X, float) @ np.asarray(model.coef_, float).T + model.intercept_
        P = special.softmax(scores if K == 3 else np.column_stack([0 * scores, scores]), axis=1)
        rows, tol = LAYOUTS[layout](X), 1e-12 if dtype == np.float64 else 1e-5
        np.testing.assert_allclose(model.predict_proba(rows), P, rtol=tol)
        np.testing.assert_allclose(model.predict_log_proba(rows), np.log(P), rtol=tol, atol=tol)
        assert (model.predict(rows) == model.classes_[P.argmax(axis=1)]).mean() > 0.999


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_few_rows_have_the_answers_of_many(kind, dtype, monkeypatch):
    """Without a compiled pass."""
    rng = np.random.default_rng(4)
    fn, X = kind_of_scores(kind, 7, 3, rng), rng.integers(0, 2, (50, 7)).astype(dtype)
    forms = answers.posterior, answers.log_posterior, answers.class_scores, answers.log_density
    many = [form(X, fn) for form in forms]
    monkeypatch.setattr(score_tables, "FEW_NUMBERS", FEW_NUMBERS)
    assert tables_of(X, fn, ()) is None
    for form, expected in zip(forms, many, strict=True):
        found = form(X, fn)
        assert found.dtype == expected.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=64 * np.finfo(dtype).eps, atol=64 * np.finfo(dtype).eps)
