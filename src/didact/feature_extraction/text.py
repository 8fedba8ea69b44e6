"""Texts as counts of words: scikit-learn's vectorizers, as they are.

>>> from didact.feature_extraction.text import CountVectorizer
>>> CountVectorizer().fit(["the cat", "the dog"]).vocabulary_ == {"cat": 0, "dog": 1, "the": 2}
True
"""

from sklearn.feature_extraction.text import (
    ENGLISH_STOP_WORDS,
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
    strip_accents_ascii,
    strip_accents_unicode,
    strip_tags,
)

__all__ = [
    "ENGLISH_STOP_WORDS",
    "CountVectorizer",
    "HashingVectorizer",
    "TfidfTransformer",
    "TfidfVectorizer",
    "strip_accents_ascii",
    "strip_accents_unicode",
    "strip_tags",
]
