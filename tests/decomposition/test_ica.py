"""Independent sources: scikit-learn's fixed points, known sources, more columns than sources, refusals."""

import numpy as np
import pytest
from sklearn.decomposition import FastICA as Theirs

import didact
from didact.core.errors import InputError, ParameterError
from didact.decomposition import FastICA, MaximumLikelihoodICA, fastica


def mixed(n=3000, k=3, p=3, seed=0):
    rng = np.random.default_rng(seed)
    S = rng.laplace(size=(n, k))
    return S, S @ rng.normal(size=(k, p)) + 2.0


def separated(S, found):
    """The least of the best absolute correlations of the sources with what was found."""
    return np.abs(np.corrcoef(S.T, found.T)[: S.shape[1], S.shape[1] :]).max(axis=1).min()


@pytest.mark.parametrize("algorithm", ["parallel", "deflation"])
@pytest.mark.parametrize("fun", ["logcosh", "exp", "cube"])
@pytest.mark.parametrize("whiten", ["unit-variance", "arbitrary-variance"])
def test_sources_are_those_of_scikit_learn(algorithm, fun, whiten):
    _, X = mixed()
    options = {"algorithm": algorithm, "fun": fun, "whiten": whiten, "tol": 1e-12, "max_iter": 1000}
    W = np.random.default_rng(1).normal(size=(3, 3))
    ours, theirs = FastICA(w_init=W, **options).fit_transform(X), Theirs(w_init=W, **options).fit_transform(X)
    in_order = np.abs(np.diag(np.corrcoef(theirs.T, ours.T)[:3, 3:]))
    assert in_order.min() > 1 - 1e-8, "the same sources in the same order, from the same start"
    np.testing.assert_allclose(np.sort(ours.std(axis=0)), np.sort(theirs.std(axis=0)), rtol=1e-6)


def test_white_rows_need_no_whitening():
    S, _ = mixed()
    U = np.sqrt(len(S)) * np.linalg.svd(S - S.mean(axis=0), full_matrices=False)[0]
    model = FastICA(whiten=False, random_state=0).fit(U)
    assert separated(S, model.transform(U)) > 0.99
    assert not hasattr(model, "whitening_")
    np.testing.assert_allclose(model.inverse_transform(model.transform(U)), U, atol=1e-9)


def test_a_function_of_the_users_is_as_the_one_by_name():
    _, X = mixed()
    cube = lambda y: (y**3, (3 * y**2).mean(axis=-1))
    named, own = (FastICA(fun=f, random_state=0).fit(X).components_ for f in ("cube", cube))
    np.testing.assert_allclose(own, named, rtol=1e-7)
    with pytest.raises(InputError, match="no sample_weight"):
        FastICA(fun=cube).fit(X, sample_weight=np.ones(len(X)))
    with pytest.raises(ParameterError, match="return a tuple"):
        FastICA(fun=np.tanh).fit(X)


@pytest.mark.parametrize("model", [FastICA(2, random_state=0), MaximumLikelihoodICA(2)], ids=lambda m: type(m).__name__)
def test_more_microphones_than_speakers(model):
    S, X = mixed(k=2, p=6)
    found = model.fit_transform(X)
    assert separated(S, found) > 0.99
    assert model.components_.shape == (2, 6)
    np.testing.assert_allclose(model.inverse_transform(found), X, atol=1e-8)  # without noise two sources say all


@pytest.mark.parametrize("solver", ["quasi-newton", "natural-gradient", "stochastic"])
def test_all_ways_to_the_likelihood_separate_the_sources(solver):
    S, X = mixed()
    options = {} if solver == "stochastic" else {"max_iter": 3000}
    model = MaximumLikelihoodICA(solver=solver, random_state=0, **options).fit(X)  # each meets its default tolerance
    assert separated(S, model.transform(X)) > 0.99


def test_a_density_of_the_users():
    """Sources of light tails, which logistic ones do not fit: density of y/c with log p = −y⁴/4."""
    rng = np.random.default_rng(0)
    S = rng.uniform(-1, 1, size=(3000, 2))
    X = S @ np.array([[1.0, 0.6], [0.3, 1.0]])
    light = lambda y: (-(y**4) / 4, -(y**3), -3 * y**2)
    assert separated(S, MaximumLikelihoodICA(density=light).fit_transform(X)) > 0.99
    without_curvature = MaximumLikelihoodICA(density=lambda y: light(y)[:2]).fit(X)
    assert separated(S, without_curvature.transform(X)) > 0.99
    with pytest.raises(ParameterError, match="tuple"):
        MaximumLikelihoodICA(density=np.tanh).fit(X)
    with pytest.raises(ParameterError, match="shape"):
        MaximumLikelihoodICA(density=lambda y: (y.sum(), y)).fit(X)


