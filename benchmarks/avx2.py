"""Chapter ``avx2``: logistic and Poisson regression and boosting again, as on a CPU without AVX-512.

Numba compiles for x86-64-v3 and OpenBLAS takes its kernels for Haswell, in the process of every library; what a peer's
own compiler has chosen stays. The workloads are those of ``linear`` and ``trees`` at their named size.
"""

from dataclasses import replace
from typing import Any

from benchmarks import linear, trees
from benchmarks.harness import Workload

ENVIRONMENT = {"NUMBA_CPU_NAME": "x86-64-v3", "OPENBLAS_CORETYPE": "Haswell"}
TARGETS = {"scikit-learn": 1.3, "LightGBM": 1.3}  # of boosting; logistic and Poisson regression keep theirs


def here(workload: Workload, **changes: Any) -> Workload:
    return replace(workload, apart=(), multiples=(1,), busy=(), **changes)


LINEAR = ("LogisticRegression, binary", "Poisson GLM")
BOOSTING = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
WORKLOADS = [here(w) for w in linear.WORKLOADS if w.name in LINEAR]
WORKLOADS += [here(w, targets=TARGETS) for w in trees.WORKLOADS if w.name in BOOSTING]
EXTRAS: dict[str, Any] = {}
