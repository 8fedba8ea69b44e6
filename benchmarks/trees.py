"""Chapter ``trees``: single trees, forests, extra trees, boosting, AdaBoost; fitting and predicting.

Answers are the same when the scores on the rows held out (share of right classes, or R²) differ by at most 0.005 from
the best. Everybody is given float64 arrays in NumPy's order and two threads, and the clock runs from the array to the
fitted model, binning included; predicting is timed on the rows held out, right after the fit, and gives classes.

Single trees and forests have their default limits: grown out, in a forest with the square root of the columns tried at
a split. As scikit-learn counts constant columns among those, its forest of Covertype is given 30 columns as well. Exact
trees try every midpoint, binned ones as many as the fastest of didact's variants that keeps the score.

Boosting has equal settings: 100 rounds, learning rate 0.1, 31 leaves grown best first, at least 20 rows in a leaf, 255
bins, no L2 penalty, no subsampling, no early stopping. XGBoost can ask for a sum of second derivatives only, which is 5
for 20 undecided rows of two classes, and 20 for the squared error. LightGBM chooses between rows and columns by itself
and, on the made data, is given either. AdaBoost has 100 stumps. A busy process is a loop that takes what it can get.
"""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import profile_boosting
from benchmarks.answers import SameScore
from benchmarks.data import Data
from benchmarks.harness import US, Fit, Workload, import_times, variants

SKLEARN, INTELEX, XGBOOST, LIGHTGBM = "scikit-learn", "scikit-learn-intelex", "XGBoost", "LightGBM"
MODULE = {US: "didact.ensemble", SKLEARN: "sklearn.ensemble", INTELEX: "sklearnex.ensemble"}
GROW = {"multiples": (0.1, 1)}  # a tenth of the rows first; everybody at both sizes
GROW |= {"rounds": 2, "budget": 8.0, "warm": 2.0}

TREE = Data("nonlinear_labels", 100_000, 20, held=100_000)
FOREST = Data("nonlinear_labels", 50_000, 20, held=200_000)
BOOST = Data("nonlinear_labels", 500_000, 20, held=500_000)
BOOST_VALUES = Data("nonlinear_values", 500_000, 20, held=500_000)
STUMPS = Data("nonlinear_labels", 20_000, 20, held=100_000)
COVERTYPE = Data("covertype", 464_810, 54, held=116_202)
SOME_COVERTYPE = Data("covertype", 50_000, 54, held=200_000)
CENSUS = Data("census", 239_428, 40, held=59_857)
FLIGHTS = Data("flights", 261_877, 24, held=65_469)
HIGGS = Data("higgs", 10_000, 28, held=2_000)


def tree(name: str, data: Data, target: float, *ours: dict[str, Any], **common: Any) -> Workload:
    ways = {
        US: variants("didact.tree.DecisionTreeClassifier", *ours, random_state=0, **common),
        SKLEARN: variants("sklearn.tree.DecisionTreeClassifier", random_state=0),
    }
    return Workload(name, data, SameScore(), ways, {SKLEARN: target}, busy=(US,), **GROW)


def forest(
    name: str, model: str, data: Data, fit: dict[str, float], predict: dict[str, float], *peer: dict[str, Any]
) -> Workload:
    """Two jobs for scikit-learn, by default or in the variants of `peer`; the others use the cores there are."""
    common = {"n_estimators": 100, "random_state": 0}
    ways = {
        US: variants(f"{MODULE[US]}.{model}", {}, {"max_bins": 255}, **common),
        SKLEARN: variants(f"{MODULE[SKLEARN]}.{model}", *peer, n_jobs=2, **common),
        INTELEX: variants(f"{MODULE[INTELEX]}.{model}", n_jobs=2, **common),
    }
    return Workload(name, data, SameScore(), ways, fit, busy=(US,), predict_targets=predict, **GROW)


