"""What priors learn from sums over documents (MODELS §6, B09 5.5): numbers in, numbers out.

Each step maximises its own part of the bound, or of log p(counts), and never lowers it. Which prior
learns what is said in its own file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, gammaln, polygamma

from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.models.arrays import FloatArray, column_totals
from dcomp.models.spread import Spread
from dcomp.models.sums import Tallies

ALPHA_FLOOR, ALPHA_CAP_DM, ALPHA_CAP_GP = 1e-4, 1e3, 5.0
BETA_FLOOR, BETA_CAP = 1e-9, 1e9
RHO_CAP = 1 - 1e-6
GAMMA_FLOOR, GAMMA_CAP = 1e-5, 1e3
MORE_STEPS = 20  # of EM for α after its first, at most
STILL = 1e-3  # a change of α, beside the largest, after which there is no other step

# Whether a prior's numbers are learned; "shared": one number for all components, STRUCTURE's way.
Learning = bool | Literal["shared"]


def stored_learning(entry: Any) -> Learning:
    """What a file says of it.

    >>> stored_learning("shared"), stored_learning(True)
    ('shared', True)
    """
    if entry != "shared" and not isinstance(entry, bool):
        raise ValueError(f"what is learned must be true, false or shared; found {str(entry)[:40]}")
    return "shared" if entry == "shared" else entry


def check_shared(name: str, values: FloatArray, learning: Learning) -> None:
    """An error where one learned number for all would begin as several."""
    if learning == "shared" and values.min() < values.max():
        raise InvalidParameter(
            f"a shared {name} is one number for all components; got numbers from {values.min():g} "
            f"to {values.max():g}"
        )


def check_shape_of_mode(alpha: FloatArray, is_learned: Learning) -> None:
    """An error where scores of shape α have no mode, or would learn α from it (MODELS §4, §7)."""
    if alpha.min() < 1:
        raise InvalidParameter(
            "map needs alpha >= 1: below it the density of a score is infinite at zero, and a "
            f"whole document can vanish; got alpha = {alpha.min():g} ('auto' is 1.1)"
        )
    if is_learned:
        raise UnsupportedCombination(
            "map does not learn alpha, because the mode of a score says too little about its "
            "spread; give a number of at least 1"
        )


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
    values, counts = tally(n)
    for _ in range(n_steps):
        above = float(counts @ (digamma(gamma + values) - digamma(gamma)))
        below = float((sizes * (digamma(sizes * gamma + totals) - digamma(sizes * gamma))).sum())
        gamma = float(np.clip(gamma * above / max(below, 1e-300), GAMMA_FLOOR, GAMMA_CAP))
    return gamma, gamma in (GAMMA_FLOOR, GAMMA_CAP)


def tally(n: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Which whole numbers above 0 there are, and how often each. Counted where they are small;
    sorted where a count of all up to the largest would be larger than they are.

    >>> tally(np.array([3, 0, 3, 1]))
    (array([1, 3]), array([1, 2]))
    >>> tally(np.array([2**40, 2**40]))[1]
    array([2])
    """
    if n.max() > 4 * n.size:
        return np.unique(n[n > 0], return_counts=True)
    counts = np.bincount(n.ravel())[1:]
    values = np.flatnonzero(counts) + 1
    return values, counts[values - 1]


