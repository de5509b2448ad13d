"""Endings of chains in a file: an entry each, and arrays in endings/0/…, checked as all is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import FeatureSpace
from dcomp.models import Model
from dcomp.result.chains import chain_value
from dcomp.result.ending import Ending, best_of
from dcomp.result.stored_checks import check_loadings
from dcomp.result.stored_state import model_entry, read_model
from dcomp.result.trace import Trace

Arrays = dict[str, npt.NDArray[Any]]
_FOLDER = "endings/"


def ending_entries(endings: Sequence[Ending]) -> tuple[list[dict[str, Any]], Arrays]:
    """What the manifest holds of each ending, and the arrays of all by their places in the file."""
    entries: list[dict[str, Any]] = []
    arrays: Arrays = {}
    for place, ending in enumerate(endings):
        about, priors = model_entry(ending.model)
        entries.append({"seed": ending.seed, "model": about})  # its value is in the history
        arrays[f"{_FOLDER}{place}/Theta"] = ending.Theta
        arrays |= {f"{_FOLDER}{place}/model/{name}": array for name, array in priors.items()}
    return entries, arrays


def read_endings(
    entries: Any,
    folders: dict[str, Arrays],
    features: FeatureSpace,
    chains: Sequence[Trace],
    source: Path,
) -> tuple[Ending, ...]:
    """The endings of a file, none of those that were written before there were any; a ValueError
    where they contradict themselves or the histories of the chains."""
    if entries and len(entries) != len(chains):
        raise ValueError(f"it has {len(chains)} chains and {len(entries)} endings")
    left = {folder for folder in folders if folder.startswith(_FOLDER)}
    endings = []
    for place, entry in enumerate(entries):
        own, priors = f"{_FOLDER}{place}", f"{_FOLDER}{place}/model"
        left -= {own, priors}
        model = read_model(entry["model"], folders[priors], source)
        Theta, rows = folders[own]["Theta"], chains[place].rows
        fits = (
            model.scores.nodes is not None
            and type(entry["seed"]) is int
            and rows
            and math.isfinite(chain_value(rows))
            and Theta.dtype == np.float32
            and Theta.shape == (features.n_features, model.n_components)
        )
        if not fits:
            raise ValueError(f"the ending of chain {place} does not belong to it")
        check_loadings(Theta, features, f"Theta of chain {place}")
        endings.append(Ending(entry["seed"], chain_value(rows), model, Theta))
    if left:
        raise ValueError(f"no chain has the ending {min(left)!r}")
    return tuple(endings)


def check_endings(endings: Sequence[Ending], model: Model, seed: int) -> None:
    """A ValueError unless the best one is that of the fit, and all are of one kind of model."""
    best = endings[best_of(endings)]
    kinds = {ending.model.key for ending in endings}
    if best.seed != seed or best.model != model or kinds != {model.key}:
        raise ValueError("its endings are not those of its chains")
