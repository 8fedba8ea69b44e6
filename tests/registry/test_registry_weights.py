"""Weights of rows, for every estimator that takes them: only their proportions count, and none may be too small."""

import numpy as np
from registry_cases import (
    METHODS,
    about,
    all_instances,
    assert_same,
    over_registry,
    precise,
    problem,
    state,
    takes,
)
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags

WEIGHTED = [model for model in all_instances() if takes(model, "sample_weight")]
SEVERAL = [m for m in WEIGHTED if is_classifier(m) and get_tags(m).classifier_tags.multi_class]


@over_registry(WEIGHTED, "weight_scale")
def test_only_proportions_of_weights_count(model):
    X, y = problem(model)
    w = np.random.default_rng(1).integers(1, 4, size=len(y)) / 2
    expected = state(precise(model).fit(X, y, sample_weight=w), X)
    for factor in (0.001, 1000.0):
        with about(f"weights times {factor}"):
            assert_same(state(precise(model).fit(X, y, sample_weight=factor * w), X), expected, rtol=1e-6)


@over_registry(SEVERAL, "zero_weight_class")
def test_a_class_without_weight_stays_a_class(model):
    """Its rows are rows of y, so it is in `classes_`; what is said of it is finite, and never an error."""
    X, y = problem(model)
    w = np.where(y == "two", 0.0, 1.0)
    fitted = clone(model).fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(fitted.classes_, ["one", "three", "two"])
    for method in (method for method in METHODS if hasattr(fitted, method)):
        found = np.asarray(getattr(fitted, method)(X))
        if method == "predict":
            assert set(found) <= {"one", "three"}, "no row speaks for the class without weight"
        elif method == "transform":
            assert np.isfinite(found).all()
        else:
            assert found.shape == (len(y), 3) or method != "predict_proba"
            assert not np.isnan(found).any(), method
            assert (found < np.inf).all(), method
    if hasattr(fitted, "predict_proba"):
        np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1.0, rtol=1e-6)
