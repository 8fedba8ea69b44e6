"""Kernels: values by definition, explicit features, validity, the algebra, gradients by differences, tensors."""

import re
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process import kernels as sk
from sklearn.metrics import pairwise

from didact.core.errors import InputError, ParameterError
from didact.kernels import (
    RBF,
    Constant,
    Fixed,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    StringSpectrum,
    StringSubsequence,
    White,
    Wiener,
    WordOverlap,
    is_positive_semidefinite,
)


def without_address(value):
    """The name of a case, alike in all processes."""
    return re.sub(r" at 0x\w+", "", str(value))


RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(12, 3)), RNG.normal(size=(7, 3))
ARD = (0.5, 1.5, 3.0)
VALID = [
    Constant(2.0),
    Linear(),
    Polynomial(3, 0.5, 1.0),
    Polynomial(2, 0.5, 0.0),
    RBF(1.3),
    RBF(ARD),
    Laplacian(1.3),
    Laplacian(ARD),
    Matern(1.3, 0.5),
    Matern(ARD, 0.5),
    Matern(ARD, 1.5),
    Matern(1.3, 2.5),
    Matern(ARD, 0.8),
    Matern(1.3, np.inf),
    RationalQuadratic(ARD, 0.7),
    Periodic(1.2, 2.5),
    2.0 * RBF(1.3) + Linear() * Constant(0.5) + 0.1,
    (Linear() + 1.0) ** 3,
    RBF(ARD) * Periodic(0.9, 1.1) + White(0.3),
    RBF(0.7).warp(lambda X: 1.0 + X[:, 0] ** 2),
]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (RBF(1.3), lambda A, B: pairwise.rbf_kernel(A, B, gamma=1 / (2 * 1.3**2))),
        (RBF(ARD), sk.RBF(ARD)),
        (Laplacian(1.3), lambda A, B: pairwise.laplacian_kernel(A, B, gamma=1 / 1.3)),
        (Polynomial(3, 0.5, 2.0), lambda A, B: pairwise.polynomial_kernel(A, B, 3, 0.5, 2.0)),
        (Sigmoid(0.5, 0.2), lambda A, B: pairwise.sigmoid_kernel(A, B, 0.5, 0.2)),
        (Matern(1.3, 0.5), sk.Matern(1.3, nu=0.5)),
        (Matern(ARD, 1.5), sk.Matern(ARD, nu=1.5)),
        (Matern(ARD, 2.5), sk.Matern(ARD, nu=2.5)),
        (Matern(1.3, 0.8), sk.Matern(1.3, nu=0.8)),
        (RationalQuadratic(1.3, 0.7), sk.RationalQuadratic(1.3, 0.7)),
        (Linear() + 2.25, sk.DotProduct(1.5)),
    ],
    ids=without_address,
)
def test_kernels_agree_with_scikit_learn(ours, theirs):
    np.testing.assert_allclose(ours(X, Z), theirs(X, Z), rtol=1e-12, atol=1e-14)


def test_periodic_in_one_column():
    np.testing.assert_allclose(
        Periodic(1.2, 2.5)(X[:, :1], Z[:, :1]), sk.ExpSineSquared(1.2, 2.5)(X[:, :1], Z[:, :1]), rtol=1e-12
    )


def test_wiener_is_the_least_of_two():
    a = abs(X[:, :1])
    np.testing.assert_array_equal(Wiener()(a), np.minimum(a, a.T))
    with pytest.raises(InputError, match="negative"):
        Wiener()(X)


