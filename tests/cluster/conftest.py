"""A cluster of two processes on this machine, for all tests here."""

from __future__ import annotations

import signal

import pytest

import dcomp

LONGEST = 120  # seconds of one test, which takes one or two, or ten where workers are killed


@pytest.fixture(autouse=True)
def _no_longer_than_that():
    """A cluster that waits for ever is a failure, and not a test run without an end."""

    def ring(*_):  # what pytest raises is no Exception, which could be taken for a loss
        pytest.fail(f"the test takes longer than {LONGEST} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, LONGEST, 60)  # again, if the end does not end
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def client():
    distributed = pytest.importorskip("distributed", reason='needs pip install "dcomp[dask]"')
    how = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**how) as cluster, distributed.Client(cluster) as made:
        yield made


@pytest.fixture(scope="session")
def executor(client):
    with dcomp.executors.DaskExecutor(client, copy_every=4) as made:
        yield made


@pytest.fixture(scope="session")
def counts(planted) -> dcomp.Counts:
    """With copies of documents far apart, one that is empty, and in three parts on two workers."""
    return planted[0].rows([*range(120), *range(20), 17]).in_parts(3)
