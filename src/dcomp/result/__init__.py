"""What comes out of a fit, and how it is kept."""

from dcomp.predict import WordTable
from dcomp.result.checkpoints import Checkpoint
from dcomp.result.draws import Draws
from dcomp.result.editing import drop, merge
from dcomp.result.ending import Ending
from dcomp.result.fit import Fit
from dcomp.result.fitting import fit
from dcomp.result.negligible import NegligibleScores
from dcomp.result.projecting import project
from dcomp.result.provenance import Provenance
from dcomp.result.storage import load, save
from dcomp.result.tables import Assignments, TopFeatures
from dcomp.result.trace import Trace

__all__ = [
    "Assignments",
    "Checkpoint",
    "Draws",
    "Ending",
    "Fit",
    "NegligibleScores",
    "Provenance",
    "TopFeatures",
    "Trace",
    "WordTable",
    "drop",
    "fit",
    "load",
    "merge",
    "project",
    "save",
]
