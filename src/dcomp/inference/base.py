"""What every algorithm has: Info (what a person wants to see), SufficientStats (what adds up across
documents), and the Algorithm itself; what the next step needs is in `state`.

What only one algorithm carries along or shows is a type of its own, beside that algorithm: a
subclass of `Carried`, a subclass of `Info`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.executors import Executor
from dcomp.inference.keep import Keep
from dcomp.inference.state import Carried, State
from dcomp.models import Model, Observations
from dcomp.models.allowed import Users
from dcomp.models.arrays import FloatArray
from dcomp.models.options import Occasion, Option, whole_number

FloatingArray = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class SufficientStats:
    """Sums over documents; they add, and nothing else leaves a worker."""

    n: FloatingArray  # (J, K): counts of features split over components
    log_scores: FloatArray  # (K): Σ_i E[log score]
    mean_scores: FloatArray  # (K): Σ_i E[score]
    bound: float
    n_docs: int
    n_updates: int  # of single documents
    shares: float  # the largest change of a document's share
    seen: Any = None  # what the score prior learns from beside: `moments_seen`, `modes_seen`
    users: Users | None = None  # which components so many may use, where they may not use all

    def __add__(self, other: SufficientStats) -> SufficientStats:
        return SufficientStats(
            self.n + other.n,
            self.log_scores + other.log_scores,
            self.mean_scores + other.mean_scores,
            self.bound + other.bound,
            self.n_docs + other.n_docs,
            self.n_updates + other.n_updates,
            max(self.shares, other.shares),
            None if self.seen is None else self.seen + other.seen,
            None if self.users is None or other.users is None else self.users + other.users,
        )


_ROWS = 4096  # of documents that are compared at a time, to keep memory small


def share_change(before: FloatingArray, after: FloatingArray, totals: npt.NDArray[Any]) -> float:
    """The largest change of a share: of |after − before| in a document with so many words.

    >>> share_change(np.array([[1.0, 3.0]]), np.array([[2.0, 2.0]]), np.array([4.0]))
    0.25
    """
    largest = 0.0
    for first in range(0, len(before), _ROWS):
        rows = slice(first, first + _ROWS)
        moved = np.abs(after[rows] - before[rows]).max(axis=1) / np.maximum(totals[rows], 1e-300)
        largest = max(largest, float(moved.max()))
    return largest


@dataclass(frozen=True)
class Info:
    """One row of the history."""

    sweep: int
    objective: float  # the quantity that the updates raise
    documents: float  # the documents' part of it
    inner_updates: float  # mean number of updates per document
    change: float | None = None  # of the objective, in nats per document
    shares: float | None = None  # the largest change of a document's share in this sweep
    seconds: float = 0.0
    capped: tuple[str, ...] = ()  # hyper-parameters held at a limit

    comparison: ClassVar[str] = "objective"  # what chains are compared by, in words

    @classmethod
    def chain_value(cls, rows: Sequence[Any]) -> float:
        """Where a chain ended, as one number to compare chains by: of a climb, which knows how far
        shares move, its last objective; of a sampler the mean of its last tenth, because its last
        sweep is one draw among many."""
        if rows[-1].shares is not None:
            return float(rows[-1].objective)
        return mean_of_last_tenth([row.objective for row in rows])


def mean_of_last_tenth(values: Sequence[float]) -> float:
    """Of at least one value.

    >>> mean_of_last_tenth([*range(18), 4.0, 6.0])
    5.0
    """
    return float(np.mean(values[-max(len(values) // 10, 1) :]))


class Algorithm(Protocol):
    """A strategy: options and two pure functions."""

    name: ClassVar[str]
    objective_name: ClassVar[str]
    samples: ClassVar[bool]  # draws rather than converges: no stopping rule
    mode: ClassVar[str]  # how a document's words are allocated with Θ given: expect, maximise
    # What comes out: a "posterior"; the "mode" of scores under their prior; or the maximum of the
    # "likelihood", which has no priors.
    estimates: ClassVar[str]
    has_schedule: ClassVar[bool]  # knows by itself when it is over, by `is_done`
    runs_its_course: ClassVar[bool]  # makes the sweeps that were asked for, whatever it gains
    is_plain: ClassVar[bool]  # whether its sweeps are the plain steps of a fixed point: `ascent`
    assigns_tokens: ClassVar[bool]  # gives every token a component of its own
    divides_words: ClassVar[bool]  # c is what documents have, divided; else what they would have
    must_carry: ClassVar[bool]  # whether every state has something of the carried type
    usual_sweeps: ClassVar[int]  # at most, where nothing was said
    options: ClassVar[tuple[Option, ...]]  # what users may say of it

    def told(self, given: Mapping[str, Any], occasion: Occasion) -> Self:
        """Itself with the options that were typed, all of them its own."""
        ...

    def apart(self, model: Model, observed: Observations) -> Self:
        """Itself as chains after the first run it: begun far from that one, where chains would
        begin alike otherwise, so that their spread is evidence."""
        ...

    @property
    def min_sweeps(self) -> int:
        """Sweeps before the stopping rule is asked."""
        ...

    @property
    def treatment(self) -> str:
        """How Θ enters: MODELS §4."""
        ...

    @property
    def precision(self) -> np.dtype[Any]:
        """Of loadings and scores."""
        ...

    @property
    def schedule(self) -> Schedule:
        """Which sweeps are recorded, which of them leave draws, and when components are added."""
        ...

    def init(
        self, model: Model, observed: Observations, seed: int, executor: Executor | None = None
    ) -> State:
        """The state before the first sweep; the answer does not depend on the executor."""
        ...

    def step(self, observed: Observations, state: State, executor: Executor) -> tuple[State, Info]:
        """One sweep over all documents."""
        ...

    def finish(self, observed: Observations, state: State, executor: Executor) -> State:
        """The last state with everything that a Fit reads, in one piece."""
        ...

    def is_done(self, state: State) -> bool:
        """Whether a schedule is over."""
        ...

    def is_exact(self, n_tokens: int, n_parts: int = 1) -> bool:
        """Whether a corpus of this size and cut is treated without approximation in its sweeps."""
        ...

    def temper(self, state: State) -> float:
        """The power of weights in the allocation of new documents' words: 1 but for tempered EM."""
        ...

    def info_type(self, model: Model) -> type[Info]:
        """What its history has in each row."""
        ...

    def carried_type(self, model: Model) -> type[Carried] | None:
        """What its states carry along."""
        ...

    def stored(self) -> dict[str, Any]:
        """What a file says of it; the class's `restored` is the way back."""
        ...


