"""scikit-learn's face of dcomp."""

from dcomp.estimators.dca import DCA, LDA, GaP
from dcomp.estimators.factorisation import NMF, PLSA
from dcomp.estimators.lsa import LSA, Biplot

__all__ = ["DCA", "LDA", "LSA", "NMF", "PLSA", "Biplot", "GaP"]
