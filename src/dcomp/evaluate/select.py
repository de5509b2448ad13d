"""How many components: several chains for each K, one table, and a recommendation in words.

The documents are cut into as many parts as there are chains. Chain c of a K is fitted to all parts
but part c, from a start of its own, and scored by document completion on part c; so every document
is scored once for each K, by a fit that has not seen it. Scores of two K are compared document by
document, which takes out what makes some documents harder than others. The standard error of such a
difference is the larger of that over documents and that over chains: chains that get stuck (MODELS
§9) are part of the doubt.

Recommended is the smallest K that is not worse than the best by more than one standard error. Other
K that are not either are named, because the held-out score cannot tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from dcomp import validation
from dcomp.data import Counts, as_counts
from dcomp.errors import DataWarning, InvalidParameter, MissingDependency, warn
from dcomp.evaluate.align import Alignment, similarity
from dcomp.evaluate.coherence import check_measure, coherence
from dcomp.evaluate.evidence import Evidence, evidence
from dcomp.evaluate.plotting import axes_or_new
from dcomp.evaluate.select_chains import ChainScore, Plan, run_chain
from dcomp.executors import Executor, resolve_executor
from dcomp.models.arrays import FloatArray
from dcomp.recipe import table
from dcomp.result.tables import top_numbers

# Tokens × components × sweeps × chains that the evidence of one K may take, and of its chains.
EVIDENCE_BUDGET, EVIDENCE_CHAINS = 2e8, 8
_FEWEST_SWEEPS, _MOST_SWEEPS = 100, 1000


@dataclass(frozen=True)
class Candidate:
    """What is known of one K. NaN where something could not be had."""

    n_components: int
    log_likelihood: float  # held-out, per token
    standard_error: float  # of it, over documents
    behind: float  # the best K's log_likelihood less this one's
    behind_error: float  # the standard error of that difference; 0 for the best itself
    evidence: float  # log p(w), annealed
    evidence_error: float
    evidence_is_sound: bool  # whether it may be compared; else it is a lower bound
    coherence: float  # mean over components and chains
    exclusivity: float
    stability: float  # agreement of aligned components between chains, 1 for equal ones
    converged: float  # share of chains whose stopping rule was met; NaN for samplers

    @property
    def perplexity(self) -> float:
        """exp(−log_likelihood)."""
        return float(np.exp(-self.log_likelihood))


@dataclass(frozen=True)
class Selection:
    """A recommendation for K, and what it rests on."""

    candidates: tuple[Candidate, ...]  # by K
    recommended: int
    indistinct: tuple[int, ...]  # K within one standard error of the best, the recommended first
    measure: str  # of coherence
    notes: tuple[str, ...]

    @property
    def best(self) -> Candidate:
        """The K of the highest held-out score."""
        return min(self.candidates, key=lambda candidate: candidate.behind)

    @property
    def table(self) -> Any:
        """One row per K, a pandas DataFrame."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingDependency(
                "the table is a DataFrame and needs pandas, which is not installed: "
                'pip install "dcomp[frames]" (`candidates` has the same numbers)'
            ) from None
        rows = [
            asdict(candidate) | {"perplexity": candidate.perplexity}
            for candidate in self.candidates
        ]
        return pd.DataFrame(rows).set_index("n_components")

    @property
    def summary(self) -> str:
        """The recommendation in words, and how sure it is."""
        return " ".join([*_verdict(self), *_second_opinions(self), *self.notes])

    def plot(self, axes: Any = None) -> Any:
        """Up to four panels over K: held-out score and evidence with error bars, coherence and
        exclusivity, stability; what is not known of any K has none. `axes` may be your own, as
        many as that or more; they are returned."""
        K = [candidate.n_components for candidate in self.candidates]
        panels = self._panels()
        axes = _new_axes(len(panels)) if axes is None else np.ravel(axes)
        if len(axes) < len(panels):
            raise InvalidParameter(f"axes must be at least {len(panels)}; got {len(axes)}")
        for spare in axes[len(panels) :]:
            spare.set_axis_off()
        for axis, (title, names, error) in zip(axes, panels, strict=False):
            for name in names:
                values = [getattr(candidate, name) for candidate in self.candidates]
                bars = error and [getattr(candidate, error) for candidate in self.candidates]
                axis.errorbar(K, values, yerr=bars, marker="o", capsize=3, label=name)
            axis.axvline(self.recommended, color="grey", linestyle=":")
            axis.set(title=title, xlabel="components", xticks=K)
            if len(names) > 1:
                axis.legend()
        return axes

    def _panels(self) -> list[tuple[str, tuple[str, ...], str | None]]:
        """Title, what is drawn, and its error, of every panel that has something to show."""
        panels: list[tuple[str, tuple[str, ...], str | None]] = [
            ("held-out log-likelihood per token", ("log_likelihood",), "behind_error"),
            ("log evidence", ("evidence",), "evidence_error"),
            (f"coherence ({self.measure}), exclusivity", ("coherence", "exclusivity"), None),
            ("stability across chains", ("stability",), None),
        ]
        return [
            panel
            for panel in panels
            if any(np.isfinite(getattr(c, name)) for c in self.candidates for name in panel[1])
        ]

    def __str__(self) -> str:
        # 78 columns: a terminal's lines of 80 are not folded.
        head = f"{'K':>4}{'per token':>11}{'behind':>18}{'evidence':>20}"
        lines = [head + f"{self.measure:>8}{'exclusive':>10}{'stable':>7}"]
        for c in self.candidates:
            sign = "" if c.evidence_is_sound else "≥ "
            shown = (
                "–" if np.isnan(c.evidence) else f"{sign}{c.evidence:,.0f} ± {c.evidence_error:.0f}"
            )
            stable = "–" if np.isnan(c.stability) else f"{c.stability:.2f}"
            lines.append(
                f"{c.n_components:>4}{c.log_likelihood:>11.4f}"
                f"{f'{c.behind:.4f} ± {c.behind_error:.4f}':>18}{shown:>20}"
                f"{c.coherence:>8.3f}{c.exclusivity:>10.3f}{stable:>7}"
            )
        return "\n".join([*lines, "", self.summary])


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
    n_starts: int = 4,
    max_iter: int | None = None,
    tol: float = 0.05,
    with_evidence: bool | str = "auto",
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
    n_starts: runs of each chain, of which the one that ended highest is kept.
    with_evidence: whether to estimate log p(w) of each K by annealing; "auto" where the corpus is
    small enough to do so in seconds, and with fewer sweeps where it is not very small.
    measure, n_top: of coherence, of the n_top heaviest features.
    keep: a folder for what each chain leaves; chains that are there already are not run again, so
    that a selection that was stopped goes on.
    n_jobs: chains at a time; None for all cores. The answer does not depend on it, nor on an
    `executor` in its place.
    on_progress: called with the number of chains done, and of all.
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
    workers = resolve_executor(n_jobs, executor)
    found = {
        K: _OfOneK.build(scores, counts, measure, n_top)
        for K, scores in _all_chains(plan, numbers, workers, on_progress).items()
    }
    evidences, notes = _evidences(plan, numbers, with_evidence, workers)
    return _conclude(found, evidences, plan, measure, notes)


