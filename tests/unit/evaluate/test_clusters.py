"""Clusters by the largest component, and what labels say of them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

import dcomp
from dcomp.cli.main import main
from dcomp.evaluate import clusters


@pytest.fixture(scope="module")
def fitted(planted):
    return dcomp.LDA(3, verbose=0).fit(planted[0])


def test_a_cluster_is_the_largest_component(planted, fitted):
    counts, _ = planted
    expected = fitted.transform(counts).argmax(axis=1)
    np.testing.assert_array_equal(fitted.predict(counts), expected)
    np.testing.assert_array_equal(fitted.fit_.predict(counts), expected)
    np.testing.assert_array_equal(fitted.fit_.clusters, fitted.fit_.scores.argmax(axis=1))


def test_of_a_tree_it_is_a_leaf():
    X = np.random.default_rng(0).poisson(2.0, (40, 8))
    tree = dcomp.TreeDCA(2, 3, max_iter=20, verbose=0).fit(X)
    assert set(tree.predict(X)) <= {3, 4, 5, 6}
    leaves = tree.transform(X)[:, 3:]
    np.testing.assert_array_equal(tree.predict(X), 3 + leaves.argmax(axis=1))


def test_measures_are_those_of_the_definitions():
    rng = np.random.default_rng(1)
    scores, labels = rng.random((50, 4)), rng.choice(list("abc"), 50)
    found = clusters(scores, labels)
    own = scores.argmax(axis=1)
    by_hand = 0
    for k in range(4):
        inside = labels[own == k]
        by_hand += max((inside == name).sum() for name in "abc")
    assert found.purity == by_hand / 50
    assert found.nmi == pytest.approx(normalized_mutual_info_score(labels, own))
    assert found.adjusted_rand == pytest.approx(adjusted_rand_score(labels, own))
    assert abs(found.purity - found.chance) < 0.1  # they have nothing to do with each other
    assert found.table.sum() == found.n_docs == 50


def test_planted_groups_are_found_and_gaps_are_left_out(planted, fitted):
    counts, _ = planted
    W = counts.to_scipy().toarray()
    label = np.array(list("abc"), object)[W.reshape(-1, 3, 10).sum(axis=2).argmax(axis=1)]
    label[[0, 1]] = None
    label[2] = np.nan
    found = clusters(fitted, label)
    assert found.n_unknown == 3
    assert found.purity > 0.9 > found.chance
    assert set(found.majority) == {"a", "b", "c"}
    named = clusters(fitted.fit_.with_attributes(counts.with_attributes(kind=label)), "kind")
    assert str(named) == str(found)
    assert len(found.lines()) == 3


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"], "labels must be one per document: 300 documents, 1 labels"),
        ([None] * 300, "all 300 are unknown"),
        ("party", "there is no attribute 'party'"),
    ],
)
def test_labels_that_cannot_be(fitted, labels, message):
    with pytest.raises(dcomp.InvalidParameter, match=message):
        clusters(fitted, labels)


def test_the_shell_shows_them(tmp_path, capsys):
    lines = [
        {"text": "cat dog " * 5 if i % 2 else "tax law " * 5, "kind": ["law", "pet"][i % 2]}
        for i in range(20)
    ]
    path, fit = tmp_path / "texts.jsonl", tmp_path / "fit.dcomp"
    path.write_text("\n".join(map(json.dumps, lines)))
    how = [str(path), "--label-field", "kind", "--keep-attributes"]
    assert main(["fit", *how, "-k", "2", "--alpha", "0.1", "-o", str(fit), "-q"]) == 0
    capsys.readouterr()
    assert main(["show", str(fit), "--by", "kind"]) == 0
    assert "purity 100.0 % (by chance" in capsys.readouterr().out
    assert main(["show", str(fit), "--by", "kind", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["clusters"]["adjusted_rand"] == 1.0