@pytest.mark.parametrize("kernel", VALID, ids=without_address)
def test_gram_matrices_are_positive_semidefinite_and_consistent(kernel):
    K = kernel(X)
    assert is_positive_semidefinite(K)
    np.testing.assert_allclose(np.diagonal(K), kernel.diagonal(X), rtol=1e-12)
    rows = kernel(X[:5], X)
    off = ~np.eye(12, dtype=bool)[:5]
    np.testing.assert_allclose(rows[off], K[:5][off], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("kernel", VALID, ids=without_address)
def test_gradients_are_those_of_differences(kernel):
    theta, h = kernel.theta, 1e-6
    A = RNG.normal(size=(12, 12))
    A = A + A.T
    partials, pulled = kernel.partials(X), kernel.pull(X, A)
    assert len(partials) == len(pulled) == len(theta)
    for k, e in enumerate(h * np.eye(len(theta))):
        numeric = (kernel.with_theta(theta + e)(X) - kernel.with_theta(theta - e)(X)) / (2 * h)
        np.testing.assert_allclose(partials[k], numeric, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(pulled[k], (A * numeric).sum(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kernel", VALID, ids=without_address)
def test_gradients_of_blocks_and_of_diagonals_are_those_of_differences(kernel):
    theta, h = kernel.theta, 1e-6
    A, a = RNG.normal(size=(12, len(Z))), RNG.normal(size=12)
    K, pull = kernel.traced(X, Z)
    np.testing.assert_allclose(K, kernel(X, Z), rtol=1e-12, atol=1e-14)
    found = [pull(A), kernel.pull_diagonal(X, a), kernel.pull_diagonal(X, a, same=False)]

    def values(theta):
        k = kernel.with_theta(theta)
        return np.array([(A * k(X, Z)).sum(), a @ k.diagonal(X), a @ k.diagonal(X, same=False)])

    numeric = [(values(theta + e) - values(theta - e)) / (2 * h) for e in h * np.eye(len(theta))]
    np.testing.assert_allclose(found, np.reshape(numeric, (len(theta), 3)).T, rtol=1e-6, atol=1e-6)


def test_polynomial_features_have_these_inner_products():
    kernel = Polynomial(3, 0.7, 1.3)
    assert kernel.features(X).shape == (12, 20)  # (3 + 3 choose 3)
    np.testing.assert_allclose(kernel.features(X) @ kernel.features(Z).T, kernel(X, Z), rtol=1e-12, atol=1e-12)


def test_a_sum_of_powers_is_the_kernel_of_all_monomials():
    """1 + xᵀz + (xᵀz)² + (xᵀz)³, made by the algebra."""
    x = Linear()
    G = X @ Z.T
    np.testing.assert_allclose((1 + x + x**2 + x**3)(X, Z), 1 + G + G**2 + G**3, rtol=1e-12)


@pytest.mark.parametrize("kernel", [k for k in VALID if "0.8" not in str(k)], ids=without_address)
def test_tensors_give_the_answer_of_arrays(kernel):
    torch = pytest.importorskip("torch")
    found = kernel(torch.asarray(X), torch.asarray(Z))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), kernel(X, Z), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel(torch.asarray(X)).numpy(), kernel(X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "kernel", [Linear(), Polynomial(), RBF(ARD), RBF(0.7), Laplacian(), Sigmoid()], ids=without_address
)
def test_sparse_rows_give_the_answer_of_dense_ones(kernel):
    dense = np.where(X > 0, X, 0.0)
    np.testing.assert_allclose(kernel(sp.csr_array(dense), sp.csr_array(dense[:4])), kernel(dense, dense[:4]), 1e-10)


def test_float32_stays():
    assert RBF(1.3)(X.astype(np.float32)).dtype == np.float32
    assert (2.0 * Matern() + Linear())(X.astype(np.float32)).dtype == np.float32


def test_far_from_the_origin_distances_keep_their_digits():
    np.testing.assert_allclose(RBF()(X + 1e6), RBF()(X), rtol=1e-8)


@pytest.mark.parametrize("two", [2, 2.0, np.float64(2.0), np.float32(2.0), np.array(2.0), np.int64(2)])
def test_numbers_of_any_kind_multiply_and_are_added(two):
    for found in (two * RBF(), RBF() * two):
        assert found == 2.0 * RBF()
    for found in (two + RBF(), RBF() + two):
        np.testing.assert_allclose(found(X), RBF()(X) + 2.0)


def test_fixed_parameters_are_not_searched():
    kernel = Fixed(RBF(2.0)) * 3.0
    np.testing.assert_allclose(kernel.theta, np.log([3.0]))
    np.testing.assert_allclose(kernel.with_theta(np.log([5.0]))(X), 5.0 * RBF(2.0)(X), rtol=1e-14)


def brute_force(s, t, length, decay):
    total = 0.0
    for i in combinations(range(len(s)), length):
        for j in combinations(range(len(t)), length):
            if all(s[a] == t[b] for a, b in zip(i, j, strict=True)):
                total += decay ** (i[-1] - i[0] + 1 + j[-1] - j[0] + 1)
    return total


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_subsequences_are_those_of_enumeration(length):
    texts = ["science", "knowledge", "kälte", "", "aaaaaa", "ab"]
    K = StringSubsequence(length, 0.7, normalize=False)(texts)
    expected = [[brute_force(s, t, length, 0.7) for t in texts] for s in texts]
    np.testing.assert_allclose(K, expected, rtol=1e-12)
    assert is_positive_semidefinite(K)
    np.testing.assert_allclose(StringSubsequence(length, 0.7, normalize=False)(texts[:2], texts), K[:2], rtol=1e-14)


def test_normalised_strings_have_length_one():
    texts = ["science", "knowledge", "scientific"]
    for kernel in (StringSubsequence(2, 0.5), StringSpectrum(2)):
        K = kernel(texts)
        np.testing.assert_allclose(np.diagonal(K), 1.0)
        np.testing.assert_allclose(kernel(texts[:1], texts), K[:1], rtol=1e-14)
        np.testing.assert_allclose(kernel.diagonal(texts), 1.0)


def test_words_and_substrings_by_hand():
    assert WordOverlap()(["a b c"], ["c d", "x", "b a a"]).tolist() == [[1.0, 0.0, 2.0]]
    assert StringSpectrum(2, False)(["aaa"], ["aa", "aaaa"]).tolist() == [[2.0, 6.0]]
    assert (WordOverlap() + StringSpectrum(1, False))(["ab"]).tolist() == [[3.0]]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: RBF(0.0), "width of a kernel is a positive number"),
        (lambda: RBF([1.0, -1.0]), "width of a kernel is a positive number"),
        (lambda: -1.0 * RBF(), "multiplied by a positive number"),
        (lambda: RBF() ** 0.5, "Powers of a kernel are 1, 2"),
        (lambda: Polynomial(1.5), "degree of a kernel"),
        (lambda: Polynomial(2, -1.0), "gamma of a polynomial"),
        (lambda: StringSubsequence(0), "length of subsequences"),
        (lambda: StringSubsequence(2, 1.5), "decay is above 0"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(make, sentence):
    with pytest.raises(ParameterError, match=sentence):
        make()


def test_bad_rows_are_refused_in_a_sentence():
    with pytest.raises(InputError, match="3 widths, and X has 2 columns"):
        RBF(ARD)(X[:, :2])
    with pytest.raises(InputError, match=r"use X\.reshape"):
        RBF()(X[:, 0])
    with pytest.raises(InputError, match="row 1 is of type float"):
        WordOverlap()(["a", 1.0])
    with pytest.raises(InputError, match="put it in a list"):
        WordOverlap()("a b")
    with pytest.raises(InputError, match="square"):
        is_positive_semidefinite(X)


def test_a_matrix_that_is_no_gram_matrix():
    assert not is_positive_semidefinite([[1.0, 2.0], [2.0, 1.0]])
    assert not is_positive_semidefinite([[1.0, 0.5], [0.0, 1.0]])
    assert is_positive_semidefinite(RBF(), X)


def test_kernels_that_are_beyond_python_or_its_numbers_are_refused():
    with pytest.raises(ParameterError, match="nested 150 deep"):
        sum((RBF() for _ in range(200)), 0.5 * Linear())
    with pytest.raises(ParameterError, match="at most 60"):
        Matern(1.0, 200.0)
    K = Matern(1.0, 60.0)(X)
    assert np.abs(K - RBF(1.0)(X)).max() < 1 / 60  # Matérn's kernel tends to the Gaussian one as 1/nu


def test_subsequences_need_memory_for_one_text():
    """Tables of all pairs of characters would take 290 MB each; a high-water mark only rises."""
    import resource

    k, text = StringSubsequence(2, 0.5), ["ab" * 3000]
    k(["ab"])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    k(text, text)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kilobytes
