"""Files larger than the memory allowed: two million rows fitted and predicted below 1 GiB, and the same answers."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from didact import Batches
from didact.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge

pytestmark = pytest.mark.slow

ROWS, SMALL, CHUNK, COLUMNS = 2_000_000, 200_000, 100_000, 20
NAMES = [f"x{j}" for j in range(COLUMNS)]
TRUE = np.random.default_rng(0).normal(size=COLUMNS) / np.sqrt(COLUMNS)
INTERCEPT = 0.3
LIMIT = 1 << 30

MODELS = {
    "LinearRegression": (LinearRegression(), "amount"),
    "Ridge": (Ridge(alpha=1.0), "amount"),
    "PoissonRegressor": (PoissonRegressor(alpha=0.0, tol=1e-10), "count"),
    "LogisticRegression": (LogisticRegression(C=np.inf, tol=1e-10), "kind"),
}


def chunk(number):
    """A hundred thousand rows with a target of each kind."""
    rng = np.random.default_rng([1, number])
    X = rng.normal(size=(CHUNK, COLUMNS))
    eta = X @ TRUE + INTERCEPT
    kind = (rng.uniform(size=CHUNK) < 1 / (1 + np.exp(-eta))).astype(np.int8)
    return X, {"amount": eta + rng.normal(size=CHUNK), "count": rng.poisson(np.exp(eta)).astype(float), "kind": kind}


def write(path, rows):
    """Written piece by piece, so that this process does not hold the table either."""
    schema = pa.schema([*((name, pa.float64()) for name in NAMES), ("amount", pa.float64()), ("count", pa.float64()),
                        ("kind", pa.int8())])  # fmt: skip
    with pyarrow.parquet.ParquetWriter(path, schema, use_dictionary=False, compression="none") as file:
        for number in range(rows // CHUNK):
            X, targets = chunk(number)
            file.write_table(pa.table([*X.T, *targets.values()], schema=schema))


# Fits and predicts all four models in a process of its own and prints what came out. VmHWM is the peak of resident
# memory of this program alone; getrusage would count what the parent had when it started this one.
PROGRAM = """
import json, sys
import numpy as np
from didact import Batches
from didact.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
path, models, names = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
def peak():
    return next(int(l.split()[1]) * 1024 for l in open("/proc/self/status") if l.startswith("VmHWM"))
out = {}
for name, (params, target) in models.items():
    model = globals()[name](**{k: float(v) if v == "inf" else v for k, v in params.items()})
    batches = Batches.from_parquet(path, target=target, columns=names)
    model.fit(batches)
    new = Batches.from_parquet(path, columns=names)
    answer = model.predict_proba(new) if hasattr(model, "predict_proba") else model.predict(new)
    assert isinstance(answer, Batches)
    rows, total = 0, 0.0
    for batch in answer:
        rows, total = rows + len(batch), total + float((batch[:, 1] if batch.ndim == 2 else batch).sum())
    out[name] = {"coef": np.ravel(model.coef_).tolist(), "intercept": float(np.ravel(model.intercept_)[0]),
                 "rows": rows, "total": total, "names": list(model.feature_names_in_), "peak": peak()}
