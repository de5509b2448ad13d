"""Shares of the same rows under several numbers of components, with like components in like places,
so that a picture can give them one colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidParameter
from dcomp.models.arrays import FloatArray


def align_shares(tables: Sequence[Any]) -> list[npt.NDArray[np.intp]]:
    """A place for every component of every table, (rows, K) each: the component of the next table
    that has most of its shares in common with one before takes its place (Σ_i min(q_ik, r_ik), best
    sum over pairs); what is new takes the next free place. The first table keeps its own.

    >>> two = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> three = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    >>> [places.tolist() for places in align_shares([two, three])]
    [[0, 1], [1, 2, 0]]
    """
    from scipy.optimize import linear_sum_assignment

    known = [np.asarray(table, np.float64) for table in tables]
    if not known or any(t.ndim != 2 or len(t) != len(known[0]) for t in known):
        raise InvalidParameter("tables must have a row for each of the same documents")
    places = [np.arange(known[0].shape[1])]
    last: FloatArray = known[0]
    for table in known[1:]:
        common = np.minimum(last[:, :, None], table[:, None, :]).sum(axis=0)  # (before, now)
        before, now = linear_sum_assignment(-common)
        place = np.full(table.shape[1], -1)
        place[now] = places[-1][before]
        taken = set(place.tolist())
        free = (p for p in range(place.size + max(taken) + 1) if p not in taken)
        for k in np.flatnonzero(place < 0):
            place[k] = next(free)
        places.append(place)
        last = table
    return places
