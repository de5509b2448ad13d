"""What must hold of a fit beside the shapes of its arrays: loadings that are distributions, words
that are as many as the documents have, a history that leads to the state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import FeatureSpace
from dcomp.inference import Algorithm, State
from dcomp.models.arrays import column_totals
from dcomp.result.ending import mean_loadings
from dcomp.result.provenance import Provenance
from dcomp.result.stored_types import check_fields
from dcomp.result.trace import Trace

_ROUNDING = 2e-3  # of sums of float32


def check_fit(
    state: State,
    algorithm: Algorithm,
    features: FeatureSpace,
    provenance: Provenance,
    history: Trace,
    chains: Sequence[Trace],
) -> None:
    """A ValueError unless they can be of one fit."""
    check_fields(algorithm, "the algorithm")
    for trace in (history, *chains):
        _check_history(trace)
    if history.rows[-1].sweep != state.sweep:
        raise ValueError(
            f"its history ends with sweep {history.rows[-1].sweep}, its state is of {state.sweep}"
        )
    _check_provenance(provenance, state, features)
    _check_words(state, algorithm, provenance)
    _check_rows(state)
    Theta = mean_loadings(state, algorithm, features)
    may_be_empty = None
    if algorithm.treatment == "map" and state.recorded is None:
        # A component that has no words (of a block), and no prior to give it any, has no loadings.
        may_be_empty = (state.c.sum(axis=0) == 0) | (features.n_blocks > 1)
    check_loadings(Theta, features, "Theta", may_be_empty)


def check_loadings(
    Theta: npt.NDArray[Any],
    features: FeatureSpace,
    name: str,
    may_be_empty: npt.NDArray[np.bool_] | None = None,
) -> None:
    """A ValueError unless each column (J, K) is a distribution in each block, or is all 0 where it
    `may_be_empty` (K).

    >>> check_loadings(np.array([[0.5], [0.7]]), FeatureSpace.build(2), "Theta")
    Traceback (most recent call last):
    ValueError: Theta must sum to 1 in each block of each component; found 1.2
    """
    if Theta.size and not Theta.min() >= 0:
        raise ValueError(f"{name} must not be negative; found {Theta.min()}")
    totals = column_totals(Theta, features.blocks)
    off = np.abs(totals - 1)
    if may_be_empty is not None:
        off[(totals == 0) & may_be_empty] = 0
    if not (off < _ROUNDING).all():
        raise ValueError(
            f"{name} must sum to 1 in each block of each component; "
            f"found {totals.flat[int(off.argmax())]:.6g}"
        )


def _check_history(trace: Trace) -> None:
    if not trace.rows:
        raise ValueError("a history must have a sweep at least")
    before = 0
    for row in trace.rows:
        check_fields(row, "the history")
        if row.sweep <= before:
            raise ValueError(f"sweeps must ascend from 1; found {row.sweep} after {before}")
        before = row.sweep


def _check_provenance(provenance: Provenance, state: State, features: FeatureSpace) -> None:
    tokens: Any = provenance.n_tokens
    if provenance.fractional and type(tokens) is not int:
        if type(tokens) is not float or not np.isfinite(tokens):
            raise ValueError(f"n_tokens of the provenance must be a number; found {tokens!r}")
        check_fields(replace(provenance, n_tokens=0), "the provenance")
    else:
        check_fields(provenance, "the provenance")
    found = (provenance.n_docs, provenance.n_features)
    if found != (len(state.c), features.n_features):
        raise ValueError(
            f"it is of {found[0]} documents and {found[1]} features, and holds "
            f"{len(state.c)} and {features.n_features}"
        )
    if not (tokens >= 0 and 0 <= provenance.n_empty_docs <= provenance.n_docs):
        raise ValueError("its documents cannot have so many words, or be so often empty")


def _check_rows(state: State) -> None:
    """The recorded shares of nodes in leaves, where there are some, are distributions."""
    recorded = state.recorded
    if recorded is None or "upsilon" not in recorded.own:
        return
    scores: Any = state.model.scores
    leaf, n_leaves = scores.structure.leaf, scores.structure.n_leaves
    totals = np.bincount(leaf, recorded.own["upsilon"], n_leaves)
    if not (np.abs(totals / recorded.count - 1) < _ROUNDING).all():
        raise ValueError("the recorded rows of upsilon must sum to 1 for each leaf")


def _check_words(state: State, algorithm: Algorithm, provenance: Provenance) -> None:
    """Words of documents per component add up to no more than the documents have, where they are
    those of the documents."""
    total = float(provenance.n_tokens)
    found = float(state.c.sum(dtype=np.float64))
    most = total * (1 + _ROUNDING) + _ROUNDING if algorithm.divides_words else np.inf
    if found > most or (total > 0 and found == 0):
        raise ValueError(f"its documents have {total:,.0f} words, and {found:,.0f} of components")
    if state.z is not None and found != total:
        raise ValueError(f"its documents have {total:,.0f} words, and {found:,.0f} are sampled")
    recorded = state.recorded
    if recorded is None:
        return
    if recorded.count > state.sweep:
        raise ValueError(f"{recorded.count} of {state.sweep} sweeps cannot be recorded")
    rows = recorded.c.sum(axis=1, dtype=np.float64) / recorded.count
    wanted = state.c.sum(axis=1, dtype=np.float64)
    if not np.allclose(rows, wanted, rtol=_ROUNDING, atol=_ROUNDING):
        raise ValueError("the recorded words of its documents are not as many as they have")
    if recorded.zeros is not None and recorded.zeros.size and recorded.zeros.max() > recorded.count:
        raise ValueError("a component cannot be empty in more sweeps than are recorded")
