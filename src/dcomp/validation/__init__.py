"""Parameters as users type them, checked once and turned into models and algorithms."""

from dcomp.validation.algorithms import resolve_algorithm
from dcomp.validation.models import POINT_ALPHA, resolve_model, resolve_shrinkage
from dcomp.validation.numbers import memory_size, resolve_seed, whole_number
from dcomp.validation.observations import resolve_observations
from dcomp.validation.priors import resolve_gamma
from dcomp.validation.structures import (
    resolve_search,
    resolve_structure,
    resolve_structured_algorithm,
    resolve_structured_model,
)
from dcomp.validation.trees import (
    BRANCHING,
    DEPTH,
    GROW_AT,
    resolve_growth,
    resolve_tree,
    resolve_tree_model,
)

__all__ = [
    "BRANCHING",
    "DEPTH",
    "GROW_AT",
    "POINT_ALPHA",
    "memory_size",
    "resolve_algorithm",
    "resolve_gamma",
    "resolve_growth",
    "resolve_model",
    "resolve_observations",
    "resolve_search",
    "resolve_seed",
    "resolve_shrinkage",
    "resolve_structure",
    "resolve_structured_algorithm",
    "resolve_structured_model",
    "resolve_tree",
    "resolve_tree_model",
    "whole_number",
]
