"""Numbers, seeds, sizes and observations as users give them, checked once, at the border.

Options of models and algorithms are `dcomp.recipe`'s.
"""

from dcomp.models.options import whole_number
from dcomp.validation.numbers import memory_size, resolve_seed
from dcomp.validation.observations import resolve_observations, usual_exposure
from dcomp.validation.suspicions import of_table, tell_suspicions, unknown_features

__all__ = [
    "memory_size",
    "of_table",
    "resolve_observations",
    "resolve_seed",
    "tell_suspicions",
    "unknown_features",
    "usual_exposure",
    "whole_number",
]
