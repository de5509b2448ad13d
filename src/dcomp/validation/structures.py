"""Structured components as users type them (B09)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dcomp import registry
from dcomp.data import Counts
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.inference import Algorithm, StructureSearch
from dcomp.inference.growth import check_growth
from dcomp.models import Structure, Structured, StructuredScores
from dcomp.models.structured import KINDS, build_rows
from dcomp.validation.models import resolve_model
from dcomp.validation.numbers import whole_number
from dcomp.validation.priors import is_word
from dcomp.validation.trees import resolve_tree

LEAVES = ("DM", "GP", "CGP")
N_LEAVES = 10  # unless given
ANNEAL = 0.8


def resolve_structure(
    n_components: int | None, tree: Any = None, mask: Any = None, upsilon: Any = None
) -> tuple[Structure, bool]:
    """The structure, and whether it is only where a search begins: from a tree, from a mask or a
    given Υ (leaves × nodes), or K leaves on their own where nothing is given.

    >>> resolve_structure(None, tree=[-1, 0, 0])[0].n_leaves, resolve_structure(5)[1]
    (2, True)
    """
    named = {"tree": tree, "mask": mask, "upsilon": upsilon}
    given = [name for name, value in named.items() if value is not None]
    if len(given) > 1:
        raise InvalidParameter(
            f"{given[0]}= and {given[1]}= both say what the structure is: give one"
        )
    if not given:
        K = N_LEAVES if n_components is None else whole_number("n_components", n_components, 1)
        return Structure.flat(K), True
    if isinstance(tree, Structure):
        structure = tree
    elif tree is not None:
        structure = _from_tree(tree)
    else:
        structure = Structure.from_mask(mask if upsilon is None else upsilon)
    if n_components is not None and n_components != structure.n_leaves:
        raise InvalidParameter(
            f"n_components is the number of leaves, of which {given[0]}= has {structure.n_leaves}; "
            f"got {n_components}"
        )
    return structure, False


def _from_tree(tree: Any) -> Structure:
    """Parents may have several at the top; everything else is as for a tree of components."""
    is_parents = (
        not isinstance(tree, str)
        and not hasattr(tree, "parents")
        and all(parent is None or isinstance(parent, int | np.integer) for parent in tree)
    )
    if is_parents:
        return Structure.from_parents(list(tree))
    return Structure.from_tree(resolve_tree(tree))


def resolve_structured_model(
    structure: Structure,
    counts: Counts,
    *,
    kind: str = "shared",
    leaves: str = "DM",
    upsilon: Any = None,
    psi: Any = "auto",
    alpha: Any = "auto",
    beta: Any = "auto",
    rho: Any = "auto",
    gamma: Any = 0.05,
) -> Structured:
    """A model of leaves and nodes; "auto" priors of the leaves are learned as for flat models.
    psi: "auto" is `start_psi`, learned where documents have a Υ of their own (B09 5.6)."""
    if kind not in KINDS:
        raise InvalidParameter(f"structure must be one of {', '.join(KINDS)}; got {kind!r}")
    leaves = next((key for key in LEAVES if leaves.lower() in registry.names_of(key)), leaves)
    if leaves not in LEAVES:
        raise InvalidParameter(f"leaves must be one of {', '.join(LEAVES)}; got {leaves!r}")
    word = is_word("psi", psi, ("auto",))
    if upsilon is not None and (kind != "shared" or word is None):
        what = f"structure={kind!r}" if kind != "shared" else "psi="
        raise UnsupportedCombination(f"a given upsilon has no prior: leave out {what}")
    priors: Any = {"alpha": alpha, "beta": beta, "rho": rho, "gamma": gamma}
    flat: Any = resolve_model(
        leaves, counts, structure.n_leaves, algorithm="collapsed-gibbs", **priors
    )
    rows = build_rows(
        structure,
        kind,
        start_psi(kind) if word else psi,
        upsilon=upsilon,
        learn_psi=word == "auto" and kind.startswith("document"),
    )
    return Structured(StructuredScores(flat.scores, rows), flat.loadings)


def start_psi(kind: str) -> Any:
    """ψ where "auto" says so. Rows of documents begin alike: with a weak prior every document makes
    its own, and nothing is left to share (docs/decisions/0014 has the figures).

    >>> start_psi("shared"), start_psi("document-phi")
    (1.0, (5.0, 10.0))
    """
    return {"document": 5.0, "document-phi": (5.0, 10.0)}.get(kind, 1.0)


def resolve_structured_algorithm(
    algorithm: Algorithm,
    model: Structured,
    *,
    searches: bool,
    anneal: bool = True,
    one_structure: bool = False,
    psi: Any = "auto",
    **of_search: Any,
) -> Algorithm:
    """The sampler with a search where no structure was given, annealed if asked for where that
    helps: four fifths of the sweeps before a search, and of the burn-in where documents have rows
    of their own (docs/decisions/0014). `one_structure`: whether all chains must end with the same.
    of_search: search_at, max_nodes and score, None where not given."""
    options: Any = algorithm
    given = {name: value for name, value in of_search.items() if value is not None}
    changes: dict[str, Any] = {}
    if not searches and given:
        raise InvalidParameter(f"{next(iter(given))} is of a search, and the structure is given")
    if searches and one_structure:
        raise InvalidParameter(
            "draws of several chains need one structure, and a search finds one for each chain: "
            "give tree=, mask= or n_chains=1, or leave out n_draws"
        )
    if searches:
        changes["grow"] = resolve_search(model, options.burn_in, psi=psi, **given)
    if anneal and (searches or model.scores.rows.per_document):
        changes["anneal"] = int(ANNEAL * (changes["grow"].at if searches else options.burn_in))
    finished: Algorithm = replace(options, **changes)
    return finished


def resolve_search(
    model: Structured,
    burn_in: int,
    *,
    search_at: int | None = None,
    score: str = "variational",
    max_nodes: int | None = None,
    psi: Any = "auto",
) -> StructureSearch:
    """When and how a structure is searched for: half way through the burn-in unless given."""
    at = max(burn_in // 2, 1) if search_at is None else whole_number("search_at", search_at, 1)
    search = StructureSearch(at)
    check_growth(search, burn_in)
    if max_nodes is not None:
        whole_number("max_nodes", max_nodes, model.scores.n_leaves)
    value = np.asarray(start_psi(model.scores.rows.kind) if isinstance(psi, str) else psi, float)
    if np.ndim(value) and np.shape(value) != (2,):
        raise InvalidParameter(
            "psi of a structure that is yet to be found must be a number, or a pair (stop, go on) "
            f"for φ; got shape {np.shape(value)}"
        )
    chosen: Any = tuple(np.asarray(value).tolist()) if np.ndim(value) else float(value)
    return replace(search, score=score, max_nodes=max_nodes, psi=chosen)
