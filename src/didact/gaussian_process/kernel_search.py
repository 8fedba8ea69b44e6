"""Kernels whose parameters are searched: ours, those of scikit-learn in the form of ours, and the search itself.

scikit-learn's kernel objects have bounds and names of parameters; ours have fast gradients. A `Searched` has both: the
kernel to compute with, which of its parameters are searched, and the object that the user gave, which shows the result.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize
from sklearn.base import clone

from didact import kernels as ours
from didact.core.errors import DidactError, ParameterError
from didact.core.estimator import Ended, warn_convergence
from didact.core.sparse import check_sparse
from didact.core.typing import Array
from didact.gaussian_process import kernels as theirs
from didact.gaussian_process.sample_start import from_sample, sample_start
from didact.kernels.base import Kernel
from didact.kernels.foreign import Foreign, Function, PeriodicDistance

BOUNDS = 1e-5, 1e5  # scikit-learn's, for parameters of our own kernels
EDGE = 1e-2  # relative distance, on the logarithmic scale, from which on a parameter is said to lie at a bound

NO_MATRIX = (
    "A Gaussian process needs the values among new rows too, which kernel='precomputed' does not have: give it "
    "didact.kernels.Tabulated(G), with the matrix of all rows, and their numbers as X."
)

Objective = Callable[[Array], tuple[float, Array]]
Stop = Callable[[int, float, Any], bool]


class Parts(NamedTuple):
    """A kernel in our form: entry k of the user's θ is that of ours at where[k], divided by factor[k]."""

    kernel: Kernel
    where: list[int]
    factor: list[float]


class Searched(NamedTuple):
    """A kernel with parameters to search: θ are logarithms, in the order of the object that the user gave."""

    kernel: Kernel
    where: Array
    factor: Array
    bounds: Array  # (d, 2), logarithms
    source: Any = None  # scikit-learn's object

    @property
    def theta(self) -> Array:
        """The searched parameters."""
        return np.asarray(self.kernel.theta[self.where] / self.factor)

    def kernel_at(self, theta: Any) -> Kernel:
        """The kernel to compute with at other parameters."""
        theta = np.asarray(theta, np.float64)
        if theta.shape != self.where.shape:
            raise ParameterError(f"theta has shape {theta.shape}; the kernel has {len(self.where)} parameters.")
        full = self.kernel.theta.copy()
        full[self.where] = self.factor * theta
        return self.kernel.with_theta(full)

    def at(self, theta: Any) -> "Searched":
        """The search at other parameters."""
        if np.array_equal(theta, self.theta):
            return self  # not even rounded
        source = None if self.source is None else self.source.clone_with_theta(theta)
        return self._replace(kernel=self.kernel_at(theta), source=source)

    def slope(self, gradient: Array) -> Array:
        """A gradient in our parameters as one in the searched ones."""
        return np.asarray(self.factor * gradient[self.where])

    def objective(self, value: Any) -> Objective:
        """The function of θ, with its gradient, that a function (kernel, whether with gradient) of rows makes."""

        def at(theta: Array) -> tuple[float, Array]:
            found = value(self.kernel_at(theta), True)
            return found.value, self.slope(found.gradient)

        return at

    @property
    def shown(self) -> Any:
        """The kernel in the form in which the user gave it."""
        return self.kernel if self.source is None else self.source


def refuse_matrix(kernel: Any) -> None:
    """Say what to use in the place of a precomputed matrix."""
    if isinstance(kernel, str) and kernel == "precomputed":
        raise ParameterError(NO_MATRIX)


def searched(kernel: Any) -> Searched:
    """What to search for a kernel of ours, of scikit-learn, or a function of two sets of rows."""
    if isinstance(kernel, theirs.CompoundKernel):
        raise ParameterError("kernel cannot be a CompoundKernel: give one kernel, which every class then has.")
    if isinstance(kernel, theirs.Kernel):
        kernel = clone(kernel)
        parts = translated(kernel)
        return Searched(
            kernel=parts.kernel,
            where=np.array(parts.where, int),
            factor=np.array(parts.factor, float),
            bounds=np.asarray(kernel.bounds, np.float64).reshape(-1, 2),
            source=kernel,
        )
    if not isinstance(kernel, Kernel):
        kernel = Function(kernel)
    d = len(kernel.theta)
    return Searched(kernel=kernel, where=np.arange(d), factor=np.ones(d), bounds=np.tile(np.log(BOUNDS), (d, 1)))


