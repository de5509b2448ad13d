"""What a fit is good for, in the words of a field: blocs of voters, ancestries of people,
signatures of mutations."""

from dcomp.use.admixture import Admixture, admixture
from dcomp.use.catalogue import Catalogue
from dcomp.use.hidden_genotypes import CrossValidation
from dcomp.use.refit import Refit, refit
from dcomp.use.rollcall import Classification, Division, RollCall, rollcall
from dcomp.use.signatures import Signatures, signatures

__all__ = [
    "Admixture",
    "Catalogue",
    "Classification",
    "CrossValidation",
    "Division",
    "Refit",
    "RollCall",
    "Signatures",
    "admixture",
    "refit",
    "rollcall",
    "signatures",
]
