"""A sample of `fuzz_inputs.py`: a few cases for every estimator at its defaults, others for each seed."""

import fuzz_files
import numpy as np
import pytest
from fuzz_cases import CASES
from fuzz_files import DRAWN
from fuzz_inputs import FIRST, MODELS, SLOW, Child, Finding, faults, fuzz
from sklearn.base import BaseEstimator, RegressorMixin

SEED, CASES_EACH = 0, 5
DEFAULTS = list({type(m).__name__: type(m)() for m in MODELS}.values())


def sample():
    """Some cases for each estimator; all cases come about equally often."""
    rng = np.random.default_rng(SEED)
    quick = [case for case in CASES if case not in SLOW]
    dealt = np.concatenate([rng.permutation(quick) for _ in range(1 + CASES_EACH * len(DEFAULTS) // len(quick))])
    return [(m, list(dict.fromkeys(dealt[CASES_EACH * k :][:CASES_EACH].tolist()))) for k, m in enumerate(DEFAULTS)]


@pytest.mark.slow
def test_nothing_crashes_hangs_or_answers_nonsense():
    found = fuzz(sample(), jobs=2, each=-(-len(DEFAULTS) // 2))
    assert found == [], "\n".join(f"{f.name}: {f.kind}: {f.case}: {f.words}" for f in found)


@pytest.mark.slow
def test_forged_files_are_refused_or_open_without_harm():
    """A few forgeries of some kinds of models that loops are compiled for; `fuzz_files.py` makes thousands."""
    trees = "RandomForestRegressor", "HistGradientBoostingClassifier", "C45Classifier"
    kinds = (*trees, "KNeighborsRegressor", "OnlineKMeans", "SGDClassifier", "KernelRidge")
    seeds = [*range(0, 60, 7), *range(DRAWN, DRAWN + 8)]
    models = {type(m).__name__: k for k, m in reversed(list(enumerate(MODELS)))}
    for kind in kinds:
        outcomes, bad = fuzz_files.count(models[kind], seeds)
        assert bad == [], kind
        assert outcomes["refused"] > 5, kind


# ------------------------------------------------------------------------------------------------ the fuzzer itself


class Bad(RegressorMixin, BaseEstimator):
    """A model that does what must not be done."""

    _test_skips = {}

    def __init__(self, what="nothing"):
        self.what = what

    def fit(self, X, y, sample_weight=None):
        if self.what == "crash":
            import ctypes

            ctypes.string_at(0)
        if self.what == "hang":
            while True:
                pass
        if self.what == "raw":
            return [][1]
        if self.what == "refuse":
            return np.linalg.inv(np.zeros((2, 2)))
        if self.what == "changed":
            X[0] = 7.0
        return self

    def predict(self, X):
        return np.full(len(X), np.nan if self.what == "silent" else 0.0)


@pytest.mark.parametrize("what", ["crash", "hang", "silent", "raw", "changed", "nothing"])
def test_the_fuzzer_finds_what_it_looks_for(what, monkeypatch):
    monkeypatch.setattr(Child, "way", "fork")  # a server could not import the model from here
    found = fuzz([(Bad(what), ["layout/columns first", "type/float32"])], jobs=1, seconds=0.3, first=0.3)
    assert {f.kind for f in found} == ({what} - {"nothing"})
    assert all(isinstance(f, Finding) for f in found)


def test_a_process_that_dies_takes_no_other_model_with_it(monkeypatch):
    monkeypatch.setattr(Child, "way", "fork")
    cases = ["layout/columns first", "type/float32"]
    noted, work = [], [(Bad("nothing"), cases), (Bad("crash"), cases), (Bad("silent"), cases)]
    found = fuzz(work, jobs=1, each=3, note=lambda name, findings: noted.append((name, len(findings))))
    assert [(f.kind, f.case) for f in found] == [("crash", FIRST), ("silent", cases[0]), ("silent", cases[1])]
    assert noted == [("Bad()", 0), ("Bad(what='crash')", 1), ("Bad(what='silent')", 2)]


def test_errors_of_libraries_are_raw():
    assert faults(Bad("refuse"), "type/float32")[0][0] == "raw"
