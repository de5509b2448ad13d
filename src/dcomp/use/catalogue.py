"""Published signatures: a table of mutation types by signature, brought to the types of a fit.

Files name types in several ways: `C>A` and `ACA` in two columns, `A[C>A]A` in one. All are brought
to the last; a name that is none of these stands for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dcomp.data import Counts
from dcomp.data.mutations import type_name
from dcomp.errors import InvalidCounts, InvalidParameter
from dcomp.io.limits import Limits
from dcomp.io.mutation_types import read_types
from dcomp.models.arrays import FloatArray, read_only


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Signatures and their loadings; each sums to 1 over the types.

    >>> table = Catalogue(("SBS1", "SBS2"), ("C>A ACA", "C>A ACC"), [[0.25, 0.75], [1.0, 0.0]])
    >>> table.types
    ('A[C>A]A', 'A[C>A]C')
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    loadings: FloatArray  # (signatures, types)

    def __post_init__(self) -> None:
        loadings = np.array(self.loadings, np.float64)
        shape = (len(self.names), len(self.types))
        if loadings.shape != shape or not loadings.size:
            raise InvalidParameter(
                f"a catalogue must have a loading for each of its {shape[0]} signatures and "
                f"{shape[1]} types; got shape {loadings.shape}"
            )
        if not (np.isfinite(loadings).all() and (loadings >= 0).all()):
            raise InvalidParameter("loadings of a catalogue must be non-negative and finite")
        totals = loadings.sum(axis=1, keepdims=True)
        if not totals.all():
            empty = self.names[int(np.argmin(totals))]
            raise InvalidParameter(f"a signature must have a type; {empty!r} has none")
        types = tuple(map(type_name, self.types))
        for what, given in (("types", types), ("signatures", self.names)):
            if len(set(given)) < len(given):
                twice = next(name for name in given if given.count(name) > 1)
                raise InvalidParameter(
                    f"{what} of a catalogue must differ; {twice!r} is there twice"
                )
        object.__setattr__(self, "types", types)
        object.__setattr__(self, "loadings", read_only(loadings / totals))

    @classmethod
    def of(cls, thing: Any, limits: Limits | None = None) -> Catalogue:
        """From a path, from Counts with a document per signature, or as it is."""
        if isinstance(thing, Catalogue):
            return thing
        counts = thing
        if isinstance(thing, str | Path):
            counts = read_types(Path(thing), fractional=True, limits=limits)
        if not isinstance(counts, Counts):
            raise InvalidParameter(
                "a reference must be a path, a Catalogue, or Counts with a document per signature; "
                f"got {type(thing).__name__}"
            )
        names = counts.doc_ids or tuple(map(str, range(counts.n_docs)))
        return cls(names, feature_names(counts), counts.to_scipy().toarray())

    def aligned_to(self, types: Iterable[str]) -> Aligned:
        """The same signatures over these types, in their order."""
        wanted = [type_name(name) for name in types]
        place = {name: j for j, name in enumerate(self.types)}
        known = [name for name in wanted if name in place]
        if not known:
            raise InvalidParameter(
                f"the reference has none of the types: it names them {_some(self.types)}, the "
                f"table {_some(wanted)}"
            )
        loadings = np.zeros((len(self.names), len(wanted)))
        for j, name in enumerate(wanted):
            if name in place:
                loadings[:, j] = self.loadings[:, place[name]]
        there = set(wanted)
        return Aligned(
            self.names,
            read_only(loadings),
            tuple(name for name in wanted if name not in place),
            tuple(name for name in self.types if name not in there),
        )


@dataclass(frozen=True, eq=False)
class Aligned:
    """A catalogue over the types of a table; a type that it does not know has no loading."""

    names: tuple[str, ...]
    loadings: FloatArray  # (signatures, types of the table)
    unknown: tuple[str, ...]  # types of the table that the catalogue has not
    spare: tuple[str, ...]  # types of the catalogue that the table has not

    def __str__(self) -> str:
        known = self.loadings.shape[1] - len(self.unknown)
        out = f"{known} of {self.loadings.shape[1]} types are those of the reference"
        if self.unknown:
            out += f"; it has no {_some(self.unknown)}"
        if self.spare:
            out += f"; the table has no {_some(self.spare)}"
        return out


def feature_names(counts: Counts) -> tuple[str, ...]:
    """The types of a table, which must have names."""
    if counts.features.names is None:
        raise InvalidCounts("signatures are matched by the names of mutation types; there are none")
    return counts.features.names


def _some(names: Sequence[str], n: int = 3) -> str:
    return ", ".join(names[:n]) + (f" and {len(names) - n} more" if len(names) > n else "")
