"""How many components: several chains for each K, one table, and a recommendation in words.

What is hidden: of documents words, of features in many blocks (votes, genotypes) whole blocks of a
document. Chain c of a K is fitted to what is not in part c, from starts of its own and from the
chains of neighbouring K with components split and joined (`ladder`), and scored on part c. Scores
of two K are compared document by document, which takes out what makes some documents harder than
others. The standard error of such a difference is the larger of that over documents and that over
chains: chains that get stuck (MODELS §9) are part of the doubt.

Where the evidence of all K is known it decides: recommended is the smallest K whose interval
reaches that of the highest, or that is not 20 to 1 below it. Else, or where chains of a K have not
settled that may have the highest, held-out words do: the smallest K that is not worse than the best
by more than one standard error. Both are shown.
`verification/how_many.py` and `verification/clearly.py` count how often "clearly" is right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from dcomp import validation
from dcomp.data import Counts, as_counts
from dcomp.errors import DataWarning, InvalidParameter, warn
from dcomp.evaluate.align import Alignment, similarity
from dcomp.evaluate.coherence import check_measure, coherence
from dcomp.evaluate.dispersion import STRONG
from dcomp.evaluate.from_above import from_above
from dcomp.evaluate.select_chains import ChainScore, KnownEvidence, Plan, run_chain, run_ladder
from dcomp.evaluate.select_evidence import (
    CLEAR,
    STEPS,
    evidences,
    is_near,
    reach,
    sweeps_of,
)
from dcomp.evaluate.select_fit import gammas, least_dispersion
from dcomp.evaluate.selection import Candidate, Selection, found_nothing
from dcomp.executors import Executor, resolve_executor
from dcomp.inference.run import uninterrupted
from dcomp.models.arrays import FloatArray, component_count
from dcomp.recipe import Recipe
from dcomp.result import fit
from dcomp.result.tables import top_numbers

__all__ = ["Candidate", "Selection", "select_components"]

CLEAR_ERRORS = 3.0  # standard errors of a held-out score, where it decides


def select_components(
    X: Any,
    ks: Sequence[int],
    *,
    model: str = "DM",
    algorithm: str = "auto",
    alpha: Any = "auto",
    beta: Any = "auto",
    rho: Any = "auto",
    gamma: Any = 0.5,
    blocks: Any = None,
    exposure: Any = None,
    n_chains: int = 5,
    n_starts: int = 2,
    max_iter: int | None = None,
    tol: float = 0.05,
    with_evidence: bool | str = "auto",
    prune: int | None = None,
    measure: str = "npmi",
    n_top: int = 10,
    keep: str | Path | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    executor: Executor | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Selection:
    """Choose the number of components among `ks`.

    n_chains: chains of each K, and parts into which the documents are cut.
    n_starts: runs of each chain, of which the one that ended highest is kept; then each is tried
    from the chains of the next smaller and the next larger K, with components split or joined.
    with_evidence: whether to estimate log p(w) of each K between two fences (`evidence`); "auto"
    unless words times the largest K are more than 20 million. It takes seconds for each K where
    words are a hundred thousand, minutes where they are millions. Where all K have it, it decides.
    prune: begin with so many components, too, and delete the weak one after the other, as long as
    what is left tells the words better: a way to K from above (BJ06 VII.E), to compare with the
    others.
    measure, n_top: of coherence, of the n_top heaviest features.
    keep: a folder for what each chain leaves, and the evidence of each K; what is there already is
    not run again, and a chain that was under way goes on from its last checkpoint (ten minutes ago
    at most, where writing is quick), so that a selection that was stopped or killed goes on.
    n_jobs: chains at a time; None for all cores. The answer does not depend on it, nor on an
    `executor` in its place.
    on_progress: called with the number of steps done, and of all: chains of a K, chains of all K
    that help each other, and two for the evidence of each K. There are more where evidences of
    rivals have to be measured again, as many as these take longer.
    gamma: of the fit that is to follow: 0.5 for `dcomp.DCA`, 0.05 for `LDA`, `GaP` and `dcomp fit`;
    None is what `dcomp fit` has. The evidence depends on it, and the summary says which it was.
    The other parameters are those of `dcomp.DCA`; options: what else the model and the algorithm
    take, by name.

    >>> from dcomp.models import DirichletMultinomial
    >>> truth = DirichletMultinomial.build(2, alpha=0.1, gamma=0.1)
    >>> features = Counts.from_matrix(np.ones((1, 30))).features
    >>> counts, *_ = truth.simulate(features, np.full(60, 80), np.random.default_rng(0))
    >>> select_components(counts, [1, 2], n_chains=2, with_evidence=False).recommended
    2
    """
    counts = as_counts(X) if blocks is None else as_counts(X).with_blocks(blocks)
    plan = Plan.build(
        counts,
        exposure,
        model=model,
        algorithm=algorithm,
        priors={"alpha": alpha, "beta": beta, "rho": rho, "gamma": gamma, **options},
        n_chains=validation.whole_number("n_chains", n_chains, 2),
        n_starts=validation.whole_number("n_starts", n_starts, 1),
        max_iter=None if max_iter is None else validation.whole_number("max_iter", max_iter, 1),
        tol=tol,
        seed=validation.resolve_seed(random_state),
        keep=None if keep is None else Path(keep),
    )
    numbers = _checked(ks)
    for line in validation.of_table(counts):  # once, and not for every chain
        warn(line, DataWarning)
    measure = check_measure(measure)
    validation.whole_number("n_top", n_top, 2)
    if with_evidence not in (True, False, "auto"):
        raise InvalidParameter(
            f"with_evidence must be True, False or 'auto'; got {with_evidence!r}"
        )
    if prune is not None:
        validation.whole_number("prune", prune, 2)
    workers = resolve_executor(n_jobs, executor)
    n_sweeps, why_not = sweeps_of(plan, numbers, with_evidence)
    steps = _Steps(_n_chains(plan, numbers) + STEPS * len(numbers) * bool(n_sweeps), on_progress)
    chains = _all_chains(plan, numbers, workers, steps)
    found = {K: _OfOneK.build(scores, counts, measure, n_top) for K, scores in chains.items()}
    how = (workers, steps, steps.more)
    known = evidences(plan, numbers, n_sweeps, *how) if n_sweeps else {}
    notes = tuple(filter(None, [why_not]))
    left = () if prune is None else _from_above(plan, prune, workers)
    told = Recipe.from_options(model=model, algorithm=algorithm).told_by_the_table(counts)
    if told is not None:
        notes = (*notes, f"{told.capitalize()}.")
    return _judged(_conclude(found, known, plan, measure, notes, left), plan, chains)


def _checked(ks: Sequence[int]) -> list[int]:
    numbers = sorted({component_count(validation.whole_number("each of ks", K, 1)) for K in ks})
    if not numbers:
        raise InvalidParameter("ks must name at least one number of components; it is empty")
    return numbers


class _Steps:
    """How many steps are done, told to whoever asked."""

    def __init__(self, total: int, tell: Callable[[int, int], None] | None) -> None:
        self.done, self.total, self.tell = 0, total, tell

    def __call__(self) -> None:
        """After a step."""
        self.done += 1
        if self.tell is not None:
            self.tell(self.done, self.total)

    def more(self, n: int) -> None:
        """So many that nobody knew of."""
        self.total += n
        if n and self.tell is not None:
            self.tell(self.done, self.total)


def _climbs(plan: Plan, numbers: Sequence[int]) -> bool:
    """Whether chains of neighbouring K help each other."""
    return len(numbers) > 1 and plan.ladder(plan.counts, plan.exposure, plan.seed).is_there


def _n_chains(plan: Plan, numbers: Sequence[int]) -> int:
    """Of all K, and those that see the same documents once more, together."""
    return plan.n_chains * (len(numbers) + _climbs(plan, numbers))


def _all_chains(
    plan: Plan, numbers: Sequence[int], executor: Executor, on_part: Callable[[], None]
) -> dict[int, list[ChainScore]]:
    """The chains of each K. Chains share nothing: each is a part of the work, on a thread of its
    own; and so are those that see the same documents, which then help each other."""
    work = [(K, chain) for K in numbers for chain in range(plan.n_chains)]
    workers = executor.side_by_side()
    left: Any
    left, _ = workers.map_reduce(_run_chain, work, [None] * len(work), plan, on_part)
    scores = dict(zip(work, workers.gather(left), strict=True))
    if _climbs(plan, numbers):
        together = [
            (chain, {K: scores[K, chain] for K in numbers}) for chain in range(plan.n_chains)
        ]
        left, _ = workers.map_reduce(_climb, together, [None] * len(together), plan, on_part)
        for chain, best in enumerate(workers.gather(left)):
            scores |= {(K, chain): score for K, score in best.items()}
    return {K: [scores[K, chain] for chain in range(plan.n_chains)] for K in numbers}


def _run_chain(
    which: tuple[int, int], local: None, plan: Plan, n_threads: int
) -> tuple[ChainScore, None]:
    return run_chain(plan, *which), None


def _climb(
    which: tuple[int, Mapping[int, ChainScore]], local: None, plan: Plan, n_threads: int
) -> tuple[dict[int, ChainScore], None]:
    return run_ladder(plan, *which), None


def _from_above(plan: Plan, most: int, executor: Executor) -> tuple[int, ...]:
    """The numbers of components from many down to where none is weak, by all documents."""
    ladder = plan.ladder(plan.counts, plan.exposure, plan.seed)
    if not (ladder.is_there and ladder.model_of(1).scores.capabilities.proper):
        raise InvalidParameter(
            "prune needs a fit that can go on with fewer components, and scores with a prior; "
            f"model {plan.model} by {ladder.algorithm.name} has no such: leave prune out"
        )
    how: Any = {"max_iter": plan.max_iter, "tol": plan.tol, "n_chains": plan.n_starts}
    how |= {"executor": executor, "seed": plan.seed, "warn": False, "exposure": plan.exposure}
    first = fit(plan.counts, ladder.model_of(most), ladder.algorithm, **how)
    return from_above(ladder, uninterrupted(first), executor)


@dataclass(frozen=True)
class _OfOneK:
    """The chains of one K, put together."""

    per_document: FloatArray  # (I): held-out, summed over tokens
    tokens: FloatArray  # (I)
    coherence: float
    exclusivity: float
    stability: float
    converged: float
    by_chain: FloatArray | None = None  # (C, 2): score and tokens of each chain

    @classmethod
    def build(cls, scores: list[ChainScore], counts: Counts, measure: str, n_top: int) -> _OfOneK:
        per_document, tokens = np.zeros(counts.n_docs), np.zeros(counts.n_docs)
        for score in scores:
            per_document[score.documents] += score.per_document
            tokens[score.documents] += score.tokens
        features, n_top = counts.features, min(n_top, counts.n_features)
        coherent, exclusive = [], []
        for score in scores:
            top = top_numbers(score.Theta, features, n_top)
            Theta = score.Theta.astype(np.float64)  # in single precision 1e-300 is 0
            share = Theta / np.maximum(Theta.sum(axis=1, keepdims=True), 1e-300)
            exclusive.append(float(np.take_along_axis(share.T, top, axis=1).mean()))
            if n_top >= 2:
                found = coherence([row.tolist() for row in top], counts, measure, n_top)
                coherent.append(found.mean)
        K = scores[0].Theta.shape[1]
        return cls(
            per_document,
            tokens,
            float(np.mean(coherent)) if coherent else float("nan"),
            float(np.mean(exclusive)),
            _stability(scores, counts) if K > 1 else float("nan"),
            float(np.mean([score.converged for score in scores])),
            np.array([(score.per_document.sum(), score.tokens.sum()) for score in scores]),
        )


def _stability(scores: list[ChainScore], counts: Counts) -> float:
    """The mean agreement of two chains' components, once matched. Empty ones all look like the
    prior, and would agree: of each two chains those that have words are compared, and one that has
    no partner agrees with nobody."""
    return float(
        np.mean([_agreement(a, b, counts.features.blocks) for a, b in combinations(scores, 2)])
    )


def _agreement(one: ChainScore, other: ChainScore, blocks: Any) -> float:
    first, second = (x.Theta[:, x.in_use].astype(np.float64) for x in (one, other))
    few, many = sorted((first.shape[1], second.shape[1]))
    if few == 0:
        return 0.0
    if first.shape[1] > second.shape[1]:
        first, second = second, first
    if many == 1:
        return 1.0
    agreement = Alignment.from_similarity(similarity(first, second, blocks)).agreement
    return float(agreement * few / many)


def _conclude(
    found: dict[int, _OfOneK],
    known: dict[int, KnownEvidence],
    plan: Plan,
    measure: str,
    notes: tuple[str, ...],
    pruned: tuple[int, ...],
) -> Selection:
    best = max(found, key=lambda K: found[K].per_document.sum())
    nan = float("nan")
    nothing = KnownEvidence(nan, nan, 0.0, nan, nan)
    candidates = []
    for K, one in found.items():
        estimate = known.get(K, nothing)
        behind, error = _difference(found[best], one, plan.parts)
        candidates.append(
            Candidate(
                K,
                *_ratio(one.per_document, one.tokens),
                behind,
                error,
                estimate.log_evidence,
                estimate.standard_error,
                bool(estimate.is_sound),
                one.coherence,
                one.exclusivity,
                one.stability,
                one.converged,
                estimate.lower,
                estimate.upper,
                estimate.spread,
                estimate.in_use,
            )
        )
    near, clear, by = decided(candidates)
    hidden = "entries" if plan.hides_cells else "words"
    said = (notes, by, clear, pruned, hidden, plan.algorithm_name)
    return Selection(tuple(candidates), near[0], near, measure, *said)


def _judged(
    selection: Selection, plan: Plan, chains: Mapping[int, Sequence[ChainScore]]
) -> Selection:
    """With what the chains of the recommended number say of the model: nothing is clear where
    counts vary much more than it has it."""
    K = selection.recommended
    value, (gamma, suits) = least_dispersion(plan, chains[K]), gammas(plan, K, chains[K])
    clear = selection.is_clear and not value >= STRONG
    of_model: Any = {"dispersion": value, "gamma": gamma, "gamma_suited": suits}
    return replace(selection, is_clear=clear, **of_model)


def decided(candidates: Sequence[Candidate]) -> tuple[tuple[int, ...], bool, str]:
    """The K that cannot be told from the best, whether that is clear, and what decided it.

    Clear is what no doubt that is known of reaches. Of fewer components: the interval, how far
    their starts differ, and 20 to 1. More components hold these and some empty ones, and learned
    priors make those cost nothing: they must not gain 20 to 1, nor be as good with words in more
    components than these. Held-out words must not tell others better. That of several components
    all but one stay empty in every fit says that none was found, not that there is none: one is
    clear only where more of them had words and lost. Where chains of a K have not settled, its
    evidence speaks neither for nor against it: with twice its interval it is a doubt of others, and
    if it may be the highest so, evidence decides nothing. An end of what was tried is never clear,
    but for 1, below which there is nothing.
    """
    by_words = tuple(c.n_components for c in candidates if c.behind <= c.behind_error)
    sound = [c for c in candidates if c.evidence_is_sound]
    if not sound or not all(np.isfinite(c.evidence_lower) for c in candidates):
        rest = [c for c in candidates if c.n_components != by_words[0]]
        far = all(c.behind >= CLEAR_ERRORS * c.behind_error > 0 for c in rest)
        clear = len(by_words) == 1 and far and _is_between(by_words[0], candidates)
        return by_words, clear, "held-out"
    top = max(sound, key=lambda c: c.evidence)
    if any(_reach(c) > top.evidence_lower for c in candidates if not c.evidence_is_sound):
        return by_words, False, "held-out"
    near = tuple(c.n_components for c in sound if is_near(_known(c), _known(top)))
    chosen = next(c for c in candidates if c.n_components == near[0])
    reaching, apart = doubted(candidates, chosen)
    agrees = near[0] in by_words and _is_between(near[0], candidates)
    clear = agrees and not reaching and not apart and not found_nothing(candidates, chosen)
    return near, clear, "evidence"


def doubted(
    candidates: Sequence[Candidate], chosen: Candidate
) -> tuple[list[Candidate], list[Candidate]]:
    """Those whose evidence may reach that of the chosen by its interval, or to less than 20 to 1;
    and the fewer components that may by how far their starts ended apart."""
    fewer = [c for c in candidates if c.n_components < chosen.n_components]
    more = [c for c in candidates if c.n_components > chosen.n_components]
    reaching = [c for c in fewer if not _reach(c) + CLEAR < chosen.evidence_lower]
    apart = [c for c in fewer if not _reach(c) + _spread(c) + CLEAR < chosen.evidence_lower]
    reaching += [c for c in more if not _is_empty_beyond(c, chosen)]
    return reaching, [c for c in apart if c not in reaching]


def _is_empty_beyond(more: Candidate, chosen: Candidate) -> bool:
    """Whether more components have nothing that the chosen have not: they are 20 to 1 below; or
    they do not gain as much, and leave empty what is beyond the chosen number."""
    if _reach(more) + CLEAR < chosen.evidence_lower:
        return True
    gains = _reach(more) >= chosen.evidence_upper + CLEAR
    return not gains and not more.evidence_in_use > chosen.n_components


def _is_between(K: int, candidates: Sequence[Candidate]) -> bool:
    """Whether fewer and more were tried, so that K is no end of what was."""
    return (K == 1 or candidates[0].n_components < K) and candidates[-1].n_components > K


def _known(c: Candidate) -> KnownEvidence:
    fences = (c.evidence_lower, c.evidence_upper)
    return KnownEvidence(c.evidence, c.evidence_error, float(c.evidence_is_sound), *fences)


def _spread(c: Candidate) -> float:
    return max(float(np.nan_to_num(c.evidence_spread)), 0.0)


def _reach(c: Candidate) -> float:
    return reach(_known(c))


def _ratio(per_document: FloatArray, tokens: FloatArray) -> tuple[float, float]:
    """Σ log p / Σ tokens, and its standard error over documents."""
    total, used = tokens.sum(), int((tokens > 0).sum())
    mean = float(per_document.sum() / total)
    residual = per_document - mean * tokens
    return mean, float(np.sqrt((residual**2).sum() * used / max(used - 1, 1)) / total)


def _difference(best: _OfOneK, one: _OfOneK, parts: list[Any]) -> tuple[float, float]:
    """How far a K is behind per token, and the standard error: over documents, or over chains
    where that is larger."""
    if best is one:
        return 0.0, 0.0
    gap = best.per_document - one.per_document
    mean, over_documents = _ratio(gap, best.tokens)
    by_chain = np.array([gap[part].sum() / max(best.tokens[part].sum(), 1.0) for part in parts])
    if best.by_chain is not None and one.by_chain is not None:
        by_chain = (best.by_chain - one.by_chain)[:, 0] / np.maximum(best.by_chain[:, 1], 1.0)
    over_chains = float(by_chain.std(ddof=1) / np.sqrt(len(parts)))
    return mean, max(over_documents, over_chains)
