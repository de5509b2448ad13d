"""The algorithms: strategies over the one loop."""

from dcomp.inference.base import Algorithm, Draw, Info, State, SufficientStats
from dcomp.inference.collapsed_gibbs import CollapsedGibbs
from dcomp.inference.draws import DrawPlan, Keep, draw_given_counts
from dcomp.inference.gibbs import Gibbs
from dcomp.inference.map_em import MapEM
from dcomp.inference.mean_field import MeanField
from dcomp.inference.run import Run, run
from dcomp.inference.stopping import RelativeChange

ALGORITHMS: dict[str, type[MeanField] | type[MapEM] | type[Gibbs] | type[CollapsedGibbs]] = {
    MeanField.name: MeanField,
    MapEM.name: MapEM,
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
    "MeanField",
    "RelativeChange",
    "Run",
    "State",
    "SufficientStats",
    "draw_given_counts",
    "run",
]
