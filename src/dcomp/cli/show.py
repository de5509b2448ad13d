"""A fit as people and programs read it: a summary, and its components with their top features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dcomp.cli.common import console
from dcomp.printable import columns, printable, shortened

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

    from dcomp.data import Counts
    from dcomp.models.arrays import FloatArray
    from dcomp.result import Fit, TopFeatures


FEW_BLOCKS = 4  # that are shown one below the other
_LONGEST = 24  # columns of a name


@dataclass(frozen=True)
class Ranking:
    """How many features of a component are shown, and by what they are ranked."""

    n: int = 10
    by: str | None = None
    weight: float | None = None

    def check(self) -> None:
        """An error now, rather than after the work."""
        from dcomp.result.special import checked_weight

        checked_weight(self.by or "probability", self.weight)

    def measure(self, fit: Fit) -> str:
        """As said; else probability, which says little where blocks are many."""
        return self.by or ("probability" if fit.features.n_blocks <= FEW_BLOCKS else "relevance")

    def top(self, fit: Fit, block: int | None = None) -> TopFeatures:
        """The first features, as many as there are at most."""
        n = min(self.n, fit.features.n_features)
        return fit.top_features(n, block, by=self.measure(fit), weight=self.weight)

    def title(self, fit: Fit) -> str:
        """What the column is called."""
        by = self.measure(fit)
        return "top features" if by == "probability" else f"top features by {by}"

    def in_blocks(self, fit: Fit) -> bool:
        """Whether each block is shown on its own: they are few, and not all features are shown."""
        n_blocks = fit.features.n_blocks
        return 1 < n_blocks <= FEW_BLOCKS and fit.features.n_features > n_blocks * self.n

    def cells(self, fit: Fit) -> list[str]:
        """The features of each component as a cell of a table; a few blocks stand one below the
        other, for the words of short ones (titles) are the more probable."""
        features = fit.features
        if not self.in_blocks(fit):
            top = self.top(fit)
            return ["  ".join(map(printable, row)) for row in top.names]
        rows: list[list[str]] = [[] for _ in range(fit.n_components)]
        for g in range(features.n_blocks):
            block = features.block_name(g)
            for row, names in zip(rows, self.top(fit, g).names, strict=True):
                plain = [printable(name.removeprefix(f"{block}=")) for name in names]
                row.append(f"{printable(block)}: {'  '.join(plain)}")
        return ["\n".join(row) for row in rows]


def top_features(fit: Fit, n: int) -> TopFeatures:
    """The heaviest features, as many as there are at most."""
    return fit.top_features(min(n, fit.features.n_features))


def n_components(fit: Fit) -> str:
    """How many there are, in words."""
    return f"{fit.n_components:,} component{'s' * (fit.n_components != 1)}"


def shares(fit: Fit) -> FloatArray:
    """The part of all tokens that each component has, (K)."""
    words = fit.expected_counts.sum(axis=0, dtype=np.float64)
    return np.asarray(words / max(words.sum(), 1e-300))


def component_table(
    fit: Fit, ranking: Ranking, more: Mapping[str, Sequence[str]] | None = None
) -> Table:
    """One row per component, largest first; `more` holds further columns."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    number: Any = {"justify": "right", "no_wrap": True}
    table.add_column("#", **number)
    if fit.component_names is not None:
        table.add_column("name", overflow="ellipsis", no_wrap=True, max_width=_LONGEST)
    table.add_column("tokens", **number)
    for title in more or {}:
        # It may be a value of an attribute, of whatever length.
        table.add_column(printable(title), **number, overflow="ellipsis", max_width=_LONGEST)
    table.add_column(ranking.title(fit), overflow="fold")
    top, part = ranking.cells(fit), shares(fit)
    for k in np.argsort(-part, kind="stable").tolist():
        extra = [column[k] for column in (more or {}).values()]
        name = [] if fit.component_names is None else [_own_name(fit.component_names, k)]
        table.add_row(str(k), *name, f"{100 * part[k]:.1f} %", *extra, top[k])
    return table


def _own_name(names: Sequence[str], k: int) -> str:
    """Nothing where the name is the number, which stands beside it.

    >>> _own_name(["war", "1"], 0), _own_name(["war", "1"], 1)
    ('war', '')
    """
    return "" if names[k] == str(k) else printable(names[k])


def has_tree(fit: Fit) -> bool:
    """Whether the components of a fit are nodes of a tree, which then says more than a table."""
    nodes = fit.model.scores.nodes
    return nodes is not None and bool(nodes.edges) and nodes.parents is not None


