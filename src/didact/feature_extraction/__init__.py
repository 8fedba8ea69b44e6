"""From texts and records to numbers: scikit-learn's vectorizers, as they are, also at `feature_extraction.text`.

>>> from didact.feature_extraction import CountVectorizer
>>> words = CountVectorizer(stop_words="english", binary=True)
>>> words.fit_transform(["win cash, win now", "lunch at noon"]).toarray().tolist()
[[1, 0, 0, 1], [0, 1, 1, 0]]
>>> words.get_feature_names_out().tolist()
['cash', 'lunch', 'noon', 'win']
"""

from sklearn.feature_extraction import DictVectorizer, FeatureHasher

from didact.core.handed_on import hand_on
from didact.feature_extraction import text
from didact.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer

__all__ = [
    "CountVectorizer",
    "DictVectorizer",
    "FeatureHasher",
    "HashingVectorizer",
    "TfidfTransformer",
    "TfidfVectorizer",
    "text",
]
__getattr__, __dir__ = hand_on(__name__)
