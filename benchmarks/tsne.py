"""Chapter ``tsne``: t-SNE at the defaults of each library, to the same divergence.

Answers are the same when the divergences, computed alike for all, differ by at most 0.03. Ours and scikit-learn's make
1000 steps, openTSNE 750.

Limits: a step at 5,000 rows sums some 650,000 attractions, of 2 ns each on one core, and by the tree some 800
repulsions a point, of 0.3 ns: 2.5 ms, or 2.5 s for 1000 steps.
"""

from pathlib import Path
from typing import Any

from benchmarks.answers import SameScore
from benchmarks.data import Data
from benchmarks.harness import US, Fit, Workload, import_times

SKLEARN, OPEN = "scikit-learn", "openTSNE"
ADAPTER = "benchmarks.adapters.tsne"


def embedding(title: str, data: Data) -> Workload:
    ways = {
        US: [Fit(f"{ADAPTER}.Embedding", {"path": "didact.manifold.TSNE"}, "default")],
        SKLEARN: [Fit(f"{ADAPTER}.Embedding", {"path": "sklearn.manifold.TSNE"}, "default")],
        OPEN: [Fit(f"{ADAPTER}.OpenTSNE", {}, "default")],
    }
    return Workload(title, data, SameScore(0.03), ways, {SKLEARN: 3, OPEN: 1.5}, multiples=(1,), rounds=2)


WORKLOADS = [
    embedding("TSNE, 5,000 rows", Data("uneven_clusters", 5_000, 50)),
    embedding("TSNE, digits", Data("small_digits", 1_797, 64)),
]


def imports(folder: Path, quick: bool) -> dict[str, Any]:
    return {"imports": list(import_times({"didact.manifold": US, "sklearn.manifold": SKLEARN}, quick))}


EXTRAS = {"imports": imports}
