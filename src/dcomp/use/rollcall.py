"""Blocs behind votes: who votes with whom, what divides them, and who decides (BJ06 VIII)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts, FeatureSpace
from dcomp.errors import InvalidCounts, InvalidFile, InvalidParameter, held_warnings, warn
from dcomp.evaluate.align import align_chains
from dcomp.evaluate.by_label import ByLabel, by_label
from dcomp.evaluate.diagnostics import diagnostics
from dcomp.evaluate.intervals import LEGEND, Intervals, intervals
from dcomp.evaluate.modes import pooled_chains
from dcomp.inference.run import uninterrupted
from dcomp.io.calls import NAY, OUTCOME, YEA, Calls
from dcomp.models.arrays import FloatArray, read_only
from dcomp.printable import padded, shortened
from dcomp.recipe import Recipe
from dcomp.result import Fit, fit
from dcomp.use.agreement import agreement_lines, check_draws, usual_draws
from dcomp.use.binary_pca import binary_pca
from dcomp.use.classification import Classification

SHOWN = 24  # voters on the screen, from both ends and the middle of the line
EMPTY = 0.01  # share of members below which a bloc is nobody's
CLOSEST = 4  # members that are named for a bloc
# Sweeps, where none are said, while single intervals are not settled; and the votes times blocs
# times chains times sweeps up to which they are made: about a minute of two cores.
ROUNDS, MOST_WORK = (600, 1500, 4000), 2e9
_SHADES = " ░▒▓█"
USUAL: Mapping[str, Any] = {
    "model": "DM",
    "algorithm": "collapsed-gibbs",
    "alpha": 0.1,
    "gamma": 0.5,
    "max_iter": 600,
    "n_chains": 4,
    "n_draws": 100,
}


@dataclass(frozen=True)
class Division:
    """A roll call that divides two blocs: how much likelier a yea is in the first, with the
    standard error of that."""

    call: str
    title: str
    effect: float
    error: float
    yea: tuple[float, float]  # of both blocs

    def __str__(self) -> str:
        of = f"{100 * self.yea[0]:.0f} % against {100 * self.yea[1]:.0f} % yea"
        line = f"{self.call}: {of} ({100 * self.effect:+.0f} ± {100 * self.error:.0f})"
        return f"{line} {self.title}" if self.title else line


@dataclass(frozen=True, eq=False)
class RollCall:
    """What votes say of blocs; components of `fit` are the blocs, by number."""

    fit: Fit
    counts: Counts
    intervals: Intervals  # shares of blocs in each voter
    yea: npt.NDArray[np.float32]  # (draw, call, K): draws of the probability of a yea in a bloc
    positions: FloatArray  # (I), by binary PCA
    calls: Calls
    too_few: tuple[int, ...] = ()  # sweeps that were tried before and left intervals unsettled

    @property
    def voters(self) -> tuple[str, ...]:
        """Their names; the outcome of the calls may be one of them."""
        return self.intervals.names

    @property
    def memberships(self) -> FloatArray:
        """Posterior mean share of each bloc, (I, K)."""
        return self.intervals.mean

    @cached_property
    def order(self) -> npt.NDArray[np.intp]:
        """The voters' numbers along the line of binary PCA."""
        return np.argsort(self.positions, kind="stable")

    @cached_property
    def bloc_order(self) -> tuple[int, ...]:
        """The blocs along the same line, by the mean position of their members."""
        weight = self.memberships[self._members]
        place = self.positions[self._members] @ weight / np.maximum(weight.sum(axis=0), 1e-12)
        return tuple(np.argsort(place, kind="stable").tolist())

    @property
    def neighbours(self) -> list[tuple[int, int]]:
        """Pairs of blocs beside each other on the line, without those that are nobody's."""
        real = [k for k in self.bloc_order if self.sizes[k] >= EMPTY]
        return list(pairwise(real))

    @cached_property
    def _members(self) -> npt.NDArray[np.bool_]:
        return np.array([name != OUTCOME for name in self.voters])

    @cached_property
    def sizes(self) -> FloatArray:
        """The share of all members that each bloc has, (K)."""
        return read_only(self.memberships[self._members].mean(axis=0))

    @cached_property
    def bloc_votes(self) -> FloatArray:
        """The probability of a yea in each bloc, (calls, K)."""
        return read_only(self.yea.mean(axis=0, dtype=np.float64))

    @cached_property
    def bloc_errors(self) -> FloatArray:
        """Its standard error, (calls, K)."""
        return read_only(self.yea.std(axis=0, dtype=np.float64))

    @property
    def agreement(self) -> FloatArray:
        """How similar the votes of each bloc are in the pooled chains to those of the best, (K)."""
        return np.asarray(self.intervals.stability.mean(axis=0))

    def dividing(self, first: int, second: int, n: int = 5) -> list[Division]:
        """The calls at which two blocs differ most: by what is sure of their difference, two
        standard errors less than it seems."""
        for bloc in (first, second):
            if not 0 <= bloc < self.fit.n_components:
                raise InvalidParameter(
                    f"a bloc is a number in [0, {self.fit.n_components}); got {bloc!r}"
                )
        p, difference = self.bloc_votes, self.yea[:, :, first] - self.yea[:, :, second]
        effect = difference.mean(axis=0, dtype=np.float64)
        error = difference.std(axis=0, dtype=np.float64)
        sure = np.abs(effect) - 2 * error
        found = []
        for g in np.argsort(-sure, kind="stable")[:n].tolist():
            call = self.counts.features.block_name(g)
            both = (float(p[g, first]), float(p[g, second]))
            title = self.calls.title(call)
            found.append(Division(call, title, float(effect[g]), float(error[g]), both))
        return found

    @property
    def influence(self) -> dict[int, tuple[float, float, float]] | None:
        """The outcome's share of each bloc with its interval, by bloc: how far the outcome of calls
        goes with it. None where the outcome is no voter."""
        if OUTCOME not in self.voters:
            return None
        i = self.voters.index(OUTCOME)
        found = self.intervals
        parts = zip(found.mean[i], found.low[i], found.high[i], strict=True)
        return {k: (float(m), float(a), float(b)) for k, (m, a, b) in enumerate(parts)}

    @property
    def _influence_quotable(self) -> dict[int, bool] | None:
        """Whether chains agree on the interval of each."""
        if OUTCOME not in self.voters:
            return None
        agree = self.intervals.quotable[self.voters.index(OUTCOME)]
        return dict(enumerate(agree.tolist()))

    @cached_property
    def by_party(self) -> ByLabel | None:
        """Mean shares by party, where members have one."""
        if "party" not in self.counts.attributes:
            return None
        here = np.flatnonzero(self._members)
        return by_label(self.memberships[here], self.counts.attributes["party"][here])

    @cached_property
    def classification(self) -> Classification:
        """How many votes of members the blocs tell, beside the majority of each call."""
        votes = _table(self.counts)[self._members]
        cast = np.isfinite(votes)
        told = np.where(cast, self.memberships[self._members] @ self.bloc_votes.T > 0.5, np.nan)
        wrong = np.where(cast, told != votes, False).sum(axis=0)
        yea = np.where(cast, votes, 0).sum(axis=0)
        minority = np.minimum(yea, cast.sum(axis=0) - yea)
        return Classification(int(cast.sum()), int(wrong.sum()), int(minority.sum()))

    def voter_lines(self, n: int | None = SHOWN) -> list[str]:
        """A line per voter in the order of binary PCA: shares in grey, and the largest with its
        interval; n of them from both ends and the middle, or all."""
        lines = [self._line(i) for i in self.order.tolist()]
        if n is None or len(lines) <= n:
            return lines
        end, half = n // 3, (n - 2 * (n // 3)) // 2
        first = max(int(np.searchsorted(np.sort(self.positions), 0.0)) - half, end)
        last = min(first + 2 * half, len(lines) - end)
        return [*lines[:end], "…", *lines[first:last], "…", *lines[len(lines) - end :]]

    def _line(self, i: int) -> str:
        found = self.intervals
        m = found.mean[i]
        grey = "".join(_SHADES[min(int(5 * m[k]), 4)] for k in self.bloc_order)
        k = int(np.argmax(m))
        return f"{padded(self.voters[i], 26)} |{grey}|  #{k} {m[k]:.2f} {found.ends(i, k)}"

    def plot(self, axes: Any = None) -> Any:
        """The memberships in grey, voters and blocs in the order of binary PCA, on matplotlib axes
        (`dcomp[plot]`)."""
        from dcomp.plot import bloc_grid

        return bloc_grid(self, across=False, ax=axes)

    def as_record(self, n: int = 5) -> dict[str, Any]:
        """For programs: plain numbers, text and lists."""
        found, judged = self.intervals, self.classification
        voters = [
            {
                "name": self.voters[i],
                "position": float(self.positions[i]),
                "shares": found.mean[i].tolist(),
                "low": found.low[i].tolist(),
                "high": found.high[i].tolist(),
                "quotable": found.quotable[i].tolist(),
            }
            for i in self.order.tolist()
        ]
        return {
            "blocs": [
                {"bloc": k, "size": float(self.sizes[k]), "closest": self._closest(k)}
                for k in self.bloc_order
            ],
            "voters": voters,
            "dividing": [
                {"blocs": pair, **vars(division)}
                for pair in self.neighbours
                for division in self.dividing(*pair, n=n)
            ],
            "influence": self.influence,
            "influence_quotable": self._influence_quotable,
            "classification": {
                "votes": judged.n_votes,
                "rate": judged.rate,
                "majority": judged.majority,
                "apre": judged.apre,
            },
            "verdict": diagnostics(self.fit).verdict,
            "settled": found.settled,
            "sweeps": self.fit.n_sweeps,
        }

    def _closest(self, k: int) -> list[str]:
        m = np.where(self._members, self.memberships[:, k], -1)
        best = np.argsort(-m, kind="stable")[:CLOSEST].tolist()
        return [self.voters[i] for i in best if m[i] > 0.5]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, voters: int | None = SHOWN, n: int = 3) -> list[str]:
        """All that is to say, in lines of at most 80 columns."""
        found = self.intervals
        n_calls, members = self.counts.features.n_blocks, int(self._members.sum())
        out = [
            f"{self.fit.n_components} blocs behind {self.classification.n_votes:,} votes of "
            f"{members:,} members at {n_calls:,} roll calls",
            "",
            "bloc   size  alike  closest members",
        ]
        for k in self.bloc_order:
            who = ", ".join(self._closest(k)) or "nobody is mostly of this bloc"
            who = who if self.sizes[k] >= EMPTY else "nobody: fewer blocs are enough"
            alike = f"{self.agreement[k]:>5.2f}"
            out.append(f"  #{k:<3}{100 * self.sizes[k]:>3.0f} %  {alike}  {shortened(who, 59)}")
        out.append("(alike: the bloc's votes in the pooled chains and in the best; 1 is the same)")
        if self.by_party is not None:
            out += ["", "mean shares by party", str(self.by_party)]
        out += ["", *self.classification.lines(), *self._influence_lines()]
        out += ["", "votes that divide neighbouring blocs"]
        for pair in self.neighbours:
            out.append(f"  #{pair[0]} and #{pair[1]}")
            out += [f"    {shortened(line, 76)}" for line in self.dividing(*pair, n=n)]
        names = " ".join(f"#{k}" for k in self.bloc_order)
        out += [
            "",
            f"voters in the order of binary PCA; shares of {shortened(names, 24)} in grey,",
            f"the largest with its {100 * found.level:g} % interval",
            *self.voter_lines(voters),
            *([] if found.quotable.all() else [LEGEND]),
            "",
            *agreement_lines(self.fit, found),
            *self._sweep_lines(),
        ]
        return out

    def _sweep_lines(self) -> list[str]:
        """How many sweeps it took."""
        if not self.too_few:
            return []
        tried = " and ".join(f"{sweeps:,}" for sweeps in self.too_few)
        return [f"{self.fit.n_sweeps:,} sweeps of each chain: {tried} left intervals unsettled"]

    def _influence_lines(self) -> list[str]:
        if self.influence is None:
            return []
        i = self.voters.index(OUTCOME)
        best = sorted(self.influence, key=lambda k: -self.memberships[i, k])[:2]
        parts = [f"#{k} {self.memberships[i, k]:.2f} {self.intervals.ends(i, k)}" for k in best]
        return [f"the outcome goes with {', then '.join(parts)}"]


