"""Naive Bayes with huge counts and values, missing counts in sparse rows, and classes without weight."""

import numpy as np
import pytest
import scipy.sparse as sp

from didact.core.errors import InputError
from didact.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MixedNB,
    MultinomialNB,
)

RNG = np.random.default_rng(0)
X = RNG.poisson(3.0, size=(60, 4)).astype(float)
Y = np.arange(60) % 3
MODELS = [GaussianNB(), MixedNB(), MultinomialNB(), ComplementNB(), BernoulliNB(), CategoricalNB()]


@pytest.mark.parametrize("model", [MultinomialNB(), ComplementNB()])
def test_probabilities_of_huge_counts_sum_to_one(model):
    model.fit(X, Y)
    for counts in (X * 2.0**62, X * 1e300, np.full((3, 4), 2.0**62)):
        np.testing.assert_allclose(model.predict_proba(counts).sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X * 1e300), model.predict(X * 1e15))
    alike = type(model)().fit(np.full((3, 2), 2.0**62), [0, 1, 2])  # three classes of which none is more probable
    np.testing.assert_allclose(alike.predict_proba([[2.0**62, 2.0**62]]), np.full((1, 3), 1 / 3), rtol=1e-12)
    np.testing.assert_allclose(alike.predict_log_proba([[2.0**62, 2.0**62]]), np.log(np.full((1, 3), 1 / 3)))


@pytest.mark.parametrize("model", [GaussianNB(), MixedNB(), MultinomialNB(), ComplementNB()])
def test_values_that_overflow_are_refused_by_column(model):
    huge = X.copy()
    huge[:, 2] = 1e308
    huge[0, 2] = 0.0
    with pytest.raises(InputError, match="X in column 2 has values up to"):
        model.fit(huge, Y)


def test_means_so_far_apart_that_their_variance_overflows():
    with pytest.raises(InputError, match="X in column 0 has values up to"):
        GaussianNB().fit([[1e160], [1e160], [-1e160], [-1e160]], [0, 0, 1, 1])


@pytest.mark.parametrize("model", [GaussianNB(), MixedNB()])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_far_away_belong_to_the_class_of_the_largest_variance(model, dtype):
    wide = np.where(Y[:, None] == 1, 10.0, 1.0) * RNG.normal(size=(60, 2))
    model.fit(wide.astype(dtype), Y)
    far = np.array([[1e30, -1e30], [1e36, 0.0]], dtype)
    np.testing.assert_array_equal(model.predict(far), [1, 1])
    np.testing.assert_array_equal(model.predict_proba(far), [[0, 1, 0], [0, 1, 0]])
    if dtype is np.float64:
        np.testing.assert_array_equal(model.predict_proba([[1e308, np.nan]]), [[0, 1, 0]])


@pytest.mark.parametrize("model", [MultinomialNB(), ComplementNB(), BernoulliNB(), BernoulliNB(binarize=None)])
def test_missing_counts_in_sparse_rows_say_nothing(model):
    counts = np.minimum(X, 1.0) if isinstance(model, BernoulliNB) else X
    holes = np.where(RNG.uniform(size=X.shape) < 0.2, np.nan, counts)
    sparse = sp.csr_array(holes)
    before = sparse.data.copy()
    dense = model.fit(holes, Y).predict_proba(holes)
    np.testing.assert_allclose(model.fit(sparse, Y).predict_proba(sparse), dense, rtol=1e-10)
    np.testing.assert_array_equal(sparse.data, before)


@pytest.mark.parametrize("model", MODELS)
def test_a_class_without_weight_stays(model):
    w = np.where(Y == 1, 0.0, 1.0)
    shares = model.fit(X, Y, w).predict_proba(X)
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    assert np.isfinite(shares).all()
    if not isinstance(model, ComplementNB):  # whose scores know no prior
        assert (shares[:, 1] == 0).all()
        rest = model.fit(X[Y != 1], Y[Y != 1])
        np.testing.assert_allclose(shares[:, [0, 2]], rest.predict_proba(X), rtol=1e-7)
