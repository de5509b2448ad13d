"""The native side of a corpus in parts: no cut changes what a document draws, counts of the whole
take the place of a part's own, and what cannot be is told."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dcomp import _core

N, J, K = 30, 12, 3  # documents, features, components
BLOCK = np.array([0, 1] * (J // 2), np.int32)
GAMMA = np.full(J, 0.2)
CUTS = (0, 11, 12, N)
# Two leaves below a node, which is node 2: pairs of leaf and node.
LEAF, NODE = np.array([0, 0, 1, 1], np.int32), np.array([0, 2, 1, 2], np.int32)
PARENT = np.array([2, 2, -1], np.int32)
KINDS = ("fixed", "shared", "document", "phi", "document-phi")


@pytest.fixture(scope="module")
def table():
    rows = np.random.default_rng(1).poisson(1.5, (N, J))
    rows[5] = 0
    return rows


def corpus_of(table, first=0):
    row, column = np.nonzero(table)
    starts = np.searchsorted(row, np.arange(len(table) + 1)).astype(np.int64)
    data = table[row, column].astype(np.int32)
    return _core.Corpus(starts, column.astype(np.int32), data, table.shape[1], first)


def parts_of(table):
    return [corpus_of(table[a:b], first=a) for a, b in pairwise(CUTS)]


def prior_of(key="GP", K=K):
    names = {"DM": ["alpha"], "GP": ["alpha", "beta"], "TM": ["a1", "a2", "b"]}[key]
    tree = np.array([-1, 0, 0], np.int32) if key == "TM" else None
    return _core.ScorePrior(key, dict.fromkeys(names, np.full(K, 0.4)), tree=tree)


def flat(corpus, key="GP", sparse=False, totals=None, n_parts=1):
    return _core.CollapsedSampler(corpus, BLOCK, 2, prior_of(key), n_parts, sparse, totals)


def pairs(corpus, kind, n_parts=1):
    return _core.StructuredSampler(corpus, BLOCK, 2, kind, LEAF, NODE, 2, 3, PARENT, n_parts)


def started(sampler, *start):
    """An assignment that is counted, by token and by entry."""
    z = np.empty(sampler.n_tokens, np.uint16)
    if start:
        sampler.start_from(3, *start, z, 1)
    else:
        sampler.start(3, z)
    sampler.count(z)
    by_entry = np.empty_like(z)
    sampler.in_entry_order(z, by_entry)
    return z, by_entry


def swept(sampler, z, sweep=1):
    if isinstance(sampler, _core.CollapsedSampler):
        return sampler.sweep(z, GAMMA, prior_of(), 3, sweep, 1)
    numbers = np.full(4, 0.5), np.full(3, 0.5), np.full(3, 0.5)
    return sampler.sweep(z, GAMMA, prior_of(K=2), *numbers, 3, sweep, 1)


def features_of(sampler):
    n = np.empty((J, K), np.int32)
    if isinstance(sampler, _core.CollapsedSampler):
        sampler.read(None, n)
    else:
        sampler.read(None, n, None)
    return n


def rows_of(sampler, kind):
    S = np.empty((1, 3 if kind == "phi" else 4), np.int32)
    sampler.read(None, None, S)
    return S


def tokens_of(table):
    return table.sum(axis=0).astype(np.int64)


def test_a_corpus_knows_its_first_document(table):
    assert corpus_of(table).first == 0
    assert [part.first for part in parts_of(table)] == list(CUTS[:-1])


def sampled(corpus, n_docs):
    c = np.zeros((n_docs, K), np.int32)
    Theta = np.zeros((J, -(-K // _core.lanes()) * _core.lanes()), np.float32)
    Theta[:, :K] = np.random.default_rng(2).uniform(0.1, 1, (J, K))
    out, scores = np.empty_like(c), np.empty(c.shape, np.float32)
    n = np.zeros((J, K), np.int32)
    _core.sample(corpus, Theta, np.zeros(J), prior_of(), c, out, n, scores, 3, 1, 1)
    drawn, likelihood = np.empty_like(scores), np.empty(n_docs)
    _core.draw_scores(out, prior_of(), drawn, 3, 1, 1, corpus.first)
    _core.left_to_right(corpus, Theta, np.zeros(J), prior_of(), 3, 2, 3, 0, likelihood, 1)
    start = np.zeros_like(c)
    _core.start_counts(corpus, 3, start, np.zeros_like(n))
    return out, scores, drawn, likelihood, start


def test_no_cut_changes_what_a_document_draws(table):
    whole = sampled(corpus_of(table), N)
    parts = [
        sampled(part, len(rows))
        for part, rows in zip(parts_of(table), np.split(table, CUTS[1:-1]), strict=True)
    ]
    for one, *some in zip(whole, *parts, strict=True):
        np.testing.assert_array_equal(one, np.concatenate(some))


@pytest.mark.parametrize("make", [flat, *(lambda c, kind=kind: pairs(c, kind) for kind in KINDS)])
def test_no_cut_changes_where_tokens_begin(table, make):
    _, whole = started(make(corpus_of(table)))
    parts = [started(make(part))[1] for part in parts_of(table)]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


def test_no_cut_changes_where_tokens_begin_by_scores(table):
    rng = np.random.default_rng(4)
    scores = rng.uniform(0.1, 1, (N, K)).astype(np.float32)
    Theta = rng.uniform(0.1, 1, (J, K)).astype(np.float32)
    _, whole = started(flat(corpus_of(table)), scores, Theta)
    parts = [
        started(flat(part), np.ascontiguousarray(own), Theta)[1]
        for part, own in zip(parts_of(table), np.split(scores, CUTS[1:-1]), strict=True)
    ]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


@pytest.mark.parametrize("sparse", [False, True])
def test_parts_add_up_to_the_whole(table, sparse):
    """Each knows the others' tokens as they were before the sweep."""
    totals = tokens_of(table)
    samplers = [flat(part, sparse=sparse, totals=totals) for part in parts_of(table)]
    zs = [started(sampler)[0] for sampler in samplers]
    n = sum(features_of(sampler) for sampler in samplers)
    for sweep in (1, 2, 3):
        changes = []
        for sampler, z in zip(samplers, zs, strict=True):
            sampler.load(n)
            np.testing.assert_array_equal(features_of(sampler), n)
            swept(sampler, z, sweep)
            changes.append(features_of(sampler) - n)
        n = n + sum(changes)
    for sampler, z in zip(samplers, zs, strict=True):
        sampler.count(z)
    np.testing.assert_array_equal(n, sum(features_of(sampler) for sampler in samplers))