def rollcall(
    votes: Any,
    n_components: int = 4,
    *,
    calls: Calls | Mapping[str, str] | None = None,
    level: float = 0.9,
    n_jobs: int | None = None,
    **options: Any,
) -> RollCall:
    """Blocs of voters: memberships with intervals, the votes that divide blocs, their influence on
    the outcome, and how many votes they tell.

    votes: counts with a block of yea and nay per roll call (`dcomp.read` of Voteview's files, or
    with `format="votes"`), or a path to such a file, read with the outcome as a voter. calls: what
    roll calls were about, by name. level: of the intervals (`evaluate.intervals`).

    The model is DM with α = 0.1 and Jeffreys' prior, sampled (BJ06 VIII.A): four chains, of which
    the draws of those that lie with the best count, with blocs in the order of that one. `options`
    are those of `dcomp.DCA` with a sampler: `max_iter`, `burn_in` (half of it), `n_chains=4`,
    `n_draws=100`, `random_state=0`. Without `max_iter` there are 600 sweeps, and while chains do
    not agree on all intervals 1,500, then 4,000, of tables that take about a minute at most; the
    answer is that of `max_iter` as many.

    >>> import dcomp
    >>> table = dcomp.datasets.votes(30, 60, seed=1)
    >>> found = rollcall(table.counts, 2, max_iter=100, n_draws=40)
    >>> found.classification.apre > 0.5
    True
    >>> found.memberships.shape, found.bloc_votes.shape
    ((30, 2), (60, 2))
    """
    counts = votes
    if isinstance(votes, str | Path):
        counts, calls = read_votes_with_calls(Path(votes))
    if not isinstance(counts, Counts):
        raise InvalidParameter(
            f"rollcall takes Counts or a path of votes (dcomp.read); got {type(votes).__name__}"
        )
    _check(counts)
    known = calls if isinstance(calls, Calls) else _titled(calls or {})
    check_draws(options, USUAL)
    said = {**USUAL, "n_draws": usual_draws(options, USUAL), **options}

    def sampled(sweeps: int) -> RollCall:
        told = Recipe.from_options(
            **{**said, "max_iter": sweeps}, n_components=n_components
        ).resolve(counts)
        how: Any = {"n_jobs": n_jobs, "warn": False, **vars(told.settings)}  # agreement is shown
        fitted = uninterrupted(fit(counts, told.model, told.algorithm, **how))
        return blocs_of(fitted, counts, known, level=level, n_jobs=n_jobs)

    if options.get("max_iter") is not None:
        return sampled(options["max_iter"])
    return _settled(sampled, counts.n_tokens * n_components * int(said["n_chains"] or 1))


