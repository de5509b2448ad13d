"""State: what the next sweep needs, and what the recorded ones left.

It has two halves. `Global` is small beside the documents and goes to every worker: the model with
its hyper-parameters, n or what stands for it, the recorded loadings. `Local` belongs to the
documents of one part and stays where they are: c, z, η, their recorded sums and draws. A task takes
both and gives back a new Local with statistics that add (`executors.base`); nothing is ever written
to.

| of a fit | Global | Local |
|---|---|---|
| words per component | n (J, K) | c (I, K) |
| assignments |  | z, and the native counts that follow it: `handle` |
| recorded sums | E[Θ], how many, Υ of the corpus | c, zeros, E[scores], scores of leaves |
| draws | sweep, hyper-parameters, Θ | scores, assignments |
| carried along | numbers, arrays of features | arrays of documents: η, the best c, leaves' words |
| endings of chains | all |  |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dcomp.executors import Executor
from dcomp.models import Model, Observations
from dcomp.models.arrays import FloatArray, large_array, read_only
from dcomp.models.scratch import owner_of

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Recorded:
    """Sums over the recorded sweeps of a sampler: of Θ and c, and of what the score prior asks for
    (`Scores.slots`)."""

    Theta: npt.NDArray[np.float32]  # (J, K): of E[Θ | n]
    c: npt.NDArray[np.float32]  # (I, K)
    zeros: npt.NDArray[np.float32] | None  # (I, K): sweeps with c = 0
    count: int
    scores: npt.NDArray[np.float32] | None = None  # (I, K): of E[scores | c]
    own: Mapping[str, npt.NDArray[np.float32]] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordedLoadings:
    """The half of `Recorded` that belongs to the corpus."""

    Theta: npt.NDArray[np.float32]
    count: int
    own: Mapping[str, npt.NDArray[np.float32]] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordedDocuments:
    """The half of `Recorded` that belongs to documents."""

    c: npt.NDArray[np.float32]
    zeros: npt.NDArray[np.float32] | None
    scores: npt.NDArray[np.float32] | None = None
    own: Mapping[str, npt.NDArray[np.float32]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Draw:
    """One draw from the posterior; None for what was not asked for. Arrays are never written to."""

    sweep: int
    hyper: Mapping[str, FloatArray]  # the priors of that sweep, by name
    scores: npt.NDArray[np.float32] | None = None  # (I, K)
    Theta: npt.NDArray[np.float32] | None = None  # (J, K): columns sum to 1 within each block
    assignments: npt.NDArray[np.uint16] | None = None  # (T): component of each token, by entry


@dataclass(frozen=True, eq=False)
class DrawnDocuments:
    """The half of `Draw` that belongs to documents."""

    scores: npt.NDArray[np.float32] | None = None
    assignments: npt.NDArray[np.uint16] | None = None


@dataclass(frozen=True, eq=False)
class Carried:
    """What an algorithm carries from sweep to sweep beside c and n: a dataclass of arrays and
    numbers, which a file stores under the names of its fields. Those `of_documents` have a row for
    each; they are None in Global, where they are not known."""

    @classmethod
    def of_documents(cls, model: Model) -> tuple[str, ...]:
        """Which fields belong to documents."""
        return ()

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """By name; a number is an array of no axes, and None is left out."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: np.asarray(value) for name, value in values.items() if value is not None}

    @classmethod
    def restored(cls, arrays: Arrays) -> Self:
        """The way back from `arrays`; a TypeError where one is missing or unknown."""
        return cls(**{name: a if a.ndim else a.item() for name, a in arrays.items()})

    def scores(self, model: Model, exposure: FloatArray) -> FloatArray | None:
        """Scores of the documents, where c alone does not give them."""
        return None

    def check(self, model: Model, c: npt.NDArray[Any], n: npt.NDArray[Any]) -> None:
        """A ValueError where this cannot be of these documents and features: here, unless every
        array is a companion of c or of n."""
        for name, array in self.arrays().items():
            if array.shape not in ((), c.shape, n.shape):
                raise ValueError(f"{name} has the shape {array.shape} of neither c nor n")


