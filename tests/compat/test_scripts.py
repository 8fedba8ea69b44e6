"""Ten scripts in the way people write them: plain, and unchanged on our models, with the same scores."""

import contextlib
import io
import runpy
import warnings
from pathlib import Path

import pytest

from didact.accelerate import accelerated

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.py"))
# Where the random numbers differ, scores differ by what another seed changes; elsewhere by a solver's tolerance.
RANDOM = {"adaboost_stumps": 0.03, "boosting_categorical": 0.03, "forest_grid_search": 0.03}
RANDOM |= {"permutation_importances": 0.05}


def printed(script):
    """The names and numbers that a script prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runpy.run_path(str(script), run_name="__main__")
    return {name: float(value == "True" or value) for name, _, value in map(split, out.getvalue().splitlines())}


def split(line):
    return line.rpartition(" ")


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scores_are_equal(script):
    plain = printed(script)
    with accelerated():
        ours = printed(script)
    assert ours.keys() == plain.keys()
    within = RANDOM.get(script.stem, 1e-3)
    for name, value in plain.items():
        assert ours[name] == pytest.approx(value, rel=within, abs=within), name


def test_there_are_ten():
    assert len(SCRIPTS) == 10
