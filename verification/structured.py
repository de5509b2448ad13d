"""Structured components on words that were drawn from them: are planted hierarchies found again?

    python verification/structured.py [--seeds 6] [--chains 4]

Two groups of three leaves below nodes of their own, and a node above both; 500 documents of 120
words, of which 400 are fitted and 100 held out. For each structure of B09 and each corpus:

- the tree given: how many of its 8 edges have the partners of a planted edge at their ends (nodes
  are matched to the planted ones by their loadings), in the chain that is kept and in all chains;
- the tree searched for above 6 leaves: which of the planted groups {0, 1, 2} and {3, 4, 5} and the
  top it has, in the chain that is kept;
- held-out words per token by completion, beside LDA with 6 and 9 components by collapsed Gibbs;
- whether the chain with the best log joint, or the one with the best p(word | all the rest), is the
  one with the best held-out words.

Then the package's own corpus, texts that nobody drew from a tree: perplexity of held-out documents
and the mean share of edges that the other chains have found too, for LDA and two structures that
are searched for, at several γ.

Writes results/structured.md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

import dcomp
from dcomp.data import FeatureSpace
from dcomp.models import Structure, Structured

TREE = Structure.from_parents([6, 6, 6, 7, 7, 7, 8, 8, -1])
KINDS = ("shared", "phi", "document", "document-phi")
GAMMA = 0.03


def plant(kind: str, seed: int):
    psi = (6.0, 14.0) if kind.endswith("phi") else 6.0
    model = Structured.build(TREE, kind, alpha=0.15, gamma=GAMMA, psi=psi)
    rng = np.random.default_rng(seed)
    counts, _, Theta = model.simulate(FeatureSpace.build(250), np.full(500, 120), rng)
    rows = np.arange(500)
    return counts.rows(rows[:400]), counts.rows(rows[400:]), Theta


def partners(found, planted):
    """The planted node of each found one."""
    similarity = np.sqrt(found.T) @ np.sqrt(planted)
    node, partner = linear_sum_assignment(-similarity)
    return dict(zip(node.tolist(), partner.tolist(), strict=True))


def edges_right(ending, planted) -> int:
    of = partners(ending.Theta, planted)
    edges = ((of.get(a), of.get(b)) for a, b in ending.model.structure.edges)
    return sum(edge in TREE.edges for edge in edges)


def groups_right(model, planted) -> str:
    """Which planted sets of leaves have a node above them, by the leaves' own words."""
    structure = model.structure_
    of = partners(model.fit_.Theta[:, :6], planted[:, :6])
    sets = {
        frozenset(of[c] for c in np.flatnonzero(structure.mask[:, h]))
        for h in range(6, structure.n_nodes)
    }
    wanted = {"first": {0, 1, 2}, "second": {3, 4, 5}, "top": set(range(6))}
    return ", ".join(name for name, own in wanted.items() if frozenset(own) in sets) or "none"


def one(kind: str, seed: int, n_chains: int) -> dict:
    train, test, planted = plant(kind, seed)
    options = {"structure": kind, "gamma": GAMMA, "verbose": 0, "random_state": 100 + seed}
    began = time.perf_counter()
    given = dcomp.StructuredDCA(tree=TREE, n_chains=n_chains, **options).fit(train)
    seconds = time.perf_counter() - began
    searched = dcomp.StructuredDCA(6, n_chains=n_chains, **options).fit(train)
    flat = {
        K: dcomp.LDA(
            K, algorithm="collapsed-gibbs", gamma=GAMMA, n_chains=n_chains, verbose=0,
            random_state=100 + seed,
        ).fit(train).score(test)
        for K in (6, 9)
    }  # fmt: skip
    return {
        "given": edges_right(max(given.fit_.endings, key=lambda e: e.value), planted),
        "chains": [edges_right(ending, planted) for ending in given.fit_.endings],
        "seconds": seconds,
        "groups": groups_right(searched, planted),
        "nodes": searched.structure_.n_nodes,
        "scores": {"given": given.score(test), "searched": searched.score(test), **flat},
        "picked": picked(given.fit_, train, test, options),
    }


def picked(fit, train, test, options) -> tuple[bool, bool]:
    """Whether the best log joint, and the best words, pick the best chain on held-out words."""
    scores, joints, words = [], [], []
    for ending, trace in zip(fit.endings, fit.chains, strict=True):
        alone = dcomp.StructuredDCA(
            tree=TREE, n_chains=1, **{**options, "random_state": ending.seed}
        ).fit(train)
        scores.append(alone.score(test))
        joints.append(trace["objective"][-20:].mean())
        words.append(trace["documents"][-20:].mean())
    best = int(np.argmax(scores))
    return int(np.argmax(joints)) == best, int(np.argmax(words)) == best


def real(K: int, gamma: float, n_chains: int) -> str:
    """Searched structures of the package's own corpus beside LDA."""
    counts, _ = dcomp.data.docstrings()
    train, test = dcomp.data.train_test(counts, 0.2, seed=0)
    common = {"gamma": gamma, "n_chains": n_chains, "max_iter": 120, "verbose": 0}
    flat = dcomp.LDA(K, algorithm="collapsed-gibbs", **common).fit(train)
    cells = [f"| {K} | {gamma} | {flat.perplexity(test):.0f}"]
    for kind in ("phi", "document"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dcomp.FlatTreeWarning)
            found = dcomp.StructuredDCA(K, structure=kind, **common).fit(train)
        stable = found.stability().mean
        told = "–" if stable is None else f"{stable:.2f}"
        cells.append(f"{found.perplexity(test):.0f}, {found.structure_.n_nodes} nodes, {told}")
    return " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--chains", type=int, default=4)
    arguments = parser.parse_args()
    lines = [
        "# Structured components on planted hierarchies",
        "",
        f"`python verification/structured.py --seeds {arguments.seeds} --chains "
        f"{arguments.chains}`",
        "",
        "| structure | corpus | edges of the kept chain, of 8 | of each chain | groups searched "
        "for | nodes | held out: given | searched | LDA 6 | LDA 9 | s |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    by_joint = by_words = total = 0
    whole = dict.fromkeys(KINDS, 0)
    for kind in KINDS:
        for seed in range(arguments.seeds):
            row = one(kind, seed, arguments.chains)
            scores = " | ".join(f"{value:.4f}" for value in row["scores"].values())
            lines.append(
                f"| {kind} | {seed} | {row['given']} | {', '.join(map(str, row['chains']))} "
                f"| {row['groups']} | {row['nodes']} | {scores} | {row['seconds']:.0f} |"
            )
            print(lines[-1], flush=True)
            by_joint += row["picked"][0]
            by_words += row["picked"][1]
            total += 1
            whole[kind] += row["given"] == 8
    found = ", ".join(f"{kind} {n} of {arguments.seeds}" for kind, n in whole.items())
    lines += [
        "",
        f"All 8 edges: {found}.",
        f"The chain with the best held-out words has the best log joint in {by_joint} of {total}, "
        f"the best p(word | all the rest) in {by_words}.",
    ]
    lines += [
        "",
        "The package's own corpus: perplexity, nodes found, mean share of edges found again.",
        "",
        "| K | γ | LDA | phi | document |",
        "|---|---|---|---|---|",
        *(real(K, gamma, arguments.chains) for K in (8, 15, 25) for gamma in (0.01, 0.02, 0.05)),
    ]
    path = Path(__file__).parent / "results" / "structured.md"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines[-18:]))


if __name__ == "__main__":
    main()
