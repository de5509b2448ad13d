"""Models, states and histories in a file: entries of the manifest and arrays by folder, checked
before they are believed."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import FeatureSpace
from dcomp.data.counts import cuts
from dcomp.errors import InvalidFile
from dcomp.inference import Algorithm, Info, State
from dcomp.inference.state import Carried, Recorded
from dcomp.models import MODELS, DirichletLoadings, Model
from dcomp.result.trace import Trace

Arrays = dict[str, npt.NDArray[Any]]
_NUMBERS = (np.float32, np.float64, np.int32)


def model_entry(model: Model) -> tuple[dict[str, Any], Arrays]:
    """What a file says of a model, and its parameters; `read_model` is the way back."""
    entry: dict[str, Any] = {
        "key": model.key,
        "scores": model.scores.stored(),
        "learn_gamma": model.loadings.learned,
    }
    values = {parameter.name: parameter.value for parameter in model.scores.parameters()}
    loadings = {"gamma": model.loadings.gamma}
    if model.loadings.fixed is not None:
        loadings["fixed"] = model.loadings.fixed
        entry["fixed_at"] = list(model.loadings.fixed_at)
    return entry, {**values, **loadings}


def read_model(entry: Any, arrays: Arrays, source: Path) -> Model:
    """A model from its entry and its parameters."""
    if entry["key"] not in MODELS:
        raise InvalidFile(f"{source}: unknown model {entry['key']!r}; upgrade dcomp")
    kind: Any = MODELS[entry["key"]]
    scores = kind.scores_type.restored(entry["scores"], arrays)
    unknown = set(arrays) - {
        "gamma",
        "fixed",
        *(parameter.name for parameter in scores.parameters()),
    }
    if unknown:
        raise ValueError(f"model {kind.key} has no {', '.join(sorted(unknown))}")
    given = (arrays.get("fixed"), entry.get("fixed_at", ()))
    model: Model = kind(scores, DirichletLoadings(arrays["gamma"], entry["learn_gamma"], *given))
    return model


def state_arrays(state: State) -> Arrays:
    """The arrays of a state by their places in the file."""
    arrays = {"state/c": state.c, "state/n": state.n}
    if state.z is not None:
        arrays["state/z"] = state.z
    if state.carried is not None:
        arrays |= {f"carried/{name}": array for name, array in state.carried.arrays().items()}
    recorded = state.recorded
    if recorded is not None:
        arrays |= {"recorded/Theta": recorded.Theta, "recorded/c": recorded.c}
        if recorded.zeros is not None:
            arrays["recorded/zeros"] = recorded.zeros
        if recorded.scores is not None:
            arrays["recorded/scores"] = recorded.scores
        arrays |= {f"recorded/own/{name}": array for name, array in recorded.own.items()}
    return arrays


def read_state(
    entry: Any,
    folders: dict[str, Arrays],
    model: Model,
    algorithm: Algorithm,
    features: FeatureSpace,
) -> State:
    """A state; a ValueError where its arrays do not belong together."""
    own = folders["state"]
    c, n, z = own["c"], own["n"], own.get("z")
    K = model.n_components
    model.loadings.check(features.n_features, K)
    fits = (
        c.ndim == n.ndim == 2
        and len(c) > 0
        and c.shape[1] == K
        and n.shape == (features.n_features, K)
        and c.dtype == n.dtype
        and c.dtype in _NUMBERS
        and bool((c >= 0).all() and (n >= 0).all())
    )
    if not fits:
        raise ValueError("the counts c and n do not belong to this model and its features")
    if z is not None and not _is_assignment(z, c, _n_values(model)):
        raise ValueError("the tokens are not those of the documents")
    carried = _carried(folders.get("carried", {}), model, algorithm, c, n)
    recorded = _recorded(entry["recorded"], folders, model, c, n)
    firsts = tuple(entry.get("parts", (0,)))
    if not cuts(firsts, len(c)):
        raise ValueError(f"parts must begin with document 0 and ascend; found {firsts}")
    where = (entry["sweep"], entry["seed"])
    if where[0] < 1 or where[1] < 0 or entry["recorded"] < 0:
        raise ValueError("sweep must be at least 1, seed and recorded at least 0")
    return State.whole(model, c, n, *where, z, recorded, (), carried, firsts)


def _carried(
    arrays: Arrays,
    model: Model,
    algorithm: Algorithm,
    c: npt.NDArray[Any],
    n: npt.NDArray[Any],
) -> Carried | None:
    kind = algorithm.carried_type(model)
    if kind is None:
        if arrays:
            raise ValueError(f"{algorithm.name} carries no {', '.join(sorted(arrays))}")
        return None
    if not arrays and not algorithm.must_carry:
        return None
    carried = kind.restored(arrays)
    carried.check(model, c, n)
    return carried


def _recorded(
    count: int,
    folders: dict[str, Arrays],
    model: Model,
    c: npt.NDArray[Any],
    n: npt.NDArray[Any],
) -> Recorded | None:
    arrays, own = folders.get("recorded", {}), folders.get("recorded/own", {})
    if not count:
        if arrays or own:
            raise ValueError("sums of no recorded sweep")
        return None
    slots = model.scores.slots
    shapes: dict[str, tuple[int, ...]] = {"Theta": n.shape, "c": c.shape}
    shapes |= {"zeros": c.shape} if slots.zeros else {}
    shapes |= {"scores": c.shape} if slots.scores else {}
    of_own = {
        name: tuple(len(c) if side is None else side for side in shape)
        for name, shape in slots.own.items()
    }
    for found, wanted in ((arrays, shapes), (own, of_own)):
        if {name: array.shape for name, array in found.items()} != wanted:
            raise ValueError("the recorded sums do not belong to this model and its documents")
        if any(array.dtype != np.float32 or (array < 0).any() for array in found.values()):
            raise ValueError("recorded sums must be float32 and not negative")
    return Recorded(
        arrays["Theta"], arrays["c"], arrays.get("zeros"), count, arrays.get("scores"), own
    )


def _n_values(model: Model) -> int:
    """How many things a token may be assigned to."""
    scores: Any = model.scores
    pairs = scores.capabilities.tokens == "pairs"
    return int(scores.structure.n_pairs if pairs else model.n_components)


def _is_assignment(z: npt.NDArray[Any], c: npt.NDArray[Any], n_values: int) -> bool:
    return (
        z.dtype == np.uint16 and z.shape == (int(c.sum()),) and (not len(z) or z.max() < n_values)
    )


def read_trace(rows: Any, algorithm: Algorithm, model: Model) -> Trace:
    """A history, in rows as the algorithm has them; a ValueError where it is none."""
    kind = algorithm.info_type(model)
    known = {f.name for f in fields(kind)}
    read: list[Info] = []
    for row in rows:
        if set(row) - known:
            raise ValueError(f"a row of {algorithm.name} has no {', '.join(set(row) - known)}")
        capped = tuple(row["capped"])
        if not all(isinstance(name, str) and name.isidentifier() for name in capped):
            raise ValueError("what a row says to be held at a limit must be names of parameters")
        read.append(kind(**{**row, "capped": capped}))
    return Trace(tuple(read))
