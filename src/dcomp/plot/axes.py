"""What all pictures share: axes to draw on, colours, and names that fit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dcomp.evaluate.plotting import axes_or_new, pyplot
from dcomp.printable import shortened

__all__ = ["COLOURS", "axes_or_new", "colour", "names_of", "open_frame", "pyplot"]

# Told apart in print and by most who do not see red and green alike; then they come again.
COLOURS = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#7f7f7f",
    "#332288", "#882255",
)  # fmt: skip
LONGEST = 24  # letters of a name in a picture


def colour(number: int) -> str:
    """Of the component, group or curve of this number.

    >>> colour(0) == colour(10), colour(0) == colour(1)
    (True, False)
    """
    return COLOURS[number % len(COLOURS)]


def open_frame(axes: Any) -> Any:
    """The axes without the lines above and to the right, which say nothing."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return axes


def names_of(names: Iterable[object], longest: int = LONGEST) -> list[str]:
    """Names to write in a picture: cut where they are long, and nothing that matplotlib would take
    for mathematics.

    >>> names_of(["a$b$", "x" * 40], 5)
    ['a\\\\$b\\\\$', 'xxxx…']
    """
    return [shortened(name, longest).replace("$", r"\$") for name in names]
