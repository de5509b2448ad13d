"""Endings of chains in a file: an entry each, and arrays named ending_0_…, checked as all is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import FeatureSpace
from dcomp.models import Model
from dcomp.result.ending import Ending, best_of, has_edges
from dcomp.result.fitting import level
from dcomp.result.trace import Trace

Arrays = dict[str, npt.NDArray[Any]]
_PREFIX = "ending_"


def ending_entries(
    endings: Sequence[Ending], describe: Callable[[Model], tuple[dict[str, Any], Arrays]]
) -> tuple[list[dict[str, Any]], Arrays]:
    """What the manifest holds of each ending, and the arrays of all by their names in the file."""
    entries: list[dict[str, Any]] = []
    arrays: Arrays = {}
    for place, ending in enumerate(endings):
        about, priors = describe(ending.model)
        entries.append({"seed": ending.seed, **about})  # its level is in the chain's history
        own = {"Theta": ending.Theta, **priors}
        arrays |= {f"{_PREFIX}{place}_{name}": array for name, array in own.items()}
    return entries, arrays


def read_endings(
    entries: Any,
    arrays: Arrays,
    features: FeatureSpace,
    chains: Sequence[Trace],
    build: Callable[[dict[str, Any], Arrays], Model],
) -> tuple[Ending, ...]:
    """The endings of a file, none of those that were written before there were any; a ValueError
    where they contradict themselves or the histories of the chains."""
    if entries and len(entries) != len(chains):
        raise ValueError(f"it has {len(chains)} chains and {len(entries)} endings")
    left = {name for name in arrays if name.startswith(_PREFIX)}
    endings = []
    for place, entry in enumerate(entries or ()):
        prefix = f"{_PREFIX}{place}_"
        own = {name.removeprefix(prefix): arrays[name] for name in left if name.startswith(prefix)}
        left -= {prefix + name for name in own}
        model, Theta, rows = build(entry, own), own["Theta"], chains[place].rows
        fits = (
            has_edges(model)
            and type(entry["seed"]) is int
            and rows
            and math.isfinite(level(rows))
            and Theta.dtype == np.float32
            and Theta.shape == (features.n_features, model.n_components)
            and (not Theta.size or (Theta.min() >= 0 and Theta.max() <= 1.001))  # rounding
        )
        if not fits:
            raise ValueError(f"the ending of chain {place} does not belong to it")
        endings.append(Ending(entry["seed"], level(rows), model, Theta))
    if left:
        raise ValueError(f"no chain has the ending {min(left)!r}")
    return tuple(endings)


def check_endings(endings: Sequence[Ending], model: Model, seed: int) -> None:
    """A ValueError unless the best one is that of the fit, and all are of one kind of model."""
    best = endings[best_of(endings)]
    kinds = {ending.model.key for ending in endings}
    if best.seed != seed or best.model != model or kinds != {model.key}:
        raise ValueError("its endings are not those of its chains")