def translated(kernel: Any) -> Parts:
    """scikit-learn's kernel as one of ours with the same values; as it is where there is none."""
    try:
        found = _parts(kernel)
    except (DidactError, ArithmeticError):  # a parameter at 0, which ours do not take
        found = None
    return found or Parts(Foreign(kernel), list(range(kernel.n_dims)), [1.0] * kernel.n_dims)


def _parts(kernel: Any) -> Parts | None:
    kind = type(kernel)
    if kind in (theirs.Sum, theirs.Product):
        return _pair(kernel, kind is theirs.Sum)
    if kind is theirs.Exponentiation:
        inner = _parts(kernel.kernel)
        whole = float(kernel.exponent).is_integer() and kernel.exponent >= 1
        return inner._replace(kernel=inner.kernel ** int(kernel.exponent)) if inner and whole else None
    simple = _simple(kernel)
    if simple is None:
        return None
    made, names = simple
    where: list[int] = []
    begin = 0
    order = {}
    for name, size in names:
        order[name], begin = range(begin, begin + size), begin + size
    for hyper in kernel.hyperparameters:  # in the order of scikit-learn's θ
        where += [] if hyper.fixed else list(order[hyper.name])
    return Parts(made, where, [2.0 if kind is theirs.DotProduct else 1.0] * len(where))


def _simple(kernel: Any) -> tuple[Kernel, list[tuple[str, int]]] | None:
    """A kernel without parts, and the names and numbers of scikit-learn's parameters in the order of ours."""
    kind = type(kernel)
    if kind is theirs.ConstantKernel:
        return ours.Constant(float(kernel.constant_value)), [("constant_value", 1)]
    if kind is theirs.WhiteKernel:
        return ours.White(float(kernel.noise_level)), [("noise_level", 1)]
    if kind is theirs.DotProduct:
        return ours.Constant(float(kernel.sigma_0) ** 2) + ours.Linear(), [("sigma_0", 1)]
    if kind is theirs.ExpSineSquared:
        names = [("length_scale", 1), ("periodicity", 1)]
        return PeriodicDistance(float(kernel.length_scale), float(kernel.periodicity)), names
    if kind is theirs.RationalQuadratic:
        return ours.RationalQuadratic(float(kernel.length_scale), float(kernel.alpha)), [
            ("length_scale", 1),
            ("alpha", 1),
        ]
    if kind in (theirs.RBF, theirs.Matern):
        scale = np.asarray(kernel.length_scale, np.float64)
        width = scale if scale.size > 1 else float(scale.reshape(()))
        made = ours.RBF(width) if kind is theirs.RBF else ours.Matern(width, float(kernel.nu))
        return made, [("length_scale", scale.size)]
    return None


def _pair(kernel: Any, is_sum: bool) -> Parts | None:
    """A sum or a product; a constant factor becomes an amplitude, which saves a matrix."""
    left, right = _parts(kernel.k1), _parts(kernel.k2)
    if left is None or right is None:
        return None
    factor = left.factor + right.factor
    for constant, other, first in ((left, right, True), (right, left, False)):
        if not is_sum and isinstance(constant.kernel, ours.Constant):
            mine, others = constant.where, [1 + k for k in other.where]
            where = mine + others if first else others + mine
            return Parts(constant.kernel.value * other.kernel, where, factor)
    shift = len(left.kernel.theta)
    made = left.kernel + right.kernel if is_sum else left.kernel * right.kernel
    return Parts(made, left.where + [shift + k for k in right.where], factor)


class Found(NamedTuple):
    """The best parameters, minus the objective there, and why a run did not end well (or None)."""

    theta: Array
    value: float
    complaint: str | None
    n_iter: int


def negative(objective: Objective) -> Callable[..., Any]:
    """Minus an objective, with its gradient unless that is not wanted."""

    def minus(theta: Array, eval_gradient: bool = True) -> Any:
        value, slope = objective(theta)
        return (-value, -slope) if eval_gradient else -value

    return minus


