r"""First-order methods: steps from the gradient alone, without a line search.

A rule maps the gradient g and its memory of earlier ones to a change of x:

* momentum :math:`v \leftarrow \mu v - \eta g,\ x \leftarrow x + v` (the heavy ball), or Nesterov's, with the gradient
  at the point to which the momentum alone would move x;
* Adagrad :math:`s \leftarrow s + g^2,\ x \leftarrow x - \eta g/(\sqrt s + \epsilon)`;
* Adam, with averages :math:`m \leftarrow \beta_1 m + (1-\beta_1)g` and :math:`v \leftarrow \beta_2 v + (1-\beta_2)g^2`,
  corrected for their start at zero: :math:`x \leftarrow x - \eta\,\hat m/(\sqrt{\hat v} + \epsilon)`.

Polyak (1964), doi:10.1016/0041-5553(64)90137-5; Sutskever et al. (2013), On the importance of initialization and
momentum in deep learning; Duchi, Hazan, Singer (2011), Adaptive subgradient methods; Kingma, Ba (2015), Adam,
doi:10.48550/arXiv.1412.6980.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from didact.core.typing import Array
from didact.engines.loop.iterate import Keep, Report, iterate
from didact.engines.loop.line_search import largest
from didact.engines.loop.result import Result


class UpdateRule(Protocol):
    """A rule that maps gradients to changes of x."""

    def start(self, x: Array) -> Any:
        """The memory before the first step."""
        ...

    def __call__(self, gradient: Array, memory: Any) -> tuple[Array, Any]:
        """The change of x, and the new memory."""
        ...


class Momentum(NamedTuple):
    """The heavy ball, or Nesterov's form of it.

    For Nesterov x is the look-ahead point x + μv, at which the gradient is taken: both converge to the same minimum.
    """

    step: float = 0.01
    decay: float = 0.9
    nesterov: bool = False

    def start(self, x: Array) -> Array:
        """A velocity of zero."""
        return np.zeros_like(x)

    def __call__(self, gradient: Array, memory: Array) -> tuple[Array, Array]:
        """The change of x (for Nesterov of the look-ahead point) and the new velocity."""
        velocity = self.decay * memory - self.step * gradient
        change = velocity + self.decay * (velocity - memory) if self.nesterov else velocity
        return change, velocity


class Adagrad(NamedTuple):
    """Steps divided by the root of the sum of squares of all gradients so far."""

    step: float = 0.5
    epsilon: float = 1e-10

    def start(self, x: Array) -> Array:
        """A sum of squares of zero."""
        return np.zeros_like(x)

    def __call__(self, gradient: Array, memory: Array) -> tuple[Array, Array]:
        """The change of x and the new sum of squares."""
        squares = memory + gradient * gradient
        return -self.step * gradient / (np.sqrt(squares) + self.epsilon), squares


class Adam(NamedTuple):
    """Steps along the mean gradient divided by the root mean square of gradients."""

    step: float = 0.05
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def start(self, x: Array) -> tuple[int, Array, Array]:
        """The number of steps, the mean and the mean square: all zero."""
        return 0, np.zeros_like(x), np.zeros_like(x)

    def __call__(self, gradient: Array, memory: tuple[int, Array, Array]) -> tuple[Array, tuple[int, Array, Array]]:
        """The change of x and the new averages."""
        count, mean, square = memory
        count += 1
        mean = self.beta1 * mean + (1.0 - self.beta1) * gradient
        square = self.beta2 * square + (1.0 - self.beta2) * gradient * gradient
        size = np.sqrt(square / (1.0 - self.beta2**count)) + self.epsilon
        return -self.step / (1.0 - self.beta1**count) * mean / size, (count, mean, square)


class _State(NamedTuple):
    x: Array
    value: float
    gradient: Array
    memory: Any

    @property
    def optimality(self) -> float:
        return largest(self.gradient)


def first_order(
    objective: Callable[[Array], tuple[float, Array]],
    x0: Array,
    rule: UpdateRule,
    tol: float,
    max_iter: int,
    report: Report | None = None,
    keep: Keep = None,
) -> Result:
    """Follow the rule from x0; objective(x) -> (value, gradient)."""

    def step(s: _State) -> _State:
        change, memory = rule(s.gradient, s.memory)
        x = s.x + change
        return _State(x, *objective(x), memory)

    return iterate(_State(x0, *objective(x0), rule.start(x0)), step, tol, max_iter, report, keep)
