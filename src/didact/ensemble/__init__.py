"""Ensembles: bagging, forests, boosting, voting, stacking, cascades, mixtures of experts, and their pruning."""

from sklearn.ensemble import StackingClassifier, StackingRegressor, VotingClassifier

from didact.core.handed_on import hand_on
from didact.ensemble.adaboost import AdaBoostClassifier
from didact.ensemble.adaboost_regressor import AdaBoostRegressor
from didact.ensemble.bagging import BaggingClassifier, BaggingRegressor
from didact.ensemble.bayesian_combination import BayesianModelCombination
from didact.ensemble.cascade import CascadeClassifier
from didact.ensemble.clusterwise import ClusterwiseClassifier, ClusterwiseRegressor
from didact.ensemble.detection_cascade import DetectionCascadeClassifier
from didact.ensemble.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from didact.ensemble.hist_gradient_boosting import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from didact.ensemble.mixture_of_experts import MixtureOfExperts
from didact.ensemble.prune import prune_ensemble
from didact.ensemble.random_forest import RandomForestClassifier, RandomForestRegressor
from didact.ensemble.voting import VotingRegressor

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "BayesianModelCombination",
    "CascadeClassifier",
    "ClusterwiseClassifier",
    "ClusterwiseRegressor",
    "DetectionCascadeClassifier",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "MixtureOfExperts",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "StackingClassifier",
    "StackingRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "prune_ensemble",
]
__getattr__, __dir__ = hand_on(__name__)
