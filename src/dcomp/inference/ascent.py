"""From sweeps to an answer: fixed points are climbed faster, and told apart from where they only
look like one (MODELS §14).

A climb has stages, all of them kept in the state, so that it can stop and go on anywhere:

climb     sweeps by SQUAREM (Varadhan and Roland 2008): of three points a sweep apart, x0, x1, x2,
          the next is x0 + 2a (x1 − x0) + a² (x2 − 2 x1 + x0), a = ‖x1 − x0‖ / ‖x2 − 2 x1 + x0‖,
          x being c and n together. A step that lowers the objective is taken back.
measure   once the gains of the last sweeps promise little: plain sweeps, whose gains tell the
          same more finely.
refold    documents settle, loadings given, from where they are and as new ones do (`rest`), and
          keep the better end: on the way, because what it gains is much, and at the end.
push      a copy of the state, n moved a little at random: if it climbs past where the state rests,
          that was a saddle, and the climb goes on from the copy.
done      at rest: every document is where `transform` has it, and the last row of the history is
          the objective of just these scores and loadings.

The state is always where a sweep has arrived; where the next one begins, if that is elsewhere, is
carried beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import _core
from dcomp.executors import Executor
from dcomp.inference.base import Algorithm, FloatingArray, Info
from dcomp.inference.mean_field import Allocation, Weights
from dcomp.inference.path import CLIMB, DONE, LOWEST, MEASURE, PUSH, REFOLD, UNKNOWN, Path
from dcomp.inference.rest import AT_REST, rested, settled
from dcomp.inference.state import Local, State
from dcomp.inference.stopping import WINDOW, Rule, noise_of, to_come
from dcomp.models import Observations
from dcomp.models.arrays import FloatArray, read_only

MOST_LIMIT, GROWTH = 1e4, 4.0  # of the factor a, and what a full step makes of its limit
KEPT = 0.1  # a share of x2 that an extrapolation leaves at least, so that no zero is made
STANDS = 10  # sweeps without a gain, after which it is measured
LOOKED_AT = 15  # sweeps whose gain is compared with that of as many before
SKIPPED = 3  # plain sweeps that are not measured, because they settle the last step
EARLY = (50.0, 8.0)  # times tol: what the last sweeps gained, when documents are refolded
REFOLDS, PUSHES = 3, 1  # at most: on text a refold always finds some documents to move
SURELY = 1e-3  # nats that a document must gain to be moved: less is what it had left to settle
ON_THE_WAY = (50, 1e-4)  # as AT_REST, where the loadings will move again
PUSH_SIZE = 0.2  # how far a copy is moved
PUSHED, SUSPECT = 12, 40  # its sweeps; the same where two components are alike
MOST_COMPARED = 8192  # components, of which all pairs are looked at
ALIKE = 0.998  # the affinity of these, Σ √(θ θ'): 1 where they are the same
EMPTY = 0.01  # a share of a component's usual words that is as good as none
_NOISE = {4: 1e-7, 8: 1e-14}  # what rounding may change of an objective, by the size of numbers
MOST_NOISE = 30.0  # times that
_PURPOSE = 9  # of random numbers: inference/start.py has others


@dataclass(frozen=True)
class Ascent:
    """The way up of an algorithm whose own sweeps are plain."""

    algorithm: Algorithm
    rule: Rule

    def is_done(self, state: State) -> bool:
        """At rest, or as near as rounding lets see."""
        return path_of(state).stage == DONE

    def taken_up(self, state: State) -> State:
        """A state at rest goes on climbing: it may be asked for more than it was at rest for."""
        path = path_of(state)
        if path.stage != DONE:
            return state
        return _with(
            state,
            path.anew(stage=CLIMB, refolds=0, pushes=0, noise=0, gain=UNKNOWN, shares=UNKNOWN),
        )

    def step(self, observed: Observations, state: State, executor: Executor) -> tuple[State, Info]:
        """One sweep, and what follows from it."""
        climb = _Climb(self.algorithm, self.rule, observed, executor)
        path = path_of(state)
        if state.sweep < self.algorithm.min_sweeps:
            after, info = self.algorithm.step(observed, state, executor)
            return _with(after, path.anew(objective=info.objective)), info
        if path.stage == REFOLD:
            state = climb.refolded(state, path)
            path = path_of(state)
        if path.stage == DONE:
            state, info = climb.at_rest(state, path)
            path = path_of(state)
            if path.stage == DONE:
                return replace(state, shared=replace(state.shared, sweep=info.sweep)), info
        if path.stage == PUSH:
            return climb.push(state, path)
        if path.stage == MEASURE:
            return climb.measure(state, path)
        return climb.climb(state, path)


@dataclass(frozen=True)
class _Climb:
    """One step of an ascent."""

    algorithm: Algorithm
    rule: Rule
    observed: Observations
    executor: Executor

    def _all(self, task: Any, state: State, shared: Any = None) -> tuple[State, Any]:
        """The state with a task done to every part, and the sum of what it tells."""
        after, stats = self.executor.map_reduce(task, self.observed.parts, state.locals, shared)
        return replace(state, locals=after), stats

    def _sweep(self, state: State, elsewhere: FloatingArray | None) -> tuple[State, State, Info]:
        """A sweep from the state, or from what is carried: before, after, and its row."""
        held, _ = self._all(_hold, state, elsewhere is not None)
        if elsewhere is not None:
            held = replace(held, shared=replace(held.shared, n=elsewhere))
        after, info = self.algorithm.step(self.observed, held, self.executor)
        return held, after, info

    def _noise(self, objective: float) -> float:
        """What rounding may change of an objective, which sums up over words and may be near 0."""
        size = max(abs(objective), int(self.observed.doc_totals.sum()))
        return _NOISE[self.algorithm.precision.itemsize] * size

    @property
    def _enough(self) -> float:
        """tol in nats of the whole corpus."""
        return self.rule.tol * self.observed.counts.n_docs

    def climb(self, state: State, path: Path) -> tuple[State, Info]:
        """A sweep of a step of SQUAREM."""
        before, after, info = self._sweep(state, path.n if path.phase == 2 else None)
        if path.phase == 2 and info.objective < path.objective - self._noise(path.objective):
            return self._taken_back(state, after, path, info)
        path = path.swept_to(info.objective)
        stage = self._after_climb(path)
        if stage != CLIMB:
            after, _ = self._all(_let_go, after)
            coarse = self._to_come(path) if stage == MEASURE else 0.0
            return _with(after, path.anew(stage=stage, coarse=coarse)), info
        if path.phase == 1:
            return self._extrapolated(before, after, path), info
        after, _ = self._all(_keep_start, after)
        return _with(after, replace(path, n=before.n, phase=1)), info

    def _taken_back(self, state: State, after: State, path: Path, info: Info) -> tuple[State, Info]:
        """That was too far: back to x2, with this sweep for nothing."""
        back, _ = self._all(_give_up, after)
        shared = replace(state.shared, sweep=after.sweep)
        limit = max(path.factor / GROWTH, 1.0)
        path = replace(path.swept_to(path.objective), n=None, phase=0, limit=limit)
        row = replace(info, objective=path.objective, capped=())
        return _with(replace(back, shared=shared), path), row

    def _after_climb(self, path: Path) -> int:
        """Whether to go on, to refold documents on the way, or to measure. Never with tol = 0."""
        if self.rule.tol == 0:
            return CLIMB
        if self._to_come(path) < self._enough:
            return MEASURE
        early = EARLY[path.refolds] if path.refolds < len(EARLY) else 0.0
        is_early = self._may_move and path.gained(LOOKED_AT) < early * self._enough
        return REFOLD if is_early else CLIMB

    def _to_come(self, path: Path) -> float:
        """By the gains of the climb itself. Documents that may move to another optimum keep it from
        being known closely: there less care is enough."""
        least = 2.0 if self._may_move else 6.0
        stands = path.gained(STANDS) <= self._noise(path.objective)
        return max(path.gained(STANDS), 0.0) if stands else path.to_come(LOOKED_AT, least)

    @property
    def _may_move(self) -> bool:
        """Whether a document may have several fixed points."""
        return self.algorithm.mode == "expect"

    def _extrapolated(self, before: State, after: State, path: Path) -> State:
        """At x2, with the next x0 carried."""
        assert path.n is not None
        _, of_documents = self._all(_squares, after)
        points = (path.n, before.n, after.n)
        first, second = of_documents + squares(points, self.executor.n_threads)
        factor = float(np.sqrt(first / max(second, 1e-300)))
        limit = min(path.limit * GROWTH, MOST_LIMIT) if factor > path.limit else path.limit
        factor = min(factor, path.limit)
        if factor <= 1:
            after, _ = self._all(_let_go, after)
            return _with(after, replace(path, n=None, phase=0, limit=max(limit, GROWTH)))
        ahead, _ = self._all(_extrapolate, after, factor)
        n = extrapolated(points, factor, self.executor.n_threads)
        return _with(ahead, replace(path, n=n, phase=2, limit=limit, factor=factor))

    def measure(self, state: State, path: Path) -> tuple[State, Info]:
        """A plain sweep, in which documents come to rest: what hangs on single documents would not
        be seen otherwise. After the last of them what is still to come."""
        algorithm: Any = self.algorithm
        after, info = algorithm.settling().step(self.observed, state, self.executor)
        gain = info.objective - path.objective
        gains = np.append([] if path.gains is None else path.gains, gain)[-WINDOW:]
        path = replace(path, objective=info.objective, swept=path.swept + 1, gains=gains)
        if path.swept < SKIPPED + WINDOW:
            return _with(after, path), info
        # More than rounding can be is no noise: a document that moved to another optimum.
        noise = min(noise_of(gains), MOST_NOISE * self._noise(info.objective))
        hidden = float(np.mean(gains)) < 2 * noise / np.sqrt(WINDOW)
        left = noise * WINDOW if hidden else to_come(np.maximum(gains, noise / 10))
        left = max(left, path.coarse)
        path = replace(path, gain=left / self.observed.counts.n_docs)
        if hidden or path.gain < self.rule.tol:
            noisy = int(hidden and not path.gain < self.rule.tol)
            return _with(after, path.anew(stage=REFOLD, noise=noisy, rests=1)), info
        return _with(after, path.anew(stage=CLIMB)), info

    def refolded(self, state: State, path: Path) -> State:
        """With documents that end higher as new ones moved there, if that gains what matters; then
        the climb goes on. At rest, what gains less is left to the end. At modes there is one end,
        but sweeps that have pressed a share to nothing do not find it again."""
        rests, refolds = path.rests, path.refolds + 1
        path = path.anew(stage=PUSH if path.pushes < PUSHES else DONE, refolds=refolds)
        if path.refolds <= REFOLDS:
            how = self._given(state, AT_REST if rests else ON_THE_WAY)
            both, gain = self._all(_refold, state, how)
            if not rests or gain >= self._enough:
                after, _ = self._all(_take_better, both)
                return _with(after, path.anew(stage=CLIMB, objective=LOWEST))
        return _with(state, path)

    def _given(self, state: State, limits: tuple[int, float]) -> Allocation:
        """How documents are divided with the loadings given: as a predictor has it."""
        features, threads = self.observed.counts.features, self.executor.n_threads
        treatment, mode = self.algorithm.treatment, self.algorithm.mode
        weights = Weights.build(state.model, features, state.n, treatment, threads)
        return Allocation(state.model, weights, *limits, mode)

    def at_rest(self, state: State, path: Path) -> tuple[State, Info]:
        """The end: every document where it would be as a new one, and the objective there, by one
        more sweep that is not kept. If that still moved a share, the climb goes on."""
        algorithm: Any = self.algorithm
        ended, _ = self._all(_come_to_rest, state, self._given(state, AT_REST))
        _, info = algorithm.judging().step(self.observed, ended, self.executor)
        path = replace(path, shares=info.shares or 0.0)
        if path.shares < self.rule.shares or path.noise:
            return _with(ended, path.anew(stage=DONE, objective=info.objective)), info
        return _with(state, path.anew(stage=CLIMB)), info

    def push(self, state: State, path: Path) -> tuple[State, Info]:
        """A sweep of a copy that was moved; the state itself rests until the copy is past it."""
        if path.swept == 0:
            n = _pushed(state)
            state, _ = self._all(_copy, state)
            path = replace(path, n=n)
        _, after, info = self._sweep(state, path.n)
        ahead = info.objective - path.objective
        if ahead > max(self._noise(path.objective), self._enough):
            after, _ = self._all(_let_go, after)
            return _with(after, path.anew(stage=CLIMB, objective=info.objective)), info
        # The copy goes on beside the state: c and n change places again.
        back, _ = self._all(_rest, after)
        shared = replace(state.shared, sweep=after.sweep)
        path = replace(path, n=after.n, swept=path.swept + 1)
        info = replace(info, objective=path.objective, capped=())
        waiting = replace(back, shared=shared)
        if path.swept < (SUSPECT if has_twins(state.n) else PUSHED):
            return _with(waiting, path), info
        waiting, _ = self._all(_let_go, waiting)
        ended, last = self.at_rest(waiting, replace(path, pushes=path.pushes + 1))
        if path_of(ended).stage == DONE:
            info = replace(last, sweep=info.sweep, inner_updates=info.inner_updates, capped=())
        return ended, info


def path_of(state: State) -> Path:
    """Where the climb of a state stands."""
    carried = state.shared.carried
    return carried if isinstance(carried, Path) else Path()


def _with(state: State, path: Path) -> State:
    return replace(state, shared=replace(state.shared, carried=path))


def has_twins(n: FloatingArray) -> bool:
    """Whether two components have much the same words.

    >>> has_twins(np.array([[1.0, 2.0], [3.0, 6.0]])), has_twins(np.eye(2))
    (True, False)
    """
    words = n.sum(axis=0, dtype=np.float64)
    return bool(alike(n[:, words > EMPTY * words.mean()]).any())


def alike(columns: FloatingArray) -> npt.NDArray[np.bool_]:
    """Which columns are much the same but for their size, (K, K); none is its own twin. Of more
    than 8,192 nobody is told: (1, 1).

    >>> alike(np.array([[1.0, 2.0, 0.0], [3.0, 6.0, 1.0]]))[0]
    array([False,  True, False])
    """
    if columns.shape[1] > MOST_COMPARED:  # pairs would take more memory than the fit
        return np.zeros((1, 1), dtype=np.bool_)
    shares = columns.astype(np.float64)
    roots = np.sqrt(shares / shares.sum(axis=0))
    affinity = roots.T @ roots
    np.fill_diagonal(affinity, 0.0)
    return np.asarray(affinity > ALIKE)


def _pushed(state: State) -> FloatingArray:
    """n moved a little, by random numbers that seed and sweep name."""
    key = np.array([state.seed, (state.sweep << 8) | _PURPOSE], dtype=np.uint64)
    rng = np.random.Generator(np.random.Philox(key=key))
    noise = rng.standard_normal(state.n.shape, dtype=np.float32)
    return read_only((state.n * np.exp(PUSH_SIZE * noise)).astype(state.n.dtype))


Points = tuple[FloatingArray, FloatingArray, FloatingArray]  # x0, x1, x2


def squares(points: Points, n_threads: int) -> FloatArray:
    """‖x1 − x0‖² and ‖x2 − 2 x1 + x0‖².

    >>> squares((np.array([[8.0]]), np.array([[4.0]]), np.array([[2.0]])), 1)
    array([16.,  4.])
    """
    return np.array(_core.step_squares(*points, n_threads))


def extrapolated(points: Points, factor: float, n_threads: int) -> FloatingArray:
    """x0 + 2a (x1 − x0) + a² (x2 − 2 x1 + x0), but a tenth of x2 at least.

    >>> extrapolated((np.array([[8.0]]), np.array([[4.0]]), np.array([[2.0]])), 2.0, 1)
    array([[0.2]])
    """
    ahead = np.empty_like(points[0])
    _core.extrapolate(*points, factor, KEPT, ahead, n_threads)
    return read_only(ahead)


# What follows are tasks. While a sweep is looked at, "c" is what is carried and "from" where it
# began.


def _hold(part: Observations, local: Local, elsewhere: bool, n_threads: int) -> tuple[Local, None]:
    """The sweep begins here, or with what is carried, and what it begins with is remembered."""
    start = local.carried["c"] if elsewhere else local.c
    carried = {**local.carried, "from": start}
    if elsewhere:
        carried["c"] = local.c
    return replace(local, c=start, carried=carried), None


def _give_up(part: Observations, local: Local, shared: None, n_threads: int) -> tuple[Local, None]:
    """Back to what was set aside for a sweep that began elsewhere."""
    return replace(local, c=local.carried["c"], carried={}), None


def _let_go(part: Observations, local: Local, shared: None, n_threads: int) -> tuple[Local, None]:
    """Nothing is carried on."""
    return replace(local, carried={}), None


def _keep_start(
    part: Observations, local: Local, shared: None, n_threads: int
) -> tuple[Local, None]:
    """The sweep's beginning is carried on, as x0."""
    return replace(local, carried={"c": local.carried["from"]}), None


