"""Discrete component analysis: the hidden components behind tables of counts and categories.

>>> import dcomp
>>> model = dcomp.LDA(n_components=2, verbose=0).fit([[4, 3, 0], [0, 1, 6], [5, 2, 1]])
>>> model.components_.shape
(2, 3)
"""

import importlib
from typing import TYPE_CHECKING, Any

from dcomp import data, inference, models
from dcomp.data import Counts, TextOptions, as_counts
from dcomp.errors import (
    ConvergenceWarning,
    DataWarning,
    DcompError,
    FlatTreeWarning,
    InvalidCounts,
    InvalidFile,
    InvalidParameter,
    MissingDependency,
    NumericalFailure,
    UnsupportedCombination,
)
from dcomp.io import Limits, read
from dcomp.result import Fit, fit, load, save
from dcomp.result.provenance import package_version

if TYPE_CHECKING:
    from dcomp import datasets, evaluate, use
    from dcomp.estimators import CTM, DCA, LDA, LSA, NMF, PLSA, GaP, StructuredDCA, TreeDCA

__version__ = package_version()

__all__ = [
    "CTM",
    "DCA",
    "LDA",
    "LSA",
    "NMF",
    "PLSA",
    "ConvergenceWarning",
    "Counts",
    "DataWarning",
    "DcompError",
    "Fit",
    "FlatTreeWarning",
    "GaP",
    "InvalidCounts",
    "InvalidFile",
    "InvalidParameter",
    "Limits",
    "MissingDependency",
    "NumericalFailure",
    "StructuredDCA",
    "TextOptions",
    "TreeDCA",
    "UnsupportedCombination",
    "as_counts",
    "data",
    "datasets",
    "evaluate",
    "fit",
    "inference",
    "load",
    "models",
    "read",
    "save",
    "use",
]


_ESTIMATORS = ("CTM", "DCA", "LDA", "LSA", "NMF", "PLSA", "GaP", "StructuredDCA", "TreeDCA")
_ROOMS = ("datasets", "evaluate", "use")


def __getattr__(name: str) -> Any:
    # What a fit does not need comes when it is asked for: scikit-learn takes a second to import.
    if name in _ESTIMATORS:
        return getattr(importlib.import_module("dcomp.estimators"), name)
    if name in _ROOMS:
        return importlib.import_module(f"dcomp.{name}")
    raise AttributeError(f"module 'dcomp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ESTIMATORS, *_ROOMS})
