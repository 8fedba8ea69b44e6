"""Every public name of scikit-learn is in didact's module of the same name: ours, or scikit-learn's own object."""

import importlib
import importlib.util
import pickle
import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest
import sklearn
from sklearn.utils.discovery import all_estimators

import didact

NOT_FOR_USERS = {"tests", "conftest", "externals"}
NO_NAMES = {f"sklearn.datasets.{folder}" for folder in ("data", "descr", "images")}  # folders of files
EXPERIMENTAL = {"HalvingGridSearchCV", "HalvingRandomSearchCV"}  # in `__all__`, and refused until they are enabled


def modules(package="sklearn", path=sklearn.__path__):
    """The public modules of scikit-learn; those that change it by being imported are not imported here."""
    for module in pkgutil.iter_modules(path, f"{package}."):
        name = module.name.rpartition(".")[2]
        if not name.startswith("_") and name not in NOT_FOR_USERS and module.name not in NO_NAMES:
            yield module.name
            if module.ispkg:
                yield from modules(module.name, importlib.import_module(module.name).__path__)


def public(module):
    """What a module of scikit-learn offers, whether it says `__all__` or not, but for what has to be enabled first."""
    defined = {n for n, thing in vars(module).items() if str(getattr(thing, "__module__", "")).startswith("sklearn.")}
    return {*(getattr(module, "__all__", ())), *(n for n in defined if not n.startswith("_"))} & vars(module).keys()


def ours(name):
    return f"didact{name.removeprefix('sklearn')}"


MODULES = list(modules())
WITH_NAMES = [name for name in MODULES if ".enable_" not in name]


def test_scikit_learn_has_more_than_sixty_public_modules():
    assert len(MODULES) > 60
    assert {"sklearn.base", "sklearn.metrics.pairwise", "sklearn.utils.validation"} <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_every_module_is_there(name):
    if ".enable_" in name:
        importlib.import_module("didact.experimental")
        assert importlib.util.find_spec(ours(name)) is not None
    else:
        assert importlib.import_module(ours(name)).__name__ == ours(name)


@pytest.mark.parametrize("name", WITH_NAMES)
def test_every_name_is_there_and_is_ours_or_the_same_object(name):
    theirs, module = importlib.import_module(name), importlib.import_module(ours(name))
    own = set(vars(module).get("__all__", ()))
    for thing in public(theirs):
        found, expected = getattr(module, thing), getattr(theirs, thing)
        if isinstance(expected, ModuleType):
            assert found is importlib.import_module(ours(expected.__name__))
        else:
            assert found is expected or thing in own, thing  # not one of our files of that name
    assert own <= set(dir(module))
    assert set(getattr(theirs, "__all__", ())) - set(dir(module)) <= EXPERIMENTAL


@pytest.mark.slow
def test_the_walk_meets_every_class_that_scikit_learn_lists():
    found = {name for module in WITH_NAMES for name in public(importlib.import_module(module))}
    listed = {name for name, _ in all_estimators()}
    assert listed - found <= EXPERIMENTAL | {"IterativeImputer"}


def test_top_level_names():
    for name in ("clone", "config_context", "get_config", "set_config"):
        assert getattr(didact, name) is getattr(sklearn, name)
        assert name in dir(didact)
    assert didact.show_versions is not sklearn.show_versions
    assert {name.partition(".")[2] for name in MODULES if name.count(".") == 1} <= set(dir(didact))


def test_names_that_nobody_has():
    for name in ("nonsense", "_private", "__nonsense__"):
        with pytest.raises(AttributeError, match=r"didact\.linear_model.*" + name):
            getattr(didact.linear_model, name)


def test_all_stays_ours_where_we_have_names():
    space = {}
    exec("from didact.linear_model import *", space)
    assert "Ridge" in space
    assert "Lars" not in space
    exec("from didact.model_selection import *", space)
    assert space["GridSearchCV"] is importlib.import_module("sklearn.model_selection").GridSearchCV


def test_what_is_handed_on_is_pickled_as_scikit_learns():
    for thing in (didact.model_selection.KFold(3), didact.metrics.accuracy_score, didact.linear_model.Lars):
        assert b"didact" not in pickle.dumps(thing)


def in_a_process(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_nothing_is_imported_before_a_name_is_asked_for():
    handed_on = [name for name in WITH_NAMES if "__getattr__" in vars(importlib.import_module(ours(name)))]
    wholly = [name for name in handed_on if "__all__" not in vars(importlib.import_module(ours(name)))]
    assert {"sklearn.metrics", "sklearn.utils.validation", "sklearn.impute"} <= set(wholly)
    inside_ours = ("sklearn.gaussian_process.", "sklearn.feature_extraction.")  # packages that have models or functions
    imports = "; ".join(f"import {ours(name)}" for name in wholly if not name.startswith(inside_ours))
    code = f"import sys; {imports}; import didact.datasets; before = 'sklearn' in sys.modules\n"
    code += "from didact.isotonic import IsotonicRegression; print(before, 'sklearn.isotonic' in sys.modules)\n"
    code += "import didact.linear_model; print('sklearn.linear_model' in sys.modules)"
    assert in_a_process(code) == ["False", "True", "False"]


def test_what_is_experimental_is_enabled_by_an_import():
    code = """
try:
    from didact.impute import IterativeImputer
except ImportError as error:
    print("refused" if "enable_iterative_imputer" in str(error) else error)
from didact.experimental import enable_halving_search_cv, enable_iterative_imputer
from didact.impute import IterativeImputer
from didact.model_selection import HalvingGridSearchCV
import didact.impute
print("IterativeImputer" in didact.impute.__all__, "IterativeImputer" in dir(didact.impute))
"""
    assert in_a_process(code) == ["refused", "True", "True"]
