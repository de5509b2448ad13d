"""StructuredDCA: planted hierarchies, the search for a structure, what it shows, and bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment

import dcomp
from dcomp.data import FeatureSpace
from dcomp.evaluate import Hierarchy, left_to_right, level_correlations, predictive_check
from dcomp.inference import CollapsedGibbs, StructureSearch
from dcomp.models import Structure, Structured, Tree

TREE = Structure.from_parents([6, 6, 6, 7, 7, 7, 8, 8, -1])  # two groups of three, and a top
KINDS = ("shared", "phi", "document", "document-phi")


def plant(kind, n_docs=400, length=120, seed=2):
    psi = (6.0, 14.0) if kind.endswith("phi") else 6.0
    model = Structured.build(TREE, kind, alpha=0.15, gamma=0.03, psi=psi)
    rng = np.random.default_rng(seed)
    counts, scores, Theta = model.simulate(FeatureSpace.build(250), np.full(n_docs, length), rng)
    return counts, scores, Theta


def small(**options):
    settings = {"max_iter": 20, "n_chains": 1, "verbose": 0}
    return dcomp.StructuredDCA(**(settings | options))


@pytest.fixture(scope="module")
def counts():
    return plant("phi", n_docs=60, length=60)[0]


PAIRS = Structure.from_parents([4, 4, 5, 5, 6, 6, -1])  # two groups of two, and a top


@pytest.mark.parametrize(("kind", "seed"), [("phi", 4), ("document", 5)])
def test_a_planted_tree_is_found_again(kind, seed):
    """One of four chains has every node in its place: its partner's parent is its parent's partner.
    In 8 corpora of either kind every one had such a chain; verification/structured.py has more."""
    psi = (6.0, 14.0) if kind == "phi" else 6.0
    true = Structured.build(PAIRS, kind, alpha=0.2, gamma=0.03, psi=psi)
    rng = np.random.default_rng(seed)
    counts, _, Theta = true.simulate(FeatureSpace.build(150), np.full(250, 120), rng)
    model = dcomp.StructuredDCA(
        tree=PAIRS, structure=kind, gamma=0.03, max_iter=120, n_chains=4, verbose=0
    ).fit(counts)
    whole = 0
    for ending in model.fit_.endings:
        similarity = np.sqrt(ending.Theta.T) @ np.sqrt(Theta)
        of = dict(zip(*(x.tolist() for x in linear_sum_assignment(-similarity)), strict=True))
        edges = {(of[child], of[parent]) for child, parent in PAIRS.edges}
        whole += edges == set(PAIRS.edges) and similarity.max(axis=1).mean() > 0.8
    assert whole > 0
    assert 0 <= model.stability().mean <= 1


def test_a_structure_is_searched_for():
    """Flat components become leaves of the groups that were planted, and the fit goes on."""
    counts, _, Theta = plant("phi")
    model = dcomp.StructuredDCA(
        6, structure="phi", gamma=0.03, max_iter=100, n_chains=2, verbose=0
    ).fit(counts)
    structure = model.structure_
    similarity = np.sqrt(model.components_[:6]) @ np.sqrt(Theta[:, :6])
    of = linear_sum_assignment(-similarity)[1]
    clades = {
        frozenset(of[np.flatnonzero(structure.mask[:, h])].tolist())
        for h in range(6, structure.n_nodes)
    }
    assert {frozenset({0, 1, 2}), frozenset({3, 4, 5})} <= clades
    joins = [move for move in model.moves_ if move.kind == "join"]
    assert len(joins) == structure.n_nodes - 6
    assert sum(len(move.children) for move in model.moves_) == len(structure.edges)
    assert all(move.gain > 0 for move in model.moves_)
    assert model.fit_.history["sweep"].tolist() == list(range(1, 101))
    assert sum(model.fit_.history["objective"] > 0) == 0
    gains = np.cumsum([move.gain for move in model.moves_])
    scores = np.array([move.score for move in model.moves_])
    np.testing.assert_allclose(np.diff(scores), np.diff(gains), rtol=1e-6)


def test_by_the_papers_score_nothing_is_found(counts):
    """B09 (6): no internal node is ever accepted (MODELS §5)."""
    model = small(n_components=4, structure="phi", search_score="paper")
    with pytest.warns(dcomp.FlatTreeWarning, match="no node above the leaves pays"):
        model.fit(counts)
    assert model.structure_.n_nodes == 4
    assert model.moves_ == ()


def test_a_search_goes_on_after_a_load(tmp_path):
    """Interrupted after the search, or before it, a chain goes on as if it had not been."""
    counts = plant("phi")[0]
    options = {"n_components": 6, "structure": "phi", "burn_in": 20, "search_at": 15}
    options |= {"gamma": 0.03, "alpha": 0.15}
    whole = small(**options, max_iter=30).fit(counts).fit_
    assert whole.model.structure.n_nodes > 6
    for stop in (22, 25):
        part = small(**options, max_iter=stop).fit(counts).fit_
        dcomp.save(part, tmp_path / "part.dcomp", overwrite=True)
        again = dcomp.fit(
            counts, part.model, max_iter=30, resume=dcomp.load(tmp_path / "part.dcomp")
        )
        assert np.array_equal(again.Theta, whole.Theta)
        assert again.model == whole.model
        assert np.array_equal(again.state.carried.moves, whole.state.carried.moves)
    flat = whole.model.with_structure(Structure.flat(6))
    early = dcomp.fit(counts, flat, whole.algorithm, max_iter=8)
    dcomp.save(early, tmp_path / "early.dcomp")
    loaded = dcomp.load(tmp_path / "early.dcomp")
    assert loaded.algorithm == whole.algorithm
    assert isinstance(loaded.algorithm.grow, StructureSearch)
    later = dcomp.fit(counts, loaded.model, max_iter=30, resume=loaded)
    assert np.array_equal(later.Theta, whole.Theta)
    assert later.model == whole.model


def test_outputs_belong_together(counts):
    """ΥΘ, qΥ and the posterior means of B09 3.2."""
    for kind in KINDS:
        model = small(tree=TREE, structure=kind).fit(counts)
        fit = model.fit_
        assert model.upsilon_.shape == (6, 9)
        assert ((model.upsilon_ > 0) == TREE.mask).all()
        np.testing.assert_allclose(model.upsilon_.sum(axis=1), 1, rtol=1e-5)
        expected = model.upsilon_ @ model.components_
        np.testing.assert_allclose(model.leaf_components_, expected, rtol=1e-5)
        np.testing.assert_allclose(fit.scores.sum(axis=1), 1, rtol=1e-4)
        np.testing.assert_allclose(fit.leaf_scores.sum(axis=1), 1, rtol=1e-4)
        np.testing.assert_allclose(fit.expected_counts.sum(axis=1), counts.doc_totals, rtol=1e-5)
        new, leaves = model.transform(counts), model.transform_leaves(counts)
        assert (new.shape, leaves.shape) == ((60, 9), (60, 6))
        np.testing.assert_allclose(new.sum(axis=1), 1, rtol=1e-4)
        assert np.corrcoef(new.ravel(), fit.scores.ravel())[0, 1] > 0.8
        assert model.get_feature_names_out().shape == (9,)
        tokens = fit.assignments(counts)
        assert TREE.mask[tokens.leaf, tokens.component].all()
        assert np.isfinite(model.score(counts))


def test_draws_of_other_seeds_are_others(counts):
    """With one leaf the scores of nodes are Υ itself, and every seed has its own."""
    for kind in ("shared", "document-phi"):
        fit = small(tree=[-1, 0], structure=kind).fit(counts).fit_
        draws = [fit.draw(seed=seed).scores for seed in (0, 1, 2)]
        assert len({draw.tobytes() for draw in draws}) == 3
        assert np.array_equal(fit.draw(seed=1).scores, draws[1])


def test_options_of_a_search_are_heard():
    counts = plant("phi")[0]
    options = {"n_components": 6, "gamma": 0.03, "max_iter": 40, "structure": "phi"}
    free = small(**options).fit(counts)
    assert free.structure_.n_nodes > 7
    tight = small(**options, max_nodes=7, psi=(2.0, 3.0), search_at=5).fit(counts)
    assert tight.structure_.n_nodes == 7
    assert tight.fit_.model.scores.psi[6].tolist() == [2.0, 3.0]
    assert tight.fit_.algorithm.grow.at == 5
    assert tight.fit_.algorithm.anneal == 4
    before = small(**options, burn_in=30, search_at=30).fit(counts).fit_
    assert before.model.structure.n_nodes > 7


def test_leaves_are_a_flat_fit(counts):
    fit = small(tree=TREE, structure="shared").fit(counts).fit_
    leaves = fit.as_leaves()
    assert (leaves.model.key, leaves.n_components) == ("DM", 6)
    np.testing.assert_array_equal(leaves.Theta, fit.leaf_Theta)
    np.testing.assert_allclose(
        leaves.transform(counts) @ fit.upsilon, fit.transform(counts), rtol=1e-5
    )
    assert left_to_right(fit, counts, particles=5).perplexity < 200
    own = small(tree=TREE, structure="document").fit(counts).fit_
    with pytest.raises(dcomp.UnsupportedCombination, match="only where the corpus shares Υ"):
        own.as_leaves()
    with pytest.raises(dcomp.UnsupportedCombination, match="left_to_right needs"):
        left_to_right(own, counts)
    with pytest.raises(dcomp.UnsupportedCombination, match="method='sampling' works for all"):
        own.fold_in(counts)
    with pytest.raises(dcomp.UnsupportedCombination, match="are of model ST"):
        _ = dcomp.LDA(2, verbose=0).fit(counts).fit_.leaf_scores


def test_a_fit_is_read_as_a_tree(counts):
    fit = small(tree=TREE).fit(counts).fit_
    tree = Hierarchy.from_fit(fit, counts, n=3)
    assert tree.tree.names[0] == "h8"
    assert tree.nodes[0].subtree == pytest.approx(1, abs=1e-5)
    numbers = [node.number for node in tree.nodes]
    assert sorted(numbers) == list(range(9))
    for node in tree.nodes:
        own = fit.expected_counts[:, node.number].sum() / counts.n_tokens
        assert node.share == pytest.approx(own, rel=1e-4)
    assert json.loads(tree.to_json())["name"] == "h8"
    groups = level_correlations(fit).groups
    assert {name: len(r) for name, r in groups.items()} == {"T-T": 3, "B-B": 15, "T-B": 18}
    several = Hierarchy.from_fit(small(tree=[3, 3, -1, -1]).fit(counts).fit_, n=3)
    assert several.tree.names[0] == "all"
    assert (several.nodes[0].number, several.nodes[0].own) == (-1, ())
    flat = small(mask=np.ones((2, 3))).fit(counts).fit_
    with pytest.raises(dcomp.UnsupportedCombination, match="ST with a strict tree"):
        Hierarchy.from_fit(flat)


@pytest.mark.parametrize("leaves", ["DM", "GP", "CGP"])
def test_simulations_of_a_fit_look_like_its_data(leaves):
    """Lengths, and how many different words a document has."""
    options = {} if leaves == "DM" else {"beta": 0.02}
    options |= {"rho": 0.3} if leaves == "CGP" else {}
    true = Structured.build(TREE, "phi", leaves=leaves, alpha=0.3, gamma=0.1, psi=5.0, **options)
    size = np.full(150, 80 if leaves == "DM" else 1.0)
    counts = true.simulate(FeatureSpace.build(60), size, np.random.default_rng(0))[0]
    for kind in ("phi", "document"):
        fit = small(tree=TREE, structure=kind, leaves=leaves, max_iter=60).fit(counts).fit_
        check = predictive_check(fit, counts, n_simulations=40)
        names = ["distinct features", *(["mean length"] if leaves != "DM" else [])]
        for name in names:
            assert check[name].median == pytest.approx(check[name].observed, rel=0.1)


def test_ways_to_give_a_structure(counts):
    names = {"all": {"a": ["x", "y"], "b": []}}
    by_names = small(tree=names).fit(counts).structure_
    assert by_names.names == ("x", "y", "b", "all", "a")
    assert small(tree=Tree.regular(2, 2)).fit(counts).structure_.parents == (2, 2, -1)
    assert small(tree=[-1, 0, 0], n_components=2).fit(counts).structure_.n_nodes == 3
    mask = sparse.csr_array(np.array([[1, 0, 1], [0, 1, 1]]))
    assert small(mask=mask).fit(counts).structure_.parents == (2, 2, -1)
    upsilon = np.array([[0.7, 0, 0.3], [0, 0.5, 0.5]])
    fixed = small(upsilon=upsilon).fit(counts)
    np.testing.assert_allclose(fixed.upsilon_, upsilon, rtol=1e-6)
    assert fixed.fit_.model.scores.rows.kind == "fixed"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"structure": "deep"}, "structure must be one of shared, phi"),
        ({"leaves": "LN"}, "leaves must be one of DM, GP, CGP; got 'LN'"),
        ({"tree": [2, 2, -1], "mask": np.ones((2, 3))}, "tree= and mask= both say"),
        ({"tree": [2, 2, -1], "n_components": 5}, "tree= has 2; got 5"),
        ({"mask": np.ones((2, 3)), "structure": "phi"}, "needs a strict tree"),
        ({"tree": "search"}, "must be a Tree, a list of parents or nested names"),
        ({"upsilon": np.eye(2, 3), "structure": "phi"}, "node 2 has nothing in its column"),
        ({"tree": [2, 2, -1], "max_nodes": 9}, "max_nodes is of a search"),
        ({"n_components": 3, "search_at": 15}, "search_at = 15 must be at most burn_in = 10"),
        ({"n_components": 3, "search_score": "best"}, "score must be one of variational, paper"),
        ({"n_components": 3, "max_nodes": 2}, "max_nodes must be a whole number of at least 3"),
        ({"n_components": 3, "psi": [1.0, 2.0, 3.0]}, "yet to be found must be a number"),
        ({"n_components": 3, "n_draws": 2, "n_chains": 2}, "draws of several chains need one"),
        ({"tree": [2, 2, -1], "psi": "much"}, "psi must be 'auto'"),
        ({"tree": [2, 2, -1], "psi": -2.0}, "psi must be at least 0 and finite; found -2.0"),
    ],
)
def test_bad_options(counts, options, message):
    with pytest.raises(dcomp.InvalidParameter, match=message):
        small(**options).fit(counts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"upsilon": np.full((2, 3), 1 / 3), "psi": 2.0}, "leave out psi="),
        ({"upsilon": np.full((2, 3), 1 / 3), "structure": "document"}, "leave out structure="),
        ({"tree": [2, 2, -1], "beta": 1.0}, "beta has no meaning for model DM"),
        ({"tree": [2, 2, -1], "exposure": "total"}, "exposure has no meaning for model ST"),
        ({"tree": [2, 2, -1], "algorithm": "mean-field"}, "ST has no algorithm 'mean-field'"),
        ({"tree": [2, 2, -1], "algorithm": CollapsedGibbs(sparse=True)}, "for flat models"),
    ],
)
def test_what_does_not_go_together(counts, options, message):
    with pytest.raises(dcomp.UnsupportedCombination, match=message):
        small(**options).fit(counts)
    with pytest.raises(dcomp.UnsupportedCombination, match=r"use dcomp\.StructuredDCA"):
        dcomp.DCA(3, model="ST", verbose=0).fit(counts)


def test_one_chain_has_no_stability(counts):
    with pytest.raises(dcomp.InvalidParameter, match="n_chains"):
        small(tree=TREE).fit(counts).stability()


def test_odd_corpora_are_fitted():
    """Empty documents and features, words of one document, one leaf: no NaN anywhere."""
    X = np.zeros((5, 4), dtype=int)
    X[0], X[3, 1], X[4, 2] = [50, 0, 3, 0], 1, 1
    for leaves in ("DM", "GP", "CGP"):
        for kind in KINDS:
            for tree in ([-1], [-1, 0], [2, 2, -1], TREE.parents):
                model = small(tree=tree, structure=kind, leaves=leaves).fit(X)
                arrays = (model.components_, model.transform(X), model.upsilon_, model.fit_.scores)
                assert all(np.isfinite(array).all() for array in arrays)
    found = small(n_components=6).fit(X)
    assert np.isfinite(found.components_).all()
