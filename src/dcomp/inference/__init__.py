"""The algorithms: strategies over the one loop."""

from typing import Any

from dcomp.inference.base import Algorithm, Info, SufficientStats
from dcomp.inference.climb import Climbed, Move, climb
from dcomp.inference.collapsed_gibbs import CollapsedGibbs
from dcomp.inference.draws import draw_given_counts
from dcomp.inference.gibbs import Gibbs
from dcomp.inference.growth import Growth
from dcomp.inference.keep import DrawPlan, Keep
from dcomp.inference.laplace import Laplace
from dcomp.inference.map_em import MapEM
from dcomp.inference.maximum_likelihood import MaximumLikelihood
from dcomp.inference.mean_field import MeanField
from dcomp.inference.run import Run, run
from dcomp.inference.state import Draw, Global, Local, State
from dcomp.inference.stochastic_mean_field import StochasticMeanField
from dcomp.inference.stopping import Remaining, Rule
from dcomp.inference.structure_search import StructureSearch
from dcomp.inference.tempered_em import TemperedEM

ALGORITHMS: dict[str, Any] = {  # name -> class of options
    MeanField.name: MeanField,
    StochasticMeanField.name: StochasticMeanField,
    MapEM.name: MapEM,
    TemperedEM.name: TemperedEM,
    MaximumLikelihood.name: MaximumLikelihood,
    Gibbs.name: Gibbs,
    CollapsedGibbs.name: CollapsedGibbs,
    Laplace.name: Laplace,
}

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Climbed",
    "CollapsedGibbs",
    "Draw",
    "DrawPlan",
    "Gibbs",
    "Global",
    "Growth",
    "Info",
    "Keep",
    "Laplace",
    "Local",
    "MapEM",
    "MaximumLikelihood",
    "MeanField",
    "Move",
    "Remaining",
    "Rule",
    "Run",
    "State",
    "StochasticMeanField",
    "StructureSearch",
    "SufficientStats",
    "TemperedEM",
    "climb",
    "draw_given_counts",
    "run",
]
