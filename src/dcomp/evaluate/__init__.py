"""How good a fit is."""

from dcomp.evaluate.heldout import HeldOut, completion

__all__ = ["HeldOut", "completion"]
