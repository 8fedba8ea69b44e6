"""Hebbian learning: principal directions, lengths, scales, streams; identities between the rules."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from didact import Batches
from didact.core.rows import Block
from didact.linear_model import HebbianLayer
from didact.linear_model.hebbian import spread, taken


def rows(n=800, deviations=(3.0, 2.0, 1.0, 0.5), seed=0):
    """Rows around (5, −3, …) with known principal directions, the rows of Q."""
    rng = np.random.default_rng(seed)
    p = len(deviations)
    Q = np.linalg.qr(rng.normal(size=(p, p)))[0]
    return rng.normal(size=(n, p)) * deviations @ Q + np.resize([5.0, -3.0], p)


def directions(X):
    return np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2]


def angles(W, U):
    """Angles in degrees between the rows of W and of U, whatever their signs."""
    cosines = np.abs(np.sum(W * U, axis=1)) / np.linalg.norm(W, axis=1)
    return np.degrees(np.arccos(np.minimum(cosines, 1.0)))


@pytest.mark.parametrize("rule", ["hebb", "oja", "sanger"])
@pytest.mark.parametrize("seed", range(3))
def test_a_unit_finds_the_first_principal_direction(rule, seed):
    X = rows(seed=seed)
    layer = HebbianLayer(rule=rule, tol=3e-4, random_state=seed).fit(X)
    assert angles(layer.components_, directions(X)[:1]).max() < 1.0
    np.testing.assert_allclose(np.linalg.norm(layer.components_, axis=1), 1.0, atol=2e-3)


@pytest.mark.parametrize("seed", range(3))
def test_sanger_finds_the_leading_directions_in_order(seed):
    X = rows(seed=seed)
    layer = HebbianLayer(n_components=3, tol=3e-4, random_state=seed).fit(X)
    assert angles(layer.components_, directions(X)[:3]).max() < 2.0
    np.testing.assert_allclose(layer.components_ @ layer.components_.T, np.eye(3), atol=0.02)
    np.testing.assert_allclose(
        layer.transform(X).var(axis=0), np.linalg.eigvalsh(np.cov(X.T, bias=True))[:0:-1], rtol=0.02
    )


def test_units_of_hebb_and_oja_all_find_the_same():
    X = rows()
    for rule in ("hebb", "oja"):
        W = HebbianLayer(n_components=5, rule=rule, tol=3e-4, random_state=0).fit(X).components_
        assert angles(W, directions(X)[[0] * 5]).max() < 1.0


def test_hebbian_weights_have_length_one_after_any_number_of_passes():
    for passes in (1, 2, 7):
        layer = HebbianLayer(n_components=3, rule="hebb", max_iter=passes, tol=None, random_state=0).fit(rows())
        np.testing.assert_allclose(np.linalg.norm(layer.components_, axis=1), 1.0, rtol=1e-12)


def test_one_unit_of_sanger_is_oja():
    X = rows(50)
    oja, sanger = (HebbianLayer(rule=r, max_iter=3, tol=None, random_state=0).fit(X) for r in ("oja", "sanger"))
    np.testing.assert_allclose(np.abs(sanger.components_), np.abs(oja.components_), rtol=1e-9)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
@pytest.mark.parametrize("rule", ["hebb", "oja", "sanger"])
def test_the_scale_of_the_rows_makes_no_difference(rule, factor):
    """Also with a constant rate and rows in order, where steps that know no scale run away."""
    X = rows(200)
    options = {"rule": rule, "power_t": 0.0, "shuffle": False, "max_iter": 20, "tol": None, "random_state": 0}
    plain, scaled = HebbianLayer(**options).fit(X), HebbianLayer(**options).fit(factor * X)
    np.testing.assert_allclose(scaled.components_, plain.components_, rtol=1e-6)
    np.testing.assert_allclose(scaled.transform(factor * X), factor * plain.transform(X), rtol=1e-6)


@pytest.mark.parametrize("rule", ["oja", "sanger"])
def test_a_wild_row_does_not_make_the_weights_run_away(rule):
    X = rows(200)
    X[17] *= 1e8
    layer = HebbianLayer(n_components=2, rule=rule, power_t=0.0, eta0=50.0, shuffle=False, max_iter=50, tol=None,
                         random_state=0).fit(X)  # fmt: skip
    assert np.isfinite(layer.components_).all()
    assert (np.sum(layer.components_**2, axis=1) <= 2 + 1e-9).all()


def test_centring_is_what_makes_directions_principal():
    X = rows()
    assert angles(HebbianLayer(tol=3e-4, random_state=0).fit(X).components_, directions(X)[:1]).max() < 1.0
    raw = HebbianLayer(tol=3e-4, random_state=0, center=False).fit(X)
    first = np.linalg.svd(X, full_matrices=False)[2][:1]
    assert angles(raw.components_, first).max() < 1.0
    assert not raw.mean_.any()
    assert raw.scale_ == pytest.approx(np.mean(np.sum(X**2, axis=1)))


def test_a_stream_of_parts_learns_the_same_direction():
    X = rows(6000)
    layer = HebbianLayer(n_components=2, random_state=0)
    for part in np.array_split(X, 30):
        layer.partial_fit(part)
    assert angles(layer.components_, directions(X)[:2]).max() < 6.0
    assert (layer.n_samples_seen_, layer.t_) == (6000, 6001.0)
    np.testing.assert_allclose(layer.mean_, X.mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(layer.scale_, X.var(axis=0).sum(), rtol=1e-10)


def test_batches_in_order_are_the_rows_in_order():
    X = rows(300)
    batches = Batches(lambda: (X[k : k + 70] for k in range(0, 300, 70)))
    options = {"n_components": 2, "shuffle": False, "max_iter": 5, "tol": None, "random_state": 0}
    np.testing.assert_allclose(
        HebbianLayer(**options).fit(batches).components_, HebbianLayer(**options).fit(X).components_, rtol=1e-9
    )
    shuffled = HebbianLayer(tol=3e-4, random_state=0).fit(batches)
    assert angles(shuffled.components_, directions(X)[:1]).max() < 1.5


def test_spreads_merge_to_that_of_all_rows():
    X = rows(90)
    parts = [spread(Block(part)) for part in (X[:7], X[7:7], X[7:60], X[60:])]
    for total in (parts[0].merge(parts[1]).merge(parts[2]).merge(parts[3]),
                  parts[0].merge(parts[1].merge(parts[2].merge(parts[3])))):  # fmt: skip
        assert total.weight == 90
        mean, square = taken(total, center=True)
        np.testing.assert_allclose(mean, X.mean(axis=0), rtol=1e-12)
        assert square == pytest.approx(np.sum((X - X.mean(axis=0)) ** 2) / 90, rel=1e-12)
        assert taken(total, center=False)[1] == pytest.approx(np.sum(X**2) / 90, rel=1e-12)


def test_what_cannot_be_is_said():
    X = rows(50)
    with pytest.raises(ValueError, match="no more directions"):
        HebbianLayer(n_components=5).fit(X)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        HebbianLayer(max_iter=1, tol=1e-9, random_state=0).fit(X)
    assert HebbianLayer(n_components=7, rule="oja", random_state=0).fit(X).transform(X).shape == (50, 7)
