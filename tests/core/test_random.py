"""Random streams: reproducible, independent, and the same whatever the chunks."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import RandomState, SeedSequence
from scipy import stats

from didact.core.random import row_uniforms, seed_sequence, streams


def state(seed):
    return seed.generate_state(4).tolist()


def test_an_int_gives_the_same_sequence_each_time():
    assert state(seed_sequence(3)) == state(seed_sequence(np.int64(3)))
    assert state(seed_sequence(3)) != state(seed_sequence(4))
    assert state(seed_sequence(None)) != state(seed_sequence(None))
    given_seed = SeedSequence(5)
    assert seed_sequence(given_seed) is given_seed


@pytest.mark.parametrize("make", [RandomState, np.random.default_rng])
def test_generators_are_drawn_from_once_and_move_on(make):
    first, again = make(0), make(0)
    assert state(seed_sequence(first)) == state(seed_sequence(again))
    assert state(seed_sequence(first)) != state(seed_sequence(make(0)))


def test_wrong_types_are_refused():
    with pytest.raises(TypeError, match="random_state must be None, an int"):
        seed_sequence("seed")
    with pytest.raises(TypeError):
        seed_sequence(1.5)


def test_the_global_generator_is_left_alone(no_global_rng):
    streams(None, 3)
    streams(0, 3)[0].random(10)
    row_uniforms(SeedSequence(0), 0, 10)


def test_streams_do_not_depend_on_how_many_follow():
    few, many = streams(1, 2), streams(1, 5)
    for a, b in zip(few, many, strict=False):
        np.testing.assert_array_equal(a.random(8), b.random(8))
    draws = np.stack([s.random(2000) for s in streams(1, 6)])
    off = np.corrcoef(draws) - np.eye(6)
    assert np.abs(off).max() < 0.1, "streams are independent"


@given(st.integers(0, 2**31), st.integers(0, 200), st.lists(st.integers(0, 60), max_size=6))
def test_rows_have_their_numbers_whatever_the_chunks(seed, start, sizes):
    sequence = SeedSequence(seed)
    edges = start + np.cumsum([0, *sizes])
    whole = row_uniforms(sequence, int(edges[0]), int(edges[-1]))
    parts = [row_uniforms(sequence, int(a), int(b)) for a, b in pairwise(edges)]
    np.testing.assert_array_equal(np.concatenate([np.empty(0), *parts]), whole)


def test_row_numbers_are_uniform_and_differ_between_seeds():
    draws = row_uniforms(SeedSequence(0), 0, 20_000)
    assert stats.kstest(draws, "uniform").pvalue > 1e-3
    assert len(np.unique(draws)) == len(draws)
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 0.03
    assert abs(np.corrcoef(draws, row_uniforms(SeedSequence(1), 0, 20_000))[0, 1]) < 0.03


def test_rows_far_away():
    far = 10**12 + 3
    np.testing.assert_array_equal(
        row_uniforms(SeedSequence(0), far, far + 5)[2:], row_uniforms(SeedSequence(0), far + 2, far + 5)
    )
