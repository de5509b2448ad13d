"""Axes to draw on, from matplotlib, which is optional."""

from __future__ import annotations

import importlib
from typing import Any

from dcomp.errors import MissingDependency


def axes_or_new(axes: Any = None) -> Any:
    """The axes given, or those of a new figure of pyplot's."""
    if axes is not None:
        return axes
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        raise MissingDependency(
            'a plot needs matplotlib, which is not installed: pip install "dcomp[plot]"'
        ) from None
    return pyplot.subplots()[1]
