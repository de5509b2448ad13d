"""A fit with components that were renamed, merged or left out, and new documents drawn from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.inference import State
from dcomp.inference.state import Recorded
from dcomp.models.arrays import FloatArray, column_totals, read_only
from dcomp.validation import whole_number

if TYPE_CHECKING:
    from dcomp.result.fit import Fit

EDITED = "edited"  # the reason of a fit that is none of a run


def component_number(fit: Fit, component: Any) -> int:
    """A component by its number or its name."""
    labels = fit.component_labels
    if isinstance(component, str):
        if component not in labels:
            raise InvalidParameter(
                f"there is no component {component!r}; there are {', '.join(labels)}"
            )
        return labels.index(component)
    number = whole_number("a component", component, 0)
    if number >= fit.n_components:
        raise InvalidParameter(
            f"components have numbers from 0 to {fit.n_components - 1}; got {number}"
        )
    return number


def renamed(fit: Fit, names: Mapping[Any, str] | Sequence[str]) -> Fit:
    """With other names of components."""
    labels = list(fit.component_labels)
    if not isinstance(names, Mapping):
        if len(names) != len(labels) or isinstance(names, str):
            raise InvalidParameter(f"there must be a name for each of {len(labels)} components")
        names = dict(enumerate(names))
    places = {component_number(fit, which): str(name) for which, name in names.items()}
    for k, name in places.items():
        labels[k] = name
    twice = [name for name in labels if labels.count(name) > 1]
    if twice:
        raise InvalidParameter(
            f"components must differ in their names; {twice[0]!r} is there twice"
        )
    if not all(label.strip() for label in labels):
        raise InvalidParameter("a component's name must not be empty")
    return with_names(fit, labels)


def with_names(fit: Fit, labels: Sequence[str] | None) -> Fit:
    """With these names of all components."""
    loadings = fit.model.loadings.with_names(labels)
    return replace(fit, state=fit.state.changed(model=fit.model.with_loadings(loadings)))


def merge(fit: Fit, groups: Sequence[Sequence[int | str]]) -> Fit:
    """A fit in which each of these groups of components is one: its words are those of all of them,
    its scores their sums (of GP and CGP as nearly as one gamma has them), its loadings their mean
    by words. It stands where the first of the group
    stood and has its name; the rest move up.

    It reads, transforms, judges and saves as any fit; it cannot be resumed.

    >>> import dcomp
    >>> X = [[5, 1, 0, 0], [4, 2, 0, 1], [0, 0, 6, 3], [0, 1, 4, 4]]
    >>> fitted = dcomp.LDA(3, verbose=0).fit(X).fit_
    >>> dcomp.merge(fitted, [(0, 2)]).components.shape
    (2, 4)
    """
    groups = list(groups) if np.iterable(groups) else [groups]
    if any(isinstance(x, str) or not np.iterable(x) for x in groups):
        raise InvalidParameter(
            "merge takes a list of groups, each of two or more components, such as "
            f"[({', '.join(map(repr, fit.component_labels[:2]))})]; got {groups}"
        )
    found = [tuple(component_number(fit, which) for which in group) for group in groups]
    flat = [k for group in found for k in group]
    if not flat or any(len(group) < 2 for group in found) or len(set(flat)) < len(flat):
        raise InvalidParameter(
            "merge takes groups of two or more components, each in one group; got "
            f"{[tuple(group) for group in groups]}"
        )
    gone = {k for group in found for k in group if k != min(group)}
    kept = [k for k in range(fit.n_components) if k not in gone]
    members = {min(group): group for group in found}
    table = np.zeros((fit.n_components, len(kept)))
    for place, k in enumerate(kept):
        table[list(members.get(k, (k,))), place] = 1
    return _regrouped(fit, table, kept)


def drop(fit: Fit, components: Sequence[int | str]) -> Fit:
    """A fit without these components: loadings of the others as they were, and of each document the
    words that those have.

    >>> import dcomp
    >>> X = [[5, 1, 0, 0], [4, 2, 0, 1], [0, 0, 6, 3], [0, 1, 4, 4]]
    >>> fitted = dcomp.LDA(3, verbose=0).fit(X).fit_
    >>> dcomp.drop(fitted, [1]).component_names
    ('0', '2')
    """
    if isinstance(components, str | int):
        components = [components]
    gone = {component_number(fit, which) for which in components}
    kept = [k for k in range(fit.n_components) if k not in gone]
    if not gone or not kept:
        raise InvalidParameter(
            f"drop takes some of the {fit.n_components} components, and not all; got "
            f"{list(components)}"
        )
    table = np.zeros((fit.n_components, len(kept)))
    table[kept, np.arange(len(kept))] = 1
    return _regrouped(fit, table, kept)


def _regrouped(fit: Fit, table: FloatArray, kept: Sequence[int]) -> Fit:
    """With new components, each the sum of those that a column of `table` (old, new) has."""
    if not fit.model.scores.capabilities.gammas:
        raise UnsupportedCombination(
            f"components of model {fit.model.key} hang together: merge and drop are for DM, GP and "
            "CGP"
        )
    model = _with_components(fit, table, kept)
    if fit.state.recorded is not None and fit.state.recorded.count:
        state = _of_record(fit, model, table)
    else:
        c, n = (read_only((x @ table).astype(x.dtype)) for x in (fit.state.c, fit.state.n))
        state = State.whole(model, c, n, fit.n_sweeps, fit.seed)
    allowed = fit.allowed
    if allowed is not None:
        mask = allowed.mask.astype(np.float64) @ table > 0
        mask[~mask.any(axis=1)] = True  # nothing is left of what it was allowed
        allowed = type(allowed).from_mask(mask)
    edited = replace(fit, state=state, kept=None, chains=(), endings=(), allowed=allowed)
    return replace(edited, reason=EDITED)


def _of_record(fit: Fit, model: Any, table: FloatArray) -> State:
    """A sampler's record of the new components: loadings are means by words."""
    words = np.asarray(fit.expected_counts.sum(axis=0, dtype=np.float64))
    share = words[:, None] * table
    share = share / np.maximum(share.sum(axis=0), 1e-300)
    Theta = read_only((np.asarray(fit.Theta, np.float64) @ share).astype(np.float32))
    c = read_only((np.asarray(fit.expected_counts, np.float64) @ table).astype(np.float32))
    zeros = read_only((c == 0).astype(np.float32)) if model.scores.slots.zeros else None
    n = read_only((Theta * (words @ table)).astype(np.float32))
    return State.whole(model, c, n, fit.n_sweeps, fit.seed, recorded=Recorded(Theta, c, zeros, 1))


