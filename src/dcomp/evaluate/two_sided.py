"""The evidence between two fences: runs between a fitted reference and the posterior, both ways.

`dcomp.reference.two_sided` says what and why. Θ* and l* are posterior means of the best of several
annealed chains. Each run goes forward from the reference, settles in the posterior, and goes back:
its way there bounds log p(w) from below in expectation, its way back from above.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, linear_sum_assignment
from scipy.special import expit, gammaln, logsumexp, stdtrit

from dcomp import _core
from dcomp.evaluate.labels import LabelSum, labels_of
from dcomp.executors import Executor
from dcomp.inference import CollapsedGibbs
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray
from dcomp.models.base import moment_scores
from dcomp.reference.gibbs import Tokens
from dcomp.result import Fit

LEVEL = 0.95  # of the stated interval
FEWEST, SWEEPS = 100, 400  # of a run, one way: where they take time, a pilot run says
PILOT = 50  # its own
ROUGH_RUNS = 2  # as short as a pilot, to tell modes from each other
CLOSE = 1.0  # nats: ways so near each other are near enough
RUNS, MORE_RUNS = 2, 16  # of a large corpus and of a small one,
QUICK = 4e7  # where the sweeps of all runs have so many tokens
POWER = 1.5  # of 1 − t: most dissipation is near the posterior
SETTLE = 100  # sweeps in the posterior before the way back, at least
BATCHES = 12  # whose means show whether a run has settled
NEAREST = 0.01  # nats: runs that agree do not rule out what none of them met
LABELS = 0.1  # β: how much of the reference decides between labels
_LEAST = 1e-12  # of a reference's number over the largest of its row: no log of 0
_PIECE = 1 << 16  # entries at a time
_MANY = 6  # runs whose spread can be told
_PILOT_RUN = 1 << 20  # a number that no other run has

Tokens16 = npt.NDArray[np.uint16]

# Of the fit that the reference is taken from: sweeps, those before recording, and annealed ones.
# A chain that has only just found its mode would blur the means.
FIT_SWEEPS = 320
REFERENCE = CollapsedGibbs(burn_in=240, anneal=120)


@dataclass(frozen=True, eq=False)
class Path:
    """What all runs share."""

    model: Model
    observed: Observations
    log_scores: FloatArray  # log l*, (I, K)
    log_Theta: FloatArray  # log Θ*, (J, K)
    seed: int

    @classmethod
    def from_fit(cls, fitted: Fit, observed: Observations, seed: int) -> Path:
        """From the posterior means of a fit of the same counts, with the labels for which the prior
        of the scores has the most to say: a chain hardly ever changes them."""
        log_Theta = np.ascontiguousarray(_safe_log(fitted.Theta.T).T)
        path = cls(fitted.model, observed, _safe_log(fitted.scores), log_Theta, seed)
        if labels_of(path.model.scores).keeps_prior:
            return path
        P = path.under_prior(path.expected_counts())
        _, label = linear_sum_assignment(P, maximize=True)
        order = np.argsort(label)
        return replace(
            path,
            log_scores=np.ascontiguousarray(path.log_scores[:, order]),
            log_Theta=np.ascontiguousarray(path.log_Theta[:, order]),
        )

    def expected_counts(self) -> FloatArray:
        """c (I, K) under the reference."""
        W = self.observed.counts
        document = np.repeat(np.arange(W.n_docs), np.diff(W.indptr))
        c = np.zeros(self.log_scores.shape)
        for first in range(0, len(document), _PIECE):
            at = slice(first, first + _PIECE)
            logs = self.log_scores[document[at]] + self.log_Theta[W.indices[at]]
            p = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
            np.add.at(c, document[at], W.data[at, None] * p)
        return c

    @property
    def log_reference(self) -> float:
        """log Σ_z f_0(z), and what p(w) has beside Σ_z f_1(z)."""
        W = self.observed.counts
        document = np.repeat(np.arange(W.n_docs), np.diff(W.indptr))
        value = float(self.model.log_constant(self.observed, combinatoric=False).sum())
        for first in range(0, len(document), _PIECE):
            at = slice(first, first + _PIECE)
            logs = self.log_scores[document[at]] + self.log_Theta[W.indices[at]]
            value += float(W.data[at] @ logsumexp(logs, axis=1))
        return value

    def sweeps(
        self, z: Tokens16, temperatures: FloatArray, run: int, *, backward: bool = False
    ) -> FloatArray:
        """log f_1 − log f_0 after a sweep at each temperature; z is changed."""
        counts = self.observed.counts
        out = np.empty((2, len(temperatures)))
        _core.two_sided_sweeps(
            self.observed.corpus,
            counts.features.blocks,
            counts.features.n_blocks,
            self.model.loadings.per_feature(counts.n_features),
            moment_scores(self.model).native(self.observed.native_exposure),
            self.log_scores,
            self.log_Theta,
            np.ascontiguousarray(temperatures),
            backward,
            self.seed,
            run,
            0,
            z,
            out,
        )
        return np.asarray(out.sum(axis=0))

    def tables(self, z: Tokens16) -> tuple[FloatArray, FloatArray]:
        """c (I, K) and n (J, K)."""
        counts, K = self.observed.counts, self.model.n_components
        tokens = Tokens.from_counts(counts)
        shapes = ((tokens.document, counts.n_docs), (tokens.feature, counts.n_features))
        c, n = (
            np.bincount(row * np.int64(K) + z, minlength=size * K).reshape(size, K).astype(float)
            for row, size in shapes
        )
        return c, n

    def log_ratio(self, c: FloatArray, n: FloatArray) -> float:
        """log f_1(z) − log f_0(z)."""
        counts = self.observed.counts
        gamma, blocks = self.model.loadings.per_feature(len(n)), counts.features.blocks
        G, K = counts.features.n_blocks, n.shape[1]
        total, N = np.bincount(blocks, weights=gamma, minlength=G), np.zeros((G, K))
        np.add.at(N, blocks, n)
        words = (gammaln(gamma[:, None] + n) - gammaln(gamma)[:, None]).sum()
        words += (gammaln(total)[:, None] - gammaln(total[:, None] + N)).sum()
        scores = moment_scores(self.model).log_moment(c, self.observed.total_exposure).sum()
        reference = (c * self.log_scores).sum() + (n * self.log_Theta).sum()
        return float(words + scores - reference)

    def under_reference(self, c: FloatArray, n: FloatArray) -> FloatArray:
        """log q of the tokens of component k under the label l, (K, K)."""
        return np.asarray(c.T @ self.log_scores + n.T @ self.log_Theta)

    def under_prior(self, c: FloatArray) -> FloatArray:
        """log of what p(z) has of component k, were its label l, (K, K): a product of predictive
        ratios, which start at g(0) for all labels."""
        scores: Any = self.model.scores
        weights = scores.token_weights(self.observed.total_exposure)
        K = c.shape[1]
        log_rate = np.broadcast_to(np.log(weights.rate), c.shape)
        out = -(c.T @ log_rate)
        if weights.log_present is not None:
            out += (c > 0).T.astype(float) @ np.broadcast_to(weights.log_present, c.shape)
        for label in range(K):
            a = weights.a[0, label]
            out[:, label] += (gammaln(a + c) - gammaln(a)).sum(axis=0)
        return np.asarray(out)

    def under_labels(self, z: Tokens16) -> tuple[FloatArray, FloatArray]:
        """Logs of q^β and of p(z), for the tokens of component k under the label l, (K, K) each."""
        c, n = self.tables(z)
        A = LABELS * self.under_reference(c, n)
        keeps = labels_of(self.model.scores).keeps_prior
        return A, np.zeros_like(A) if keeps else self.under_prior(c)

    def log_labels(self, z: Tokens16, rng: np.random.Generator) -> LabelSum:
        """The log of the factor that labels bring: q^β(z) Σ g(σz) / Σ q^β(σz) g(σz)."""
        labels, (A, P) = labels_of(self.model.scores), self.under_labels(z)
        both, prior, own = labels.sum(A + P, rng), labels.sum(P, rng), float(np.trace(A))
        return LabelSum(own + prior.low - both.high, own + prior.high - both.low)

    def relabelled(self, z: Tokens16, rng: np.random.Generator) -> Tokens16:
        """σz with probability ∝ q^β(σz) g(σz)."""
        A, P = self.under_labels(z)
        sigma = labels_of(self.model.scores).draw(A + P, rng)
        return np.ascontiguousarray(sigma.astype(np.uint16)[z])


def _safe_log(rows: Any) -> FloatArray:
    """Logs of rows of positive numbers, each at least a little of the largest."""
    rows = np.asarray(rows, dtype=np.float64)
    top = np.maximum(rows.max(axis=1, keepdims=True), 1e-300)
    return np.ascontiguousarray(np.log(np.maximum(rows / top, _LEAST)) + np.log(top).clip(-300))


@dataclass(frozen=True)
class OneRun:
    """Both ways of a run: estimates of log p(w) but for the reference, and how it settled."""

    forward: float
    backward: float
    trend: float  # how far log f_1 − log f_0 moved over the last two thirds of the settling,
    trend_error: float  # and its standard error


@dataclass(frozen=True)
class Plan:
    """What every run is told."""

    path: Path
    n_sweeps: int
    n_settle: int

    @classmethod
    def usual(cls, path: Path, n_sweeps: int) -> Plan:
        """Half as long in the posterior as on the way there."""
        return cls(path, n_sweeps, max(SETTLE, n_sweeps // 2))


def temperatures(n_sweeps: int) -> FloatArray:
    """From 0 to 1, closer and closer.

    >>> temperatures(4).round(2).tolist()
    [0.0, 0.35, 0.65, 0.88, 1.0]
    """
    return np.asarray(1 - (1 - np.arange(n_sweeps + 1) / n_sweeps) ** POWER)


def one_run(run: int, local: None, plan: Plan, n_threads: int) -> tuple[OneRun, None]:
    """There and back, with a stay in the posterior between."""
    path, t = plan.path, temperatures(plan.n_sweeps)
    steps = np.diff(t)
    z = np.zeros(int(path.observed.counts.n_tokens), dtype=np.uint16)
    rng = np.random.default_rng((path.seed, 11, run))
    # Tokens are independent at t = 0: the first sweep is a draw of the reference.
    forward = float(path.sweeps(z, t[:-1], 3 * run) @ steps) + path.log_labels(z, rng).low
    settling = path.sweeps(z, np.ones(plan.n_settle), 3 * run + 1)
    z = path.relabelled(z, rng)
    labels, first = path.log_labels(z, rng).high, path.log_ratio(*path.tables(z))
    # The ratio at the draw itself comes before any sweep back.
    ratios = np.r_[first, path.sweeps(z, t[-2:0:-1], 3 * run + 2, backward=True)]
    backward = float(ratios @ steps[::-1]) + labels
    return OneRun(forward, backward, *trend(settling[len(settling) // 3 :])), None


def trend(trace: FloatArray) -> tuple[float, float]:
    """How far a trace moved from its first batch to its last, by a straight line through the means
    of batches, with the standard error.

    >>> moved, error = trend(np.arange(120.0))
    >>> round(moved, 6), round(error, 6)
    (110.0, 0.0)
    """
    means = np.array([batch.mean() for batch in np.array_split(trace, min(BATCHES, len(trace)))])
    x = np.arange(len(means)) - (len(means) - 1) / 2
    square = max(float(x @ x), 1e-300)
    slope = float(x @ means) / square
    rest = means - means.mean() - slope * x
    error = float(np.sqrt(rest @ rest / max(len(means) - 2, 1) / square))
    return slope * (len(means) - 1), error * (len(means) - 1)


def sweeps_needed(path: Path) -> int:
    """So many that the ways will be close to each other, as a short run of its own has it: their
    distance falls with the number of sweeps. Of a small corpus all, for they are quick."""
    if usual_runs(path.observed.counts.n_tokens, SWEEPS) == MORE_RUNS:
        return SWEEPS
    pilot, _ = one_run(_PILOT_RUN, None, Plan(path, PILOT, PILOT // 2), 1)
    wanted = PILOT * (pilot.backward - pilot.forward) / CLOSE
    return int(np.clip(np.ceil(wanted), FEWEST, SWEEPS))


def rough(path: Path, executor: Executor) -> float:
    """About where log p(w) is: the middle of both ways of short runs, whose errors are alike. Of
    10,000 words in 25 components it was within some ten nats, where the log joint of a chain's
    words and assignments moved by a hundred from sweep to sweep, and the mean of its last tenth
    chose between modes by chance."""
    workers = executor.side_by_side()
    plan, numbers = (
        Plan(path, PILOT, PILOT // 2),
        range(_PILOT_RUN + 1, _PILOT_RUN + 1 + ROUGH_RUNS),
    )
    left, _ = workers.map_reduce(one_run, numbers, [None] * ROUGH_RUNS, plan)
    middles = [(one.forward + one.backward) / 2 for one in workers.gather(left)]
    return float(np.mean(middles)) + path.log_reference


def usual_runs(n_tokens: int, n_sweeps: int) -> int:
    """As many as are quick.

    >>> usual_runs(1_000, 300), usual_runs(20_000, 300), usual_runs(1_000_000, 300)
    (16, 6, 2)
    """
    return int(min(max(QUICK / (n_tokens * n_sweeps), RUNS), MORE_RUNS))


def runs(path: Path, n_runs: int, n_sweeps: int, executor: Executor) -> list[OneRun]:
    """Independent runs, each on one thread: they are the parts of this work."""
    workers = executor.side_by_side()
    plan = Plan.usual(path, n_sweeps)
    left, _ = workers.map_reduce(one_run, range(n_runs), [None] * n_runs, plan)
    return list(workers.gather(left))


def lower_fence(logs: FloatArray, level: float = LEVEL) -> float:
    """A number that log E[exp(logs)] is above with probability (1 + level)/2 or more.

    The better of two: their mean less Student's quantile of its error, because E[logs] lies below;
    and the log of their mean less log(1/p), because by Markov's inequality it is so far above with
    a probability below p. Each has half of the probability to fail.

    >>> lower_fence(np.zeros(4)), round(lower_fence(np.zeros(1)), 2)
    (-0.01, -4.38)
    """
    n, p = len(logs), (1 - level) / 4
    by_markov = float(logsumexp(logs) - np.log(n) + np.log(p))
    if n < 2:
        return by_markov
    error = float(logs.std(ddof=1) / np.sqrt(n))
    return max(by_markov, float(logs.mean()) - max(-float(stdtrit(n - 1, p)) * error, NEAREST))


def between(forward: FloatArray, backward: FloatArray) -> float:
    """Bennett's acceptance ratio: of all estimates from both ways that of least variance; the
    middle of the two log means where the ways do not meet.

    >>> between(np.array([1.0, 3.0]), np.array([5.0, 5.0])) < 5
    True
    """

    def excess(value: float) -> float:
        return float(expit(forward - value).sum() - expit(value - backward).sum())

    every = np.concatenate([forward, backward])
    low, high = float(every.min()), float(every.max())
    if high - low < 1e-9:
        return (low + high) / 2
    if high - low > 60:  # all but nothing is left of the smaller terms
        above = -float(logsumexp(-backward) - np.log(len(backward)))
        return (float(logsumexp(forward) - np.log(len(forward))) + above) / 2
    return float(brentq(excess, low - 1, high + 1, xtol=1e-9))


def doubts(trends: FloatArray, errors: FloatArray, lower: float, upper: float) -> Iterator[str]:
    """What speaks against the fences, if anything. The runs tell the error of their trends, where
    they are many; few have only what each says of its own."""
    n, moved = len(trends), float(trends.mean())
    spread = float(trends.std(ddof=1)) if n >= _MANY else float(np.sqrt((errors**2).mean()))
    error = spread / np.sqrt(n)
    if abs(moved) > max(4 * error, 1.0):
        yield (
            f"the chains have not settled in the posterior (what they weigh still moved by "
            f"{moved:.1f} nats): the upper fence may be too low; raise n_sweeps or n_starts"
        )
    if lower > upper:
        yield (
            f"the fences are in the wrong order, {lower - upper:.1f} nats apart: the chains have "
            "not found the mode that holds most of the posterior; raise n_starts or n_sweeps"
        )
