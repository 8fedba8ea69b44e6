"""Buffers kept between passes: made once for each thread that needs one at the same time, never shared."""

import threading

import numpy as np

from didact.engines.factors import nonnegative_loops
from didact.engines.factors.kept_buffers import KeptBuffers
from didact.engines.factors.nonnegative_loops import DenseSteps


def test_a_room_is_used_again_but_never_by_two_at_once():
    made = []
    rooms = KeptBuffers(lambda: (made.append(np.zeros(1)), made[-1])[1:])
    used = []
    rooms.lend(used.append)
    rooms.lend(used.append)
    assert len(made) == 1
    assert used[0] is used[1]
    rooms.lend(lambda outer: rooms.lend(lambda inner: used.extend((outer, inner))))
    assert len(made) == 2
    assert used[2] is not used[3]


def test_threads_have_rooms_of_their_own():
    rooms, meet, used = KeptBuffers(lambda: (np.zeros(1),)), threading.Barrier(3), []

    def use(room):
        used.append(room)
        meet.wait(10.0)

    threads = [threading.Thread(target=rooms.lend, args=(use,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(room) for room in used}) == 3


def test_steps_make_no_buffers_after_the_first(monkeypatch):
    generator = np.random.default_rng(0)
    X, W, H = (generator.random(shape) for shape in ((30, 5), (30, 2), (2, 5)))
    steps, order = DenseSteps(X, None, W, H), np.arange(2)

    def step():
        _, gram = steps.rows(H @ H.T, 0.0, order)
        return steps.lines(gram, 0.0, order)

    first = step()

    def refused(*shape):
        raise AssertionError("made again")

    monkeypatch.setattr(nonnegative_loops, "aligned_zeros", refused)
    assert step()[0] < first[0]
