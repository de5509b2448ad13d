"""From sweeps to an answer: fixed points are climbed faster, and told apart from where they only
look like one (MODELS §14).

A climb has stages, all of them kept in the state, so that it can stop and go on anywhere:

climb     sweeps with momentum (Nesterov 1983): the next begins near x1 + b (x1 − x0), where x0 and
          x1 are the ends of the last two, x being c and n together (`momentum`); b grows to 0.98. A
          sweep that lowers the objective is taken back, and b halved (O'Donoghue and Candès 2015).
refold    documents settle, loadings given, from where they are and as new ones do (`rest`), and
          keep the better end: on the way, because it gains more than the sweeps would, and once
          the gains of the last sweeps promise little.
measure   plain sweeps, whose gains tell more finely how little that is.
push      a copy of the state, n moved a little at random: if it climbs past where the state rests,
          that was a saddle, and the climb goes on from the copy. On small tables the same with a
          copy that has a little of every feature in every component; and, where documents may have
          several optima, with one whose documents are where they would be as new ones, and with one
          whose documents have little of their weakest component.
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

from dcomp.executors import Executor
from dcomp.inference import ascent_tasks as tasks
from dcomp.inference.base import Algorithm, FloatingArray, Info
from dcomp.inference.mean_field import Allocation, Weights
from dcomp.inference.momentum import further
from dcomp.inference.path import CLIMB, DONE, LOWEST, MEASURE, PUSH, REFOLD, UNKNOWN, Path
from dcomp.inference.rest import AT_REST
from dcomp.inference.spectral import is_dense
from dcomp.inference.state import State
from dcomp.inference.stopping import NEVER, ROUNDING, WINDOW, Rule, noise_of, to_come
from dcomp.models import Observations
from dcomp.models.arrays import read_only

MOST_MOMENTUM, GAINS = 0.98, 1.05  # the most that a step is repeated, and its growth by a sweep
STANDS = 10  # sweeps without a gain, after which it is measured
LOOKED_AT = 15  # sweeps whose gain is compared with that of as many before
SKIPPED = 3  # plain sweeps that are not measured, because they settle the last step
MOST_MEASURED = 3 * WINDOW  # of those that are, where fewer do not show a rate below 1
BESIDE = 5  # sweeps that cost as much as a refold, whose gain is compared with its own
FIRST = 0.1  # of all that was climbed: when the last sweeps gained less, documents are refolded
REFOLDS = 12  # at most: on text one always finds some documents to move
ON_THE_WAY = (50, 1e-4)  # as AT_REST, where the loadings will move again
CHEAP = 1_000_000  # entries of a table times components, whose sweeps take milliseconds
PUSH_SIZE = 0.2  # how far a copy is moved
LIFT = 0.1  # of a feature's mean over components, that a copy has more of it in every one
PUSHED, SUSPECT = 12, 40  # its sweeps; the same where two components are alike, or n is lifted
MOVED, LIFTED, COLD, SPARSER = range(4)  # copies
DOUBLINGS = 3.0  # of the sweeps so far, about, that a climb of a cheap table is judged by
MOST_COMPARED = 8192  # components, of which all pairs are looked at
ALIKE = 0.998  # the affinity of these, Σ √(θ θ'): 1 where they are the same
EMPTY = 0.01  # a share of a component's usual words that is as good as none
MOST_NOISE = 3.0  # times what rounding may change
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
        """A state at rest goes on climbing where it had stopped to: it may be asked for more than
        it was at rest for."""
        if path_of(state).stage != DONE:
            return state
        fresh: Any = dict.fromkeys(("moved", "gain", "shares"), UNKNOWN)
        fresh |= dict.fromkeys(("refolds", "pushes", "noise"), 0)
        path = path_of(state).anew(stage=CLIMB, objective=LOWEST, apart=0.0, **fresh)
        return _with(as_climbed(state), path)

    def step(self, observed: Observations, state: State, executor: Executor) -> tuple[State, Info]:
        """One sweep, and what follows from it."""
        before = path_of(state)
        after, info = self._step(observed, state, executor)
        climbs = before.stage in (CLIMB, MEASURE) and before.objective > LOWEST
        is_whole = state.sweep >= self.algorithm.min_sweeps  # components may come till then
        gain = info.objective - before.objective if climbs and is_whole else 0.0
        return _with(after, path_of(after).climbed_by(gain)), info

    def _step(self, observed: Observations, state: State, executor: Executor) -> tuple[State, Info]:
        climb = _Climb(self.algorithm, self.rule, observed, executor, state.model.n_components)
        path = path_of(state)
        if state.sweep < self.algorithm.min_sweeps:
            after, info = self.algorithm.step(observed, state, executor)
            return _with(after, path.anew(objective=info.objective)), info
        if path.stage == REFOLD:
            state = climb.refolded(state, path)
            path = path_of(state)
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
    n_components: int

    def _all(self, task: Any, state: State, shared: Any = None) -> tuple[State, Any]:
        """The state with a task done to every part, and the sum of what it tells."""
        after, stats = self.executor.map_reduce(task, self.observed.parts, state.locals, shared)
        return replace(state, locals=after), stats

    def _sweep(self, state: State, elsewhere: FloatingArray | None) -> tuple[State, Info]:
        """A sweep from the state, or from what is carried, and its row."""
        held, _ = self._all(tasks.hold, state, elsewhere is not None)
        if elsewhere is not None:
            held = replace(held, shared=replace(held.shared, n=elsewhere))
        return self.algorithm.step(self.observed, held, self.executor)

    def _noise(self, objective: float) -> float:
        """What rounding may change of an objective, which sums up over words and may be near 0."""
        size = max(abs(objective), int(self.observed.doc_totals.sum()))
        return ROUNDING[self.algorithm.precision.itemsize] * size

    @property
    def _enough(self) -> float:
        """tol in nats of the whole corpus."""
        return self.rule.tol * self.observed.counts.n_docs

    def climb(self, state: State, path: Path) -> tuple[State, Info]:
        """A sweep of the climb."""
        after, info = self._sweep(state, path.n)
        if path.n is not None and info.objective < path.objective - self._noise(path.objective):
            return self._taken_back(state, after, path, info)
        path = path.swept_to(info.objective)
        if self._is_told(state, path):
            after, _ = self._all(tasks.let_go, after)
            return _with(after, path.anew(stage=DONE, gain=0.0, shares=info.shares or 0.0)), info
        stage = self._after_climb(path)
        if stage == CLIMB:
            return self._carried_on(state, after, path), info
        after, _ = self._all(tasks.let_go, after)
        path = self._calmed(path) if stage == MEASURE else path.anew(stage=stage)
        return _with(after, path), info

    def _is_told(self, state: State, path: Path) -> bool:
        """Whether nothing was to be found but sums, and these are there: every document has the one
        component that it may use, and the second sweep has seen the loadings of the first."""
        allowed = self.observed.allowed
        if self.rule.tol == 0 or path.swept < 2 or allowed is None:
            return False
        return not allowed.has_choice and not state.model.has_exposure

    def _carried_on(self, state: State, after: State, path: Path) -> State:
        """With where the next sweep begins: further than this one came."""
        after, _ = self._all(tasks.go_further, after, path.momentum)
        n = further(state.n, after.n, path.momentum, self.executor.n_threads)
        return _with(after, replace(path, n=n, momentum=min(path.momentum * GAINS, MOST_MOMENTUM)))

    def _taken_back(self, state: State, after: State, path: Path, info: Info) -> tuple[State, Info]:
        """That was too far: back to where this sweep's momentum came from, with it for nothing."""
        back, _ = self._all(tasks.give_up, after)
        shared = replace(state.shared, sweep=after.sweep)
        path = replace(path.swept_to(path.objective), n=None, momentum=path.momentum / 2)
        row = replace(info, objective=path.objective, capped=())
        return _with(replace(back, shared=shared), path), row

    def _after_climb(self, path: Path) -> int:
        """Whether to go on, to refold documents on the way, or to measure. Never with tol = 0."""
        if self.rule.tol == 0:
            return CLIMB
        if self._to_come(path) < self._enough and self._promises_little(path):
            return MEASURE
        return REFOLD if self._refold_pays(path) else CLIMB

    def _refold_pays(self, path: Path) -> bool:
        """Whether the sweeps that it costs gain less now than documents did when they were last
        moved, and that mattered."""
        if not self._may_move or path.refolds >= REFOLDS:
            return False
        if path.moved == UNKNOWN:
            return path.gained(BESIDE) < FIRST * path.climbed
        return path.gained(BESIDE) < path.moved and path.moved >= self._enough

    def _calmed(self, path: Path) -> Path:
        """To be measured, documents that may move first."""
        stage = REFOLD if path.refolds < REFOLDS else MEASURE
        return path.anew(stage=stage, coarse=self._to_come(path), rests=1)

    def _to_come(self, path: Path) -> float:
        """By the gains of the climb itself. Documents that may move to another optimum keep it from
        being known closely: there less care is enough."""
        least = 2.0 if self._may_move else 6.0
        stands = path.gained(STANDS) <= self._noise(path.objective)
        return max(path.gained(STANDS), 0.0) if stands else path.to_come(LOOKED_AT, least)

    def _long_run(self, path: Path) -> float:
        """What all sweeps so far promise. Where sweeps are cheap nothing is trusted to fall by a
        rate: ten times as many may gain in each doubling what the last one did."""
        return DOUBLINGS * path.last_half if self._is_cheap else path.long_run

    def _promises_little(self, path: Path) -> bool:
        """Whether that is less than matters, or than can be told."""
        return self._long_run(path) < max(self._enough, self._noise(path.objective))

    @property
    def _is_cheap(self) -> bool:
        return is_cheap(self.observed, self.n_components)

    @property
    def _may_move(self) -> bool:
        """Whether a document may have several fixed points."""
        return self.algorithm.mode == "expect"

    @property
    def _pushes(self) -> tuple[int, ...]:
        """Which copies are tried: n moved; where that is cheap n lifted, too, and documents moved
        in two ways. On a large table it leads from optimum to optimum, for hundreds of sweeps and
        a few tenths of a nat."""
        if not self._is_cheap:
            return (MOVED,)
        return (MOVED, LIFTED, COLD, SPARSER) if self._may_move else (MOVED, LIFTED)

    def _kind(self, path: Path) -> int:
        """Of the copy that is tried now; a path may be of a fit that had others."""
        return self._pushes[min(path.pushes, len(self._pushes) - 1)]

    def measure(self, state: State, path: Path) -> tuple[State, Info]:
        """A plain sweep, in which documents come to rest: what hangs on single documents would not
        be seen otherwise. After the last of them what is still to come."""
        algorithm: Any = self.algorithm
        after, info = algorithm.settling().step(self.observed, state, self.executor)
        gain = info.objective - path.objective
        path = path.measured(gain, info.objective, SKIPPED)
        gains = path.gains
        if gains is None or len(gains) < WINDOW:
            return _with(after, path), info
        # More than rounding can be is no noise: a document that moved to another optimum.
        noise = min(noise_of(gains), MOST_NOISE * self._noise(info.objective))
        hidden = float(np.mean(gains)) < 2 * noise / np.sqrt(len(gains))
        left = noise * WINDOW if hidden else to_come(np.maximum(gains, noise / 10))
        left = max(left, path.coarse, self._long_run(path))
        if left >= NEVER and len(gains) < MOST_MEASURED:  # single documents still move
            return _with(after, path), info
        path = replace(path, gain=left / self.observed.counts.n_docs)
        if path.gain < self.rule.tol or (hidden and self._promises_little(path)):
            noisy = int(hidden and not path.gain < self.rule.tol)
            path = path.anew(stage=PUSH, noise=noisy)
            is_pushed = path.pushes < len(self._pushes)
            return (_with(after, path), info) if is_pushed else self._ended(after, path, info)
        return _with(after, path.anew(stage=CLIMB)), info

    def refolded(self, state: State, path: Path) -> State:
        """With documents that end higher as new ones moved there, if that gains what matters; then
        the climb goes on. A climb that was calm is measured where less is gained: that is left to
        the end. At modes there is one end, but sweeps that have pressed a share to nothing do not
        find it again."""
        is_calm = bool(path.rests)
        how = self._given(state, AT_REST if is_calm else ON_THE_WAY)
        both, gain = self._all(tasks.refold, state, how)
        path = replace(path, refolds=path.refolds + 1, moved=gain)
        if is_calm and gain < self._enough:
            return _with(state, path.anew(stage=MEASURE))
        after, _ = self._all(tasks.take_better, both)
        is_another = gain >= self._enough and not is_dense(self.observed.counts)
        return _with(
            after, (path.another if is_another else path.anew)(stage=CLIMB, objective=LOWEST)
        )

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
        ended, _ = self._all(tasks.come_to_rest, state, self._given(state, AT_REST))
        _, info = algorithm.judging().step(self.observed, ended, self.executor)
        apart = max(path.objective - info.objective, 0.0) / self.observed.counts.n_docs
        if apart == 0.0:
            ended, _ = self._all(tasks.let_go, ended)
        path = replace(path, shares=info.shares or 0.0, apart=apart)
        if path.shares < self.rule.shares or path.noise:
            return _with(ended, path.anew(stage=DONE, objective=info.objective)), info
        return _with(state, path.anew(stage=CLIMB)), info

    def push(self, state: State, path: Path) -> tuple[State, Info]:
        """A sweep of a copy that was moved; the state itself rests until the copy is past it."""
        if path.swept == 0:
            state, path = self._moved_copy(state, path)
        after, info = self._sweep(state, path.n)
        ahead = info.objective - path.objective
        if ahead > max(self._noise(path.objective), self._enough):
            after, _ = self._all(tasks.let_go, after)
            return _with(after, path.another(stage=CLIMB, objective=info.objective)), info
        # The copy goes on beside the state: c and n change places again.
        back, _ = self._all(tasks.rest, after)
        shared = replace(state.shared, sweep=after.sweep)
        path = replace(path, n=after.n, swept=path.swept + 1)
        info = replace(info, objective=path.objective, capped=())
        waiting = replace(back, shared=shared)
        is_slow = self._kind(path) == LIFTED or has_twins(state.n)
        if path.swept < (SUSPECT if is_slow else PUSHED):
            return _with(waiting, path), info
        waiting, _ = self._all(tasks.let_go, waiting)
        path = replace(path, pushes=path.pushes + 1)
        if path.pushes < len(self._pushes):
            return _with(waiting, path.anew()), info
        return self._ended(waiting, path, info)

    def _ended(self, state: State, path: Path, info: Info) -> tuple[State, Info]:
        """After a sweep with such a row, which shows the end if it is one."""
        ended, last = self.at_rest(state, path)
        if path_of(ended).stage == DONE:
            info = replace(last, sweep=info.sweep, inner_updates=info.inner_updates, capped=())
        return ended, info

    def _moved_copy(self, state: State, path: Path) -> tuple[State, Path]:
        """With a copy carried that is moved in the way that is next."""
        kind = self._kind(path)
        if kind in (MOVED, LIFTED):
            copied, _ = self._all(tasks.copy, state)
            return copied, replace(path, n=_pushed(state, LIFT if kind == LIFTED else 0.0))
        if kind == COLD:
            copied, _ = self._all(tasks.copy_at_rest, state, self._given(state, AT_REST))
        else:
            copied, _ = self._all(tasks.copy_sparser, state)
        return copied, replace(path, n=state.n)


def is_cheap(observed: Observations, n_components: int) -> bool:
    """Whether some dozens of sweeps more are nothing to speak of."""
    return observed.counts.nnz * n_components <= CHEAP


def as_climbed(state: State) -> State:
    """With documents where the climb had them, in the place of where they are shown at rest."""
    if path_of(state).stage != DONE:
        return state
    climbed = [
        replace(local, c=local.carried.get("c", local.c), carried={}) for local in state.locals
    ]
    return replace(state, locals=climbed)


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


def _pushed(state: State, lift: float) -> FloatingArray:
    """n moved a little, by random numbers that seed and sweep name; and lifted, so that what has
    come to nothing can show that it should be something: by itself it takes hundreds of sweeps."""
    key = np.array([state.seed, (state.sweep << 8) | _PURPOSE], dtype=np.uint64)
    rng = np.random.Generator(np.random.Philox(key=key))
    noise = rng.standard_normal(state.n.shape, dtype=np.float32)
    lifted = state.n + lift * state.n.mean(axis=1, keepdims=True)
    return read_only((lifted * np.exp(PUSH_SIZE * noise)).astype(state.n.dtype))
