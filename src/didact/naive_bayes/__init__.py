"""Naive Bayes classifiers: Bayes' rule with columns that are independent given the class."""

from didact.core.handed_on import hand_on
from didact.naive_bayes.categorical import CategoricalNB
from didact.naive_bayes.discrete import BernoulliNB, ComplementNB, MultinomialNB
from didact.naive_bayes.gaussian import GaussianNB
from didact.naive_bayes.mixed import MixedNB

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MixedNB", "MultinomialNB"]
__getattr__, __dir__ = hand_on(__name__)
