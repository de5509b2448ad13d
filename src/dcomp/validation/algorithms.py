"""Algorithms from their names and options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dcomp import registry
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.inference import (
    ALGORITHMS,
    Algorithm,
    Keep,
    Laplace,
    MapEM,
    MaximumLikelihood,
    MeanField,
    TemperedEM,
)
from dcomp.models import Model
from dcomp.validation.numbers import whole_number


def resolve_algorithm(
    algorithm: str | Algorithm,
    model: Model,
    *,
    loadings: str | None = None,
    burn_in: int | None = None,
    max_iter: int = 200,
    start: str | None = None,
    anneal: int | None = None,
    n_draws: int = 0,
    draws_of: str | Sequence[str] = Keep().of,
) -> Algorithm:
    """An algorithm from its name; "auto" is the model's default.

    `loadings` is an option of those that climb, the rest of the samplers: `burn_in` is half of
    `max_iter` unless given, `start` (of laplace too) and `anneal` say how a chain begins, and
    `n_draws` of the sweeps after it leave draws of `draws_of`.
    """
    n_draws = whole_number("n_draws", n_draws, 0)
    if not n_draws and tuple(draws_of) != Keep().of:
        raise InvalidParameter(f"draws_of = {draws_of!r} has no effect without n_draws")
    named = isinstance(algorithm, str)
    if isinstance(algorithm, str):
        built: Algorithm = ALGORITHMS[registry.algorithm_name(model.key, algorithm)]()
        algorithm = built
    else:
        registry.check(model, algorithm)
    of_samplers = {"burn_in": burn_in, "start": start, "anneal": anneal}
    if isinstance(algorithm, Laplace) and start is not None:
        algorithm = replace(algorithm, start=start)
        del of_samplers["start"]
    given = [name for name, value in of_samplers.items() if value is not None]
    if isinstance(algorithm, MeanField | MapEM | MaximumLikelihood | TemperedEM | Laplace):
        if given:
            raise UnsupportedCombination(
                f"{given[0]}= is an option of the samplers, not {algorithm.name}"
            )
        if n_draws:
            names = [name for name in registry.supported()[model.key] if ALGORITHMS[name].samples]
            how = f"fit by {' or '.join(names)}" if names else f"model {model.key} has no sampler"
            raise UnsupportedCombination(
                f"n_draws= keeps draws of a sampler, and {algorithm.name} makes none: {how}"
            )
        if loadings is None:
            return algorithm
        if isinstance(algorithm, MaximumLikelihood | TemperedEM):
            raise UnsupportedCombination(
                f"loadings= is an option of mean-field, map and laplace, not {algorithm.name}"
            )
        return replace(algorithm, loadings=loadings)
    if loadings is not None:
        raise UnsupportedCombination(
            f"loadings= is an option of mean-field, map and laplace, not {algorithm.name}"
        )
    sampler: Any = algorithm
    if burn_in is not None:
        burn_in = whole_number("burn_in", burn_in, 0)
        if burn_in >= max_iter:
            raise InvalidParameter(
                f"burn_in must be below max_iter = {max_iter}, to leave sweeps to record; "
                f"got {burn_in}"
            )
        sampler = replace(sampler, burn_in=burn_in)
    elif named:
        sampler = replace(sampler, burn_in=max_iter // 2)
    if start is not None:
        sampler = replace(sampler, start=start)
    if anneal is not None:
        sampler = replace(sampler, anneal=whole_number("anneal", anneal, 0))
    if n_draws:
        sampler = replace(sampler, keep=_keep(n_draws, draws_of, max_iter - sampler.burn_in))
    resolved: Algorithm = sampler
    return resolved


def _keep(n_draws: int, draws_of: str | Sequence[str], recorded: int) -> Keep:
    """`n_draws` of the sweeps that are recorded; kinds as a sequence or with commas between."""
    if n_draws > recorded:
        raise InvalidParameter(
            f"n_draws must be at most the sweeps after burn_in, of which there are "
            f"{max(recorded, 0)}; got {n_draws} (raise max_iter or lower burn_in)"
        )
    kinds = draws_of.split(",") if isinstance(draws_of, str) else draws_of
    return Keep(n_draws, recorded, tuple(str(kind).strip() for kind in kinds))
