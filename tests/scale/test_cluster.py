"""A real cluster of worker processes: the same answers, workers that die in the middle of it, models that travel."""

import os
import signal
import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from didact import Batches
from didact.discriminant_analysis import GaussianClassifier, LinearDiscriminantAnalysis
from didact.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow,
    # What distributed and its event loop say of sockets while a worker is being killed is not ours.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning",
                               "ignore::UserWarning:distributed"),
]  # fmt: skip

WORKERS = 2
MODELS = [
    (LinearRegression(), "amount"),
    (Ridge(alpha=2.0), "amount"),
    (PoissonRegressor(alpha=0.01, tol=1e-10), "count"),
    (LogisticRegression(tol=1e-10), "kind"),
    (LogisticRegression(C=np.inf, tol=1e-10), "two"),
    (LinearDiscriminantAnalysis(), "kind"),
]
IDS = [f"{type(model).__name__}-{target}" for model, target in MODELS]


@pytest.fixture(scope="module")
def client():
    """Worker processes, each with a nanny that starts it again when it dies.

    Some time after a worker was lost the cluster looks whether another one of its name is there, and closes the nanny
    if none is: a second kill just then would leave one worker for good. Here that time does not come.
    """
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}),
        distributed.LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 6))
    eta = X @ [0.5, -0.4, 0.3, 0.0, 0.2, -0.1] + 0.2
    noise = rng.normal(size=len(eta))
    kinds = np.array(["blue", "green", "red"])[np.searchsorted([-0.3, 0.6], eta + noise)]
    targets = {"amount": eta + noise, "count": rng.poisson(np.exp(eta)).astype(float), "kind": kinds}
    return X, targets | {"two": (eta + rng.logistic(size=len(eta)) > 0).astype(int)}


def on_dask(X, y, chunk=1500):
    return da.from_array(X, chunks=(chunk, -1)), da.from_array(y, chunks=chunk)


def assert_same(model, memory):
    np.testing.assert_allclose(model.coef_, memory.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, memory.intercept_, rtol=1e-8, atol=1e-10)


def assert_same_values(got, expected):
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-10)
    else:
        np.testing.assert_array_equal(got, expected)


def fresh(model):
    return type(model)(**model.get_params())


@pytest.mark.parametrize(("model", "target"), MODELS, ids=IDS)
def test_cluster_equals_memory(client, data, model, target):
    X, y = data[0], data[1][target]
    memory = fresh(model).fit(X, y)
    DX, Dy = on_dask(X, y)
    fitted = fresh(model).fit(DX, Dy)
    assert_same(fitted, memory)
    assert isinstance(fitted.coef_, np.ndarray), "fitted attributes are small local arrays"
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(fitted, method):
            answer = getattr(fitted, method)(DX)
            assert isinstance(answer, da.Array)
            assert answer.chunks[0] == DX.chunks[0]
            expected = getattr(memory, method)(X)
            assert answer.dtype == expected.dtype
            assert_same_values(answer.compute(), expected)


@pytest.mark.parametrize(("model", "target"), MODELS, ids=IDS)
def test_weights_and_frames_on_the_cluster(client, data, model, target):
    X, y = data[0][:4000], data[1][target][:4000]
    w = np.random.default_rng(1).integers(0, 3, size=len(y)).astype(float)
    names = [f"x{j}" for j in range(X.shape[1])]
    table = dd.from_pandas(pd.DataFrame(X, columns=names).assign(y=y, w=w), npartitions=5)
    fitted = fresh(model).fit(table[names], table["y"], sample_weight=table["w"])
    assert_same(fitted, fresh(model).fit(X, y, sample_weight=w))
    assert list(fitted.feature_names_in_) == names
    assert isinstance(fitted.predict(table[names]), da.Array)


@pytest.mark.parametrize("covariance", ["full", "shared"])
def test_gaps_on_the_cluster(client, data, covariance):
    X, y = data[0][:4000].copy(), data[1]["kind"][:4000]
    X[np.random.default_rng(2).uniform(size=X.shape) < 0.1] = np.nan
    memory = GaussianClassifier(covariance=covariance).fit(X, y)
    fitted = GaussianClassifier(covariance=covariance).fit(*on_dask(X, y, 1000))
    np.testing.assert_allclose(fitted.covariance_, memory.covariance_, rtol=1e-8)
    assert_same_values(fitted.predict_proba(on_dask(X, y, 1000)[0]).compute(), memory.predict_proba(X))


def test_work_is_spread_over_the_workers(client, data):
    """Otherwise the rest of this file would show little."""
    X, y = on_dask(data[0], data[1]["amount"], chunk=500)
    X = X.map_blocks(slow, dtype=X.dtype, meta=np.empty((0, 0)))
    before = client.run(tasks_done)
    LinearRegression().fit(X, y)
    after = client.run(tasks_done)
    assert sum(after[w] > before[w] for w in after) == WORKERS