def polya_alpha(
    alpha: FloatArray,
    seen: Tallies,
    n_steps: int = 3,
    *,
    worth: float = 0.0,
    logs: FloatArray | None = None,
) -> tuple[FloatArray, bool]:
    """Fixed point for α given counts (B09 (10)): α_k Σ_i[ψ(α_k+c_ik) − ψ(α_k)] over the same of
    the totals. Counts are few and repeat: ψ is taken once per value.

    worth, logs: of a conjugate prior (`Pseudo`), so many documents whose E[log m] are logs; the
    step then never lowers log p(c) + worth · `dirichlet_objective`.

    >>> polya_alpha(np.array([1.0, 1.0]), Tallies.build(np.array([[5, 0], [0, 6], [4, 1]])))[1]
    False
    """
    if len(alpha) == 1:
        return alpha, False
    lengths, length_counts = seen.totals.values, seen.totals.times
    for _ in range(n_steps):
        total = alpha.sum()
        below = float(length_counts @ (digamma(total + lengths) - digamma(total)))
        above = np.array(
            [
                own.times @ (digamma(a + own.values) - digamma(a))
                for a, own in zip(alpha, seen.columns, strict=True)
            ]
        )
        if worth and logs is not None:
            alpha = _with_prior(alpha * above, below, worth, logs + digamma(total))
        else:
            alpha = np.clip(alpha * above / max(below, 1e-300), ALPHA_FLOOR, ALPHA_CAP_DM)
    return alpha, at_limit(alpha, ALPHA_FLOOR, ALPHA_CAP_DM)


def _with_prior(count: FloatArray, below: float, worth: float, logs: FloatArray) -> FloatArray:
    """The maximum of count · log x − below · x + worth · (log x − ln Γ(1 + x) + logs · x), which
    touches log p(α | c) from below where the step begins: ln Γ(Σα) lies above its tangent. Its
    slope falls from one end to the other, and is halved in between."""

    def slope(x: FloatArray) -> FloatArray:
        return np.asarray((count + worth) / x - below + worth * (logs - digamma(1 + x)))

    low, high = np.full(len(count), ALPHA_FLOOR), np.full(len(count), ALPHA_CAP_DM)
    at_low, at_high = slope(low) <= 0, slope(high) >= 0
    for _ in range(50):
        middle = np.sqrt(low * high)
        rises = slope(middle) > 0
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    inside = np.sqrt(low * high)
    return np.where(at_low, ALPHA_FLOOR, np.where(at_high, ALPHA_CAP_DM, inside))


def shared_polya_alpha(
    alpha: FloatArray, seen: Tallies, *, worth: float = 0.0, logs: FloatArray | None = None
) -> tuple[FloatArray, bool]:
    """One α for all components that maximises log p(counts): where the slope
    Σ_ik [ψ(α+c_ik) − ψ(α)] − K Σ_i [ψ(Kα+L_i) − ψ(Kα)] is zero, which is at one place or none
    (Levin and Reeds 1977). worth, logs: as in `polya_alpha`.

    >>> seen = Tallies.build(np.array([[5, 0], [0, 6], [4, 1]]))
    >>> shared_polya_alpha(np.array([1.0, 1.0]), seen)[0].round(3)
    array([0.211, 0.211])
    """
    K, totals = len(alpha), seen.totals
    if K == 1 or totals.values.max() < 2:  # a single word is alike under every α
        return alpha, False

    def slope(a: float) -> float:
        above = sum(
            float(own.times @ (digamma(a + own.values) - digamma(a))) for own in seen.columns
        )
        below = K * float(totals.times @ (digamma(K * a + totals.values) - digamma(K * a)))
        if not worth or logs is None:
            return above - below
        return above - below + worth * float(K * (digamma(K * a) - digamma(a)) + logs.sum())

    return _shared(K, slope, ALPHA_CAP_DM)


def shared_dirichlet_alpha(alpha: FloatArray, mean_log: FloatArray) -> tuple[FloatArray, bool]:
    """One α for all components that maximises `dirichlet_objective`, which is concave:
    ψ(α) − ψ(Kα) is the mean of the E_k.

    >>> mean_log = digamma([0.3, 0.3]) - digamma(0.6)
    >>> shared_dirichlet_alpha(np.array([1.0, 1.0]), mean_log)[0].round(6)
    array([0.3, 0.3])
    """
    K = len(alpha)
    if K == 1:
        return alpha, False
    target = float(mean_log.mean())
    new, capped = _shared(K, lambda a: digamma(K * a) - digamma(a) + target, ALPHA_CAP_DM)
    if dirichlet_objective(new, mean_log) < dirichlet_objective(alpha, mean_log):
        return alpha, capped  # the same but for rounding
    return new, capped