class Adds(Protocol):
    """A step in the middle of a fit that adds components: a growth or a search."""

    @property
    def at(self) -> int:
        """Sweeps before it."""
        ...

    def most(self, n_components: int) -> int:
        """Components that there may be in the end."""
        ...


@dataclass(frozen=True)
class Schedule:
    """What happens when in a run: a climb records nothing, and keeps nothing."""

    burn_in: int = 0
    keep: Keep = field(default_factory=Keep)
    adds: Adds | None = None


class Strategy:
    """What most algorithms answer alike; the others say it themselves."""

    mode: ClassVar[str] = "expect"
    estimates: ClassVar[str] = "posterior"
    has_schedule: ClassVar[bool] = False
    runs_its_course: ClassVar[bool] = False
    is_plain: ClassVar[bool] = False
    assigns_tokens: ClassVar[bool] = False
    divides_words: ClassVar[bool] = True
    must_carry: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = ()
    name: ClassVar[str]

    def told(self, given: Mapping[str, Any], occasion: Occasion) -> Self:
        """Itself with the options that were typed, and with what the model wishes."""
        return self._changed(given, self.adding(occasion))

    def apart(self, model: Model, observed: Observations) -> Self:
        """Itself: seeds are apart."""
        return self

    def adding(
        self, occasion: Occasion, burn_in: int | None = None, n_draws: int = 0
    ) -> Adds | None:
        """The step that adds components where the model wishes for one; here there is none."""
        if occasion.wishes.growth is not None or occasion.wishes.search is not None:
            raise UnsupportedCombination(
                f"{self.name} cannot add components in the middle of a fit"
            )
        return None

    def _changed(self, changes: Mapping[str, Any], adds: Adds | None) -> Self:
        options: Any = self
        changed: Self = replace(options, **changes, **({} if adds is None else {"grow": adds}))
        return changed

    def stored(self) -> dict[str, Any]:
        """What a file says of it; `restored` is the way back."""
        options: Any = self
        return {"name": self.name, **asdict(options)}

    @classmethod
    def restored(cls, options: Mapping[str, Any]) -> Self:
        """From a file."""
        return cls(**options)

    def finish(self, observed: Observations, state: State, executor: Executor) -> State:
        """Nothing is left over."""
        return state.gathered(executor)

    def is_done(self, state: State) -> bool:
        """Never by itself."""
        return False

    def is_exact(self, n_tokens: int, n_parts: int = 1) -> bool:
        """At any size."""
        return True

    def temper(self, state: State) -> float:
        """Not at all."""
        return 1.0

    def info_type(self, model: Model) -> type[Info]:
        """The plain row."""
        return Info

    def carried_type(self, model: Model) -> type[Carried] | None:
        """c and n say it all."""
        return None

    @property
    def schedule(self) -> Schedule:
        """Nothing is recorded."""
        return Schedule()