def print_tree(out: Console, fit: Fit, n: int) -> None:
    """The tree with n features of each node: on a terminal in lines that are cut, since a tree of
    folded lines cannot be read; whole elsewhere."""
    from dcomp.evaluate import Hierarchy

    for line in Hierarchy.from_fit(fit, n=n).text().splitlines():
        cut = out.is_terminal and columns(line) > out.width
        out.print(shortened(line, out.width) if cut else line, soft_wrap=True)


def print_fit(fit: Fit, counts: Counts, target: Path, ranking: Ranking) -> None:
    """A fit that was just made: how it went, its components, and where it is."""
    out = console()
    for line in summary_lines(fit, counts):
        out.print(line)
    if has_tree(fit):
        print_tree(out, fit, ranking.n)
    else:
        out.print(component_table(fit, ranking))
    out.print(f"saved in {printable(target)}", soft_wrap=True)


def summary_lines(fit: Fit, counts: Counts) -> list[str]:
    """What was fitted, how it ended, and the priors."""
    empty = fit.provenance.n_empty_docs
    tokens = counts.n_tokens or 1
    seconds = float(fit.history["seconds"].sum())
    lines = [
        f"{counts.n_docs:,} documents{f' ({empty:,} empty)' if empty else ''}, "
        f"{counts.n_features:,} features, {counts.in_words}",
        f"{fit.model.key}, {n_components(fit)}, {fit.algorithm.name}: "
        f"{fit.n_sweeps} sweeps in {seconds:.1f} s, {_ENDS.get(fit.reason, fit.reason)}",
        _objective(fit, tokens),
        *(() if fit.remaining is None else fit.remaining.shown_lower),
    ]
    if fit.algorithm.samples:
        lines += _sampling(fit)
    levels = chain_levels(fit)
    if len(levels) > 1:  # an interrupt may leave one of several
        lines.append(
            f"{len(levels)} chains: the best is kept; {_level_name(fit)} of their last sweeps from "
            f"{min(levels):,.1f} (worst) to {max(levels):,.1f} (best)"
        )
    lines += [_prior(fit, name, values) for name, values in priors(fit).items()]
    if fit.model.loadings.learned:
        lines.append(f"gamma (learned): {float(fit.model.loadings.gamma):.3g} for every feature")
    return [*lines, *fit.remarks, _negligible(fit)]


def _prior(fit: Fit, name: str, values: FloatArray) -> str:
    how = "learned" if name in fit.model.scores.learned else "given"
    if how == "learned" and name not in _learned(fit):
        return f"{name}: as it began, because no document had a choice of components"
    if name == "Sigma0":
        sd = np.sqrt(np.maximum(np.diag(values), 0.0))
        return f"{name} ({how}): standard deviations from {sd.min():.3g} to {sd.max():.3g}"
    whole = {"rho": f"mean {values.mean():.4g}, ", "mu0": ""}.get(name, f"sum {values.sum():.4g}, ")
    return f"{name} ({how}): {whole}from {values.min():.3g} to {values.max():.3g}"


def _learned(fit: Fit) -> tuple[str, ...]:
    """The priors of scores that documents have told. Shares of documents that have one component
    each are 1 whatever the prior."""
    is_told = fit.allowed is not None and not fit.allowed.has_choice
    return () if is_told and not fit.model.has_exposure else tuple(fit.model.scores.learned)


def _negligible(fit: Fit) -> str:
    found = fit.negligible_scores()
    # Worth a word only where most scores are kept for nothing (BJ06 IV.B); of a document with fewer
    # words than there are components most have none, and that says nothing of the model.
    n_docs, K = fit.state.c.shape
    is_long = float(fit.expected_counts.sum(dtype=np.float64)) >= n_docs * K
    hinted = found.zero is None and found.share >= 0.5 and is_long
    return f"{found}; CGP can make them exactly zero" if hinted else str(found)


_ENDS = {
    "limit": "stopped at the limit of sweeps",
    "callback": "stopped by a callback",
    "rounding": "converged as far as rounding shows",
}


def _level_name(fit: Fit) -> str:
    """What chains are compared by."""
    comparison = type(fit.history.rows[-1]).comparison
    return fit.algorithm.objective_name if comparison == "objective" else comparison


def _objective(fit: Fit, tokens: int) -> str:
    value = f"{fit.algorithm.objective_name} {fit.objective:,.1f}"
    part = f"{fit.history.rows[-1].documents / tokens:.4f} per token (not a perplexity)"
    if fit.algorithm.samples:  # the words given the last draw are no part of the log joint
        return f"{value}; the training words given the rest {part}"
    return f"{value}, of which the documents {part}"


def _sampling(fit: Fit) -> list[str]:
    burn_in = fit.algorithm.schedule.burn_in
    recorded = recorded_sweeps(fit)
    lines = [f"means over {recorded} recorded sweeps, after a burn-in of {burn_in}"]
    if not recorded:
        lines = [f"no sweep recorded yet (the burn-in is {burn_in}): shown is the last draw"]
    if fit.kept is not None:
        lines.append(f"kept: {fit.kept.summary}")
    if fit.is_approximate:
        lines.append(f"approximate: {how_approximate(fit)}")
    return lines


