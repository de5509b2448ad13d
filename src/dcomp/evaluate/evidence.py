"""The evidence p(w) of a model: scores and loadings integrated out (BJ04 3.3, MODELS §9).

"two-sided" anneals between a fit and the posterior, both ways, and has p(w) between two fences
(`dcomp.evaluate.two_sided`). "annealed" is annealed importance sampling from the prior, a lower
bound but for small corpora; "harmonic" is the paper's harmonic mean, kept to compare with.
`dcomp.reference.two_sided` and `dcomp.reference.evidence` have all of them in a few lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from dcomp import _core, registry, validation
from dcomp.data import Counts, as_counts
from dcomp.errors import InvalidCounts, InvalidParameter, UnsupportedCombination
from dcomp.evaluate import two_sided
from dcomp.evaluate.two_sided import LEVEL, lower_fence
from dcomp.executors import Executor, resolve_executor
from dcomp.inference import CollapsedGibbs
from dcomp.inference.room import require_room, require_whole
from dcomp.inference.run import uninterrupted
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray
from dcomp.models.base import moment_scores
from dcomp.models.memory import require_bytes
from dcomp.models.totals import log_totals
from dcomp.recipe import Recipe
from dcomp.recipe.recipe import require_plain
from dcomp.result import Fit
from dcomp.result.fitting import fit

METHODS = ("two-sided", "annealed", "harmonic")
# Temperatures (s/S)^2: most of them low, where the components part.
POWER = 2.0
SWEEPS, CHAINS = 1000, 16  # of the methods that begin from the prior
_SIZES = {"tree", "depth"}  # options that say how many nodes a tree has
LEARNING_SWEEPS = 200  # of the fit that finds priors left at "auto"
NORMAL = 1.96  # standard errors of half an interval of probability 0.95
_STEP = 20_000_000  # tokens × components × chains between two chances for an interrupt


@dataclass(frozen=True)
class Evidence:
    """An estimate of log p(w), with what is needed to judge it."""

    log_evidence: float  # natural log, words as a sequence
    standard_error: float  # of log_evidence; nan from one chain
    method: str
    effective_sample_size: float  # of the chains (annealed) or of the draws (harmonic)
    warnings: tuple[str, ...]
    per_chain: FloatArray  # (chains): the log of each chain's own estimate; forward of two-sided
    model: Model  # with the hyper-parameters that the evidence is of
    is_sound: bool = False  # whether it may be compared; else it is a bound, or worse
    lower: float | None = None  # log p(w) is above with probability 0.975, None where not known
    upper: float | None = None  # and below with the same
    backward: FloatArray | None = None  # (chains): two-sided, the way back

    @property
    def bits(self) -> float:
        """−log2 p(w): the length of the words' code, as BJ06 VIII reports it."""
        return -self.log_evidence / float(np.log(2))

    def __str__(self) -> str:
        what = "chains" if self.method == "annealed" else "draws"
        # Of one chain's draws there is no spread to tell it from.
        error = "" if np.isnan(self.standard_error) else f" ± {self.standard_error:,.2f}"
        text = (
            (
                f"log evidence {self.log_evidence:,.2f}, between {self.lower:,.2f} and "
                f"{self.upper:,.2f} with probability {LEVEL} ({self.method}, {len(self.per_chain)} "
                "runs each way)"
            )
            if self.upper is not None
            else (
                f"log evidence {self.log_evidence:,.2f}{error} ({self.method}, "
                f"effective number of {what} {self.effective_sample_size:.1f})"
            )
        )
        return "\n".join([text, *(f"warning: {sentence}" for sentence in self.warnings)])


