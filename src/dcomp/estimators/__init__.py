"""scikit-learn's face of dcomp."""

from dcomp.estimators.dca import DCA, LDA, GaP
from dcomp.estimators.factorisation import PLSA
from dcomp.estimators.lsa import LSA, Biplot

__all__ = ["DCA", "LDA", "LSA", "PLSA", "Biplot", "GaP"]
