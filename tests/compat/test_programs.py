"""Programs as people write them for scikit-learn, with every import changed to didact and nothing else.

Each prints names and numbers. Both libraries print the same names, and numbers that are equal: to 0.001 where the
optimum is one, else to what `WITHIN` says, because draws differ, solvers end elsewhere or a method has its own way.
"""

import contextlib
import io
import re
import runpy
import warnings
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

HERE = Path(__file__).parent
PROGRAMS = sorted(HERE.glob("programs/*.py"))
EXACT = 1e-3
SEED = 0.03  # what another seed changes
WITHIN = {  # by program, and by what the name of a number says
    "claims": {"boosting gini": 0.15, "boosting": SEED},
    "classifiers_compared": {"forest|tree|boosting": 0.1},  # of 60 rows, and where two splits are equally good
    "clustering": {"MiniBatchKMeans|GaussianMixture": SEED},
    "covariances": {"mixture": SEED},
    "feature_selection": {"chain": SEED},
    "halving_search": {"forest": SEED},
    "imputation": {"as they are": SEED},
    "kernel_approximation": {"nystroem|fourier|sketch|skewed|sgd|circles": SEED},
    "learning_curves": {"incremental": SEED},
    "metadata_routing": {"coefficient": 0.01},  # scikit-learn's solver stops earlier
    "multi_output": {"trees": 0.05, "knn": SEED},  # neighbours at the same distance
    "outliers": {"svm$": 0.25, "svm auc": 0.01, "sgd": 0.2},  # rows on the border itself
    "own_estimator": {"votes": SEED},
    "partial_dependence": {"svc": 0.01},
    "persistence": {"Forest": SEED, "threads": 0.08},
    "sparse_text": {"SGD|Perceptron|lsa": SEED},
    "stacking_voting": {"stack|bags": SEED},
    "target_encoding": {"forest|boosting": SEED},
    "time_series": {"trees": 0.15, "boosting|error": SEED},
    "trees_shown": {"pruned": SEED},  # two splits are equally good
    "warm_starts": {"forest|Boosting|online|regression|centres": SEED},
}


def changed(text):
    """The program with `didact` wherever it says `sklearn`."""
    return re.sub(r"\bsklearn\b", "didact", text)


def printed(program):
    """The numbers that a program prints, by the words before them."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runpy.run_path(str(program), run_name="__main__")
    found = {}
    for line in out.getvalue().splitlines():
        words = line.split()
        numbers = [w for w in words if re.fullmatch(r"-?[\d.]+(e[+-]\d+)?|True|False|nan|inf", w)]
        name = " ".join(words[: len(words) - len(numbers)])
        found[name] = [float({"True": 1, "False": 0}.get(w, w)) for w in numbers]
    return found


def within(stem, name):
    """The bound on a number: the first of a program's patterns that is in its name."""
    bounds = WITHIN.get(stem, {})
    return next((bound for pattern, bound in bounds.items() if re.search(pattern, name)), EXACT)


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_changed_import_is_all_that_it_takes(program, tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    text = changed(program.read_text(encoding="utf-8"))
    assert "sklearn" not in text
    copy = tmp_path / program.name
    copy.write_text(text, encoding="utf-8")
    theirs, ours = printed(program), printed(copy)
    assert ours.keys() == theirs.keys()
    for name, numbers in theirs.items():
        bound = within(program.stem, name)
        assert ours[name] == pytest.approx(numbers, rel=bound, abs=bound), name


def test_there_are_thirty_kinds():
    assert len(PROGRAMS) >= 30
    assert set(WITHIN) <= {path.stem for path in PROGRAMS}
