"""A new criterion is one class: what it says of itself is enough for a tree to be grown by it."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest

from didact.core.errors import InputError
from didact.engines.trees.growers.forest import exact_table, grow_from
from didact.engines.trees.limits import Limits
from didact.engines.trees.rows.targets import value_targets
from didact.engines.trees.tree import LEAF, apply
from didact.parts.criteria.base import OfNumbers, Outputs


class GammaDeviance(OfNumbers, Outputs):
    """Half the mean gamma deviance around the mean, log ȳ − mean(log y), for y > 0."""

    __slots__ = ()
    positive = True

    def score1(self, sums, start, n):
        """−Σ_j W log(s_j/W), averaged over the outputs."""
        w, found = sums[start + n], 0.0
        for k in range(start, start + n):
            if sums[k] <= 0.0 or w <= 0.0:
                return -math.inf
            found -= w * math.log(sums[k] / w)
        return found / self.outputs

    def score2(self, s, w):
        """−W log(s/W)."""
        return -w * math.log(s / w) if s > 0.0 and w > 0.0 else -math.inf

    def base2(self, s, w):
        """−w log y."""
        return -w * math.log(s / w) if s > 0.0 and w > 0.0 else 0.0

    def refuse(self, negative, totals):
        """Targets are positive."""
        if negative or (totals <= 0).any():
            raise InputError("The gamma deviance needs y > 0.")

    def _impurity(self, y, w):
        return float(np.log(w @ y / w.sum()) - w @ np.log(y) / w.sum())


def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    return X, np.exp(X[:, 0] + 0.5 * rng.normal(size=40)), rng.integers(1, 4, 40).astype(float)


def best_split(X, y, w, criterion):
    """The least impurity, in sum over both sides, that a threshold leaves."""
    found = math.inf
    for column in X.T:
        for cut in np.unique(column)[:-1]:
            sides = [column <= cut, column > cut]
            found = min(found, sum(w[side].sum() * criterion.impurity(y[side], w[side]) for side in sides))
    return found


def check_growth():
    (X, y, w), criterion = problem(), GammaDeviance()
    targets = value_targets(y, w, criterion)
    tree = grow_from(exact_table(X, None, None, False), targets, Limits(max_depth=3), 0, None)
    assert tree.node_count > 5
    nodes = apply(tree, X)
    for leaf in np.unique(nodes):
        rows = nodes == leaf
        np.testing.assert_allclose(tree.value[leaf, 0, 0], np.average(y[rows], weights=w[rows]))
        np.testing.assert_allclose(tree.impurity[leaf], criterion.impurity(y[rows], w[rows]), atol=1e-12)
    children = [tree.children_left[0], tree.children_right[0]]
    assert LEAF not in children
    left_over = (tree.impurity * tree.weighted_n_node_samples)[children].sum()
    np.testing.assert_allclose(left_over, best_split(X, y, w, criterion), rtol=1e-9)


def test_a_tree_is_grown_by_a_criterion_of_ones_own():
    """In a process of its own that does not compile, which would take longer than all other tests of this file."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    code = "import warnings; warnings.simplefilter('ignore'); import test_new_criterion as t; t.check_growth()"
    folder = os.path.dirname(__file__)
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_targets_are_refused_and_measured_as_the_criterion_says():
    _, y, w = problem()
    with pytest.raises(InputError, match="y > 0"):
        value_targets(-y, w, GammaDeviance())
    criterion = GammaDeviance()
    np.testing.assert_allclose(criterion.bases(y), -np.log(y))
    sums = np.array([[w @ y, w.sum()]])
    base = np.array([w @ criterion.bases(y)])
    np.testing.assert_allclose(criterion.impurities(sums, base), criterion.impurity(y, w))
    assert value_targets(y, w, criterion).stat.criterion == criterion, "a criterion without a code stays itself"
