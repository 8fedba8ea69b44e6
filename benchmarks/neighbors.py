"""Chapter ``neighbors``: the ten nearest rows, exactly, by index and search together.

Rows and queries are standard normal. The clock runs from the array to the row numbers. Each library returns the rows
that it found, and their distances are computed anew in float64: answers are the same when no distance, in ascending
order, is longer than that of the best answer by more than a share of 1e-10, or of 1e-6 for rows in float32. Everybody
has two threads; scikit-learn's entry is the fastest of its ways.

Condensing (Hart's rule): both libraries keep all rows of the smaller class and condense the larger one, which is
imbalanced-learn's default. It goes over the rows once, didact until nothing is added. Answers are the same when the
nearest kept row is right on as many of the rows held out, to 0.005; the number of rows kept stands beside that. The
clock runs from the array to the kept rows; predicting has no target, as it is scikit-learn's for the peer.

What must be done: for 50,000 × 100 and 10,000 queries 5·10¹⁰ multiplications and additions, 1.1 s of one core at the 90
Gflop/s that OpenBLAS reaches here in float32, twice that in float64; a tree over 100,000 × 8 needs about 9,000 rows a
query of them, 28 µs of one core.
"""

from typing import Any

from benchmarks.answers import SameNeighbours, SameScore
from benchmarks.data import Data
from benchmarks.harness import US, Fit, Workload

SKLEARN, INTELEX, FAISS, IMBALANCED = "scikit-learn", "scikit-learn-intelex", "faiss", "imbalanced-learn"
PATH = {US: "didact.neighbors", SKLEARN: "sklearn.neighbors", INTELEX: "sklearnex.neighbors"}
GROW = {"multiples": (0.1, 1), "rounds": 3, "budget": 12.0, "warm": 5.0, "busy": (US,)}


def ways(library: str, *algorithms: str, **common: Any) -> list[Fit]:
    """NearestNeighbors of a library by several algorithms."""
    options = {"path": f"{PATH[library]}.NearestNeighbors", "n_neighbors": 10} | common
    options |= {} if library == US else {"n_jobs": 2}
    return [Fit("benchmarks.adapters.neighbors.Search", options | {"algorithm": a}, a) for a in algorithms]


def faiss(queries: int) -> list[Fit]:
    return [Fit("benchmarks.adapters.neighbors.Flat", {"queries": queries, "n_neighbors": 10}, "IndexFlatL2")]


CONDENSE = {
    US: [Fit("benchmarks.adapters.condensing.Ours", {"sampling_strategy": "not minority"})],
    IMBALANCED: [Fit("benchmarks.adapters.condensing.Imbalanced", {"random_state": 0})],
}
CLUSTERS = Data("uneven_clusters", 10_000, 10, held=10_000)
FEW, MANY = Data("scattered", 100_000, 8), Data("scattered", 50_000, 100)

WORKLOADS = [
    Workload(
        "10 nearest of 20,000 queries, 8 columns",
        FEW,
        SameNeighbours(1e-10),
        {
            US: ways(US, "auto", queries=20_000),
            SKLEARN: ways(SKLEARN, "brute", "kd_tree", "ball_tree", queries=20_000),
            INTELEX: ways(INTELEX, "kd_tree", "brute", queries=20_000),
        },
        {SKLEARN: 4, INTELEX: 1},
        **GROW,
    ),
    Workload(
        "10 nearest of 10,000 queries, 100 columns",
        MANY,
        SameNeighbours(1e-10),
        {
            US: ways(US, "auto", queries=10_000),
            SKLEARN: ways(SKLEARN, "brute", queries=10_000),
            INTELEX: ways(INTELEX, "brute", queries=10_000),
        },
        {SKLEARN: 1.3},
        **GROW,
    ),
    Workload(
        "10 nearest of 10,000 queries, 100 columns, float32",
        MANY,
        SameNeighbours(1e-6),
        {
            US: ways(US, "auto", queries=10_000, single=True),
            SKLEARN: ways(SKLEARN, "brute", queries=10_000, single=True),
            FAISS: faiss(10_000),
        },
        {FAISS: 1},
        **GROW,
    ),
    Workload(
        "CondensedNearestNeighbor",
        CLUSTERS,
        SameScore(),
        CONDENSE,
        {IMBALANCED: 5},
        apart=("cold",),
        **(GROW | {"rounds": 2, "budget": 8.0}),
    ),
]
EXTRAS: dict[str, Any] = {}
