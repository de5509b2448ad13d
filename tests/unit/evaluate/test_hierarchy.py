"""Reading a tree: summaries, coherence and correlations against what they are by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import dcomp
from dcomp.evaluate import Hierarchy, level_correlations
from dcomp.evaluate.hierarchy import node_shares
from dcomp.inference import CollapsedGibbs
from dcomp.models import Tree, TreeMultinomial

NAMES = ["the", "ball", "goal", "bat", "vote", "law", "tax"]  # of nodes 0 to 6, depth first


class Read:
    """A fit whose every word lies where it belongs: no chain has to find it."""

    def __init__(self):
        kinds = np.array([[2, 4, 4, 0, 0, 0, 0], [2, 4, 0, 4, 0, 0, 0], [2, 0, 0, 0, 4, 4, 0]])
        kinds = np.vstack([kinds, [2, 0, 0, 0, 4, 0, 4]]) / 10
        rng = np.random.default_rng(0)
        W = np.array([rng.multinomial(40, kinds[i % 4]) for i in range(120)])
        self.counts = dcomp.Counts.from_matrix(W, feature_names=NAMES)
        nested = {"all": {"sport": ["soccer", "cricket"], "state": ["law", "tax"]}}
        self.tree = Tree.from_names(nested)
        model = TreeMultinomial.build(self.tree, gamma=0.01)
        fit = dcomp.fit(self.counts, model, CollapsedGibbs(burn_in=9), max_iter=1)
        node_of = [0, 1, 2, 3, 4, 5, 6]  # the, ball, goal, bat, vote, law, tax
        c, n = np.zeros((120, 7), np.int32), np.zeros((7, 7), np.int32)
        c[:, node_of], n[range(7), node_of] = W, W.sum(axis=0)
        self.fit = replace(fit, state=fit.state.changed(c=c, n=n))


@pytest.fixture(scope="module")
def read():
    return Read()


def test_summaries_are_averages_over_descendants(read):
    fit, tree = read.fit, read.tree
    share = node_shares(fit)
    assert share.sum() == pytest.approx(1)
    summaries = Hierarchy.from_fit(fit).summaries
    np.testing.assert_allclose(summaries.sum(axis=0), 1, rtol=1e-5)
    for node in (0, 1, 4):
        below = list(tree.descendants(node))
        expected = np.asarray(fit.Theta)[:, below] @ share[below] / share[below].sum()
        np.testing.assert_allclose(summaries[:, node], expected, rtol=1e-4)
    # All words of all documents: the root's summary is the corpus, but for the prior's smoothing.
    frequency = read.counts.feature_totals / read.counts.n_tokens
    np.testing.assert_allclose(summaries[:, 0], frequency, atol=0.001)


def test_nodes_have_their_numbers(read):
    hierarchy = Hierarchy.from_fit(read.fit, read.counts, n=1)
    root = hierarchy.nodes[0]
    assert [node.own for node in hierarchy.nodes] == [(name,) for name in NAMES]
    assert (root.parent, root.level, root.subtree) == (-1, 0, pytest.approx(1))
    assert sum(node.share for node in hierarchy.nodes) == pytest.approx(1)
    for k in (1, 4):
        node = hierarchy.nodes[k]
        assert node.summary == node.own  # its own word is the most frequent of its branch
        inside = node.share + sum(hierarchy.nodes[child].share for child in read.tree.children[k])
        assert node.subtree == pytest.approx(inside)
        assert node.coherence == pytest.approx(0.5, abs=0.05)  # ball in 1/2, goal in 1/4
    assert [node.coherence is None for node in hierarchy.nodes] == read.tree.is_leaf.tolist()
    assert hierarchy.fitting == 1
    assert hierarchy.nodes[1].fits is None  # the root is alone on its level
    without = Hierarchy.from_fit(read.fit, n=1)
    assert without.fitting is None
    assert all(node.coherence is None for node in without.nodes)


def test_children_of_another_do_not_fit(read):
    """The same words with two leaves exchanged between the branches."""
    moved = [0, 1, 2, 5, 4, 3, 6]
    state = read.fit.state.changed(c=read.fit.state.c[:, moved], n=read.fit.state.n[:, moved])
    hierarchy = Hierarchy.from_fit(replace(read.fit, state=state), read.counts, n=1)
    assert [hierarchy.nodes[k].fits for k in (2, 3, 5, 6)] == [True, False, False, True]
    assert hierarchy.fitting == 0.5
    assert hierarchy.nodes[1].coherence < 0


def test_coherence_is_npmi_by_hand():
    """Two words of a parent and one of its child: the mean over the pairs of different words."""
    from dcomp.evaluate.hierarchy import _association

    W = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1], [1, 0, 0]])
    own, below = np.array([[0, 1]]), np.array([[1, 2]])

    def npmi(i, j):
        p = (W[:, [i, j]] > 0).mean(axis=0)
        both = ((W[:, i] > 0) & (W[:, j] > 0)).mean()
        return np.log(both / p.prod()) / -np.log(both)

    expected = np.mean([npmi(0, 1), npmi(0, 2), npmi(1, 2)])
    found = _association(dcomp.Counts.from_matrix(W), own, below)
    assert found[0, 0] == pytest.approx(expected)
    apart = np.array([[2, 0], [0, 3]])
    never = _association(dcomp.Counts.from_matrix(apart), np.array([[0]]), np.array([[1]]))
    assert never[0, 0] == -1


def test_text_and_json(read):
    hierarchy = Hierarchy.from_fit(read.fit, read.counts, n=2)
    lines = hierarchy.text().splitlines()
    assert len(lines) == 7
    assert lines[0].startswith("all (100.0 %, coherence ")
    assert lines[1].startswith("├─ sport (")
    assert lines[-1].startswith("   └─ tax (")
    nested = json.loads(hierarchy.to_json())
    assert [child["name"] for child in nested["children"]] == ["sport", "state"]
    assert len(nested["children"][0]["children"]) == 2
    assert nested["children"][0]["own"] == list(hierarchy.nodes[1].own)


def test_a_picture(read):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    axis = Hierarchy.from_fit(read.fit, n=3).plot()
    assert len(axis.patches) == 7
    angles = [patch.get_width() for patch in axis.patches]
    assert angles[0] == pytest.approx(2 * np.pi)
    assert sum(angles[1:3]) < angles[0]
    pyplot.close("all")


def test_correlations_by_level(read):
    groups = level_correlations(read.fit).groups
    assert {name: len(r) for name, r in groups.items()} == {"T-T": 3, "B-B": 6, "T-B": 12}
    words = np.asarray(read.fit.scores, float) * read.counts.doc_totals[:, None]
    r = np.corrcoef(words.T)
    inner = [r[0, 1], r[0, 4], r[1, 4]]
    np.testing.assert_allclose(sorted(groups["T-T"]), sorted(inner), atol=1e-4)
    assert r[1, 4] < -0.9  # a document is of one branch
    assert "B-B: 6 pairs" in str(level_correlations(read.fit))


def test_a_flat_fit_has_no_tree(read):
    flat = dcomp.LDA(3, verbose=0).fit(read.counts).fit_
    assert list(level_correlations(flat).groups) == ["D"]
    with pytest.raises(dcomp.UnsupportedCombination, match="only model TM, and ST with a"):
        Hierarchy.from_fit(flat)


def test_the_estimator_reads_itself(read):
    model = dcomp.TreeDCA(tree=read.tree, max_iter=8, verbose=0).fit(read.counts)
    assert model.tree_ == read.tree
    assert model.hierarchy(read.counts, n=2).fitting is not None


def test_a_root_alone_can_be_read():
    fit = dcomp.TreeDCA(tree=Tree.regular(1, 1), max_iter=6, verbose=0).fit([[1, 2], [3, 0]]).fit_
    assert Hierarchy.from_fit(fit, [[1, 2], [3, 0]], n=1).text().startswith("root (100.0 %)")
    assert fit.transform([[1, 1]]).tolist() == [[1.0]]