def _checked(ks: Sequence[int]) -> list[int]:
    numbers = sorted({validation.whole_number("each of ks", K, 1) for K in ks})
    if not numbers:
        raise InvalidParameter("ks must name at least one number of components; it is empty")
    return numbers


def _all_chains(
    plan: Plan,
    numbers: Sequence[int],
    executor: Executor,
    on_progress: Callable[[int, int], None] | None,
) -> dict[int, list[ChainScore]]:
    """The chains of each K. Chains share nothing: each is a part of the work, on a thread of its
    own."""
    work = [(K, chain) for K in numbers for chain in range(plan.n_chains)]
    done = 0

    def on_part() -> None:
        nonlocal done
        done += 1
        if on_progress is not None:
            on_progress(done, len(work))

    workers = executor.side_by_side()
    left, _ = workers.map_reduce(_run_chain, work, [None] * len(work), plan, on_part)
    scores = workers.gather(left)
    return {K: scores[k * plan.n_chains : (k + 1) * plan.n_chains] for k, K in enumerate(numbers)}


def _run_chain(
    which: tuple[int, int], local: None, plan: Plan, n_threads: int
) -> tuple[ChainScore, None]:
    return run_chain(plan, *which), None


@dataclass(frozen=True)
class _OfOneK:
    """The chains of one K, put together."""

    per_document: FloatArray  # (I): held-out, summed over tokens
    tokens: FloatArray  # (I)
    coherence: float
    exclusivity: float
    stability: float
    converged: float

    @classmethod
    def build(cls, scores: list[ChainScore], counts: Counts, measure: str, n_top: int) -> _OfOneK:
        per_document, tokens = np.zeros(counts.n_docs), np.zeros(counts.n_docs)
        for score in scores:
            per_document[score.documents] = score.per_document
            tokens[score.documents] = score.tokens
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
        )


def _stability(scores: list[ChainScore], counts: Counts) -> float:
    """The mean agreement of two chains' components, once matched."""
    Thetas = [score.Theta.astype(np.float64) for score in scores]
    return float(
        np.mean(
            [
                Alignment.from_similarity(similarity(a, b, counts.features.blocks)).agreement
                for a, b in combinations(Thetas, 2)
            ]
        )
    )


