"""The re-exports are scikit-learn's own classes, all of its public ones."""

import sklearn.impute

import didact.impute


def test_every_public_name_is_there_and_is_the_same_object():
    assert set(didact.impute.__all__) == set(sklearn.impute.__all__)
    assert all(getattr(didact.impute, n) is getattr(sklearn.impute, n) for n in sklearn.impute.__all__)
