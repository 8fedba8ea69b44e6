r"""Gaussian process classification by Laplace's approximation.

.. math:: p(y = 1\mid x) = \sigma(f(x)),\qquad f\sim\mathrm{GP}(0, k)

1. Two classes: the posterior of f at the rows is replaced by a Gaussian about its mode (`engines.gram.laplace`); the
kernel's parameters maximise the evidence of that approximation.
2. New rows: f(x) is Gaussian, and its sigmoid is averaged by a combination of five error functions.
3. Several classes: one process for each class against the rest, or for each pair, or all classes jointly with a
softmax likelihood (`softmax_mode`), whose average over the latent values is taken at fixed, evenly spread points.

Rasmussen, Williams (2006), chapter 3; Williams, Barber (1998), doi:10.1109/34.735807.
"""

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from didact.core.backend import is_sparse, is_tensor, to_numpy
from didact.core.errors import InputError, ParameterError, Singular
from didact.core.estimator import Estimator, remember
from didact.core.parameters import attr, is_bool, is_callable, none, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import seed_sequence
from didact.core.rows.memory import finite_sum, refuse_non_finite, refuse_square
from didact.core.threads import parallel_map, thread_count
from didact.core.typing import Array
from didact.engines.gram.inducing import full_rows
from didact.gaussian_process import kernels as theirs
from didact.gaussian_process.kernel_search import Found, Searched, complain, ended, maximise, refuse_matrix, searched
from didact.gaussian_process.softmax import softmax_problem
from didact.gaussian_process.structured_rows import read_things, refuse_overflow, takes_rows, things
from didact.gaussian_process.two_class_problems import (
    Latents,
    binary_sets,
    labels_at,
    latent_at,
    posterior_at,
    problem_of,
)
from didact.kernels import RBF
from didact.kernels.base import Kernel


