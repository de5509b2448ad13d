"""Tasks that workers of a Dask cluster can import."""

from __future__ import annotations

import time

import numpy as np

import dcomp


def slow(part, local, shared, n_threads):
    """A part that takes its time, so that a worker can die meanwhile."""
    time.sleep(0.3)
    return part, np.array([float(part)])


def grown(part, local, shared, n_threads):
    """A state that shows which calls it has seen."""
    return (local or 0) * 10 + shared, None


def failing(part, local, shared, n_threads):
    """What is wrong with documents is found on a worker."""
    raise dcomp.InvalidCounts(f"{part.n_docs} documents are wrong")
