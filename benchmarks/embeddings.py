"""Chapter ``embeddings``: a rolled-up sheet of 4,000 rows, unrolled.

Both libraries solve the same eigenproblem: answers are the same when the coordinates span the same plane, that is when
the cosine of the largest angle between the two is at least 1 less the stated gap. Everybody has two threads.

What must be done: for the paths 4,000 times 4,000 nodes leave a heap, each at some 12 comparisons and 15 edges, 10⁹
steps at about a nanosecond each; their squares are read some 40 times by Lanczos' iterations, 5 GB. For the weights
4,000 systems of 12 equations, a few milliseconds: what costs is the sparse factorisation.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.answers import Check, Record
from benchmarks.data import Data
from benchmarks.harness import US, Fit, Workload

SKLEARN = "scikit-learn"
GROW = {"multiples": (0.25, 1), "rounds": 3, "budget": 20.0, "warm": 8.0}


@dataclass(frozen=True)
class SamePlane(Check):
    """One less the cosine of the largest angle between the coordinates and those of the first library."""

    agree: float = 1e-4

    def gaps(self, candidates: list[Record], folder: Path) -> list[float]:
        planes = [np.linalg.qr(np.asarray(c["answer"]["embedding"], float))[0] for c in candidates]
        found = [1.0 - float(np.linalg.svd(planes[0].T @ plane)[1].min()) for plane in planes]
        for c, gap in zip(candidates, found, strict=True):
            c["objective"] = gap
        return found


def fits(name: str, **options: Any) -> dict[str, list[Fit]]:
    """The class of both libraries, with the same parameters."""
    adapter = "benchmarks.adapters.embeddings.Embedding"
    packages = {US: "didact.manifold", SKLEARN: "sklearn.manifold"}
    return {who: [Fit(adapter, {"path": f"{package}.{name}"} | options)] for who, package in packages.items()}


WORKLOADS = [
    Workload(
        "Isomap, 10 neighbours",
        Data("swiss_roll", 4_000, 3),
        SamePlane(1e-6),
        fits("Isomap", n_neighbors=10),
        {SKLEARN: 2},
        **GROW,
    ),
    *(
        Workload(
            f"LocallyLinearEmbedding, {method}",
            Data("swiss_roll", 4_000, 3),
            SamePlane(1e-3),
            fits("LocallyLinearEmbedding", n_neighbors=12, method=method, random_state=0),
            {SKLEARN: 2},
            **GROW,
        )
        for method in ("standard", "modified")
    ),
]
EXTRAS: dict[str, Any] = {}
