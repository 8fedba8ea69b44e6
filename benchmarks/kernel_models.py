"""Chapter ``kernel_models``: large data, strings and paths, with processor time so that a busy machine does not count.

``python -m benchmarks kernel_models [--only NAME] [--quick]`` writes them into the results;
``python -m benchmarks.kernel_models [NAME …] [--share 0.1]`` prints them, of that part of the rows. Workloads:

* ``path``: `KernelRidge`, 5,000 rows, 20 values of λ with leave-one-out errors, against scikit-learn's `GridSearchCV`
  with five folds (100 fits), and against its fits for leaving out one row at a time (100,000);
* ``strings``: the subsequence kernel of length 4 for 200 strings of 25, 50, 100 and 200 characters: twice the length is
  four times the time;
* ``landmarks`` and ``cosines``: `SVC`, `SVR` and `KernelRidge` on 500,000 × 20 with 300 features, peak memory, and what
  is lost against the exact model on 10,000 of the rows;
* ``inducing``: `GaussianProcessRegressor` on 1,000,000 × 8 with 100 inducing points, the score and the coverage of
  intervals on 10,000 rows held out, and what an exact process of 1,500 of the rows scores;
* ``logistic``: `KernelLogisticRegression` on 4,000 × 20 with three classes;
* ``perceptron``: `KernelPerceptron` on 10,000 × 20, five passes.
"""

import argparse
import contextlib
import io
import resource
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

SEED = 2026


def rows(n: int, p: int = 20) -> tuple[Any, Any]:
    """Standard normal rows and a number with bends."""
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((n, p))
    return X, X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] + 0.3 * rng.standard_normal(n)


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time of all threads, and the result."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def path(share: float) -> None:
    from sklearn.kernel_ridge import KernelRidge as Theirs
    from sklearn.model_selection import GridSearchCV

    from didact.kernel_ridge import KernelRidge

    X, y = rows(int(5_000 * share), 10)
    alphas = np.logspace(-4, 2, 20)
    ours, model = seconds(lambda: KernelRidge(kernel="rbf", alphas=alphas).fit(X, y))
    grid = GridSearchCV(Theirs(kernel="rbf"), {"alpha": alphas}, cv=5, refit=True)
    theirs, _ = seconds(lambda: grid.fit(X, y))
    single, _ = seconds(lambda: Theirs(kernel="rbf", alpha=1.0).fit(X, y))
    print(f"path of 20 λ, {len(X)} rows: {ours:.2f} s; a grid of five folds {theirs / ours:.1f} times that, of leaving")
    print(f"  out one row at a time (fits of one model, times their number) {20 * len(X) * single / ours:,.0f} times")
    print(f"  λ = {model.alpha_:.3g}, five folds {grid.best_params_['alpha']:.3g}")


def strings(share: float) -> None:
    from didact.kernels import StringSubsequence

    rng, kernel = np.random.default_rng(SEED), StringSubsequence(4)
    kernel(["warm", "up"])
    print("characters  seconds  seconds per length²·10⁶")
    for length in (25, 50, 100, 200):
        texts = ["".join(rng.choice(list("acgt"), length)) for _ in range(int(200 * share))]
        taken, _ = seconds(lambda texts=texts: kernel(texts))
        print(f"{length:10d}  {taken:7.3f}  {taken / length**2 * 1e6:7.2f}")


def _features(approximation: str, share: float) -> None:
    from didact.kernel_ridge import KernelRidge
    from didact.svm import SVC, SVR

    X, z = rows(int(510_000 * share))
    n = len(X) - len(X) // 51
    y = (z > 0).astype(int)
    print(f"{approximation}, 300 features, {n} × {X.shape[1]}, scored on {len(X) - n} more:")
    for cls, target, more in ((KernelRidge, z, {"kernel": "rbf"}), (SVR, z, {}), (SVC, y, {})):
        model = cls(approximation=approximation, n_components=300, random_state=0, **more)
        taken, _ = seconds(lambda model=model, target=target: model.fit(X[:n], target[:n]))
        few = min(10_000, max(500, n // 50))
        exact = cls(**more).fit(X[:few], target[:few]).score(X[n:], target[n:])
        small = cls(**model.get_params()).fit(X[:few], target[:few]).score(X[n:], target[n:])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"  {cls.__name__}: {taken:.1f} s, score {model.score(X[n:], target[n:]):.4f}, peak {peak:.2f} GiB;",
            end=" ",
        )
        print(f"on {few} rows {small:.4f}, exact {exact:.4f}")


def landmarks(share: float) -> None:
    _features("nystroem", share)


def cosines(share: float) -> None:
    _features("random_features", share)


def inducing(share: float) -> None:
    from benchmarks.data import smooth_surface
    from didact.gaussian_process import GaussianProcessRegressor
    from didact.kernels import RBF, White

    n, held = int(1_000_000 * share), int(10_000 * share)
    X, y = smooth_surface(np.random.default_rng(SEED), n + held, 8)
    kernel = 1.0 * RBF(np.ones(8).tolist()) + White(0.5)
    model = GaussianProcessRegressor(kernel, inducing=100, random_state=0)
    taken, _ = seconds(lambda: model.fit(X[:n], y[:n]))
    mean, deviation = model.predict(X[n:], return_std=True)
    inside = float((np.abs(y[n:] - mean) < 1.96 * deviation).mean())
    few = min(1500, n)
    exact = GaussianProcessRegressor(kernel).fit(X[:few], y[:few]).score(X[n:], y[n:])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"100 inducing points, {n} × 8, scored on {held} more: {taken:.1f} s, R² {model.score(X[n:], y[n:]):.4f},")
    print(f"  {inside:.1%} of the targets inside intervals of 95%, peak {peak:.2f} GiB; an exact process of {few} rows")
    print(f"  {exact:.4f}, the function itself without its noise {1 - 0.09 / float(y[n:].var()):.4f}")


def logistic(share: float) -> None:
    from didact.svm import KernelLogisticRegression

    X, z = rows(int(4_000 * share))
    model = KernelLogisticRegression()
    taken, _ = seconds(lambda: model.fit(X, np.digitize(z, [-1.0, 1.0])))
    print(f"logistic, {len(X)} rows, three classes: {taken:.2f} s, {model.n_iter_} Newton steps")


def perceptron(share: float) -> None:
    from didact.svm import KernelPerceptron

    X, z = rows(int(10_000 * share))
    model = KernelPerceptron(max_iter=5, random_state=0)
    taken, _ = seconds(lambda: model.fit(X, z > 0))
    print(f"perceptron, {len(X)} rows, five passes: {taken:.2f} s, {model.n_mistakes_[0]} mistakes")


def measure(name: str, folder: Path, quick: bool) -> dict[str, Any]:
    """What a workload prints, as a record of the harness."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        RUNS[name](0.05 if quick else 1.0)
    return {"text": said.getvalue()}


RUNS = {f.__name__: f for f in (path, strings, landmarks, cosines, inducing, logistic, perceptron)}
WORKLOADS: list[Any] = []
EXTRAS = {name: partial(measure, name) for name in RUNS}


def main() -> None:
    """Run the workloads that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*RUNS, []])
    parser.add_argument("--share", type=float, default=1.0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.names or RUNS:
        RUNS[name](options.share)


if __name__ == "__main__":
    main()
