"""How sure scores are, loadings included: an interval for every document and component.

Given Θ, a document's scores have a posterior (`score_posterior`); but Θ was learned from a table,
and another table of the same kind would have given another. Here scores are averaged over the
posterior of Θ as well: p(l | w, W) = ∫ p(l | w, Θ) p(Θ | W) dΘ, by chains that draw both. Their
components are put in the order of the fit before anything is averaged. The mean over a group of
documents is formed draw by draw, so that what its documents have in common (Θ's error does not
average out) is in its interval.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import validation
from dcomp.errors import (
    DataWarning,
    InvalidParameter,
    MissingDependency,
    UnsupportedCombination,
    warn,
)
from dcomp.evaluate.align import Alignment, similarity
from dcomp.evaluate.dispersion import STRONG, dispersion
from dcomp.evaluate.mcmc import SHORTEST, rhat_of_all
from dcomp.evaluate.modes import pooled_chains
from dcomp.executors import LocalExecutor
from dcomp.inference import CollapsedGibbs, Draw, Gibbs, Keep, run
from dcomp.inference.mean_field import Weights
from dcomp.inference.rest import fold_in
from dcomp.inference.rhat import SETTLED
from dcomp.inference.run import COMPLETE, Run, uninterrupted
from dcomp.inference.sampled_scores import sample_scores
from dcomp.inference.sampler_start import MeanFieldStart
from dcomp.inference.state import Local
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray, read_only
from dcomp.models.loadings import DirichletLoadings
from dcomp.printable import columns, padded, shortened
from dcomp.result import Fit
from dcomp.result.fitting import chain_seeds
from dcomp.result.of_estimator import as_fit

LIGHT = 50  # words per cell of the table, from which single tokens are too many to draw
GAMMA_STEPS, GAMMA_MOVES = 200, 1e-3  # of learning γ at once, at most and until it moves less
FAR = 3.0  # times the γ of kept draws: what they look like, from which on that is said
SHOWN = 12  # rows of a table on the screen
NONE = 1e-6  # shown as 0; of the largest mean, where all scores are small
NOT_QUOTABLE = "?"  # behind an interval that chains do not agree on
LEGEND = f"{NOT_QUOTABLE}: chains do not agree (R-hat above {SETTLED}); do not quote it"
_AT_ONCE = 1 << 22  # numbers of a block in memory
_FRESH = 20  # sweeps of a new document for each draw of Θ, from its mode

Names = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Intervals:
    """Mean, standard deviation and interval of scores, a row per document (or group), a column per
    component in the order of the fit.

    rhat: 1 where the chains agree; above 1.05 an interval is not to be trusted yet.
    stability: how similar each chain's components are to those of the fit, (chain, K).
    groups: the same for the mean over the documents of each group, where groups were given.
    dispersion: how many times the variance of the model the counts have; where that is 2 or more,
    all intervals are too narrow, and say so.
    """

    names: Names
    kind: str  # "document" or "group"
    mean: FloatArray
    sd: FloatArray
    low: FloatArray
    high: FloatArray
    rhat: FloatArray
    level: float
    shares: bool
    n_chains: int
    n_draws: int  # of each chain
    stability: FloatArray
    groups: Intervals | None = None
    dispersion: float = float("nan")

    @property
    def quotable(self) -> npt.NDArray[np.bool_]:
        """Whether the chains agree on an interval (R-hat at most 1.05): others are not to be
        quoted."""
        return np.asarray(self.rhat <= SETTLED)

    @property
    def settled(self) -> float:
        """The share of intervals on which the chains agree."""
        return float(self.quotable.mean())

    def ends(self, i: int, k: int) -> str:
        """An interval for people, with a mark where it is not to be quoted."""
        mark = "" if self.quotable[i, k] else f" {NOT_QUOTABLE}"
        return f"({self.low[i, k]:.2f} to {self.high[i, k]:.2f}){mark}"

    @property
    def legend(self) -> str:
        """What the mark of an interval says that is not to be quoted."""
        return LEGEND

    def head(self) -> list[str]:
        """What these intervals are, in a line or two."""
        what = "shares" if self.shares else "scores"
        warned = [_too_narrow(self.dispersion)] if self.dispersion >= STRONG else []
        return [
            f"{100 * self.level:g} % intervals of {what}, {self.n_chains} chains of "
            f"{self.n_draws} draws;",
            f"chains agree on {100 * self.settled:.0f} % of them (R-hat at most {SETTLED})",
            *warned,
        ]

    def row(self, name: str | int) -> int:
        """The place of a document or group, by its name or number."""
        if isinstance(name, int) and 0 <= name < len(self.names):
            return name
        if name not in self.names:
            raise InvalidParameter(f"there is no {self.kind} {name!r} among these intervals")
        return self.names.index(str(name))

    def to_frame(self) -> Any:
        """As a pandas DataFrame, a row per document (or group) and component
        (`dcomp[frames]`)."""
        try:
            import pandas
        except ImportError:
            raise MissingDependency(
                'a frame needs pandas, which is not installed: pip install "dcomp[frames]"'
            ) from None
        index = pandas.MultiIndex.from_product(
            [self.names, range(self.mean.shape[1])], names=[self.kind, "component"]
        )
        names = ("mean", "sd", "low", "high", "rhat", "quotable")
        return pandas.DataFrame({name: getattr(self, name).ravel() for name in names}, index=index)

    def __str__(self) -> str:
        lines = self.head()
        K = self.mean.shape[1]
        shown = list(np.ndindex(self.mean.shape))[:SHOWN]
        none = NONE * min(float(np.abs(self.mean).max(initial=0.0)), 1.0)
        named = {i: shortened(self.names[i], 24) for i, _ in shown}
        width = max([len(self.kind), *map(columns, named.values())])
        head = f"{self.kind:<{width}} {'component':>9}"
        lines.append(head + "".join(f" {x:>9}" for x in ("mean", "sd", "low", "high", "R-hat")))
        for i, k in shown:
            values = [float(x[i, k]) for x in (self.mean, self.sd, self.low, self.high)]
            values = [0.0 if abs(value) < none else value for value in values]
            row = f"{padded(named[i], width)} {k:>9}"
            row += "".join(f" {value:>9.3g}" for value in values)
            mark = "" if self.quotable[i, k] else f" {NOT_QUOTABLE}"
            lines.append(f"{row} {self.rhat[i, k]:>9.3f}{mark}")
        if not all(self.quotable[place] for place in shown):
            lines.append(self.legend)
        if self.mean.size > SHOWN:
            lines.append(
                f"and so on for {len(self.names):,} {self.kind}s and {K} components: `to_frame()`"
            )
        return "\n".join(lines)


def intervals(
    fit: Any,
    X: Any,
    *,
    exposure: Any = None,
    groups: Sequence[Hashable] | None = None,
    shares: bool = False,
    level: float = 0.9,
    train: Any = None,
    n_chains: int = 4,
    n_draws: int = 100,
    burn_in: int = 100,
    thin: int = 2,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Intervals:
    """An interval for every score (or share) of documents, with the uncertainty of the loadings.

    Draws that the fit has kept are used, of the chains that lie with the best
    (`evaluate.modes.pooled_chains`): of documents that were fitted as they are, of others by
    sampling with each kept Θ. A fit without draws is gone on with: `n_chains` chains of collapsed
    Gibbs (direct Gibbs where counts are large) begin at the fit, forget it for `burn_in` sweeps
    and keep every `thin`-th of the next. They need the table that was fitted: X itself, or
    `train`. They learn γ along where it is one number for all loadings, whatever the fit was told:
    under a prior that does not suit the table intervals are too narrow. Draws that a fit has kept
    are of the priors that it had; of a γ far below what they look like there is a warning
    (give `gamma="auto"` to the sampler). Chains that all begin at the fit say how sure this answer
    is, not whether there is another: for that fit by a sampler with several chains (`n_chains=4,
    n_draws=250`).

    groups: a label per document; `Intervals.groups` then has the mean over each. shares: scores of
    a document over their sum (those of DM are shares as they are). level: of equal tails.

    >>> import dcomp
    >>> X = np.random.default_rng(0).poisson([[4, 3, 1, 0]] * 20 + [[0, 1, 3, 4]] * 20)
    >>> model = dcomp.LDA(2, alpha=0.5, verbose=0).fit(X)
    >>> found = intervals(model, X, groups=["left"] * 20 + ["right"] * 20, n_draws=50)
    >>> found.low.shape, found.groups.names
    ((40, 2), ('left', 'right'))
    >>> bool((found.groups.sd < found.sd.min()).all())
    True
    """
    fit = as_fit(fit)
    if not 0 < level < 1:
        raise InvalidParameter(f"level must lie between 0 and 1; got {level}")
    observed = fit.observe(X, exposure)
    if fit.allowed is not None and fit.is_of(observed.counts):
        observed = replace(observed, allowed=fit.allowed)
    labels = None if groups is None else _labels(groups, observed.counts.n_docs)
    workers = LocalExecutor.from_jobs(n_jobs)
    if fit.kept is not None:
        _warn_of_gamma(fit)
        draws = [fit.kept.of_chain(c) for c in pooled_chains(fit)]
    else:
        how = Chains(n_chains, n_draws, burn_in, thin, seed)
        draws = how.run(fit, _train(fit, observed, train, exposure), workers)
    matched = aligned_chains(fit, draws)
    traces = _scores(fit, observed, draws, matched, seed, workers)
    if shares:
        traces /= np.maximum(traces.sum(axis=3, keepdims=True), 1e-30)
    counts = observed.counts
    names = tuple(counts.doc_ids or map(str, range(counts.n_docs)))
    common: dict[str, Any] = {
        "level": level,
        "shares": shares or not fit.model.has_exposure,
        "stability": read_only(np.array([found.similarity for found in matched])),
    }
    mean = traces.mean(axis=(0, 1))
    common["dispersion"] = dispersion(counts, mean, np.asarray(fit.Theta, np.float64))
    if common["dispersion"] >= STRONG:
        warn(_too_narrow(common["dispersion"]), DataWarning)
    rows = _summary(traces, names, "document", common)
    if labels is None:
        return rows
    return replace(rows, groups=_summary(_group_means(traces, labels), labels[0], "group", common))


@dataclass(frozen=True)
class Chains:
    """Chains that begin at a fit."""

    n_chains: int
    n_draws: int
    burn_in: int
    thin: int
    seed: int

    def __post_init__(self) -> None:
        for name, least in (("n_chains", 1), ("n_draws", SHORTEST), ("burn_in", 0), ("thin", 1)):
            validation.whole_number(name, getattr(self, name), least)

    def run(
        self, fit: Fit, observed: Observations, workers: LocalExecutor
    ) -> list[tuple[Draw, ...]]:
        """The draws of each chain."""
        model = fit.model
        if fit.algorithm.estimates == "likelihood":
            raise UnsupportedCombination(
                f"a fit by {fit.algorithm.name} has no priors, and intervals of chains that need "
                "some would contradict it: fit by mean field, or by a sampler with n_draws= and "
                "n_chains=; of genotypes dcomp.use.admixture has intervals of resampled loci"
            )
        if model.scores.capabilities.sampling != "direct" or not model.scores.capabilities.proper:
            raise UnsupportedCombination(
                f"chains cannot begin at a fit of model {model.key} by {fit.algorithm.name}: fit "
                "by a sampler with n_draws= and n_chains="
            )
        keep = Keep(n=1, every=self.thin)
        counts = observed.counts
        heavy = counts.n_tokens > LIGHT * max(counts.nnz, 1)
        sampler: Any = (Gibbs if heavy else CollapsedGibbs)(burn_in=self.burn_in, keep=keep)
        begin = _at_fit(fit, observed, workers)
        begin = replace(begin, model=learning_gamma(fit))
        return [
            self._one(sampler, begin, observed, chain_seed, workers)
            for chain_seed in chain_seeds(self.seed, self.n_chains)
        ]

    def _one(
        self,
        sampler: Any,
        begin: MeanFieldStart,
        observed: Observations,
        seed: int,
        workers: LocalExecutor,
    ) -> tuple[Draw, ...]:
        state = sampler.init_at(begin, observed, seed, workers)
        outcome = run(
            begin.model,
            sampler,
            observed,
            workers,
            seed=seed,
            max_iter=self.burn_in + self.thin * self.n_draws,
            resume=Run(state, (), COMPLETE),
            warn=False,
        )
        return tuple(uninterrupted(outcome).state.draws)


def _train(fit: Fit, observed: Observations, train: Any, exposure: Any) -> Observations:
    """The table that was fitted."""
    found = observed if train is None else fit.observe(train, fit.exposure)
    if not fit.is_of(found.counts):
        raise InvalidParameter(
            "the fit has kept no draws, and these are not the documents that were fitted: give "
            "those as train=, or fit by a sampler with n_draws="
        )
    return found


def _at_fit(fit: Fit, observed: Observations, workers: LocalExecutor) -> MeanFieldStart:
    """Where the fit stands, as a sampler takes it over; a model with exact zeros has no fixed
    point, and begins at that of the one without."""
    weights = fit.weights("mean", workers.n_threads)
    c = fold_in(fit.model.without_zeros(), observed, weights, workers).c.astype(np.float32)
    ends = (*observed.counts.firsts[1:], observed.counts.n_docs)
    pieces = zip(observed.counts.firsts, ends, strict=True)
    return MeanFieldStart(fit.model, [Local(read_only(c[a:b])) for a, b in pieces], weights)


def _too_narrow(found: float) -> str:
    return (
        f"counts vary {found:.1f} times as much as the model has it: these intervals are too "
        "narrow, and not to be quoted"
    )


def learning_gamma(fit: Fit) -> Model:
    """The model of a fit with a γ that chains learn, begun at what suits its loadings; as it is
    where the loadings have no prior in common."""
    loadings: Any = fit.model.loadings
    if loadings.gamma.ndim or loadings.fixed is not None:
        return fit.model
    n = np.rint(fit.state.n).astype(np.int64)
    return fit.model.with_loadings(suited(loadings, n, fit.features.blocks))


def _warn_of_gamma(fit: Fit) -> None:
    """Draws are of the prior that they were told. One under which few features have any share,
    where many have, makes each of them surer than it is."""
    loadings: Any = fit.model.loadings
    if loadings.learned or learning_gamma(fit) is fit.model:
        return
    told, found = float(loadings.gamma), float(learning_gamma(fit).loadings.gamma)
    if found > FAR * told:
        warn(
            f"these draws are of gamma = {told:g}, and their loadings look like {found:.2g}: "
            "intervals may be too narrow. Fit with gamma='auto', which samplers learn",
            DataWarning,
        )


def suited(
    loadings: DirichletLoadings, n: npt.NDArray[np.int64], blocks: npt.NDArray[np.int32]
) -> DirichletLoadings:
    """The prior with a γ that is learned, at its maximum for these counts n (J, K) or near it."""
    found = replace(loadings, learned=True)
    for _ in range(GAMMA_STEPS):
        before = float(found.gamma)
        found, capped = found.learn(n, blocks)
        if capped or abs(float(found.gamma) - before) < GAMMA_MOVES * before:
            break
    return found


def aligned_chains(fit: Fit, draws: Sequence[Sequence[Draw]]) -> list[Alignment]:
    """Each chain's components matched to those of the fit, by the mean of its loadings."""
    if any(draw.Theta is None for draw in draws[0]):
        raise InvalidParameter(
            "no loadings are among the kept draws: fit with draws_of=('scores', 'loadings')"
        )
    blocks, found = fit.features.blocks, []
    reference = np.asarray(fit.Theta, np.float64)
    for chain in draws:
        mean: Any = sum(np.asarray(draw.Theta, np.float64) for draw in chain) / len(chain)
        found.append(Alignment.from_similarity(similarity(reference, mean, blocks)))
    return found


