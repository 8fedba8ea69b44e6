"""Naive Bayes classifiers: Bayes' rule with columns that are independent given the class."""

from didact.naive_bayes.categorical import CategoricalNB
from didact.naive_bayes.discrete import BernoulliNB, ComplementNB, MultinomialNB
from didact.naive_bayes.gaussian import GaussianNB
from didact.naive_bayes.mixed import MixedNB

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MixedNB", "MultinomialNB"]