def _evidences(
    plan: Plan, numbers: Sequence[int], wanted: bool | str, executor: Executor
) -> tuple[dict[int, Evidence], tuple[str, ...]]:
    """The annealed evidence of each K, where it is wanted and can be had; else why not."""
    if wanted is False:
        return {}, ()
    smallest = plan.recipe(numbers[0]).resolve(plan.counts).model
    if not smallest.scores.capabilities.evidence:
        return {}, (f"Model {plan.model} has no evidence by annealing.",)
    if not plan.has_priors:
        return {}, ("Without priors there is no evidence.",)
    if plan.counts.is_fractional and wanted is not True:
        return {}, ("Fractional counts have no evidence by annealing.",)
    tokens = plan.counts.n_tokens
    sweeps = {K: int(EVIDENCE_BUDGET / (tokens * K * EVIDENCE_CHAINS)) for K in numbers}
    if wanted is True:
        sweeps = dict.fromkeys(numbers, _MOST_SWEEPS)
    elif min(sweeps.values()) < _FEWEST_SWEEPS:
        return {}, ("The corpus is too large for a quick estimate of the evidence.",)
    options = table()
    priors = {k: v for k, v in plan.priors.items() if options[k].kind == "prior"}
    found = {
        K: evidence(
            plan.counts,
            K,
            model=plan.model,
            exposure=plan.exposure,
            **priors,
            n_sweeps=min(sweeps[K], _MOST_SWEEPS),
            n_chains=EVIDENCE_CHAINS,
            random_state=plan.seed,
            executor=executor,
        )
        for K in numbers
    }
    return found, ()


def _conclude(
    found: dict[int, _OfOneK],
    evidences: dict[int, Evidence],
    plan: Plan,
    measure: str,
    notes: tuple[str, ...],
) -> Selection:
    best = max(found, key=lambda K: found[K].per_document.sum())
    candidates = []
    for K, one in found.items():
        estimate = evidences.get(K)
        behind, error = _difference(found[best], one, plan.parts)
        candidates.append(
            Candidate(
                K,
                *_ratio(one.per_document, one.tokens),
                behind,
                error,
                float("nan") if estimate is None else estimate.log_evidence,
                float("nan") if estimate is None else estimate.standard_error,
                estimate is not None and not _is_bound(estimate),
                one.coherence,
                one.exclusivity,
                one.stability,
                one.converged,
            )
        )
    near = tuple(c.n_components for c in candidates if c.behind <= c.behind_error)
    return Selection(tuple(candidates), near[0], near, measure, notes)


def _is_bound(estimate: Evidence) -> bool:
    """Whether too few chains carry the estimate: then it is a lower bound only."""
    return estimate.effective_sample_size < 0.25 * len(estimate.per_chain)


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
    over_chains = float(by_chain.std(ddof=1) / np.sqrt(len(parts)))
    return mean, max(over_documents, over_chains)


def _verdict(selection: Selection) -> Iterator[str]:
    best, chosen, near = selection.best, selection.recommended, selection.indistinct
    ks = [candidate.n_components for candidate in selection.candidates]
    yield f"Recommended: {chosen} component{'s' * (chosen > 1)}."
    if len(ks) == 1:
        yield "It is the only number that was tried."
        return
    if len(near) == 1:
        rest = [c for c in selection.candidates if c.n_components != chosen]
        closest = min(rest, key=lambda c: c.behind / max(c.behind_error, 1e-300))
        size = closest.behind / max(closest.behind_error, 1e-300)
        sure = "clearly" if size >= 2 else "but not by much"
        yield (
            f"Its held-out score is the best, {sure}: {closest.n_components} comes nearest, "
            f"{closest.behind:.4f} ± {closest.behind_error:.4f} per token behind."
        )
    else:
        names = ", ".join(map(str, near[:-1])) + f" and {near[-1]}"
        yield (
            f"The data cannot tell between {names}: the held-out score is highest at "
            f"{best.n_components}, and the others are within one standard error of it; {chosen} is "
            "the smallest of them."
        )
    if ks[-1] in near:
        yield f"{ks[-1]} is the largest number that was tried: more may be as good, or better."


def _second_opinions(selection: Selection) -> Iterator[str]:
    known = [c for c in selection.candidates if not np.isnan(c.evidence)]
    if known:
        top = max(known, key=lambda c: c.evidence)
        if all(c.evidence_is_sound for c in known):
            agrees = "too" if top.n_components == selection.recommended else "instead"
            yield f"The evidence is highest at {top.n_components}{', ' + agrees}."
        else:
            yield (
                f"The evidence is highest at {top.n_components}, but the annealing was too short "
                "for this corpus: those numbers are lower bounds, and decide nothing."
            )
    stability = {c.n_components: c.stability for c in selection.candidates}[selection.recommended]
    if not np.isnan(stability) and stability < 0.5:
        yield (
            f"Chains of {selection.recommended} components agree little (stability "
            f"{stability:.2f}): read its components with care."
        )


def _new_axes(n: int) -> Any:
    """Axes for up to four panels: two rows for four, else one."""
    axes_or_new_figure = axes_or_new()  # says what to install where matplotlib is missing
    figure = axes_or_new_figure.figure
    axes_or_new_figure.remove()
    rows, columns = (2, 2) if n == 4 else (1, n)
    figure.set_size_inches(5 * columns, 3.5 * rows)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    figure.set_layout_engine("constrained")
    return axes
