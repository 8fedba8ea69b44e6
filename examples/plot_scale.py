"""
The same coefficients in memory, out of core and on Dask
========================================================

A fit sees its data as blocks of rows, and what crosses the border of a block is a small sum. So it does not matter
where the blocks are: in an array, in a file that is read piece by piece (:class:`didact.Batches`), or in the chunks
of a Dask array. Here Dask runs on threads; the same lines run on a cluster of many machines (:doc:`/scale`).
"""

import tempfile
from pathlib import Path

import dask
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from didact import Batches
from didact.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge

rng = np.random.default_rng(5)
n, p = 60_000, 12
names = [f"x{j}" for j in range(p)]
X = rng.normal(size=(n, p)) + np.arange(p)
z = (X - np.arange(p)) @ rng.normal(scale=0.3, size=p)
models = {
    "LinearRegression": (LinearRegression(), z + rng.normal(size=n)),
    "Ridge": (Ridge(alpha=10.0), z + rng.normal(size=n)),
    "PoissonRegressor": (PoissonRegressor(alpha=1e-3, tol=1e-10), rng.poisson(np.exp(z)).astype(float)),
    "LogisticRegression": (LogisticRegression(tol=1e-10), (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)),
}

# %%
# Three ways to bring the rows
# ----------------------------
found = {}
with tempfile.TemporaryDirectory() as folder, dask.config.set(scheduler="threads"):
    for name, (model, y) in models.items():
        path = Path(folder) / f"{name}.parquet"
        parquet.write_table(pa.table([*X.T, y], names=[*names, "y"]), path)
        found[name] = {
            "memory": model.fit(X, y).coef_.ravel(),
            "out of core": model.fit(Batches.from_parquet(path, target="y", batch_rows=7_000)).coef_.ravel(),
            "Dask": model.fit(da.from_array(X, chunks=(9_000, p)), da.from_array(y, chunks=9_000)).coef_.ravel(),
        }

# %%
# How far apart they are
# ----------------------
# Beside the coefficients of the logistic model, the largest difference between any two of the three ways, relative to
# the largest coefficient. What is tested is that it stays below 1e-8.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", width_ratios=[3, 2])
for (way, coef), marker, size in zip(found["LogisticRegression"].items(), "osx", (11, 7, 5)):
    left.plot(names, coef, marker, markersize=size, fillstyle="none", label=way)
left.axhline(0, color="black", linewidth=0.8)
left.set(ylabel="coefficient", title="LogisticRegression, fitted in three ways")
left.legend(frameon=False)

gaps = {
    name: np.ptp(np.array(list(ways.values())), axis=0).max() / np.abs(ways["memory"]).max()
    for name, ways in found.items()
}
right.barh(list(gaps)[::-1], [max(g, 1e-17) for g in gaps.values()][::-1], color="tab:blue", height=0.5)
right.axvline(1e-8, color="tab:orange")
right.text(1.5e-8, 1.5, "promised", color="tab:orange", rotation=90, verticalalignment="center")
right.set(xscale="log", xlim=(1e-17, 1e-6), xlabel="largest relative difference")
plt.show()
for name, gap in gaps.items():
    print(f"{name:20s} {gap:.1e}")
