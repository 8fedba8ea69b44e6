"""Files that earlier versions have saved open, and their models say what they said then."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from kept_files import HERE, answers
from registry_cases import all_instances

import didact
from didact.core.files.persistence import FORMAT

FILES = sorted(HERE.glob("*.didact"))


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_kept_file_opens_and_answers_as_it_did(path):
    said = json.loads(path.with_suffix(".json").read_text())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*was saved with scikit-learn")
        model = didact.load(path)
    now = answers(model, np.asarray(said["rows"]))
    assert set(said["answers"]) <= set(now)
    for method, before in said["answers"].items():
        before, after = np.asarray(before), np.asarray(now[method])
        if before.dtype.kind in "fc":
            np.testing.assert_allclose(after, before, rtol=1e-6, atol=1e-9, err_msg=method)
        else:
            np.testing.assert_array_equal(after, before, err_msg=method)


def test_every_kind_of_model_has_a_file():
    """A new estimator gets one: run tests/core/files/kept_files.py and keep what it writes."""
    kinds = {type(model).__name__ for model in all_instances()}
    assert {Path(path).stem for path in FILES} >= {f"{name}-{FORMAT}" for name in kinds}