def _scores(
    fit: Fit,
    observed: Observations,
    draws: Sequence[Sequence[Draw]],
    matched: Sequence[Alignment],
    seed: int,
    workers: LocalExecutor,
) -> npt.NDArray[np.float32]:
    """(chain, draw, document, component) in the order of the fit."""
    is_own = all(draw.scores is not None for draw in draws[0]) and fit.is_of(observed.counts)
    size = min(len(chain) for chain in draws)
    if size < SHORTEST:
        raise InvalidParameter(f"intervals need {SHORTEST} draws of each chain; there are {size}")
    out = np.empty((len(draws), size, observed.counts.n_docs, fit.n_components), np.float32)
    seeds = np.random.SeedSequence([seed, 1]).generate_state(len(draws) * size).reshape(-1, size)
    for c, (chain, match) in enumerate(zip(draws, matched, strict=True)):
        for s, draw in enumerate(chain[:size]):
            if is_own:
                drawn: Any = draw.scores
            else:
                drawn = _given(fit.model, draw, observed, int(seeds[c, s]), workers)
            out[c, s] = drawn[:, match.permutation]
    return out


def _given(
    model: Model, draw: Draw, observed: Observations, seed: int, workers: LocalExecutor
) -> npt.NDArray[np.float32]:
    """One draw of documents' scores given a draw of Θ and of the priors."""
    priors = {p.name: draw.hyper[p.name] for p in model.scores.parameters() if p.name in draw.hyper}
    weights = Weights.of_loadings(np.asarray(draw.Theta))
    how: Any = {"n_draws": 1, "burn_in": _FRESH, "seed": seed, "keep_draws": True}
    drawn = sample_scores(model.with_scores(**priors), observed, weights, workers, **how).draws
    assert drawn is not None
    return np.asarray(drawn[0])


