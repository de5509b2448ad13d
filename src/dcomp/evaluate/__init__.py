"""How good a fit is."""

from dcomp.evaluate.heldout import HeldOut, completion
from dcomp.evaluate.shapes import ScoreShapes, score_shapes

__all__ = ["HeldOut", "ScoreShapes", "completion", "score_shapes"]
