"""The models: assumptions as plain data, with their densities and simulation in NumPy."""

from __future__ import annotations

from typing import Any

from dcomp.models import equivalence
from dcomp.models.base import Model
from dcomp.models.conditional_gamma_poisson import (
    ConditionalGammaPoisson,
    ConditionalGammaScores,
)
from dcomp.models.dirichlet_multinomial import DirichletMultinomial, DirichletScores
from dcomp.models.gamma_poisson import GammaPoisson, GammaScores
from dcomp.models.hierarchy import Tree
from dcomp.models.loadings import DirichletLoadings, empirical_gamma
from dcomp.models.logistic_normal import LogisticNormal, LogisticNormalScores
from dcomp.models.observations import Observations
from dcomp.models.prior import Capabilities, Nodes, Parameter, Slots
from dcomp.models.structure import Structure
from dcomp.models.structured import Structured, StructuredScores
from dcomp.models.tree import TreeMultinomial, TreeScores

MODELS: dict[str, Any] = {  # key -> class
    DirichletMultinomial.key: DirichletMultinomial,
    GammaPoisson.key: GammaPoisson,
    ConditionalGammaPoisson.key: ConditionalGammaPoisson,
    LogisticNormal.key: LogisticNormal,
    TreeMultinomial.key: TreeMultinomial,
    Structured.key: Structured,
}

__all__ = [
    "MODELS",
    "Capabilities",
    "ConditionalGammaPoisson",
    "ConditionalGammaScores",
    "DirichletLoadings",
    "DirichletMultinomial",
    "DirichletScores",
    "GammaPoisson",
    "GammaScores",
    "LogisticNormal",
    "LogisticNormalScores",
    "Model",
    "Nodes",
    "Observations",
    "Parameter",
    "Slots",
    "Structure",
    "Structured",
    "StructuredScores",
    "Tree",
    "TreeMultinomial",
    "TreeScores",
    "empirical_gamma",
    "equivalence",
]
