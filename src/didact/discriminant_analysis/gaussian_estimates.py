r"""Estimates of Gaussian classes: what each name of a covariance stands for, and Friedman's path between them.

With the scatter S_k and weight N_k of class k, and S and N of all classes together,

.. math:: \Sigma_k(\lambda) = \frac{(1-\lambda)S_k + \lambda S}{(1-\lambda)N_k + \lambda N},\qquad
    \Sigma_k(\lambda,\gamma) = (1-\gamma)\,\Sigma_k(\lambda) + \gamma\,\frac{\mathrm{tr}\,\Sigma_k(\lambda)}{p}\,I

Friedman (1989), doi:10.1080/01621459.1989.10478752.
"""

from typing import Any, NamedTuple

import numpy as np

from didact.core.errors import InputError
from didact.core.overflow import refuse_overflow
from didact.core.rows import Rows
from didact.discriminant_analysis.base import Array
from didact.parts.statistics.class_scatter import ClassScatter
from didact.parts.statistics.class_sums import ClassMoments, moments_by_class
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


def matrices(rows: Rows, S: ClassScatter, pooling: float, shrinkage: Any) -> Array:
    """Covariances (K, p, p), or (1, p, p) if S is pooled: mixed with the shared one, then shrunk."""
    weight = S.weight.sum(keepdims=True) if S.pooled else S.weight
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
        each = fourth_moments(rows, S.classes, S.mean, scale)
        fourth = each.sum(keepdims=True) if S.pooled else each
    return np.stack([auto_shrunk(*parts) for parts in zip(found, weight, fourth, strict=True)])


def variances(M: ClassMoments, form: Form, pooling: float, shrinkage: Any) -> Array:
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


def checked_moments(rows: Rows) -> tuple[Array, ClassMoments]:
    """All labels, and moments of the columns by class with weight; refuses a column without any value in a class."""
    M: ClassMoments = rows.reduce(moments_by_class)
    refuse_overflow(rows, (M.mean, M.scatter))
    labels, seen = M.classes, M.weight > 0
    present = np.broadcast_to(M.present, M.mean.shape)[seen]
    M = ClassMoments(M.classes[seen], M.weight[seen], present, M.mean[seen], M.scatter[seen])
    if len(M.classes) < 2:
        raise InputError(f"The number of classes has to be greater than one; got {len(M.classes)} class.")
    if (present == 0).any():
        k, j = np.argwhere(present == 0)[0]
        column = rows.names[j] if rows.names is not None else int(j)
        raise InputError(f"Column {column!r} has no value in class {M.classes.tolist()[k]!r}: drop or fill the column.")
    eps = np.finfo(float).eps
    way = M.mean - (present * M.mean).sum(axis=0) / present.sum(axis=0)  # sums are about the middle of all rows
    constant = M.scatter <= present * (64 * eps * way**2 + (4 * eps * M.mean) ** 2)
    return labels, M._replace(scatter=np.where(constant, 0.0, M.scatter))


def with_unit_means(M: ClassMoments) -> ClassMoments:
    """The same moments about means that are scaled to length 1."""
    length = np.linalg.norm(M.mean, axis=1, keepdims=True)
    if (length == 0).any():
        label = M.classes.tolist()[int(np.argmin(length))]
        raise InputError(f"The mean of class {label!r} is zero, which has no direction for a dot product.")
    mean = M.mean / length
    return M._replace(mean=mean, scatter=M.scatter + M.present * (M.mean - mean) ** 2)
