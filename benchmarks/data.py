"""The data of the workloads: made block by block from fixed seeds, written once, loaded by every process.

A kind that is no function of this file is a real data set of ``benchmarks.real_data``.

The rows of a size are the first rows of every larger size. Dense columns, unless said otherwise, have mean 1, variance
1.25 and pairwise correlation 0.2 (one common factor), so the condition number of the covariance is about 1 + p/4.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

SEED = 2026
BLOCK = 50_000
HELD = 1_000_000  # number of the first block of rows that are held out, beyond all blocks to fit
Matrix = np.ndarray | sparse.csr_matrix


@dataclass(frozen=True)
class Data:
    """A kind of data (a function of this file) and its size."""

    kind: str
    rows: int
    columns: int
    block: int = BLOCK  # rows made at a time; part of the seed, so part of the data
    held: int = 0  # further rows, held out to score predictions


def features(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    X = rng.standard_normal((n, p))
    X += 0.5 * rng.standard_normal((n, 1)) + 1.0
    return X


def weights(p: int, k: int | None = None) -> np.ndarray:
    """The true coefficients: the same whatever the number of rows."""
    return np.random.default_rng([SEED, p]).standard_normal(p if k is None else (p, k)) / np.sqrt(p)


def regression(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    X = features(rng, n, p)
    return X, X @ weights(p) + 0.5 * rng.standard_normal(n)


def binary(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    X = features(rng, n, p)
    return X, draw_labels(rng, 2 * (X - 1) @ weights(p) - 0.5)


def ten_classes(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    X = features(rng, n, p)
    return X, np.argmax(2 * (X - 1) @ weights(p, 10) + rng.gumbel(size=(n, 10)), axis=1)


def counts(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    X = features(rng, n, p)
    return X, rng.poisson(np.exp(0.4 * (X - 1) @ weights(p) + 0.5)).astype(float)


def amounts(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    X = features(rng, n, p)
    return X, rng.gamma(2.0, np.exp(0.4 * (X - 1) @ weights(p) + 0.5) / 2.0)


def sparse_regression(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    """Density 0.5 %."""
    X = uniform_cells(rng, n, p, 200)
    return X, X @ weights(p) * np.sqrt(p) / 5 + 0.5 * rng.standard_normal(n)


def few(p: int, k: int) -> np.ndarray:
    """True coefficients of which k, evenly spaced, are not zero: standard normal."""
    truth = np.zeros(p)
    truth[:: p // k][:k] = np.random.default_rng([SEED, p]).standard_normal(k)
    return truth


def wide(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    """100 columns matter; the noise has a tenth of the variance of what they explain (without the common factor)."""
    X = features(rng, n, p)
    return X, X @ few(p, 100) + np.sqrt(10) * rng.standard_normal(n)


def wide_tasks(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    """Four targets, for which the same 100 columns matter; noise as in `wide`."""
    X = features(rng, n, p)
    truth = few(p, 100)[:, None] * np.random.default_rng([SEED, p, 4]).standard_normal((p, 4))
    return X, X @ truth + np.sqrt(10) * rng.standard_normal((n, 4))


def sparse_wide(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    """Density 0.1 %; 500 columns matter, and the noise has an eighth of the variance of what they explain."""
    X = uniform_cells(rng, n, p, 1000)
    return X, X @ few(p, 500) + 0.25 * rng.standard_normal(n)


def sparse_binary(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    """Density 0.1 %: about 50 entries a row at 50,000 columns, all of which matter."""
    X = uniform_cells(rng, n, p, 1000)
    return X, draw_labels(rng, X @ weights(p) * np.sqrt(p) / 2)


def scaled_binary(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    """As ``binary``, with columns of mean 0 and variance 1, as stochastic gradients are to be given them."""
    X, y = binary(rng, n, p)
    return (X - 1) / np.sqrt(1.25), y


def curve(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    """A sine wave over unsorted points, with normal noise and one outlier in ten."""
    x = rng.uniform(0, 10, n)
    noise = 0.3 * rng.standard_normal(n) * np.where(rng.random(n) < 0.1, 10.0, 1.0)
    return x[:, None], np.sin(x) + noise


def inequalities(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    """Rows g and numbers h of constraints g x ≤ h that cut off the minimum of ``quadratic(p)`` but not x = 0."""
    return rng.standard_normal((n, p)), rng.uniform(0.1, 1.0, n)


def quadratic(p: int) -> tuple[np.ndarray, np.ndarray]:
    """P and q of the objective ½xᵀPx + qᵀx in p variables; P has eigenvalues between 1 and about 5."""
    rng = np.random.default_rng([SEED, p])
    M = rng.standard_normal((p, p))
    return M @ M.T / p + np.eye(p), rng.standard_normal(p)


def start(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    """A point from which to minimise, one coordinate a row."""
    return rng.uniform(-1, 1, (n, 1)), np.zeros(n)


def text(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    """Density 0.2 % at 50,000 words: tf-idf rows of unit length, Zipf-like frequencies; 1,000 words matter."""
    tokens = p // 490
    frequency = 1.0 / (np.arange(p) + 30.0) ** 0.9
    frequency /= frequency.sum()
    words = np.searchsorted(np.cumsum(frequency)[:-1], rng.random((n, tokens)))
    cells, times = np.unique(words + p * np.arange(n)[:, None], return_counts=True)
    inverse_document_frequency = 1.0 - np.log(-np.expm1(tokens * np.log1p(-frequency)))
    X = from_cells(cells, (1 + np.log(times)) * inverse_document_frequency[cells % p], n, p)
    X.data /= np.repeat(np.sqrt(X.multiply(X).sum(axis=1).A1), np.diff(X.indptr))
    truth = np.zeros(p)
    truth[: 10 * 1000 : 10] = np.random.default_rng([SEED, p]).standard_normal(1000)
    return X, draw_labels(rng, 10 * X @ truth)


def gaussian_classes(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    """Five Gaussian classes with means and covariances of their own; the latter have condition numbers of about 10."""
    truth = np.random.default_rng([SEED, p])
    shapes = np.eye(p) + 0.3 * truth.standard_normal((5, p, p)) / np.sqrt(p)
    means = 0.15 * truth.standard_normal((5, p)) + 1.0
    y = rng.integers(0, 5, n)
    X = rng.standard_normal((n, p))
    for k in range(5):
        X[y == k] = X[y == k] @ shapes[k] + means[k]
    return X, y


def word_counts(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    """Density 0.2 % at 50,000 words: counts of Zipf-like words in ten classes, which use them more or less often."""
    tokens = p // 490
    tilt = np.exp(0.3 * np.random.default_rng([SEED, p]).standard_normal((10, p)))
    edges = np.cumsum(tilt / (np.arange(p) + 30.0) ** 0.9, axis=1)
    y = rng.integers(0, 10, n)
    words = np.empty((n, tokens), np.int64)
    for k in range(10):
        words[y == k] = np.searchsorted(edges[k, :-1] / edges[k, -1], rng.random(((y == k).sum(), tokens)))
    cells, times = np.unique(words + p * np.arange(n)[:, None], return_counts=True)
    return from_cells(cells, times.astype(float), n, p), y


def parts(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    """Sums of 20 sparse non-negative parts, and a little non-negative noise."""
    truth = np.random.default_rng([SEED, p])
    H = truth.exponential(size=(20, p)) * (truth.random((20, p)) < 0.3)
    W = rng.exponential(size=(n, 20)) * (rng.random((n, 20)) < 0.3)
    return W @ H + 0.1 * np.abs(rng.standard_normal((n, p))), np.zeros(n)


def mixed_sources(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    """Mixtures of as many independent sources with the tails of a double exponential."""
    return rng.laplace(size=(n, p)) @ np.random.default_rng([SEED, p]).standard_normal((p, p)), np.zeros(n)


def surface(rng: np.random.Generator, n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Continuous columns for trees, and a function of half of them with waves, products, kinks and steps.

    Of 20 columns ten matter, four repeat what others say (sums of two of them with noise) and six are noise; a third of
    all are log-normal. The function has mean about 0 and variance about 4.
    """
    z = rng.standard_normal((n, p))
    k, r = p // 2, p // 5
    z[:, k : k + r] = (z[:, :r] + z[:, k - r : k] + 0.5 * z[:, k : k + r]) / 1.5
    f = 1.5 * np.sin(2 * z[:, 0]) + z[:, 1] * z[:, 2] + np.abs(z[:, 3]) - 0.8
    f += np.where(z[:, 4] > 0.5, z[:, 5] + 0.5, -0.25) + 0.5 * z[:, 6] + np.tanh(z[:, 7] + z[:, 8]) - 0.3 * z[:, 9] ** 2
    z[:, ::3] = np.exp(z[:, ::3])
    return z, f + 0.3


