"""What every cell is spared here."""

from __future__ import annotations

import pytest

from dcomp.inference import laplace


@pytest.fixture(autouse=True)
def _short_starts_of_laplace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its fits of a few sweeps begin with chains of hundreds; that they run, and how they are cut
    and shared out, shows in chains of thirty."""
    monkeypatch.setitem(laplace.STARTS, "collapsed-gibbs", 30)
    monkeypatch.setattr(laplace, "BURN_IN", 20)
    monkeypatch.setattr(laplace, "ANNEAL", 16)
