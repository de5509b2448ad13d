"""Geweke's joint-distribution test of structured components: structure × leaf prior × shape.

As tests/statistical/test_geweke.py, but a corpus is swept on its own, since corpora laid side by
side would share Υ. Shapes reach every path of the kernel: internal nodes within one vector and
beyond it, leaves beyond one vector, a mask that is no tree. False alarms: 1e-4 for each of the 15
tests that must pass, with fixed seeds; a sampler of a slightly wrong model must fail by the same,
and with 400 replicates does so below 1e-30.
"""

from __future__ import annotations

import numpy as np
import pytest

from dcomp.data import Counts, FeatureSpace
from dcomp.inference import CollapsedGibbs
from dcomp.models import Observations, Structure, Structured
from dcomp.reference import structured as reference
from dcomp.reference.sampler_tests import compare, together

ALARM = 1e-4
SMALL = Structure.from_parents([4, 4, 5, -1, 5, -1])  # ((0, 1), 2) and 3 alone
LEVELS = Structure.from_parents([4, 4, 5, 6, 5, 6, -1])  # (((0, 1), 2), 3): three above one another
# 20 leaves below 19 nodes: each node above the next, and a leaf at every one.
CHAIN = Structure.from_parents([*range(20, 39), 38, -1, *range(20, 38)])
CROSSED = Structure.from_mask([[1, 0, 0, 1, 0], [0, 1, 0, 1, 1], [0, 0, 1, 0, 1]])
FEATURES = FeatureSpace.build(5, blocks=[0, 0, 1, 1, 1])
TOKENS = np.array([[5, 2], [4, 4], [0, 3], [0, 0]], dtype=float)
EXPOSURE = np.array([[0.5, 0.5], [1.0, 2.0], [0.0, 0.7], [0.0, 0.0]])


def build(kind, leaves, structure, psi=None):
    K = structure.n_leaves
    options = {"alpha": np.resize([0.3, 0.8, 0.5], K) / max(1.0, K / 6)}
    if leaves != "DM":
        options["beta"] = np.resize([0.1, 0.8, 0.3], K)
    if leaves == "CGP":
        options["rho"] = np.resize([0.3, 0.6, 0.2], K)
    if psi is None:
        differ = np.resize([0.6, 1.9, 1.1], structure.n_nodes)
        psi = np.stack([differ, 2 * differ[::-1]], axis=1) if kind.endswith("phi") else differ
    gamma = [0.4, 0.7, 1.1, 0.5, 0.9]
    return Structured.build(structure, kind, leaves=leaves, psi=psi, gamma=gamma, **options)


def statistics(model, leaf_scores, upsilon, Theta, counted):
    """What is compared; unbounded numbers are squashed."""
    C, S, n = counted.leaves(model), counted.rows(model), counted.n
    at = np.linspace(-1, 1, len(n))
    words = 1.0 + n.sum()
    nodes = n.sum(axis=0)
    upsilon = np.broadcast_to(upsilon, counted.D.shape)
    squashed = leaf_scores / (1 + leaf_scores)
    out = {
        "Σ score²": (squashed**2).sum(),
        "Σ υ²": (upsilon**2).sum(),
        "Σ θ²": (Theta**2).sum(),
        "Σ C²": np.log1p((C**2).sum()),
        "Σ S²": np.log1p((S**2).sum()),
        "Σ n²": np.log1p((n**2).sum()),
        "words": np.log(words),
        "score · C": (squashed * C).sum() / words,
        "υ · D": (upsilon * counted.D).sum() / words,
        "θ · n": (Theta * n).sum() / words,
        "top node": nodes[-1] / words,
        "leaf 0": np.log1p(C[:, 0].sum()),
        "node 0": np.log1p(nodes[0]),
        "slope of θ of the top": at @ Theta[:, -1],
        "slope of n of the top": (at @ n[:, -1]) / (1 + nodes[-1]),
        "C = 0": (C == 0).mean(),
        "score = 0": (leaf_scores == 0).mean(),
    }
    return {name: round(float(value), 9) for name, value in out.items()}


