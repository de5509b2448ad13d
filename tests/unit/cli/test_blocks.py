"""Features in blocks, in the shell: called block=feature wherever one is shown or asked for."""

import json

import numpy as np
import pytest

import dcomp

NAMES, BLOCKS = ["yea", "nay", "yea", "nay"], ["RC5", "RC5", "RC6", "RC6"]


@pytest.fixture
def votes(tmp_path):
    """A fit of two roll calls whose features share their names, and a file of the same votes."""
    choice = np.random.default_rng(0).integers(0, 2, (20, 2))
    W = np.zeros((20, 4), dtype=int)
    for g in range(2):
        W[np.arange(20), 2 * g + choice[:, g]] = 1
    counts = dcomp.Counts.from_matrix(W, feature_names=NAMES, blocks=BLOCKS)
    dcomp.save(dcomp.DCA(2, random_state=1, verbose=0).fit(counts).fit_, tmp_path / "v.dcomp")
    lines = ["member,RC5=yea,RC5=nay,RC6=yea,RC6=nay"]
    lines += [",".join([f"m{i}", *map(str, row)]) for i, row in enumerate(W)]
    (tmp_path / "votes.csv").write_text("\n".join(lines) + "\n")
    return W


def test_a_file_names_features_with_their_blocks(run, votes):
    done = run("transform", "v.dcomp", "votes.csv", "-o", "s.npy")
    assert (done.code, done.err) == (0, "")
    expected = dcomp.load("v.dcomp").transform(votes)
    np.testing.assert_allclose(np.load("s.npy"), expected, rtol=1e-5)


def test_columns_that_name_their_block_are_not_told_it_twice(run, votes, tmp_path):
    (tmp_path / "blocks.txt").write_text("\n".join(BLOCKS) + "\n")
    done = run("fit", "votes.csv", "-k", 2, "--blocks", "blocks.txt", "--json", "-q")
    shown = {name for row in json.loads(done.out)["components"] for name in row["features"]}
    assert shown == {"RC5=yea", "RC5=nay", "RC6=yea", "RC6=nay"}


def test_diagnose_shows_blocks(run, votes):
    done = run("diagnose", "v.dcomp", "votes.csv", "--top", 2)
    assert done.code == 0, done.err
    assert "RC6=" in done.out


def test_small_perplexities_have_digits(run, votes):
    done = run("evaluate", "v.dcomp", "votes.csv")
    # Documents are split by their ids, which the file has.
    expected = dcomp.evaluate.completion(dcomp.load("v.dcomp"), dcomp.read("votes.csv"))
    assert f"{expected.perplexity:.3f} ± {expected.perplexity_error:.3f}" in done.out
    assert f"perplexity {expected.perplexity:.3f} ±" in str(expected)
