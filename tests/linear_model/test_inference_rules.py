"""Inference: weights repeat rows, memory = batches = Dask, the summary shows what it holds, misuse is refused."""

import dataclasses

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from inference_cases import COUNTS, GROUPS, LABELS, MODELS, OFFSET, N, W, X, Y, facts, glm
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

from didact import Batches
from didact.core.errors import InputError, ParameterError
from didact.linear_model import (
    ElasticNet,
    ElasticNetCV,
    GeneralizedLinearRegressorCV,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    Ridge,
    RidgeCV,
)

COVARIANCES = ("model", "HC0", "HC1", "HC2", "HC3", "clustered")
CASES = [(m, c) for m in MODELS for c in COVARIANCES if m != "softmax" or c not in ("HC2", "HC3")]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_weights_are_repetitions(name, kind):
    model, y = MODELS[name]
    repeat = np.repeat(np.arange(N), W.astype(int))
    groups = GROUPS if kind == "clustered" else None
    weighted = model.fit(X, y, W).inference(X, y, W, covariance=kind, groups=groups)
    groups = GROUPS[repeat] if kind == "clustered" else None
    repeated = model.fit(X[repeat], y[repeat]).inference(X[repeat], y[repeat], covariance=kind, groups=groups)
    assert_allclose(facts(weighted), facts(repeated), rtol=1e-7, atol=1e-10)
    if name != "softmax":
        assert_allclose(weighted.leverage[repeat], repeated.leverage, rtol=1e-7)
        assert_allclose(weighted.cooks_distance[repeat], repeated.cooks_distance, rtol=1e-6, atol=1e-12)
        assert_allclose(
            weighted.residuals("studentized")[repeat], repeated.residuals("studentized"), rtol=1e-6, atol=1e-9
        )
        assert W @ weighted.leverage == pytest.approx(4)


@pytest.mark.parametrize("kind", ["model", "HC3", "clustered"])
@pytest.mark.parametrize("name", MODELS)
def test_memory_batches_dask_and_sparse_agree(name, kind):
    model, y = MODELS[name]
    kind = "HC1" if name == "softmax" and kind == "HC3" else kind
    clustered = kind == "clustered"
    groups = GROUPS if clustered else None
    expected = facts(model.fit(X, y, W).inference(X, y, W, covariance=kind, groups=groups))

    def read():
        for part in np.array_split(np.arange(N), 5):
            yield (X[part], y[part], W[part], *((None, GROUPS[part]) if clustered else ()))

    batches = model.inference(Batches(read), covariance=kind)
    assert_allclose(facts(batches), expected, rtol=1e-8, atol=1e-12)
    cut = [da.from_array(a, chunks=(50, *a.shape[1:])) for a in (X, y, W, GROUPS)]
    for last in (cut[3], GROUPS):
        on_dask = model.inference(*cut[:3], covariance=kind, groups=last if clustered else None)
        assert_allclose(facts(on_dask), expected, rtol=1e-8, atol=1e-12)
    sparse = model.inference(sp.csr_array(X), y, W, covariance=kind, groups=groups)
    assert_allclose(facts(sparse), expected, rtol=1e-8, atol=1e-12)
    with pytest.raises(InputError, match="in memory"):
        batches.residuals()


@pytest.mark.parametrize("name", MODELS)
def test_tensors_agree(name):
    torch = pytest.importorskip("torch")
    model, y = MODELS[name]
    expected = model.fit(X, y, W).inference(X, y, W, covariance="HC1")
    ours = model.inference(*(torch.asarray(a) for a in (X, y, W)), covariance="HC1")
    assert_allclose(facts(ours), facts(expected), rtol=1e-8, atol=1e-12)
    assert_allclose(ours.residuals(), expected.residuals(), atol=1e-9)
    assert_allclose(ours.predict(torch.asarray(X)).upper, expected.predict(X).upper, rtol=1e-8)


