"""Whether a fit has come to rest: what to look at, and a verdict in words.

A sampler is judged by quantities that do not depend on how components are numbered: R-hat and
effective sample size of their traces over chains (`dcomp.evaluate.mcmc`). Mean field and map climb:
they are judged by the change of their objective, and on request by the residual of one more sweep.
No sampler of dcomp has a Metropolis step, so that there is no acceptance rate to look at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dcomp.data import as_counts
from dcomp.errors import InvalidCounts, InvalidParameter
from dcomp.evaluate.align import ChainAlignment, align_chains
from dcomp.evaluate.dispersion import STRONG, dispersion
from dcomp.evaluate.mcmc import SHORTEST, ess_bulk, ess_tail, rhat
from dcomp.executors import LocalExecutor
from dcomp.inference.ascent import as_climbed
from dcomp.inference.maximum_likelihood import FactorInfo
from dcomp.inference.rhat import SETTLED, rhat_by_chance
from dcomp.inference.stopping import Remaining, Rule, recent_gain
from dcomp.models import Observations
from dcomp.models.arrays import FloatArray, read_only
from dcomp.result import Draws, Fit, Trace
from dcomp.result.chains import chain_value
from dcomp.result.of_estimator import as_fit
from dcomp.result.tables import top_numbers

CONVERGED, NOT_CONVERGED, CANNOT_TELL = "converged", "not converged", "cannot tell"
MOVING = 0.01  # share of words that one more sweep may move of a fit at rest
FAR = 2 * SETTLED - 1  # R-hat, from which on chains are in different places rather than slow
ROUNDING = 1e-6  # relative fall of an objective that sums in single precision can explain


@dataclass(frozen=True, eq=False)
class Quantity:
    """A quantity that does not depend on the numbering of components, and how it mixes.

    Of several numbers (a prior's K values, sorted within each draw) R-hat is the largest and the
    effective sample sizes are the smallest.
    """

    name: str
    trace: FloatArray  # (chain, draw), or (chain, draw, number)
    rhat: float
    ess_bulk: float
    ess_tail: float

    @classmethod
    def from_trace(cls, name: str, trace: FloatArray) -> Quantity:
        """From its trace.

        >>> Quantity.from_trace("x", np.random.default_rng(0).normal(size=(4, 300))).rhat < 1.02
        True
        """
        parts = trace.reshape(*trace.shape[:2], -1)
        each = [parts[:, :, i] for i in range(parts.shape[2])]
        return cls(
            name,
            read_only(np.array(trace)),
            max(rhat(part) for part in each),
            min(ess_bulk(part) for part in each),
            min(ess_tail(part) for part in each),
        )

    @property
    def n_draws(self) -> int:
        """Of all chains together."""
        return int(self.trace.shape[0] * self.trace.shape[1])


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """The verdict on a fit, the reasons for it, and what it rests on.

    verdict: "converged", "not converged" or "cannot tell". reasons: why; remarks: what else a
    reader should know.
    quantities: of a sampler, over the recorded sweeps of all chains (`log joint`, `words`: the
    log-likelihood of the words given the rest) or over the kept draws (learned priors, sorted;
    `effective components`, exp of the entropy of their shares of all words; `used components`,
    those with a word, where assignments were kept).
    component_rhat: of each component the largest R-hat of its top loadings, chains aligned.
    objective: of mean field and map, the trace that they climb. change: of the last sweep, in nats
    per document. remaining: what going on would change, as the fit itself has measured it.
    falls: sweeps in which it fell by more than rounding explains, relative to the documents' part.
    residual: the share of all words that one more sweep moves to another component; it is 0 exactly
    at a stationary point (for map: where the KKT conditions hold). None unless counts were given.
    dispersion: how many times the variance of the model the counts have around the fit
    (`evaluate.dispersion`), NaN where too few cells expect a word; None unless counts were given.
    kkt: the largest breach of those conditions in the last sweep, where the algorithm knows it (ml:
    |min(x, slope)| of a coordinate x); then there is no residual.
    """

    verdict: str
    reasons: tuple[str, ...]
    remarks: tuple[str, ...]
    n_chains: int
    n_sweeps: int  # that were looked at: recorded ones of a sampler
    quantities: tuple[Quantity, ...] = ()
    alignment: ChainAlignment | None = None
    component_rhat: FloatArray | None = None  # (K)
    objective: FloatArray | None = None
    change: float | None = None
    remaining: Remaining | None = None
    falls: int = 0
    residual: float | None = None
    kkt: float | None = None
    dispersion: float | None = None

    @property
    def converged(self) -> bool | None:
        """True, False, or None for "cannot tell"."""
        return {CONVERGED: True, NOT_CONVERGED: False}.get(self.verdict)

    def quantity(self, name: str) -> Quantity:
        """One quantity by its name."""
        for found in self.quantities:
            if found.name == name:
                return found
        names = ", ".join(q.name for q in self.quantities) or "none"
        raise InvalidParameter(f"the quantities are {names}; got {name!r}")

    def plot(self, name: str | None = None, axes: Any = None) -> Any:
        """The trace of a quantity by chain (the first unless named), or the objective that was
        climbed, on matplotlib axes."""
        from dcomp.plot import traces

        return traces(self, name, ax=axes)

    def __str__(self) -> str:
        lines = [f"{self.verdict}: {'; '.join(self.reasons)}", *self.remarks]
        if self.quantities:
            lines.append(f"{'':<24}{'R-hat':>8}{'ESS bulk':>10}{'ESS tail':>10}{'draws':>8}")
        for q in self.quantities:
            sizes = f"{q.ess_bulk:10.0f}{q.ess_tail:10.0f}{q.n_draws:8d}"
            lines.append(f"{q.name:<24}{q.rhat:8.3f}{sizes}")
        return "\n".join(lines)


def diagnostics(
    fit: Fit,
    X: Any = None,
    *,
    rhat_limit: float = SETTLED,
    min_ess: float = 100,
    n_top: int = 10,
    n_jobs: int | None = None,
) -> Diagnostics:
    """Judge whether a fit has come to rest.

    rhat_limit: R-hat of every quantity at most (Vehtari et al. 2021). Of N draws per chain in C
    chains as much is let pass as independent draws exceed once in a thousand fits,
    1 + χ²(0.999; 2C − 1) / ((2C − 1) N), which is above 1.05 for N under some 60.
    min_ess: effective draws at least, per chain, of the traces over recorded sweeps. Verdicts rest
    on what no numbering changes; component_rhat is for reading, n_top the loadings it looks at.
    X: the counts that were fitted; they give mean field and map their residual. A fit that met its
    stopping rule is still "not converged" where one more sweep moves over 1 % of the words.

    >>> import dcomp
    >>> X = np.random.default_rng(0).poisson([[4, 4, 0, 0]] * 20 + [[0, 0, 4, 4]] * 20)
    >>> found = diagnostics(dcomp.LDA(2, verbose=0).fit(X).fit_, X)
    >>> found.verdict, bool(found.residual < 0.01)
    ('converged', True)
    >>> chain = dcomp.LDA(2, alpha=0.5, algorithm="collapsed-gibbs", max_iter=400, verbose=0)
    >>> diagnostics(chain.fit(X).fit_).verdict  # no other chain says where it might have rested
    'cannot tell'
    """
    fit = as_fit(fit)
    if not (rhat_limit > 1 and min_ess > 0):
        raise InvalidParameter(
            f"rhat_limit must be above 1 and min_ess above 0; got {rhat_limit} and {min_ess}"
        )
    last = fit.history.rows[-1]
    if fit.algorithm.samples:
        found = _sampling(fit, rhat_limit, min_ess, n_top)
    elif isinstance(last, FactorInfo):
        found = _ascent(fit, kkt=float(last.residual))
    else:
        found = _ascent(fit, None if X is None else _residual(fit, X, n_jobs))
    return found if X is None else _with_dispersion(found, fit, X)


def _sampling(fit: Fit, rhat_limit: float, min_ess: float, n_top: int) -> Diagnostics:
    burn_in = fit.algorithm.schedule.burn_in
    whole = len(fit.history)
    # An interrupt leaves chains that are shorter: they are left out, as in `Fit.draws`.
    chains = [chain for chain in fit.chains or (fit.history,) if len(chain) >= whole]
    n_sweeps = max(whole - burn_in, 0)
    if n_sweeps < SHORTEST:
        why = f"{n_sweeps} recorded sweeps (burn-in {burn_in}); {SHORTEST} are the least to judge"
        return Diagnostics(CANNOT_TELL, (why,), (), len(chains), n_sweeps)

    def over(column: str) -> FloatArray:
        return np.array([chain[column][burn_in:whole] for chain in chains], dtype=np.float64)

    sweeps = [
        Quantity.from_trace("log joint", over("objective")),
        Quantity.from_trace("words", over("documents")),
    ]
    draws = [Quantity.from_trace(*named) for named in _drawn(fit)]
    verdict, reasons = _judge(sweeps, draws, rhat_limit, min_ess)
    alignment, component_rhat = _components(fit, n_top)
    return Diagnostics(
        verdict,
        reasons,
        (*_remarks(fit, len(fit.chains) - len(chains)), *_about_components(alignment)),
        len(chains),
        n_sweeps,
        (*sweeps, *draws),
        alignment,
        component_rhat,
    )


def _judge(
    sweeps: list[Quantity], draws: list[Quantity], rhat_limit: float, min_ess: float
) -> tuple[str, tuple[str, ...]]:
    """The verdict of a sampler and its reasons."""
    n_chains = len(sweeps[0].trace)
    limits = [(q, max(rhat_limit, _by_chance(q))) for q in (*sweeps, *draws)]
    bad = [(q, limit) for q, limit in limits if q.rhat > limit]
    if bad:
        reasons = [f"R-hat of {q.name} is {q.rhat:.3f}, above {limit:.3g}" for q, limit in bad]
        worst = max(bad, key=lambda pair: pair[0].rhat)[0]
        return NOT_CONVERGED, (*reasons, _where(worst))
    few = [q for q in sweeps if min(q.ess_bulk, q.ess_tail) < min_ess * n_chains]
    if few:
        return CANNOT_TELL, (_too_few(few, min_ess * n_chains),)
    if n_chains == 1:
        return CANNOT_TELL, (
            "a single chain agrees with itself, but only others can show whether it rests where "
            "they do: fit with n_chains=4",
        )
    return CONVERGED, (f"{n_chains} chains agree, R-hat at most {max(_rhats(sweeps, draws)):.3f}",)


def _too_few(few: list[Quantity], need: float) -> str:
    """What was recorded and what is missing; how many draws are kept makes no difference."""
    recorded = few[0].n_draws
    if recorded < need:
        return (
            f"{need:.0f} effective draws are needed to judge, which {recorded:,} recorded sweeps "
            "cannot be, however many draws are kept: raise max_iter"
        )
    least = [f"{q.name} has {min(q.ess_bulk, q.ess_tail):.0f}" for q in few]
    return (
        f"{need:.0f} effective draws are needed to judge, and of {recorded:,} recorded sweeps "
        f"{', '.join(least)}, however many draws are kept: raise max_iter"
    )


def _rhats(*lists: list[Quantity]) -> Iterator[float]:
    return (q.rhat for quantities in lists for q in quantities)


def _by_chance(quantity: Quantity) -> float:
    """R-hat that a quantity of independent draws hardly ever exceeds, all its numbers together."""
    C, N = quantity.trace.shape[:2]
    return rhat_by_chance(C, N, quantity.trace.size // (C * N))


def _where(quantity: Quantity) -> str:
    """Whether chains still move, rest in different places, or are slow."""
    trace = quantity.trace.reshape(*quantity.trace.shape[:2], -1)
    own = [max(rhat(chain[:, i]) for i in range(chain.shape[1])) for chain in trace]
    if np.median(own) > FAR:
        return "the chains are still moving: raise max_iter and burn_in"
    if quantity.rhat > FAR:
        return "each chain is at rest, but in another place: the fit shows the best of them"
    effective = f"{quantity.ess_bulk:.0f} effective draws of {quantity.n_draws:,}"
    return f"the chains mix slowly, {effective}: raise max_iter"


def _drawn(fit: Fit) -> Iterator[tuple[str, FloatArray]]:
    """Quantities of the kept draws that no numbering changes."""
    draws = fit.kept
    if draws is None or draws.n_draws < SHORTEST:
        return
    learned = (*fit.model.scores.learned, *(("gamma",) if fit.model.loadings.learned else ()))
    for name in (name for name in learned if name in draws.hyper):
        values = draws.hyper[name]
        yield (f"{name}, sorted", np.sort(values, axis=-1)) if values.ndim == 3 else (name, values)
    sizes = _sizes(fit, draws)
    if sizes is None or fit.n_components == 1:
        return
    share = sizes / np.maximum(sizes.sum(axis=-1, keepdims=True), 1e-300)
    entropy = -(share * np.log(np.maximum(share, 1e-300))).sum(axis=-1)
    yield "effective components", np.exp(entropy)
    if draws.assignments is not None:
        yield "used components", (sizes > 0).sum(axis=-1).astype(np.float64)


def _sizes(fit: Fit, draws: Draws) -> FloatArray | None:
    """(C, S, K): words of each component, counted where tokens were kept, else those that the drawn
    scores make one expect."""
    K = fit.n_components
    if draws.assignments is not None:
        z = draws.assignments
        return np.array([[np.bincount(x, minlength=K) for x in chain] for chain in z], np.float64)
    if draws.scores is None:
        return None
    weight = fit.state.c.sum(axis=1, dtype=np.float64)  # lengths, for shares
    if fit.model.has_exposure:
        weight = np.ones(len(weight)) if fit.exposure is None else fit.exposure.sum(axis=1)
    return np.array([[weight @ scores for scores in chain] for chain in draws.scores])


def _components(fit: Fit, n_top: int) -> tuple[ChainAlignment | None, FloatArray | None]:
    """Chains aligned, and of each component the largest R-hat of its top loadings."""
    draws = fit.kept
    if draws is None or draws.Theta is None or draws.n_draws < SHORTEST:
        return None, None
    alignment = align_chains(fit) if draws.n_chains > 1 else None
    top = top_numbers(fit.Theta, fit.features, n_top)
    worst = np.empty(fit.n_components)
    for k, numbers in enumerate(top):
        own = [k] * draws.n_chains if alignment is None else alignment.permutations[:, k]
        traces = np.stack([draws.Theta[c][:, numbers, m] for c, m in enumerate(own)])
        worst[k] = max(rhat(traces[:, :, i]) for i in range(traces.shape[2]))
    return alignment, read_only(worst)


def _about_components(alignment: ChainAlignment | None) -> tuple[str, ...]:
    return () if alignment is None else (str(alignment),)


def _remarks(fit: Fit, left_out: int = 0) -> tuple[str, ...]:
    remarks = list(fit.remarks)
    if fit.reason == "interrupted":
        remarks.append("the fit was interrupted")
    if left_out > 0:
        remarks.append(f"{left_out} shorter chains are left out")
    return tuple(remarks)


def _ascent(fit: Fit, residual: float | None = None, kkt: float | None = None) -> Diagnostics:
    history, what = fit.history, fit.algorithm.objective_name
    objective = np.asarray(history["objective"], dtype=np.float64)
    scale = np.maximum(np.abs(history["documents"]), 1e-300)
    steps = np.diff(objective) / scale[1:]
    if fit.remaining is not None and fit.remaining.apart > 0:
        steps = steps[:-1]  # the last row is of documents as new ones, and no sweep
    falls = int((steps < -ROUNDING).sum())
    remarks = [*(() if fit.remaining is None else fit.remaining.shown_lower), *_remarks(fit)]
    if falls:
        times = f"{falls} sweep{'s' if falls > 1 else ''}"
        remarks.append(f"the {what} fell in {times}, by up to {-steps.min():.1g} of it")
    if residual is not None:
        remarks.append(f"one more sweep moves {100 * residual:.2g} % of the words")
    if kkt is not None:
        remarks.append(
            f"no number is further than {kkt:.2g} words, or that part of itself, from the "
            "conditions of a maximum"
        )
    remarks += _starts(fit.chains, what)
    verdict, why = _judged_ascent(fit)
    if verdict == CONVERGED and residual is not None and residual > MOVING:
        verdict, why = NOT_CONVERGED, f"{why}, but words still move: lower tol"
    return Diagnostics(
        verdict,
        (why,),
        tuple(remarks),
        max(len(fit.chains), 1),
        len(history),
        objective=read_only(objective),
        change=history.rows[-1].change,
        remaining=fit.remaining,
        falls=falls,
        residual=residual,
        kkt=kkt,
    )


def _judged_ascent(fit: Fit) -> tuple[str, str]:
    """The verdict on a climb, by what it measured at its end, and the reason for it."""
    left = fit.remaining
    if fit.reason == "rounding" and left is not None and left.gain is not None:
        why = f"rounding hides what may be left to gain, about {left.gain:.2g} nats per document"
        return CANNOT_TELL, why
    if fit.converged and fit.algorithm.has_schedule:
        return CONVERGED, f"its schedule was over after {fit.n_sweeps} sweeps"
    if fit.converged:
        gain = None if left is None else left.gain
        shares = 0.0 if left is None else left.shares
        about = "" if gain is None else f"about {gain:.2g} nats per document are left to gain, and "
        moved = f"in one more sweep no share moves by more than {shares:.2g}"
        return CONVERGED, f"{about}{moved} (over many more, single documents may)"
    sweeps, gained = recent_gain(fit.history.rows)
    of = f"the last {sweeps} sweeps gained {gained:.2g} nats per document"
    if abs(gained) < Rule().tol:
        return CANNOT_TELL, f"{of}, and what is to come was not measured: resume the fit"
    return NOT_CONVERGED, f"{of}: raise max_iter, or resume the fit"


def _starts(chains: tuple[Trace, ...], what: str) -> list[str]:
    if len(chains) < 2:
        return []
    levels = sorted(chain_value(chain.rows) for chain in chains)
    return [
        f"{len(chains)} starts end at a {what} from {levels[0]:,.1f} to {levels[-1]:,.1f}; "
        "the best is kept"
    ]


def _with_dispersion(found: Diagnostics, fit: Fit, X: Any) -> Diagnostics:
    """Whether the model's noise is that of the counts, which no sweep mends."""
    counts, _ = as_counts(X, fractional=fit.provenance.fractional).aligned_to(fit.features)
    scores = np.asarray(fit.scores)
    if counts.is_fractional or not fit.is_of(counts) or scores.shape[1] != fit.Theta.shape[1]:
        return found
    value = dispersion(counts, scores, np.asarray(fit.Theta, np.float64))
    if not value >= STRONG:
        return replace(found, dispersion=value)
    remark = (
        f"counts vary {value:.1f} times as much as the model has it, around these components: "
        "what rests on single words (intervals, evidence, a number of components) is too sure"
    )
    return replace(found, dispersion=value, remarks=(*found.remarks, remark))


def _residual(fit: Fit, X: Any, n_jobs: int | None) -> float:
    """½ Σ_jk |n'_jk − n_jk| / Σ w: the share of words that one more sweep moves."""
    counts, _ = as_counts(X, fractional=fit.provenance.fractional).aligned_to(fit.features)
    if counts.fingerprint() != fit.provenance.data_fingerprint:
        raise InvalidCounts("a residual is of the counts that were fitted; these are others")
    observed = Observations(counts.cut_at(fit.state.firsts), fit.exposure, allowed=fit.allowed)
    # The loadings are those of the climb's own documents, not of where these are shown.
    state = as_climbed(fit.state.cut(observed.parts))
    after, _ = fit.algorithm.step(observed, state, LocalExecutor.from_jobs(n_jobs))
    moved = np.abs(after.n.astype(np.float64) - fit.state.n).sum() / 2
    return float(moved / (counts.n_tokens or 1))
