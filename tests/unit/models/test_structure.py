"""Structures of components, the priors of Υ, and the model that they make."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import betaln, gammaln

from dcomp.data import FeatureSpace
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.models import Observations, Structure, Structured, Tree
from dcomp.models.structure_rows import DirichletRows, FixedRows, StickRows

DEEP = Structure.from_parents([4, 4, 5, -1, 5, -1])  # ((0, 1), 2) and 3 alone


def test_a_tree_is_its_paths():
    assert DEEP.n_leaves == 4
    assert DEEP.n_nodes == 6
    expected = [[0, 4, 5], [1, 4, 5], [2, 5], [3]]
    assert [own.tolist() for own in np.split(DEEP.node, DEEP.start[1:-1])] == expected
    assert DEEP.edges == ((0, 4), (1, 4), (2, 5), (4, 5))
    assert set(DEEP.order[:2]) == {3, 5}
    assert DEEP.is_leaf.tolist() == [True] * 4 + [False] * 2


def test_leaves_come_first():
    from_root = Structure.from_tree(Tree.from_parents([-1, 0, 0, 1, 1], list("rabcd")))
    assert from_root.names == ("b", "c", "d", "r", "a")
    assert from_root.parents == (3, 4, 4, -1, 3)


def test_a_mask_that_is_a_tree_is_one():
    again = Structure.from_mask(sparse.csr_array(DEEP.mask.astype(int)))
    assert again.parents == DEEP.parents
    chain = Structure.from_mask([[1, 0, 1, 1], [0, 1, 1, 1]])  # two nodes with the same leaves
    assert chain.parents == (2, 2, 3, -1)


@pytest.mark.parametrize(
    "mask",
    [
        np.ones((2, 3)),  # a leaf uses another's node
        [[1, 0, 0, 1, 0], [0, 1, 0, 1, 1], [0, 0, 1, 0, 1]],  # sets that cross
        [[0, 1, 1], [1, 0, 1]],  # leaves without their own node
    ],
)
def test_other_masks_are_none(mask):
    structure = Structure.from_mask(mask)
    assert structure.parents is None
    assert np.array_equal(structure.mask, np.asarray(mask) != 0)
    assert Structure.from_json(structure.to_json()) == structure
    with pytest.raises(InvalidParameter, match="needs a strict tree"):
        StickRows.build(structure)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Structure.from_parents([1, 0]), "parents of node 0 go round"),
        (lambda: Structure.from_parents([0, -1]), "parent of node 0 must be another node"),
        (lambda: Structure.from_parents([5, -1]), "from 0 to 1, or -1 at the top; got 5"),
        (lambda: Structure.from_parents(["a"]), "must be a node number; got 'a'"),
        (lambda: Structure.from_parents([]), "at least one node"),
        (lambda: Structure.from_parents([-1, -1], ["x"]), "a name for each of its 2 nodes; got 1"),
        (lambda: Structure.from_parents([-1, -1], ["x", "x"]), "1 of them different"),
        (lambda: Structure.from_mask([[1, 0], [1, 0], [0, 1]]), "got 3 × 2"),
        (lambda: Structure.from_mask("x"), "a mask is a table of numbers.*got 'x'"),
        (lambda: Structure.from_mask([[1, 0, 1], [0, 0, 0]]), "leaf 1 has nothing in its row"),
        (lambda: Structure.from_mask([[1, 0, 0], [0, 1, 0]]), "node 2 has nothing in its column"),
        (lambda: Structure.from_mask(np.ones((300, 300))), "fewer than 65536 pairs"),
        (lambda: Structure.from_json("{}"), "a structure in JSON has names"),
        (lambda: FixedRows.build(DEEP, np.eye(4)), r"a column per node, \(4, 6\); got \(4, 4\)"),
        (lambda: FixedRows.build(DEEP, np.eye(4, 6)), "on the allowed pairs alone"),
        (lambda: FixedRows.build(DEEP, DEEP.mask * 1.0), "row 0 sums to 3"),
        (lambda: DirichletRows.build(DEEP, [1.0, 2.0]), r"one per node \(6\)"),
        (lambda: DirichletRows.build(DEEP, -1.0), "psi must be at least 0 and finite; found -1.0"),
        (lambda: DirichletRows.build(DEEP, np.zeros(6)), "psi must be positive"),
        (lambda: StickRows.build(DEEP, [1.0, 2.0, 3.0]), "a pair for each node"),
    ],
)
def test_what_makes_no_structure_is_told(make, message):
    with pytest.raises(InvalidParameter, match=message):
        make()


ROWS = {
    "fixed": FixedRows(DEEP, DirichletRows.build(DEEP).mean(np.zeros((1, 9)))[0]),
    "shared": DirichletRows.build(DEEP, np.linspace(0.3, 1.3, 6)),
    "phi": StickRows.build(DEEP, np.stack([np.linspace(0.4, 1.4, 6), np.linspace(2, 1, 6)], 1)),
}


@pytest.mark.parametrize("kind", ROWS)
def test_means_and_moments_agree_with_draws(kind):
    """E[υ | S] is the ratio of moments with one more word, and the mean of draws; rows sum to 1."""
    rows, rng = ROWS[kind], np.random.default_rng(0)
    pairs = rng.integers(5, size=(1, DEEP.n_pairs))
    S = np.asarray(pairs @ DEEP.to_nodes).astype(int) if rows.by_node else pairs
    mean = rows.mean(S)
    np.testing.assert_allclose(np.add.reduceat(mean, DEEP.start[:-1], axis=1), 1, rtol=1e-12)
    more = np.eye(DEEP.n_pairs, dtype=int)
    more = S + (np.asarray(more @ DEEP.to_nodes).astype(int) if rows.by_node else more)
    ratio = np.exp(rows.log_moment(more) - rows.log_moment(S))
    np.testing.assert_allclose(ratio, mean[0], rtol=1e-9)
    draws = rows.draw(np.repeat(S, 20_000, axis=0), rng)
    np.testing.assert_allclose(np.add.reduceat(draws, DEEP.start[:-1], axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(draws.mean(axis=0), mean[0], atol=0.01)


def test_sticks_are_the_betas_of_the_paper():
    """B09 (4), with leaves left out: N and M of every internal node by hand."""
    rows = ROWS["phi"]
    N = np.array([[3, 0, 2, 5, 1, 4]])
    assert rows.below(N).tolist() == [[0, 0, 0, 0, 3, 6]]
    expected = sum(
        betaln(rows.psi[h, 0] + n, rows.psi[h, 1] + m) - betaln(*rows.psi[h])
        for h, n, m in ((4, 1, 3), (5, 4, 6))
    )
    assert rows.log_moment(N)[0] == pytest.approx(expected, rel=1e-12)


def test_a_dirichlet_row_is_that_of_the_paper():
    """B09 (3): Z(ψ + D) / Z(ψ) over the allowed nodes of each leaf alone."""
    rows = ROWS["shared"]
    D = np.arange(9)[None]
    expected = 0.0
    for first, last in zip(DEEP.start[:-1], DEEP.start[1:], strict=True):
        a, b = rows.psi[first:last], rows.psi[first:last] + D[0, first:last]
        expected += gammaln(b).sum() - gammaln(b.sum()) - gammaln(a).sum() + gammaln(a.sum())
    assert rows.log_moment(D)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", ["document", "document-phi"])
def test_learning_psi_never_lowers_the_likelihood(kind):
    rng = np.random.default_rng(2)
    psi = 0.7 if kind == "document" else (0.7, 2.0)
    model = Structured.build(DEEP, kind, psi=psi, learn_psi=True)
    rows = model.scores.rows
    true = type(rows).build(DEEP, 3.0, per_document=True)
    upsilon = true.draw(np.zeros((300, rows.width)), rng)
    pairs = np.concatenate(
        [
            rng.multinomial(30, upsilon[:, first:last] / upsilon[:, first:last].sum(1)[:, None])
            for first, last in zip(DEEP.start[:-1], DEEP.start[1:], strict=True)
        ],
        axis=1,
    )
    S = np.asarray(pairs @ DEEP.to_nodes).astype(int) if rows.by_node else pairs
    values = []
    for _ in range(60):
        values.append(rows.log_moment(S).sum())
        rows, _ = rows.learn(rows.seen(S))
    assert (np.diff(values) > -1e-8).all()
    inner = ~DEEP.is_leaf
    learned = rows.psi[inner].ravel() if rows.by_node else rows.psi[:-1]  # leaf 3 has one node
    np.testing.assert_allclose(learned, 3.0, rtol=0.4)


def test_effective_loadings_and_node_scores_say_the_same():
    """(q Υ) Θ = q (Υ Θ): B09 3.2."""
    rng = np.random.default_rng(1)
    model = Structured.build(DEEP, "shared")
    scores, upsilon = rng.random((5, 4)), model.scores.rows.mean(rng.integers(9, size=(1, 9)))
    Theta = rng.dirichlet(np.ones(7), size=6).T
    table = DEEP.table(upsilon[0]).toarray()
    nodes = model.scores.node_scores(scores, upsilon)
    np.testing.assert_allclose(nodes @ Theta.T, scores @ (table @ Theta.T), rtol=1e-12)
    own = np.repeat(upsilon, 5, axis=0)  # the same from a Υ for each document
    np.testing.assert_allclose(model.scores.node_scores(scores, own), nodes, rtol=1e-12)


@pytest.mark.parametrize("kind", ["document", "document-phi"])
def test_pooled_rows_take_the_words_of_all_documents_together(kind):
    """Where documents have their own Υ, that of the corpus is E[Υ | all their words]."""
    S = np.array([[9, 0, 1], [0, 2, 4], [1, 0, 0]])  # words of the nodes of a tree of two leaves
    if kind == "document":
        S = np.array([[9, 0, 0, 1], [0, 1, 2, 3], [1, 0, 0, 0]])  # of the pairs (leaf, node)
    model = Structured.build(Structure.from_parents([2, 2, -1]), kind, psi=0.5)
    found = model.scores.pooled_upsilon(S)
    if kind == "document":  # (ψ + ΣS) over its sum in the leaf's row
        expected = [10.5 / 12, 1.5 / 12, 2.5 / 7, 4.5 / 7]
    else:  # of 17 words 5 stop at the top
        expected = [12.5 / 18, 5.5 / 18, 12.5 / 18, 5.5 / 18]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("leaves", ["DM", "GP", "CGP"])
def test_simulated_words_have_the_models_means(leaves):
    options = {} if leaves == "DM" else {"beta": 0.2}
    options |= {"rho": 0.4} if leaves == "CGP" else {}
    model = Structured.build(DEEP, "phi", leaves=leaves, alpha=0.8, psi=(2.0, 3.0), **options)
    rng = np.random.default_rng(3)
    size = np.full(4000, 12 if leaves == "DM" else 1.0)
    upsilon = model.scores.rows.mean(np.zeros((1, 6)))
    fixed = Structured.build(
        DEEP, leaves=leaves, alpha=0.8, upsilon=DEEP.table(upsilon[0]), **options
    )
    counts, scores, Theta = fixed.simulate(FeatureSpace.build(5), size, rng)
    leaf_mean = 0.25 if leaves == "DM" else 4.0 * (0.6 if leaves == "CGP" else 1.0)
    expected = model.scores.node_scores(np.full((1, 4), leaf_mean), upsilon)[0]
    np.testing.assert_allclose(scores.mean(axis=0), expected, rtol=0.1)
    per_doc = size[0] if leaves == "DM" else 1.0
    words = counts.feature_totals / 4000
    np.testing.assert_allclose(words, per_doc * Theta @ expected, rtol=0.1)


def test_the_density_of_node_scores_is_refused():
    model = Structured.build(DEEP)
    counts, scores, Theta = model.simulate(
        FeatureSpace.build(5), np.full(3, 4), np.random.default_rng(0)
    )
    with pytest.raises(UnsupportedCombination, match="no density of node scores"):
        model.log_joint(Observations.build(counts), scores, Theta)
    assert np.isfinite(model.log_likelihood(Observations.build(counts), scores, Theta)).all()
