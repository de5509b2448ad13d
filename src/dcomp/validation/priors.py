"""Priors as users type them: numbers, arrays, or words such as "auto"."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dcomp.data import Counts
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.models import Model, empirical_gamma


def resolve_gamma(gamma: Any, counts: Counts) -> Any:
    """γ as numbers; "empirical" is the corpus's smoothed frequencies with a total of one, "auto"
    where learning starts."""
    word = is_word("gamma", gamma, ("empirical", "auto"))
    if word == "empirical":
        return empirical_gamma(counts.feature_totals, counts.features.blocks)
    return 0.1 if word == "auto" else gamma


def is_word(name: str, value: Any, words: tuple[str, ...]) -> str | None:
    """The value where it is one of these words, None where it is a number or an array."""
    if not isinstance(value, str):
        return None
    if value not in words:
        choices = ", ".join(repr(word) for word in words)
        raise InvalidParameter(f"{name} must be {choices}, a number or an array; got {value!r}")
    return value


def with_learned_gamma(model: Model, gamma: Any) -> Model:
    """The model with a γ that a fit learns, where "auto" asked for it."""
    if isinstance(gamma, str) and gamma == "auto":
        return model.with_loadings(replace(model.loadings, learned=True))
    return model


def no_meaning(key: str, **given: Any) -> None:
    """An error where a prior that the model does not have was given."""
    for name, value in given.items():
        if not (isinstance(value, str) and value == "auto"):
            raise UnsupportedCombination(
                f"{name} has no meaning for model {key}; leave it at 'auto'"
            )
