"""The made-up prior takes its line in the list of models, where its kernels were compiled."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dcomp import _core

IS_COMPILED = ("EX", "expect") in _core.compiled()


@pytest.fixture(autouse=True)
def in_the_list() -> Iterator[None]:
    """`MODELS["EX"] = ExponentialPoisson`, for one test."""
    if not IS_COMPILED:
        pytest.skip("needs the CMake option DCOMP_MADE_UP_PRIOR")
    from made_up.exponential import ExponentialPoisson

    from dcomp.models import MODELS

    MODELS["EX"] = ExponentialPoisson
    yield
    del MODELS["EX"]