class GaussianProcessClassifier(ClassifierMixin, Estimator):
    r"""Classification by a Gaussian process: probabilities that know what the rows do not tell.

    .. math:: p(y_* = 1) = \int\sigma(f_*)\,N(f_*;\ k_*^Tg,\ k_{**} - k_*^T\sqrt W B^{-1}\sqrt W k_*)\,df_*

    Notes
    -----
    The kernel is one of `didact.kernels`, one of scikit-learn's objects, or a function of two sets of rows. Weights
    multiply log-likelihoods, so that a weight of 2 is a row twice. Cost: n³ multiply–adds for a mode and 4n³ for the
    evidence with its gradient, for each class or pair, and 3n² numbers. Shape of computation: pairs.

    `multi_class="softmax"` has one latent function for each of C classes and one likelihood of all of them,
    p(y = c) = exp(f_c)/Σ exp(f_d), with one kernel that all share: probabilities need no scaling, and one evidence
    chooses the kernel. Cost: C n³ for a Newton step, 4C n³ for the gradient, C n² numbers. Two classes are then those
    of the sigmoid with twice the kernel. The default is scikit-learn's one against the rest, so that answers are the
    same in both libraries.

    References
    ----------
    Rasmussen, Williams (2006), Gaussian Processes for Machine Learning, doi:10.7551/mitpress/3206.001.0001;
    Williams, Barber (1998), doi:10.1109/34.735807.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from didact.gaussian_process import GaussianProcessClassifier
    >>> from didact.kernels import RBF
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianProcessClassifier(1.0 * RBF(1.0)).fit(X, y)
    >>> bool(model.score(X, y) > 0.97), model.predict_proba(X[:1]).round(1)
    (True, array([[0.8, 0. , 0.1]]))
    """

    _tensors = True
    _attrs = [
        attr("classes_", "(n_classes,)", "Labels, sorted."),
        attr("n_classes_", "int", "Number of classes."),
        attr("X_train_", "(n_samples, n_features)", "The fitted rows."),
        attr("kernel_", "kernel", "The kernel with the parameters that were found, or all kernels together."),
        attr("base_estimator_", "Latent or Latents", "The process of two classes, or `estimators_` of several."),
        attr("latents_", "list", "The processes: one, one for each class or pair, or one record of all jointly."),
        attr("log_marginal_likelihood_value_", "float", "The approximate evidence; the mean over processes."),
        attr("n_iter_", "int", "Iterations of the optimizer, over all processes and starts."),
    ]
    _test_params = [  # searches of many rows are for tests of their own
        {"kernel": 2.0 * RBF(2.0), "optimizer": None},
        {"kernel": 2.0 * RBF(2.0), "optimizer": None, "multi_class": "softmax"},
    ]
    _test_skips = {
        "weight_scale": "Weights stand beside a prior: ten times the weight is ten times the rows.",
    }

    kernel: Any = param(
        None,
        [theirs.Kernel, is_callable, none],
        "A kernel of `didact.kernels` or of scikit-learn, or a function of two sets of rows; None: RBF(1.0), fixed.",
    )
    optimizer: Any = param(
        "fmin_l_bfgs_b",
        [one_of("fmin_l_bfgs_b"), is_callable, none],
        "What maximises the evidence; a function optimizer(objective, theta, bounds); None: the kernel stays.",
    )
    n_restarts_optimizer: int = param(0, whole(0), "More starts, drawn between the kernel's bounds.")
    max_iter_predict: int = param(100, whole(1), "Most Newton steps to a mode.")
    warm_start: bool = param(False, is_bool, "Whether a mode is sought from the last one; a matter of speed.")
    copy_X_train: bool = param(True, is_bool, "Whether a copy of the rows is stored, or a reference.")
    random_state: Any = param(None, random_state, "Seed of restarts.")
    multi_class: str = param(
        "one_vs_rest",
        one_of("one_vs_rest", "one_vs_one", "softmax"),
        "Whether each class is told apart from the rest or from each other one, or all jointly.",
    )

    def _validate_params(self) -> None:
        refuse_matrix(self.kernel)
        super()._validate_params()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "GaussianProcessClassifier":
        """Find the kernel's parameters and the modes."""
        search = searched(default_kernel(self.kernel))
        U, codes, w = self._read(X, y, sample_weight, search.kernel)
        problems = self._problems(U, codes, w)
        seeds = seed_sequence(self.random_state).spawn(len(problems))
        with FitProgress(self, None, X=X, y=y, sample_weight=sample_weight) as progress:

            def one(k: int) -> tuple[Any, Found]:
                return self._solved(problems[k](), search, np.random.default_rng(seeds[k]), progress.report)

            found = one_by_one(one, len(problems), is_tensor(U) or progress.listened)
        remember(self, *(ended(progress, best) for _, best in found))
        self._keep(found)
        return self

    def _read(self, X: Any, y: Any, sample_weight: Any, kernel: Kernel) -> tuple[Any, Array, Array]:
        """Rows of positive weight, the codes of their labels, and the weights."""
        known = takes_rows(kernel, X)
        rows = (self._rows if known else partial(things, self))(X, y, sample_weight, target="labels")
        refuse_overflow(rows)
        X, y, w, *_ = rows.whole()
        if known and not finite_sum(X):
            refuse_non_finite(X, rows.names)
        w = np.ones(X.shape[0]) if w is None else to_numpy(w).astype(np.float64)
        self.classes_, codes = np.unique(to_numpy(y), return_inverse=True)
        self.n_classes_ = len(self.classes_)
        if not (w > 0).all():
            keep = np.flatnonzero(w > 0)
            X, codes, w = X[keep.tolist()] if is_tensor(X) else X[keep], codes[keep], w[keep]
        refuse_square(X.shape[0], "use a sample of the rows, or KernelLogisticRegression(approximation='nystroem')")
        self._present, codes = np.unique(codes, return_inverse=True)
        if len(self._present) == 1:
            raise InputError(
                "GaussianProcessClassifier requires 2 or more distinct classes; got 1 class (only class "
                f"{self.classes_[self._present[0]]} is present)"
            )
        stored = to_numpy(X) if is_tensor(X) else X.toarray() if is_sparse(X) else X
        self.X_train_ = np.array(stored) if self.copy_X_train else stored
        return full_rows(X), codes, w

    def _problems(self, U: Any, codes: Array, w: Array) -> list[Any]:
        """Functions that make the problems of two classes, or the one of all classes."""
        if self.multi_class == "softmax":
            return [lambda: softmax_problem(U, codes, w, self.max_iter_predict)]
        sets = binary_sets(codes, len(self._present), self.multi_class == "one_vs_one")
        return [partial(problem_of, U, codes, w, *one, self.max_iter_predict) for one in sets]

    def _solved(self, problem: Any, search: Searched, rng: Any, report: Any) -> tuple[Any, Found]:
        """A process at its best parameters."""
        last: list[Any] = [None]

        def at(kernel: Kernel, gradient: bool) -> tuple[Any, Array]:
            found, slope = problem.at(kernel, gradient, last[0])
            last[0] = found.f if self.warm_start else None
            return found, slope

        def objective(theta: Array) -> tuple[float, Array]:
            found, slope = at(search.kernel_at(theta), True)
            return found.value, search.slope(slope)

        best = Found(theta=search.theta, value=0.0, complaint=None, n_iter=0)
        if self.optimizer is not None and len(search.where):
            best = maximise(objective, search, self.optimizer, self.n_restarts_optimizer, rng, report)
        search = search.at(best.theta)
        found, _ = at(search.kernel, False)
        if found.L is None:
            raise Singular(f"The kernel, {search.shown}, is not returning a positive semidefinite matrix.")
        if not found.converged and best.complaint is None:
            best = best._replace(complaint=f"the mode was not found in {self.max_iter_predict} Newton steps")
        return problem.latent(search, found), best

    def _keep(self, found: list[tuple[Any, Found]]) -> None:
        self.latents_ = [latent for latent, _ in found]
        self.n_iter_ = sum(best.n_iter for _, best in found)
        self.log_marginal_likelihood_value_ = np.mean([o.log_marginal_likelihood_value_ for o in self.latents_])
        for latent, best in found:
            complain(self, searched(latent.kernel_), best.complaint)

    @property
    def base_estimator_(self) -> Any:
        """The process of two classes, or the `estimators_` of several."""
        self._after_fit()
        return self.latents_[0] if len(self.latents_) == 1 else Latents(self.latents_)

    @property
    def kernel_(self) -> Any:
        """The kernel with the parameters that were found; of several processes, all kernels together."""
        self._after_fit()
        found = [latent.kernel_ for latent in self.latents_]
        if len(found) == 1:
            return found[0]
        return theirs.CompoundKernel(found) if isinstance(found[0], theirs.Kernel) else tuple(found)

    def _map(self, X: Any, fn: Any, *more: Any) -> Any:
        self._after_fit()
        more = self.X_train_, *more
        return fn(read_things(X), *more) if self.X_train_.dtype == object else self._map_rows(X, fn, *more)

    def predict(self, X: Any) -> Any:
        """The likeliest class of each row."""
        self._after_fit()
        classes = self.classes_[self._present]
        return self._map(X, labels_at, self.latents_, classes, self.multi_class == "one_vs_one")

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, (n, n_classes)."""
        self._after_fit()
        if len(self.latents_) > 1 and self.multi_class == "one_vs_one":
            raise ParameterError(
                "one_vs_one multi-class mode does not support predicting probability estimates. Use one_vs_rest mode "
                "instead."
            )
        return self._map(X, posterior_at, self.latents_, self._present, self.n_classes_)

    def latent_mean_and_variance(self, X: Any) -> tuple[Any, Any]:
        """Mean and variance of the latent function, for two classes; for softmax of every class, (n, n_classes)."""
        self._after_fit()
        if len(self.latents_) > 1:
            raise ParameterError(
                "Returning the mean and variance of the latent function f is only supported for binary "
                f"classification, received {self.n_classes_} classes."
            )
        found = self._map(X, latent_at, self.latents_[0])
        return found[..., 0], found[..., 1]

    def log_marginal_likelihood(
        self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True
    ) -> float | tuple[float, Array]:
        """The approximate evidence at logarithms theta of the kernel's parameters, and its gradient.

        For several classes it is the mean over processes; theta then belongs to each, or to all one after the other.
        """
        self._after_fit()
        if theta is None:
            if eval_gradient:
                raise ParameterError("Gradient can only be evaluated for theta!=None")
            return self.log_marginal_likelihood_value_
        theta, size = np.asarray(theta, np.float64), len(searched(self.latents_[0].kernel_).where)
        if len(theta) not in (size, size * len(self.latents_)):
            raise ParameterError(
                f"Shape of theta must be either {size} or {size * len(self.latents_)}. Obtained theta with shape "
                f"{len(theta)}."
            )
        parts = np.split(theta, len(self.latents_)) if len(theta) > size else [theta] * len(self.latents_)
        found = [self._at(k, part, eval_gradient, clone_kernel) for k, part in enumerate(parts)]
        value = np.float64(np.mean([v for v, _ in found]))
        if not eval_gradient:
            return value
        slopes = np.array([slope for _, slope in found]) / len(found)
        return value, slopes.ravel() if len(theta) > size else slopes.sum(axis=0)

    def _at(self, k: int, theta: Array, gradient: bool, clone_kernel: bool) -> tuple[float, Array]:
        latent = self.latents_[k]
        search = searched(latent.kernel_)
        problem = latent.problem(full_rows(self.X_train_), self.max_iter_predict)
        found, slope = problem.at(search.kernel_at(theta), gradient)
        if not clone_kernel:
            self.latents_[k] = latent._replace(kernel_=search.at(theta).shown)
        return found.value, search.slope(slope) if gradient else slope


def default_kernel(kernel: Any) -> Any:
    """The kernel that was given, or 1.0 * RBF(1.0), which is not searched."""
    return theirs.ConstantKernel(1.0, "fixed") * theirs.RBF(1.0, "fixed") if kernel is None else kernel


def one_by_one(solve: Any, count: int, in_turn: bool) -> list[Any]:
    """Independent problems: on the threads if there are enough of them, else one after the other with all threads."""
    if count >= max(2, thread_count()) and not in_turn:
        return parallel_map(solve, range(count))
    return [solve(k) for k in range(count)]
