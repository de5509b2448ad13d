"""Counts and exposure as the model takes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dcomp.data import Counts
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.models import Model, Observations
from dcomp.models.allowed import Allowed


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


def resolve_observations(
    counts: Counts,
    model: Model,
    exposure: Any,
    allowed: Any = None,
    names: tuple[str, ...] | None = None,
) -> Observations:
    """What the model looks at; an exposure only where it has a meaning, and where scores have no
    prior only a positive one; which components documents may use, by the names that these have
    where the model has none for them."""
    if exposure is not None and not model.has_exposure:
        raise UnsupportedCombination(
            f"exposure has no meaning for model {model.key}, which conditions on document lengths"
        )
    observed = Observations.build(counts, exposure)
    if allowed is not None:
        observed = replace(observed, allowed=resolve_allowed(counts, model, allowed, names))
    if not model.scores.capabilities.proper and observed.total_exposure.min() <= 0:
        raise InvalidParameter(
            "exposure must be positive where scores have no prior; it is 0 for document "
            f"{int(observed.total_exposure.argmin())}"
        )
    return observed


def resolve_allowed(
    counts: Counts, model: Model, allowed: Any, names: tuple[str, ...] | None = None
) -> Allowed:
    """The components that documents may use, by whatever says so."""
    if not model.scores.capabilities.restricts:
        raise UnsupportedCombination(
            f"documents of model {model.key} may use all components; allowed= is for DM, GP and CGP"
        )
    if isinstance(allowed, Allowed):
        fits = (len(allowed.group), allowed.n_components) == (counts.n_docs, model.n_components)
        if not fits:
            raise InvalidParameter(
                f"allowed must be of {counts.n_docs} documents and {model.n_components} components"
            )
        return allowed
    return Allowed.build(allowed, counts, model.n_components, model.loadings.names or names)
