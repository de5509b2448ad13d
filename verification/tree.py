"""BJ04 §5 again: a tree of components on 20 Newsgroups, and how independent its components are.

    python verification/tree.py [--sweeps 300]

Branching 7, a start of 57 nodes, grown to 200 after 50 sweeps, 200 sweeps of burn-in and 100
recorded; beside it the flat model with K = 150. Both by collapsed Gibbs with BJ04's priors: the
loadings' prior is the corpus with a total of one, α has a total of one. Posts are their subject and
text (BJ04 has stemmed words; here they are as written).

Writes `results/tree.md` (the tree as text with the coherence of its nodes, times, correlations) and
two pictures: the tree, and the box plots of BJ04 figure 1.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import sys
import time
from pathlib import Path
from typing import Any

from common import plotting, row, save, write

import dcomp
from dcomp.evaluate import LevelCorrelations, level_correlations


def data_folder() -> Path:
    folder = Path(os.environ.get("DCOMP_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        sys.exit("this needs the data sets: ../shared/data or DCOMP_DATA")
    return folder


def newsgroups() -> dcomp.Counts:
    """Subjects and texts of all posts; words of at least 4 occurrences in 3 posts (BJ04 §5)."""
    texts = []
    with lzma.open(data_folder() / "newsgroups20.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            header, _, body = json.loads(line)["text"].partition("\n\n")
            subject = [x[8:] for x in header.splitlines() if x.lower().startswith("subject:")]
            texts.append(" ".join(subject) + "\n" + body)
    return dcomp.data.bag(texts, min_count=4, min_docs=3)


def timed(model: Any, counts: dcomp.Counts) -> tuple[Any, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(counts)
    return model, time.perf_counter() - wall, time.process_time() - cpu


def box_plots(groups: dict[str, LevelCorrelations]) -> None:
    """BJ04 figure 1: D for the flat model, T-T, B-B and T-B for the tree."""
    pyplot = plotting()
    figure, axes = pyplot.subplots(1, 2, figsize=(8, 4), width_ratios=(1, 3), sharey=True)
    for axis, (title, found) in zip(axes, groups.items(), strict=True):
        names = list(found.groups)
        axis.boxplot(
            [found.groups[name] for name in names], tick_labels=names, flierprops={"markersize": 2}
        )
        axis.set_title(title)
        axis.axhline(0, color="0.8", zorder=0)
    axes[0].set_ylabel("correlation of E[m]·L over documents")
    figure.tight_layout()
    save(figure, "tree-independence")


def picture(hierarchy: Any) -> None:
    pyplot = plotting()
    figure = pyplot.figure(figsize=(16, 16))
    axis = figure.add_axes((0.0, 0.0, 1.0, 1.0), projection="polar")
    hierarchy.plot(axis, n=3)
    save(figure, "tree", colours=64)


def quantile_table(groups: dict[str, LevelCorrelations]) -> list[str]:
    lines = [
        row("model", "pairs of", "number", "min", "quartile", "median", "quartile", "max"),
        "|---|---|---|---|---|---|---|---|",
    ]
    for title, found in groups.items():
        for name, q in found.quantiles().items():
            numbers = (f"{value:.4f}" for value in q)
            lines.append(row(title, name, f"{len(found.groups[name]):,}", *numbers))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sweeps", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    counts = newsgroups()
    train, test = dcomp.data.train_test(counts, 0.05, seed=1)
    burn_in = 2 * options.sweeps // 3
    common = {
        "gamma": "empirical", "max_iter": options.sweeps, "burn_in": burn_in,
        "n_jobs": options.jobs, "verbose": 0,
    }  # fmt: skip
    tree, seconds, cpu = timed(dcomp.TreeDCA(7, 3, grow_to=200, grow_at=50, **common), train)
    flat, flat_seconds, flat_cpu = timed(
        dcomp.LDA(150, alpha="total-one", algorithm="collapsed-gibbs", **common), train
    )
    hierarchy = tree.hierarchy(train)
    groups = {
        "flat, K = 150": level_correlations(flat.fit_),
        f"tree, K = {tree.fit_.n_components}": level_correlations(tree.fit_),
    }
    box_plots(groups)
    picture(hierarchy)
    inner = [node for node in hierarchy.nodes if node.coherence is not None]
    by_level = {
        level: [node.coherence for node in inner if node.level == level]
        for level in sorted({node.level for node in inner})
    }
    lines = [
        "# A tree of components on 20 Newsgroups (BJ04 §5)",
        "",
        f"{train.n_docs:,} posts (subject and text), {train.n_features:,} words, "
        f"{train.n_tokens:,} tokens. Branching 7, {57} nodes at first, "
        f"{tree.fit_.n_components} after sweep 50; {options.sweeps} sweeps, the first {burn_in} "
        f"burn-in, of which {tree.fit_.algorithm.anneal} annealed; {options.jobs} threads.",
        "",
        row("model", "seconds", "seconds of all cores", "held-out perplexity (completion)"),
        "|---|---|---|---|",
        row("tree, K = 200", f"{seconds:.0f}", f"{cpu:.0f}", _perplexity(tree, test)),
        row("flat, K = 150", f"{flat_seconds:.0f}", f"{flat_cpu:.0f}", _perplexity(flat, test)),
        "",
        "BJ04 took 280 and 202 minutes on a 1.5 GHz AMD. The machine here was shared: the seconds "
        "of all cores, halved, are the time on two cores that have nothing else to do.",
        "",
        "## Independence: correlations of E[m]·L, BJ04 figure 1 (tree-independence.png)",
        "",
        *quantile_table(groups),
        "",
        "## Coherence",
        "",
        "Mean NPMI of a node's own top words with those of its children, by level of the node: "
        + "; ".join(f"{level}: {sum(v) / len(v):.3f}" for level, v in by_level.items())
        + f". {100 * (hierarchy.fitting or 0):.0f} % of the children suit their own parent better "
        "than any other node on its level (BJ04 §4 judged 70 % by eye; by chance it would be "
        f"{100 * _by_chance(hierarchy):.0f} %).",
        "",
        "## The tree",
        "",
        "Shares are those of a node with all below it; words are those of its own component for "
        "internal nodes and leaves alike. A picture is in tree.png.",
        "",
        "```",
        hierarchy.text(summary=False),
        "```",
        "",
    ]
    write("tree", lines)


def _by_chance(hierarchy: Any) -> float:
    """The share of children that would fit if every parent on a level were as good."""
    tree = hierarchy.tree
    told = [node for node in hierarchy.nodes if node.fits is not None]
    rivals = [((tree.level == node.level - 1) & ~tree.is_leaf).sum() for node in told]
    return float(sum(1 / r for r in rivals) / max(len(told), 1))


def _perplexity(model: Any, test: dcomp.Counts) -> str:
    found = model.completion(test)
    return f"{found.perplexity:.0f} ± {found.perplexity_error:.0f}"


if __name__ == "__main__":
    main()
