"""Texts as counts of words: scikit-learn's vectorizers, as they are.

>>> from didact.feature_extraction.text import CountVectorizer
>>> CountVectorizer().fit(["the cat", "the dog"]).vocabulary_ == {"cat": 0, "dog": 1, "the": 2}
True
"""

from typing import TYPE_CHECKING

from didact.core.handed_on import hand_on

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import *  # noqa: F403

__getattr__, __dir__ = hand_on(__name__)