@pytest.mark.parametrize("kind", KINDS)
def test_structured_parts_add_up_to_the_whole(table, kind):
    shared = kind in ("shared", "phi")
    samplers = [pairs(part, kind) for part in parts_of(table)]
    zs = [started(sampler)[0] for sampler in samplers]

    def both(samplers):
        n = sum(features_of(sampler) for sampler in samplers)
        return n, sum(rows_of(sampler, kind) for sampler in samplers) if shared else None

    n, S = both(samplers)
    for sweep in (1, 2, 3):
        for sampler in samplers:
            sampler.load(n, S)
        for sampler, z in zip(samplers, zs, strict=True):
            swept(sampler, z, sweep)
        others = len(samplers) - 1  # who know the counts before the sweep as well
        after = both(samplers)
        n = after[0] - others * n
        S = after[1] - others * S if shared else None
    for sampler, z in zip(samplers, zs, strict=True):
        sampler.count(z)
    recounted = both(samplers)
    np.testing.assert_array_equal(n, recounted[0])
    if shared:
        np.testing.assert_array_equal(S, recounted[1])


def given(n_nodes=3):
    """Loadings of nodes."""
    Theta = np.zeros((J, _core.lanes()), np.float32)
    Theta[:, :n_nodes] = np.random.default_rng(5).uniform(0.1, 1, (J, n_nodes))
    return Theta


