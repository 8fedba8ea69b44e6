r"""Scales of a Gaussian linear model by maximum evidence.

For :math:`y \sim N(0, C)`, :math:`C = \sigma^2 I + X\,\mathrm{diag}(v)\,X^T`, and
:math:`M = I + D X^TX D/\sigma^2` with :math:`D = \mathrm{diag}(v)^{1/2}`, the logarithm of the evidence is

.. math:: -\tfrac12\big(n\log 2\pi\sigma^2 + \log|M| + \|y - Xm\|^2/\sigma^2 + \|t\|^2\big),\quad m = Dt

and its slopes are :math:`\tfrac12(t_j^2 - \gamma_j)` in log v_j and
:math:`\tfrac12(\|y-Xm\|^2/\sigma^2 - n + \gamma)` in log σ², where :math:`\gamma_j = 1 - (M^{-1})_{jj}` says how far
the data determine weight j. Setting them to zero gives MacKay's fixed point; the steps of EM are shorter, and never
lower the evidence.

MacKay (1992), Bayesian interpolation, doi:10.1162/neco.1992.4.3.415; Tipping (2001), Sparse Bayesian learning and the
relevance vector machine, doi:10.1162/15324430152748236.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from didact.core.typing import Array
from didact.engines.loop.iterate import Report, iterate
from didact.engines.loop.line_search import NOISE
from didact.engines.loop.result import Result
from didact.parts.families.log_densities import gaussian_log_density

EXACT_FIT = 1e-12  # noise, as a share of the variance of y, at which a fit is exact: its evidence has no maximum
IRRELEVANT = 1e-9  # a weight that the data determine to less than this, and want smaller, is set to zero
CREEPING = 0.5  # share of the slope that is left after a round, from which the next is stretched
LONGEST = 16.0


class Scales(NamedTuple):
    """The noise variance σ² and the prior variance(s) v: one number, or one for each weight."""

    noise: float
    prior: Any


class Summary(NamedTuple):
    """What a round needs to know at some scales."""

    log_evidence: float
    explained: Any  # t²
    known: Any  # γ
    unknown: Any  # diagonal of M⁻¹
    size: Any  # weights that share a scale
    squares: float  # ‖y − Xm‖²
    free: float  # n − γ


class Isotropic(NamedTuple):
    """One prior variance for all weights; X = U diag(s) Vᵀ, z = Uᵀy, and `rest` is what of ‖y‖² lies outside of U."""

    s: Array
    z: Array
    Vt: Array
    rest: float
    n: float

    @classmethod
    def of(cls, R: Array, b: Array, rest: float, n: float) -> "Isotropic":
        """From a triangular factor: ‖y − Xw‖² = ‖b − Rw‖² + rest; R has no more rows than columns."""
        U, s, Vt = linalg.svd(R)
        return cls(s, U.T @ b, Vt, rest, n)

    def start(self) -> float:
        """The prior variance for which the weights are expected to explain all of y."""
        squares, total = float(self.z @ self.z) + self.rest, float(self.s @ self.s)
        return squares / total if total > 0 else 1.0

    def summary(self, scales: Scales) -> Summary:
        """In O(p)."""
        noise, prior = scales
        d = noise + prior * self.s**2
        errors = self.z * noise / d
        log_det = self.n * np.log(noise) + np.log(d / noise).sum()
        value = gaussian_log_density(self.rest / noise + self.z @ (self.z / d), log_det, self.n)
        unknown = float((noise / d).sum())
        p, r = len(self.Vt), len(self.s)
        return Summary(
            log_evidence=float(value),
            explained=float(prior * ((self.s * self.z / d) ** 2).sum()),
            known=float((prior * self.s**2 / d).sum()),
            unknown=unknown + p - r,
            size=p,
            squares=float(self.rest + errors @ errors),
            free=self.n - r + unknown,
        )

    def posterior(self, scales: Scales) -> tuple[Array, Array]:
        """Mean and covariance of the weights."""
        noise, prior = scales
        r = len(self.s)
        d = noise + prior * self.s**2
        spread = np.append(prior * noise / d, np.full(len(self.Vt) - r, prior))
        return self.Vt[:r].T @ (prior * self.s * self.z / d), (self.Vt.T * spread) @ self.Vt


class Relevance(NamedTuple):
    """One prior variance for each weight; ‖y − Xw‖² = ‖b − Rw‖² + rest."""

    R: Array
    b: Array
    rest: float
    n: float

    def start(self) -> Array:
        """Prior variances for which each weight is expected to explain an equal share of y."""
        totals = (self.R**2).sum(axis=0)
        share = (float(self.b @ self.b) + self.rest) / len(totals)
        return np.divide(share, totals, out=np.zeros_like(totals), where=totals > 0)

    def _in_model(self, scales: Scales) -> tuple[Array, Array, Isotropic]:
        """The weights that are not zero, their D, and the model of t = w/D, which has prior variance 1."""
        used = np.flatnonzero(scales.prior > 0)
        root = np.sqrt(scales.prior[used])
        U, s, Vt = linalg.svd(self.R[:, used] * root, full_matrices=False)
        z = U.T @ self.b
        outside = self.b - U @ z
        return used, root, Isotropic(s=s, z=z, Vt=Vt, rest=self.rest + float(outside @ outside), n=self.n)

    def summary(self, scales: Scales) -> Summary:
        """In O(p³) for the weights that are not zero."""
        used, _, model = self._in_model(scales)
        whole = model.summary(Scales(scales.noise, 1.0))
        share = 1.0 / (scales.noise + model.s**2)
        p = self.R.shape[1]
        explained, known = np.zeros(p), np.zeros(p)
        explained[used] = (model.Vt.T @ (model.s * model.z * share)) ** 2
        known[used] = (model.Vt**2).T @ (model.s**2 * share)
        return whole._replace(explained=explained, known=known, unknown=1.0 - known, size=1)

    def posterior(self, scales: Scales) -> tuple[Array, Array]:
        """Mean and covariance of the weights; zero for those that were found irrelevant."""
        used, root, model = self._in_model(scales)
        p = self.R.shape[1]
        mean, covariance = np.zeros(p), np.zeros((p, p))
        share = 1.0 / (scales.noise + model.s**2)
        mean[used] = root * (model.Vt.T @ (model.s * model.z * share))
        inside = np.eye(len(used)) - (model.Vt.T * (model.s**2 * share)) @ model.Vt
        covariance[np.ix_(used, used)] = root[:, None] * inside * root
        return mean, covariance


class _State(NamedTuple):
    x: Scales
    summary: Summary
    value: float
    optimality: float
    stretch: float = 1.0


def maximise(
    model: Isotropic | Relevance,
    noise: float | None,
    prior: float | None,
    tol: float,
    max_iter: int,
    report: Report | None = None,
) -> Result:
    """The scales of largest evidence, as `x`; those that are given stay as they are.

    The value is minus the logarithm of the evidence, divided by n, and tol is for its slopes in the logarithms. Where
    the fixed point creeps, for weights at the edge of relevance, its steps in the logarithms are stretched.
    """
    least = max(EXACT_FIT * _variance(model), 1e-300)

    def state(new_noise: float, new_prior: Any) -> _State:
        scales = Scales(max(new_noise, least) if noise is None else noise, new_prior if prior is None else prior)
        s = model.summary(scales)
        slope = np.max(np.abs(s.explained - s.known)) if prior is None else 0.0
        if noise is None:
            slope = max(slope, abs(s.squares / scales.noise - s.free)) if scales.noise > least else 0.0
        return _State(scales, s, -s.log_evidence / model.n, float(0.5 * slope / model.n))

    def step(old: _State) -> _State | None:
        s, now, stretch = old.summary, old.x, old.stretch
        ratio = s.squares / s.free / now.noise if s.free > 0 else 1.0
        limit = old.value + NOISE * (1.0 + abs(old.value))
        for power in (stretch, 1.0):
            new = state(now.noise * ratio**power, _mackay(s, now.prior, power))
            if new.value <= limit:
                creeping = new.optimality > CREEPING * old.optimality
                return new._replace(stretch=min(2.0 * power, LONGEST) if creeping else power)
        known = float(np.sum(s.known))
        new = state((s.squares + now.noise * known) / model.n, now.prior * (s.explained + s.unknown) / s.size)
        return new if new.value <= limit else None

    begin = max(_variance(model), least) if noise is None else noise
    return iterate(state(begin, model.start() if prior is None else prior), step, tol, max_iter, report)


def _variance(model: Isotropic | Relevance) -> float:
    y = model.z if isinstance(model, Isotropic) else model.b
    return (float(y @ y) + model.rest) / model.n


def _mackay(s: Summary, prior: Any, power: float) -> Any:
    """v (t²/γ)ᵃ, and zero for what is irrelevant."""
    known = np.asarray(s.known)
    ratio = np.divide(s.explained, known, out=np.ones_like(known), where=known > 0)
    new = np.where((known < IRRELEVANT) & (ratio < 1) & (s.size == 1), 0.0, prior * ratio**power)
    return new if new.ndim else float(new)