def how_approximate(fit: Fit) -> str:
    """Why a sampler's sweeps are, in a few words."""
    n_parts = len(fit.state.firsts)
    if n_parts == 1:
        return "parallel token sampling"
    return f"{n_parts} parts, each with the counts that the others had a sweep ago"


def _draws(fit: Fit) -> dict[str, Any] | None:
    if fit.kept is None:
        return None
    kept = fit.kept
    return {"chains": kept.n_chains, "draws": kept.n_draws, "of": kept.kinds, "bytes": kept.nbytes}


def _negligible_record(fit: Fit) -> dict[str, float | None]:
    found = fit.negligible_scores()
    return {"share": found.share, "below_words": found.threshold, "zero": found.zero}


def recorded_sweeps(fit: Fit) -> int:
    """How many sweeps of a sampler went into its means."""
    return 0 if fit.state.recorded is None else fit.state.recorded.count


def chain_levels(fit: Fit) -> list[float]:
    """Where each of several chains ended; empty for a single one."""
    from dcomp.result.chains import chain_value

    return [chain_value(chain.rows) for chain in fit.chains]


def priors(fit: Fit) -> dict[str, FloatArray]:
    """The priors of the scores by name: arrays of length K; Sigma0 is (K, K)."""
    return {parameter.name: parameter.value for parameter in fit.model.scores.parameters()}


def _structure(fit: Fit) -> dict[str, Any] | None:
    """Of ST: leaves, nodes, Υ and the moves of a search."""
    model: Any = fit.model
    if model.leaf_model is None:
        return None
    carried: Any = fit.state.carried
    structure, moves = model.structure, None if carried is None else carried.moves
    return {
        "kind": model.scores.rows.kind,
        "leaves": model.leaf_model.key,
        "n_leaves": structure.n_leaves,
        "names": structure.names,
        "parents": structure.parents,
        "pairs": [structure.leaf.tolist(), structure.node.tolist()],
        "upsilon": fit.upsilon[structure.leaf, structure.node].tolist(),
        "gains": [] if moves is None else moves[:, 3].tolist(),
    }


def as_record(fit: Fit, ranking: Ranking) -> dict[str, Any]:
    """The fit for programs: plain numbers, text and lists."""
    top, part, nodes = ranking.top(fit), shares(fit), fit.model.scores.nodes
    of_blocks = _tops_of_blocks(fit, ranking)
    return {
        "model": fit.model.key,
        "algorithm": fit.algorithm.name,
        "n_components": fit.n_components,
        "component_names": None if fit.component_names is None else list(fit.component_names),
        "documents": fit.provenance.n_docs,
        "empty_documents": fit.provenance.n_empty_docs,
        "features": fit.provenance.n_features,
        "tokens": fit.provenance.n_tokens,
        "seed": fit.seed,
        "sweeps": fit.n_sweeps,
        "seconds": float(fit.history["seconds"].sum()),
        "reason": fit.reason,
        "converged": None if fit.algorithm.samples else fit.converged,
        "remaining": None if fit.remaining is None else asdict(fit.remaining),
        "recorded_sweeps": recorded_sweeps(fit) if fit.algorithm.samples else None,
        "approximate": fit.is_approximate,
        "parts": len(fit.state.firsts),
        "draws": _draws(fit),
        "chains": chain_levels(fit),
        "objective": {"name": fit.algorithm.objective_name, "value": fit.objective},
        "priors": {name: values.tolist() for name, values in priors(fit).items()},
        "gamma": fit.model.loadings.gamma.tolist(),
        "learned": [*_learned(fit), *(["gamma"] if fit.model.loadings.learned else [])],
        "negligible_scores": _negligible_record(fit),
        "parents": None if fit.model.leaf_model or not nodes else nodes.parents,
        "structure": _structure(fit),
        "top_by": ranking.measure(fit),
        "components": [
            {
                "component": k,
                "share": float(part[k]),
                "features": list(top[k]),
                "loadings": top.weights[k].tolist(),
                **({} if top.values is None else {"values": top.values[k].tolist()}),
                **({"blocks": {b: list(t[k]) for b, t in of_blocks.items()}} if of_blocks else {}),
            }
            for k in range(fit.n_components)
        ],
    }


def _tops_of_blocks(fit: Fit, ranking: Ranking) -> dict[str, TopFeatures]:
    """The first features of each block by its name, where blocks are few."""
    features = fit.features
    if not ranking.in_blocks(fit):
        return {}
    return {features.block_name(g): ranking.top(fit, g) for g in range(features.n_blocks)}
