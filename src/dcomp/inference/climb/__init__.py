"""Hill climbing in structure space, B09 5.4: nodes above the components of a flat fit.

`search` proposes and accepts, `moves` tells what a move gains at first sight and `refine` what it
gains in the end, `score` is what is climbed and `forest` what is changed.
"""

from dcomp.inference.climb.forest import Move
from dcomp.inference.climb.search import SCORES, Climbed, climb

__all__ = ["SCORES", "Climbed", "Move", "climb"]
