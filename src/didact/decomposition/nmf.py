r"""Non-negative matrix factorisation: rows as sums of parts, :math:`X \approx WH` with :math:`W, H \ge 0`.

1. A start: the non-negative parts of singular vectors, or random numbers.
2. Coordinate descent, or multiplicative updates for other losses than squared error, until both factors rest.
3. A new row is a sum of the parts H by the same steps, with H as it is.

Lee, Seung (1999), Learning the parts of objects by non-negative matrix factorization, doi:10.1038/44565.
"""

import warnings
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from didact.core.backend import float_type, is_sparse, is_tensor, like, to_numpy
from didact.core.errors import InputError, ParameterError, users_level
from didact.core.estimator import Estimator, remember, tagged, warn_convergence
from didact.core.overflow import refuse_overflow
from didact.core.parameters import at_least, attr, between, is_bool, none, one_of, param, random_state, whole
from didact.core.progress import FitProgress
from didact.core.random import streams
from didact.core.rows import Block, Rows
from didact.core.rows.memory import refuse_square
from didact.core.threads import one_blas_thread
from didact.core.validation import given_rows
from didact.core.validation.entrance import entrance
from didact.decomposition.nonnegative import (
    Extent,
    Transformer,
    extent,
    given_factor,
    new_weights,
    refuse_negative_entry,
    weights_given,
)
from didact.engines.centroids.starts import sample_of
from didact.engines.factors.multiplicative import blocks_multiplicative, multiplicative, objective
from didact.engines.factors.nonnegative import Penalties, blocks_descent, coordinate_descent, steps_of
from didact.engines.factors.starts import nonnegative_start
from didact.engines.factors.tuning import START_SAMPLE
from didact.engines.loop.iterate import Report
from didact.engines.loop.result import Result

SUMMABLE = 1e290  # powers of entries that can be added
LEAST_SQUARES = 1e-280  # sum of squares below which products lose digits
BETAS = {"frobenius": 2.0, "kullback-leibler": 1.0, "itakura-saito": 0.0}
MU_ZEROS = (
    "The multiplicative update ('mu') solver cannot update zeros present in the initialization, and so leads to poorer "
    "results when used jointly with init='nndsvd'. You may try init='nndsvda' or init='nndsvdar' instead."
)


def transformer_of(model: Any) -> Transformer:
    """What a fitted `NMF` finds the weights of new rows by."""
    strength, rho = model.alpha_W * model.n_features_in_, model.l1_ratio
    return Transformer(
        H=np.asarray(model.components_, np.float64),
        beta=float(BETAS.get(model.beta_loss, model.beta_loss)),
        updates=model.solver == "mu",
        l1=rho * strength,
        l2=(1 - rho) * strength,
        tol=model.tol,
        max_iter=model.max_iter,
        names=getattr(model, "feature_names_in_", None),
    )