def _settled(sampled: Callable[[int], RollCall], work: float) -> RollCall:
    """With the fewest sweeps that settle all intervals; work: of one sweep of all chains."""
    rounds = [sweeps for sweeps in ROUNDS if sweeps == ROUNDS[0] or work * sweeps <= MOST_WORK]
    too_few: list[int] = []
    while True:
        with held_warnings() as held:
            found = sampled(rounds[len(too_few)])
        if found.intervals.quotable.all() or len(too_few) + 1 == len(rounds):
            break
        too_few.append(rounds[len(too_few)])
    for warning in held:  # of the answer, and not of what was tried before
        warn(str(warning), type(warning))
    return replace(found, too_few=tuple(too_few))


def blocs_of(
    fitted: Fit, counts: Counts, calls: Calls, *, level: float = 0.9, n_jobs: int | None = None
) -> RollCall:
    """What a fit by a sampler says of blocs: it has kept draws of these votes."""
    found = intervals(fitted, counts, level=level, shares=True, seed=fitted.seed, n_jobs=n_jobs)
    return RollCall(fitted, counts, found, _yeas(fitted), positions_of(counts), calls)


def are_votes(features: FeatureSpace) -> bool:
    """Whether every block is a roll call, yea and nay.

    >>> are_votes(FeatureSpace.build(4, ["yea", "nay"] * 2, ["RC1", "RC1", "RC2", "RC2"]))
    True
    """
    return features.n_blocks > 1 and features.names == (YEA, NAY) * features.n_blocks