def swept_given(corpus, n_docs, kind, n_parts=1, n_threads=1):
    """Pairs by entry, and what documents have."""
    sampler = pairs(corpus, kind, n_parts)
    z, _ = started(sampler)
    numbers = np.full(4, 0.5), np.full(3, 0.5), np.full(3, 0.5)
    for sweep in (1, 2, 3):
        sampler.sweep(z, GAMMA, prior_of(K=2), *numbers, 3, sweep, n_threads, given())

    def read():
        C, nodes = np.empty((n_docs, 2), np.int32), np.zeros((n_docs, 3), np.float32)
        S = np.empty((n_docs, 4 if kind == "document" else 3), np.int32)
        sampler.read(C, None, None if kind == "fixed" else S)
        sampler.add_nodes(nodes)
        return (C, nodes) if kind == "fixed" else (C, nodes, S)

    found, by_entry = read(), np.empty_like(z)
    sampler.in_entry_order(z, by_entry)
    sampler.count(z)
    for one, recounted in zip(found, read(), strict=True):
        np.testing.assert_array_equal(one, recounted)
    return by_entry, *found


@pytest.mark.parametrize("kind", ["fixed", "document", "document-phi"])
def test_with_loadings_given_documents_are_on_their_own(table, kind):
    whole = swept_given(corpus_of(table), N, kind)
    others = [swept_given(corpus_of(table), N, kind, n_parts=4, n_threads=7)]
    parts = [
        swept_given(part, len(rows), kind, n_parts=2)
        for part, rows in zip(parts_of(table), np.split(table, CUTS[1:-1]), strict=True)
    ]
    others.append([np.concatenate(some) for some in zip(*parts, strict=True)])
    for other in others:
        for one, same in zip(whole, other, strict=True):
            np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize("kind", ["shared", "phi"])
def test_with_loadings_given_no_row_is_learned_from_all(table, kind):
    with pytest.raises(ValueError, match=r"fixed, or of each document; got rows that all .* share"):
        swept_given(corpus_of(table), N, kind)


def without_features(make, table):
    sampler = make(corpus_of(table))
    z, _ = started(sampler)
    sampler.unload()
    return sampler, z


def unloaded_questions(sampler, z):
    """What needs the counts of features, and how it is called in errors."""
    n, Theta = np.empty((J, K), np.int32), np.zeros((J, K), np.float32)
    if isinstance(sampler, _core.CollapsedSampler):
        yield "a sweep", lambda: swept(sampler, z)
        yield "reading n", lambda: sampler.read(None, n)
        c_sum = np.zeros((N, K), np.float32)
        yield "recording Theta", lambda: sampler.record(GAMMA, Theta, c_sum, None, 1)
        yield "log_moments", lambda: sampler.log_moments(GAMMA, prior_of(), 1)
    else:
        yield "a sweep without Theta", lambda: swept(sampler, z)
        yield "reading n", lambda: sampler.read(None, n, None)
        yield "add_loadings", lambda: sampler.add_loadings(GAMMA, Theta, 1)
        yield "log_moments", lambda: sampler.log_moments(GAMMA, prior_of(K=2), 1)


MAKERS = [
    flat,
    lambda corpus: flat(corpus, sparse=True),
    *(lambda corpus, kind=kind: pairs(corpus, kind) for kind in KINDS),
]


@pytest.mark.parametrize("make", MAKERS)
def test_unloaded_counts_are_told(table, make):
    sampler, z = without_features(make, table)
    sampler.unload()  # twice is once
    for what, ask in unloaded_questions(sampler, z):
        with pytest.raises(RuntimeError, match=f"^{what} needs the features' counts, and they are"):
            ask()
    sampler.count(z)
    for _, ask in unloaded_questions(sampler, z):
        ask()