@tagged(input_tags__positive_only=True, transformer_tags__preserves_dtype=["float64", "float32"])
class NMF(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""Rows as non-negative sums of non-negative parts.

    .. math:: \min_{W, H\ge0}\ d(X, WH) + \alpha_Wp\big(\rho\|W\|_1 + \tfrac{1-\rho}2\|W\|^2\big) +
        \alpha_Hn\big(\rho\|H\|_1 + \tfrac{1-\rho}2\|H\|^2\big)

    with ρ = `l1_ratio` and d half the squared error, or another β-divergence (`beta_loss`). Neither step raises the
    objective; it ends at a local minimum, which the start decides.

    Notes
    -----
    Cost of an iteration: 2npk multiply-adds, of sparse rows 2k for each entry, which are not made dense, and k²(n + 2p)
    for the steps; 4npk in all where parts are more than rows, as with the default k = p of wide tables. Given H the
    rows of W do not depend on each other, and `transform` gives the same for a row whatever rows are beside it. Rows
    that are not in memory are passed once an iteration, and W is found anew from H each time: so their local minimum
    can be another one; a sample of 16,384 of them lends the start. A weight counts as so many repeated rows. Tensors
    are factored on their device. Shape of computation: iterate.

    References
    ----------
    Lee, Seung (1999), doi:10.1038/44565; Cichocki, Phan (2009), doi:10.1587/transfun.E92.A.708; Févotte, Idier (2011),
    doi:10.1162/NECO_a_00168.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.decomposition import NMF
    >>> parts = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 2.0]])
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]]) @ parts
    >>> model = NMF(2, init="nndsvd", tol=1e-8, max_iter=2000).fit(X)
    >>> sorted((model.components_ > 1e-6).astype(int).tolist())
    [[0, 0, 1, 1], [1, 1, 0, 0]]
    """

    _tensors = True

    n_components: Any = param("auto", [whole(1), none, one_of("auto")], "Number k of parts; None: as many as columns.")
    init: Any = param(
        None,
        [one_of("random", "nndsvd", "nndsvda", "nndsvdar", "custom"), none],
        "The start: random, from singular vectors with zeros ('nndsvd'), with the mean in their place ('nndsvda', the "
        "default where there are enough rows and columns) or small random numbers ('nndsvdar'), or given W and H.",
    )
    solver: str = param("cd", one_of("cd", "mu"), "Coordinate descent, or multiplicative updates.")
    beta_loss: Any = param(
        "frobenius", [one_of(*BETAS), Real], "The divergence, by name or β; other than 'frobenius' with 'mu' only."
    )
    tol: float = param(
        1e-4, at_least(0), "Where to end: slopes relative to the first ('cd'), or gain of ten updates ('mu')."
    )
    max_iter: int = param(200, whole(1), "Most iterations.")
    random_state: Any = param(None, random_state, "Seed of the start, and of the order of coordinates.")
    alpha_W: float = param(0.0, at_least(0), "Strength of the penalty of W, times the number of columns.")
    alpha_H: Any = param(
        "same", [at_least(0), one_of("same")], "Strength of the penalty of H, times the number of rows."
    )
    l1_ratio: float = param(0.0, between(0, 1), "Share ρ of the L1 penalty.")
    shuffle: bool = param(False, is_bool, "Whether 'cd' takes the coordinates in random order.")

    _attrs = [
        attr("components_", "(n_components, n_features)", "Parts H."),
        attr("n_components_", "int", "Number of parts."),
        attr("reconstruction_err_", "float", "Root of twice the divergence of X from WH; ‖X − WH‖ for β = 2."),
        attr("n_iter_", "int", "Iterations."),
    ]

    _test_params = [
        {"n_components": 1, "alpha_W": 0.1, "max_iter": 5000},  # one part, whose scale a penalty decides, is unique
    ]
    _test_skips = {
        "constant_columns": "parts are made of all columns, and penalties count them",
        "pipeline": "a scaler leaves negative numbers",
    } | dict.fromkeys(
        (
            "defaults/check_transformer_general",
            "defaults/check_transformer_preserve_dtypes",
            "defaults/check_transformer_n_iter",
        ),
        "as many parts as columns are not found to the tolerance in 200 iterations, which the fit says",
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> "NMF":
        """Find the parts of rows X; sample_weight counts rows; W and H, by keyword, are the start with 'custom'."""
        self._factored(X, sample_weight, **params)
        return self

    def fit_transform(self, X: Any, y: Any = None, W: Any = None, H: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and the weights W of the parts in the same rows."""
        rows, found = self._factored(X, sample_weight, W, H)
        if found is None:
            return self.transform(X)
        return found if is_tensor(found) else self._numbers_like(X, found.astype(float_type(rows), copy=False))

    def _factored(self, X: Any, sample_weight: Any, W: Any = None, H: Any = None) -> tuple[Rows, Any]:
        """Set the attributes of the fit; the rows and, of rows in memory, W."""
        rows = self._rows(X, None, sample_weight, target="none")
        known, rows = self._looked_at(rows)
        beta, penalties = self._beta, self._penalties(rows.n_features, known.range.cases)
        attributes = lambda x: {"components_": np.array(to_numpy(x[1]), float_type(rows), order="C")}  # noqa: E731
        with FitProgress(self, self.max_iter, X=X, attributes=attributes) as progress, one_blas_thread:
            start = self._start(rows, known, W, H)
            result = self._solved(rows, *start, beta, penalties, known.squares, progress.report)
        found, H = result.x
        fit = objective(*_columns(rows), found, H, beta, penalties)[0] if found is not None else float(result.value)
        refuse_overflow(rows, fit)
        self.__dict__.update(attributes(result.x))
        self.n_components_, self.n_iter_ = len(self.components_), max(1, result.n_iter)
        self.reconstruction_err_ = float(np.sqrt(2.0 * max(fit, 0.0)))
        remember(self, result)
        if result.status == "iteration limit" and self.tol > 0:
            self._say_limit()
        return rows, found

    def _looked_at(self, rows: Rows) -> tuple[Extent, Rows]:
        """What is known of the rows, refused where no fit is possible; their weights as numbers of rows."""
        if self.solver == "cd" and self._beta != 2:
            raise ParameterError(
                f"Invalid beta_loss parameter: solver {self.solver!r} does not handle beta_loss = {self.beta_loss!r}: "
                "take solver='mu'."
            )
        known = rows.reduce(extent)
        refuse_negative_entry(known.negative, rows.names)
        refuse_overflow(rows, (known.total, known.squares))
        if known.least == 0 and self._beta <= 0:
            raise InputError(
                "When beta_loss <= 0 and X contains zeros, the solver may diverge. Please add small values to X, or "
                "use a positive beta_loss."
            )
        seen = known.range.settled(rows)
        if seen.low < seen.high or seen.unit != 1.0:
            rows = rows.prepared(_in_units, seen.unit)
            known = known._replace(total=known.total / seen.unit, squares=known.squares / seen.unit)
        if known.total > 0 and known.squares < LEAST_SQUARES:
            raise InputError("Values of X are so small that their squares vanish: multiply X by a power of ten.")
        return known._replace(range=seen), rows

    @property
    def _beta(self) -> float:
        return float(BETAS.get(self.beta_loss, self.beta_loss))

    def _penalties(self, p: int, cases: float) -> Penalties:
        W = p * self.alpha_W
        H = cases * (self.alpha_W if isinstance(self.alpha_H, str) else self.alpha_H)
        return Penalties(self.l1_ratio * W, (1 - self.l1_ratio) * W, self.l1_ratio * H, (1 - self.l1_ratio) * H)

    def _start(self, rows: Rows, known: Extent, W: Any, H: Any) -> tuple[Any, Any]:
        """W, if the rows are in memory, and H to begin with, of the rows' kind of array."""
        k, rng = self.n_components, streams(self.random_state, 1)[0]
        if self.init == "custom":
            shape = None if isinstance(k, str) else rows.n_features if k is None else k
            H = given_factor(H, (shape, rows.n_features), "H", rows.dtype)
            W = given_factor(W, (rows.n_rows, len(H)), "W", rows.dtype) if rows.memory else None
            return (None if W is None else like(W, _columns(rows)[0])), like(H, W if W is not None else H)
        if W is not None or H is not None:
            warnings.warn(
                "When init!='custom', provided W or H are ignored. Set init='custom' to use them as initialization.",
                RuntimeWarning,
                stacklevel=users_level(),
            )
        if self.solver == "mu" and self.init == "nndsvd":
            warnings.warn(MU_ZEROS, UserWarning, stacklevel=users_level())
        k = rows.n_features if k is None or isinstance(k, str) else k
        refuse_square(k, "choose fewer parts (n_components)")
        mean = known.total / max(known.range.cases * rows.n_features, 1.0)
        if rows.memory:
            X, w = _columns(rows)
            first, parts = nonnegative_start(X, w, k, self.init, rng, mean)
            # Where zeros become the mean of X, sums of parts are of the size of its square.
            most = k * float(first.max(initial=0.0)) * float(parts.max(initial=0.0))
            refuse_overflow(rows, most if most < SUMMABLE ** (1.0 / max(self._beta, 2.0)) else np.inf)
            return like(first, X), like(parts, X)
        sample = rows.reduce(sample_of, START_SAMPLE)
        return None, nonnegative_start(sample.rows, sample.weights, k, self.init, rng, mean)[1]

    def _solved(
        self, rows: Rows, W: Any, H: Any, beta: float, penalties: Penalties, squares: float, report: Report
    ) -> Result:  # fmt: skip
        limits = self.tol, self.max_iter
        rng = streams(self.random_state, 2)[1]
        order = lambda: rng.permutation(len(H)) if self.shuffle else np.arange(len(H))  # noqa: E731
        if W is None:
            if self.solver == "mu":
                return blocks_multiplicative(rows, H, beta, penalties, *limits, report)
            return blocks_descent(rows, H, penalties, *limits, order, report)
        X, w = _columns(rows)
        H = np.asfortranarray(H) if is_sparse(X) else H  # so columns are near in memory, as sparse rows ask for them
        if self.solver == "mu":
            return multiplicative(X, w, W, H, beta, penalties, *limits, report)
        value = objective(X, w, W, H, beta, penalties)[1]
        step = steps_of(X, w, W, H, penalties, squares)
        return coordinate_descent(step, (W, H), value, *limits, order, report)

    def _say_limit(self) -> None:
        warn_convergence(
            self,
            f"Maximum number of iterations {self.max_iter} reached. Increase it to improve convergence. (max_iter)",
        )

    def transform(self, X: Any) -> Any:
        """The weights W of the parts in each row, (n, n_components)."""
        rows = self._after_fit()._rows(X, target="none", reset=False)
        return self._numbers_like(X, rows.map(new_weights, transformer_of(self)))

    def inverse_transform(self, X: Any) -> Any:
        """Rows from weights of the parts: W H."""
        H = self._after_fit().components_
        Z = given_rows(X, finite=True)
        if Z.shape[1] != len(H):
            raise InputError(f"inverse_transform takes rows of {len(H)} weights; got shape {tuple(Z.shape)}.")
        return Z @ like(H, Z)

    @property
    def _n_components(self) -> int:
        return len(self.components_)

    @property
    def _n_features_out(self) -> int:
        return self._n_components