def nonlinear_labels(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    X, f = surface(rng, n, p)
    return X, draw_labels(rng, 2 * f)


def nonlinear_values(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    X, f = surface(rng, n, p)
    return X, f + rng.standard_normal(n)


def uneven_clusters(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    """Twenty normal clusters that overlap a little; six of them are the smaller class."""
    centres = 3.0 * np.random.default_rng([SEED, p]).standard_normal((20, p))
    cluster = rng.integers(0, 20, n)
    return centres[cluster] + 1.5 * rng.standard_normal((n, p)), (cluster < 6).astype(np.int64)


def normal_mixture(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    """Three normal distributions, of weight 0.5, 0.3 and 0.2 and standard deviation 1, 0.5 and 0.3; y is which."""
    which = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    centre = 2.0 * np.random.default_rng([SEED, p]).standard_normal((3, p))
    return centre[which] + np.array([1.0, 0.5, 0.3])[which, None] * rng.standard_normal((n, p)), which


def overlapping_clusters(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    """64 normal clusters of standard deviation 1 around centres of standard deviation 2 in each column."""
    centers, labels = 2 * np.random.default_rng([SEED, p]).standard_normal((64, p)), rng.integers(0, 64, n)
    return centers[labels] + rng.standard_normal((n, p)), labels


def swiss_roll(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    """A sheet rolled up in three dimensions, and how far along it each row lies."""
    angle = 1.5 * np.pi * (1 + 2 * rng.uniform(size=n))
    return np.column_stack([angle * np.cos(angle), 21 * rng.uniform(size=n), angle * np.sin(angle)]), angle


def small_digits(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    """scikit-learn's 1797 images of digits, 8 × 8 pixels, from the first on."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X[:n, :p], y[:n]


def places(m: int, p: int) -> np.ndarray:
    """Queries from the mixture, whatever the number of rows."""
    return normal_mixture(np.random.default_rng([SEED, p, m]), m, p)[0]


def smooth_surface(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    """A smooth function on the unit cube, with noise of standard deviation 0.3."""
    X = rng.uniform(size=(n, p))
    return X, np.sin(2 * np.pi * X).sum(axis=1) + 0.3 * rng.standard_normal(n)


def scattered(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    """Standard normal rows among which to find neighbours."""
    return rng.standard_normal((n, p)), np.zeros(n)


def queries(p: int, m: int) -> np.ndarray:
    """Rows whose neighbours are to be found: as ``scattered``, whatever the number of rows."""
    return np.random.default_rng([SEED, p, HELD]).standard_normal((m, p))


def waves(rng: np.random.Generator, n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Standard normal columns for kernels, and a function of eight of them with waves, products and kinks."""
    X = rng.standard_normal((n, p))
    f = 1.5 * np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) - 0.8 + X[:, 4] + np.tanh(X[:, 5] + X[:, 6])
    return X, f - 0.3 * (X[:, 7] ** 2 - 1.0)


def wave_labels(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    X, f = waves(rng, n, p)
    return X, draw_labels(rng, 2 * f)


def wave_values(rng: np.random.Generator, n: int, p: int) -> tuple[Matrix, np.ndarray]:
    X, f = waves(rng, n, p)
    return X, f + 0.5 * rng.standard_normal(n)


def draw_labels(rng: np.random.Generator, logit: np.ndarray) -> np.ndarray:
    return (rng.random(logit.size) < 1 / (1 + np.exp(-logit))).astype(np.int64)


def uniform_cells(rng: np.random.Generator, n: int, p: int, every: int) -> sparse.csr_matrix:
    """One cell in so many, drawn uniformly, with a standard normal value."""
    cells = np.unique(rng.integers(0, n * p, size=n * p // every))
    return from_cells(cells, rng.standard_normal(cells.size), n, p)


def from_cells(cells: np.ndarray, values: np.ndarray, n: int, p: int) -> sparse.csr_matrix:
    """The CSR matrix whose sorted cell numbers (row · p + column) hold these values."""
    pointers = np.searchsorted(cells, p * np.arange(n + 1)).astype(np.int32)
    return sparse.csr_matrix((values, (cells % p).astype(np.int32), pointers), shape=(n, p))


def write(data: Data, folder: Path) -> int:
    """Write the data under the folder and return their size in bytes, without what is held out."""
    folder.mkdir(parents=True)
    if data.kind not in globals():
        return write_real(data, folder)
    write_made(data, data.rows, folder, 0)
    size = sum(file.stat().st_size for file in folder.iterdir())
    if data.held:
        write_made(data, data.held, held_out(folder), HELD)
    return size


def held_out(folder: Path) -> Path:
    """Where the rows are that are held out."""
    return folder / "held_out"


def write_real(data: Data, folder: Path) -> int:
    """A real data set, shuffled: the last rows are held out, the first ones fitted."""
    from benchmarks import real_data

    X, y, categorical = real_data.table(data.kind)
    order = np.random.default_rng(SEED).permutation(len(y))
    held_out(folder).mkdir()
    for rows, where in ((order[-data.held :], held_out(folder)), (order[: data.rows], folder)):
        np.save(where / "X.npy", X[rows])
        np.save(where / "y.npy", y[rows])
    np.save(folder / "categorical.npy", np.flatnonzero(categorical))
    return sum((folder / part).stat().st_size for part in ("X.npy", "y.npy"))


def write_made(data: Data, rows: int, folder: Path, first_block: int) -> None:
    """Rows of a kind that is made here, in blocks that are numbered from the first one on."""
    make: Callable[..., tuple[Matrix, np.ndarray]] = globals()[data.kind]
    folder.mkdir(exist_ok=True)
    size = data.block
    starts = range(0, rows, size)
    seeds = ([SEED, data.columns, first_block + i] for i, _ in enumerate(starts))
    blocks = (make(np.random.default_rng(seed), size, data.columns) for seed in seeds)
    pieces, targets, dense = [], [], None
    for first, (X, y) in zip(starts, blocks):
        keep = min(size, rows - first)
        targets.append(y[:keep])
        if sparse.issparse(X):
            pieces.append(X[:keep])
            continue
        if dense is None:
            dense = np.lib.format.open_memmap(folder / "X.npy", "w+", X.dtype, (rows, data.columns))
        dense[first : first + keep] = X[:keep]
    if dense is None:
        X = sparse.vstack(pieces, format="csr")
        for part in ("data", "indices", "indptr"):
            np.save(folder / f"{part}.npy", getattr(X, part))
        np.save(folder / "shape.npy", X.shape)
    else:
        dense.flush()
    np.save(folder / "y.npy", np.concatenate(targets))


def load(folder: Path, *, mapped: bool = False, rows: int | None = None) -> tuple[Matrix, np.ndarray]:
    """The data in this process's own memory (or mapped from the file), all of them or the first rows."""
    mode = "r" if mapped or rows else None

    def array(part: str) -> np.ndarray:
        return np.load(folder / f"{part}.npy", mmap_mode=mode)

    if (folder / "X.npy").exists():
        X = array("X")
    else:
        shape = tuple(np.load(folder / "shape.npy"))
        X = sparse.csr_matrix((array("data"), array("indices"), array("indptr")), shape=shape, copy=False)
    y = array("y")
    return (X[:rows].copy(), y[:rows].copy()) if rows else (X, y)
