"""What scikit-learn's checks are spared, which fit hundreds of tables."""

from __future__ import annotations

import pytest

from dcomp.inference import tries


@pytest.fixture
def short_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fit has its six tries, of two sweeps instead of twenty: that the best one is carried on
    has tests of its own."""
    monkeypatch.setattr(tries, "SWEEPS", 2)
