"""BJ04 5 and figure 1: how far components are independent, flat and in a tree, on 20 Newsgroups.

    python verification/papers/independence.py [--sweeps 150]

Correlations over posts between L·E[m] of pairs of components: D for the flat model with K = 150,
T-T, B-B and T-B for inner nodes and leaves of a tree that grows from 57 nodes to 200. Words are
the paper's (stems, no stop words); posts have no headers. Beside it the same of posts of 500 words
at most, and of shares, which says how much of it is length. `../tree.py` has the tree itself.
Writes `results/papers-independence.md` and the box plots.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from shared import head, newsgroup_texts, plotting, row, save, write
from svm import words_of

import dcomp
from dcomp.evaluate.independence import BoxSummary

LONG = 500  # words


def fits(counts: dcomp.Counts, sweeps: int) -> dict[str, dcomp.Fit]:
    """BJ04's two models with its priors."""
    how: dict[str, Any] = {
        "gamma": "empirical", "algorithm": "collapsed-gibbs", "max_iter": sweeps,
        "burn_in": 2 * sweeps // 3, "random_state": 0, "verbose": 0,
    }  # fmt: skip
    models = {
        "flat": dcomp.LDA(150, alpha="total-one", **how),
        "tree": dcomp.TreeDCA(7, 3, grow_to=200, grow_at=sweeps // 6, **how),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dcomp.ConvergenceWarning)
        return {name: model.fit(counts).fit_ for name, model in models.items()}


def views(fit: dcomp.Fit, lengths: np.ndarray) -> dict[str, np.ndarray]:
    """What is correlated: L·E[m] of all posts and of those that are not long, and E[m]."""
    shares = np.asarray(fit.scores, float)
    shares = shares / shares.sum(axis=1, keepdims=True)
    words = shares * lengths[:, None]
    short = lengths <= LONG
    return {
        "L·E[m]": words,
        f"L·E[m], posts of at most {LONG} words": words[short],
        f"E[m], posts of 50 to {LONG} words": shares[short & (lengths >= 50)],
    }


def places(fit: dcomp.Fit) -> dict[str, Any]:
    """Pairs of components by their places: D of a flat model; T-T, B-B, T-B, and of T-B and T-T
    those of a node with one above it, which the paper says interact."""
    first, second = np.triu_indices(fit.n_components, 1)
    nodes = fit.model.scores.nodes
    if nodes is None:
        return {"D": (first, second)}
    inner = (~nodes.is_leaf).astype(int)
    n_inner = inner[first] + inner[second]
    above = np.array([b in ancestors(nodes.parents, a) for a, b in zip(second, first, strict=True)])
    above |= np.array(
        [b in ancestors(nodes.parents, a) for a, b in zip(first, second, strict=True)]
    )
    chosen = {
        "T-T": n_inner == 2,
        "B-B": n_inner == 0,
        "T-B": n_inner == 1,
        "up and down": above,
        "T-B, not up and down": (n_inner == 1) & ~above,
    }
    return {name: (first[mask], second[mask]) for name, mask in chosen.items()}


def ancestors(parents: Any, node: int) -> set[int]:
    """Nodes above one, without the root, which is above all."""
    found, here = set(), int(parents[node])
    while here > 0:
        found.add(here)
        here = int(parents[here])
    return found


def correlations(words: np.ndarray, pairs: Any) -> np.ndarray:
    """Of pairs of components that vary."""
    scaled = words - words.mean(axis=0)
    scale = np.sqrt((scaled**2).sum(axis=0))
    r = scaled.T @ scaled / np.maximum(np.outer(scale, scale), 1e-300)
    first, second = pairs
    return r[first, second][(scale[first] > 0) & (scale[second] > 0)]


def table(found: dict[str, dcomp.Fit], lengths: np.ndarray) -> tuple[list[str], dict[str, Any]]:
    lines = head(
        "model", "correlated", "pairs", "number", "least", "quartile", "median", "quartile",
        "largest", "within ± 0.1",
    )  # fmt: skip
    boxes = {}
    for name, fit in found.items():
        for view, words in views(fit, lengths).items():
            for place, pairs in places(fit).items():
                r = correlations(words, pairs)
                box = BoxSummary.from_values(place, r)
                five = (
                    box.minimum,
                    box.lower_quartile,
                    box.median,
                    box.upper_quartile,
                    box.maximum,
                )
                small = f"{100 * (np.abs(r) < 0.1).mean():.0f} %"
                cells = [f"{v:.3f}" for v in five]
                lines.append(row(name, view, place, f"{len(r):,}", *cells, small))
                boxes.setdefault(view, {})[place] = r
    return lines, boxes


def picture(boxes: dict[str, Any]) -> None:
    pyplot = plotting()
    figure, axes = pyplot.subplots(1, len(boxes), figsize=(11, 3.4), sharey=True)
    for axis, (view, groups) in zip(axes, boxes.items(), strict=True):
        shown = ("D", "T-T", "B-B", "T-B")
        values = [groups[name] for name in shown]
        axis.boxplot(values, tick_labels=shown, flierprops={"markersize": 1})
        axis.set_title(view)
        axis.axhline(0, color="0.8", zorder=0)
    axes[0].set_ylabel("correlation")
    figure.tight_layout()
    save(figure, "papers-independence")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sweeps", type=int, default=150)
    sweeps = parser.parse_args().sweeps
    counts = words_of(newsgroup_texts()[0])
    counts = counts.rows(np.flatnonzero(counts.doc_totals > 0))
    lines, boxes = table(fits(counts, sweeps), counts.doc_totals.astype(float))
    picture(boxes)
    page = [
        "# Independence of components (BJ04 5, figure 1)",
        "",
        f"{counts.n_docs:,} posts without headers, {counts.n_features:,} stems, "
        f"{counts.n_tokens:,} words (BJ04: 19,997, 29,998, 2,262,161); {sweeps} sweeps (300). "
        'The paper: 11,175 and 19,900 correlations, "mostly surprisingly small", in box plots '
        'without numbers; in the tree "much of the interaction is up and down".',
        "",
        "![box plots](papers-independence.png)",
        "",
        *lines,
        "",
    ]
    write("papers-independence", page)


if __name__ == "__main__":
    main()
