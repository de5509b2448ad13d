"""Kept draws in a file: plain arrays, checked before they are believed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import FeatureSpace
from dcomp.inference import State
from dcomp.inference.draws import hyper_parameters
from dcomp.result.draws import FIELDS, Draws, log_joint
from dcomp.result.stored_checks import check_loadings
from dcomp.result.trace import Trace

Arrays = dict[str, npt.NDArray[Any]]


def draw_arrays(draws: Draws) -> Arrays:
    """Everything that the manifest does not hold, by its name in the file."""
    fields = {name: getattr(draws, name) for name in FIELDS.values()}
    arrays = {"sweep": draws.sweep, **draws.hyper, **fields}
    return {name: array for name, array in arrays.items() if array is not None}


def read_draws(
    entry: Any,
    arrays: Arrays,
    state: State,
    features: FeatureSpace,
    doc_ids: tuple[str, ...] | None,
    traces: Sequence[Trace],
) -> Draws | None:
    """The draws of a file, or None; a ValueError where they contradict the rest of it."""
    own, model = dict(arrays), state.model
    if entry is None and not own:
        return None
    chains, best, sweep = tuple(entry["chains"]), entry["best"], own.pop("sweep")
    lengths = [len(trace) for trace in traces]
    lead = (len(chains), len(sweep))
    fits = (
        _are_places(chains, lengths)
        and _are_places((best,), chains)
        and _are_sweeps(sweep, min(lengths[chain] for chain in chains))
        and set(hyper_parameters(model)) <= set(own) <= {*hyper_parameters(model), *FIELDS.values()}
        and all(_is_of_state(own[name], name, lead, state) for name in own)
    )
    if not fits:
        raise ValueError("its draws do not belong together")
    if "Theta" in own:
        for Theta in own["Theta"].reshape(-1, *state.n.shape):
            check_loadings(Theta, features, "a draw of Theta")
    hyper = {name: own[name] for name in hyper_parameters(model)}
    fields: dict[str, Any] = {name: own.get(name) for name in FIELDS.values()}
    joint = log_joint([traces[chain] for chain in chains], sweep)
    return Draws(sweep, chains, best, hyper, joint, features=features, doc_ids=doc_ids, **fields)


def _are_places(numbers: tuple[Any, ...], among: Sequence[Any]) -> bool:
    """Whether they are different places of a sequence, in rising order."""
    whole = all(type(number) is int and 0 <= number < len(among) for number in numbers)
    return bool(numbers) and whole and list(numbers) == sorted(set(numbers))


def _are_sweeps(sweep: npt.NDArray[Any], last: int) -> bool:
    if sweep.ndim != 1 or sweep.dtype != np.int64 or not len(sweep):
        return False
    return bool(sweep[0] >= 1 and sweep[-1] <= last and (np.diff(sweep) > 0).all())


def _is_of_state(array: npt.NDArray[Any], name: str, lead: tuple[int, int], state: State) -> bool:
    """Whether the array has the shape and the range of its kind."""
    c, n = state.c, state.n
    kinds: dict[str, tuple[tuple[int, ...], Any, float]] = {
        "scores": (c.shape, np.float32, np.inf),
        "Theta": (n.shape, np.float32, np.inf),
        "assignments": ((int(c.sum()),), np.uint16, state.model.n_components),
        "gamma": ((), np.float64, np.inf),
    }
    kinds |= {
        parameter.name: (parameter.value.shape, np.float64, parameter.upper)
        for parameter in state.model.scores.parameters()
    }
    rest, dtype, limit = kinds[name]
    if array.shape != (*lead, *rest) or array.dtype != dtype:
        return False
    return not array.size or bool(array.min() >= 0 and array.max() < limit)
