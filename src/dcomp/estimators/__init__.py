"""scikit-learn's face of dcomp."""

from dcomp.estimators.dca import DCA, LDA, GaP
from dcomp.estimators.factorisation import PLSA

__all__ = ["DCA", "LDA", "PLSA", "GaP"]
