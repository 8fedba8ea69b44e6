"""Identities of rows, for every estimator: weights, order, chunks, threads and collections do not change the answer."""

import itertools

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from registry_cases import (
    STRICT,
    all_instances,
    assert_identical,
    assert_same,
    coefficients,
    dealt,
    excuse,
    fitted,
    fitted_state,
    label,
    numbers,
    one_of_each,
    outputs,
    over_registry,
    precise,
    problem,
    representatives,
    state,
    takes,
    target_columns,
)
from sklearn.base import clone

import didact
from didact import Batches
from didact.core.threads import thread_count

MODELS = all_instances()
WEIGHTED = [model for model in MODELS if takes(model, "sample_weight")]
KINDS = ("batches", "dask array", "dask frame")

# Those that share out work on 6000 rows otherwise than on many, and how many rows that takes.
# Rows of those that take n³ operations, or that for each of many steps; or n² for many, or n² numbers in memory.
CUBIC = {"GaussianProcessClassifier": 300, "GaussianProcessRegressor": 600, "KernelDiscriminantAnalysis": 600}
CUBIC |= {"KernelPCA": 600, "MDS": 600, "ParametricEmbedding": 300}
CUBIC |= dict.fromkeys(("ClassicalMDS", "Isomap", "SpectralClustering", "SpectralEmbedding"), 1200)
MANY = dict.fromkeys(
    ("Ridge", "LogisticRegression", "Lasso", "SGDClassifier", "GaussianClassifier", "MixedNB", "KNeighborsClassifier",
     "RunningMean", "DecisionTreeClassifier", "RandomForestRegressor", "ExtraTreesClassifier",
     "HistGradientBoostingClassifier"), 60_000,
) | dict.fromkeys(("KernelDensity", "KernelSmoother"), 20_000)  # fmt: skip


@over_registry(WEIGHTED, "weights_equal_repetition/repeated")
def test_weights_equal_repetition(model):
    X, y = problem(model)
    w = np.random.default_rng(1).integers(0, 4, size=len(y))
    weighted = clone(model).fit(X, y, sample_weight=w)
    repeated = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(y, w, axis=0))
    assert_same(state(weighted, X), state(repeated, X), rtol=1e-7)


@over_registry(WEIGHTED, "weights_equal_repetition/zero")
def test_rows_of_weight_zero_do_not_count(model):
    X, y = problem(model)
    w = np.ones(len(y))
    w[::3] = 0
    far = X.copy()
    far[::3] += 50.0  # if these rows counted at all, it would show
    weighted, without = precise(model).fit(far, y, sample_weight=w), precise(model).fit(X[w > 0], y[w > 0])
    assert_same(state(weighted, X), state(without, X), rtol=1e-7)


@over_registry(MODELS, "row_order")
def test_row_order_does_not_matter(model):
    X, y = problem(model)
    order = np.random.default_rng(2).permutation(len(y))
    assert_same(state(precise(model).fit(X[order], y[order]), X), fitted_state(model, tight=True), rtol=1e-8)


@over_registry(MODELS, "collections")
def test_chunking_does_not_matter(model):
    """A batch may have one row."""
    X, y = problem(model, n=90)
    expected = state(precise(model).fit(X, y), X)
    edges = np.cumsum([0, 1, 7, 64, 17, 1]).tolist()
    batches = Batches(lambda: ((X[a:b], y[a:b]) for a, b in itertools.pairwise(edges)))
    assert_same(state(precise(model).fit(batches), X), expected, rtol=1e-8)


@pytest.mark.parametrize("size", [1, 7, 64, 90])
@over_registry(representatives(MODELS), "collections")
def test_size_of_chunks_does_not_matter(model, size):
    X, y = problem(model, n=90)
    batches = Batches(lambda: ((X[k : k + size], y[k : k + size]) for k in range(0, len(y), size)))
    assert_same(state(precise(model).fit(batches), X), state(precise(model).fit(X, y), X), rtol=1e-8)


@over_registry(one_of_each(MODELS), "threads")
def test_threads_do_not_change_a_bit(model, two_threads):
    _assert_threads_do_not_change_a_bit(model, CUBIC.get(type(model).__name__, 6000))


@over_registry(one_of_each([m for m in MODELS if STRICT or type(m).__name__ in MANY]), "threads")
def test_threads_do_not_change_a_bit_of_many_rows(model, two_threads):
    _assert_threads_do_not_change_a_bit(model, MANY.get(type(model).__name__, 60_000))