def positions_of(counts: Counts) -> FloatArray:
    """Voters on the line of binary PCA, (I); left and right as NOMINATE has them where known."""
    return read_only(_turned(binary_pca(_table(counts)), counts))


def _yeas(fitted: Fit) -> npt.NDArray[np.float32]:
    """Draws of p(yea), (draw, call, K), of the chains that are pooled, blocs in the order of the
    fit."""
    drawn = fitted.draws.Theta
    if drawn is None:
        raise InvalidParameter("rollcall needs draws of loadings: leave out draws_of=")
    yea = drawn[:, :, 0::2]
    if len(drawn) > 1:
        yea = align_chains(fitted).apply(yea)[list(pooled_chains(fitted))]
    return np.ascontiguousarray(yea.reshape(-1, *yea.shape[2:]))


def read_votes_with_calls(path: Path, **options: Any) -> tuple[Counts, Calls]:
    """The votes of a file with the outcome as a voter, and what lies beside it says of calls."""
    from dcomp.io import read
    from dcomp.io.read import guess_format

    name = options.pop("format", None) or _format_of(path, guess_format)
    counts = read(path, format=name, **{"outcome": True, **options})
    if name == "voteview":
        from dcomp.io.voteview import calls_beside

        return counts, calls_beside(path, options.get("limits"))
    from dcomp.io import votes

    return counts, votes.calls_beside(path, options.get("limits"), options.get("delimiter"))