def _shared(K: int, slope: Callable[[float], float], cap: float) -> tuple[FloatArray, bool]:
    """K times the α at which a slope that falls through zero once does so, or the limit that it
    points to; and whether that is one."""
    from scipy.optimize import brentq  # slow to import, and seldom needed

    if slope(ALPHA_FLOOR) <= 0:
        return np.full(K, ALPHA_FLOOR), True
    if slope(cap) >= 0:
        return np.full(K, cap), True
    log_alpha = brentq(lambda x: slope(np.exp(x)), np.log(ALPHA_FLOOR), np.log(cap), xtol=1e-12)
    return np.full(K, np.exp(log_alpha)), False


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
    return alpha, at_limit(alpha, ALPHA_FLOOR, ALPHA_CAP_DM)


def repeated_alpha(
    step: Callable[[FloatArray, FloatArray], tuple[FloatArray, bool]],
    start: FloatArray,
    alpha: FloatArray,
    mean_log: FloatArray,
    seen: Spread,
) -> tuple[FloatArray, bool]:
    """Steps of EM that follow the first one, from `start` to α, with the documents' words as they
    are: E[log m] is moved along with α. Alone a step is short where documents have little of most
    components, since E[log m] is then mostly α's own (docs/decisions/0070)."""
    n_docs, known, capped = float(seen.times[-1].sum()), seen.log_scores(start), False
    for _ in range(MORE_STEPS):
        before = alpha
        alpha, capped = step(alpha, mean_log + (seen.log_scores(alpha) - known) / n_docs)
        if np.abs(alpha - before).max() < STILL * alpha.max():
            break
    return alpha, capped


def grouped_objective(alpha: FloatArray, logs: FloatArray, masks: Any, sizes: Any) -> float:
    """`dirichlet_objective` summed over documents, each with the components that it may use: `logs`
    is Σ_i E[log m_ik] over those that may use k, `sizes` how many may use what `masks` says."""
    each = gammaln(masks @ alpha) - masks @ gammaln(alpha)
    return float(sizes @ each + (alpha - 1) @ logs)