class Climber(Strategy):
    """An algorithm that raises an objective, in the precision of its `dtype`."""

    samples: ClassVar[bool] = False
    usual_sweeps: ClassVar[int] = 2000  # it stops before that: most tables need 50 to 300
    dtype: str

    @property
    def precision(self) -> np.dtype[Any]:
        """As `dtype` says."""
        return np.dtype(self.dtype)


# Of the sweeps before recording, or before a search: annealed where a chain should settle slowly. A
# chain of a tree cannot move a topic with all its words to another parent: unless it settles
# slowly, the tree that it starts with by chance is the one that it ends with.
SETTLE = 0.8
LEARN_EVERY = 5  # sweeps from one step of learned priors to the next


class Sampler(Strategy):
    """An algorithm that draws, and whose record is in single precision."""

    samples: ClassVar[bool] = True
    runs_its_course: ClassVar[bool] = True
    usual_sweeps: ClassVar[int] = 200
    burn_in: int
    learn_every: int | None
    keep: Keep

    @property
    def min_sweeps(self) -> int:
        """Samplers run their course."""
        return self.burn_in + 1

    @property
    def treatment(self) -> str:
        """E[Θ], recorded."""
        return "mean"

    @property
    def precision(self) -> np.dtype[Any]:
        """Single."""
        return np.dtype(np.float32)

    def learns_in(self, sweep: int, model: Model) -> bool:
        """Whether priors are learned in this sweep: in every fifth unless it says otherwise, and
        where scores can be exactly 0 in every one from the middle of the burn-in on. How often they
        are and how small the others are explain the same counts, and EM parts the two in many
        steps; before a chain has found zeros these would lead to a prior that has none."""
        is_later = 2 * sweep > self.burn_in
        usual = 1 if is_later and model.scores.capabilities.exact_zeros else LEARN_EVERY
        return sweep % (self.learn_every or usual) == 0

    def told(self, given: Mapping[str, Any], occasion: Occasion) -> Self:
        """With half of the sweeps to burn in unless it says otherwise, and the draws to keep."""
        changes = dict(given)
        n_draws = changes.pop("n_draws", 0)
        kinds = changes.pop("draws_of", Keep().kinds)
        burn_in = self._burn_in(given, occasion)
        adds = self.adding(occasion, burn_in, n_draws)
        if occasion.named and occasion.wishes.settle:
            changes.setdefault("anneal", "auto")
        if changes.get("anneal") == "auto":
            is_search = adds is not None and occasion.wishes.search is not None
            changes["anneal"] = int(SETTLE * (adds.at if is_search and adds else burn_in))
        if n_draws:
            changes["keep"] = Keep.spread(n_draws, occasion.max_iter - burn_in, kinds)
        return self._changed({**changes, "burn_in": burn_in}, adds)

    def _burn_in(self, given: Mapping[str, Any], occasion: Occasion) -> int:
        if "burn_in" not in given:
            return occasion.max_iter // 2 if occasion.named else self.burn_in
        burn_in = whole_number("burn_in", given["burn_in"], 0)
        if burn_in >= occasion.max_iter:
            raise InvalidParameter(
                f"burn_in must be below max_iter = {occasion.max_iter}, to leave sweeps to record; "
                f"got {burn_in}"
            )
        return burn_in