@pytest.mark.parametrize("make", MAKERS)
def test_unloaded_counts_can_be_loaded(table, make):
    sampler = make(corpus_of(table))
    z, _ = started(sampler)
    n = features_of(sampler)
    sampler.unload()
    if isinstance(sampler, _core.CollapsedSampler):
        sampler.load(n)
    else:
        kind = KINDS[MAKERS.index(make) - 2]
        sampler.load(n, rows_of(sampler, kind) if kind in ("shared", "phi") else None)
    np.testing.assert_array_equal(features_of(sampler), n)
    swept(sampler, z)
    after = features_of(sampler)
    sampler.count(z)
    np.testing.assert_array_equal(features_of(sampler), after)


@pytest.mark.parametrize("sparse", [False, True])
def test_documents_do_not_need_the_counts_of_features(table, sparse):
    answers = []
    for unload in (False, True):
        sampler = flat(corpus_of(table), sparse=sparse)
        started(sampler)
        if unload:
            sampler.unload()
        c, c_sum = np.empty((N, K), np.int32), np.zeros((N, K), np.float32)
        sampler.read(c, None)
        sampler.record(GAMMA, None, c_sum, None, 1)
        answers.append((c, c_sum, sampler.log_score_moments(prior_of(), 1)))
    for with_them, without in zip(*answers, strict=True):
        np.testing.assert_array_equal(with_them, without)


def test_means_of_a_tree_do_not_need_the_counts_of_features(table):
    means = np.zeros((2, N, K), np.float32)
    for unload, out in enumerate(means):
        sampler = flat(corpus_of(table), "TM")
        started(sampler)
        if unload:
            sampler.unload()
        sampler.add_means(prior_of("TM"), out, 1)
    np.testing.assert_array_equal(*means)


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_of_documents_do_not_need_the_counts_of_features(table, kind):
    answers = []
    for unload in (False, True):
        sampler = pairs(corpus_of(table), kind)
        z, _ = started(sampler)
        if unload:
            sampler.unload()
        if kind not in ("shared", "phi"):
            numbers = np.full(4, 0.5), np.full(3, 0.5), np.full(3, 0.5)
            sampler.sweep(z, GAMMA, prior_of(K=2), *numbers, 3, 1, 1, given())
        C, nodes = np.empty((N, 2), np.int32), np.zeros((N, 3), np.float32)
        S = np.empty((N if "document" in kind else 1, 3 if "phi" in kind else 4), np.int32)
        sampler.read_documents(C, S)
        sampler.add_nodes(nodes)
        answers.append((z, C, S, nodes, sampler.log_score_moments(prior_of(K=2), 1)))
    for with_them, without in zip(*answers, strict=True):
        np.testing.assert_array_equal(with_them, without)


def test_fixed_rows_have_nothing_to_load(table):
    sampler = pairs(corpus_of(table), "fixed")
    z, _ = started(sampler)
    before = rows_of(sampler, "fixed")
    sampler.load(features_of(sampler), 2 * before)
    np.testing.assert_array_equal(rows_of(sampler, "fixed"), before)
    swept(sampler, z)


def test_moments_of_documents_alone(table):
    """What is left of log p(z, words) without that of features, which is the whole's."""
    corpus = corpus_of(table)
    for key in ("GP", "TM"):
        sampler = flat(corpus, key)
        started(sampler)
        whole = sampler.log_moments(GAMMA, prior_of(key), 1)
        words = _core.log_loading_moments(features_of(sampler), GAMMA, BLOCK, 2, 1)
        alone = sampler.log_score_moments(prior_of(key), 1)
        assert whole == pytest.approx(words + alone, rel=1e-12)
        c = np.empty((N, K), np.int32)
        sampler.read(c, None)
        assert alone == pytest.approx(_core.log_score_moments(c, prior_of(key), 1), rel=1e-12)
    for kind in KINDS:
        sampler = pairs(corpus, kind)
        started(sampler)
        leaves = prior_of(K=2)
        whole = sampler.log_moments(GAMMA, leaves, 1)
        words = _core.log_loading_moments(features_of(sampler), GAMMA, BLOCK, 2, 1)
        alone = sampler.log_score_moments(leaves, 1)
        assert whole == words + alone
        C = np.empty((N, 2), np.int32)
        sampler.read(C, None, None)
        assert alone == _core.log_score_moments(C, leaves, 1)


