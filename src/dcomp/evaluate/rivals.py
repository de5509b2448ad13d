"""Which distribution the scores of a component follow: the gamma of C04 3.1, or its rivals.

C04 chose the gamma by looking at densities on a logarithmic scale (figure 2): straight over most of
the range, with a spike at 0. A lognormal and a Zipf (power) law over the same range are set beside
it, all three by maximum likelihood, so that their log-likelihoods can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidParameter
from dcomp.models.arrays import FloatArray, read_only
from dcomp.models.learning import solve_shape
from dcomp.result.of_estimator import as_fit

LEAST = 8  # documents, below which no distribution is told from another


@dataclass(frozen=True, eq=False)
class Rival:
    """A distribution of positive scores, fitted by maximum likelihood."""

    name: str
    parameters: dict[str, float]
    log_likelihood: float  # per document
    density: Callable[[npt.ArrayLike], FloatArray]

    def __str__(self) -> str:
        values = ", ".join(f"{name} {value:.3g}" for name, value in self.parameters.items())
        return f"{self.name} ({values}): {self.log_likelihood:.4f} nats per document"


@dataclass(frozen=True, eq=False)
class ScoreRivals:
    """The scores of one component that are worth a look, and what was fitted to them, best
    first."""

    component: int
    scores: FloatArray
    rivals: tuple[Rival, ...]

    def __getitem__(self, name: str) -> Rival:
        for rival in self.rivals:
            if rival.name == name:
                return rival
        raise InvalidParameter(f"there are {', '.join(r.name for r in self.rivals)}; got {name!r}")

    def __str__(self) -> str:
        head = f"scores of component {self.component} in {len(self.scores):,} documents"
        return "\n".join([head, *map(str, self.rivals)])


def score_rivals(fit: Any, component: int = 0, threshold: float = 0.5) -> ScoreRivals:
    """Gamma, lognormal and Zipf laws of one component's scores, over documents with more than
    `threshold` expected words of it: as few words say nothing of a shape.

    The Zipf law has density ∝ x^−s between the least and the largest score. All three have the same
    documents, and two numbers each (of Zipf's three, two are the ends of the range).

    >>> import dcomp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(rng.gamma(3.0, 4.0, (200, 1)) * [[0.5, 0.3, 0.2]])
    >>> found = score_rivals(dcomp.GaP(1, verbose=0).fit(X))
    >>> [rival.name for rival in found.rivals][-1], bool(found["gamma"].parameters["shape"] > 2)
    ('zipf', True)
    """
    fit = as_fit(fit)
    if not 0 <= component < fit.n_components:
        raise InvalidParameter(
            f"component must be from 0 to {fit.n_components - 1}; got {component}"
        )
    own = fit.scores[fit.expected_counts[:, component] > threshold, component].astype(np.float64)
    own = own[own > 0]
    if len(own) < LEAST or np.ptp(own) == 0:
        raise InvalidParameter(
            f"component {component} has more than {threshold:g} words in {len(own)} documents; "
            f"{LEAST} that differ are the least to tell distributions apart"
        )
    found = [_gamma(own), _lognormal(own), _zipf(own)]
    found.sort(key=lambda rival: -rival.log_likelihood)
    return ScoreRivals(component, read_only(own), tuple(found))


def _rival(
    name: str, parameters: dict[str, float], own: FloatArray, log_density: Callable[..., Any]
) -> Rival:
    def density(x: npt.ArrayLike) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.asarray(np.exp(log_density(np.asarray(x, np.float64))))

    return Rival(name, parameters, float(np.mean(log_density(own))), density)


def _gamma(own: FloatArray) -> Rival:
    from scipy.special import gammaln

    shape = float(solve_shape(np.array([np.log(own.mean()) - np.log(own).mean()]))[0])
    scale = float(own.mean()) / shape

    def log_density(x: FloatArray) -> Any:
        return (shape - 1) * np.log(x) - x / scale - gammaln(shape) - shape * np.log(scale)

    return _rival("gamma", {"shape": shape, "scale": scale}, own, log_density)


def _lognormal(own: FloatArray) -> Rival:
    mu, sigma = float(np.log(own).mean()), float(max(np.log(own).std(), 1e-12))

    def log_density(x: FloatArray) -> Any:
        z = (np.log(x) - mu) / sigma
        return -0.5 * z**2 - np.log(x * sigma) - 0.5 * np.log(2 * np.pi)

    return _rival("lognormal", {"mu": mu, "sigma": sigma}, own, log_density)


def _zipf(own: FloatArray) -> Rival:
    """∝ x^−s on [least, most]; s by bisection, for the slope of the likelihood falls in s."""
    least, most = float(own.min()), float(own.max())
    span, wanted = np.log(most / least), float(np.log(own / least).mean())
    low, high = -50.0, 50.0  # of t = 1 − s, with log x exponential of rate −t on [0, span]
    for _ in range(100):
        t = (low + high) / 2
        low, high = (t, high) if _mean_log(t, span) < wanted else (low, t)
    t = (low + high) / 2

    def log_density(x: FloatArray) -> Any:
        inside = (x >= least) & (x <= most)
        return np.where(inside, (t - 1) * np.log(x / least) - _log_norm(t, span, least), -np.inf)

    return _rival("zipf", {"s": 1 - t}, own, log_density)


def _mean_log(t: float, span: float) -> float:
    """E[y] of density ∝ exp(t y) on [0, span]."""
    u = t * span
    if abs(u) < 1e-6:
        return span * (0.5 + u / 12)
    return float(span * (1 / -np.expm1(-u) - 1 / u))


def _log_norm(t: float, span: float, least: float) -> float:
    """log of ∫ (x / least)^(t − 1) dx over the range: least · (exp(t span) − 1) / t."""
    u = t * span
    if abs(u) < 1e-9:
        return float(np.log(least * span))
    size = u + np.log(-np.expm1(-u)) if u > 0 else np.log(-np.expm1(u))
    return float(np.log(least) + size - np.log(abs(t)))
