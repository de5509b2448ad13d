"""Where a fit comes from: enough to say what made it and whether the data are the same."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import scipy

from dcomp import _core
from dcomp.data import Counts, TextOptions
from dcomp.data.reading import Reading
from dcomp.errors import InvalidCounts
from dcomp.version import package_version


@dataclass(frozen=True)
class Provenance:
    """Versions, data fingerprint and time of a fit."""

    dcomp: str
    numpy: str
    scipy: str
    python: str
    instruction_set: str
    created: str
    data_fingerprint: str
    n_docs: int
    n_features: int
    n_tokens: int  # a float, their sum, where counts are fractional
    n_empty_docs: int
    fractional: bool = False  # whether counts were such that need not be whole
    text: TextOptions | None = None  # how words were found, where counts were of text
    reading: Reading | None = None  # how a table was read, where that had to be said

    @classmethod
    def from_counts(cls, counts: Counts) -> Provenance:
        """For a fit of these counts, now."""
        return cls(
            package_version(),
            np.__version__,
            scipy.__version__,
            platform.python_version(),
            _core.instruction_set(),
            datetime.now(UTC).isoformat(timespec="seconds"),
            counts.fingerprint(),
            counts.n_docs,
            counts.n_features,
            counts.n_tokens,
            int((counts.doc_totals == 0).sum()),
            counts.is_fractional,
            counts.text,
            counts.reading,
        )

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Provenance:
        """From what `as_record` made, and a file kept."""
        made = dict(record)
        for name, kind in (("text", TextOptions), ("reading", Reading)):
            if record.get(name) is not None:
                made[name] = kind.from_record(record[name])
        return cls(**made)

    def as_record(self) -> dict[str, Any]:
        """Plain numbers, text and lists; what says nothing is left out."""
        record = asdict(self)
        return {name: value for name, value in record.items() if value is not None}

    def require_same(self, other: Provenance, what: str) -> None:
        """An error unless the other is of the same counts; `what` needs that."""
        if self.data_fingerprint != other.data_fingerprint:
            raise InvalidCounts(
                f"{what} only on the counts that it was fitted to; these have "
                f"{other.n_docs} documents, {other.n_features} features, "
                f"{other.n_tokens} tokens, those had {self.n_docs}, "
                f"{self.n_features}, {self.n_tokens} (or other contents, names or blocks)"
            )