def boosting(name: str, data: Data, task: str = "Classifier", categories: bool = False) -> Workload:
    common = {"learning_rate": 0.1, "random_state": 0}
    hist = {"max_iter": 100, "max_leaf_nodes": 31, "min_samples_leaf": 20, "max_bins": 255, "early_stopping": False}
    hist |= {"l2_regularization": 0.0, **common}
    xgb = {"n_estimators": 100, "tree_method": "hist", "grow_policy": "lossguide", "max_leaves": 31, "max_depth": 0}
    xgb |= {
        "min_child_weight": 5 if task == "Classifier" else 20,
        "max_bin": 255,
        "reg_lambda": 0,
        "n_jobs": 2,
        **common,
    }
    lgbm = {"n_estimators": 100, "num_leaves": 31, "min_child_samples": 20, "max_bin": 255, "reg_lambda": 0.0}
    lgbm |= {"n_jobs": 2, "verbose": -1, **common}
    choices = [{}] + ([{"force_row_wise": True}, {"force_col_wise": True}] if data in (BOOST, BOOST_VALUES) else [])
    ways = {
        US: variants(f"{MODULE[US]}.HistGradientBoosting{task}", **hist),
        SKLEARN: variants(f"{MODULE[SKLEARN]}.HistGradientBoosting{task}", **hist),
        XGBOOST: variants(f"xgboost.XGB{task}", **xgb),
        LIGHTGBM: variants(f"lightgbm.LGBM{task}", *choices, **lgbm),
    }
    if categories:
        adapter = "benchmarks.adapters.categories.model"
        ways = {
            library: [Fit(adapter, {"path": f.path} | f.options, f.label) for f in w] for library, w in ways.items()
        }
    fit, predict = {SKLEARN: 1, XGBOOST: 1, LIGHTGBM: 0.8}, {LIGHTGBM: 1, SKLEARN: 2}
    tune = columns if categories else None
    return Workload(name, data, SameScore(), ways, fit, tune, busy=(US, LIGHTGBM), predict_targets=predict, **GROW)


def columns(folder: Path) -> dict[str, Any]:
    X = np.load(folder / "X.npy", mmap_mode="r")
    return {"categorical": np.load(folder / "categorical.npy").tolist(), "columns": X.shape[1]}


def adaboost(name: str, data: Data) -> Workload:
    common = {"n_estimators": 100, "random_state": 0}
    ways = {library: variants(f"{MODULE[library]}.AdaBoostClassifier", **common) for library in (US, SKLEARN)}
    return Workload(name, data, SameScore(), ways, {SKLEARN: 5}, busy=(US,), **GROW)


BINNED = [{"max_bins": 255}, {"max_bins": 1023}, {"max_bins": 4095}]
RF, ET = "RandomForestClassifier", "ExtraTreesClassifier"
RF_TARGETS = {SKLEARN: 4, INTELEX: 1}, {SKLEARN: 5, INTELEX: 1}
ET_TARGETS = {SKLEARN: 2}, {SKLEARN: 3}

WORKLOADS = [
    tree("DecisionTreeClassifier, exact", TREE, 2, max_bins=None),
    tree("DecisionTreeClassifier, binned", TREE, 6, *BINNED),
    tree("DecisionTreeClassifier, exact, Covertype", COVERTYPE, 2, max_bins=None),
    tree("DecisionTreeClassifier, binned, Covertype", COVERTYPE, 6, *BINNED),
    forest(f"{RF}, 100 trees", RF, FOREST, *RF_TARGETS),
    forest(f"{RF}, 100 trees, Covertype", RF, SOME_COVERTYPE, *RF_TARGETS, {}, {"max_features": 30}),
    forest(f"{ET}, 100 trees", ET, FOREST, *ET_TARGETS),
    boosting("HistGradientBoostingClassifier", BOOST),
    boosting("HistGradientBoostingRegressor", BOOST_VALUES, "Regressor"),
    boosting("HistGradientBoostingClassifier, Covertype, 7 classes", COVERTYPE),
    boosting("HistGradientBoostingClassifier, Census-Income, categories", CENSUS, categories=True),
    boosting("HistGradientBoostingRegressor, flights, categories", FLIGHTS, "Regressor", categories=True),
    adaboost("AdaBoostClassifier, 100 stumps", STUMPS),
    adaboost("AdaBoostClassifier, 100 stumps, HIGGS", HIGGS),
]


def imports(folder: Path, quick: bool) -> dict[str, Any]:
    modules = {MODULE[US]: US, MODULE[SKLEARN]: SKLEARN, "xgboost": XGBOOST, "lightgbm": LIGHTGBM}
    return {"imports": list(import_times(modules, quick))}


EXTRAS = {"profile of boosting": profile_boosting.measure, "imports": imports}
