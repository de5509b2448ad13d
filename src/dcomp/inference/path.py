"""Where a climb stands: what is carried from sweep to sweep by an algorithm that climbs to a fixed
point (`ascent`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.inference.base import FloatingArray
from dcomp.inference.state import Arrays, Carried
from dcomp.inference.stopping import Remaining, in_the_long_run
from dcomp.models import Model
from dcomp.models.arrays import FloatArray

CLIMB, MEASURE, REFOLD, PUSH, DONE = range(5)  # stages
AS_TOLD, SEEDED, SPECTRAL = range(3)  # how a climb began
LOWEST = -1e300  # an objective before there is one
UNKNOWN = -1.0  # what has not been measured
FIRST_MOMENTUM = 0.5
FORMER = ("phase", "limit", "factor", "c_pairs", "n_pairs")  # of steps that are no more
BETWEEN = 5  # sweeps between marks of the objective


@dataclass(frozen=True, eq=False)
class Path(Carried):
    """Where a climb stands."""

    c: FloatingArray | None = None  # (I, K), of the documents: where the next sweep begins
    n: FloatingArray | None = None  # (J, K): the same
    gains: FloatArray | None = None  # of the plain sweeps that are being measured
    marks: FloatArray | None = None  # objectives of the climb, some sweeps apart
    trail: FloatArray | None = None  # `climbed` of all sweeps so far, as far apart
    stage: int = CLIMB
    momentum: float = FIRST_MOMENTUM  # how much of its step the next sweep goes on
    objective: float = LOWEST  # of the last sweep that was kept
    swept: int = 0  # in this stage
    rests: int = 0  # whether the gains of the climb promise little
    refolds: int = 0
    moved: float = UNKNOWN  # nats that documents gained at once when they were last refolded
    pushes: int = 0
    coarse: float = 0.0  # nats still to come by the gains of the climb
    gain: float = UNKNOWN  # nats per document still to come, as last measured
    shares: float = UNKNOWN  # the largest change of a document's shares in the last plain sweep
    apart: float = 0.0  # nats per document that the climb's best was above the documents at rest
    noise: int = 0  # whether rounding hides the gain
    start: int = AS_TOLD  # or as the best of several tries began
    climbed: float = 0.0  # nats that sweeps have gained, without what moving documents gained
    sweeps: int = 0  # in all stages

    @classmethod
    def of_documents(cls, model: Model) -> tuple[str, ...]:
        """Where they are."""
        return ("c",)

    @classmethod
    def restored(cls, arrays: Arrays) -> Path:
        """From a file. Climbs used to be carried on in other ways, in place of which one begins
        anew, or from where it stands."""
        if "weight" in arrays:
            return cls()
        return super().restored({name: a for name, a in arrays.items() if name not in FORMER})

    def check(self, model: Model, c: npt.NDArray[Any], n: npt.NDArray[Any]) -> None:
        """A ValueError where this cannot be of these documents and features."""
        for name, like in (("c", c), ("n", n)):
            own = getattr(self, name)
            if own is not None and (own.shape != like.shape or own.dtype != like.dtype):
                raise ValueError(f"{name} of the climb must be like the state's; got {own.shape}")
        for name in ("gains", "marks", "trail"):
            own = getattr(self, name)
            if own is not None and (own.ndim != 1 or own.dtype != np.float64):
                raise ValueError(f"{name} of the climb must be a row of numbers")
        if not 0 <= self.stage <= DONE:
            raise ValueError(f"a climb has no stage {self.stage}")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"a climb has no momentum {self.momentum}")
        if not AS_TOLD <= self.start <= SPECTRAL:
            raise ValueError(f"a climb has no start {self.start}")

    @property
    def remaining(self) -> Remaining | None:
        """As last measured."""
        known = self.gain >= 0 and self.shares >= 0
        return Remaining(self.gain, self.shares, self.apart) if known else None

    def anew(self, **changes: Any) -> Path:
        """In another stage, with nothing carried."""
        fresh: Any = dict.fromkeys(("n", "gains", "marks"))
        fresh |= {"swept": 0, "rests": 0}
        return replace(self, **fresh | changes)

    def another(self, **changes: Any) -> Path:
        """As anew, but of a climb from elsewhere: what the sweeps before it gained says nothing of
        it."""
        fresh: Any = {"trail": None, "climbed": 0.0, "sweeps": 0}
        return self.anew(**fresh | changes)

    def swept_to(self, objective: float) -> Path:
        """After a sweep of the climb that was kept."""
        path = replace(self, objective=objective, swept=self.swept + 1)
        if path.swept % BETWEEN:
            return path
        marks = np.append([] if path.marks is None else path.marks, objective)
        return replace(path, marks=marks)

    def measured(self, gain: float, objective: float, skipped: int) -> Path:
        """After a plain sweep that is measured, but for the first so many."""
        path = replace(self, objective=objective, swept=self.swept + 1)
        if path.swept <= skipped:
            return path
        return replace(path, gains=np.append([] if path.gains is None else path.gains, gain))

    def climbed_by(self, gain: float) -> Path:
        """After a sweep of any stage that gained so much by climbing."""
        path = replace(self, climbed=self.climbed + gain, sweeps=self.sweeps + 1)
        if path.sweeps % BETWEEN:
            return path
        trail = np.append([] if path.trail is None else path.trail, path.climbed)
        return replace(path, trail=trail)

    @property
    def long_run(self) -> float:
        """What all sweeps so far promise for as many more."""
        return in_the_long_run(self.last_half, self._gained_since(3 / 4))

    @property
    def last_half(self) -> float:
        """What the last half of all sweeps gained."""
        return self._gained_since(1 / 2)

    def _gained_since(self, share: float) -> float:
        """By climbing, since so many of the sweeps, or a few less, were done; infinite before there
        is a mark as early."""
        mark = int(share * self.sweeps) // BETWEEN
        if self.trail is None or mark == 0:
            return np.inf
        return self.climbed - float(self.trail[mark - 1])

    def gained(self, sweeps: int) -> float:
        """What the last so many sweeps of this climb, or a few more, have gained; infinite before
        there are as many."""
        back = sweeps // BETWEEN + 1
        if self.marks is None or len(self.marks) < back:
            return np.inf
        return self.objective - float(self.marks[-back])

    def to_come(self, sweeps: int, least: float) -> float:
        """What a climb still has to gain, if the gains of so many sweeps go on to fall as they did
        from those before them; at least `least` times what these have gained. Steps of an
        accelerated climb are uneven, but over many of them the slow directions are seen that plain
        sweeps hardly show."""
        last, both = self.gained(sweeps), self.gained(2 * sweeps)
        before = both - last
        if not np.isfinite(both) or last <= 0:
            return max(0.0, both)
        return np.inf if last >= before else last * max(least, last / (before - last))