def _columns(rows: Any) -> tuple[Any, Any]:
    return rows.columns.X, rows.columns.weight


def _in_units(block: Block, unit: float) -> Block:
    return block if block.weight is None else block._replace(weight=block.weight / unit)


@entrance()
def non_negative_factorization(
    X: Any, W: Any = None, H: Any = None, n_components: Any = "auto", *, init: Any = None, update_H: bool = True,
    solver: str = "cd", beta_loss: Any = "frobenius", tol: float = 1e-4, max_iter: int = 200, alpha_W: float = 0.0,
    alpha_H: Any = "same", l1_ratio: float = 0.0, random_state: Any = None, verbose: int = 0, shuffle: bool = False,
) -> tuple[Any, Any, int]:  # fmt: skip
    """W, H and the number of iterations of `NMF`; without `update_H` the W of least cost given H.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.decomposition import non_negative_factorization
    >>> X = np.outer([1.0, 2.0, 3.0], [1.0, 1.0, 4.0])
    >>> W, H, n_iter = non_negative_factorization(X, n_components=1)
    >>> np.abs(W @ H - X).max() < 1e-6
    np.True_
    """
    model = NMF(
        n_components=n_components, init=init, solver=solver, beta_loss=beta_loss, tol=tol, max_iter=max_iter,
        alpha_W=alpha_W, alpha_H=alpha_H, l1_ratio=l1_ratio, random_state=random_state, verbose=verbose,
        shuffle=shuffle,
    )  # fmt: skip
    if update_H:
        return model.fit_transform(X, W=W, H=H), model.components_, model.n_iter_
    if W is not None:
        sentence = "When update_H=False, the provided initial W is not used."
        warnings.warn(sentence, RuntimeWarning, stacklevel=users_level())
    rows = model._rows(X, target="none")
    model.components_ = given_factor(H, (None, rows.n_features), "H", rows.dtype)
    W, n_iter = rows.map(weights_given, transformer_of(model))
    return W, H, n_iter
