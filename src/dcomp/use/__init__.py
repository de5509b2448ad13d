"""What a fit is good for, in the words of a field: blocs of voters, ancestries of people."""

from dcomp.use.admixture import Admixture, admixture
from dcomp.use.hidden_genotypes import CrossValidation
from dcomp.use.rollcall import Classification, Division, RollCall, rollcall

__all__ = [
    "Admixture",
    "Classification",
    "CrossValidation",
    "Division",
    "RollCall",
    "admixture",
    "rollcall",
]
