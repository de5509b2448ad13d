"""scikit-learn's face of dcomp."""

from dcomp.estimators.correlated import CTM, CorrelationEdge
from dcomp.estimators.dca import DCA, LDA, GaP
from dcomp.estimators.factorisation import NMF, PLSA
from dcomp.estimators.hierarchical import TreeDCA
from dcomp.estimators.lsa import LSA, Biplot
from dcomp.estimators.structured import StructuredDCA

__all__ = [
    "CTM",
    "DCA",
    "LDA",
    "LSA",
    "NMF",
    "PLSA",
    "Biplot",
    "CorrelationEdge",
    "GaP",
    "StructuredDCA",
    "TreeDCA",
]