def test_the_density_of_rows_integrates_to_one():
    _, X = mixed(k=2, p=2)
    model = MaximumLikelihoodICA().fit(X)
    grid = np.stack(np.meshgrid(*[np.linspace(-40, 40, 401)] * 2), axis=-1).reshape(-1, 2)
    assert abs(np.exp(model.score_samples(grid + model.mean_)).sum() * 0.04 - 1) < 1e-3
    assert abs(model.score(X) - model.score_samples(X).mean()) < 1e-12
    W = model.components_ @ np.linalg.inv(model.whitening_ * np.sqrt(len(X)))
    shift = np.linalg.slogdet(model.whitening_ * np.sqrt(len(X)))[1]
    assert np.isfinite(W).all()
    np.testing.assert_allclose(model.score(X), model.log_likelihood_ + shift, rtol=1e-9)


@pytest.mark.parametrize("model", [FastICA(random_state=0, tol=1e-12), MaximumLikelihoodICA(tol=1e-9)], ids=str)
def test_weights_count_rows(model):
    _, X = mixed(500)
    w = np.random.default_rng(1).integers(0, 3, len(X))
    expected = model.fit(np.repeat(X, w, axis=0)).components_
    for factor in (1.0, 1e-3):
        np.testing.assert_allclose(model.fit(X, sample_weight=factor * w).components_, expected, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("model", [FastICA(random_state=0), MaximumLikelihoodICA()], ids=lambda m: type(m).__name__)
def test_tensors(model):
    torch = pytest.importorskip("torch")
    _, X = mixed()
    expected = model.fit(X).components_
    found = model.fit_transform(torch.as_tensor(X))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(model.components_, expected, rtol=1e-6)
    np.testing.assert_allclose(model.inverse_transform(found).numpy(), X, atol=1e-8)


def test_rows_of_less_rank():
    _, X = mixed()
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.full(len(X), 3.0)])
    assert FastICA(random_state=0).fit(X).components_.shape == (3, 5)
    with pytest.warns(UserWarning, match="only 3 directions"):
        FastICA(4, random_state=0).fit(X)
    with pytest.warns(UserWarning, match="too large"):
        FastICA(9, random_state=0).fit(X[:, :3])
    with pytest.raises(InputError, match="All rows are equal"):
        FastICA().fit(np.ones((10, 2)))


def test_what_is_refused():
    _, X = mixed(100)
    with pytest.raises(ParameterError, match=r"alpha must be in \[1,2\]"):
        FastICA(fun_args={"alpha": 3}).fit(X)
    with pytest.raises(ParameterError, match="invalid shape"):
        FastICA(w_init=np.eye(2)).fit(X)
    with pytest.raises(ParameterError, match="invertible"):
        MaximumLikelihoodICA(w_init=np.ones((3, 3))).fit(X)
    with pytest.raises(ParameterError, match="says not how"):
        FastICA(whiten=True).fit(X)
    with pytest.raises(InputError, match="smaller"):
        MaximumLikelihoodICA(solver="stochastic", learning_rate=1e200).fit(X)
    with pytest.raises(InputError, match="3 sources"):
        FastICA(random_state=0).fit(X).inverse_transform(X[:, :2])


def test_the_function_gives_matrices_and_sources():
    _, X = mixed(p=5)
    with pytest.warns(UserWarning, match="directions"):
        K, W, S, mean, n_iter = fastica(X, 4, random_state=0, return_X_mean=True, return_n_iter=True)
    np.testing.assert_allclose((X - mean) @ (W @ K).T, S, atol=1e-8)
    np.testing.assert_allclose(S.T @ S / len(S), np.eye(3), atol=1e-8)
    assert n_iter > 1
    assert fastica(X[:, :3], random_state=0, compute_sources=False)[2] is None


def test_batches_are_whitened_as_they_come():
    _, X = mixed(900)
    batches = didact.Batches(lambda: (X[a : a + 100] for a in range(0, 900, 100)))
    for model in (FastICA(random_state=0, tol=1e-10), MaximumLikelihoodICA()):
        expected = model.fit(X).components_
        np.testing.assert_allclose(model.fit(batches).components_, expected, rtol=1e-7)


@pytest.mark.parametrize("seed", [0, 1, 5, 11])
def test_few_rows_of_many_normal_columns_come_to_rest(seed):
    """Whole steps go in circles here for thousands of iterations; a warning would be an error."""
    X = np.random.default_rng(42).normal(size=(30, 10))
    model = FastICA(random_state=seed, max_iter=1000).fit(X)
    assert model.n_iter_ < 1000
    Z = model.transform(X)
    np.testing.assert_allclose(Z.T @ Z / len(Z), np.eye(10), atol=1e-8)
