"""How good a fit is."""

from dcomp.evaluate.align import Alignment, ChainAlignment, align, align_chains
from dcomp.evaluate.by_label import ByLabel, by_label
from dcomp.evaluate.clusters import Clusters, clusters
from dcomp.evaluate.coherence import Coherence, coherence, exclusivity
from dcomp.evaluate.diagnostics import Diagnostics, diagnostics
from dcomp.evaluate.differences import Differences, differences
from dcomp.evaluate.documents import Documents, similar, typical
from dcomp.evaluate.evidence import Evidence, evidence
from dcomp.evaluate.harmonic import harmonic_mean
from dcomp.evaluate.heldout import HeldOut, completion
from dcomp.evaluate.hierarchy import Hierarchy, LevelCorrelations, level_correlations
from dcomp.evaluate.independence import Independence, independence
from dcomp.evaluate.interactions import Interaction, Interactions, interactions
from dcomp.evaluate.intervals import Intervals, intervals
from dcomp.evaluate.left_to_right import LeftToRight, left_to_right
from dcomp.evaluate.mcmc import ess_bulk, ess_tail, rhat
from dcomp.evaluate.outliers import Outliers, outliers
from dcomp.evaluate.predictive import PredictiveCheck, Statistic, predictive_check
from dcomp.evaluate.score_posterior import ScorePosterior, score_posterior
from dcomp.evaluate.select import Candidate, Selection, select_components
from dcomp.evaluate.shapes import ScoreShapes, score_shapes
from dcomp.evaluate.stability import EdgeFound, EdgeStability, NodeFound, edge_stability

__all__ = [
    "Alignment",
    "ByLabel",
    "Candidate",
    "ChainAlignment",
    "Clusters",
    "Coherence",
    "Diagnostics",
    "Differences",
    "Documents",
    "EdgeFound",
    "EdgeStability",
    "Evidence",
    "HeldOut",
    "Hierarchy",
    "Independence",
    "Interaction",
    "Interactions",
    "Intervals",
    "LeftToRight",
    "LevelCorrelations",
    "NodeFound",
    "Outliers",
    "PredictiveCheck",
    "ScorePosterior",
    "ScoreShapes",
    "Selection",
    "Statistic",
    "align",
    "align_chains",
    "by_label",
    "clusters",
    "coherence",
    "completion",
    "diagnostics",
    "differences",
    "edge_stability",
    "ess_bulk",
    "ess_tail",
    "evidence",
    "exclusivity",
    "harmonic_mean",
    "independence",
    "interactions",
    "intervals",
    "left_to_right",
    "level_correlations",
    "outliers",
    "predictive_check",
    "rhat",
    "score_posterior",
    "score_shapes",
    "select_components",
    "similar",
    "typical",
]
