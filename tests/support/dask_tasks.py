"""Tasks that workers of a Dask cluster can import."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import dcomp
from dcomp.executors import dask_worker
from dcomp.inference import Gibbs
from dcomp.models import DirichletMultinomial

MODEL, GIBBS = DirichletMultinomial.build(2, alpha=0.3, gamma=0.1), Gibbs(burn_in=1)


def slow(part, local, shared, n_threads):
    """A part that takes its time, so that a worker can die meanwhile."""
    time.sleep(0.3)
    return part, np.array([float(part)])


def grown(part, local, shared, n_threads):
    """A state that shows which calls it has seen."""
    return (local or 0) * 10 + shared, None


def measured(part, local, shared, n_threads):
    """A state that shows how much each call has told."""
    return (*(local or ()), len(shared)), None


def endless(part, local, shared, n_threads):
    """Goes on until it is stopped; the file says that it has begun."""
    Path(shared).touch()
    while dcomp.fit(part, MODEL, GIBBS, max_iter=100, n_jobs=1).reason != "interrupted":
        pass
    raise KeyboardInterrupt


def n_running():
    """Tasks that are under way on this worker."""
    return len(dask_worker._running)


def failing(part, local, shared, n_threads):
    """What is wrong with documents is found on a worker."""
    raise dcomp.InvalidCounts(f"{part.n_docs} documents are wrong")