def _with_components(fit: Fit, table: FloatArray, kept: Sequence[int]) -> Any:
    """The model of the new components. A sum of shares has the sum of their α; of gammas it has the
    mean that their sum has, and is 0 where all of them are."""
    scores: Any = fit.model.scores
    values = {p.name: p.value for p in scores.parameters()}
    alpha = values["alpha"] @ table
    if fit.algorithm.mode == "maximise":  # every mode has α − 1, and so has that of the sum
        alpha = alpha - (table.sum(axis=0) - 1)
    changes = {"alpha": alpha}
    if "beta" in values and (values["beta"] > 0).all():
        changes["beta"] = (values["alpha"] @ table) / ((values["alpha"] / values["beta"]) @ table)
    elif "beta" in values:
        changes["beta"] = values["beta"][list(kept)]
    if "rho" in values:
        changes["rho"] = np.exp(np.log(np.maximum(values["rho"], 1e-300)) @ table)
    old = fit.model.loadings
    labels = [fit.component_labels[k] for k in kept]
    gamma = old.gamma if old.gamma.ndim < 2 else old.gamma[list(kept)]
    alone = [k for k in kept if table[:, kept.index(k)].sum() == 1]
    rows = [old.fixed_at.index(k) for k in alone if k in old.fixed_at]
    loadings = replace(
        old,
        gamma=gamma,
        fixed=old.fixed[rows] if old.fixed is not None and rows else None,
        fixed_at=tuple(kept.index(old.fixed_at[r]) for r in rows),
        names=tuple(labels),
    )
    return fit.model.with_scores(**changes).with_loadings(loadings)


def simulated(fit: Fit, n_docs: int | None, length: Any, seed: int) -> tuple[Counts, FloatArray]:
    """New documents from the fitted model, and their scores."""
    rng = np.random.default_rng(seed)
    n_docs = len(fit.state.c) if n_docs is None else whole_number("n_docs", n_docs, 1)
    model, G = fit.given_model, fit.features.n_blocks
    if length is None:
        length = _usual_lengths(fit, n_docs, rng)
    size = np.asarray(length, dtype=np.float64 if model.has_exposure else np.int64)
    if size.ndim == 0:
        size = np.full(n_docs, size)
    if size.shape not in ((n_docs,), (n_docs, G)) or (size < 0).any():
        raise InvalidParameter(
            f"length must be a number, or one of at least 0 for each of {n_docs} documents (and "
            f"{G} blocks); got shape {size.shape}"
        )
    Theta = np.asarray(fit.Theta, np.float64)
    Theta = Theta / column_totals(Theta, fit.features.blocks)[fit.features.blocks]
    counts, scores, _ = model.simulate(fit.features, size, rng, Theta)
    return counts, scores


def _usual_lengths(fit: Fit, n_docs: int, rng: np.random.Generator) -> npt.NDArray[Any]:
    """Of fitted documents drawn at random: tokens, or exposures where these make the length."""
    chosen = rng.integers(0, len(fit.state.c), n_docs)
    if fit.model.has_exposure:
        if fit.exposure is None:
            return np.ones((n_docs, fit.features.n_blocks))
        return np.asarray(fit.exposure[chosen])
    if fit.features.n_blocks > 1:
        raise InvalidParameter(
            "documents of several blocks need a length for each: give length=, a number or "
            "(documents, blocks)"
        )
    totals = np.asarray(fit.state.c).sum(axis=1)
    return np.asarray(np.rint(totals[chosen]), dtype=np.int64)
