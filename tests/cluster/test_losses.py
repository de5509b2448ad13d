"""Workers that die, connections that are cut, and interrupts."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time

import numpy as np
import pytest
from support.cells import same
from support.dask_tasks import endless, failing, grown, measured, n_running, slow

import dcomp
from dcomp.executors import DaskExecutor, LocalExecutor, dask_worker
from dcomp.executors.dask_lineage import Copies
from dcomp.inference import Gibbs, MeanField
from dcomp.models import DirichletMultinomial

distributed = pytest.importorskip("distributed", reason='needs pip install "dcomp[dask]"')
# Until ten runs in a row have gone well.
pytestmark = pytest.mark.skipif(
    "DCOMP_LOSSES" not in os.environ, reason="kills workers: set DCOMP_LOSSES=1 to try it"
)

MODEL = DirichletMultinomial.build(4, alpha=0.3, gamma=0.1)
WAYS = {
    "mean-field": MeanField(n_tries=1),
    "gibbs": Gibbs(burn_in=6),
}


def fitted(algorithm, counts, executor, *callbacks):
    how = {"max_iter": 18, "tol": 0, "callbacks": callbacks, "executor": executor}
    return dcomp.fit(counts, MODEL, algorithm, **how)


@pytest.fixture
def four():
    """An executor of four workers of its own: three may die and be missed for as long as it takes
    to start them again, which is up to their nannies."""
    how = {"n_workers": 4, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with (
        distributed.LocalCluster(**how) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        DaskExecutor(client, copy_every=4) as executor,
    ):
        yield client, executor


class Killer:
    """Kills a worker that has parts after each of these sweeps, in the middle of what comes next.
    It is one of the first four: of two that are left at least, some have parts."""

    def __init__(self, client, executor, sweeps) -> None:
        self._pids, self._cluster, self._sweeps = client.run(os.getpid), executor._cluster, sweeps
        self.timers: list[threading.Timer] = []

    def __call__(self, info) -> None:
        if info.sweep in self._sweeps:
            address = next(place for place in self._cluster.places(3) if place in self._pids)
            wait = 0.01 * len(self.timers)
            kill = (self._pids.pop(address), signal.SIGKILL)
            self.timers.append(threading.Timer(wait, os.kill, kill))
            self.timers[-1].start()


@pytest.mark.parametrize("name", ["mean-field", "gibbs"])
def test_three_deaths_change_nothing(name, counts, four):
    client, executor = four
    killer = Killer(client, executor, (3, 9, 15))
    here = fitted(WAYS[name], counts, LocalExecutor(1))
    there = fitted(WAYS[name], counts, executor, killer)
    assert len(killer.timers) == 3
    assert same(here, there)
    assert np.array_equal(here.state.c, there.state.c)


class Death:
    """Of the worker that has something, once, until the scheduler has seen it."""

    def __init__(self, client) -> None:
        self._pids, self._scheduler = client.run(os.getpid), client.cluster.scheduler
        self.of: str | None = None

    def holder(self, future) -> str:
        return next(iter(self._scheduler.tasks[future.key].who_has)).address

    def comes_to(self, address) -> bool:
        if self.of is None:
            self.of = address
            os.kill(self._pids[address], signal.SIGKILL)
        return address in self._scheduler.workers


@pytest.fixture
def parts(counts):
    return [counts.rows(slice(first, first + 9)) for first in (0, 9, 18)]


@pytest.mark.parametrize("what", ["total", "states"])
def test_a_worker_that_dies_while_its_result_is_brought(what, four, parts, monkeypatch):
    """Dask would wait for the result to be made again by the worker that has gone."""
    client, executor = four
    death, gather = Death(client), client.gather
    states, _ = executor.map_reduce(grown, parts, [None] * 3, 1)

    async def late(futures):
        if death.of is None:
            holder = death.holder(futures[0])
            while death.comes_to(holder):
                await asyncio.sleep(0.01)
        return await gather(futures)

    monkeypatch.setattr(client, "gather", late)
    if what == "total":
        states, _ = executor.map_reduce(grown, parts, states, 2)
        assert death.of is not None
    assert executor.gather(states) == [12 if what == "total" else 1] * 3
    assert death.of is not None


def test_a_worker_that_dies_with_what_others_are_told(four, parts, monkeypatch):
    """What is large is sent to one worker, from which the others fetch it."""
    client, executor = four
    death, scatter, large = Death(client), client.scatter, bytes(1 << 20)
    states, _ = executor.map_reduce(measured, parts, [None] * 3, b"")

    async def late(contents, **how):
        sent = await scatter(contents, **how)
        if death.of is None and len(contents[0]) > len(large):
            while death.comes_to(how["workers"][0]):
                await asyncio.sleep(0.01)
        return sent

    monkeypatch.setattr(client, "scatter", late)
    states, _ = executor.map_reduce(measured, parts, states, large)
    assert death.of is not None
    assert executor.gather(states) == [(0, len(large))] * 3


def test_a_worker_that_dies_with_a_state_that_moves(four, parts, monkeypatch):
    """A part that goes elsewhere needs the worker where its state lies until it is fetched."""
    client, executor = four
    death, submit = Death(client), client.submit
    states, _ = executor.map_reduce(grown, parts[:1], [None], 1)
    old = states[0].address
    executor._cluster.slots.reverse()
    assert executor._cluster.places(1) != [old]

    def late(function, *given, **how):
        while function is dask_worker.step and death.of in (None, old) and death.comes_to(old):
            time.sleep(0.01)
        return submit(function, *given, **how)

    monkeypatch.setattr(client, "submit", late)
    states, _ = executor.map_reduce(grown, parts[:1], states, 2)
    assert death.of == old
    assert executor.gather(states) == [12]


@pytest.mark.parametrize("how", ["restart", "cut"])
def test_a_connection_that_is_cut_changes_nothing(how, counts, client, executor):
    def lose(info) -> None:
        if info.sweep == 7 and how == "cut":
            stream = client.scheduler_comm
            client.loop.add_callback(stream.comm.abort)
            while client.scheduler_comm is stream:  # its status can be "running" again unseen
                time.sleep(0.001)
        elif info.sweep == 7:
            client.restart()

    here = fitted(WAYS["gibbs"], counts, LocalExecutor(1))
    assert same(here, fitted(WAYS["gibbs"], counts, executor, lose))


def test_chains_go_on_when_a_worker_dies(four):
    client, executor = four
    pid = min(client.run(os.getpid).values())
    threading.Timer(0.4, os.kill, (pid, signal.SIGKILL)).start()
    beside, seen = executor.side_by_side(), []
    left, total = beside.map_reduce(slow, range(8), [None] * 8, None, lambda: seen.append(1))
    assert beside.gather(left) == list(range(8))
    assert total.tolist() == [28.0]
    assert len(seen) == 8


def test_only_calls_since_the_last_copy_are_kept(client, counts):
    parts = [counts.rows(slice(0, 5)), counts.rows(slice(5, 9))]
    with DaskExecutor(client, copy_every=3) as executor:
        states, depths = [None, None], []
        for n in range(1, 8):
            states, _ = executor.map_reduce(grown, parts, states, n)
            depths.append(max(len(state.origin.path()) - 1 for state in states))
        assert depths == [1, 2, 0, 1, 2, 0, 1]
        assert executor.gather(states) == [1234567, 1234567]


def test_copies_are_removed_with_what_they_are_of(tmp_path):
    copies = Copies(tmp_path)
    kept = copies.keep([b"a", b"b"])
    (folder,) = tmp_path.iterdir()
    assert len(list(folder.iterdir())) == 2
    kept.pop()
    assert len(list(folder.iterdir())) == 1
    copies.close()
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_keeps_whole_sweeps_and_stops_the_workers(counts, client, executor):
    def interrupt(info) -> None:
        if info.sweep == 5:
            threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT)).start()

    fit = dcomp.fit(
        counts, MODEL, WAYS["gibbs"], max_iter=100_000, callbacks=[interrupt], executor=executor
    )
    assert fit.reason == "interrupted"
    assert 5 <= fit.n_sweeps < 100_000
    here = dcomp.fit(counts, MODEL, WAYS["gibbs"], max_iter=fit.n_sweeps, n_jobs=1)
    assert same(fit, here)


def test_what_is_given_up_is_stopped_on_the_workers(counts, client, executor, tmp_path):
    begun = tmp_path / "begun"

    def interrupt() -> None:
        while not begun.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        executor.map_reduce(endless, [counts], [None], str(begun))
    while any(client.run(n_running).values()):  # ends, or is ended by the limit of a test
        time.sleep(0.01)
    assert executor.map_reduce(grown, [counts], [None], 7)[0][0].address in client.nthreads()


def test_what_a_task_raises_is_raised_here(counts, executor):
    with pytest.raises(dcomp.InvalidCounts, match="141 documents are wrong"):
        executor.map_reduce(failing, [counts], [None], None)