def _labels(groups: Sequence[Hashable], n_docs: int) -> tuple[Names, npt.NDArray[np.int64]]:
    """The names of groups in the order of first appearance, and the group of each document."""
    given = list(groups)
    if len(given) != n_docs:
        raise InvalidParameter(f"groups must have a label per document, {n_docs}; got {len(given)}")
    places = {label: place for place, label in enumerate(dict.fromkeys(given))}
    return tuple(map(str, places)), np.array([places[label] for label in given])


def _group_means(
    traces: npt.NDArray[np.float32], labels: tuple[Names, npt.NDArray[np.int64]]
) -> npt.NDArray[np.float32]:
    """(chain, draw, group, component): the mean over the documents of each group."""
    names, place = labels
    return np.stack(
        [traces[:, :, place == g].mean(axis=2, dtype=np.float64) for g in range(len(names))], axis=2
    ).astype(np.float32)


def _summary(
    traces: npt.NDArray[np.float32], names: Names, kind: str, common: dict[str, Any]
) -> Intervals:
    C, S, n_rows, K = traces.shape
    columns: list[list[FloatArray]] = [[], [], [], [], []]
    tail = (1 - common["level"]) / 2
    size = max(1, _AT_ONCE // (C * S * K))
    for first in range(0, n_rows, size):
        part = traces[:, :, first : first + size]
        pooled = part.reshape(C * S, -1, K).astype(np.float64)
        low, high = np.quantile(pooled, [tail, 1 - tail], axis=0)
        found = (pooled.mean(axis=0), pooled.std(axis=0, ddof=1), low, high, rhat_of_all(part))
        for column, value in zip(columns, found, strict=True):
            column.append(value)
    mean, sd, low, high, rhat = (read_only(np.concatenate(column)) for column in columns)
    return Intervals(
        names, kind, mean, sd, low, high, rhat, n_chains=C, n_draws=S, groups=None, **common
    )
