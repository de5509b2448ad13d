"""Fits that were written in format versions 1 to 3, as version 4 has them.

Those had one folder of arrays with prefixes in their names, flags of all score priors in one
entry, and histories with a column for whatever some algorithm shows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy.typing as npt

Arrays = dict[str, npt.NDArray[Any]]

# Prefix in the old files → folder; the longest first, since one begins with another.
_FOLDERS = {
    "recorded_extra_": "recorded/own",
    "recorded_": "recorded",
    "extra_": "carried",
    "draws_": "draws",
}
_STATE = ("c", "n", "z")
_OF_SOME = ("residual", "temper", "held_out", "comparable")  # columns that were nan where unknown


def upgraded(manifest: dict[str, Any], names: Any, arrays: Arrays) -> tuple[Any, Any, Arrays]:
    """The manifest, names and arrays of an old file in the layout of version 4."""
    placed = {_place(name): array for name, array in arrays.items()}
    new = {
        "model": _model(manifest),
        "algorithm": manifest["algorithm"],
        "state": {
            "sweep": manifest["sweep"],
            "seed": manifest["seed"],
            "recorded": manifest.get("recorded", 0),  # version 1 had no samplers
        },
        "reason": manifest["reason"],
        "exposure_rule": manifest["exposure_rule"],
        "draws": manifest.get("draws"),
        "history": [_row(row) for row in manifest["history"]],
        "chains": [[_row(row) for row in rows] for rows in manifest.get("chains", ())],
        "endings": [
            {"seed": entry["seed"], "model": _model(entry)}
            for entry in manifest.get("endings") or ()
        ],
        "provenance": manifest["provenance"],
    }
    if manifest["model"] in ("DM", "GP", "TM") and "recorded/zeros" in placed:
        del placed["recorded/zeros"]  # summed up for flat leaves, and never read
    return new, names, placed


def _place(name: str) -> str:
    """Where an array of the old files lies in the new ones."""
    if name == "exposure":
        return name
    if name == "blocks":
        return "features/blocks"
    if name in _STATE:
        return f"state/{name}"
    if name.startswith("ending_"):
        _, number, own = name.split("_", 2)
        return f"endings/{number}/Theta" if own == "Theta" else f"endings/{number}/model/{own}"
    for prefix, folder in _FOLDERS.items():
        if name.startswith(prefix):
            return f"{folder}/{name.removeprefix(prefix)}"
    return f"model/{name}"


def _model(entry: dict[str, Any]) -> dict[str, Any]:
    """The model's entry: its flags, its tree or its structure."""
    scores = dict(entry["scores"])
    if entry.get("tree") is not None:
        scores = {"tree": entry["tree"]}
    if entry.get("structure") is not None:
        old = entry["structure"]
        scores = {
            "leaves": old["leaves"],
            "scores": old["flags"],
            "rows": {"kind": old["kind"], "learn_psi": old["learn_psi"], "upsilon": old["upsilon"]},
            "structure": old["shape"],
        }
    # Version 2 and those before never learned γ.
    return {
        "key": entry["model"],
        "scores": scores,
        "learn_gamma": entry.get("learn_gamma", False),
    }


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """A row without the columns that say nothing; None for the change of a first sweep."""
    kept = {
        name: value
        for name, value in row.items()
        if name != "comparable" and not (name in _OF_SOME and _is_nan(value))
    }
    return {name: None if _is_nan(value) else value for name, value in kept.items()}


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