def test_documents_can_be_recorded_alone(table):
    sampler = flat(corpus_of(table))
    started(sampler)
    c_both, c_alone, zeros_both, zeros_alone = np.zeros((4, N, K), np.float32)
    sampler.record(GAMMA, np.zeros((J, K), np.float32), c_both, zeros_both, 1)
    sampler.record(GAMMA, None, c_alone, zeros_alone, 1)
    np.testing.assert_array_equal(c_both, c_alone)
    np.testing.assert_array_equal(zeros_both, zeros_alone)
    assert c_alone.sum() == table.sum()


def test_chains_can_be_run_in_several_calls(table):
    corpus, heat = corpus_of(table), np.array([0.2, 0.5, 1.0])

    def run(first, chains):
        z = np.empty((chains, table.sum()), np.uint16)
        out = np.empty((2, chains, len(heat)))
        _core.tempered_sweeps(corpus, BLOCK, 2, GAMMA, prior_of(), heat, 3, 0, z, *out, 1, first)
        return z, out

    all_z, all_out = run(0, 4)
    calls = [run(0, 1), run(1, 3)]
    np.testing.assert_array_equal(all_z, np.concatenate([z for z, _ in calls]))
    np.testing.assert_array_equal(all_out, np.concatenate([out for _, out in calls], axis=1))


def changed(array, at, to):
    out = array.copy()
    out[at] = to
    return out


def wrong_loads(table):
    part, totals = parts_of(table)[0], tokens_of(table)
    dense, sparse = flat(part, totals=totals), flat(part, sparse=True, totals=totals)
    own = tokens_of(table[: CUTS[1]])
    n = np.zeros((J, K), np.int32)
    n[:, 0] = totals
    huge = changed(n, (slice(None), 0), 2**30)
    return [
        (dense, n[:-1], r"n must have the shape \(12, 3\), .*; got \(11, 3\)"),
        (dense, n[:, :2].copy(), r"n must have the shape \(12, 3\), .*; got \(12, 2\)"),
        (dense, changed(n, (4, 1), -1), "no negative numbers; feature 4 has -1"),
        (
            dense,
            changed(n, (7, 0), own[7] - 1),
            f"the tokens of this part, here {own[7]}; feature 7 has {own[7] - 1} in n",
        ),
        (
            sparse,
            changed(n, (2, 1), 1),
            f"than feature_totals, here {totals[2]}; feature 2 has {totals[2] + 1} in n",
        ),
        (dense, huge, rf"must be fewer than 2\^31; got {6 * 2**30}"),
    ]  # fmt: skip


@pytest.mark.parametrize("case", range(6))
def test_counts_that_cannot_be_the_whole_are_told(table, case):
    sampler, n, message = wrong_loads(table)[case]
    with pytest.raises(ValueError, match=message):
        sampler.load(n)


