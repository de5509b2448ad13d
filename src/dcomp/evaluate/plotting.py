"""Axes to draw on, from matplotlib, which is optional."""

from __future__ import annotations

import importlib
from typing import Any

from dcomp.errors import MissingDependency


def axes_or_new(axes: Any = None, size: tuple[float, float] | None = None) -> Any:
    """The axes given, or those of a new figure of pyplot's, so many inches wide and high."""
    return pyplot().subplots(figsize=size, layout="constrained")[1] if axes is None else axes


def pyplot() -> Any:
    """matplotlib.pyplot, or what to do without it."""
    try:
        return importlib.import_module("matplotlib.pyplot")
    except ImportError:
        raise MissingDependency(
            'a plot needs matplotlib, which is not installed: pip install "dcomp[plot]"'
        ) from None
