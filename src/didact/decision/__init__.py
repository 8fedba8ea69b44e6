"""Decisions from probabilities: least expected risk, a reject option, and thresholds tuned for a cost."""

from didact.decision.bayes import BayesDecision

__all__ = ["BayesDecision"]