def sweep(model, drawn, seed, rng, n_sweeps):
    """The counts after native sweeps from the words and pairs of `drawn`."""
    W = drawn.v.sum(axis=2)
    counts = Counts.from_matrix(W, blocks=FEATURES.blocks)
    observed = Observations.build(counts, EXPOSURE if model.has_exposure else None)
    sampler = CollapsedGibbs(burn_in=10**6).sampler(model, observed)
    split = drawn.v.reshape(-1, drawn.v.shape[2])
    split = split[split.sum(axis=1) > 0]
    entry, pair = np.repeat(np.indices(split.shape).reshape(2, -1), split.ravel(), axis=1)
    place = sampler.entries()
    z = np.empty(len(place), dtype=np.uint16)
    # Which token of an entry has which pair is a matter of chance to the model.
    z[np.argsort(place, kind="stable")] = pair[np.lexsort((rng.random(len(pair)), entry))]
    sampler.count(z)
    for number in range(n_sweeps):
        sampler.sweep(model, z, seed, number, 1)
    by_entry = np.empty_like(z)
    sampler.in_entry_order(z, by_entry)
    tokens = reference.Tokens.from_counts(counts)
    return reference.Counted.from_assignment(model, tokens, by_entry.astype(np.int64), counts)


def rounds(model, sampled, rng, n_replicates, n_rounds=2, n_sweeps=4):
    """Statistics of draws from the model, and after rounds of sweeps, parameters and new words."""
    size = EXPOSURE if model.has_exposure else TOKENS
    total = EXPOSURE.sum(axis=1) if model.has_exposure else np.zeros(len(size))
    first, last = [], []
    for replicate in range(n_replicates):
        drawn = reference.simulate(model, FEATURES, size, rng)
        given = (drawn.leaf_scores, drawn.upsilon, drawn.Theta)
        first.append(statistics(model, *given, drawn.counted(model)))
        for left in range(n_rounds, 0, -1):
            counted = sweep(sampled, drawn, replicate * 10 + left, rng, n_sweeps)
            given = reference.draw_parameters(model, FEATURES, counted, total, rng)
            if left > 1:
                v = reference.draw_words(model, FEATURES, size, *given, rng)
                drawn = reference.Drawn(*given, v)
        last.append(statistics(model, *given, counted))
    first, last = ({name: np.array([row[name] for row in rows]) for name in rows[0]}
                   for rows in (first, last))  # fmt: skip
    return compare(first, last)


CASES = [
    *((kind, leaves, SMALL) for kind in ("shared", "phi", "document", "document-phi")
      for leaves in ("DM", "CGP")),
    ("phi", "DM", LEVELS),
    ("document-phi", "GP", LEVELS),
    ("phi", "GP", CHAIN),
    ("document-phi", "DM", CHAIN),
    ("shared", "GP", CHAIN),
    ("shared", "DM", CROSSED),
    ("document", "GP", CROSSED),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "leaves", "structure"), CASES)
def test_the_sampler_leaves_the_joint_law_as_it_is(kind, leaves, structure):
    model = build(kind, leaves, structure)
    rng = np.random.default_rng(7)
    assert together(rounds(model, model, rng, n_replicates=400)) > ALARM


@pytest.mark.parametrize(("kind", "psi"), [("phi", (2.5, 1.0)), ("document", 6.0)])
def test_a_wrong_one_does_not(kind, psi):
    """Negative control: sweeps with another ψ."""
    model = build(kind, "DM", SMALL, psi=(0.6, 2.0) if kind == "phi" else 0.7)
    wrong = build(kind, "DM", SMALL, psi=psi)
    rng = np.random.default_rng(7)
    assert together(rounds(model, wrong, rng, n_replicates=400)) < ALARM