def test_offset_in_batches():
    model = glm("poisson").fit(X, COUNTS, offset=OFFSET)
    halves = (slice(0, 50), slice(50, None))
    batches = Batches(lambda: ((X[h], COUNTS[h], None, OFFSET[h]) for h in halves))
    ours = model.inference(batches)
    assert_allclose(facts(ours), facts(model.inference(X, COUNTS, offset=OFFSET)), rtol=1e-9, atol=1e-12)


def test_leverages_sum_to_the_number_of_coefficients():
    for name in ("least squares", "poisson", "gamma", "logistic"):
        model, y = MODELS[name]
        assert model.fit(X, y).inference(X, y).leverage.sum() == pytest.approx(4, rel=1e-9)


def test_studentized_residual_of_least_squares_leaves_the_row_out():
    i, rest = 5, np.arange(N) != 5
    ours = LinearRegression().fit(X, Y).inference(X, Y)
    without = LinearRegression().fit(X[rest], Y[rest])
    prediction = without.inference(X[rest], Y[rest]).predict(X[i : i + 1], kind="observation")
    expected = (Y[i] - prediction.mean[0]) / prediction.standard_error[0]
    assert ours.residuals("studentized")[i] == pytest.approx(expected, rel=1e-9)


def test_a_perfect_fit():
    y = 3.0 * X[:, 0] + 1.0
    ours = LinearRegression().fit(X, y).inference(X, y)
    assert ours.standard_errors.max() < 1e-12
    assert ours.r_squared == pytest.approx(1.0)
    assert ours.f_test.p_value < 1e-100
    zero = LinearRegression().fit(X, np.zeros(N)).inference(X, np.zeros(N))
    assert zero.dispersion == 0
    assert zero.log_likelihood == np.inf
    assert "nan" in zero.summary()


def test_single_precision_is_close():
    model = PoissonRegressor(alpha=0, tol=1e-6).fit(X.astype(np.float32), COUNTS)
    ours = model.inference(X.astype(np.float32), COUNTS)
    double = glm("poisson").fit(X, COUNTS).inference(X, COUNTS)
    assert_allclose(ours.standard_errors, double.standard_errors, rtol=1e-4)


def test_summary_shows_what_the_object_holds():
    ours = LinearRegression().fit(X, Y).inference(X, Y)
    text = ours.summary()
    assert str(ours) == repr(ours) == text
    rows = {line.split()[0]: [float(v) for v in line.split()[1:]] for line in text.splitlines() if line.startswith("x")}
    frame = ours.summary_frame()
    for j, name in enumerate(["x0", "x1", "x2"], start=1):
        shown = rows[name]
        expected = [frame[c][j] for c in ("coefficient", "standard_error", "statistic", "p_value", "lower", "upper")]
        assert_allclose(shown, expected, rtol=0.06, atol=6e-4)
    for label, value in [("AIC", ours.aic), ("R²", ours.r_squared), ("Residual df", ours.df_residual)]:
        shown = text.split(f"{label}:")[1].split()[0]
        assert float(shown) == pytest.approx(value, rel=1e-3)
    softmax, y = MODELS["softmax"]
    assert "compared with 2" in softmax.fit(X, y).inference(X, y).summary()
    assert max(map(len, text.splitlines())) <= 80


def test_an_inference_cannot_be_changed():
    model = LinearRegression().fit(X, Y)
    ours = model.inference(X, Y)
    before = ours.predict(X[:3]).mean
    with pytest.raises(dataclasses.FrozenInstanceError):
        ours.n = 3
    with pytest.raises(ValueError, match="read-only"):
        ours.coefficients[0] = 1.0
    model.fit(X, -Y)
    assert_allclose(ours.predict(X[:3]).mean, before)


@pytest.mark.parametrize(
    ("model", "y", "remedy"),
    [
        (LinearRegression(positive=True), Y, "positive=False"),
        (glm("poisson", alpha=0.1), COUNTS, "alpha=0"),
        (LogisticRegression(), LABELS, "C=inf"),
        (LogisticRegression(C=np.inf, class_weight="balanced"), LABELS, "class_weight=None"),
        (LogisticRegression(C=np.inf, loss="squared"), LABELS, "loss='log'"),
    ],
)
def test_penalised_and_unlikely_fits_are_refused(model, y, remedy):
    with pytest.raises(ParameterError, match=remedy):
        model.fit(X, y).inference(X, y)


