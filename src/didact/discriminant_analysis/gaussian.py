r"""Gaussian classes with full, shared, diagonal or isotropic covariances, and all that lies between them.

Own covariances give quadratic borders, a shared one linear ones, isotropic ones nearest means.
"""

from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.utils.validation import check_is_fitted

from didact.core.backend import float_type
from didact.core.errors import ParameterError
from didact.core.parameters import array_like, at_least, attr, between, none, one_of, param, whole
from didact.core.progress import FitProgress
from didact.core.random import streams
from didact.core.rows import Rows
from didact.core.threads import blas_for
from didact.core.typing import Array
from didact.discriminant_analysis.base import FEW, SINGULAR, _Density, require_spread, singular
from didact.discriminant_analysis.gaussian_estimates import (
    FORMS,
    Form,
    class_variances,
    matrices,
    variances,
    with_unit_means,
)
from didact.distributions.multivariate import MultivariateGaussian, factor, log_det
from didact.engines.components.low_rank import Whitener, WideScatter
from didact.engines.components.scores import diagonal_joint, gaussian_joint, wide_joint
from didact.parts.statistics.components import Components

CURE = "raise shrinkage or pooling, or take covariance='shared' or 'diagonal'"


class GaussianClassifier(_Density):
    r"""Gaussian classes with the covariances that you choose, from one each to a single number for all.

    .. math:: \log P(k, x) = \log\pi_k
        - \tfrac12\big(p\log 2\pi + \log|\Sigma_k| + (x-\mu_k)^T\Sigma_k^{-1}(x-\mu_k)\big)

    ==================== ============================== ===========================================================
    covariance           each class has                 which is
    ==================== ============================== ===========================================================
    "full"               its own matrix                 quadratic discriminants
    "shared"             the same matrix                linear discriminants
    "diagonal"           its own variances              Gaussian naive Bayes
    "shared_diagonal"    the same variances             nearest mean, each column in its standard deviation
    "isotropic"          one variance of its own        spheres of different size
    "shared_isotropic"   the same variance              nearest mean, moved by the probabilities of the classes
    "mahalanobis"        the same matrix, equal priors  nearest mean in Mahalanobis distance
    "euclidean"          one variance, equal priors     nearest mean: template matching
    "dot_product"        as before, means of length 1   the mean with the largest dot product
    ==================== ============================== ===========================================================

    Notes
    -----
    `pooling` λ leads from own covariances to the shared one, `shrinkage` γ from there to an isotropic one:

    .. math:: \Sigma_k(\lambda) = \frac{(1-\lambda)S_k + \lambda S}{(1-\lambda)N_k + \lambda N},\qquad
        \Sigma_k(\lambda,\gamma) = (1-\gamma)\,\Sigma_k(\lambda) + \gamma\,\frac{\mathrm{tr}\,\Sigma_k(\lambda)}{p}\,I

    Both can be searched over. "auto" (Ledoit and Wolf) and "oas" estimate γ for columns scaled to variance 1, for each
    class or for the shared covariance; they leave variances alone.

    Missing values: full and shared covariances are those of greatest likelihood, by EM over rows grouped by the pattern
    of their gaps (the likelihood never falls; `pooling` and `shrinkage` come after it, and "auto" takes OAS for a class
    with gaps); variances are those of the values that are there. A prediction uses the columns that a row has. Without
    gaps nothing of this is paid for.

    Of fewer complete rows in memory than columns no p × p matrix is formed (a fit costs n² p) before `covariance_` is
    asked for. A class whose rows all have weight 0 keeps its place in `classes_` with the probability 0.

    Cost: one pass, n p²/2 multiply-adds (n p for variances), and K p³; prediction n p² K. Shape of computation: reduce;
    iterate with missing values.

    References
    ----------
    Friedman (1989), doi:10.1080/01621459.1989.10478752; Ledoit, Wolf (2004), doi:10.1016/S0047-259X(03)00096-4; Chen et
    al. (2010), doi:10.1109/TSP.2010.2053029; Little, Rubin (2019), doi:10.1002/9781119482260.

    Examples
    --------
    >>> import numpy as np
    >>> from didact.discriminant_analysis import GaussianClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(50, 2)), rng.normal(size=(50, 2)) * [0.3, 3.0] + [2.0, 0.0]])
    >>> y = np.repeat(["round", "tall"], 50)
    >>> model = GaussianClassifier(shrinkage=0.1).fit(X, y)
    >>> model.predict([[0.0, 0.0], [2.0, 4.0], [2.0, np.nan]]).tolist()
    ['round', 'tall', 'tall']
    >>> rows, labels = model.sample(3, random_state=0)
    >>> rows.shape, labels.tolist()
    ((3, 2), ['tall', 'round', 'tall'])
    """

    _test_params = [
        {},
        {"covariance": "shared", "shrinkage": "oas"},
        {"covariance": "diagonal", "shrinkage": 0.1},
        {"covariance": "euclidean"},
        {"pooling": 0.3, "shrinkage": 0.1},
    ]

    covariance: str = param("full", one_of(*FORMS), "What covariances the classes have, see above.")
    pooling: float = param(0.0, between(0, 1), "Share λ of the covariance of all classes in that of each.")
    shrinkage: Any = param(
        None, [one_of("auto", "oas"), between(0, 1), none],
        "Share γ of an isotropic covariance; 'auto' and 'oas' estimate it from the data.",
    )  # fmt: skip
    priors: Any = param(None, [one_of("equal"), array_like, none], "Probabilities of the classes; None: from the data.")
    tol: float = param(1e-8, at_least(0), "Gain of the log-likelihood of a row at which EM ends.")
    max_iter: int = param(500, whole(1), "Largest number of steps of EM, where values are missing.")

    _attrs = [
        attr("class_count_", "(n_classes,)", "Weight of each class."),
        attr("means_", "(n_classes, n_features)", 'Means of the classes, of length 1 with "dot_product".'),
        attr(
            "covariance_",
            "(n_classes or 1, n_features[, n_features])",
            "Covariances or variances; 1 where the classes share them. Isotropic ones are repeated.",
        ),
    ]

    @property
    def _test_skips(self) -> dict[str, str]:
        reason = "A constant column makes covariances singular, or changes the isotropic variance."
        constant = {"constant_columns/constant": reason, "constant_columns/zeros": reason}
        if isinstance(self.shrinkage, str):
            constant["weight_scale"] = "How much is shrunk depends on how many rows there are."
        if self._form.shared or self.pooling > 0:
            return constant
        return constant | (SINGULAR if self.shrinkage is None else FEW)

    @property
    def _form(self) -> Form:
        return FORMS[self.covariance]

    @property
    def _scores(self) -> Any:
        if hasattr(self, "_whiteners"):
            return wide_joint
        return gaussian_joint if self._form.shape == "matrix" else diagonal_joint

    @property
    def _score_attributes(self) -> tuple[str, ...]:
        matrix = ("_low_ranks", "_whiteners") if hasattr(self, "_whiteners") else ("_whiten", "_log_dets")
        return ("_log_priors", "means_", *(matrix if self._form.shape == "matrix" else ("_variances",)))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from rows X with labels y; sample_weight counts rows."""
        self._check_parameters()
        rows = self._rows(X, y, sample_weight, target="labels")
        for name in ("covariance_", "_low_ranks", "_whiteners"):
            self.__dict__.pop(name, None)
        steps = {"X": X, "y": y, "attributes": lambda S: self._attributes(rows, S)}
        with FitProgress(self, self.max_iter, **steps) as progress:
            if self._form.shape == "matrix":
                shape = "tied" if self._form.shared else "full"
                S = self._statistic(rows, shape, self._form.shared, self.tol, progress)
                self.__dict__.update(self._attributes(rows, S))
            else:
                self.n_iter_ = 1
                self.classes_, M = class_variances(rows)
                self.__dict__.update(self._diagonal_attributes(rows, M))
        return self

    def _check_parameters(self) -> None:
        form = self._form
        if form.shared and self.pooling > 0:
            raise ParameterError(f"covariance={self.covariance!r} is shared already: leave pooling at 0.")
        if form.equal and self.priors is not None:
            raise ParameterError(f"covariance={self.covariance!r} means equal priors: leave priors at None.")
        if self.shrinkage == "auto" and self.pooling > 0:
            raise ParameterError("shrinkage='auto' goes with pooling=0: give a number for it, or take 'oas'.")

    def _attributes(self, rows: Rows, S: Any) -> dict[str, Any]:
        if not self._form.shared and self.pooling == 0:
            require_spread(S)
        if isinstance(S, WideScatter):
            return self._wide_attributes(rows, S)
        covariances = matrices(rows, S, self.pooling, self.shrinkage)
        identity = np.eye(rows.n_features)
        with blas_for(rows.n_features):
            factors = [self._factor(C, k, S) for k, C in enumerate(covariances)]
            whiten = [linalg.solve_triangular(L, identity, lower=True).T for L in factors]
        log_dets = np.array([log_det(L) for L in factors])
        return self._common(rows, S, covariance_=covariances, _whiten=np.stack(whiten), _log_dets=log_dets)

    def _wide_attributes(self, rows: Rows, S: WideScatter) -> dict[str, Any]:
        if self._form.shared:
            covariances = [S.within(self.shrinkage)]
        else:
            covariances = [S.covariance(k, self.shrinkage, self.pooling) for k in range(len(S.labels))]
        for k, C in enumerate(covariances):
            if C.diagonal.min() <= 4 * len(C.diagonal) * np.finfo(float).eps * float(np.linalg.norm(C.factor)) ** 2:
                raise singular(None if self._form.shared else S.labels.tolist()[k], CURE)
        return self._common(rows, S, _low_ranks=covariances, _whiteners=[Whitener.of(C) for C in covariances])

    def _factor(self, covariance: Array, k: int, S: Components) -> Array:
        try:
            return factor(covariance)
        except ParameterError as error:
            raise singular(None if S.tied else S.labels.tolist()[k], CURE) from error

    def _diagonal_attributes(self, rows: Rows, M: Components) -> dict[str, Any]:
        M = with_unit_means(M) if self._form.unit else M
        found = variances(M, self._form, self.pooling, self.shrinkage)
        if (found <= 0).any():
            k = int(np.argwhere(found <= 0)[0][0])
            raise singular(None if self._form.shared else M.labels.tolist()[k], CURE)
        return self._common(rows, M, covariance_=found, _variances=np.broadcast_to(found, M.mean.shape).copy())

    def _common(self, rows: Rows, S: Any, **found: Any) -> dict[str, Any]:
        """Attributes of every form, and these, for all classes."""
        dtype = float_type(rows)
        found |= {"means_": S.mean.astype(dtype)}
        if "covariance_" in found:
            found["covariance_"] = found["covariance_"].astype(dtype)
        priors = self._class_priors(S, "equal" if self._form.equal else self.priors).astype(dtype)
        return self._of_all_classes(found, S, *found) | {"priors_": priors, "class_count_": self._weights(S)}

    @cached_property
    def covariance_(self) -> Array:
        """Covariances that were not formed in the fit."""
        if "_low_ranks" not in vars(self):
            raise AttributeError("This GaussianClassifier has no covariance_: it is not fitted yet.")
        return np.stack([C.dense() for C in self._low_ranks]).astype(self.means_.dtype)

    def class_distribution(self, label: Any) -> MultivariateGaussian:
        """The distribution of the rows of a class."""
        check_is_fitted(self)
        (k,) = np.flatnonzero(self.classes_ == label)
        C = np.asarray(self.covariance_[min(int(k), len(self.covariance_) - 1)], np.float64)
        return MultivariateGaussian(self.means_[k], C if C.ndim == 2 else np.diag(C))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Array, Array]:
        """Rows and labels drawn from the model."""
        check_is_fitted(self)
        rng = streams(random_state, 1)[0]
        prior = np.exp(self._log_priors)
        codes = rng.choice(len(self.classes_), size=n_samples, p=prior / prior.sum())
        X = np.empty((n_samples, self.n_features_in_))
        for k, label in enumerate(self.classes_):
            X[codes == k] = self.class_distribution(label).sample(int((codes == k).sum()), rng)
        return X, self.classes_[codes]
