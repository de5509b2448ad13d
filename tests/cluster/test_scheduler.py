"""A scheduler that dies and does not come back."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from support.cells import same
from support.dask_tasks import grown

import dcomp
from dcomp.errors import ClusterError
from dcomp.executors import DaskExecutor, LocalExecutor
from dcomp.inference import Gibbs
from dcomp.models import DirichletMultinomial

distributed = pytest.importorskip("distributed", reason='needs pip install "dcomp[dask]"')

MODEL, GIBBS = DirichletMultinomial.build(4, alpha=0.3, gamma=0.1), Gibbs(burn_in=6)
GONE = r"must be open; it is closed, .* scheduler could not be reached .* last checkpoint"


def started(name, *words):
    command = [sys.executable, "-m", f"distributed.cli.dask_{name}", "--no-dashboard", *words]
    path = os.pathsep.join(entry for entry in sys.path if entry)  # they import our tasks, too
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": path}, **silent)


@pytest.fixture
def apart(tmp_path):
    """A scheduler in a process of its own with one worker, and a client that gives up soon."""
    file = tmp_path / "scheduler.json"
    scheduler = started("scheduler", "--host", "127.0.0.1:0", "--scheduler-file", str(file))
    processes = [scheduler]
    try:
        while not file.exists():
            time.sleep(0.05)
        processes.append(started("worker", "--no-nanny", "--scheduler-file", str(file)))
        how = {"scheduler_file": str(file), "set_as_default": False, "timeout": 20}
        with distributed.Client(**how) as client:
            client._timeout = 2  # from now on, for coming back
            yield scheduler, client
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_a_fit_ends_with_an_error_and_goes_on_from_its_checkpoint(apart, counts, tmp_path):
    scheduler, client = apart
    how = {"max_iter": 18, "tol": 0}
    keep = dcomp.Checkpoint(tmp_path / "run", sweeps=5)

    def die(info) -> None:
        if info.sweep == 7:
            scheduler.kill()

    with DaskExecutor(client) as executor, pytest.raises(ClusterError, match=GONE):
        dcomp.fit(counts, MODEL, GIBBS, **how, executor=executor, callbacks=[die], checkpoint=keep)
    assert dcomp.load(tmp_path / "run" / "chain-0.dcomp").n_sweeps == 5
    again = dcomp.fit(counts, MODEL, GIBBS, **how, n_jobs=1, checkpoint=keep)
    assert same(again, dcomp.fit(counts, MODEL, GIBBS, **how, executor=LocalExecutor(1)))


def test_states_are_made_again_on_another_cluster(apart, counts, executor):
    """The client has a copy, and the calls since: nothing of the first cluster is needed."""
    scheduler, client = apart
    parts = [counts.rows(slice(0, 5)), counts.rows(slice(5, 9))]
    with DaskExecutor(client, copy_every=3) as first:
        states = [None, None]
        for n in range(1, 6):
            states, _ = first.map_reduce(grown, parts, states, n)
        scheduler.kill()
        with pytest.raises(ClusterError, match=GONE):
            first.map_reduce(grown, parts, states, 6)
        assert executor.gather(states) == [12345, 12345]
