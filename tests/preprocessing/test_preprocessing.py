"""The re-exports are scikit-learn's own, all of its public ones."""

import sklearn.preprocessing

import didact.preprocessing


def test_every_public_name_is_there_and_is_the_same_object():
    assert set(didact.preprocessing.__all__) == {*sklearn.preprocessing.__all__, "FrameColumns"}
    assert all(
        getattr(didact.preprocessing, n) is getattr(sklearn.preprocessing, n) for n in sklearn.preprocessing.__all__
    )
