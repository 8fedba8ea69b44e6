r"""Pruning of trees with any number of branches: pessimistic (C4.5) and by the error on held-out cases.

Pessimistic: a leaf with N cases, E of them wrong, is expected to make :math:`N\,U_{CF}(E, N)` errors, where U is the
upper limit at which as few as E errors among N would have the probability CF:
:math:`\sum_{i\le E}\binom{N}{i}U^i(1-U)^{N-i} = CF`, a quantile of the beta distribution, for fractional N and E too. A
subtree becomes a leaf, or is replaced by its heaviest branch, when that does not raise the expected errors by more
than a tenth of a case. Reduced error: a subtree becomes a leaf when that makes no more errors on the held-out cases.

Quinlan (1993), C4.5: Programs for Machine Learning, section 4; Quinlan (1987), Simplifying decision trees,
doi:10.1016/S0020-7373(87)80053-6; Clopper, Pearson (1934), doi:10.1093/biomet/26.4.404.
"""

import numpy as np
from scipy.special import betaincinv

from didact.core.typing import Array
from didact.engines.trees.variants.c45 import C45Node, Cases, branch_cases, pack_c45
from didact.engines.trees.variants.multiway import NO_BRANCH, NO_TEST, MultiwayTree

ERROR_SLACK = 0.1  # expected errors that simplicity is worth, as in C4.5


def expected_errors(value: Array, wrong: float, confidence: float) -> float:
    """N·U(E, N) of a leaf with these class weights, of which `wrong` are wrong."""
    total = float(value.sum())
    right = total - wrong
    if right <= 1e-9 * total:
        return total
    return total * float(betaincinv(max(wrong, 0.0) + 1.0, right, 1.0 - confidence))


def prune_pessimistic(nodes: list[C45Node], cases: Cases, confidence: float, raising: bool) -> None:
    """Turn nodes into leaves, or into their heaviest branch, from the bottom up, in place."""
    expected = np.zeros(len(nodes))
    for i in range(len(nodes) - 1, -1, -1):
        node = nodes[i]
        leaf = expected_errors(node.value, float(node.value.sum() - node.value.max()), confidence)
        expected[i] = leaf
        if node.feature == NO_TEST:
            continue
        children = [c for c in node.children if c != NO_BRANCH]
        subtree = float(expected[children].sum())
        heaviest = max(children, key=lambda c: float(nodes[c].value.sum()))
        branch = _refilled(nodes, heaviest, node, cases, confidence, False) if raising else np.inf
        if leaf <= min(branch, subtree) + ERROR_SLACK:
            node.feature, node.threshold, node.children = NO_TEST, np.nan, []
        elif branch <= subtree + ERROR_SLACK:
            expected[i] = _refilled(nodes, heaviest, node, cases, confidence, True)
            below = nodes[heaviest]
            node.feature, node.threshold, node.children = below.feature, below.threshold, below.children
        else:
            expected[i] = subtree


def _refilled(nodes: list[C45Node], root: int, source: C45Node, cases: Cases, confidence: float, keep: bool) -> float:
    """The expected errors of the subtree at `root` with the cases of another node; with `keep` they stay there."""
    total, waiting = 0.0, [(root, source.rows, source.parts)]
    while waiting:
        i, rows, parts = waiting.pop()
        node = nodes[i]
        answer, new = int(node.value.argmax()), C45Node(
            np.bincount(cases.codes[rows], parts, cases.n_classes), node.depth, rows, parts, node.feature,
            node.threshold, node.children,
        )  # fmt: skip
        own = new.value
        if node.feature != NO_TEST:
            sent = branch_cases(cases, new)
            waiting += [(c, *part) for c, part in zip(node.children, sent, strict=True) if c != NO_BRANCH]
            # Cases of a category without a branch stay: the node answers for them.
            lost = [part for c, part in zip(node.children, sent, strict=True) if c == NO_BRANCH and len(part[0])]
            own = np.sum([np.bincount(cases.codes[r], p, cases.n_classes) for r, p in lost] or [0 * own], axis=0)
        if own.sum() > 0:
            total += expected_errors(own, float(own.sum() - own[answer]), confidence)
        if keep:
            nodes[i] = new
    return total


def prune_c45_by_error(tree: MultiwayTree, X: Array, codes: Array, w: Array) -> MultiwayTree:
    """The smallest subtree of least error on held-out rows."""
    held, answers = tree.arrived(X, codes, w), tree.value.argmax(axis=1)
    wrong = held.sum(axis=1) - held[np.arange(len(held)), answers]
    keep = tree.feature != NO_TEST
    errors = wrong.copy()
    for node in np.flatnonzero(keep)[::-1]:
        children = tree.branches(node)[tree.branches(node) != NO_BRANCH]
        own = held[node] - held[children].sum(axis=0)  # cases of a category without a branch
        subtree = errors[children].sum() + own.sum() - own[answers[node]]
        keep[node] = wrong[node] > subtree + 1e-9 * max(wrong[node], 1.0)
        errors[node] = min(wrong[node], subtree)
    return cut_back(tree, keep)


def cut_back(tree: MultiwayTree, keep: Array) -> MultiwayTree:
    """The tree in which every inner node that is not kept is a leaf."""
    none = np.zeros(0, np.int64)
    nodes = [
        C45Node(tree.value[i], 0, none, none, int(tree.feature[i]), float(tree.threshold[i]), tree.branches(i).tolist())
        if keep[i] else C45Node(tree.value[i], 0, none, none)
        for i in range(tree.node_count)
    ]  # fmt: skip
    return pack_c45(nodes)