def _copy(part: Observations, local: Local, shared: None, n_threads: int) -> tuple[Local, None]:
    """A copy is carried, to be moved."""
    return replace(local, carried={"c": local.c}), None


def _rest(part: Observations, local: Local, shared: None, n_threads: int) -> tuple[Local, None]:
    """The state rests, and the copy is carried."""
    return replace(local, c=local.carried["c"], carried={"c": local.c}), None


def _points(local: Local) -> Points:
    """c of x0, x1 and x2."""
    return local.carried["c"], local.carried["from"], local.c


def _squares(
    part: Observations, local: Local, shared: None, n_threads: int
) -> tuple[Local, FloatArray]:
    return local, squares(_points(local), n_threads)


def _extrapolate(
    part: Observations, local: Local, factor: float, n_threads: int
) -> tuple[Local, None]:
    return replace(local, carried={"c": extrapolated(_points(local), factor, n_threads)}), None


def _refold(
    part: Observations, local: Local, how: Allocation, n_threads: int
) -> tuple[Local, float]:
    """Documents settled from where they are, loadings given; carried are the better of these and
    of where they are as new ones, with the gain in nats."""
    c, value = settled(part, local.c, how, n_threads)
    other, other_value = rested(part, how, n_threads)
    gain = other_value - value
    better = gain > SURELY
    carried = {"c": read_only(np.where(better[:, None], other, c))}
    return replace(local, c=read_only(c), carried=carried), float(gain[better].sum())


def _take_better(
    part: Observations, local: Local, shared: None, n_threads: int
) -> tuple[Local, None]:
    """Documents move to what is carried."""
    return replace(local, c=local.carried["c"], carried={}), None


def _come_to_rest(
    part: Observations, local: Local, how: Allocation, n_threads: int
) -> tuple[Local, None]:
    """Documents where they are as new ones."""
    c, _ = rested(part, how, n_threads)
    return replace(local, c=read_only(c), carried={}), None
