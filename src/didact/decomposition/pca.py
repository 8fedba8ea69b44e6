r"""Principal component analysis: the subspace of largest variance, which is that of least squared distances.

.. math:: \max_{V^TV=I}\ \mathrm{tr}(V^TSV) = \min_{V^TV=I}\ \frac1n\sum_i\|x_i-\mu-VV^T(x_i-\mu)\|^2

The columns of V are the eigenvectors of the covariance S of the largest eigenvalues, and the right singular vectors of
the centred rows. How they are found follows from the shape (`engines.spectral.principal`).

Pearson (1901), doi:10.1080/14786440109462720; Hotelling (1933), doi:10.1037/h0071325.
"""

from typing import Any

import numpy as np

from didact.core.backend import float_type
from didact.core.errors import InputError, NotCovered, ParameterError
from didact.core.estimator import tagged, warn_convergence
from didact.core.parameters import at_least, attr, is_bool, none, one_of, param, random_state, share, whole
from didact.core.progress import FitProgress
from didact.core.rows import Rows
from didact.decomposition.principal import _Principal
from didact.engines.spectral.eigen import fixed_signs
from didact.engines.spectral.principal import (
    PrincipalAxes,
    minka_dimension,
    principal_axes,
    share_of_variance,
    solver_for,
)

SOLVERS = "auto", "full", "covariance_eigh", "arpack", "randomized", "power"
TRUNCATED = "arpack", "randomized", "power"
IMAGES = {True: 3, False: 2}  # of random vectors: for less than a tenth of the axes, and for more