@dataclass(frozen=True, eq=False)
class Global:
    """What every worker is told."""

    model: Model  # with the hyper-parameters as they stand now
    n: npt.NDArray[Any]  # (J, K): words of each feature per component, expected or drawn; a
    # collapsed sampler of one part has no rows here until it has finished
    sweep: int  # complete sweeps so far
    seed: int = 0
    recorded: RecordedLoadings | None = None
    draws: tuple[Draw, ...] = ()  # kept so far
    carried: Carried | None = None  # of the type that the algorithm says


@dataclass(frozen=True, eq=False)
class Local:
    """What the documents of a part have left."""

    c: npt.NDArray[Any]  # (I, K): words of each document per component, expected or drawn; a
    # collapsed sampler reads c from z when it has finished
    z: npt.NDArray[np.uint16] | None = None  # component (of ST pair) of each token, in the
    # sampler's order
    recorded: RecordedDocuments | None = None
    draws: tuple[DrawnDocuments, ...] = ()
    carried: Arrays = field(default_factory=dict)  # `Carried.of_documents`
    handle: object = field(default=None, repr=False)  # a worker's own; rebuilt from the rest

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: None if f.name == "handle" else getattr(self, f.name) for f in fields(self)}

    @classmethod
    def joined(cls, parts: Sequence[Local]) -> Local:
        """The documents of all parts as one; of one part itself."""
        if len(parts) == 1:
            return parts[0]
        first = parts[0]
        return cls(
            _stacked([part.c for part in parts]),
            None if first.z is None else _stacked([part.z for part in parts]),
            _joined(RecordedDocuments, [part.recorded for part in parts]),
            tuple(
                _joined(DrawnDocuments, list(draws))
                for draws in zip(*(part.draws for part in parts), strict=True)
            ),
            {name: _stacked([part.carried[name] for part in parts]) for name in first.carried},
        )

    def cut(self, documents: slice, tokens: slice) -> Local:
        """Those of a run of documents, whose tokens are these."""
        return Local(
            self.c[documents] if len(self.c) else self.c,
            None if self.z is None else self.z[tokens],
            None if self.recorded is None else _cut(self.recorded, documents),
            tuple(
                DrawnDocuments(
                    None if draw.scores is None else draw.scores[documents],
                    None if draw.assignments is None else draw.assignments[tokens],
                )
                for draw in self.draws
            ),
            {name: array[documents] for name, array in self.carried.items()},
        )


