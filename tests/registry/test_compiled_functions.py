"""What a first fit has to compile is bounded: few functions for each estimator, and one variant of each for a dtype."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

# Of didact's own, for one estimator or more of each engine; `python -m benchmarks compile` has all, and the seconds.
BUDGET = {
    "LinearRegression": 3,
    "LogisticRegression": 18,
    "PoissonRegressor": 12,
    "HuberRegressor": 12,
    "Lasso": 3,
    "SGDClassifier": 51,
    "Perceptron": 51,
    "HebbianLayer": 13,
    "GaussianNB": 10,
    "QuadraticDiscriminantAnalysis": 10,
    "ClusterwiseRegressor": 99,
    "KMeans": 34,
    "KMedoids": 7,
    "AgglomerativeClustering": 20,
    "DivisiveClustering": 8,
    "OnlineKMeans": 35,
    "DBSCAN": 28,
    "ConnectedComponents": 33,
    "MeanShift": 34,
    "LevelSetClustering": 69,
    "Isomap": 20,
    "LocallyLinearEmbedding": 19,
    "MDS": 5,
    "GaussianMixture": 38,
    "BernoulliMixture": 38,
    "TSNE": 56,
    "ElasticEmbedding": 56,
    "NMF": 14,
    "FastICA": 10,
    "KNeighborsClassifier": 16,
    "CondensedNearestNeighbor": 26,
    "KernelDensity": 47,
    "KernelSmoother": 48,
    "LocallyWeightedRegression": 6,
    "RunningMedian": 5,
    "SVC": 26,
    "LinearSVC": 24,
    "LinearSVR": 34,
    "DecisionTreeClassifier": 74,
    "DecisionTreeRegressor": 84,
    "C45Classifier": 2,
    "ObliqueTreeClassifier": 5,
    "RandomForestClassifier": 96,
    "ExtraTreesRegressor": 98,
    "HistGradientBoostingClassifier": 87,
    "HistGradientBoostingRegressor": 82,
    "AdaBoostClassifier": 82,
}
FORM = re.compile(r"(?<=E)1[ACF](?:7mutable|8readonly)")  # an array's layout and writability in a mangled name


@pytest.fixture(scope="module")
def functions():
    """The names of didact's compiled functions by estimator."""
    here = Path(__file__).parent
    call = [sys.executable, str(here / "compiled_functions.py"), *BUDGET]
    done = subprocess.run(call, capture_output=True, text=True, timeout=900)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert {name for name, _ in lines} == set(BUDGET), done.stderr
    return {name: [function for function in found if function.startswith("6didact")] for name, found in lines}


@pytest.mark.parametrize("name", BUDGET)
def test_an_estimator_compiles_few_functions(functions, name):
    assert 0 < len(functions[name]) <= BUDGET[name]


@pytest.mark.parametrize("name", BUDGET)
def test_a_loop_has_one_variant_for_a_dtype(functions, name):
    """Not one more for another layout, for arrays that cannot be written, for constants or for left out arguments."""
    assert [function for function in functions[name] if "Literal_5b" in function or "omitted_28" in function] == []
    forms = Counter(FORM.sub("", function) for function in functions[name])
    assert [function for function, count in forms.items() if count > 1] == []


def test_a_booster_of_numbers_compiles_no_search_for_others(functions):
    """Categories, monotone bounds and labels are compiled with the first fit that has them."""
    others = ("scan_subsets", "scan_fixed", "try_split", "_add_labels")
    for name in ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"):
        assert any("scan_numbers" in function for function in functions[name])
        assert [function for function in functions[name] if any(other in function for other in others)] == []


def test_what_counts_as_a_variant():
    names = [f"sumE5ArrayIdLi2E1{form}7alignedE" for form in ("C7mutable", "C8readonly", "F7mutable", "A7mutable")]
    assert len({FORM.sub("", name) for name in names}) == 1
    assert FORM.sub("", names[0]) != FORM.sub("", names[0].replace("Id", "If"))