def evidence(
    X: Any,
    n_components: int | None = None,
    *,
    model: str | Model = "DM",
    alpha: Any = "auto",
    beta: Any = "auto",
    rho: Any = "auto",
    gamma: Any = 0.5,
    blocks: Any = None,
    exposure: Any = None,
    method: str = "two-sided",
    n_sweeps: int | None = None,
    n_chains: int | None = None,
    n_starts: int = 3,
    random_state: Any = 0,
    n_jobs: int | None = None,
    executor: Executor | None = None,
    **options: Any,
) -> Evidence:
    """log p(w | K, priors): how probable a model makes the counts, parameters integrated out.

    Words are a sequence: the combinatoric term Σ_i ln(L_i! / Π_j w_ij!) of BJ06 III.A is not in it.
    DM takes the totals of each document (and block) as given; GP and CGP include their probability
    Σ_i log P(L_i), which has to be taken off before they are compared with DM
    (`dcomp.models.totals.log_totals`). No factor 1/K! belongs in it: the sum over assignments has
    every renumbering of the components, and a chain that stays in one of them estimates the
    whole all the same, because all are alike (BJ04 3.3 divides by K! and so gives the evidence of
    one numbering).

    method "two-sided": the best of `n_starts` annealed collapsed Gibbs chains gives a reference.
    `n_chains` runs (2, and up to 16 where that is quick) go from it to the posterior in `n_sweeps`
    sweeps (400, or from 100 on as a short run before them has it), stay there for a while, and go
    back. The way there is too low on average and the way back too high: `lower` and `upper` hold
    log p(w) between them with probability 0.95, and `log_evidence` is Bennett's estimate from both.
    The fences come closer as `n_sweeps` grows.
    What is measured is the mode that the best chain has reached: if the posterior has a better one
    that no chain has found, `lower` is still right, and `upper` need not be.
    method "annealed": `n_chains` independent chains (16) go from draws of the prior to the
    posterior in `n_sweeps` collapsed Gibbs sweeps (1000) at rising temperatures; the mean of their
    weights is an unbiased estimate of p(w). Its log is too low on average, little where the
    effective number of chains is high, and without limit where it is low: then there is a warning,
    and the value can be used as a lower bound only.
    method "harmonic": N / Σ 1/p(w | z_n) over the second half of each chain, with the collapsed
    likelihood p(w | z). It needs draws that the posterior hardly ever gives, stays too high
    without them, and always carries a warning.

    options: other priors that the model has, by name. Of a tree `tree` or `depth` says how many
    components there are, as a Model object does, in place of `n_components`.

    Hyper-parameters are fixed numbers. Those left at "auto" (as in `dcomp.DCA`) are learned first
    by a collapsed Gibbs fit of the same counts, and the evidence is that of the learned values:
    a comparison of K then counts them as known.

    >>> X = [[4, 3, 0, 0], [5, 2, 0, 1], [0, 0, 6, 3], [0, 1, 4, 4]]
    >>> one, two = (evidence(X, K, alpha=0.5, gamma=0.5) for K in (1, 2))
    >>> two.lower > one.upper, two.is_sound, round(one.upper - one.lower, 6)
    (True, True, 0.02)
    """
    if isinstance(model, str) and registry.named_model(model).settings:
        raise UnsupportedCombination(f"{model} has no priors, and so no evidence")
    if method not in METHODS:
        raise InvalidParameter(
            f"method must be 'two-sided', 'annealed' or 'harmonic'; got {method!r}"
        )
    counts = as_counts(X) if blocks is None else as_counts(X).with_blocks(blocks)
    if counts.n_tokens == 0:
        raise InvalidCounts("evidence needs documents with tokens; these have none")
    budget = Budget.checked(n_sweeps, n_chains, n_starts)
    require_plain(model)
    if n_components is None and isinstance(model, str) and not _SIZES & options.keys():
        raise InvalidParameter("n_components must say how many there are; nothing was given")
    priors = {"alpha": alpha, "beta": beta, "rho": rho, "gamma": gamma}
    recipe = Recipe.from_options(model=model, n_components=n_components, **priors, **options)
    chosen = recipe.resolve(counts).model
    if n_components not in (None, chosen.n_components):
        raise InvalidParameter(
            f"n_components must be that of the model, {chosen.n_components}; got {n_components}"
        )
    chosen.scores.capabilities.require("evidence", chosen.key)
    if method != "two-sided" and chosen.scores.capabilities.tokens != "linear":
        raise UnsupportedCombination(
            f"model {chosen.key}: method {method!r} has no sampler that anneals a hierarchy's "
            "scores; method='two-sided' has one"
        )
    if not chosen.scores.capabilities.proper:
        raise InvalidParameter("evidence needs a prior of the scores; beta must be positive, got 0")
    if exposure is not None and not chosen.has_exposure:
        raise UnsupportedCombination(
            f"exposure has no meaning for model {chosen.key}, which conditions on document lengths"
        )
    seed = validation.resolve_seed(random_state)
    workers = resolve_executor(n_jobs, executor)
    if exposure is None:
        exposure = validation.usual_exposure(counts, chosen)
    observed = Observations.build(counts, exposure)
    require_whole(counts, "evidence", "completion takes fractional counts")
    require_room(observed, "evidence", instead="completion takes counts of any size")
    require_memory(counts, chosen.n_components, budget, workers.n_threads, method)
    if method == "two-sided":
        return _two_sided(chosen, observed, exposure, budget, seed, workers)
    chosen, notes = _learned(chosen, counts, exposure, seed, workers)
    chains = Chains(chosen, observed, budget.n_runs or CHAINS, seed, workers)
    estimate = _annealed if method == "annealed" else _harmonic
    return estimate(chains, budget.n_sweeps or SWEEPS, notes)


