"""Counts and exposure as the model takes them."""

from __future__ import annotations

from typing import Any

from dcomp.data import Counts
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.models import Model, Observations


def resolve_observations(counts: Counts, model: Model, exposure: Any) -> Observations:
    """What the model looks at; an exposure only where it has a meaning, and where scores have no
    prior only a positive one."""
    if exposure is not None and not model.has_exposure:
        raise UnsupportedCombination(
            f"exposure has no meaning for model {model.key}, which conditions on document lengths"
        )
    observed = Observations.build(counts, exposure)
    if not model.scores.capabilities.proper and observed.total_exposure.min() <= 0:
        raise InvalidParameter(
            "exposure must be positive where scores have no prior; it is 0 for document "
            f"{int(observed.total_exposure.argmin())}"
        )
    return observed
