"""The sampler of structured components against full enumeration: structure × leaf prior.

*Invariance*: exact draws of the posterior, swept once, must again be exact draws, so that a
chi-square test is honest. Each test's false-alarm rate is 1e-4, with fixed seeds; a sampler of a
slightly wrong model must fail (with 5000 draws all five do so below 1e-20).
"""

from __future__ import annotations

import numpy as np
import pytest

from dcomp.data import Counts
from dcomp.executors import LocalExecutor
from dcomp.inference import CollapsedGibbs
from dcomp.models import MODELS, Observations, Structure, Structured
from dcomp.reference import enumeration
from dcomp.reference import structured as reference
from dcomp.reference.enumeration import chi_square_p, token_order
from dcomp.reference.gibbs import Tokens

ALARM = 1e-4
W = np.array([[2, 0, 1], [0, 1, 0], [1, 0, 0]])
TREE = Structure.from_parents([2, 2, -1])  # two leaves below one node
FOREST = Structure.from_parents([3, -1, 3, -1])  # a leaf alone, two below a node
DEEP = Structure.from_parents([2, 3, 3, -1])  # a leaf below a node below the top
FULL = Structure.from_mask(np.ones((2, 3)))
OPTIONS = {
    "DM": {"alpha": [0.3, 0.8]},
    "GP": {"alpha": [0.3, 0.8], "beta": [0.5, 1.5]},
    "CGP": {"alpha": [0.3, 0.8], "beta": [0.5, 1.5], "rho": [0.3, 0.6]},
}
KINDS = ("fixed", "shared", "document", "phi", "document-phi")


def build(kind, leaves, structure=TREE, **changes):
    options = {"gamma": [0.4, 0.7, 1.1], **OPTIONS[leaves], **changes}
    if structure.n_leaves == 3:
        options["alpha"] = [0.3, 0.8, 0.5]
    if kind == "fixed":
        table = structure.mask * np.array([0.3, 0.9, 0.7][: structure.n_nodes])
        options["upsilon"] = table / table.sum(axis=1, keepdims=True)
        return Structured.build(structure, leaves=leaves, **options)
    if kind.endswith("phi"):
        options.setdefault("psi", (0.6, 1.7))
    else:
        options.setdefault("psi", np.array([0.4, 0.7, 1.9, 1.1])[: structure.n_nodes])
    return Structured.build(structure, kind, leaves=leaves, **options)


def observe(leaves, layout="plain", table=W):
    blocks = [0, 1, 1] if layout == "blocks" else None
    exposure = [0.5, 2.0, 3.0] if layout == "exposure" and leaves != "DM" else None
    return Observations.build(Counts.from_matrix(table, blocks=blocks), exposure)


def native_sweep(model, observed):
    sampler = CollapsedGibbs().sampler(model, observed)
    order = token_order(sampler, observed)

    def sweep(z, seed):
        z = z[order].astype(np.uint16)
        sampler.count(z)
        sampler.sweep(model, z, seed, 1, 1)
        return *sampler.tables(model), sampler.pooled(model).n

    return sweep


def invariance(model, observed, sweep, n_draws=5000):
    posterior = reference.Posterior(model, observed)
    expected = posterior.by_table()
    index = {key: number for number, key in enumerate(expected)}
    hits = np.zeros(len(index))
    rng = np.random.default_rng(3)
    for draw, which in enumerate(rng.choice(len(posterior.p), size=n_draws, p=posterior.p)):
        hits[index[posterior.key(*sweep(posterior.assignments[which], draw))]] += 1
    return chi_square_p(hits, n_draws * np.array(list(expected.values())))


