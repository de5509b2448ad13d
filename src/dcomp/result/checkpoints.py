"""Checkpoints: what a fit has reached, on the disk every so often, so that a kill loses minutes.

A folder belongs to one fit. It has a file per chain, `chain-0.dcomp`, which is a fit like any other
(`load` opens it), and `order.json`, which says what was ordered. The same call goes on from what is
there, and ends bit for bit as if it had never been stopped; another order is refused.

A file is replaced only by a whole one (`atomic`). Where that cannot be, because the disk is full or
the folder has become read-only, the last checkpoint stays as it was, a warning says so, and the fit
goes on: its answer is still to be had (docs/decisions/0057).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from dcomp import _core
from dcomp.atomic import atomic_write, check_place, resolved
from dcomp.errors import CheckpointWarning, InvalidFile, InvalidParameter, warn
from dcomp.inference import Algorithm, Info, Run, State
from dcomp.inference.run import CONVERGED, INTERRUPTED, ROUNDING
from dcomp.io import Limits
from dcomp.io.limits import Budget
from dcomp.io.strict_json import parse_json
from dcomp.models import Model, Observations
from dcomp.printable import printable
from dcomp.result.fit import Fit
from dcomp.result.storage import load, save
from dcomp.result.stored_state import model_entry
from dcomp.version import package_version

ORDER = "order.json"
FORMAT = "dcomp-checkpoint"
SHARE = 0.02  # of a fit's time that checkpoints by the clock may take
_LARGEST_ORDER = 1 << 20  # bytes


@dataclass(frozen=True)
class Checkpoint:
    """Where a fit keeps what it has reached, and how often: every so many `minutes`, `sweeps`, or
    whichever comes first. None: not by that.

    By the clock, checkpoints are further apart where writing one takes longer than 2 % of that
    time; by sweeps they come as they are told to.

    >>> Checkpoint("run", minutes=None, sweeps=100)
    Checkpoint(folder='run', minutes=None, sweeps=100)
    """

    folder: str | os.PathLike[str]
    minutes: float | None = 10.0
    sweeps: int | None = None

    def __post_init__(self) -> None:
        try:
            os.fspath(self.folder)
        except TypeError:
            raise InvalidParameter(
                f"checkpoint must be a folder, or a Checkpoint; got {self.folder!r}"
            ) from None
        if self.minutes is None and self.sweeps is None:
            raise InvalidParameter("a checkpoint needs minutes, sweeps or both; got neither")
        if self.minutes is not None and not 0 <= self.minutes < float("inf"):
            raise InvalidParameter(
                f"minutes of a checkpoint must be at least 0 and finite; got {self.minutes}"
            )
        whole = isinstance(self.sweeps, int) and not isinstance(self.sweeps, bool)
        if self.sweeps is not None and not (whole and self.sweeps >= 1):
            raise InvalidParameter(
                f"sweeps of a checkpoint must be a whole number, 1 or more; got {self.sweeps!r}"
            )

    @classmethod
    def told(cls, given: Checkpoint | str | os.PathLike[str]) -> Checkpoint:
        """As it was given: a folder alone is kept every ten minutes."""
        return given if isinstance(given, cls) else cls(given)  # type: ignore[arg-type]


CheckpointLike = Checkpoint | str | os.PathLike[str] | None


@dataclass(frozen=True)
class Order:
    """What a fit was told, as far as its answer depends on it; `max_iter` may be raised later."""

    fingerprint: str  # of the counts; the next are digests
    model: str
    algorithm: str
    exposure: str
    allowed: str
    earlier: str  # of the fit that is gone on from
    parts: str
    seed: int
    n_chains: int
    tol: float

    @classmethod
    def build(
        cls,
        observed: Observations,
        model: Model,
        algorithm: Algorithm,
        earlier: Run | None,
        **plain: Any,
    ) -> Order:
        """From what a fit is made of."""
        entry, arrays = model_entry(model)
        allowed, exposure = observed.allowed, observed.exposure
        masks = () if allowed is None else (allowed.group, allowed.masks)
        return cls(
            model=_digest([entry, sorted(arrays)], *(arrays[name] for name in sorted(arrays))),
            algorithm=_digest(algorithm.stored()),
            exposure=_digest(None, *(() if exposure is None else (exposure,))),
            allowed=_digest(None, *masks),
            earlier=_digest(None if earlier is None else [r.objective for r in earlier.history]),
            parts=_digest(observed.counts.firsts),
            **plain,
        )

    def as_record(self) -> dict[str, Any]:
        """For a file."""
        return dict(vars(self))

    def differences(self, record: Mapping[str, Any]) -> list[str]:
        """In what a file's order is another, in words."""
        own = self.as_record()
        return [_IN_WORDS[name] for name in own if own[name] != record.get(name)]


_IN_WORDS = {
    "fingerprint": "the counts",
    "model": "the model and its priors",
    "algorithm": "the algorithm and its options",
    "exposure": "the exposure",
    "allowed": "the components that documents may use",
    "earlier": "the fit that is resumed",
    "parts": "the parts of the corpus",
    "seed": "the seed",
    "n_chains": "the number of chains",
    "tol": "tol",
}


