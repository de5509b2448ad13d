"""How a fit came about: what it climbed or where its chains went, and how K was chosen."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.errors import InvalidFile, InvalidParameter
from dcomp.evaluate import Candidate, Diagnostics, Selection
from dcomp.report.packing import name_on_page
from dcomp.report.speech import Speech
from dcomp.result import Fit

_POINTS = 400  # of a trace
_TRACES = 8  # chains that are drawn
_LARGEST = 1 << 24  # bytes of a file with a selection


def traces(fit: Fit, judged: Diagnostics, said: Speech | None = None) -> dict[str, Any]:
    """The objective (of a sampler the log joint) sweep by sweep of every chain, and the quantities
    that the verdict rests on, in the words of the field."""
    told = (said or Speech()).told
    chains = fit.chains or (fit.history,)
    best = _best(fit)
    return {
        "objective": fit.algorithm.objective_name,
        "samples": fit.algorithm.samples,
        "burnIn": fit.algorithm.schedule.burn_in if fit.algorithm.samples else 0,
        "lines": [_thinned(chain["objective"]) for chain in chains[:_TRACES]],
        "best": best if best < _TRACES else None,
        "more": max(len(chains) - _TRACES, 0),
        "quantities": [_quantity(q) | {"name": told(q.name)} for q in judged.quantities],
        "components": _finite(judged.component_rhat),
    }


def _best(fit: Fit) -> int:
    """The chain that the fit shows."""
    ends = [chain is fit.history or chain.rows == fit.history.rows for chain in fit.chains]
    return ends.index(True) if True in ends else 0


def _quantity(q: Any) -> dict[str, Any]:
    sizes = {"bulk": q.ess_bulk, "tail": q.ess_tail}
    return {"name": q.name, "rhat": q.rhat, **sizes, "draws": q.n_draws}


def _finite(values: npt.NDArray[Any] | None) -> list[float] | None:
    return None if values is None else [float(v) for v in np.nan_to_num(values, nan=0.0)]


def _thinned(values: npt.NDArray[Any]) -> list[list[float]]:
    """Sweeps and values, no more than can be told apart on a screen; the first and the last are
    among them."""
    places = np.unique(np.linspace(0, len(values) - 1, _POINTS).astype(int))
    found = np.asarray(values, np.float64)[places]
    kept = np.isfinite(found)
    return [(places[kept] + 1).tolist(), found[kept].tolist()]


def choice_of_k(selection: Selection, own: int) -> dict[str, Any]:
    """The table of a selection as the page shows it; `own` is the K of the fit."""
    rows = []
    for candidate in selection.candidates:
        record = asdict(candidate) | {"perplexity": candidate.perplexity}
        rows.append({k: v if np.isfinite(v) else None for k, v in record.items()})
    return {
        "rows": rows,
        "recommended": selection.recommended,
        "own": own,
        "measure": name_on_page(selection.measure),
        "summary": name_on_page(selection.summary, 2000),
    }


def read_selection(path: Path) -> Selection:
    """What `dcomp select --json` printed, from a file."""
    if path.exists() and path.stat().st_size > _LARGEST:
        raise InvalidFile(f"{path} is too large for the output of dcomp select --json")
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        rows = tuple(_candidate(row) for row in record["candidates"])
        indistinct = tuple(int(k) for k in record.get("indistinct", ()))
        recommended, summary = int(record["recommended"]), str(record.get("summary", ""))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidFile(
            f"{path} must hold what dcomp select --json prints; {type(error).__name__}: {error}"
        ) from None
    if recommended not in {row.n_components for row in rows}:
        raise InvalidFile(f"{path}: the recommended K, {recommended}, is none of the candidates")
    return _Read(rows, recommended, indistinct, "coherence", (summary,))


class _Read(Selection):
    """A selection whose summary was written with it."""

    @property
    def summary(self) -> str:
        return " ".join(self.notes)


def _candidate(row: dict[str, Any]) -> Candidate:
    known = {f.name: row[f.name] for f in fields(Candidate) if f.name in row}
    numbers: dict[str, Any] = {k: float("nan") if v is None else v for k, v in known.items()}
    made = Candidate(**numbers)
    if not all(isinstance(v, int | float) for v in numbers.values()) or made.n_components < 1:
        raise InvalidParameter(f"a candidate must be numbers; got {row!r}")
    return made