@pytest.mark.parametrize("leaves", OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_sampler_keeps_the_posterior(kind, leaves):
    model = build(kind, leaves)
    observed = observe(leaves, "exposure" if leaves == "CGP" else "blocks")
    assert invariance(model, observed, native_sweep(model, observed)) > ALARM


@pytest.mark.parametrize(
    ("kind", "structure"),
    [
        ("shared", FULL),
        ("document", FULL),
        ("fixed", FULL),
        ("phi", FOREST),
        ("document-phi", FOREST),
        ("phi", DEEP),
        ("document-phi", DEEP),
    ],
)
def test_other_structures_keep_it_too(kind, structure):
    few = np.array([[2, 0, 1], [0, 1, 0]])
    model, observed = build(kind, "DM", structure), observe("DM", table=few)
    assert invariance(model, observed, native_sweep(model, observed)) > ALARM


@pytest.mark.parametrize(("kind", "leaves"), [("shared", "CGP"), ("phi", "DM"), ("document", "GP")])
def test_the_reference_keeps_the_posterior(kind, leaves):
    model, observed = build(kind, leaves), observe(leaves, table=W[:2])
    tokens = Tokens.from_counts(observed.counts)

    def sweep(z, seed):
        z = reference.collapsed_sweep(model, observed, z, np.random.default_rng(seed))
        counted = reference.Counted.from_assignment(model, tokens, z, observed.counts)
        return counted.leaves(model), counted.rows(model), counted.n

    assert invariance(model, observed, sweep, n_draws=2000) > ALARM


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("shared", {"psi": [0.4, 0.7, 3.0]}),
        ("document", {"psi": [0.4, 0.7, 3.0]}),
        ("phi", {"psi": (0.6, 3.5)}),
        ("document-phi", {"psi": (0.6, 3.5)}),
        ("phi", {"alpha": [0.3, 1.4]}),
    ],
)
def test_the_sampler_of_a_wrong_model_fails(kind, change):
    """Negative control."""
    model, wrong, observed = build(kind, "DM"), build(kind, "DM", **change), observe("DM")
    assert invariance(model, observed, native_sweep(wrong, observed)) < ALARM


