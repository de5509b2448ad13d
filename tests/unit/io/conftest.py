"""Where real data are, if anywhere."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def real_data():
    """Give a function that finds a file of the real data, or skips the test."""
    root = Path(__file__).resolve().parents[3]
    folder = Path(os.environ.get("DCOMP_DATA", root.parent / "shared" / "data"))

    def find(name):
        if not (folder / name).exists():
            pytest.skip(f"real data absent: {name} (set DCOMP_DATA to its folder)")
        return folder / name

    return find
