"""Counts and exposure as the model takes them."""

from __future__ import annotations

from typing import Any

from dcomp.data import Counts
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.models import Model, Observations


def usual_exposure(counts: Counts, model: Model) -> str | None:
    """The exposure where nothing was said: blocks without counts are not observed, where the counts
    say so and the model asks.

    >>> from dcomp.models import GammaPoisson
    >>> table = Counts.from_matrix([[1, 0, 0], [0, 1, 1]], blocks=[0, 0, 1])
    >>> usual_exposure(table, GammaPoisson.build(2)) is None
    True
    """
    if not (counts.empty_is_missing and model.has_exposure):
        return None
    # Without a prior a document of which nothing was observed has no scores at all.
    can = model.scores.capabilities.proper or bool((counts.doc_totals > 0).all())
    return "observed" if can else None


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
