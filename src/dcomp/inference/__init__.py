"""The algorithms: strategies over the one loop."""

from dcomp.inference.base import Algorithm, Draw, Info, State, SufficientStats
from dcomp.inference.collapsed_gibbs import CollapsedGibbs
from dcomp.inference.draws import DrawPlan, Keep, draw_given_counts
from dcomp.inference.gibbs import Gibbs
from dcomp.inference.map_em import MapEM
from dcomp.inference.maximum_likelihood import MaximumLikelihood
from dcomp.inference.mean_field import MeanField
from dcomp.inference.run import Run, run
from dcomp.inference.stopping import RelativeChange

ALGORITHMS: dict[
    str,
    type[MeanField] | type[MapEM] | type[MaximumLikelihood] | type[Gibbs] | type[CollapsedGibbs],
] = {
    MeanField.name: MeanField,
    MapEM.name: MapEM,
    MaximumLikelihood.name: MaximumLikelihood,
    Gibbs.name: Gibbs,
    CollapsedGibbs.name: CollapsedGibbs,
}

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "CollapsedGibbs",
    "Draw",
    "DrawPlan",
    "Gibbs",
    "Info",
    "Keep",
    "MapEM",
    "MaximumLikelihood",
    "MeanField",
    "RelativeChange",
    "Run",
    "State",
    "SufficientStats",
    "draw_given_counts",
    "run",
]
