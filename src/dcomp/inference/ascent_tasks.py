"""What a climb does to every part of the documents (`ascent`).

Carried is a c of the documents: between sweeps of a climb that of where the next one begins, and
while a sweep is looked at that of where the one before it had arrived.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcomp.inference.base import FloatingArray
from dcomp.inference.mean_field import Allocation
from dcomp.inference.momentum import further
from dcomp.inference.rest import rested, settled
from dcomp.inference.state import Local
from dcomp.inference.stopping import ROUNDING
from dcomp.models import Observations
from dcomp.models.arrays import read_only

LESS = 0.2  # what a push leaves of the words of a document's weakest component
LEAST_WORDS = 0.01  # of a component in a document
WARM = 30  # updates of documents that begin near their end: no more than kernels take for such
SURELY = 1e-3  # nats that a document must gain to be moved: less is what it had left to settle


def hold(part: Observations, local: Local, elsewhere: bool, n_threads: int) -> tuple[Local, None]:
    """The sweep begins here, or with what is carried; where the documents are is set aside."""
    start = local.carried["c"] if elsewhere else local.c
    return replace(local, c=start, carried={"c": local.c}), None


def give_up(part: Observations, local: Local, shared: None, n_threads: int) -> tuple[Local, None]:
    """Back to what was set aside."""
    return replace(local, c=local.carried["c"], carried={}), None


def let_go(part: Observations, local: Local, shared: None, n_threads: int) -> tuple[Local, None]:
    """Nothing is carried on."""
    return replace(local, carried={}), None


def go_further(
    part: Observations, local: Local, momentum: float, n_threads: int
) -> tuple[Local, None]:
    """The next sweep begins beyond where this one arrived."""
    c = further(local.carried["c"], local.c, momentum, n_threads)
    return replace(local, carried={"c": c}), None


def copy(part: Observations, local: Local, shared: None, n_threads: int) -> tuple[Local, None]:
    """A copy is carried, to be moved."""
    return replace(local, carried={"c": local.c}), None


def copy_at_rest(
    part: Observations, local: Local, how: Allocation, n_threads: int
) -> tuple[Local, None]:
    """A copy is carried whose documents are where they would be as new ones."""
    c, _ = rested(part, how, n_threads)
    return replace(local, carried={"c": read_only(c)}), None


def copy_sparser(
    part: Observations, local: Local, shared: None, n_threads: int
) -> tuple[Local, None]:
    """A copy is carried whose documents have less of their weakest component: most come back in
    the next sweeps, but one that was about to lose it does not."""
    return replace(local, carried={"c": read_only(with_less_of_weakest(local.c))}), None


def with_less_of_weakest(c: FloatingArray) -> FloatingArray:
    """Documents with most words of their weakest component given to the others, in proportion.
    One that has less than a hundredth of a word is there no more.

    >>> with_less_of_weakest(np.array([[5.0, 3.0, 2.0, 0.0], [5.0, 0.0, 0.0, 0.0]]))
    array([[6. , 3.6, 0.4, 0. ],
           [5. , 0. , 0. , 0. ]])
    """
    present = c > LEAST_WORDS
    weakest = np.where(present, c, np.inf).argmin(axis=1)
    rows = np.flatnonzero(present.sum(axis=1) > 1)
    at = (rows, weakest[rows])
    less, total = c.copy(), c.sum(axis=1)
    less[rows] *= ((total[rows] - LESS * c[at]) / (total[rows] - c[at]))[:, None]
    less[at] = LESS * c[at]
    return less


def rest(part: Observations, local: Local, shared: None, n_threads: int) -> tuple[Local, None]:
    """The state rests, and the copy is carried."""
    return replace(local, c=local.carried["c"], carried={"c": local.c}), None


def refold(
    part: Observations, local: Local, how: Allocation, n_threads: int
) -> tuple[Local, float]:
    """Documents settled from where they are, loadings given; carried are the better of these and
    of where they are as new ones, with the gain in nats."""
    c, value = settled(part, local.c, replace(how, max_inner=min(how.max_inner, WARM)), n_threads)
    other, other_value = rested(part, how, n_threads)
    gain = other_value - value
    better = gain > SURELY + ROUNDING[c.dtype.itemsize] * part.doc_totals
    carried = {"c": read_only(np.where(better[:, None], other, c))}
    return replace(local, c=read_only(c), carried=carried), float(gain[better].sum())


def take_better(
    part: Observations, local: Local, shared: None, n_threads: int
) -> tuple[Local, None]:
    """Documents move to what is carried."""
    return replace(local, c=local.carried["c"], carried={}), None


def come_to_rest(
    part: Observations, local: Local, how: Allocation, n_threads: int
) -> tuple[Local, None]:
    """Documents where they are as new ones; where the climb had them is carried."""
    c, _ = rested(part, how, n_threads)
    return replace(local, c=read_only(c), carried={"c": local.c}), None
