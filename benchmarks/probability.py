"""Chapter ``probability``: naive Bayes and discriminants; fitting, and predicting rows held out.

Answers are the same when the shares of right classes on the rows held out differ by at most 1e-4: the models are the
same formulas, so their predictions differ where rounding decides. Discriminants are fitted with each solver that
scikit-learn has, and the fastest counts.

Limits: the discriminants need n p²/2 multiply-adds, 0.36e9 at 200,000 × 60, and have to read 96 MB; naive Bayes reads
the rows once.
"""

from pathlib import Path
from typing import Any

from benchmarks.answers import SameScore
from benchmarks.data import Data
from benchmarks.harness import US, Workload, import_times, variants

SKLEARN = "scikit-learn"
GROW: dict[str, Any] = {"multiples": (0.1, 1), "rounds": 3, "budget": 8.0, "warm": 2.0}
SAME = SameScore(1e-4)

MANY = Data("gaussian_classes", 500_000, 30, held=50_000)
WORDS = Data("word_counts", 20_000, 50_000, held=5_000)
CLASSES = Data("gaussian_classes", 200_000, 60, held=50_000)


def bayes(name: str, data: Data) -> Workload:
    ways = {US: variants(f"didact.naive_bayes.{name}"), SKLEARN: variants(f"sklearn.naive_bayes.{name}")}
    return Workload(name, data, SAME, ways, {SKLEARN: 1.5}, **GROW)


def linear() -> Workload:
    name = "discriminant_analysis.LinearDiscriminantAnalysis"
    solvers = [{"solver": solver} for solver in ("svd", "lsqr", "eigen")]
    ways = {US: variants(f"didact.{name}"), SKLEARN: variants(f"sklearn.{name}", *solvers)}
    return Workload("LinearDiscriminantAnalysis", CLASSES, SAME, ways, {SKLEARN: 1}, **GROW)


def quadratic() -> Workload:
    name = "discriminant_analysis.QuadraticDiscriminantAnalysis"
    solvers = [{"solver": solver} for solver in ("svd", "eigen")]
    ways = {US: variants(f"didact.{name}"), SKLEARN: variants(f"sklearn.{name}", *solvers)}
    return Workload("QuadraticDiscriminantAnalysis", CLASSES, SAME, ways, {SKLEARN: 8}, **GROW)


WORKLOADS = [bayes("GaussianNB", MANY), bayes("MultinomialNB", WORDS), linear(), quadratic()]


def imports(folder: Path, quick: bool) -> dict[str, Any]:
    modules = {"didact.discriminant_analysis": US, "sklearn.discriminant_analysis": SKLEARN}
    modules |= {"didact.naive_bayes": US, "sklearn.naive_bayes": SKLEARN}
    return {"imports": list(import_times(modules, quick))}


EXTRAS = {"imports": imports}
