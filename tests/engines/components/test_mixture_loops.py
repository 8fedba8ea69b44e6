"""The compiled E step against NumPy: all kinds of scores, weights, known components, hard assignments, gaps."""

import numpy as np
import pytest

from didact.core.rows import Block
from didact.engines.components import mixture
from didact.engines.components.mixture import (
    BernoulliFamily,
    Bernoullis,
    GaussianFamily,
    array_step,
    e_step,
    gaussians,
    responsibilities,
)
from didact.engines.components.mixture_loops import mixture_sums
from didact.engines.scores import score_tables
from didact.engines.scores.score_tables import whitened_tables

SHAPES = ("full", "tied", "diagonal", "spherical")


def parameters(shape, K, p, rng):
    """Parameters of K Gaussians in p columns."""
    A = rng.normal(size=(1 if shape == "tied" else K, p, p))
    matrices = A @ A.transpose(0, 2, 1) / p + 0.5 * np.eye(p)
    spread = {"diagonal": np.diagonal(matrices, axis1=1, axis2=2), "spherical": matrices[:, :1, 0]}
    return gaussians(rng.dirichlet(np.ones(K)), rng.normal(size=(K, p)), spread.get(shape, matrices), shape)


def slow_step(X, w, codes, family, theta, hard):
    """The E step as the formulas have it: the value, weights, and sums of x − μ and of their products."""
    fn, args = family.scores(theta)
    joint = fn(X, *args)
    top = joint.max(axis=1)
    each = top + np.log(np.exp(joint - top[:, None]).sum(axis=1))
    R = np.exp(joint - each[:, None])
    for i in range(len(X)):
        code = codes[i] if codes is not None and codes[i] >= 0 else joint[i].argmax() if hard else -1
        if code >= 0:
            R[i], each[i] = np.eye(len(theta.means))[code], joint[i, code]
    w = np.ones(len(X)) if w is None else w
    R = R * w[:, None]
    first = np.stack([r @ (X - m) for r, m in zip(R.T, theta.means, strict=True)])
    second = np.stack([((X - m).T * r) @ (X - m) for r, m in zip(R.T, theta.means, strict=True)])
    return w @ each, R.sum(axis=0), first, second


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_pass_is_the_e_step_and_the_sums_of_the_m_step(shape, dtype, monkeypatch):
    rng = np.random.default_rng(0)
    for n, p, K, layout in ((1, 1, 1, "C"), (53, 3, 4, "F"), (700, 11, 2, "C")):
        X = np.asarray(rng.normal(size=(n, p)), dtype, order=layout)
        w = rng.integers(0, 3, size=n).astype(float)
        codes = rng.integers(-1, K, size=n)
        theta, family = parameters(shape, K, p, rng), GaussianFamily(shape)
        for given in (None, w):
            for known, hard in ((None, False), (codes, False), (None, True), (codes, True)):
                value, weight, first, second = slow_step(X.astype(float), given, known, family, theta, hard)
                expected = family.of_sums(theta, weight, first, _kept(second, shape))
                monkeypatch.setattr(mixture, "COMPILED_WORK", 0)
                monkeypatch.setattr(score_tables, "FEW_NUMBERS", 0)
                step = e_step(Block(X, known, given), family, theta, hard)
                assert step.value == pytest.approx(value, rel=1e-11, abs=1e-9)
                for got, want in zip(step.statistic[1:5], expected[1:5], strict=True):
                    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9 * n)


def _kept(second, shape):
    return second if shape in ("full", "tied") else np.diagonal(second, axis1=1, axis2=2)


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_with_gaps_go_to_the_array_form(shape, monkeypatch):
    """The compiled pass marks them, and both parts together are the array form of all rows."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4))
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    X[np.isnan(X).all(axis=1)] = 0.0
    theta, family = parameters(shape, 3, 4, rng), GaussianFamily(shape)
    block = Block(X, None, rng.uniform(size=300))
    monkeypatch.setattr(mixture, "COMPILED_WORK", 0)
    mixed, plain = e_step(block, family, theta, False), array_step(block, family, theta, False)
    assert mixed.value == pytest.approx(plain.value, rel=1e-11)
    for got, want in zip(mixed.statistic[1:5], plain.statistic[1:5], strict=True):
        np.testing.assert_allclose(got, np.broadcast_to(want, np.shape(got)), rtol=1e-9, atol=1e-9)


def test_zeros_and_ones(monkeypatch):
    rng = np.random.default_rng(2)
    X = (rng.uniform(size=(500, 7)) < 0.4).astype(float)
    X[rng.uniform(size=X.shape) < 0.05] = np.nan
    theta, family = Bernoullis(np.array([0.3, 0.7]), rng.uniform(0.1, 0.9, size=(2, 7))), BernoulliFamily()
    monkeypatch.setattr(mixture, "COMPILED_WORK", 0)
    block = Block(X)
    mixed, plain = e_step(block, family, theta, False), array_step(block, family, theta, False)
    assert mixed.value == pytest.approx(plain.value, rel=1e-12)
    np.testing.assert_allclose(mixed.statistic.mean, plain.statistic.mean, rtol=1e-11)


def test_any_number_of_threads_gives_the_same_bits():
    import didact

    rng = np.random.default_rng(3)
    X, theta = rng.normal(size=(20_000, 5)), parameters("full", 3, 5, rng)
    tables = whitened_tables(np.log(theta.weights), theta.means, theta.whiten, theta.log_dets)
    found = []
    try:
        for threads in (1, 3):
            didact.set_threads(threads)
            found.append(mixture_sums(X, None, None, tables, theta.means, False))
    finally:
        didact.set_threads(None)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_responsibilities_are_shares_and_a_component_without_weight_has_none():
    joint = np.array([[0.0, -np.inf, np.log(3.0)], [-1e4, -np.inf, -1e4]])
    R, each = responsibilities(joint)
    np.testing.assert_allclose(R, [[0.25, 0.0, 0.75], [0.5, 0.0, 0.5]])
    np.testing.assert_allclose(each, [np.log(4.0), -1e4 + np.log(2.0)])
