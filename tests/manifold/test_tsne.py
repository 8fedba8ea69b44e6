"""t-SNE: the divergence it reports, invariances, new rows, and clear sentences for what cannot be embedded."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import manifold as theirs
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsClassifier

import didact
from didact.core.errors import InputError, ParameterError
from didact.engines.embedding.starts import principal_start
from didact.manifold import TSNE, trustworthiness

DIGITS = load_digits(return_X_y=True)


def digits(n):
    return DIGITS[0][:n]


def exact_divergence(X, Y, perplexity, nearest=None):
    """The divergence by plain halving and sums over all pairs."""
    D, n = pairwise_distances(X) ** 2, len(X)
    C = np.zeros((n, n))
    for i in range(n):
        others = np.argsort(D[i] - 1e9 * (np.arange(n) == i), kind="stable")[1:][:nearest]
        low, high = -50.0, 50.0
        for _ in range(200):
            middle = (low + high) / 2
            e = np.exp(-np.exp(middle) * (D[i, others] - D[i, others].min()))
            p = e / e.sum()
            wide = -(p * np.log(np.maximum(p, 1e-300))).sum() > np.log(perplexity)
            low, high = (middle, high) if wide else (low, middle)
        C[i, others] = p
    P = (C + C.T) / (2 * n)
    K = 1.0 / (1.0 + pairwise_distances(Y) ** 2)
    np.fill_diagonal(K, 0.0)
    some = P > 0
    return (P[some] * np.log(P[some] / (K / K.sum())[some])).sum()


@pytest.mark.parametrize(("method", "nearest"), [("exact", None), ("barnes_hut", 25)])
def test_divergence_is_that_of_the_places(method, nearest):
    X = digits(150)
    model = TSNE(perplexity=8.0, method=method, max_iter=300, random_state=0).fit(X)
    assert np.isclose(model.kl_divergence_, exact_divergence(X, model.embedding_, 8.0, nearest), rtol=1e-5)


def test_divergence_is_as_low_as_scikit_learns():
    X = digits(300)
    ours, sklearns = TSNE(random_state=0).fit(X), theirs.TSNE(random_state=0).fit(X)
    assert ours.kl_divergence_ < 1.15 * sklearns.kl_divergence_
    assert ours.learning_rate_ == sklearns.learning_rate_
    assert ours.n_iter_ == sklearns.n_iter_ + 1 == 1000


def test_keeps_neighbors():
    X, y = digits(500), DIGITS[1][:500]
    model = TSNE(random_state=0).fit(X[:400])
    assert trustworthiness(X[:400], model.embedding_) > 0.95
    new = model.transform(X[400:])
    classes = KNeighborsClassifier(5).fit(model.embedding_, y[:400])
    assert classes.score(new, y[400:]) > 0.75
    np.testing.assert_array_equal(model.transform(X[:7]), model.embedding_[:7])
    np.testing.assert_array_equal(model.transform(X[433:434])[0], new[33])


@pytest.mark.parametrize("method", ["barnes_hut", "exact"])
def test_invariances(method):
    """A rotation, a shift and a change of units of the rows change no distances but for a factor."""
    X, start = np.random.default_rng(3).normal(size=(100, 10)), np.random.default_rng(0).normal(size=(100, 2))
    turned = 8.0 * X @ np.linalg.qr(np.random.default_rng(1).normal(size=(10, 10)))[0] + 3.0
    how = {"perplexity": 10.0, "init": start, "max_iter": 250, "learning_rate": 1.0, "early_exaggeration": 1.0}
    how["angle"] = 0.0  # the boxes of a tree turn with nothing
    one, other = (TSNE(method=method, **how).fit(rows).embedding_ for rows in (X, turned))
    np.testing.assert_allclose(one, other, atol=1e-3 * np.abs(one).max())
    order = np.random.default_rng(2).permutation(100)
    mixed = TSNE(method=method, **{**how, "init": start[order]}).fit(X[order]).embedding_
    np.testing.assert_allclose(mixed, one[order], atol=1e-3 * np.abs(one).max())


def test_angle_of_zero_is_exact():
    """All rows are neighbours at a perplexity of a third of them: then an angle of 0 sums what "exact" sums."""
    X, how = digits(60), {"perplexity": 25.0, "max_iter": 250, "learning_rate": 1.0, "random_state": 0}
    one, other = TSNE(angle=0.0, **how).fit(X), TSNE(method="exact", **how).fit(X)
    np.testing.assert_allclose(one.embedding_, other.embedding_, atol=1e-4 * np.abs(one.embedding_).max())
    assert np.isclose(one.kl_divergence_, other.kl_divergence_)


def test_tables_of_distances_and_other_kinds_of_rows():
    X, how = digits(80), {"perplexity": 9.0, "init": "random", "random_state": 1, "max_iter": 250}
    plain = TSNE(**how).fit(X).embedding_
    for rows, metric in ((sp.csr_array(X), "euclidean"), (pairwise_distances(X), "precomputed")):
        np.testing.assert_allclose(TSNE(metric=metric, **how).fit(rows).embedding_, plain, atol=0.05 * np.ptp(plain))
    graph = sp.csr_array(np.where(np.eye(80), 0.0, pairwise_distances(X)))
    assert np.isfinite(TSNE(metric="precomputed", **how).fit(graph).embedding_).all()
    model = TSNE(metric="precomputed", **how).fit(pairwise_distances(X))
    assert model.transform(pairwise_distances(digits(90)[80:], X)).shape == (10, 2)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_tensors_are_embedded_on_their_device(metric):
    torch = pytest.importorskip("torch")
    X, start = digits(70), np.random.default_rng(0).normal(size=(70, 2))
    how = {"perplexity": 9.0, "method": "exact", "metric": metric, "max_iter": 250, "learning_rate": 1.0, "init": start}
    plain, tensor = TSNE(early_exaggeration=1.0, **how).fit(X), TSNE(early_exaggeration=1.0, **how)
    places = tensor.fit_transform(torch.tensor(X))
    assert isinstance(places, torch.Tensor)
    assert isinstance(tensor.embedding_, np.ndarray)
    np.testing.assert_allclose(places.numpy(), plain.embedding_, atol=1e-3 * np.abs(plain.embedding_).max())
    assert np.isclose(plain.kl_divergence_, tensor.kl_divergence_, rtol=1e-4)
    assert isinstance(tensor.transform(torch.tensor(X[:3])), torch.Tensor)


def test_files_keep_new_places(tmp_path):
    model = TSNE(perplexity=5.0, max_iter=250, random_state=0).fit(digits(60))
    didact.save(model, tmp_path / "a.didact")
    again = didact.load(tmp_path / "a.didact")
    np.testing.assert_array_equal(again.transform(digits(70)), model.transform(digits(70)))


def test_forged_places_are_refused():
    model = TSNE(perplexity=5.0, max_iter=250, random_state=0).fit(digits(30))
    for forged in (model.embedding_[:-1], model.embedding_[:, 0], model.embedding_.astype(int)):
        model.embedding_ = forged
        with pytest.raises(InputError, match="embedding_"):
            model.transform(digits(35))


def test_rows_that_are_all_equal():
    assert np.isfinite(TSNE(perplexity=3.0, max_iter=250).fit_transform(np.ones((12, 3)))).all()


def test_huge_and_tiny_rows():
    for scale in (1e160, 1e-160):
        assert np.isfinite(TSNE(perplexity=3.0, max_iter=250).fit_transform(digits(20) * scale)).all()


@pytest.mark.parametrize(
    ("how", "rows", "sentence"),
    [
        ({"perplexity": 20.0}, digits(20), r"perplexity \(20.0\) must be less than n_samples \(20\)"),
        ({"metric": "precomputed"}, np.ones((9, 9)), 'init="pca" cannot be used'),
        ({"metric": "precomputed", "init": "random"}, np.ones((9, 8)), "square"),
        ({"metric": "precomputed", "init": "random"}, np.triu(np.ones((9, 9))), r"not symmetric: entry \(0, 1\)"),
        ({"metric": "precomputed", "init": "random"}, -np.ones((9, 9)), "positive distances"),
        ({"init": np.zeros((9, 3))}, digits(9), r"shape \(9, 2\)"),
        ({"n_components": 5}, digits(9)[:, :3], "at most 3 components"),
        ({"method": "exact", "metric": "precomputed", "init": "random"}, sp.csr_array(np.ones((9, 9))), "sparse"),
        ({"learning_rate": 1e300}, digits(20), "smaller learning_rate"),
    ],
)
def test_bad_input_gets_one_sentence(how, rows, sentence):
    with pytest.raises((InputError, ParameterError), match=sentence):
        TSNE(**{"perplexity": 3.0, "max_iter": 250, **how}).fit(rows)


def test_trustworthiness_is_scikit_learns():
    rng = np.random.default_rng(0)
    X = digits(120) + 0.01 * rng.normal(size=(120, 64))  # no two distances are equal
    for Y in (X[:, 20:22] + 1e-3 * rng.normal(size=(120, 2)), rng.normal(size=(120, 2))):
        for k in (1, 5, 30):
            assert np.isclose(trustworthiness(X, Y, n_neighbors=k), theirs.trustworthiness(X, Y, n_neighbors=k))
        D = pairwise_distances(X, metric="manhattan")
        assert np.isclose(trustworthiness(D, Y, metric="precomputed"), theirs.trustworthiness(X, Y, metric="manhattan"))
    with pytest.raises(ParameterError, match="n_neighbors"):
        trustworthiness(X, X, n_neighbors=60)


@pytest.mark.parametrize("power", [-1060, 0, 1023])
def test_places_to_begin_with_do_not_depend_on_the_unit(power):
    X = np.random.default_rng(0).uniform(-1, 1, size=(30, 4)) * [1.0, 0.9, 0.5, 0.2]
    X[0, 0] = 1.75
    start = principal_start(np.ldexp(X, power), 2, np.random.default_rng(1))
    np.testing.assert_allclose(start, principal_start(X, 2, np.random.default_rng(1)), rtol=1e-2, atol=1e-6)
