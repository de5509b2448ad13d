"""scikit-learn's face of dcomp."""

from dcomp.estimators.dca import DCA, LDA, GaP

__all__ = ["DCA", "LDA", "GaP"]
