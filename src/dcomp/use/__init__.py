"""What a fit is good for, in the words of a field: blocs of voters, ancestries of people,
signatures of mutations, documents that answer a query, features and classes of documents."""

import importlib
from typing import TYPE_CHECKING, Any

from dcomp.use.admixture import Admixture, admixture
from dcomp.use.catalogue import Catalogue
from dcomp.use.classification import Classification
from dcomp.use.consensus import Consensus, Stability
from dcomp.use.hidden_genotypes import CrossValidation
from dcomp.use.queries import DocumentDraws, QueryLikelihood, QueryScores
from dcomp.use.ranking import Ranking
from dcomp.use.refit import Refit, refit
from dcomp.use.retrieval import Retriever
from dcomp.use.rollcall import Division, RollCall, rollcall
from dcomp.use.scorers import (
    BM25,
    LSA,
    Components,
    ComponentSpace,
    Dirichlet,
    JelinekMercer,
    KullbackLeibler,
    Sum,
    TfIdf,
)
from dcomp.use.signatures import Signatures, signatures

if TYPE_CHECKING:
    from dcomp.use.classify import ComponentClassifier
    from dcomp.use.features import ComponentFeatures

__all__ = [
    "BM25",
    "LSA",
    "Admixture",
    "Catalogue",
    "Classification",
    "ComponentClassifier",
    "ComponentFeatures",
    "ComponentSpace",
    "Components",
    "Consensus",
    "CrossValidation",
    "Dirichlet",
    "Division",
    "DocumentDraws",
    "JelinekMercer",
    "KullbackLeibler",
    "QueryLikelihood",
    "QueryScores",
    "Ranking",
    "Refit",
    "Retriever",
    "RollCall",
    "Signatures",
    "Stability",
    "Sum",
    "TfIdf",
    "admixture",
    "refit",
    "rollcall",
    "signatures",
]

# Estimators come when they are asked for: scikit-learn takes a second to import.
_ESTIMATORS = {"ComponentClassifier": "classify", "ComponentFeatures": "features"}


def __getattr__(name: str) -> Any:
    if name in _ESTIMATORS:
        return getattr(importlib.import_module(f"dcomp.use.{_ESTIMATORS[name]}"), name)
    raise AttributeError(f"module 'dcomp.use' has no attribute {name!r}")