def test_all_that_share_out_work_are_there():
    assert set(MANY) <= {type(model).__name__ for model in MODELS}


def _assert_threads_do_not_change_a_bit(model, n):
    X, y = problem(model, n=n, p=4)
    found = []
    for count in (1, 2):
        didact.set_threads(count)
        assert thread_count() == count
        found.append(state(clone(model).fit(X, y), X))
    assert_identical(found[1], found[0])


def _collections(X, y, w, kind):
    """The same rows as another kind of collection: arguments for fit, and new data for the methods."""
    columns = [f"x{j}" for j in range(X.shape[1])]
    if kind == "batches":
        pieces = [slice(k, k + 90) for k in range(0, len(y), 90)]
        return (
            (Batches(lambda: ((X[s], y[s], None if w is None else w[s]) for s in pieces)),),
            {},
            Batches(lambda: (X[s] for s in pieces)),
        )
    if kind == "dask array":
        weights = {} if w is None else {"sample_weight": da.from_array(w, chunks=50)}
        DX = da.from_array(X, chunks=(70, 2))
        return (DX, da.from_array(y, chunks=60)), weights, DX
    frame = pd.DataFrame(X, columns=columns)
    targets, target = target_columns(y)
    table = dd.from_pandas(frame.assign(**targets, weight=1.0 if w is None else w), npartitions=3)
    weights = {} if w is None else {"sample_weight": table["weight"]}
    return (table[columns], table[target]), weights, table[columns]


def _assert_same_as_memory(model, kind, w):
    X, y = problem(model)
    arguments, weights, new = _collections(X, y, w, kind)
    memory = fitted(model, tight=True) if w is None else precise(model).fit(X, y, sample_weight=w)
    with dask.config.set(scheduler="synchronous"):
        other = precise(model).fit(*arguments, **weights)
        assert_same(coefficients(other), coefficients(memory), rtol=1e-8)
        for method, expected in outputs(memory, X).items():
            answer = getattr(other, method)(new)
            if method.startswith("fit_"):  # of the rows that it keeps, in memory
                assert_same({method: answer}, {method: expected}, rtol=1e-8)
                continue
            assert isinstance(answer, Batches if kind == "batches" else da.Array), method
            values = np.concatenate(list(answer)) if kind == "batches" else answer.compute()
            assert_same({method: values}, {method: expected}, rtol=1e-8)


def _of_kinds(models, check):
    """All kinds of collections for the representatives, for others one kind that differs between classes."""
    full = {label(model) for model in representatives(models)}
    for model in models:
        reason = excuse(model, check)
        marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
        for kind in KINDS if label(model) in full else [dealt(model, KINDS)]:
            yield pytest.param(model, kind, id=f"{kind}-{label(model)}", marks=marks)


@pytest.mark.parametrize(("model", "kind"), list(_of_kinds(one_of_each(MODELS), "collections/queries")))
def test_memory_equals_other_collections(model, kind):
    _assert_same_as_memory(model, kind, None)


@pytest.mark.parametrize(("model", "kind"), list(_of_kinds(WEIGHTED, "collections")))
def test_memory_equals_other_collections_with_weights(model, kind):
    w = np.random.default_rng(3).integers(0, 3, size=len(problem(model)[1])).astype(float)
    _assert_same_as_memory(model, kind, w)


@over_registry(one_of_each(MODELS), "collections")
def test_dask_threads_give_the_same(model):
    X, y = problem(model)
    DX, Dy = da.from_array(X, chunks=(60, -1)), da.from_array(y, chunks=60)
    with dask.config.set(scheduler="synchronous"):
        one = state(precise(model).fit(DX, Dy), X)
    with dask.config.set(scheduler="threads", num_workers=3):
        many = state(precise(model).fit(DX, Dy), X)
    assert_identical(many, one)


@over_registry(MODELS, "deterministic")
def test_refit_is_deterministic(model, no_global_rng):
    X, y = problem(model)
    first = clone(model).fit(X, y)
    before = numbers(first) | outputs(first, X)
    once = fitted(model)
    assert_identical(numbers(once) | outputs(once, X), before)
    other = problem(model, n=100, seed=5)
    again = first.fit(*other).fit(X, y)
    assert_identical(numbers(again) | outputs(again, X), before)


def test_labels_tell_instances_apart():
    assert len({label(model) for model in MODELS}) == len(MODELS)
