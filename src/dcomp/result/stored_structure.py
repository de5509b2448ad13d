"""Structured components in a file: the manifest's entry, and arrays checked before believed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidParameter
from dcomp.inference.structure_search import MOVES
from dcomp.models import (
    ConditionalGammaScores,
    DirichletScores,
    GammaScores,
    Structure,
    StructuredScores,
)
from dcomp.models.structure_rows import DirichletRows, FixedRows, Rows, StickRows

Arrays = dict[str, npt.NDArray[Any]]
_LEAVES: dict[str, Any] = {"DM": DirichletScores, "GP": GammaScores, "CGP": ConditionalGammaScores}
_FLAGS = ("learn_alpha", "learn_beta", "learn_rho")


def structure_entry(scores: StructuredScores) -> dict[str, Any]:
    """What the manifest says; α, β, ρ and ψ are arrays of the file."""
    rows: Any = scores.rows
    return {
        "leaves": next(key for key, kind in _LEAVES.items() if kind is type(scores.leaves)),
        "flags": {
            flag: getattr(scores.leaves, flag) for flag in _FLAGS if hasattr(scores.leaves, flag)
        },
        "kind": rows.kind,
        "learn_psi": rows.learn_psi,
        "upsilon": rows.upsilon.tolist() if isinstance(rows, FixedRows) else None,
        "shape": json.loads(scores.structure.to_json()),
    }


def read_structured(entry: Any, arrays: Arrays) -> StructuredScores:
    """Scores from the manifest's entry; a ValueError where it contradicts the arrays."""
    try:
        return _scores(entry, arrays)
    except InvalidParameter as error:  # of the file, not of the user
        raise ValueError(str(error)) from None


def _scores(entry: Any, arrays: Arrays) -> StructuredScores:
    structure = Structure.from_json(json.dumps(entry["shape"]))
    names = [name for name in ("alpha", "beta", "rho") if name in arrays]
    flags = {flag: bool(value) for flag, value in entry["flags"].items() if flag in _FLAGS}
    leaves = _LEAVES[entry["leaves"]].build(
        structure.n_leaves, **{name: arrays[name] for name in names}, **flags
    )
    return StructuredScores(leaves, _rows(structure, entry, arrays))


def _rows(structure: Structure, entry: Any, arrays: Arrays) -> Rows:
    kind, learn = str(entry["kind"]), bool(entry["learn_psi"])
    if kind == "fixed":
        table = structure.table(np.array(entry["upsilon"], dtype=np.float64))
        return FixedRows.build(structure, table)
    make: Any = {
        "shared": DirichletRows,
        "document": DirichletRows,
        "phi": StickRows,
        "document-phi": StickRows,
    }[kind]
    psi = arrays["psi"]
    shape = (structure.n_nodes, 2) if make is StickRows else (structure.n_pairs,)
    if psi.shape != shape or psi.dtype != np.float64 or not (psi > 0).all():
        raise ValueError("psi does not belong to the structure")
    make.build(structure)  # an error where the kind needs a tree and there is none
    rows: Rows = make(structure, psi, kind.startswith("document"), learn)
    return rows


def are_structured(
    own: Arrays, recorded: Arrays, scores: StructuredScores, c: npt.NDArray[Any]
) -> bool:
    """Whether what the state and the record carry belongs to these documents and this structure."""
    n_docs, rows = len(c), scores.rows
    leaves = (n_docs, scores.n_leaves)
    shapes: dict[str, tuple[int, ...]] = {
        "leaf_counts": leaves,
        "structure_counts": (n_docs if rows.per_document else 1, rows.width),
    }
    of_record: dict[str, tuple[int, ...]] = {
        "leaf_scores": leaves,
        "upsilon": (scores.structure.n_pairs,),
    }
    moves = own.get(MOVES, np.empty((0, 6)))
    return (
        set(shapes) <= set(own) <= {*shapes, MOVES}
        and all(own[name].shape == shape for name, shape in shapes.items())
        and all(own[name].dtype == np.int32 and (own[name] >= 0).all() for name in shapes)
        and bool((own["leaf_counts"].sum(axis=1) == c.sum(axis=1)).all())
        and moves.ndim == 2
        and moves.shape[1] == 6
        and set(recorded) in (set(), set(of_record))
        and all(recorded[name].shape == of_record[name] for name in recorded)
        and all((array >= 0).all() for array in recorded.values())
    )
