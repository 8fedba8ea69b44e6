"""NMF: scikit-learn's iterates, known parts, weights, batches, tensors, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import NMF as Theirs

import didact
from didact.core.errors import InputError, ParameterError
from didact.decomposition import NMF, non_negative_factorization

LOSSES = [{"solver": "cd"}] + [{"solver": "mu", "beta_loss": b} for b in ("frobenius", "kullback-leibler", 0, 0.5, 3.0)]


def table(n=60, p=12, k=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.gamma(1.0, size=(n, k)) @ rng.gamma(0.5, size=(k, p)) + 0.1 * rng.random((n, p))
    return X, rng.random((n, k)), rng.random((k, p))


@pytest.mark.parametrize("how", LOSSES, ids=str)
@pytest.mark.parametrize("penalties", [{}, {"alpha_W": 0.01, "alpha_H": 0.02, "l1_ratio": 0.4}], ids=str)
def test_iterates_are_those_of_scikit_learn(how, penalties):
    X, W, H = table()
    options = {"n_components": 3, "init": "custom", "tol": 0, "max_iter": 20} | how | penalties
    theirs = Theirs(**options)
    expected = theirs.fit_transform(X, W=W.copy(), H=H.copy())
    for rows in (X, sp.csr_array(X), sp.csc_matrix(X)):
        ours = NMF(**options)
        np.testing.assert_allclose(ours.fit_transform(rows, W=W, H=H), expected, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(ours.components_, theirs.components_, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(ours.reconstruction_err_, theirs.reconstruction_err_, rtol=1e-6)
        assert ours.n_iter_ == theirs.n_iter_


@pytest.mark.parametrize("init", ["nndsvd", "nndsvda"])
def test_starts_and_ends_are_those_of_scikit_learn(init):
    X, *_ = table()
    ours, theirs = (cls(3, init=init, max_iter=2000).fit(X) for cls in (NMF, Theirs))
    np.testing.assert_allclose(ours.components_, theirs.components_, rtol=1e-4, atol=1e-6)
    assert ours.n_iter_ == theirs.n_iter_


def test_parts_are_found():
    """Separable rows: each part is alone in some row, so that the factors are unique up to scale and order."""
    rng = np.random.default_rng(0)
    H = rng.random((3, 10)) * (rng.random((3, 10)) < 0.5) + np.eye(3, 10)
    W = np.vstack([np.eye(3), rng.dirichlet(np.ones(3), 40) * (rng.random((40, 3)) < 0.7)])
    model = NMF(3, tol=1e-9, max_iter=20_000).fit(W @ H)
    assert model.reconstruction_err_ < 1e-3
    unit = lambda A: A / np.linalg.norm(A, axis=1, keepdims=True)
    assert (np.max(unit(model.components_) @ unit(H).T, axis=1) > 0.99).all()


@pytest.mark.parametrize("how", [{}, {"solver": "mu", "beta_loss": 1, "init": "random"}], ids=str)
def test_weights_count_rows(how):
    X, *_ = table()
    w = np.random.default_rng(1).integers(0, 3, len(X))
    options = {"n_components": 2, "alpha_W": 0.01, "tol": 0, "max_iter": 50, "random_state": 0} | how
    expected = NMF(**options).fit(np.repeat(X, w, axis=0)).components_
    for factor in (1.0, 1e-3):
        np.testing.assert_allclose(NMF(**options).fit(X, sample_weight=factor * w).components_, expected, rtol=1e-6)


@pytest.mark.parametrize("how", [{}, {"solver": "mu", "beta_loss": 1}], ids=str)
def test_batches_end_at_as_good_a_place(how):
    X, *_ = table(200)
    options = {"n_components": 3, "tol": 1e-3 if how else 1e-5, "max_iter": 5000} | how
    batches = didact.Batches(lambda: (X[a : a + 37] for a in range(0, len(X), 37)))
    memory, other = NMF(**options).fit(X), NMF(**options).fit(batches)
    assert other.reconstruction_err_ < 1.02 * memory.reconstruction_err_
    W = np.concatenate(list(other.transform(batches)))
    np.testing.assert_allclose(W, other.transform(X), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("how", LOSSES, ids=str)
def test_tensors_are_factored_as_arrays(how):
    torch = pytest.importorskip("torch")
    X, *_ = table()
    options = {"n_components": 3, "max_iter": 20, "tol": 0} | how
    array, tensor = NMF(**options), NMF(**options)
    W = array.fit_transform(X)
    V = tensor.fit_transform(torch.as_tensor(X))
    assert isinstance(V, torch.Tensor)
    np.testing.assert_allclose(V.numpy(), W, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(tensor.components_, array.components_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(tensor.transform(torch.as_tensor(X)).numpy(), array.transform(X), rtol=1e-5, atol=1e-7)


def test_the_order_of_coordinates_may_be_random():
    X, *_ = table()
    plain, shuffled = (NMF(3, shuffle=s, random_state=0, max_iter=2000).fit(X) for s in (False, True))
    assert not np.array_equal(plain.components_, shuffled.components_)
    assert abs(plain.reconstruction_err_ - shuffled.reconstruction_err_) < 0.01 * plain.reconstruction_err_


def test_rows_from_parts():
    X, *_ = table()
    model = NMF(3, max_iter=1000).fit(X)
    W = model.transform(X)
    np.testing.assert_allclose(model.inverse_transform(W), W @ model.components_)
    with pytest.raises(InputError, match="3 weights"):
        model.inverse_transform(X)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_negative_entries_are_refused_by_row_and_column(kind):
    X, *_ = table()
    model = NMF(2, max_iter=1000).fit(X)
    X[7, 4] = -1.0
    for call in (NMF(2).fit, model.transform):
        with pytest.raises(InputError, match="row 7, column 4"):
            call(kind(X))
    if kind is np.asarray:
        with pytest.raises(InputError, match="row 7, column 4"):
            NMF(2).fit(didact.Batches(lambda: (X[:5], X[5:])))


def test_what_cannot_be_factored():
    X, W, H = table()
    with pytest.raises(ParameterError, match="take solver='mu'"):
        NMF(2, beta_loss=1).fit(X)
    with pytest.raises(InputError, match="contains zeros"):
        NMF(2, solver="mu", beta_loss=0).fit(np.where(X > 1, X, 0.0))
    with pytest.raises(ParameterError, match="needs W and H"):
        NMF(3, init="custom").fit(X)
    with pytest.raises(InputError, match="wrong second dimension"):
        NMF(3, init="custom").fit(X, W=W, H=H[:, 1:])
    with pytest.raises(InputError, match="overflow"):
        NMF(2).fit(X * 1e160)
    with pytest.raises(InputError, match="vanish"):
        NMF(2).fit(X * 1e-160)
    for how in ({}, {"solver": "mu"}, {"solver": "mu", "beta_loss": 3.0}):  # zeros of a start become the mean of X
        with pytest.raises(InputError, match="overflow"):
            NMF(2, **how).fit(np.maximum(X - np.median(X), 0.0) * 2.0**400)
    with pytest.raises(TypeError):
        NMF(2).fit(X, V=W)


def test_zeros_and_one_row():
    assert NMF(2).fit(np.zeros((4, 3))).reconstruction_err_ == 0.0
    assert NMF(1).fit(np.ones((1, 3))).reconstruction_err_ < 1e-6
    model = NMF(4, random_state=0, max_iter=1000).fit(np.random.default_rng(0).random((3, 50)))
    assert model.components_.shape == (4, 50)


def test_the_function():
    X, W, H = table()
    found, parts, n_iter = non_negative_factorization(X, H=H, update_H=False, tol=1e-8, max_iter=2000)
    assert parts is H
    assert n_iter > 1
    slope = found @ H @ H.T - X @ H.T
    assert np.abs(slope[found > 0]).max() < 1e-5
    with pytest.warns(RuntimeWarning, match="not used"):
        non_negative_factorization(X, W, H, update_H=False)
