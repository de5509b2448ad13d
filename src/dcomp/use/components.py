"""Components to make use of: a number of them, an estimator that says how they are found, or some
that were found before."""

from __future__ import annotations

from typing import Any

from dcomp.data import Counts
from dcomp.errors import InvalidParameter
from dcomp.inference.run import uninterrupted
from dcomp.recipe import Recipe
from dcomp.result import Fit, fit
from dcomp.validation import whole_number

GAMMA = 0.05  # of the loadings, as LDA has it


def recipe_of(components: Any) -> Recipe:
    """How components are found: K of LDA by mean field, or as an estimator of dcomp says.

    >>> dict(recipe_of(5).given)["n_components"]
    5
    >>> recipe_of("many")
    Traceback (most recent call last):
    dcomp.errors.InvalidParameter: components must be a number, an estimator of dcomp ...
    """
    if hasattr(type(components), "recipe"):
        found: Recipe = components.recipe
        return found
    if isinstance(components, bool | str) or not hasattr(components, "__index__"):
        raise InvalidParameter(
            "components must be a number, an estimator of dcomp such as LDA(100) or, where "
            f"nothing more is learned of them, a Fit; got {components!r}"
        )
    K = whole_number("components", components, 1)
    return Recipe(model="DM", n_components=K, gamma=GAMMA)


def found_in(
    components: Any, counts: Counts, *, exposure: str | None = None, n_jobs: int | None = None
) -> Fit:
    """The fit of counts; `exposure` where the model has one and nothing was said of it."""
    resolved = recipe_of(components).resolve(counts)
    settings = dict(vars(resolved.settings))
    if exposure is not None and resolved.model.has_exposure and settings["exposure"] is None:
        settings["exposure"] = exposure
    return uninterrupted(fit(counts, resolved.model, resolved.algorithm, **settings, n_jobs=n_jobs))


def expected_words(fitted: Fit, counts: Counts, n_jobs: int | None = None) -> Any:
    """The words of each document that each component is expected to have made, (I, K): E[c] of
    BJ06 VI, at the fixed point where the model has one, else by sampling."""
    if fitted.has_fixed_point:
        return fitted.fold_in(counts, n_jobs=n_jobs).c
    return fitted.sample_scores(counts, n_jobs=n_jobs).c