def grouped_alpha(
    alpha: FloatArray,
    logs: FloatArray,
    masks: Any,
    sizes: Any,
    *,
    shared: bool = False,
    n_steps: int = 200,
) -> tuple[FloatArray, bool]:
    """Maximise `grouped_objective` by the fixed point ψ(α_k) = mean over the documents that may use
    k of [ψ(Σ_A α) + E_ik] (MODELS §11). Those that may use one component alone say nothing of α
    and are left out; so is a component that no other document may use.

    >>> logs, masks = 10 * (digamma([0.2, 1.0]) - digamma(1.2)), [[1, 1], [1, 0]]
    >>> grouped_alpha(np.array([1.0, 1.0]), logs, masks, [10, 5])[0].round(3)
    array([0.2, 1. ])
    """
    masks = np.asarray(masks, dtype=np.float64)
    chosen = (masks.sum(axis=1) > 1) & (np.asarray(sizes) > 0)
    masks, sizes = masks[chosen], np.asarray(sizes, dtype=np.float64)[chosen]
    per_component = sizes @ masks
    used = per_component > 0
    if not used.any():
        return alpha, False
    if shared:
        width = masks.sum(axis=1)

        def slope(a: float) -> float:
            return float(sizes @ (width * (digamma(width * a) - digamma(a))) + logs[used].sum())

        return _shared(len(alpha), slope, ALPHA_CAP_DM)
    alpha = np.array(alpha)
    for _ in range(n_steps):
        totals = (sizes * digamma(masks @ alpha)) @ masks
        new = inverse_digamma((totals[used] + logs[used]) / per_component[used])
        new = np.clip(new, ALPHA_FLOOR, ALPHA_CAP_DM)
        still = bool(np.abs(new / alpha[used] - 1).max() < 1e-6)
        alpha[used] = new
        if still:
            break
    return alpha, at_limit(alpha[used], ALPHA_FLOOR, ALPHA_CAP_DM)


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
    alpha: FloatArray,
    beta: FloatArray,
    learned: tuple[str, ...],
    mean_log: FloatArray,
    mean: FloatArray,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Maximise `gamma_objective` over those of alpha and beta that are learned, and the names of
    those at a limit: log α − ψ(α) = log E[l] − E[log l], then β = α / E[l] (MODELS §6); α alone
    solves ψ(α) = log β + E[log l].

    >>> one = np.ones(1)
    >>> gamma_parameters(one, one, ("beta",), np.log([0.4]), np.array([0.5]))
    ({'beta': array([2.])}, ())
    """
    new = {"alpha": alpha, "beta": beta}
    if "alpha" in learned:
        if "beta" in learned:
            shape = solve_shape(np.log(mean) - mean_log)
        else:
            shape = inverse_digamma(np.log(beta) + mean_log)
        new["alpha"] = np.clip(shape, ALPHA_FLOOR, ALPHA_CAP_GP)
    if "beta" in learned:
        new["beta"] = np.clip(new["alpha"] / mean, BETA_FLOOR, BETA_CAP)
    # At a limit the solution can be worse than where we stand: keep the better, per component.
    before = gamma_objective(alpha, beta, mean_log, mean)
    keep = gamma_objective(new["alpha"], new["beta"], mean_log, mean) < before
    old = {"alpha": alpha, "beta": beta}
    changes = {name: np.where(keep, old[name], new[name]) for name in old if name in learned}
    return changes, _gamma_limits(changes)


def shared_gamma_parameters(
    alpha: FloatArray,
    beta: FloatArray,
    learned: tuple[str, ...],
    mean_log: FloatArray,
    mean: FloatArray,
    weight: FloatArray,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """As `gamma_parameters` with one α for all components: the maximum of Σ_k weight_k times
    `gamma_objective`, whose equations for α are those of one component in the mean over all.

    >>> one, mean_log = np.ones(2), digamma([3.0, 3.0])
    >>> new, _ = shared_gamma_parameters(one, one, ("alpha",), mean_log, 3 * one, one)
    >>> new["alpha"].round(9)
    array([3., 3.])
    """
    used = weight > 0  # a component that is in no document has no say, and keeps its β
    share = weight[used] / weight.sum()
    seen, mean_seen = mean_log[used], mean[used]
    if "beta" in learned:
        shape = solve_shape(np.array([share @ (np.log(mean_seen) - seen)]))
    else:
        shape = inverse_digamma(np.array([share @ (np.log(beta[used]) + seen)]))
    new = {"alpha": np.full(len(alpha), np.clip(shape[0], ALPHA_FLOOR, ALPHA_CAP_GP)), "beta": beta}
    if "beta" in learned:
        new["beta"] = beta.copy()
        new["beta"][used] = np.clip(new["alpha"][used] / mean_seen, BETA_FLOOR, BETA_CAP)
    before = share @ gamma_objective(alpha[used], beta[used], seen, mean_seen)
    after = share @ gamma_objective(new["alpha"][used], new["beta"][used], seen, mean_seen)
    # At a limit of β the solution can be worse than where we stand: keep the better.
    old = {"alpha": alpha, "beta": beta}
    changes = {name: (old if after < before else new)[name] for name in old if name in learned}
    return changes, _gamma_limits(changes)


def _gamma_limits(changes: dict[str, Any]) -> tuple[str, ...]:
    limits = {"alpha": (ALPHA_FLOOR, ALPHA_CAP_GP), "beta": (BETA_FLOOR, BETA_CAP)}
    return tuple(name for name in changes if at_limit(changes[name], *limits[name]))


def at_limit(values: FloatArray, floor: float, cap: float) -> bool:
    """Whether one of them is held by its floor or its cap."""
    return bool(np.any((values <= floor) | (values >= cap)))


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
