"""The algorithms: strategies over the one loop."""

from dcomp.inference.base import Algorithm, Info, State, SufficientStats
from dcomp.inference.collapsed_gibbs import CollapsedGibbs
from dcomp.inference.gibbs import Gibbs
from dcomp.inference.mean_field import MeanField
from dcomp.inference.run import Run, run
from dcomp.inference.stopping import RelativeChange

ALGORITHMS: dict[str, type[MeanField] | type[Gibbs] | type[CollapsedGibbs]] = {
    MeanField.name: MeanField,
    Gibbs.name: Gibbs,
    CollapsedGibbs.name: CollapsedGibbs,
}

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "CollapsedGibbs",
    "Gibbs",
    "Info",
    "MeanField",
    "RelativeChange",
    "Run",
    "State",
    "SufficientStats",
    "run",
]