def _format_of(path: Path, guess: Any) -> str:
    """Voteview's or, of another table, plain votes."""
    if not path.exists():
        return "votes"  # whose reader says what is not there
    name = str(guess(path))
    if name not in ("table", "voteview"):
        raise InvalidFile(
            f"{path}: blocs are found in votes, Voteview's files or a table of votes; this is "
            f"read as {name}"
        )
    return "votes" if name == "table" else name


def _titled(titles: Mapping[str, str]) -> Calls:
    return Calls({call: {"title": title} for call, title in titles.items()})


def _check(counts: Counts) -> None:
    if not are_votes(counts.features):
        raise InvalidCounts(
            "rollcall needs a block of two features, yea and nay, per roll call, as dcomp.read "
            f"makes of votes; found {counts.features!r}"
        )


def _table(counts: Counts) -> FloatArray:
    """1 yea, 0 nay, NaN none, (I, G)."""
    dense = counts.to_scipy().toarray()
    cast = dense[:, 0::2] + dense[:, 1::2]
    return np.where(cast > 0, dense[:, 0::2] / np.maximum(cast, 1), np.nan)


def _turned(positions: FloatArray, counts: Counts) -> FloatArray:
    """Left and right as NOMINATE has them, where it is known."""
    about = counts.attributes
    if "nominate_dim1" not in about:
        return positions
    known = np.isfinite(np.asarray(about["nominate_dim1"], np.float64))
    theirs = np.asarray(about["nominate_dim1"], np.float64)[known]
    return -positions if np.sum(theirs * positions[known]) < 0 else positions
