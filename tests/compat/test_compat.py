"""A sample of scikit-learn's own tests on our classes; `make compat` runs all of them."""

import pytest
import run


@pytest.mark.slow
@pytest.mark.parametrize("module", run.FILES)
def test_sample_of_scikit_learns_tests(module):
    counts, failures, _ = run.judged(run.run(module, "import", run.SAMPLE[module]))
    assert counts["passed"] > 0
    assert [f"{f['test']}: {f['error']}" for f in failures] == []


def test_every_exception_has_a_reason():
    for pattern, reason in run.exceptions():
        assert pattern
        assert len(reason.split()) > 3
