"""Chapter ``cluster``: k-means from the same start, its seeding alone, medoids, trees, crowded places and modes.

Rows are a mixture of normal clusters that overlap. Each library returns its centres, and the mean squared distance (for
medoids the mean distance) of the rows from the nearest is computed anew in float64: answers are the same when it is no
higher than the best by more than the stated share. From the same start all libraries make the same iterations but for
rounding, to scikit-learn's tolerance; faiss has none and makes 30. Seeding is random: draws are as good when the cost
of their start is within 3 per cent. Trees are the same when all their heights are, to 10⁻⁹ of the largest. Everybody
has two threads.

What must be done: for 500,000 × 16 and 50 clusters 4·10⁸ multiply-adds an iteration without bounds, 25 ms of one core
at 16 of them a nanosecond; bounds leave a fifth to a fiftieth of that. Seeding 200 of 200,000 × 32 reads 51 MB for each
centre, 10 GB in all, and makes 9·10⁹ multiply-adds. Single linkage of 20,000 × 5 makes 2·10⁸ distances, Ward linkage of
8,000 × 8 about 10⁸; average linkage of 8,000 keeps 256 MB of distances, and reads three times as much.

DBSCAN and mean shift have one answer: labels are the same when the adjusted Rand index is 1 but for a thousandth (rows
at the border of two clusters). DBSCAN at 200,000 × 3 has to meet some 30 neighbours of each row and the hundred next to
them in its leaves, 6·10⁷ distances, 0.1 s of one core.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.answers import Check, Record, blocks, relative
from benchmarks.data import Data
from benchmarks.harness import US, Fit, Workload

SKLEARN, INTELEX, FAISS, KMEDOIDS = "scikit-learn", "scikit-learn-intelex", "faiss", "kmedoids"
SCIPY, FASTCLUSTER = "SciPy", "fastcluster"
HERE = "benchmarks.adapters.clusters"
GROW = {"multiples": (0.1, 1), "rounds": 3, "budget": 20.0, "warm": 8.0}


@dataclass(frozen=True)
class SameCost(Check):
    """How far the cost of the centres is above the best, relatively; distances to this power."""

    agree: float = 1e-4
    power: float = 2.0

    def gaps(self, candidates: list[Record], folder: Path) -> list[float]:
        for c in candidates:
            c["objective"] = self.cost(np.asarray(c["answer"]["centers"], float), folder)
        return relative([c["objective"] for c in candidates], min(c["objective"] for c in candidates))

    def cost(self, centers: np.ndarray, folder: Path) -> float:
        total, n = 0.0, 0
        for X, _ in blocks(folder, 2_000_000):
            squares = (X * X).sum(axis=1)[:, None] - 2 * X @ centers.T + (centers * centers).sum(axis=1)
            total += float((np.maximum(squares.min(axis=1), 0.0) ** (self.power / 2)).sum())
            n += len(X)
        return total / n


@dataclass(frozen=True)
class SameLabels(Check):
    """How far the adjusted Rand index with the first answer is below 1."""

    agree: float = 1e-3

    def gaps(self, candidates: list[Record], folder: Path) -> list[float]:
        from sklearn.metrics import adjusted_rand_score

        found = [np.asarray(c["answer"]["labels"]) for c in candidates]
        for c, labels in zip(candidates, found, strict=True):
            c["objective"] = float(len(np.unique(labels)))
        return [1.0 - adjusted_rand_score(found[0], labels) for labels in found]


def labels(name: str, libraries: dict[str, str], **options: Any) -> dict[str, list[Fit]]:
    return {
        library: [Fit(f"{HERE}.Labels", {"path": f"{path}.cluster.{name}", **options})]
        for library, path in libraries.items()
    }


@dataclass(frozen=True)
class SameHeights(Check):
    """The largest difference of two heights of trees, relative to the largest height."""

    agree: float = 1e-9

    def gaps(self, candidates: list[Record], folder: Path) -> list[float]:
        found = [np.sort(np.asarray(c["answer"]["heights"], float)) for c in candidates]
        for c, heights in zip(candidates, found, strict=True):
            c["objective"] = float(heights.sum())
        return [float(np.abs(heights - found[0]).max() / found[0].max()) for heights in found]


def tree(linkage: str, n: int, p: int, target: float) -> Workload:
    peers = SKLEARN, SCIPY, FASTCLUSTER
    return Workload(
        f"AgglomerativeClustering, {linkage} linkage",
        Data("overlapping_clusters", n, p),
        SameHeights(),
        {name: [Fit(f"{HERE}.Tree", {"library": name, "linkage": linkage})] for name in (US, *peers)},
        dict.fromkeys(peers, target),
        **(GROW | {"multiples": (0.1, 1)}),
    )


def lloyd(path: str, *algorithms: str) -> list[Fit]:
    options: dict[str, Any] = {"path": f"{path}.KMeans", "clusters": 50}
    return [Fit(f"{HERE}.Lloyd", options | {"algorithm": a}, a) for a in algorithms]


WORKLOADS = [
    Workload(
        "KMeans, 50 clusters, same start",
        Data("overlapping_clusters", 500_000, 16),
        SameCost(1e-4),
        {
            US: lloyd("didact.cluster", "lloyd"),
            SKLEARN: lloyd("sklearn.cluster", "lloyd", "elkan"),
            INTELEX: lloyd("sklearnex.cluster", "lloyd"),
            FAISS: [Fit(f"{HERE}.Faiss", {"clusters": 50, "steps": 30}, "30 iterations")],
        },
        {SKLEARN: 2, INTELEX: 1.3, FAISS: 1.3},
        busy=(US,),
        **GROW,
    ),
    Workload(
        "k-means++ alone, 200 clusters",
        Data("overlapping_clusters", 200_000, 32),
        SameCost(0.03),
        {
            US: [Fit(f"{HERE}.Seeding", {"path": "didact.cluster", "clusters": 200})],
            SKLEARN: [Fit(f"{HERE}.Seeding", {"path": "sklearn.cluster", "clusters": 200})],
        },
        {SKLEARN: 2},
        **GROW,
    ),
    Workload(
        "KMedoids, 10 clusters, same start",
        Data("overlapping_clusters", 5_000, 8),
        SameCost(0.01, power=1.0),
        {
            US: [Fit(f"{HERE}.Medoids", {"library": US, "clusters": 10})],
            KMEDOIDS: [Fit(f"{HERE}.Medoids", {"library": KMEDOIDS, "clusters": 10})],
        },
        {KMEDOIDS: 1},
        **(GROW | {"multiples": (0.2, 1)}),
    ),
    Workload(
        "DBSCAN, eps 0.2, 10 rows",
        Data("overlapping_clusters", 200_000, 3),
        SameLabels(),
        labels("DBSCAN", {US: "didact", SKLEARN: "sklearn", INTELEX: "sklearnex"}, eps=0.2, min_samples=10, n_jobs=2),
        {SKLEARN: 1, INTELEX: 1},
        busy=(US,),
        **(GROW | {"multiples": (0.25, 1)}),
    ),
    Workload(
        "MeanShift, flat, bandwidth 1",
        Data("overlapping_clusters", 2_000, 2),
        SameLabels(1e-6),
        labels("MeanShift", {US: "didact", SKLEARN: "sklearn"}, bandwidth=1.0, n_jobs=2),
        {SKLEARN: 10},
        **(GROW | {"multiples": (1, 2)}),
    ),
    tree("single", 20_000, 5, 2),
    tree("ward", 8_000, 8, 1.5),
    tree("average", 8_000, 8, 1),
]
EXTRAS: dict[str, Any] = {}