@tagged(transformer_tags__preserves_dtype=["float64", "float32"])
class PCA(_Principal):
    r"""The axes along which rows vary most, and coordinates along them.

    .. math:: S = \frac1{n-1}\sum_i(x_i-\mu)(x_i-\mu)^T = V\Lambda V^T,\qquad z = V_k^T(x-\mu)

    `inverse_transform` gives the nearest point of the subspace, which takes noise away. Columns in different units
    should be scaled first. Draws and starts differ from scikit-learn's, and sparse rows go with every solver.

    Notes
    -----
    "auto" takes the covariance of narrow data and of all that is not in memory (one pass, merged exactly: batches and
    Dask collections give the same axes), of few rows their n × n inner products, a full decomposition of small data or
    where nearly all axes are wanted, else "randomized": Krylov spaces of random vectors, whose span holds that of the
    power iterations of scikit-learn. "power" is the power iteration with deflation. Weights count rows. Cost: n p²/2
    and p³, or about 8 n p (k + 10) for "randomized". Shape of computation: reduce.

    References
    ----------
    Pearson (1901), doi:10.1080/14786440109462720; Hotelling (1933), doi:10.1037/h0071325; Halko, Martinsson, Tropp
    (2011), doi:10.1137/090771806; Tipping, Bishop (1999), doi:10.1111/1467-9868.00196.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.decomposition import PCA
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> model = PCA(n_components=1).fit(X)
    >>> model.components_.round(3), model.explained_variance_ratio_.round(3)
    (array([[0.838, 0.545]]), array([0.992]))
    >>> model.inverse_transform(model.transform(X[:1])).round(2)
    array([[-1.16, -0.75]])
    """

    _test_params = [{}, {"n_components": 2, "svd_solver": "power", "random_state": 0}]
    _test_skips = _Principal._test_skips | dict.fromkeys(
        (f"check_sample_weight_equivalence_on_{kind}_data:n_components=None" for kind in ("dense", "sparse")),
        "The check has fewer rows than columns: of repeated rows there are more components.",
    )

    n_components: Any = param(
        None,
        [whole(0), share("neither"), one_of("mle"), none],
        "Number k of axes; a share of the variance that they have to explain more than; 'mle': Minka's choice; None: "
        "all, as many as min(n, p).",
    )
    copy: bool = param(True, is_bool, "No effect: inputs are never changed.")
    svd_solver: str = param("auto", one_of(*SOLVERS), "How axes are found.")
    tol: float = param(0.0, at_least(0), "Tolerance of 'arpack' and 'power'; 0: as near as rounding allows.")
    iterated_power: Any = param(
        "auto", [one_of("auto"), whole(0)], "Images of the random vectors of 'randomized'; 'auto': 3, of many axes 2."
    )
    n_oversamples: int = param(10, whole(1), "Random vectors of 'randomized' beyond the number of axes.")
    power_iteration_normalizer: str = param(
        "auto", one_of("auto", "QR", "LU", "none"), "No effect: images are orthonormalised."
    )
    random_state: Any = param(None, random_state, "Seed of 'arpack', 'randomized' and 'power'.")

    _attrs = [attr("n_samples_", "int", "Number of rows, or that the weights stand for.")]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "PCA":
        """Find the axes of rows X; sample_weight counts rows, y is ignored."""
        rows = self._rows(X, None, sample_weight, target="none")
        solver, k = self._way(rows)
        how = {"tol": self.tol, "extra": self.n_oversamples, "images": self._images(rows, k), "seed": self.random_state}
        with FitProgress(self, X=X, y=y):
            found, met = principal_axes(rows, solver, k, how)
        self._store(rows, solver, found)
        if not met:
            warn_convergence(self, f"power iterations did not reach tol={self.tol}: axes of close variances are mixed.")
        return self

    def _way(self, rows: Rows) -> tuple[str, int]:
        """The solver, and the number of axes to find: all of them where their variances decide how many to keep."""
        n, p = rows.n_rows, rows.n_features
        low = p if n is None else min(n, p)
        k = self.n_components
        if k is None:
            k = low - (self.svd_solver == "arpack") if low > 1 else low
        solver = solver_for(rows, k) if self.svd_solver == "auto" else self.svd_solver
        if n == 1:
            raise InputError("PCA needs two rows at least to have a variance; got n_samples = 1.")
        if isinstance(k, str) or 0 < k < 1:
            if solver in TRUNCATED:
                kind = "a string" if isinstance(k, str) else "a share of the variance"
                raise ParameterError(
                    f"n_components={k!r} cannot be {kind} with svd_solver={solver!r}: give a number between 1 and "
                    f"min(n_samples, n_features)={low}, or take svd_solver='full'."
                )
            if isinstance(k, str) and n is not None and n < p:
                raise ParameterError("n_components='mle' is only supported if n_samples >= n_features")
            return solver, low
        least = int(solver in TRUNCATED)
        if not least <= k <= low:
            raise ParameterError(
                f"n_components={k} must be between {least} and min(n_samples, n_features)={low} with "
                f"svd_solver={solver!r}"
            )
        if solver == "arpack" and k == low:
            raise ParameterError(
                f"n_components={k} must be strictly less than min(n_samples, n_features)={low} with "
                f"svd_solver={solver!r}"
            )
        if solver == "arpack" and rows.on_device:
            raise NotCovered("PCA with svd_solver='arpack' is not supported for Array API inputs: take 'randomized'.")
        return solver, int(k)

    def _images(self, rows: Rows, k: int) -> int:
        if self.iterated_power != "auto":
            return int(self.iterated_power)
        return IMAGES[rows.n_rows is not None and k < 0.1 * min(rows.n_rows, rows.n_features)]

    def _store(self, rows: Rows, solver: str, found: PrincipalAxes) -> None:
        n, p, dtype = found.cases, rows.n_features, float_type(rows)
        if n <= 1:
            raise InputError("PCA needs two rows of positive weight at least to have a variance.")
        variances, total = found.values * (n / (n - 1.0)), found.total * (n / (n - 1.0))
        low = min(p, round(n))
        k = len(variances)
        if self.n_components == "mle":
            k = minka_dimension(variances, n)
        elif isinstance(self.n_components, float) and self.n_components < 1:
            k = min(share_of_variance(variances, total, self.n_components), k)
        if k > low:
            raise ParameterError(f"n_components={k} must be between 0 and min(n_samples, n_features)={low}.")
        left = max(total - float(variances[:k].sum()), 0.0) if solver in TRUNCATED else float(variances[k:low].sum())
        if solver not in TRUNCATED and len(variances) < low:
            left = max(total - float(variances[:k].sum()), 0.0)
        self.noise_variance_ = left / (low - k) if k < low else 0.0
        self.n_components_, self.n_samples_ = k, round(n)
        variances = variances[:k]
        self.components_ = np.ascontiguousarray(fixed_signs(found.vectors[:, :k]).T).astype(dtype)
        self.explained_variance_, self.mean_ = variances.astype(dtype), found.mean.astype(dtype)
        self.explained_variance_ratio_ = (variances / (total or 1.0)).astype(dtype)
        self.singular_values_ = np.sqrt(variances * (n - 1.0)).astype(dtype)