def test_dense_counts_have_room_for_any_number(table):
    sampler = flat(parts_of(table)[0])
    started(sampler)
    n = np.zeros((J, K), np.int32)
    n[:, 0] = tokens_of(table)
    sampler.load(n)
    np.testing.assert_array_equal(features_of(sampler), n)


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("shared", lambda S: None, "S must be given where all documents share the rows; got None"),
        ("shared", lambda S: S[:, :3].copy(), r"S must have the shape \(1, 4\), .*; got \(1, 3\)"),
        ("phi", lambda S: np.repeat(S, 2, axis=0), r"the shape \(1, 3\), .*; got \(2, 3\)"),
        ("phi", lambda S: changed(S, (0, 1), -1), "S must hold no negative numbers; got -1"),
        ("shared", lambda S: S + 1, "S must be of the tokens that n counts; node 0 has"),
        ("phi", lambda S: S[:, ::-1].copy(), "S must be of the tokens that n counts; node 0 has"),
    ],
)
def test_rows_that_cannot_be_the_wholes_are_told(table, kind, change, message):
    sampler = pairs(corpus_of(table), kind)
    started(sampler)
    n, S = features_of(sampler), rows_of(sampler, kind)
    sampler.load(n, S)
    with pytest.raises(ValueError, match=message):
        sampler.load(n, change(S))


def test_tokens_that_leave_int32_are_told_where_rows_are_shared(table):
    n = np.zeros((J, K), np.int32)
    n[0] = 2**30  # in no component as many as 2^31
    S = np.full((1, K), 2**30, np.int32)
    with pytest.raises(ValueError, match=rf"share rows must be fewer than 2\^31; got {3 * 2**30}"):
        pairs(corpus_of(table[:0]), "phi").load(n, S)


@pytest.mark.parametrize("kind", ["document", "document-phi"])
def test_documents_keep_rows_of_their_own(table, kind):
    sampler = pairs(corpus_of(table), kind)
    started(sampler)
    with pytest.raises(ValueError, match="S must be None where every document has rows of its own"):
        sampler.load(features_of(sampler), np.zeros((1, 4), np.int32))


def test_numbers_of_documents_are_checked(table):
    for first in (-1, 2**46):
        with pytest.raises(ValueError, match=f"first must be the number .*; got {first}"):
            corpus_of(table, first=first)
    assert corpus_of(table, first=2**46 - N).first == 2**46 - N
    c = np.zeros((2, K), np.int32)
    with pytest.raises(ValueError, match=r"first must be the number .*; got -3"):
        _core.draw_scores(c, prior_of(), np.empty(c.shape, np.float32), 1, 1, 1, -3)
    z, out = np.empty((1, table.sum()), np.uint16), np.empty((2, 1, 1))
    with pytest.raises(ValueError, match=r"first_chain must be the number .*; got -1"):
        _core.tempered_sweeps(
            corpus_of(table), BLOCK, 2, GAMMA, prior_of(), np.ones(1), 3, 0, z, *out, 1, -1
        )


def test_what_a_part_is_made_with_is_checked(table):
    part, totals = parts_of(table)[0], tokens_of(table)
    own = tokens_of(table[: CUTS[1]])
    with pytest.raises(ValueError, match=r"feature_totals must have the shape \(12\), .*got \(11"):
        flat(part, totals=totals[:-1])
    with pytest.raises(ValueError, match=f"feature 3 has {own[3]} in this part; got {own[3] - 1}"):
        flat(part, totals=changed(totals, 3, own[3] - 1))
    for make in (flat, lambda part, n_parts: pairs(part, "phi", n_parts)):
        with pytest.raises(ValueError, match=r"n_parts must lie in \[1, 32\]; got 33"):
            make(part, n_parts=33)


def test_what_is_read_is_checked(table):
    corpus = corpus_of(table)
    dense, phi = flat(corpus), pairs(corpus, "phi")
    started(dense), started(phi)
    with pytest.raises(ValueError, match=r"n must have the shape \(12, 3\), .*; got \(12, 4\)"):
        dense.read(None, np.empty((J, K + 1), np.int32))
    with pytest.raises(ValueError, match=r"S must have the shape \(1, 3\), .*; got \(1, 4\)"):
        phi.read(None, None, np.empty((1, 4), np.int32))
    with pytest.raises(ValueError, match=r"c_sum must have the shape \(30, 3\), .*; got \(31, 3"):
        dense.record(GAMMA, None, np.zeros((N + 1, K), np.float32), None, 1)