def maximise(
    objective: Objective,
    search: Searched,
    optimizer: Any,
    restarts: int,
    rng: Any,
    report: Stop | None = None,
    sample: Objective | None = None,
) -> Found:
    """The θ with the largest objective → (value, gradient), from the kernel's own θ and from others drawn at random.

    With the objective of a sample of the rows, each run begins at the best θ of that one.
    """
    bounds, n_iter = search.bounds, 0
    if restarts and not np.isfinite(bounds).all():
        raise ParameterError(
            "Multiple optimizer restarts (n_restarts_optimizer>0) requires that all bounds are finite: starts are "
            "drawn between them."
        )
    starts = [search.theta, *(rng.uniform(bounds[:, 0], bounds[:, 1]) for _ in range(restarts))]
    best = Found(search.theta, -np.inf, None, 0)

    minus = negative(objective)

    def told(_: int, value: float, theta: Array) -> bool:
        nonlocal n_iter
        n_iter += 1
        return report is not None and report(n_iter, value, theta)

    def heard(intermediate_result: Any) -> None:
        if told(0, float(intermediate_result.fun), intermediate_result.x):
            raise StopIteration

    for start in starts:
        begin = None if sample is None or callable(optimizer) else sample_start(negative(sample), start, bounds)
        if begin is not None:
            end = from_sample(minus, begin, bounds, told)
            start = end.x
            if end.status in ("converged", "stopped"):
                best = max(best, Found(end.x, -end.value, None, n_iter), key=lambda found: found.value)
                continue
        if callable(optimizer):
            theta, value = check_sparse(optimizer(minus, start, bounds=bounds), "What the optimizer returned")
            found = Found(np.asarray(theta, np.float64), -float(value), None, n_iter)
        else:
            run = optimize.minimize(minus, start, method="L-BFGS-B", jac=True, bounds=bounds, callback=heard)
            stopped = run.success or "StopIteration" in str(run.message)
            found = Found(run.x, -float(run.fun), None if stopped else str(run.message), n_iter)
        best = found if found.value > best.value else best
    return best._replace(n_iter=n_iter)


def at_bounds(search: Searched) -> list[str]:
    """Sentences on parameters that ended at a bound of scikit-learn's kernel."""
    if search.source is None:
        return []
    said, k = [], 0
    for hyper in search.source.hyperparameters:
        for j in range(0 if hyper.fixed else hyper.n_elements):
            for side, words in ((0, "lower"), (1, "upper")):
                if np.isclose(search.theta[k], search.bounds[k, side], atol=0.0, rtol=EDGE):
                    limit = np.exp(search.bounds[k, side])
                    said.append(
                        f"The optimal value found for dimension {j} of parameter {hyper.name} is close to the "
                        f"specified {words} bound {limit:g}. "
                        f"{'De' if side == 0 else 'In'}creasing the bound and calling fit again may find a better "
                        "value."
                    )
            k += 1
    return said


def switched_off(kernel: Kernel) -> bool:
    """Whether a kernel of ours, or a term of a sum, has ended with the least amplitude."""
    if isinstance(kernel, ours.Sum):
        return switched_off(kernel.left) or switched_off(kernel.right)
    return isinstance(kernel, ours.Scaled) and kernel.factor <= BOUNDS[0] * (1.0 + EDGE)


def ended(progress: Any, best: Found) -> Ended:
    """How a search for the largest evidence went."""
    return Ended("stopped" if progress.stopped else "converged" if best.complaint is None else "no progress")


def complain(model: Any, search: Searched, complaint: str | None) -> None:
    """Warn of an optimizer that failed, and of parameters at their bounds."""
    if complaint is not None:
        warn_convergence(model, f"lbfgs failed to converge: {complaint}. Scale X and y, or give the kernel bounds.")
    if search.source is None and switched_off(search.kernel):
        warn_convergence(
            model,
            f"the evidence is largest at an amplitude of {BOUNDS[0]:g}, the least one: nearly all is noise. If that is "
            "not so, start from other widths, or use n_restarts_optimizer.",
        )
    for sentence in at_bounds(search):
        warn_convergence(model, sentence)
