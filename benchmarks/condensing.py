"""Chapter ``condensing``: Hart's rule, by which the rows that the nearest-neighbour classifier needs are kept.

Both libraries keep all rows of the smaller class and condense the larger one, which is imbalanced-learn's only way. It
goes over the rows once, didact until nothing is added. Answers are the same when the nearest kept row is right on as
many of the rows held out, to 0.005; the number of rows kept stands beside it. The clock runs from the array to the kept
rows; predicting is not compared, as it is scikit-learn's for the peer.
"""

from benchmarks.answers import SameScore
from benchmarks.data import Data
from benchmarks.harness import US, Fit, Workload

PEER = "imbalanced-learn"
CLUSTERS = Data("uneven_clusters", 10_000, 10, held=10_000)

WAYS = {
    US: [Fit("benchmarks.adapters.condensing.Ours", {"sampling_strategy": "not minority"})],
    PEER: [Fit("benchmarks.adapters.condensing.Imbalanced", {"random_state": 0})],
}
WORKLOADS = [
    Workload(
        "CondensedNearestNeighbor", CLUSTERS, SameScore(), WAYS, {PEER: 5}, multiples=(0.1, 1), rounds=2, budget=8.0,
        warm=2.0, busy=(US,), apart=("cold",),
    )
]  # fmt: skip
EXTRAS: dict[str, object] = {}
