"""Texts to counts to decisions: the vectorizers are scikit-learn's, and the spam filter works from end to end."""

import importlib

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.feature_extraction
import sklearn.feature_extraction.text
from sklearn.pipeline import make_pipeline

from didact import feature_extraction
from didact.datasets import make_messages
from didact.decision import BayesDecision
from didact.feature_extraction import CountVectorizer
from didact.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

LOSS = np.array([[0.0, 1.0], [20.0, 0.0]])


def test_names_are_scikit_learn_s_at_both_paths():
    text = importlib.import_module("didact.feature_extraction.text")
    for name in ("CountVectorizer", "TfidfVectorizer", "TfidfTransformer", "HashingVectorizer"):
        theirs = getattr(sklearn.feature_extraction.text, name)
        assert getattr(text, name) is theirs
        assert getattr(feature_extraction, name) is theirs
    assert feature_extraction.DictVectorizer is sklearn.feature_extraction.DictVectorizer


def test_dictionary_stop_words_binary_and_counts():
    texts = ["the cat and the cat", "a dog"]
    assert CountVectorizer().fit(texts).vocabulary_ == {"the": 3, "cat": 1, "and": 0, "dog": 2}
    assert CountVectorizer().fit_transform(texts).toarray().tolist() == [[1, 2, 0, 2], [0, 0, 1, 0]]
    few = CountVectorizer(stop_words="english", binary=True)
    assert few.fit_transform(texts).toarray().tolist() == [[1, 0], [0, 1]]
    assert few.transform(["cat cat bird"]).toarray().tolist() == [[1, 0]]  # a later word is ignored


def test_a_row_of_zeros_gets_the_prior():
    texts, labels = make_messages(400)
    words = CountVectorizer(stop_words="english")
    X = words.fit_transform(texts)
    prior = np.array([np.mean(labels == "mail"), np.mean(labels == "spam")])
    empty = words.transform(["", "zzz qqq"])
    assert empty.nnz == 0
    for rows in (empty, empty.toarray().astype(float), sp.csr_array((2, X.shape[1]))):
        np.testing.assert_allclose(MultinomialNB().fit(X, labels).predict_proba(rows), [prior, prior], rtol=1e-10)
    given = MultinomialNB(class_prior=[0.9, 0.1]).fit(X, labels).predict_proba(empty)
    np.testing.assert_allclose(given, [[0.9, 0.1]] * 2, rtol=1e-10)
    assert np.isfinite(ComplementNB().fit(X, labels).predict_proba(empty)).all()
    # Bernoulli: the absence of every word speaks, by the product of all (1 − p).
    model = BernoulliNB().fit(X, labels)
    logs = np.log(prior) + np.log1p(-np.exp(model.feature_log_prob_)).sum(axis=1)
    expected = np.exp(logs - np.logaddexp(*logs))
    np.testing.assert_allclose(model.predict_proba(empty)[0], expected, rtol=1e-8)


def test_an_all_zero_row_at_fit_counts_for_the_prior_only():
    X = np.array([[2.0, 0.0], [0.0, 3.0], [0.0, 0.0]])
    model = MultinomialNB().fit(X, ["a", "b", "b"])
    without = MultinomialNB(class_prior=[1 / 3, 2 / 3]).fit(X[:2], ["a", "b"])
    np.testing.assert_allclose(model.feature_log_prob_, without.feature_log_prob_)
    np.testing.assert_allclose(model.predict_proba([[0.0, 0.0]]), [[1 / 3, 2 / 3]])


@pytest.mark.parametrize(("counts", "model"), [(CountVectorizer(binary=True), BernoulliNB()),
                                               (CountVectorizer(), MultinomialNB())])  # fmt: skip
def test_spam_filter_from_raw_text_to_a_tuned_threshold(counts, model):
    texts, labels = make_messages(1600)
    train, test = slice(0, 800), slice(800, None)
    words = make_pipeline(counts, model)
    plain = BayesDecision(words).fit(texts[train], labels[train])
    cost = BayesDecision(words, loss=LOSS).fit(texts[train], labels[train])
    tuned = BayesDecision(words, loss=LOSS, thresholds="tune").fit(texts[train], labels[train])

    def paid(rule):
        answer = rule.predict(texts[test])
        return np.mean(np.where(answer == labels[test], 0.0, np.where(answer == "spam", 20.0, 1.0)))

    assert plain.score(texts[test], labels[test]) > 0.9
    assert paid(tuned) < paid(cost) < paid(plain)
    assert paid(tuned) == pytest.approx(tuned.risk(texts[test], labels[test]))
    mail = labels[test] == "mail"
    assert np.mean(tuned.predict(texts[test])[mail] == "spam") < 0.02
    telling = dict(
        zip(
            tuned.estimator_[0].get_feature_names_out(),
            np.subtract(*tuned.estimator_[-1].feature_log_prob_[::-1]),
            strict=True,
        )
    )
    assert telling["prize"] > 1 > -1 > telling["seminar"]


def test_messages_follow_their_rule():
    texts, labels = make_messages(500, spam=0.3, mixing=0.0, random_state=3)
    assert make_messages(500, spam=0.3, mixing=0.0, random_state=3)[0] == texts
    assert np.mean(labels == "spam") == pytest.approx(0.3, abs=0.07)
    from didact.datasets.short_messages import MAIL, SPAM

    for text, label in zip(texts, labels, strict=True):
        other = MAIL if label == "spam" else SPAM
        assert not any(phrase in text for phrase in other)
    with pytest.raises(ValueError, match="spam must lie"):
        make_messages(5, spam=1.0)
