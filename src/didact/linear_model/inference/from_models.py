"""From a fitted estimator and its rows to an `Inference`: one function for each kind of linear model."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.utils.validation import check_is_fitted

from didact.core.errors import ParameterError
from didact.core.rows import Batches, Block, Rows, is_dask
from didact.engines.linear.objective import table_of
from didact.linear_model.inference.facts import HETEROSCEDASTIC, Options, facts
from didact.linear_model.inference.influence import Point
from didact.linear_model.inference.result import Inference, _Source, locked
from didact.parts.families import Bernoulli, Binomial, Gaussian, GLMLoss
from didact.parts.links import Identity, Logit
from didact.parts.losses.classification import Softmax

Columns = tuple[Any, Any, Any, Any]  # X, y, sample_weight, offset


def ready(model: Any, penalised: bool, remedy: str) -> None:
    """Refuse a model that is not fitted, or whose coefficients a penalty or bound has moved."""
    check_is_fitted(model)
    if penalised:
        raise ParameterError(
            f"{type(model).__name__}.inference() is for fits without a penalty or bounds, which bias estimates: fit "
            f"with {remedy} first."
        )


def no_inference(instead: str) -> Callable[..., Any]:
    """The `inference` of a class whose estimates a penalty always moves: a sentence that says what to fit instead."""

    def inference(self: Any, *data: Any, **options: Any) -> Any:
        """Refused: a penalty, or a choice made on the same rows, biases estimates and voids their standard errors."""
        raise ParameterError(
            f"There is no {type(self).__name__}.inference(): a penalty, or its choice on the same rows, biases "
            f"estimates, so that they have no valid standard errors. Fit {instead} and call its inference(X, y)."
        )

    return inference


def infer_least_squares(
    model: Any, data: Columns, covariance: str, groups: Any, dispersion: Any
) -> Inference | tuple[Inference, ...]:
    """Inference for `LinearRegression`: one for y of one column, a tuple for several."""
    rows = open_rows(model, data, groups, covariance, "outputs")
    options = Options(covariance, dispersion, null_constant=model.fit_intercept)
    loss = GLMLoss(Gaussian(), Identity())
    points = [Point(loss, row[None], model.fit_intercept) for row in table_of(model.coef_, model.intercept_)]
    if np.ndim(model.coef_) == 1:
        return build(model, rows, points[0], options)
    return tuple(build(model, rows.prepared(take_target, j), point, options) for j, point in enumerate(points))


def infer_glm(
    model: Any, data: Columns, prepare: tuple[Any, ...], estimated: bool, covariance: str, groups: Any, dispersion: Any
) -> Inference:
    """Inference for generalized linear models; prepare is (function of a block, *arguments)."""
    several = isinstance(model.loss_, Softmax)
    rows = open_rows(model, data, groups, covariance, "outputs" if several else "numeric")
    rows = rows.prepared(*prepare)
    trials = several or isinstance(model.loss_.family, Binomial)
    point = Point(model.loss_, table_of(model.coef_, model.intercept_), model.fit_intercept, trials)
    classes = [f"y{j}" for j in range(len(model.coef_))] if several else []
    return build(model, rows, point, Options(covariance, dispersion, estimated), classes)


def infer_classes(
    model: Any, data: Columns, prepare: tuple[Any, ...], covariance: str, groups: Any, dispersion: Any
) -> Inference:
    """Inference for `LogisticRegression`: the log-odds of the second class, or of each class against the last."""
    if model.loss != "log" or model.class_weight is not None:
        raise ParameterError("LogisticRegression.inference() needs loss='log' and class_weight=None: a likelihood.")
    rows = open_rows(model, data, groups, covariance, "labels").prepared(*prepare)
    loss = GLMLoss(Bernoulli(), Logit()) if len(model.classes_) == 2 else Softmax()
    point = Point(loss, table_of(model.coef_, model.intercept_), model.fit_intercept)
    return build(model, rows, point, Options(covariance, dispersion), model.classes_)


def open_rows(model: Any, data: Columns, groups: Any, covariance: str, target: str) -> Rows:
    """The rows of a fit again, with the offset and group of each."""
    if covariance not in ("model", *HETEROSCEDASTIC, "clustered"):
        raise ParameterError(f"covariance must be 'model', 'HC0' to 'HC3' or 'clustered', got {covariance!r}.")
    X, y, w, offset = data
    if (groups is None) == (covariance == "clustered") and not isinstance(X, Batches):
        raise ParameterError("covariance='clustered' and groups belong together: give both or neither.")
    if groups is not None and not is_dask(groups):
        groups = np.unique(np.asarray(groups), return_inverse=True)[1].astype(np.float64)
    return model._rows(X, y, w, offset=offset, groups=groups, target=target, reset=False)


def take_target(block: Block, column: int) -> Block:
    """A block with one of several targets."""
    return block._replace(y=block.y[:, column])


def build(model: Any, rows: Rows, point: Point, options: Options, classes: Sequence[Any] = ()) -> Inference:
    """Everything that is summed over the rows, in the coordinates of X."""
    if point.several:  # only differences are identified
        point = point._replace(table=point.table[:-1] - point.table[-1])
    known = facts(rows, point, options)
    names = list(rows.names) if rows.names is not None else [f"x{j}" for j in range(rows.n_features)]
    names = ["(intercept)"] * point.fit_intercept + names
    table = np.roll(point.table, 1, axis=1)[:, -len(names) :]
    T = np.eye(len(names))
    if point.fit_intercept:  # from centred columns back to those of X
        T[0, 1:] = -known.centre
    spread = linalg.block_diag(*[T] * len(table)) @ known.spread
    return Inference(
        names=tuple(names) if not point.several else tuple(f"{c}: {name}" for c in classes[:-1] for name in names),
        coefficients=locked(table.ravel().copy()),
        covariance=locked(spread @ spread.T),
        covariance_type=options.covariance,
        dispersion=known.dispersion,
        n=known.n,
        df_model=known.k - len(table) * point.fit_intercept,
        df_residual=known.n - known.k,
        df_inference=known.df_inference,
        log_likelihood=known.log_likelihood,
        null_log_likelihood=known.null_log_likelihood,
        deviance=known.deviance,
        null_deviance=known.null_deviance,
        parameters=known.k + options.estimated,
        _source=_Source(
            model=copy.copy(model),
            point=point,
            rows=rows,
            facts=known,
            spread=spread,
            nested_null=point.fit_intercept or not options.null_constant,
            reference=classes[-1] if point.several else None,
        ),
    )
