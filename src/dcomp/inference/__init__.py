"""The algorithms: strategies over the one loop."""

from dcomp.inference.base import Algorithm, Info, State, SufficientStats
from dcomp.inference.mean_field import MeanField
from dcomp.inference.run import Run, run
from dcomp.inference.stopping import RelativeChange

ALGORITHMS: dict[str, type[MeanField]] = {MeanField.name: MeanField}

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Info",
    "MeanField",
    "RelativeChange",
    "Run",
    "State",
    "SufficientStats",
    "run",
]
