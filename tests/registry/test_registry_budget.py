"""What a class may cost the registry: a number of parameter sets, and with it of tests. Seconds are in `conftest`."""

import re
from collections import Counter
from pathlib import Path

import pytest
from registry_cases import REPRESENTATIVES, STRICT, all_instances, at_defaults, excuse, label, one_of_each

MODELS = all_instances()
SETS = 3  # of parameters, one for each code path; those that need more:
MORE = {
    "LogisticRegression": 4,  # Newton, L-BFGS, L1 and the squared loss
    "GaussianClassifier": 5,  # the shapes of covariances, and pooling
}
TESTS, TESTS_EACH, TESTS_MORE = 30, 40, 65  # for a class, for each of its sets (and its defaults), for a representative


def test_few_sets_of_parameters():
    sets = Counter(type(model).__name__ for model in MODELS)
    assert {name: n for name, n in sets.items() if n > MORE.get(name, SETS)} == {}
    assert {name: n for name, n in MORE.items() if sets[name] < n} == {}, "fewer would do"


@pytest.mark.skipif(STRICT, reason="every class has all tests")
def test_no_class_has_more_tests_than_its_share(request):
    tests = Counter(_tested(request.session).values())
    known = {label(model): model for model in (*MODELS, *at_defaults())}
    sets = Counter(type(model).__name__ for model in known.values())
    full = {type(model).__name__ for model in MODELS if label(model) in REPRESENTATIVES}
    share = {name: TESTS + TESTS_EACH * n + TESTS_MORE * (name in full) for name, n in sets.items()}
    assert {name: (n, share[name]) for name, n in tests.items() if n > share[name]} == {}


def _tested(session):
    """The class that each test of the registry is about."""
    items = [item for item in session.items if item.nodeid.startswith("tests/registry/") and hasattr(item, "callspec")]
    given = {item.nodeid: item.callspec.params.get("model") for item in items}
    return {test: type(model).__name__ for test, model in given.items() if model is not None}


def test_tests_of_a_class_go_to_one_process(request, unit_of):
    tested = _tested(request.session)
    assert {test: unit_of(test) for test in tested} == tested
    assert unit_of("tests/registry/test_x.py::test_y[dask frame-Ridge(alpha=2.0)]") == "Ridge"
    assert unit_of("tests/scale/test_cluster.py::test_x") == unit_of("tests/docs/test_examples.py::test_y[scale.md]")
    assert unit_of("tests/docs/test_examples.py::test_y[linear_model.md]") == "tests/docs/test_examples.py"


def test_excuses_name_checks():
    """An excuse for a check that does not exist excuses nothing."""
    source = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    checks = {"defaults", "fuzz", *re.findall(r'"([a-z_0-9]+(?:/[a-z_]+)?)"\)+\n', source)}
    groups = {check.partition("/")[0] for check in checks}
    keys = {
        key.partition(":")[0]
        for model in MODELS
        for key in model._test_skips
        if not key.removeprefix("defaults/").startswith("check_")
    }
    assert {key for key in keys if key not in checks | groups and not key.startswith("fuzz/")} == set()


def test_an_excuse_can_name_a_parameter_and_its_value():
    model = one_of_each(MODELS)[0]
    first, *_ = model.get_params(deep=False)

    class Excused(type(model)):
        _test_skips = {"one": "always", f"two:{first}": "if changed", f"three:{first}=x": "if it is x"}

    plain, changed = Excused(), Excused(**{first: "x"})
    assert [excuse(plain, f"{name}/part") for name in ("one", "two", "three", "four")] == ["always", None, None, None]
    assert [excuse(changed, name) for name in ("one", "two", "three")] == ["always", "if changed", "if it is x"]