print(json.dumps(out))
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """What a process under the limit says of two million rows."""
    path = tmp_path_factory.mktemp("large") / "table.parquet"
    write(path, ROWS)
    assert path.stat().st_size > 300e6
    models = {name: ({k: v if np.isfinite(v) else "inf" for k, v in model.get_params().items()
                      if k in ("alpha", "C", "tol")}, target) for name, (model, target) in MODELS.items()}  # fmt: skip
    command = [sys.executable, "-c", PROGRAM, str(path), json.dumps(models), json.dumps(NAMES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    path.unlink()
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def sums():
    """Σy of the file by target, and the information matrix of each model in one chunk, scaled to all rows."""
    totals = {"amount": 0.0, "count": 0.0, "kind": 0.0}
    for number in range(ROWS // CHUNK):
        rng_totals = chunk(number)[1]
        for target in totals:
            totals[target] += float(rng_totals[target].sum())
    X, _ = chunk(0)
    Z = np.column_stack([X, np.ones(CHUNK)])
    eta = Z @ np.append(TRUE, INTERCEPT)
    p = 1 / (1 + np.exp(-eta))
    variances = {"amount": np.ones(CHUNK), "count": np.exp(eta), "kind": p * (1 - p)}
    return totals, {t: (Z.T * v) @ Z * (ROWS / CHUNK) for t, v in variances.items()}


@pytest.mark.parametrize("name", MODELS)
def test_two_million_rows_below_one_gibibyte(name, large):
    assert large[name]["peak"] < LIMIT
    assert large[name]["rows"] == ROWS
    assert large[name]["names"] == NAMES


@pytest.mark.parametrize("name", MODELS)
def test_two_million_rows_give_the_true_coefficients(name, large, sums):
    """Within five standard errors, which come from the information matrix."""
    errors = np.sqrt(np.diag(np.linalg.inv(sums[1][MODELS[name][1]])))
    found = np.append(large[name]["coef"], large[name]["intercept"])
    z = (found - np.append(TRUE, INTERCEPT)) / errors
    assert np.abs(z).max() < 5
    assert np.std(z) > 0.3, "standard errors that are far too large would show nothing"


@pytest.mark.parametrize("name", MODELS)
def test_two_million_predictions_add_up(name, large, sums):
    """With a constant term and a canonical link Σ predictions = Σ y: every row was seen, in fit and in predict."""
    np.testing.assert_allclose(large[name]["total"], sums[0][MODELS[name][1]], rtol=1e-8)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "table.parquet"
    write(path, SMALL)
    parts = [chunk(number) for number in range(SMALL // CHUNK)]
    X = np.concatenate([part[0] for part in parts])
    return path, X, {t: np.concatenate([part[1][t] for part in parts]) for t in parts[0][1]}


@pytest.mark.parametrize("name", MODELS)
def test_file_equals_memory(name, small):
    path, X, targets = small
    model, target = MODELS[name]
    batches = Batches.from_parquet(path, target=target, columns=NAMES, batch_rows=30_000)
    memory = model.fit(X, targets[target])
    coef, intercept, expected = memory.coef_, memory.intercept_, memory.predict(X)
    model.fit(batches)
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-8)
    np.testing.assert_allclose(model.intercept_, intercept, rtol=1e-8)
    answer = np.concatenate(list(model.predict(Batches.from_parquet(path, columns=NAMES))))
    np.testing.assert_allclose(answer, expected, rtol=1e-8)


@pytest.mark.parametrize("kind", ["csv", "arrow"])
@pytest.mark.parametrize("name", MODELS)
def test_csv_and_arrow_equal_memory(name, kind, tmp_path):
    X, targets = chunk(0)
    X, (model, target) = X[:4000, :5], MODELS[name]
    y = targets[target][:4000]
    w = np.random.default_rng(1).integers(0, 3, size=4000).astype(float)
    table = pa.table([*X.T, y, w], names=[*NAMES[:5], "target", "weight"])
    path = tmp_path / f"table.{kind}"
    if kind == "csv":
        pyarrow.csv.write_csv(table, path)
        batches = Batches.from_csv(path, target="target", sample_weight="weight", batch_bytes=1 << 16)
    else:
        pyarrow.feather.write_feather(table, path, chunksize=500, compression="uncompressed")
        batches = Batches.from_arrow(path, target="target", sample_weight="weight")
    assert sum(1 for _ in batches) > 3
    memory = model.fit(X, y, sample_weight=w).coef_
    np.testing.assert_allclose(model.fit(batches).coef_, memory, rtol=1e-8)
    assert list(model.feature_names_in_) == NAMES[:5]


def test_memory_is_two_batches_and_not_the_table():
    """A source of a thousand batches: what is held at once does not grow with their number."""
    alive, most = set(), [0]

    class Tracked(np.ndarray):
        def __del__(self):
            alive.discard(id(self))

    def read():
        rng = np.random.default_rng(0)
        for _ in range(1000):
            X = rng.normal(size=(50, 3)).view(Tracked)
            alive.add(id(X))
            most[0] = max(most[0], len(alive))
            yield X, rng.normal(size=50)
            del X

    LinearRegression().fit(Batches(read))
    assert 2 <= most[0] <= 6
