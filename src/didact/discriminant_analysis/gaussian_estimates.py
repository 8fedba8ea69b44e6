r"""Estimates of Gaussian classes: what each name of a covariance stands for, and Friedman's path between them.

With the scatter S_k and weight N_k of class k, and S and N of all classes together,

.. math:: \Sigma_k(\lambda) = \frac{(1-\lambda)S_k + \lambda S}{(1-\lambda)N_k + \lambda N},\qquad
    \Sigma_k(\lambda,\gamma) = (1-\gamma)\,\Sigma_k(\lambda) + \gamma\,\frac{\mathrm{tr}\,\Sigma_k(\lambda)}{p}\,I

Friedman (1989), doi:10.1080/01621459.1989.10478752.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.errors import InputError
from didact.core.rows import Rows
from didact.core.typing import Array
from didact.parts.statistics.components import Components
from didact.parts.statistics.row_components import require_values, row_components
from didact.parts.statistics.shrinkage import auto_shrunk, fourth_moments, scales, shrunk


class Form(NamedTuple):
    """What a name of `covariance` stands for."""

    shape: str  # "matrix", "diagonal" or "isotropic"
    shared: bool
    equal: bool = False  # classes of equal probability
    unit: bool = False  # means of length 1


FORMS = {
    "full": Form("matrix", False),
    "shared": Form("matrix", True),
    "diagonal": Form("diagonal", False),
    "shared_diagonal": Form("diagonal", True),
    "isotropic": Form("isotropic", False),
    "shared_isotropic": Form("isotropic", True),
    "mahalanobis": Form("matrix", True, equal=True),
    "euclidean": Form("isotropic", True, equal=True),
    "dot_product": Form("isotropic", True, equal=True, unit=True),
}


def matrices(rows: Rows, S: Components, pooling: float, shrinkage: Any) -> Array:
    """Covariances (K, p, p), or (1, p, p) if S is tied: mixed with the shared one, then shrunk."""
    weight = S.weight.sum(keepdims=True) if S.tied else S.weight
    scatter = S.scatter
    if pooling > 0:
        scatter = (1.0 - pooling) * scatter + pooling * S.within
        weight = (1.0 - pooling) * weight + pooling * weight.sum()
    found = scatter / weight[:, None, None]
    if shrinkage is None:
        return found
    if not isinstance(shrinkage, str):
        return np.stack([shrunk(C, shrinkage) for C in found])
    fourth: Any = [None] * len(found)
    if shrinkage == "auto":
        scale = np.broadcast_to(np.stack([scales(C) for C in found]), S.mean.shape)
        each = fourth_moments(rows, S.labels, S.mean, scale)
        fourth = each.sum(keepdims=True) if S.tied else each
    return np.stack([auto_shrunk(*parts) for parts in zip(found, weight, fourth, strict=True)])


def variances(M: Components, form: Form, pooling: float, shrinkage: Any) -> Array:
    """Variances of the columns (K, p), (1, p) if shared; missing values are in none of the sums."""
    scatter, present = M.scatter, M.present
    if form.shared:
        scatter, present = scatter.sum(axis=0, keepdims=True), present.sum(axis=0, keepdims=True)
    if pooling > 0:
        scatter = (1.0 - pooling) * scatter + pooling * scatter.sum(axis=0)
        present = (1.0 - pooling) * present + pooling * present.sum(axis=0)
    if form.shape == "isotropic":
        return np.repeat(scatter.sum(axis=1, keepdims=True) / present.sum(axis=1, keepdims=True), scatter.shape[1], 1)
    found = scatter / present
    share = 0.0 if shrinkage is None or isinstance(shrinkage, str) else shrinkage
    return (1.0 - share) * found + share * found.mean(axis=1, keepdims=True)


def class_variances(rows: Rows) -> tuple[Array, Components]:
    """All labels, and the statistic of classes with weight; refuses a column without any value in a class."""
    S = row_components(rows, "diagonal")
    M = S.seen()
    if len(M.labels) < 2:
        raise InputError(f"The number of classes has to be greater than one; got {len(M.labels)} class.")
    require_values(M, rows)
    return S.labels, M._replace(present=np.broadcast_to(M.present, M.mean.shape))


def with_unit_means(M: Components) -> Components:
    """Moments about means scaled to length 1: the scatter gains the squared distance of each mean to its scaled one."""
    length = np.linalg.norm(M.mean, axis=1, keepdims=True)
    if (length == 0).any():
        label = M.labels.tolist()[int(np.argmin(length))]
        raise InputError(f"The mean of class {label!r} is zero, which has no direction for a dot product.")
    mean = M.mean / length
    return M._replace(mean=mean, scatter=M.scatter + M.present * (M.mean - mean) ** 2)
