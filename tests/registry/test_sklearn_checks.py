"""scikit-learn's checks of an estimator: those it runs by itself and those that only its own test suite runs."""

import numpy as np
import pytest
from registry_cases import all_instances, at_defaults, label
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

MODELS = all_instances()

# Some checks have columns in the hundreds, for which steps of the usual length are too long.
pytestmark = pytest.mark.filterwarnings("ignore:SGDRegressor.*far above that of a model with all weights 0")

NOT_RUN = [
    estimator_checks.check_param_validation,
    estimator_checks.check_dataframe_column_names_consistency,
]
NOT_RUN_TRANSFORMERS = [
    estimator_checks.check_get_feature_names_out_error,
    estimator_checks.check_transformer_get_feature_names_out,
    estimator_checks.check_transformer_get_feature_names_out_pandas,
    estimator_checks.check_set_output_transform,
    estimator_checks.check_set_output_transform_pandas,
    estimator_checks.check_set_output_transform_polars,
    estimator_checks.check_global_output_transform_pandas,
    estimator_checks.check_global_set_output_transform_polars,
]


def excused(model):
    """Reasons for scikit-learn's checks (their names begin with check_); ours have names without it.

    "defaults/check_…" is a reason for the instance that has no other parameters than the defaults, "check_…:float32"
    one for the variant of a check with that type of X.
    """
    prefix = "defaults/" if label(model) == label(type(model)()) else ""
    names = {name.removeprefix(prefix): reason for name, reason in model._test_skips.items()}
    return {name: reason for name, reason in names.items() if name.startswith("check_")}


@parametrize_with_checks(MODELS + at_defaults(), expected_failed_checks=excused, xfail_strict=True)
def test_check(estimator, check):
    name, kind = getattr(check, "func", check).__name__, getattr(check, "keywords", {}).get("X_dtype", "")
    reason = excused(estimator).get(f"{name}:{kind}")
    if reason is None:
        return check(estimator)
    with pytest.raises(AssertionError):
        check(estimator)
    pytest.xfail(reason)


def _others():
    for model in MODELS:
        for check in NOT_RUN + NOT_RUN_TRANSFORMERS * hasattr(model, "transform"):
            name = check.__name__
            reason = model._test_skips.get(name)
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            yield pytest.param(model, check, id=f"{label(model)}-{name}", marks=marks)


@pytest.mark.filterwarnings(
    "ignore:X (does not have valid|has) feature names"
)  # checks of set_output do that on purpose
@pytest.mark.parametrize(("model", "check"), list(_others()))
def test_check_that_scikit_learn_runs_on_itself_only(model, check):
    check(type(model).__name__, model)


def test_every_estimator_is_registered():
    names = {type(model).__name__ for model in MODELS}
    assert {"LinearRegression", "Ridge", "GeneralizedLinearRegressor", "LogisticRegression"} <= names
    for model in MODELS:
        assert type(model).__module__.startswith("didact.")
        assert all(isinstance(reason, str) and len(reason) > 20 for reason in model._test_skips.values())


def test_array_api_checks_are_not_skipped():
    """Without SCIPY_ARRAY_API=1 scikit-learn would skip them without a word."""
    from scipy._lib._array_api import SCIPY_ARRAY_API

    assert SCIPY_ARRAY_API in (True, "1")
    assert np.__version__