def test_dependent_columns_are_refused():
    double = np.column_stack([X, X @ [1.0, 2.0, 0.5]])
    with pytest.raises(InputError, match="rank 3 < 4"):
        LinearRegression().fit(double, Y).inference(double, Y)
    constant = np.column_stack([X, np.full(N, 0.1)])
    with pytest.raises(InputError, match="rank 3 < 4"):
        glm("poisson", solver="lbfgs").fit(constant, COUNTS).inference(constant, COUNTS)
    softmax, y = MODELS["softmax"]
    with pytest.raises(InputError, match="rank"):
        softmax.fit(double, y).inference(double, y)
    with pytest.raises(InputError, match="no more rows than"):
        LinearRegression().fit(X[:4], Y[:4]).inference(X[:4], Y[:4])


def test_missing_values_are_refused_by_name():
    gap = X.copy()
    gap[3, 1] = np.nan
    with pytest.raises(InputError, match="column 1"):
        LinearRegression().fit(X, Y).inference(gap, Y)
    with pytest.raises(InputError, match="column 1"):
        glm("poisson").fit(X, COUNTS).inference(gap, COUNTS)


def test_other_rows_than_the_fit_had_are_refused():
    with pytest.raises(InputError, match="standard errors away"):
        LinearRegression().fit(X, Y).inference(X, -Y)
    with pytest.raises(InputError, match="standard errors away"):
        glm("poisson").fit(X, COUNTS, offset=OFFSET).inference(X, COUNTS)


def test_wrong_arguments_are_refused():
    model = LinearRegression().fit(X, Y)
    with pytest.raises(NotFittedError):
        LinearRegression().inference(X, Y)
    with pytest.raises(ParameterError, match="covariance must be"):
        model.inference(X, Y, covariance="HC4")
    with pytest.raises(ParameterError, match="belong together"):
        model.inference(X, Y, covariance="clustered")
    with pytest.raises(ParameterError, match="belong together"):
        model.inference(X, Y, groups=GROUPS)
    with pytest.raises(InputError, match="two groups"):
        model.inference(X, Y, covariance="clustered", groups=np.zeros(N))
    with pytest.raises(ParameterError, match="dispersion"):
        model.inference(X, Y, dispersion=-1.0)
    with pytest.raises(InputError, match="need groups"):
        model.inference(Batches(lambda: iter([(X, Y)])), covariance="clustered")
    ours = model.inference(X, Y)
    with pytest.raises(ParameterError, match="level"):
        ours.interval(95)
    with pytest.raises(ParameterError, match="no residuals"):
        ours.residuals("raw")
    with pytest.raises(ParameterError, match="least squares"):
        glm("poisson").fit(X, COUNTS).inference(X, COUNTS).predict(X, kind="observation")
    softmax, y = MODELS["softmax"]
    for kind in ("HC2", "HC3"):
        with pytest.raises(ParameterError, match="leverages"):
            softmax.fit(X, y).inference(X, y, covariance=kind)
    with pytest.raises(ParameterError, match="not defined for more than two"):
        _ = softmax.inference(X, y).leverage


@pytest.mark.parametrize(
    "model",
    [Ridge(), RidgeCV(), Lasso(), LassoCV(), ElasticNet(), ElasticNetCV(), HuberRegressor(), LogisticRegressionCV(),
     GeneralizedLinearRegressorCV()],
    ids=repr,
)  # fmt: skip
def test_penalised_models_say_why_they_have_no_inference(model):
    with pytest.raises(ParameterError, match=f"no {type(model).__name__}.inference.*biases.*Fit .*Regress"):
        model.inference(X, Y)


def test_a_hypothesis_that_is_none_hears_of_names_and_matrices():
    result = LinearRegression().fit(X, Y).inference(X, Y)
    for wrong in ([2, 3], 5, [["x0"]], [None], [], ["x0", 1]):
        with pytest.raises(ParameterError, match=r"names of coefficients, such as \['x1', 'x2'\], or a matrix"):
            result.wald_test(wrong)
