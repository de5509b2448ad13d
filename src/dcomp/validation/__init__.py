"""Numbers, seeds, sizes and observations as users give them, checked once, at the border.

Options of models and algorithms are `dcomp.recipe`'s.
"""

from dcomp.models.options import whole_number
from dcomp.validation.numbers import memory_size, resolve_seed
from dcomp.validation.observations import resolve_observations, usual_exposure

__all__ = [
    "memory_size",
    "resolve_observations",
    "resolve_seed",
    "usual_exposure",
    "whole_number",
]
