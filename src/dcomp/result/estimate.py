"""What a fit of a corpus in a file will take: memory, disk, and the time of a sweep.

With I documents, J features, K components, and the largest part of I' documents and E' entries:

memory   100 MB + 24·J·K + 12·I'·K + 8·E' + 60·I bytes
disk     36·I·K bytes, and 20·J·K for sums of parts where there are more than two
time     a·T + b·J·K seconds for a sweep of T tokens, with a and b measured here, by two short fits
         of the first documents

They are tables of four bytes a number, as many as were seen (docs/guides/scale.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dcomp.data import Counts
from dcomp.errors import DcompError
from dcomp.inference import Algorithm
from dcomp.io.limits import in_bytes
from dcomp.models import Model

_BASE = 100_000_000  # bytes, and these for each
_OF_LOADING, _OF_PART, _OF_ENTRY, _OF_DOCUMENT = 24, 12, 8, 60
_OF_SCORE, _OF_SUM = 36, 20  # on the disk
_FEW, _MORE = 500, 2_500  # documents of short fits
_SWEEPS = 5


@dataclass(frozen=True)
class Estimate:
    """Bytes, and seconds of a sweep where they could be measured.

    >>> print(Estimate(1_500_000_000, 8_000_000_000, 90.0))
    about 1.5 GB of memory, 8 GB of disk while it runs, and 90 s a sweep
    """

    memory: int
    disk: int
    seconds: float | None = None

    def __str__(self) -> str:
        size = f"about {in_bytes(self.memory)} of memory, {in_bytes(self.disk)} of disk"
        if self.seconds is None:
            return f"{size} while it runs"
        time = f"{self.seconds:.0f}" if self.seconds >= 10 else f"{self.seconds:.1g}"
        return f"{size} while it runs, and {time} s a sweep"


def estimate(counts: Counts, model: Model, algorithm: Algorithm, **how: Any) -> Estimate:
    """What a fit of these counts will take. `how`: options of `fit`, for the time.

    >>> from dcomp.inference import MeanField
    >>> from dcomp.models import DirichletMultinomial
    >>> counts = Counts.from_matrix([[3, 1, 0], [0, 1, 4]])
    >>> print(estimate(counts, DirichletMultinomial.build(2), MeanField()))
    about 100 MB of memory, 144 bytes of disk while it runs
    """
    K, J, I = model.n_components, counts.n_features, counts.n_docs  # noqa: E741 as in MODELS
    ends = np.array([*counts.firsts, I])
    documents, entries = np.diff(ends), np.diff(counts.indptr[ends])
    part = int((_OF_PART * K * documents + _OF_ENTRY * entries).max())
    memory = _BASE + _OF_LOADING * J * K + part + _OF_DOCUMENT * I
    disk = _OF_SCORE * I * K + (_OF_SUM * J * K if len(documents) > 2 else 0)
    return Estimate(memory, disk, _seconds(counts, model, algorithm, how))


def _seconds(
    counts: Counts, model: Model, algorithm: Algorithm, how: dict[str, Any]
) -> float | None:
    """Of a sweep; None where there are few documents, or too short a fit is none."""
    from dcomp.result.fitting import fit

    if counts.n_docs < 4 * _MORE:
        return None
    known = {name: how[name] for name in ("n_jobs", "seed") if name in how}
    found = []
    for n_docs in (_FEW, _MORE):
        some = counts.rows(slice(0, n_docs))
        try:
            short = fit(some, model, algorithm, max_iter=_SWEEPS, tol=0, warn=False, **known)
        except DcompError:  # of a schedule that is longer
            return None
        found.append((some.n_tokens, min(row.seconds for row in short.history.rows[1:])))
    return from_two(found, counts.n_tokens)


def from_two(found: Sequence[tuple[float, float]], n_tokens: float) -> float:
    """Seconds for so many tokens, from tokens and seconds of two runs: a line, which does not fall.

    >>> from_two([(10, 1.5), (30, 2.5)], 110)
    6.5
    """
    ((few, one), (more, other)) = next(pairwise(found))
    slope = max(other - one, 0.0) / max(more - few, 1)
    return one + slope * (n_tokens - few)
