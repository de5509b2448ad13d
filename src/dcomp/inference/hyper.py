"""Learning the priors of the scores from their expected moments (MODELS §6, B09 5.5).

Each step maximises its own part of the bound and is checked never to lower it.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, gammaln, polygamma

from dcomp.models import (
    ConditionalGammaScores,
    DirichletLoadings,
    DirichletScores,
    GammaScores,
    Model,
    Observations,
)
from dcomp.models.arrays import FloatArray
from dcomp.models.loadings import column_totals
from dcomp.models.structure_rows import DirichletRows, StickRows

ALPHA_FLOOR, ALPHA_CAP_DM, ALPHA_CAP_GP = 1e-4, 1e3, 5.0
BETA_FLOOR, BETA_CAP = 1e-9, 1e9
RHO_CAP = 1 - 1e-6
GAMMA_FLOOR, GAMMA_CAP = 1e-5, 1e3


def learn_scores(
    model: Model, log_scores: FloatArray, mean_scores: FloatArray, n_docs: int
) -> tuple[Model, tuple[str, ...]]:
    """The model with its learned hyper-parameters updated, and the names of those at a limit."""
    scores = model.scores
    if isinstance(scores, DirichletScores) and scores.learn_alpha:
        alpha, capped = dirichlet_alpha(scores.alpha, log_scores / n_docs)
        return model.with_scores(alpha=alpha), ("alpha",) if capped else ()
    if isinstance(scores, GammaScores) and scores.learned:
        changes, names = gamma_parameters(scores, log_scores / n_docs, mean_scores / n_docs)
        return model.with_scores(**changes), names
    return model, ()


def learn_from_counts(
    model: Model, c: npt.NDArray[Any], observed: Observations
) -> tuple[Model, tuple[str, ...]]:
    """One step of learning from drawn counts c (I, K): monotone in log p(c)."""
    scores = model.scores
    if not scores.learned:
        return model, ()
    if isinstance(scores, DirichletScores):
        alpha, capped = polya_alpha(scores.alpha, c)
        return model.with_scores(alpha=alpha), ("alpha",) if capped else ()
    assert isinstance(scores, GammaScores)
    changes, names = gamma_from_counts(scores, c, observed.total_exposure)
    return model.with_scores(**changes), names


def learn_rows(rows: DirichletRows | StickRows, S: npt.NDArray[Any]) -> tuple[FloatArray, bool]:
    """One step of learning ψ from the words of documents S (I, pairs or nodes), B09 5.6: a
    Dirichlet for each leaf, a Beta for each internal node; monotone in log p(S). Whether a limit
    holds one of them.

    >>> from dcomp.models import Structure
    >>> rows = DirichletRows.build(Structure.from_parents([2, 2, -1]), per_document=True)
    >>> learn_rows(rows, np.array([[9, 1, 5, 5], [8, 2, 9, 1], [9, 1, 1, 9]]))[0].round(1)
    array([1.8, 0.6, 1. , 1. ])
    """
    psi, capped = rows.psi.copy(), False
    if isinstance(rows, StickRows):
        below = rows.below(S)
        for h in np.flatnonzero(~rows.structure.is_leaf):
            psi[h], limit = polya_alpha(psi[h], np.stack([S[:, h], below[:, h]], axis=1))
            capped |= limit
        return psi, capped
    for first, last in itertools.pairwise(rows.structure.start.tolist()):
        psi[first:last], limit = polya_alpha(psi[first:last], S[:, first:last])
        capped |= limit
    return psi, capped


def learn_gamma(
    model: Model, n: npt.NDArray[Any], blocks: npt.NDArray[np.int32]
) -> tuple[Model, tuple[str, ...]]:
    """One step of learning a symmetric γ from drawn counts n (J, K): monotone in log p(n)."""
    if not model.loadings.learned:
        return model, ()
    gamma, capped = polya_gamma(float(model.loadings.gamma), n, blocks)
    return model.with_loadings(DirichletLoadings(gamma, learned=True)), ("gamma",) if capped else ()


def polya_gamma(
    gamma: float, n: npt.NDArray[Any], blocks: npt.NDArray[np.int32], n_steps: int = 3
) -> tuple[float, bool]:
    """Fixed point for γ given counts: the step of `polya_alpha` for one number that all features
    share, Σ_jk [ψ(γ+n_jk) − ψ(γ)] over Σ_gk J_g [ψ(J_g γ + N_gk) − ψ(J_g γ)].

    >>> polya_gamma(1.0, np.array([[5, 0], [0, 6], [4, 1]]), np.zeros(3, np.int32))[1]
    False
    """
    sizes = np.bincount(blocks).astype(np.float64)[:, None]
    totals = column_totals(n, blocks)
    if not n.any() or sizes.max() == 1:  # no words, or nothing for γ to spread over
        return gamma, False
    counts = np.bincount(n.ravel())[1:]
    values = np.flatnonzero(counts) + 1
    counts = counts[values - 1]
    for _ in range(n_steps):
        above = float(counts @ (digamma(gamma + values) - digamma(gamma)))
        below = float((sizes * (digamma(sizes * gamma + totals) - digamma(sizes * gamma))).sum())
        gamma = float(np.clip(gamma * above / max(below, 1e-300), GAMMA_FLOOR, GAMMA_CAP))
    return gamma, gamma in (GAMMA_FLOOR, GAMMA_CAP)


def polya_alpha(
    alpha: FloatArray, c: npt.NDArray[Any], n_steps: int = 3
) -> tuple[FloatArray, bool]:
    """Fixed point for α given counts (B09 (10)): α_k Σ_i[ψ(α_k+c_ik) − ψ(α_k)] over the same of
    the totals. Counts are few and repeat: ψ is taken once per value.

    >>> polya_alpha(np.array([1.0, 1.0]), np.array([[5, 0], [0, 6], [4, 1]]))[1]
    False
    """
    if len(alpha) == 1:
        return alpha, False
    lengths, length_counts = np.unique(c.sum(axis=1), return_counts=True)
    values = [np.unique(column, return_counts=True) for column in c.T]
    for _ in range(n_steps):
        total = alpha.sum()
        below = float(length_counts @ (digamma(total + lengths) - digamma(total)))
        above = np.array(
            [m @ (digamma(a + v) - digamma(a)) for a, (v, m) in zip(alpha, values, strict=True)]
        )
        alpha = np.clip(alpha * above / max(below, 1e-300), ALPHA_FLOOR, ALPHA_CAP_DM)
    return alpha, bool(np.any((alpha >= ALPHA_CAP_DM) | (alpha <= ALPHA_FLOOR)))


def gamma_from_counts(
    scores: GammaScores, c: npt.NDArray[Any], exposure: FloatArray
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """One EM step for α, β (and ρ) given counts (MODELS §6): the moments of each score given its
    count, weighted for CGP by u = P(l > 0 | c)."""
    rate = scores.beta + exposure[:, None]
    a = scores.alpha + c
    u = np.ones(c.shape)
    if isinstance(scores, ConditionalGammaScores):
        u = np.where(c > 0, 1.0, 1 - scores.zero_probability(exposure))
    weight = np.maximum(u.sum(axis=0), 1e-300)
    mean = (u * a / rate).sum(axis=0) / weight
    mean_log = (u * (digamma(a) - np.log(rate))).sum(axis=0) / weight
    changes, names = gamma_parameters(scores, mean_log, mean)
    if isinstance(scores, ConditionalGammaScores) and scores.learn_rho:
        changes["rho"] = np.clip(1 - u.mean(axis=0), 0.0, RHO_CAP)
        names = (*names, "rho") if np.any(changes["rho"] >= RHO_CAP) else names
    return changes, names


def dirichlet_objective(alpha: FloatArray, mean_log: FloatArray) -> float:
    """Per document: ln Γ(Σα) − Σ ln Γ(α_k) + Σ (α_k − 1) E_k."""
    return float(gammaln(alpha.sum()) - gammaln(alpha).sum() + ((alpha - 1) * mean_log).sum())


def dirichlet_alpha(
    alpha: FloatArray, mean_log: FloatArray, n_steps: int = 20
) -> tuple[FloatArray, bool]:
    """Maximise `dirichlet_objective`: Newton's step, whose Hessian is diagonal plus a constant,
    and the fixed point ψ(α_k) = ψ(Σα) + E_k (B09 (10)) wherever Newton would not go up.

    >>> mean_log = digamma([0.2, 1.0]) - digamma(1.2)
    >>> dirichlet_alpha(np.array([1.0, 1.0]), mean_log)[0].round(6)
    array([0.2, 1. ])
    """
    if len(alpha) == 1:  # m = 1 whatever α is: nothing to learn
        return alpha, False
    value = dirichlet_objective(alpha, mean_log)
    for _ in range(n_steps):
        proposal = _newton_alpha(alpha, mean_log)
        if proposal is None or dirichlet_objective(proposal, mean_log) < value:
            proposal = inverse_digamma(digamma(alpha.sum()) + mean_log)
        proposal = np.clip(proposal, ALPHA_FLOOR, ALPHA_CAP_DM)
        new_value = dirichlet_objective(proposal, mean_log)
        if not new_value > value:
            break
        gain, alpha, value = new_value - value, proposal, new_value
        if gain < 1e-12 * abs(value):
            break
    return alpha, bool(np.any((alpha >= ALPHA_CAP_DM) | (alpha <= ALPHA_FLOOR)))


def _newton_alpha(alpha: FloatArray, mean_log: FloatArray) -> FloatArray | None:
    gradient = digamma(alpha.sum()) - digamma(alpha) + mean_log
    diagonal = -polygamma(1, alpha)
    constant = polygamma(1, alpha.sum())
    curvature = 1 / constant + (1 / diagonal).sum()
    if curvature == 0:
        return None
    proposal = alpha - (gradient - (gradient / diagonal).sum() / curvature) / diagonal
    if not np.all(np.isfinite(proposal)) or np.any(proposal <= 0):
        return None
    return np.asarray(proposal)


def inverse_digamma(y: FloatArray) -> FloatArray:
    """x with ψ(x) = y, by Newton from a start that is close at both ends.

    >>> float(inverse_digamma(digamma(np.array([3.7])))[0].round(10))
    3.7
    """
    low = np.minimum(y, -2.22)
    x = np.where(y >= -2.22, np.exp(np.maximum(y, -2.22)) + 0.5, -1 / (low - digamma(1.0)))
    for _ in range(6):
        x = np.maximum(x - (digamma(x) - y) / polygamma(1, x), 1e-300)
    return np.asarray(x)


def gamma_objective(
    alpha: FloatArray, beta: FloatArray, mean_log: FloatArray, mean: FloatArray
) -> FloatArray:
    """Per document and component: α log β − ln Γ(α) + (α − 1) E[log l] − β E[l]."""
    return np.asarray(alpha * np.log(beta) - gammaln(alpha) + (alpha - 1) * mean_log - beta * mean)


def gamma_parameters(
    scores: GammaScores, mean_log: FloatArray, mean: FloatArray
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Maximise `gamma_objective` over what is learned: log α − ψ(α) = log E[l] − E[log l], then
    β = α / E[l] (MODELS §6); α alone solves ψ(α) = log β + E[log l]."""
    alpha, beta = scores.alpha, scores.beta
    if scores.learn_alpha and scores.learn_beta:
        alpha = solve_shape(np.log(mean) - mean_log)
    elif scores.learn_alpha:
        alpha = inverse_digamma(np.log(beta) + mean_log)
    alpha = np.clip(alpha, ALPHA_FLOOR, ALPHA_CAP_GP) if scores.learn_alpha else alpha
    if scores.learn_beta:
        beta = np.clip(alpha / mean, BETA_FLOOR, BETA_CAP)
    # At a limit the solution can be worse than where we stand: keep the better, per component.
    old = gamma_objective(scores.alpha, scores.beta, mean_log, mean)
    keep = gamma_objective(alpha, beta, mean_log, mean) < old
    changes = {
        name: np.where(keep, getattr(scores, name), new)
        for name, new in (("alpha", alpha), ("beta", beta))
        if name in scores.learned
    }
    limits = {"alpha": (ALPHA_FLOOR, ALPHA_CAP_GP), "beta": (BETA_FLOOR, BETA_CAP)}
    at_limit = tuple(
        name
        for name, value in changes.items()
        if np.any((value <= limits[name][0]) | (value >= limits[name][1]))
    )
    return changes, at_limit


def solve_shape(s: FloatArray) -> FloatArray:
    """α with log α − ψ(α) = s > 0, by Newton on 1/α.

    >>> float(solve_shape(np.log([2.5]) - digamma([2.5]))[0].round(9))
    2.5
    """
    s = np.maximum(s, 1e-12)
    alpha = (3 - s + np.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s)
    for _ in range(8):
        slope = 1 / alpha - polygamma(1, alpha)
        inverse = 1 / alpha + (np.log(alpha) - digamma(alpha) - s) / (alpha**2 * slope)
        alpha = 1 / np.where(inverse > 0, inverse, 0.5 / alpha)
    return np.asarray(alpha)