@dataclass(frozen=True)
class Budget:
    """What a two-sided estimate may take; None: as many as are needed."""

    n_sweeps: int | None
    n_runs: int | None
    n_starts: int = 3

    @classmethod
    def checked(cls, n_sweeps: Any, n_chains: Any, n_starts: Any) -> Budget:
        """Of numbers that a user gave, for any method."""
        whole = validation.whole_number
        return cls(
            None if n_sweeps is None else whole("n_sweeps", n_sweeps, 2),
            None if n_chains is None else whole("n_chains", n_chains, 1),
            whole("n_starts", n_starts, 1),
        )


def _learned(
    model: Model, counts: Counts, exposure: Any, seed: int, executor: Executor
) -> tuple[Model, tuple[str, ...]]:
    """The model with numbers for all hyper-parameters, and a sentence where they were learned."""
    notes = learned_note(model)
    if not notes:
        return model, ()
    fitted = fit(
        counts.cut_at((0,)),  # as the chains have it, so that no cut changes the evidence
        model,
        CollapsedGibbs(burn_in=LEARNING_SWEEPS // 2),
        exposure=exposure,
        max_iter=LEARNING_SWEEPS,
        executor=executor,
        seed=seed,
        warn=False,  # its sweeps are not the caller's to raise
    )
    return uninterrupted(fitted).model, notes


def learned_note(model: Model) -> tuple[str, ...]:
    """A sentence where priors are learned first."""
    names = model.scores.learned + (("gamma",) if model.loadings.learned else ())
    if not names:
        return ()
    return (
        f"{', '.join(names)} {'was' if len(names) == 1 else 'were'} learned from the same counts; "
        "the evidence takes them as known, which favours models that learn more of them",
    )


def _two_sided(
    model: Model,
    observed: Observations,
    exposure: Any,
    budget: Budget,
    seed: int,
    workers: Executor,
) -> Evidence:
    """Fences from runs in both directions between a fit and the posterior."""
    fitted = fit(
        observed.counts.cut_at((0,)),
        model,
        two_sided.REFERENCE,
        exposure=exposure,
        max_iter=two_sided.FIT_SWEEPS,
        n_chains=budget.n_starts,
        executor=workers,
        seed=seed,
        warn=False,  # its sweeps are not the caller's to raise
    )
    return at_fit(uninterrupted(fitted), observed, budget, seed, workers, learned_note(model))


def at_fit(
    fitted: Fit,
    observed: Observations,
    budget: Budget,
    seed: int,
    workers: Executor,
    notes: tuple[str, ...] = (),
) -> Evidence:
    """The evidence by runs between this fit of all that was observed and the posterior."""
    path = two_sided.Path.from_fit(fitted, observed, seed)
    n_sweeps = budget.n_sweeps or two_sided.sweeps_needed(path)
    n_runs = budget.n_runs or two_sided.usual_runs(observed.counts.n_tokens, n_sweeps)
    found = two_sided.runs(path, n_runs, n_sweeps, workers)
    forward, backward, trends, errors = np.array([astuple(one) for one in found]).T
    forward, backward = forward + path.log_reference, backward + path.log_reference
    lower, upper = two_sided.lower_fence(forward), -two_sided.lower_fence(-backward)
    doubts = tuple(two_sided.doubts(trends, errors, lower, upper))
    lower, upper = min(lower, upper), max(lower, upper)
    return Evidence(
        two_sided.between(forward, backward),
        (upper - lower) / (2 * NORMAL),
        "two-sided",
        effective_size(forward),
        notes + doubts,
        forward,
        fitted.model,
        not doubts,
        lower,
        upper,
        backward,
    )


def require_memory(counts: Counts, K: int, budget: Budget, n_threads: int, method: str) -> None:
    """Chains that run side by side have counts of their own, and every chain an assignment; those
    of two fences have two rows of powers beside the counts, and share the logs of a reference."""
    is_two_sided = method == "two-sided"
    most = two_sided.usual_runs(counts.n_tokens, two_sided.FEWEST) if is_two_sided else CHAINS
    n_chains = budget.n_runs or most
    table, at_once = (counts.n_docs + counts.n_features) * K, min(n_chains, n_threads)
    needed = (12 * at_once + 8 if is_two_sided else 4 * at_once) * table
    what = f"the evidence of {counts.n_docs:,} documents, {counts.n_features:,} features and "
    require_bytes(needed + 2 * n_chains * counts.n_tokens, f"{what}{K:,} components")


@dataclass(frozen=True, eq=False)
class Chains:
    """Independent chains of tempered collapsed Gibbs sweeps, each on one thread. Every chain walks
    the whole corpus, so that the parts of this work are the chains."""

    model: Model
    observed: Observations
    n_chains: int
    seed: int
    executor: Executor

    def sweeps(self, temperatures: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log g(z) − log r(z) and log p(w | z) after the sweep at each temperature, (chains, T);
        the chains begin with draws from the urn r."""
        numbers = range(self.n_chains)
        workers = self.executor.side_by_side()
        z: Sequence[Any] = [None] * self.n_chains
        pieces = []
        for first, piece in self._pieces(temperatures):
            how = _Heat(self.model, self.observed, piece, first, self.seed)
            z, values = workers.map_reduce(_sweep_chain, numbers, z, how)
            pieces.append(np.stack(values))
        whole = np.concatenate(pieces, axis=2)
        return whole[:, 0], whole[:, 1]

    def _pieces(self, temperatures: FloatArray) -> Iterator[tuple[int, FloatArray]]:
        # Between pieces an interrupt is heard; the cut does not change any number.
        work = self.observed.counts.n_tokens * self.model.n_components * self.n_chains
        size = max(_STEP // work, 1)
        for first in range(0, len(temperatures), size):
            yield first, np.ascontiguousarray(temperatures[first : first + size])


@dataclass(frozen=True)
class _Heat:
    """What every chain is told."""

    model: Model
    observed: Observations
    temperatures: FloatArray
    first: int  # number of the first of them
    seed: int


def _sweep_chain(
    chain: int, z: npt.NDArray[np.uint16] | None, how: _Heat, n_threads: int
) -> tuple[npt.NDArray[np.uint16], tuple[FloatArray, ...]]:
    """One chain through some temperatures: its z, and a table (2, T), in a tuple so that those of
    the chains are put one after the other."""
    counts = how.observed.counts
    z = np.empty((1, counts.n_tokens), dtype=np.uint16) if z is None else z.copy()
    out = np.empty((2, 1, len(how.temperatures)))
    _core.tempered_sweeps(
        how.observed.corpus,
        counts.features.blocks,
        counts.features.n_blocks,
        how.model.loadings.per_feature(counts.n_features),
        moment_scores(how.model).native(how.observed.native_exposure),
        how.temperatures,
        how.seed,
        how.first,
        z,
        out[0],
        out[1],
        n_threads,
        chain,
    )
    return z, (out[:, 0],)


def _annealed(chains: Chains, n_sweeps: int, notes: tuple[str, ...]) -> Evidence:
    """Annealed importance sampling: log w = Σ_s (t_{s+1} − t_s) log [g p(w | z_s) / r]."""
    t = (np.arange(n_sweeps + 1) / n_sweeps) ** POWER
    log_scores, log_words = chains.sweeps(t[:-1])
    log_weight = (log_scores + log_words) @ np.diff(t)
    log_weight = log_weight + float(
        chains.model.log_constant(chains.observed, combinatoric=False).sum()
    )
    n = len(log_weight)
    value = float(logsumexp(log_weight)) - np.log(n)
    size = effective_size(log_weight)
    is_sound = size >= max(n / 4, 2)
    if not is_sound:
        notes += (
            f"the effective number of chains is {size:.1f} of {n}: the value is a lower bound "
            "rather than an estimate, and its error is not known; raise n_sweeps",
        )
    return Evidence(
        float(value),
        log_mean_error(log_weight),
        "annealed",
        size,
        notes,
        log_weight,
        chains.model,
        is_sound,
        lower_fence(log_weight),
    )


def _harmonic(chains: Chains, n_sweeps: int, notes: tuple[str, ...]) -> Evidence:
    """The harmonic mean of p(w | z) over the second half of the chains: BJ04 3.3."""
    _, log_words = chains.sweeps(np.ones(n_sweeps))
    inverse = -log_words[:, n_sweeps // 2 :]  # log 1/p(w | z)
    by_chain = np.asarray(logsumexp(inverse, axis=1)) - np.log(inverse.shape[1])
    # Σ_z p(z) is the probability of the totals.
    totals = float(log_totals(chains.model, chains.observed).sum())
    value = totals - (float(logsumexp(by_chain)) - np.log(len(by_chain)))
    size = effective_size(inverse.ravel())
    notes += (
        "a harmonic mean hangs on draws of low likelihood that the posterior hardly ever gives: it "
        f"is too high unless there are many (effective number of draws {size:.1f} of "
        f"{inverse.size}), and its standard error does not show it; use method='two-sided'",
    )
    return Evidence(
        float(value),
        log_mean_error(by_chain),
        "harmonic",
        size,
        notes,
        totals - by_chain,
        chains.model,
    )


def effective_size(log_weight: FloatArray) -> float:
    """(Σ w)² / Σ w²: how many equal weights would be as good.

    >>> effective_size(np.log([1.0, 1.0, 2.0]))
    2.6666666666666665
    """
    return float(np.exp(2 * logsumexp(log_weight) - logsumexp(2 * log_weight)))


def log_mean_error(log_weight: FloatArray) -> float:
    """Standard error of log mean(w): the delta method's, or that of mean(log w) if larger, as it
    is where one weight outweighs all others. nan from one weight.

    >>> round(log_mean_error(np.log([1.0, 2.0, 3.0])), 3)
    0.321
    """
    n = len(log_weight)
    if n < 2:
        return float("nan")
    delta = np.sqrt(max(1 / effective_size(log_weight) - 1 / n, 0.0) * n / (n - 1))
    return float(max(delta, log_weight.std(ddof=1) / np.sqrt(n)))