def tasks_done(dask_worker):
    return dask_worker.state.executed_count


class KillAWorker:
    """At the end of the second iteration a thread begins to wait for the next pass, and kills a worker in it."""

    def __init__(self, pids):
        self.pids, self.killed_at, self.iterations = pids, None, 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.iterations = getattr(context, "iteration", self.iterations)
        if self.iterations == 2 and self.killed_at is None:
            self.killed_at = self.iterations
            threading.Timer(0.05, os.kill, (self.pids[0], signal.SIGKILL)).start()


def slow(block):
    time.sleep(0.02)
    return block


@pytest.mark.parametrize(
    ("model", "target", "persisted"),
    [(*MODELS[2], False), (*MODELS[3], True)],
    ids=["Poisson, lazy", "softmax, persisted"],
)
def test_a_worker_killed_in_the_middle_of_a_fit_changes_nothing(client, data, model, target, persisted):
    client.wait_for_workers(WORKERS, timeout=60)
    X, y = data[0], data[1][target]
    memory = fresh(model).fit(X, y)
    DX, Dy = on_dask(X, y, chunk=1000)
    DX = DX.persist() if persisted else DX.map_blocks(slow, dtype=DX.dtype, meta=np.empty((0, 0)))
    distributed.wait(DX)
    before = client.run(os.getpid)
    killer = KillAWorker(list(before.values()))
    fitted = fresh(model).set_callbacks(killer).fit(DX, Dy)
    assert killer.killed_at == 2
    assert killer.iterations > 2, "the fit went on after the kill"
    assert_same(fitted, memory)
    wait_for_another(client, killer.pids[0])


def wait_for_another(client, killed):
    client.wait_for_workers(WORKERS, timeout=60)
    deadline = time.monotonic() + 60
    while killed in (after := client.run(os.getpid)).values() or len(after) < WORKERS:
        assert time.monotonic() < deadline, "the worker was not killed"
        time.sleep(0.1)


def test_models_travel_to_workers_and_back(client, data):
    client.wait_for_workers(WORKERS, timeout=60)
    X = data[0][:1000]
    for model, target in MODELS:
        y = data[1][target][:1000]
        local = fresh(model).fit(X, y)
        np.testing.assert_array_equal(client.submit(local.predict, X).result(), local.predict(X))
        there = client.submit(fresh(model).fit, X, y).result()
        assert_same(there, local)
        assert_same_values(there.predict(X), local.predict(X))


def test_one_thread_in_a_worker(client):
    from didact.core.threads import thread_count

    assert client.submit(thread_count, pure=False).result() == 1


def test_errors_of_a_worker_reach_the_user(client, data):
    X = data[0][:1000].copy()
    X[700, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*column 2.*didact\.impute"):
        LinearRegression().fit(*on_dask(X, data[1]["amount"][:1000], chunk=200))
    with pytest.raises(ValueError, match="out of the valid range"):
        PoissonRegressor().fit(*on_dask(data[0], -1 - data[1]["count"]))


def test_batches_in_batches_out(data):
    X, y = data[0], data[1]["kind"]
    pieces = [slice(k, k + 900) for k in range(0, len(y), 900)]
    model = LogisticRegression(tol=1e-10).fit(Batches(lambda: ((X[s], y[s]) for s in pieces)))
    answer = model.predict_proba(Batches(lambda: (X[s] for s in pieces)))
    assert isinstance(answer, Batches)
    sizes = [len(batch) for batch in answer]
    assert sizes == [len(y[s]) for s in pieces]
    np.testing.assert_allclose(np.concatenate(list(answer)), model.predict_proba(X), rtol=1e-12)


def test_boosting_in_rounds_survives_a_killed_worker(client, data, monkeypatch):
    """What the workers keep is lost with one of them, and made again."""
    from didact.ensemble import HistGradientBoostingClassifier
    from didact.ensemble import hist_gradient_boosting_base as base

    client.wait_for_workers(WORKERS, timeout=60)
    X, y = data[0], data[1]["two"]
    model = HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=6, early_stopping=False)
    DX, Dy = on_dask(X, y, chunk=3000)
    gathered = fresh(model).fit(DX, Dy)
    monkeypatch.setattr(base, "GATHERED", 0)
    monkeypatch.setattr(base, "coded_rows", None)
    killer = KillAWorker(list(client.run(os.getpid).values()))
    fitted = fresh(model).set_callbacks(killer).fit(DX, Dy)
    assert killer.killed_at == 2
    for a, b in zip(fitted._packed, gathered._packed, strict=True):
        np.testing.assert_array_equal(a, b)
    wait_for_another(client, killer.pids[0])
