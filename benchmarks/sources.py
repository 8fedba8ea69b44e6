"""Chapter ``sources``: non-negative parts of dense rows and of texts, and independent sources.

NMF begins at the same start everywhere and makes the same number of iterations; answers are the same when the errors,
relative to the rows, differ by at most 1e-3. FastICA begins with the same matrix and ends at its own tolerance; answers
are the same when the means of log cosh, whose extreme is sought, differ by at most 1e-3.

Limits: an iteration of NMF needs 2npk multiply-adds and nk² + pk² for steps, 0.08e9 at 5,000 × 400 with 20 parts, and
has to read 16 MB once; of texts 2k for each entry. One of FastICA needs 2nk² multiply-adds and nk hyperbolic tangents,
0.08e9 and 2e6 at 100,000 × 20.
"""

from pathlib import Path
from typing import Any

from benchmarks.answers import SameScore
from benchmarks.data import Data
from benchmarks.harness import US, Fit, Workload, import_times

SKLEARN, PICARD = "scikit-learn", "picard"
ADAPTER = "benchmarks.adapters.sources"
ROWS, TEXTS, MIXED = Data("parts", 5_000, 400), Data("word_counts", 20_000, 50_000), Data("mixed_sources", 100_000, 20)


def parts(title: str, data: Data, steps: int, **options: Any) -> Workload:
    how = {"components": 20, "steps": steps} | options
    ways = {
        US: [Fit(f"{ADAPTER}.Parts", {"path": "didact.decomposition.NMF"} | how, "default")],
        SKLEARN: [Fit(f"{ADAPTER}.Parts", {"path": "sklearn.decomposition.NMF"} | how, "default")],
    }
    return Workload(title, data, SameScore(1e-3), ways, {SKLEARN: 1}, multiples=(0.1, 1), rounds=3)


def sources() -> Workload:
    ways = {
        US: [Fit(f"{ADAPTER}.Sources", {"path": "didact.decomposition.FastICA"}, "default")],
        SKLEARN: [Fit(f"{ADAPTER}.Sources", {"path": "sklearn.decomposition.FastICA"}, "default")],
        PICARD: [Fit(f"{ADAPTER}.Sources", {"path": "picard.picard"}, "default")],
    }
    return Workload("FastICA", MIXED, SameScore(1e-3), ways, {SKLEARN: 1, PICARD: 1}, multiples=(0.1, 1), rounds=3)


WORKLOADS = [
    parts("NMF, 20 parts, 50 iterations", ROWS, 50),
    parts("NMF, texts, 20 parts, 30 iterations", TEXTS, 30),
    parts("NMF, texts, Kullback-Leibler, 20 parts, 20 iterations", TEXTS, 20, solver="mu", beta_loss=1),
    sources(),
]


def imports(folder: Path, quick: bool) -> dict[str, Any]:
    return {"imports": list(import_times({"didact.decomposition": US, "sklearn.decomposition": SKLEARN}, quick))}


EXTRAS = {"imports": imports}
