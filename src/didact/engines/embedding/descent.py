r"""The descent of t-SNE: :math:`C = \sum_{ij}p_{ij}\log(p_{ij}/q_{ij})` with :math:`q_{ij} = k_{ij}/Z`.

250 steps with exaggerated attraction and little momentum, then steps with more of it until the divergence no longer
falls or the gradient vanishes. `TreeMotion` moves points in compiled code; `ArrayMotion` by a function of their places,
on any device. Both say of an embedding its divergence and gradient.

van der Maaten, Hinton (2008), Visualizing data using t-SNE; van der Maaten (2014), Accelerating t-SNE using tree-based
algorithms.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from didact.core.backend import namespace
from didact.core.jit.atomics import new_board, stop_all
from didact.core.threads import parallel_map, thread_count
from didact.core.typing import Array
from didact.engines.embedding.descent_loops import (
    DIVIDE,
    GAIN_DOWN,
    GAIN_UP,
    LEAST_GAIN,
    NOW_DONE,
    NOW_SIDE,
    NOW_STEP,
    Graph,
    Motion,
    Stage,
    descend_together,
)
from didact.engines.embedding.tree_loops import LIST_ROOM, Division, Lists
from didact.engines.embedding.tuning import GROUP_POINTS, LEAF_POINTS, LOOK_ROWS, TASK_POINTS, TASKS, WORK
from didact.engines.loop.result import Result

EXPLORING = 250  # steps with exaggeration
CHECKED = 50  # steps between two looks at the divergence
FEW, MUCH = 0.5, 0.8  # momentum


class Look(NamedTuple):
    """The divergence without exaggeration, and the length of the gradient times the gains."""

    value: float
    length: float


class Moving(Protocol):
    """Points that can be moved by steps of the descent."""

    def advance(self, steps: int, exaggeration: float, momentum: float, rate: float) -> Look:
        """Make some steps; the look is at where the last one began."""
        ...

    def look(self) -> Look:
        """At where the points are."""
        ...

    @property
    def places(self) -> Any:
        """Where the points are, (n, d)."""
        ...


def empty_division(n: int, d: int) -> Division:
    """Room for a division of n points."""
    levels = max(0, int(np.ceil(np.log2(max(n, 1) / LEAF_POINTS))))
    nodes = (2 << levels) - 1
    low, high, mean = (np.zeros((nodes, d)) for _ in range(3))
    S, keys = np.zeros((d, n)), np.zeros(n)
    return Division(levels=levels, order=np.arange(n), keys=keys, S=S, low=low, high=high, mean=mean)


def new_lists(d: int) -> Lists:
    """What a thread works with."""
    shapes = (d, LIST_ROOM), (2, LIST_ROOM), (d, GROUP_POINTS + 1)
    B, T, Q = (np.zeros(shape, np.float32) for shape in shapes)
    return Lists(
        stack=np.zeros((2, 64), np.int64), B=B, M=B[0].copy(), T=T, Q=Q, ones=np.ones(GROUP_POINTS + 1, np.float32),
        F=np.zeros((d + 1, GROUP_POINTS + 1)), box=np.zeros((3, d)),
    )  # fmt: skip


class TreeMotion:
    """Points that a tree keeps apart: an angle of 0 sums over all pairs."""

    def __init__(self, P: Any, Y: Array, angle: float, freedom: int) -> None:
        n, d = Y.shape
        self.tree, self.angle, self.freedom = empty_division(n, d), float(angle), int(freedom)
        levels = self.tree.levels
        self.top = min(levels, max(0, int(np.log2(max(min(n // TASK_POINTS, TASKS), 1)))))
        self.group = max(self.top, levels - int(np.log2(GROUP_POINTS // LEAF_POINTS)))
        self.graph = Graph(P.indptr.astype(np.int64), P.indices.astype(np.int32), P.data.astype(np.float32))
        self.constant = float((P.data * np.log(P.data)).sum())
        self.motion = Motion(
            board=new_board(1),
            now=np.zeros(5, np.int64),
            Y=np.stack([Y, Y]).astype(np.float64),
            R=np.zeros((n, d)),
            velocity=np.zeros((n, d)),
            gains=np.ones((n, d)),
            gradient=np.zeros((n, d)),
            parts=np.zeros((1 << self.top, 3)),
            totals=np.zeros(3),
        )
        pairs = n * min(n, 600 if angle > 0 else n) + P.nnz
        self.at_once = max(1, int(WORK / max(pairs, 1)))
        self.rooms = [new_lists(d) for _ in range(min(thread_count(), 1 << self.top))]

    @property
    def places(self) -> Array:
        """Where the points are."""
        return self.motion.Y[self.motion.now[NOW_SIDE]]

    def advance(self, steps: int, exaggeration: float, momentum: float, rate: float) -> Look:
        """Make some steps; calls of the loop are short, so that they can be interrupted."""
        while steps > 0:
            some = min(steps, self.at_once)
            self._run(exaggeration, momentum, rate, some, 1)
            steps -= some
        return self._seen()

    def look(self) -> Look:
        """At where the points are; summed over all pairs unless there are very many points."""
        angle, self.angle = self.angle, 0.0 if len(self.places) <= LOOK_ROWS else self.angle
        self._run(1.0, 0.0, 0.0, 1, 0)
        self.angle = angle
        return self._seen()

    def _seen(self) -> Look:
        Z, length, logs = self.motion.totals.tolist()
        return Look(self.constant + 0.5 * (self.freedom + 1) * logs + float(np.log(Z)), length**0.5)

    def _run(self, exaggeration: float, momentum: float, rate: float, steps: int, moving: int) -> None:
        stage = Stage(
            top=self.top, group=self.group, angle=self.angle, freedom=self.freedom, exaggeration=float(exaggeration),
            momentum=float(momentum), rate=float(rate), steps=int(steps), moving=moving,
        )  # fmt: skip
        self.motion.now[NOW_DONE] = 0
        self.motion.board[:] = new_board(1 if self.motion.now[NOW_STEP] == DIVIDE else 1 << self.top)
        try:
            parallel_map(lambda room: descend_together(self.tree, self.graph, self.motion, stage, room), self.rooms)
        except BaseException:
            stop_all(self.motion.board)
            raise


class ArrayMotion:
    """Points that move by a function (places, exaggeration) → gradient, divergence, on any device."""

    def __init__(self, gradient: Callable[[Any, float], tuple[Any, float]], Y: Any) -> None:
        xp = namespace(Y)
        self.gradient, self.places = gradient, Y
        self.velocity, self.gains = xp.zeros_like(Y), xp.ones_like(Y)

    def advance(self, steps: int, exaggeration: float, momentum: float, rate: float) -> Look:
        """Make some steps."""
        xp, g, value = namespace(self.places), self.velocity, np.nan
        for _ in range(steps):
            g, value = self.gradient(self.places, exaggeration)
            grown = xp.where(self.velocity * g < 0, self.gains + GAIN_UP, self.gains * GAIN_DOWN)
            self.gains = xp.clip(grown, LEAST_GAIN, None)
            g = g * self.gains
            self.velocity = momentum * self.velocity - rate * g
            self.places = self.places + self.velocity
        return Look(float(value), float(xp.sum(g * g)) ** 0.5)

    def look(self) -> Look:
        """At where the points are."""
        g, value = self.gradient(self.places, 1.0)
        return Look(float(value), float(namespace(g).sum(g * g)) ** 0.5)


class Schedule(NamedTuple):
    """How a descent goes, and when it ends."""

    rate: float
    exaggeration: float
    max_iter: int
    patience: int
    min_grad_norm: float


def embed(points: Moving, how: Schedule, report: Callable[[int, float, Any], bool] | None = None) -> Result:
    """Both parts of the descent; the value is the divergence of the embedding that is returned.

    With a report, it is called after each step; that changes no step.
    """
    history: list[Any] = []
    done, status = 0, ""
    for end, more, momentum, wait in (
        (min(EXPLORING, how.max_iter), how.exaggeration, FEW, EXPLORING),
        (how.max_iter, 1.0, MUCH, how.patience),
    ):
        status, best, best_at = "iteration limit", np.inf, done
        while done < end:
            some = min(CHECKED - done % CHECKED, end - done) if report is None else 1
            seen = points.advance(some, more, momentum, how.rate)
            done += some
            if not np.isfinite(seen.value):
                return Result(points.places, seen.value, done, "not finite", seen.length, history)
            if report is not None and report(done, seen.value, points.places):
                return Result(points.places, points.look().value, done, "stopped", seen.length, history)
            if done % CHECKED and done < end:
                continue
            history.append(seen.value)
            if seen.length <= how.min_grad_norm:
                status = "converged"
                break
            if seen.value < best:
                best, best_at = seen.value, done
            elif done - best_at > wait:
                status = "no progress"
                break
        if end == how.max_iter:
            break
    last = points.look()
    return Result(points.places, last.value, done, status, last.length, history)


def warm_descent() -> None:
    """Compile the loop of the descent."""
    P = sp.csr_array(np.array([[0.0, 0.5], [0.5, 0.0]]))
    TreeMotion(P, np.array([[0.0, 0.0], [1.0, 0.0]]), 0.5, 1).look()