@dataclass(frozen=True, eq=False)
class State:
    """Both halves. While an algorithm runs, the documents' half is where the executor has it, and
    tasks alone look at it; a finished state has it in one piece."""

    shared: Global
    locals: Sequence[Local]
    firsts: tuple[int, ...] = (0,)  # how the corpus was cut: the first document of each part

    @classmethod
    def whole(
        cls,
        model: Model,
        c: npt.NDArray[Any],
        n: npt.NDArray[Any],
        sweep: int,
        seed: int = 0,
        z: npt.NDArray[np.uint16] | None = None,
        recorded: Recorded | None = None,
        draws: tuple[Draw, ...] = (),
        carried: Carried | None = None,
        firsts: tuple[int, ...] = (0,),
    ) -> State:
        """From what belongs to the corpus and to all its documents."""
        of_loadings, of_documents = _halves(recorded, model)
        kept: dict[str, npt.NDArray[Any]] = {}
        if carried is not None:
            arrays = carried.arrays()
            kept = {name: arrays[name] for name in carried.of_documents(model) if name in arrays}
            changes: Any = dict.fromkeys(kept)
            carried = replace(carried, **changes)
        bare = tuple(replace(draw, scores=None, assignments=None) for draw in draws)
        drawn = tuple(DrawnDocuments(draw.scores, draw.assignments) for draw in draws)
        return cls(
            Global(model, n, sweep, seed, of_loadings, bare, carried),
            (Local(c, z, of_documents, drawn, kept),),
            firsts,
        )

    def changed(self, **changes: Any) -> State:
        """With other values of what `whole` takes."""
        names = ("model", "c", "n", "sweep", "seed", "z", "recorded", "draws", "carried", "firsts")
        return State.whole(**{name: getattr(self, name) for name in names} | changes)

    def gathered(self, executor: Executor) -> State:
        """With the documents' half here and in one piece."""
        return replace(self, locals=(Local.joined(executor.gather(self.locals)),))

    def cut(self, parts: Sequence[Observations]) -> State:
        """With the documents' half in parts: the way back from `gathered`."""
        if len(parts) == 1:
            return self
        local = self.local
        ends = np.cumsum([0, *(part.counts.n_tokens for part in parts)]).tolist()
        pieces = [
            local.cut(slice(part.first, part.first + part.counts.n_docs), slice(*tokens))
            for part, tokens in zip(parts, pairwise(ends), strict=True)
        ]
        return replace(self, locals=pieces, firsts=tuple(part.first for part in parts))

    @cached_property
    def local(self) -> Local:
        """All documents."""
        return Local.joined(self.locals)

    @property
    def model(self) -> Model:
        """With the hyper-parameters as they stand now."""
        return self.shared.model

    @property
    def n(self) -> npt.NDArray[Any]:
        """(J, K): words of each feature per component."""
        return self.shared.n

    @property
    def sweep(self) -> int:
        """Complete sweeps so far."""
        return self.shared.sweep

    @property
    def seed(self) -> int:
        """Of the chain."""
        return self.shared.seed

    @property
    def c(self) -> npt.NDArray[Any]:
        """(I, K): words of each document per component."""
        return self.local.c

    @property
    def z(self) -> npt.NDArray[np.uint16] | None:
        """Component (of ST pair) of each token, in the sampler's order within each part."""
        return self.local.z

    @cached_property
    def recorded(self) -> Recorded | None:
        """Sums over the recorded sweeps."""
        loadings, documents = self.shared.recorded, self.local.recorded
        if loadings is None or documents is None:
            return None
        own = {**loadings.own, **documents.own}
        of_documents = (documents.c, documents.zeros)
        return Recorded(loadings.Theta, *of_documents, loadings.count, documents.scores, own)

    @cached_property
    def draws(self) -> tuple[Draw, ...]:
        """Kept so far."""
        return tuple(
            replace(draw, scores=own.scores, assignments=own.assignments)
            for draw, own in zip(self.shared.draws, self.local.draws, strict=True)
        )

    @cached_property
    def carried(self) -> Carried | None:
        """What the algorithm carries along, of the corpus and its documents."""
        own: Any = self.local.carried
        carried = self.shared.carried
        return replace(carried, **own) if carried is not None and own else carried


def _halves(
    recorded: Recorded | None, model: Model
) -> tuple[RecordedLoadings | None, RecordedDocuments | None]:
    if recorded is None:
        return None, None
    own = dict(recorded.own)
    of_documents = {name: own.pop(name) for name in model.scores.slots.of_documents if name in own}
    return (
        RecordedLoadings(recorded.Theta, recorded.count, own),
        RecordedDocuments(recorded.c, recorded.zeros, recorded.scores, of_documents),
    )


def _stacked(arrays: Sequence[Any]) -> npt.NDArray[Any]:
    """One above the other, in memory that is given back when it is let go, or in a file if the
    first of them is in one."""
    shape = (sum(len(array) for array in arrays), *arrays[0].shape[1:])
    where = owner_of(arrays[0])
    out = (large_array if where is None else where.array)(shape, arrays[0].dtype)
    np.concatenate(arrays, out=out)
    return read_only(out)


def _joined(kind: type[Any], parts: Sequence[Any]) -> Any:
    """A dataclass of arrays with a row per document, from those of the parts."""
    if parts[0] is None:
        return None

    def one(name: str) -> Any:
        values = [getattr(part, name) for part in parts]
        if isinstance(values[0], Mapping):
            return {key: _stacked([value[key] for value in values]) for key in values[0]}
        return None if values[0] is None else _stacked(values)

    return kind(*(one(f.name) for f in fields(kind)))


def _cut(recorded: RecordedDocuments, documents: slice) -> RecordedDocuments:
    return RecordedDocuments(
        recorded.c[documents],
        None if recorded.zeros is None else recorded.zeros[documents],
        None if recorded.scores is None else recorded.scores[documents],
        {name: array[documents] for name, array in recorded.own.items()},
    )
