"""The leaves of structured components (ST) in a fit: their scores, Υ, and the flat model that they
are once Υ is given (B09 3.2). `Fit` has these as methods."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dcomp import registry
from dcomp.data import Counts
from dcomp.errors import UnsupportedCombination
from dcomp.inference import State
from dcomp.inference.base import FloatingArray, Recorded
from dcomp.inference.mean_field import FoldIn, Weights
from dcomp.inference.sampled_scores import SampledScores
from dcomp.inference.structured_scores import sample_structured_scores, with_given_rows
from dcomp.models import Observations, Structured
from dcomp.models.arrays import FloatArray, read_only
from dcomp.result.tables import Assignments

if TYPE_CHECKING:
    from dcomp.result.fit import Fit


def structured(fit: Fit, what: str) -> Structured:
    """The fit's model if it is ST, else an error that says what there is only of that."""
    if not isinstance(fit.model, Structured):
        raise UnsupportedCombination(
            f"{what} are of model ST (dcomp.StructuredDCA); this is {fit.model.key}"
        )
    return fit.model


def leaf_and_node_scores(fit: Fit, exposure: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Posterior means given the counts of the last sweep, (I, K) and (I, H)."""
    extra = fit.state.extra
    return structured(fit, "leaf scores").scores.posterior_means(
        extra["leaf_counts"], extra["structure_counts"], exposure
    )


def leaf_scores(fit: Fit, exposure: FloatArray) -> FloatingArray:
    """E[q] or E[l] of the training documents' leaves, (I, K)."""
    structured(fit, "leaf scores")
    recorded = fit.state.recorded
    if recorded is not None and recorded.count:
        return read_only(recorded.extra["leaf_scores"] / np.float32(recorded.count))
    return read_only(leaf_and_node_scores(fit, exposure)[0].astype(fit.dtype))


def upsilon(fit: Fit) -> FloatingArray:
    """Υ (K, H), rows sum to 1."""
    model, recorded = structured(fit, "upsilon"), fit.state.recorded
    if recorded is not None and recorded.count:
        pairs = recorded.extra["upsilon"].astype(np.float64) / recorded.count
    else:
        pairs = model.scores.pooled_upsilon(fit.state.extra["structure_counts"])
    table = model.structure.table(pairs).toarray()
    return read_only((table / table.sum(axis=1, keepdims=True)).astype(fit.dtype))


def as_leaves(fit: Fit) -> Fit:
    """The fit as one of flat components, its leaves."""
    model = structured(fit, "leaves")
    if model.scores.rows.per_document:
        raise UnsupportedCombination(
            "leaves have loadings of their own only where the corpus shares Υ; here every "
            f"document has one (structure {model.scores.rows.kind!r})"
        )
    c = read_only(fit.state.extra["leaf_counts"].astype(np.float32))
    recorded = Recorded(fit.leaf_Theta, c, (c == 0).astype(np.float32), 1)
    n = read_only(fit.leaf_Theta * c.sum(axis=0))
    state = State(model.leaf_model, c, n, fit.n_sweeps, fit.seed, recorded=recorded)
    return replace(fit, state=state, kept=None)


def has_fixed_point(model: Structured) -> bool:
    """Whether a document has a fixed point: with Υ given, ST is a flat model of leaves."""
    leaves = registry.supported()[model.leaf_model.key]
    return "mean-field" in leaves and not model.scores.rows.per_document


def fold_in_leaves(fit: Fit, observed: Observations, **options: Any) -> FoldIn:
    """Fixed point of each document's leaves, and what comes of it for the nodes."""
    if not fit.has_fixed_point:
        raise UnsupportedCombination(
            "a document's fixed point needs a Υ that the corpus shares, and leaves of DM or "
            "GP; method='sampling' works for all"
        )
    folded = fit.as_leaves().fold_in(observed, **options)
    of_nodes = [(x @ fit.upsilon).astype(fit.dtype) for x in (folded.c, folded.scores)]
    return replace(folded, c=of_nodes[0], scores=of_nodes[1])


def sample_node_scores(
    fit: Fit, observed: Observations, weights: Weights, n_threads: int, **options: Any
) -> SampledScores:
    """Posterior of each document's scores with Θ given, and Υ where the corpus shares it."""
    model = structured(fit, "node scores")
    pairs = fit.upsilon[model.structure.leaf, model.structure.node]
    given = with_given_rows(model, pairs)
    return sample_structured_scores(given, observed, weights, n_threads, **options)


def transform_leaves(
    fit: Fit, X: Any, exposure: Any, seed: int, n_jobs: int | None
) -> FloatingArray:
    """Scores of leaves of new documents, (I, K): the fixed point if there is one."""
    structured(fit, "leaf scores")
    if fit.has_fixed_point:
        observed = X if isinstance(X, Observations) else fit.observe(X, exposure)
        return fit.as_leaves().fold_in(observed, n_jobs=n_jobs).scores
    sampled = fit.sample_scores(X, exposure=exposure, seed=seed, n_jobs=n_jobs)
    assert sampled.leaves is not None
    return sampled.leaves


def pair_assignments(model: Structured, counts: Counts, z: npt.NDArray[np.uint16]) -> Assignments:
    """The node of each token, with the leaf beside it, from its pair of the two."""
    structure = model.structure
    node, leaf = (read_only(of[z].astype(np.uint16)) for of in (structure.node, structure.leaf))
    return replace(Assignments.build(counts, node), leaf=leaf)
