"""Methods that answer for rows in memory alone say so, and those that take numbers back refuse what are none."""

import numpy as np
import pytest
import scipy.sparse as sp

from didact import Batches
from didact.cluster import VectorQuantizer
from didact.core.errors import InputError
from didact.decision import BayesDecision
from didact.decomposition import NMF, PCA, FactorAnalysis, FastICA, MaximumLikelihoodICA
from didact.ensemble import CascadeClassifier
from didact.gaussian_process import GaussianProcessRegressor
from didact.linear_model import LinearRegression
from didact.neighbors import EditedNearestNeighbors, KNeighborsClassifier, RadiusNeighborsClassifier

X = np.abs(np.random.default_rng(0).normal(size=(60, 4)))
Y = (X[:, 0] > 0.7).astype(int)
HALVES = Batches(lambda: iter([X[:30], X[30:]]))


@pytest.mark.parametrize(
    "call",
    [
        lambda: KNeighborsClassifier().fit(X, Y).kneighbors_graph(HALVES),
        lambda: RadiusNeighborsClassifier(2.0).fit(X, Y).radius_neighbors(HALVES),
        lambda: RadiusNeighborsClassifier(2.0).fit(X, Y).radius_neighbors_graph(HALVES),
        lambda: GaussianProcessRegressor(optimizer=None, alpha=0.1).fit(X, Y).sample_y(HALVES),
        lambda: MaximumLikelihoodICA(random_state=0, tol=1e-3).fit(X).score(HALVES),
        lambda: CascadeClassifier().fit(X, Y).cost(HALVES),
    ],
)
def test_what_needs_rows_in_memory_says_so(call):
    with pytest.raises(InputError, match="answers for rows in memory: call it for each batch"):
        call()


@pytest.mark.parametrize("model", [PCA(2), NMF(2, random_state=0), FastICA(2, random_state=0), FactorAnalysis(2)])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_not_turned_back(model, bad):
    Z = np.array(model.fit_transform(X))
    assert np.isfinite(model.inverse_transform(Z)).all()
    Z[3, 1] = bad
    with pytest.raises(InputError, match="NaN or infinity"):
        model.inverse_transform(Z)


def test_risks_are_of_as_many_rows_as_labels_and_weights():
    model = BayesDecision().fit(X, Y)
    assert model.score(X, Y, sample_weight=np.ones(60)) == model.score(X, Y)
    with pytest.raises(InputError, match="X has 60 rows and y has 50"):
        model.risk(X, Y[:50])
    with pytest.raises(InputError, match="one number for each of the 60 rows"):
        model.expected_risk(X, sample_weight=3.0)


def test_squares_that_vanish_are_no_information():
    with pytest.raises(InputError, match="squares vanish: rescale them"):
        LinearRegression().fit(X * 1e-160, Y).inference(X * 1e-160, Y)


def test_codes_are_whole_numbers():
    model = VectorQuantizer(3, random_state=0).fit(X)
    np.testing.assert_array_equal(model.decode(model.encode(X)), model.transform(X))
    with pytest.raises(InputError, match="Codes are whole numbers"):
        model.decode([0.0, np.nan])


@pytest.mark.parametrize("form", ["bsr", "coo", "dia", "dok", "lil"])
def test_rows_of_any_sparse_form_are_selected(form):
    S = getattr(sp, f"{form}_array")(np.round(X))
    rows, _ = EditedNearestNeighbors().fit_resample(S, Y)
    expected, _ = EditedNearestNeighbors().fit_resample(sp.csr_array(S), Y)
    np.testing.assert_array_equal(rows.toarray(), expected.toarray())
