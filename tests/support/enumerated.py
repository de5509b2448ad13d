"""Tiny settings of every prior, and what a sampler must keep on them: the posterior by full
enumeration."""

from __future__ import annotations

import numpy as np

from dcomp.data import Counts
from dcomp.inference import CollapsedGibbs
from dcomp.models import MODELS, Observations, Tree, TreeMultinomial
from dcomp.reference.enumeration import Posterior, chi_square_p, token_order

ALARM = 1e-4
W = np.array([[2, 0, 1], [0, 2, 0], [1, 1, 0]])
FEW = np.array([[2, 0, 1], [0, 1, 0], [1, 0, 0]])  # for four components


def make(key, layout):
    blocks = [0, 1, 1] if layout == "blocks" else None
    if key == "TM":  # two leaves below the root, and an internal node with a leaf of its own
        tree = Tree.from_parents([-1, 0, 0, 1])
        options = {"a1": [0.6, 0.9, 1, 1], "a2": [1.7, 0.5, 1, 1], "b": [1, 0.3, 0.8, 1.2]}
        model = TreeMultinomial.build(tree, gamma=[0.4, 0.7, 1.1], **options)
        return model, Observations.build(Counts.from_matrix(FEW, blocks=blocks))
    counts = Counts.from_matrix(W, blocks=blocks)
    options = {"alpha": [0.3, 0.8], "gamma": [0.4, 0.7, 1.1]}
    exposure = None
    if key != "DM":
        options["beta"] = [0.5, 1.5]
        if layout == "exposure":
            exposure = [0.5, 2.0, 3.0]
    if key == "CGP":
        options["rho"] = [0.3, 0.6]
    return MODELS[key].build(2, **options), Observations.build(counts, exposure)


def invariance(model, observed, sweep, n_draws=12_000):
    posterior = Posterior(model, observed)
    expected = posterior.by_table()
    index = {key: number for number, key in enumerate(expected)}
    hits = np.zeros(len(index))
    rng = np.random.default_rng(3)
    for draw, which in enumerate(rng.choice(len(posterior.p), size=n_draws, p=posterior.p)):
        c, n = sweep(posterior.assignments[which], *posterior.tables[which], draw)
        hits[index[posterior.key(c, n)]] += 1
    return chi_square_p(hits, n_draws * np.array(list(expected.values())))


def token_sweep(model, observed, sparse=False):
    """One sweep of the token sampler alone: `step` is in the long runs below."""
    sampler = CollapsedGibbs(sparse=sparse).sampler(model, observed)
    order = token_order(sampler, observed)

    def sweep(z, c, n, seed):
        z = z[order].astype(np.uint16)
        sampler.count(z)
        sampler.sweep(model, z, seed, 1, 1)
        return sampler.documents(model)[0], sampler.pooled(model).n

    return sweep
