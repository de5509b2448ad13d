"""What a fit is good for, in the words of a field: blocs of voters, ancestries of people."""

from dcomp.use.rollcall import Classification, Division, RollCall, rollcall

__all__ = ["Classification", "Division", "RollCall", "rollcall"]
