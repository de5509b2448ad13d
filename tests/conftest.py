"""Data that many tests share."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

import dcomp
from dcomp.inference import laplace


def pytest_configure() -> None:
    """Ctrl-C is heard, by these processes and by those that tests start: what runs in the
    background of a script is told to ignore it, and tests press it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)  # plain `pytest` needs no xdist
def pytest_xdist_auto_num_workers() -> int:
    """For `-n auto`: fits use threads too, so that more processes soon only take memory."""
    return min(os.cpu_count() or 1, 4)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The pages of the guides first: they take longest, and of several processes none should be
    left alone with them at the end."""
    items.sort(key=lambda item: item.path.name != "test_readme.py")


@pytest.fixture(scope="session")
def planted() -> tuple[dcomp.Counts, np.ndarray]:
    """300 documents of about 60 words from three components that share few words, and their Θ."""
    rng = np.random.default_rng(7)
    Theta = np.full((30, 3), 0.002)
    for k in range(3):
        Theta[10 * k : 10 * k + 10, k] = 0.094
    Theta /= Theta.sum(axis=0)
    m = rng.dirichlet([0.3] * 3, size=300)
    lengths = rng.poisson(60, size=300)
    W = np.array([rng.multinomial(n, Theta @ row) for n, row in zip(lengths, m, strict=True)])
    W[17] = 0  # an empty document keeps its row
    return dcomp.Counts.from_matrix(W), Theta


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The real data sets, or a skip that says where they were looked for."""
    folder = Path(os.environ.get("DCOMP_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("real data not found at ../shared/data or DCOMP_DATA")
    return folder


@pytest.fixture
def short_starts_of_laplace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its fits of a few sweeps begin with chains of hundreds; that they run, and how they are cut
    and shared out, shows in chains of thirty."""
    monkeypatch.setitem(laplace.STARTS, "collapsed-gibbs", 30)
    monkeypatch.setattr(laplace, "BURN_IN", 20)
    monkeypatch.setattr(laplace, "ANNEAL", 16)