@pytest.mark.parametrize("leaves", OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_joint_is_the_product_of_its_conditionals(kind, leaves):
    """B09 (2) to (5) in closed form against (7), (8), (9) and 5.3, token after token."""
    model, observed = build(kind, leaves), observe(leaves, "exposure")
    tokens = Tokens.from_counts(observed.counts)
    empty = np.zeros(0, dtype=np.int64)
    none = Tokens(empty, empty)
    rng = np.random.default_rng(1)
    for _ in range(3):
        z = rng.integers(model.structure.n_pairs, size=len(tokens.document))
        counted = reference.Counted.from_assignment(model, none, empty, observed.counts)
        value = reference.log_joint(model, observed, counted)
        for t, (i, j) in enumerate(zip(tokens.document, tokens.feature, strict=True)):
            weight = reference.pair_weights(model, observed, counted, i, j)[z[t]]
            if leaves == "DM":  # whose ratio is given but for its sum
                weight /= counted.leaves(model)[i].sum() + model.scores.alpha.sum()
            value += np.log(weight)
            counted.move(model, i, j, z[t], 1)
        assert reference.log_joint(model, observed, counted) == pytest.approx(value, abs=1e-10)


@pytest.mark.parametrize("leaves", OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_objective_is_the_log_joint(kind, leaves):
    model, observed = build(kind, leaves), observe(leaves, "blocks")
    algorithm = CollapsedGibbs()
    state = algorithm.init(model, observed, seed=5)
    state, info = algorithm.step(observed, state, LocalExecutor(2))
    by_entry = algorithm.in_entry_order(model, observed, state.z).astype(np.int64)
    counted = reference.Counted.from_assignment(
        model, Tokens.from_counts(observed.counts), by_entry, observed.counts
    )
    expected = reference.log_joint(model, observed, counted)
    expected += model.log_constant(observed, combinatoric=False).sum()
    assert info.objective == pytest.approx(expected, abs=1e-9)
    whole = algorithm.finish(observed, state, LocalExecutor(1))
    np.testing.assert_array_equal(whole.n, counted.n)
    np.testing.assert_array_equal(whole.carried.leaf_counts, counted.leaves(model))
    np.testing.assert_array_equal(whole.carried.structure_counts, counted.rows(model))
    np.testing.assert_array_equal(whole.c.sum(axis=0), counted.n.sum(axis=0))


@pytest.mark.parametrize("kind", ["phi", "document"])
def test_a_long_run_forgets_its_start(kind):
    """Every 10th sweep of one chain: nearly independent, so the alarm is set lower."""
    model, observed = build(kind, "GP"), observe("GP")
    posterior = reference.Posterior(model, observed)
    expected = posterior.by_table()
    index = {table: number for number, table in enumerate(expected)}
    hits = np.zeros(len(index))
    sampler = CollapsedGibbs().sampler(model, observed)
    z = np.zeros(sampler.n_tokens, dtype=np.uint16)
    sampler.count(z)
    for sweep in range(15_000):
        sampler.sweep(model, z, 11, sweep, 1)
        if sweep % 10 == 9:
            table = (*sampler.tables(model), sampler.pooled(model).n)
            hits[index[posterior.key(*table)]] += 1
    assert chi_square_p(hits, hits.sum() * np.array(list(expected.values()))) > 1e-5


@pytest.mark.parametrize("leaves", OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_leaves_on_their_own_are_the_flat_model(kind, leaves):
    """H = K and Υ = I: the same posterior, and the sampler keeps it."""
    flat = MODELS[leaves].build(2, gamma=[0.4, 0.7, 1.1], **OPTIONS[leaves])
    structure = Structure.flat(2)
    upsilon = {"upsilon": np.eye(2)} if kind == "fixed" else {}
    model = Structured.build(
        structure, "shared" if kind == "fixed" else kind, leaves=leaves,
        gamma=[0.4, 0.7, 1.1], **OPTIONS[leaves], **upsilon,
    )  # fmt: skip
    observed = observe(leaves, "exposure")
    of_flat = enumeration.Posterior(flat, observed)
    posterior = reference.Posterior(model, observed)
    np.testing.assert_array_equal(of_flat.assignments, posterior.assignments)
    np.testing.assert_allclose(posterior.log_joint, of_flat.log_joint, atol=1e-12)
    assert invariance(model, observed, native_sweep(model, observed), n_draws=3000) > ALARM


def test_sampled_scores_are_those_of_the_posterior():
    """With Θ given: E[node scores | words] by listing every assignment, per document."""
    for kind, leaves in (("document", "DM"), ("document-phi", "CGP"), ("phi", "DM")):
        check_given_loadings(kind, leaves)


def check_given_loadings(kind, leaves):
    from dcomp.inference.mean_field import Weights
    from dcomp.inference.structured_scores import sample_structured_scores

    model, observed = build(kind, leaves), observe(leaves, "exposure")
    rng = np.random.default_rng(0)
    Theta = rng.dirichlet(np.ones(3), size=3).T
    upsilon = model.scores.rows.mean(np.zeros((1, model.scores.rows.width)))[0]
    given = model.with_given_upsilon(upsilon)
    tokens = Tokens.from_counts(observed.counts)
    H, structure = model.n_components, model.structure
    expected = np.zeros((3, H))
    weight = np.zeros(3)
    posterior = reference.Posterior(given, observed)
    for z, counted in zip(posterior.assignments, posterior.counted, strict=True):
        C, S = counted.leaves(given), counted.rows(given)
        value = given.scores.leaves.log_moment(C, observed.total_exposure)
        S_rows = S if given.scores.rows.per_document else counted.D
        value = value + given.scores.rows.log_moment(S_rows)
        words = np.log(Theta[tokens.feature, structure.node[z]])
        value = value + np.bincount(tokens.document, weights=words, minlength=3)
        w = np.exp(value)
        _, mean = given.scores.posterior_means(C, S, observed.total_exposure)
        expected += w[:, None] * mean
        weight += w
    # Every document is on its own, so other documents' assignments only repeat it.
    expected /= weight[:, None]
    sampled = sample_structured_scores(
        given, observed, Weights.of_loadings(Theta.astype(np.float32)), LocalExecutor(2),
        n_draws=4000, burn_in=50, seed=4, keep_draws=True,
    )  # fmt: skip
    np.testing.assert_allclose(sampled.mean, expected, atol=0.05 * expected.max())
    np.testing.assert_allclose(sampled.draws.mean(axis=0), expected, atol=0.05 * expected.max())
