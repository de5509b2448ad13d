"""Discrete component analysis: the hidden components behind tables of counts and categories.

>>> import dcomp
>>> model = dcomp.LDA(n_components=2, verbose=0).fit([[4, 3, 0], [0, 1, 6], [5, 2, 1]])
>>> model.components_.shape
(2, 3)
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dcomp import data, datasets, evaluate, inference, models, plot, use
    from dcomp.data import Counts, TextOptions, as_counts
    from dcomp.errors import (
        CheckpointWarning,
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
    from dcomp.estimators import CTM, DCA, LDA, LSA, NMF, PLSA, GaP, StructuredDCA, TreeDCA
    from dcomp.io import Limits, convert, open
    from dcomp.io.read import read
    from dcomp.io.write import write
    from dcomp.report.build import report
    from dcomp.result import Checkpoint, Fit, drop, load, merge, project, save
    from dcomp.result.fitting import fit

    __version__: str

__all__ = [
    "CTM",
    "DCA",
    "LDA",
    "LSA",
    "NMF",
    "PLSA",
    "Checkpoint",
    "CheckpointWarning",
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
    "convert",
    "data",
    "datasets",
    "drop",
    "evaluate",
    "fit",
    "inference",
    "load",
    "merge",
    "models",
    "open",
    "plot",
    "project",
    "read",
    "report",
    "save",
    "use",
    "write",
]

# Everything comes when it is asked for (docs/decisions/0054): SciPy takes half a second to import,
# scikit-learn another. Which room has which name; the rooms themselves are found by theirs.
_FROM = {
    "data": ("Counts", "TextOptions", "as_counts"),
    "errors": (
        "CheckpointWarning", "ConvergenceWarning", "DataWarning", "DcompError", "FlatTreeWarning",
        "InvalidCounts", "InvalidFile", "InvalidParameter", "MissingDependency",
        "NumericalFailure", "UnsupportedCombination",
    ),
    "estimators": ("CTM", "DCA", "LDA", "LSA", "NMF", "PLSA", "GaP", "StructuredDCA", "TreeDCA"),
    "io": ("Limits", "convert", "open", "read", "write"),
    "result": ("Checkpoint", "Fit", "drop", "fit", "load", "merge", "project", "save"),
}  # fmt: skip
_ROOM_OF = {name: room for room, names in _FROM.items() for name in names}
_ROOMS = (
    "data", "datasets", "errors", "estimators", "evaluate", "executors", "inference", "io",
    "models", "plot", "predict", "recipe", "registry", "report", "result", "use", "validation",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from dcomp.version import package_version

        value: Any = package_version()
    elif name in _ROOM_OF:
        value = getattr(importlib.import_module(f"dcomp.{_ROOM_OF[name]}"), name)
    elif name in _ROOMS:
        return importlib.import_module(f"dcomp.{name}")
    else:
        raise AttributeError(f"module 'dcomp' has no attribute {name!r}")
    globals()[name] = value  # asked once
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOM_OF, *_ROOMS, "__version__"})
