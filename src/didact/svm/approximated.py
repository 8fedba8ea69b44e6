"""Support vector machines on explicit features: what `approximation` of `SVC` and `SVR` does.

The features come from `engines.gram.features`, block by block, so that neither the Gram matrix nor all features are
there at once; the machine is a linear one on them (`engines.gram.primal`). It predicts like any other: with landmarks,
or vectors of frequencies, in the place of support vectors.
"""

from itertools import combinations
from typing import Any

import numpy as np

from didact.core.backend import float_type, like, to_numpy
from didact.core.errors import InputError, ParameterError
from didact.core.estimator import warn_convergence
from didact.core.progress import FitProgress
from didact.core.rows import Block, Rows
from didact.engines.gram.features import FeatureMap, feature_rows
from didact.engines.gram.primal import Primal, fit_rounded
from didact.parts.losses.rounded import RoundedHinge, RoundedInsensitive
from didact.parts.statistics.moments import Sums
from didact.svm.kernel_model import class_rows, features_for


def one_side(block: Block, first: int, second: int) -> Block:
    """A block with +1 for one class and −1 for another, or for all others (−1); rows of neither have no weight."""
    codes = to_numpy(block.y)
    w = np.ones(len(codes)) if block.weight is None else to_numpy(block.weight)
    if second >= 0:
        w = np.where((codes == first) | (codes == second), w, 0.0)
    return block._replace(y=like(np.where(codes == first, 1.0, -1.0), block.X), weight=like(w, block.X))


def target_sums_of(block: Block) -> Sums:
    """Σω, Σωy and Σωy² of each target."""
    Y = to_numpy(block.y).astype(np.float64)
    Y = Y if Y.ndim == 2 else Y[:, None]
    w = np.ones(len(Y)) if block.weight is None else to_numpy(block.weight)
    return Sums((w.sum(), w @ Y, w @ (Y * Y)))


def one_target(block: Block, k: int) -> Block:
    """A block with one of several targets."""
    return block._replace(y=block.y[:, k])


def refuse_hard(model: Any) -> None:
    """Rounded losses have no limit of an infinite price."""
    if not np.isfinite(model.C):
        raise ParameterError("A hard margin (C=inf) needs the exact kernel: use a finite C, or approximation=None.")


def fit_classes(model: Any, rows: Rows, X: Any, y: Any) -> Any:
    """Separate the classes by hyperplanes in the features; sets what `SVC.fit` sets."""
    if model.probability is True:
        raise ParameterError(
            "probability=True needs the exact machine: wrap the model in CalibratedClassifierCV, or use "
            "approximation=None."
        )
    refuse_hard(model)
    rows, weights, factors = class_rows(model, rows)
    number = len(weights)
    model.class_weight_ = np.ones(number) if factors is None else factors
    features = features_for(model, rows)
    mapped = feature_rows(rows, features)
    if number == 2:
        tasks = [(1, 0)]
    elif model.strategy == "ovr":
        tasks = [(k, -1) for k in range(number)]
    else:
        tasks = list(combinations(range(number), 2))
    found = []
    with FitProgress(model, None, X=X, y=y, seconds=model.time_limit) as progress:
        for i, j in tasks:
            weight = float(weights[i] + weights[j] if j >= 0 else weights.sum())
            if weight == 0.0:
                raise InputError("A pair of classes has no weight: drop their rows, or give them weights.")
            part = mapped.prepared(one_side, i, j)
            found.append(fit_rounded(part, RoundedHinge, weight, *_how(model), progress.report))
    _store(model, features, found, rows, progress.late)
    model.n_support_ = np.zeros(number, np.int32)
    model.n_iter_ = np.array([one.n_iter for one in found], np.int32)
    lengths = [max(float(np.linalg.norm(one.weights)), float(np.finfo(float).tiny)) for one in found]
    model.margins_ = (1.0 / np.array(lengths)).astype(float_type(rows))
    model.slack_ = np.empty((0, len(found)))
    return model


def fit_targets(model: Any, rows: Rows, X: Any, y: Any) -> Any:
    """Fit each target with the ε-insensitive loss on the features; sets what `SVR.fit` sets."""
    refuse_hard(model)
    weight, first, second = rows.reduce(target_sums_of).parts
    means = first / weight
    units = np.sqrt(np.maximum(second / weight - means**2, 0.0))
    features = features_for(model, rows)
    mapped = feature_rows(rows, features)
    found = []
    with FitProgress(model, None, X=X, y=y, seconds=model.time_limit) as progress:
        for k, unit in enumerate(units.tolist()):
            part = mapped.prepared(one_target, k) if rows.y_ndim == 2 else mapped
            unit = unit if unit > 0 else 1.0

            def loss(width: float, unit: float = unit) -> Any:
                return RoundedInsensitive(float(model.epsilon), width * unit)

            found.append(fit_rounded(part, loss, float(weight), *_how(model), progress.report))
    _store(model, features, found, rows, progress.late)
    model.n_support_ = np.zeros(1, np.int32)
    model.n_iter_ = int(max(one.n_iter for one in found))
    return model


def _how(model: Any) -> tuple[float, float, int]:
    """C, tolerance and the most steps for each width."""
    return float(model.C), float(model.tol), 1000 if model.max_iter < 0 else max(int(model.max_iter), 1)


def _store(model: Any, features: FeatureMap, found: list[Primal], rows: Rows, late: bool) -> None:
    """Coefficients of landmarks or cosines, and how the solver ended."""
    dtype = float_type(rows)
    coef = features.coefficients(np.stack([one.weights for one in found], axis=1))
    if not np.isfinite(coef).all():
        raise InputError("The coefficients are not finite: scale X, or use a smaller C.")
    model.kernel_, model.support_vectors_ = features.kernel, features.vectors
    model.support_ = np.empty(0, np.int32) if features.numbers is None else features.numbers.astype(np.int32)
    model.dual_coef_ = coef.T.astype(dtype)
    model.intercept_ = np.array([one.constant for one in found], dtype)
    model.shape_fit_ = (-1 if rows.n_rows is None else rows.n_rows, rows.n_features)
    model.kkt_residual_ = max(one.gap for one in found)
    over = late and any(one.status == "stopped" for one in found)
    bad = [one._replace(status="time limit") if over else one for one in found if not one.converged]
    model.fit_status_, model.optimality_ = int(bool(bad)), model.kkt_residual_
    if bad and bad[0].status not in ("stopped", "no progress"):
        warn_convergence(
            model,
            f"the gradient is still {model.kkt_residual_:.2g} ({bad[0].status}), more than tol = {model.tol:g}: raise "
            "max_iter or time_limit, or scale the columns of X.",
        )
