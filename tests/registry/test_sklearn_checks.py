"""scikit-learn's checks of an estimator: those it runs by itself and those that only its own test suite runs.

What depends on the parameters is checked for each set of them and at the defaults, the interface once for each class.
"""

import functools
import unittest

import numpy as np
import pytest
from registry_cases import STRICT, about, all_instances, at_defaults, excuse, label, one_of_each
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import estimator_checks_generator

MODELS = list({label(model): model for model in (*all_instances(), *at_defaults())}.values())
CLASSES = MODELS if STRICT else one_of_each(all_instances())

# Some checks have columns in the hundreds, for which steps of the usual length are too long.
pytestmark = [
    pytest.mark.filterwarnings("ignore:SGDRegressor.*far above that of a model with all weights 0"),
    pytest.mark.filterwarnings("ignore:The number of connected components"),  # some rows lie in blobs far apart
    pytest.mark.filterwarnings("ignore:(BernoulliMixture|KModes). X has only"),  # rows of few kinds
    pytest.mark.filterwarnings("ignore:Graph is not fully connected"),
    pytest.mark.filterwarnings("ignore:X (does not have valid|has) feature names"),  # checks of set_output do that
]

OF_PARAMETERS = {
    "check_all_zero_sample_weights_error",
    "check_class_weight_classifiers",
    "check_classifier_multioutput",
    "check_classifiers_classes",
    "check_classifiers_multilabel_representation_invariance",
    "check_classifiers_one_label",
    "check_classifiers_one_label_sample_weights",
    "check_classifiers_train",
    "check_decision_proba_consistency",
    "check_dict_unchanged",
    "check_estimators_dtypes",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_non_transformer_estimators_n_iter",
    "check_readonly_memmap_input",
    "check_regressor_multioutput",
    "check_regressors_int",
    "check_regressors_train",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_sparsify_coefficients",
    "check_transformer_general",
    "check_transformer_n_iter",
    "check_transformer_preserve_dtypes",
}
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


def checks(model):
    """All checks of a model, by their names; the name of a variant ends with what is special in it."""
    found = {}
    for _, check in estimator_checks_generator(model):
        words = "".join(f"-{key}={value}" for key, value in _keywords(check).items())
        found[f"{name(check)}{words}"] = check
    for check in NOT_RUN + NOT_RUN_TRANSFORMERS * hasattr(model, "transform"):
        found[name(check)] = functools.partial(check, type(model).__name__)
    return found


def name(check):
    while isinstance(check, functools.partial):
        check = check.func
    return check.__name__


def reason(model, check):
    """Why a check may fail, if the class says so.

    "defaults/check_…" is for the instance with the defaults alone, "check_…:float32" for the variant with such an X,
    "check_…:parameter" for instances in which that parameter is not at its default, as in `excuse`.
    """
    prefixes = ("defaults/", "") if label(model) == label(type(model)()) else ("",)
    names = name(check), f"{name(check)}:{_keywords(check).get('X_dtype')}"
    found = (model._test_skips.get(prefix + one) for prefix in prefixes for one in names)
    return next((why for why in found if why is not None), excuse(model, name(check)))


def _keywords(check):
    return {} if not isinstance(check, functools.partial) else _keywords(check.func) | check.keywords


def of_parameters():
    """Each instance with the checks that depend on its parameters; an excused check has to fail."""
    for model in MODELS:
        for key, check in checks(model).items():
            if name(check) in OF_PARAMETERS:
                why = reason(model, check)
                marks = [pytest.mark.xfail(reason=why, strict=True)] if why else []
                yield pytest.param(model, check, id=f"{label(model)}-{key}", marks=marks)


@pytest.mark.parametrize(("model", "check"), list(of_parameters()))
def test_check(model, check):
    check(model)


@pytest.mark.parametrize("model", CLASSES, ids=label)
def test_checks_of_the_interface(model):
    """All other checks, one after the other; an excused one has to fail."""
    failed = []
    for key, check in checks(model).items():
        try:
            if name(check) not in OF_PARAMETERS:
                with about(key):
                    _assert_passes(model, check)
        except Exception as error:
            failed.append(error)
    if failed:
        raise ExceptionGroup(f"{len(failed)} of scikit-learn's checks fail", failed)


def _assert_passes(model, check):
    excused = reason(model, check) is not None
    try:
        check(model)
    except unittest.SkipTest:
        pass
    except Exception:
        if not excused:
            raise
    else:
        assert not excused, "the check passes, but _test_skips excuses it"


def test_the_checks_are_all_there():
    """Renamed checks would be run once for each class only, and an excuse for them would excuse nothing."""
    known = {name(check) for model in MODELS for check in checks(model).values()}
    assert known >= OF_PARAMETERS
    excused = {key.partition(":")[0] for model in MODELS for key in model._test_skips}
    assert {key for key in excused if key.startswith("check_")} <= known
    assert len(known) > 80


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
