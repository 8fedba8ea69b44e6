"""Compiled stochastic gradient descent against a slow twin that does every step on all weights at once."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import didact
from didact.engines.row_loops import Dense, Sparse, add, dot, scattered_dot
from didact.engines.sgd import Rate, Stopping, Training, Weights, fit
from didact.engines.sgd_loops import AVERAGED, BIAS, BIAS_SUM, TIME, UPDATES, fill, learn, mix, settled, sweep
from didact.engines.sgd_passes import block, full, row_blocks, stochastic, sweep_block
from didact.core.rows import MemoryRows
from didact.parts import losses
from didact.parts.penalties import L1, L2, ElasticNet, PNorm

MARGIN = [losses.Hinge(), losses.SquaredHinge(), losses.Logistic(), losses.Exponential(), losses.Perceptron()]
NUMBER = [losses.HalfSquared(), losses.Absolute(), losses.Huber(0.5), losses.EpsilonInsensitive(0.1),
          losses.SquaredEpsilonInsensitive(0.1)]  # fmt: skip
PENALTIES = [None, L2(0.3), L1(0.2), ElasticNet(0.4, 0.5), PNorm(0.3, 1.5), PNorm(0.3, 3.0)]


def twin(X, y, w, order, training):
    """Every step on all weights, with the penalty taken at once; the final weights, their average and the losses."""
    l1, l2, pull, p = training.strengths()
    v, b, q, u, t = np.zeros(X.shape[1]), 0.0, np.zeros(X.shape[1]), 0.0, 1.0
    batch, rate = training.batch, training.rate
    total, kept = 0.0, []
    for start in range(0, len(order), batch):
        rows = order[start : start + batch]
        z = X[rows] @ v + b
        total += np.sum(w[rows] * training.loss.value(y[rows], z))
        g = w[rows] * training.loss.gradient(y[rows], z)
        eta = rate.scale / (rate.offset + t) ** rate.power
        v = max(0.0, 1 - eta * l2) * v - eta * g @ X[rows] / len(rows)
        q, u = max(0.0, 1 - eta * l2) * 0 + q, u
        b -= eta * g.sum() / len(rows) if training.fit_intercept else 0.0
        if t >= training.averaged_from:
            kept.append((v.copy(), b))
        if l1:
            v, q, u = cumulative(v, q, u, eta, l1, l2)
        if pull:
            v = flow(v, eta * pull, p)
        t += 1
    return v, b, kept, total


def cumulative(v, q, u, eta, l1, l2):
    """Tsuruoka's pull: what is owed in total (u), less what was paid (q, with its sign)."""
    shrink = max(0.0, 1 - eta * l2)
    u, q = shrink * u + eta * l1, shrink * q
    new = np.where(v > 0, np.maximum(0, v - (u + q)), np.where(v < 0, np.minimum(0, v + (u - q)), 0.0))
    return new, q + (new - v), u


def flow(v, time, p, steps=1):
    """The gradient flow of |v|^p/p, in closed form."""
    rest = np.abs(v) ** (2 - p) - (2 - p) * time if p < 2 else 1 / np.where(v == 0, np.inf, np.abs(v)) ** (p - 2)
    if p > 2:
        with np.errstate(divide="ignore"):
            rest = np.where(v == 0, np.inf, np.abs(v, where=v != 0, out=np.ones_like(v)) ** (2 - p)) + (p - 2) * time
    return np.sign(v) * np.where(rest > 0, rest, 0.0) ** (1 / (2 - p))