def _digest(about: Any, *arrays: Any) -> str:
    found = blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=16)
    for array in arrays:
        found.update(f"{array.dtype.str}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


class Kept:
    """The folder of one fit."""

    def __init__(
        self, checkpoint: Checkpoint, order: Order, max_iter: int, as_fit: Callable[..., Fit]
    ) -> None:
        """Opened, or made; an error where it cannot be written to, or belongs to another fit.
        `as_fit` makes the fit of a chain from its seed and its run."""
        self._checkpoint, self._max_iter, self._as_fit = checkpoint, max_iter, as_fit
        self.folder = Path(checkpoint.folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(
                f"{printable(self.folder)} is a file; checkpoints need a folder"
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        check_place(resolved(self.folder / ORDER), overwrite=True)
        if (self.folder / ORDER).exists():
            self._check_order(order)
        elif any(self.folder.glob("chain-*.dcomp")):
            raise InvalidFile(
                f"{self.folder}: has checkpoints, and no {ORDER} that says of what; give another "
                "folder"
            )
        else:
            record = {"format": FORMAT, "version": 1, **_maker(), **order.as_record()}
            with atomic_write(self.folder / ORDER) as stream:
                stream.write(json.dumps(record, indent=1).encode())

    def _check_order(self, order: Order) -> None:
        path = self.folder / ORDER
        record = _read_order(path)
        others = order.differences(record)
        if others:
            raise InvalidFile(
                f"{self.folder}: has the checkpoints of another fit, which differs in "
                f"{', '.join(others)}; give another folder, or the same call as then"
            )
        changed = [name for name, value in _maker().items() if record.get(name) != value]
        if changed:
            was = ", ".join(f"{name} {record.get(name)}" for name in changed)
            now = ", ".join(f"{name} {_maker()[name]}" for name in changed)
            warn(
                f"the checkpoints in {printable(self.folder)} are of {was}, this is {now}: the "
                "fit goes on, but its last digits may be others than they would have been",
                CheckpointWarning,
            )

    def run(
        self,
        number: int,
        seed: int,
        finish: Callable[[State], State],
        go: Callable[..., Run],
        earlier: Run | None,
    ) -> Run:
        """A chain from where it had come to; `finish` is the algorithm's, `go` runs it."""
        path = self.folder / f"chain-{number}.dcomp"
        found = self._found(path, seed)
        if found is not None and self._is_over(found, path):
            return found
        keeper = _Keeper(path, self._checkpoint, finish, lambda run: self._as_fit(seed, run))
        outcome = go(resume=earlier if found is None else found, after_sweep=keeper)
        try:
            keeper.write(outcome)
        except KeyboardInterrupt:  # what was reached is not lost for it
            return replace(outcome, reason=INTERRUPTED)
        return outcome

    def _found(self, path: Path, seed: int) -> Run | None:
        if not path.exists():
            return None
        fit = load(path)
        if fit.seed != seed:
            raise InvalidFile(f"{path}: a chain of seed {fit.seed}, and not of {seed}")
        return Run(fit.state, fit.history.rows, fit.reason)

    def _is_over(self, found: Run, path: Path) -> bool:
        if found.state.sweep > self._max_iter:
            raise InvalidParameter(
                f"max_iter counts all sweeps, and {found.state.sweep} are done in "
                f"{printable(path)}; got {self._max_iter}"
            )
        return found.reason in (CONVERGED, ROUNDING) or found.state.sweep == self._max_iter


class _Keeper:
    """Writes what a chain has reached, when it is time to."""

    def __init__(
        self,
        path: Path,
        checkpoint: Checkpoint,
        finish: Callable[[State], State],
        as_fit: Callable[[Run], Fit],
    ) -> None:
        self._path, self._when, self._finish, self._as_fit = path, checkpoint, finish, as_fit
        self._written, self._took = time.monotonic(), 0.0  # when the last one was, and how long
        self._kept = 0  # sweeps in the last whole file

    def __call__(self, state: State, history: Sequence[Info]) -> None:
        if self._is_due(state.sweep):
            begun = time.monotonic()
            self.write(Run(self._finish(state), tuple(history), INTERRUPTED))
            self._written = time.monotonic()
            self._took = self._written - begun

    def _is_due(self, sweep: int) -> bool:
        by_sweeps, minutes = self._when.sweeps, self._when.minutes
        if by_sweeps is not None and sweep % by_sweeps == 0:
            return True
        if minutes is None:
            return False
        return time.monotonic() - self._written >= max(60 * minutes, self._took / SHARE)

    def write(self, run: Run) -> None:
        """The file anew; a warning where that cannot be."""
        try:
            save(self._as_fit(run), self._path, overwrite=True)
            self._kept = run.state.sweep
        except OSError as error:
            last = f"that of sweep {self._kept}" if self._kept else "what was there"
            warn(
                f"sweep {run.state.sweep} could not be kept in {printable(self._path)} "
                f"({error.strerror or error}): {last} is as it was, and the fit goes on",
                CheckpointWarning,
            )


def _maker() -> dict[str, str]:
    """What the last digits depend on beside the order."""
    return {
        "dcomp": package_version(),
        "numpy": np.__version__,
        "instruction_set": _core.instruction_set(),
    }


def _read_order(path: Path) -> dict[str, Any]:
    """What a folder's file says; an InvalidFile where it is none."""
    if path.stat().st_size > _LARGEST_ORDER:
        raise InvalidFile(f"{path}: too large for what it should say")
    content = path.read_bytes()
    budget = Budget(path, Limits())
    budget.trust(len(content))
    try:
        record = parse_json(content, budget, "its order", nan=False)
    except ValueError as error:
        raise InvalidFile(f"{path}: damaged ({error}); give another folder") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InvalidFile(f"{path}: not what dcomp keeps beside checkpoints; give another folder")
    if record.get("version") != 1:
        raise InvalidFile(
            f"{path}: of version {record.get('version')!r}, which this dcomp does not know"
        )
    return record
