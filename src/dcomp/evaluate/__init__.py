"""How good a fit is."""

from dcomp.evaluate.align import Alignment, ChainAlignment, align, align_chains
from dcomp.evaluate.coherence import Coherence, coherence, exclusivity
from dcomp.evaluate.diagnostics import Diagnostics, diagnostics
from dcomp.evaluate.heldout import HeldOut, completion
from dcomp.evaluate.independence import Independence, independence
from dcomp.evaluate.mcmc import ess_bulk, ess_tail, rhat
from dcomp.evaluate.outliers import Outliers, outliers
from dcomp.evaluate.score_posterior import ScorePosterior, score_posterior
from dcomp.evaluate.shapes import ScoreShapes, score_shapes

__all__ = [
    "Alignment",
    "ChainAlignment",
    "Coherence",
    "Diagnostics",
    "HeldOut",
    "Independence",
    "Outliers",
    "ScorePosterior",
    "ScoreShapes",
    "align",
    "align_chains",
    "coherence",
    "completion",
    "diagnostics",
    "ess_bulk",
    "ess_tail",
    "exclusivity",
    "independence",
    "outliers",
    "rhat",
    "score_posterior",
    "score_shapes",
]
