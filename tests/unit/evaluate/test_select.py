"""Choosing K: what is recommended, in which words, and that a stopped selection goes on."""

from __future__ import annotations

import numpy as np
import pytest

import dcomp
from dcomp.data import Counts
from dcomp.evaluate import (
    Evidence,
    coherence,
    select,
    select_chains,
    select_components,
    select_evidence,
)
from dcomp.evaluate.select import Candidate, Selection, _OfOneK
from dcomp.evaluate.select_chains import ChainScore
from dcomp.models import DirichletMultinomial, GammaPoisson

QUICK = {"with_evidence": False, "gamma": 0.05, "n_jobs": 2}


def planted_counts(K, seed, n_docs=400, n_features=300, length=100):
    truth = DirichletMultinomial.build(K, alpha=0.1, gamma=0.05)
    features = Counts.from_matrix(np.ones((1, n_features), int)).features
    rng = np.random.default_rng(seed)
    return truth.simulate(features, np.full(n_docs, length), rng)[0]


def test_eight_planted_components_are_found():
    """Within 7 to 9; of the first ten seeds all are."""
    seed = 0
    counts = planted_counts(8, seed)
    found = select_components(counts, [4, 7, 8, 9, 12], random_state=seed, **QUICK)
    assert found.recommended in (7, 8, 9)
    assert found.recommended == min(found.indistinct)
    assert [c.n_components for c in found.candidates] == [4, 7, 8, 9, 12]
    far = found.candidates[0]
    assert far.behind > 5 * far.behind_error  # four are too few, beyond doubt


def test_the_table_and_its_parts():
    counts = planted_counts(3, 0, n_docs=80, n_features=40)
    found = select_components(counts, [3, 1, 2, 3], n_chains=4, n_starts=2, **QUICK)
    assert found.recommended == 3
    table = found.table
    assert table.index.tolist() == [1, 2, 3]
    assert table.loc[3, "behind"] == 0
    np.testing.assert_allclose(table["log_likelihood"], -np.log(table["perplexity"]), rtol=1e-12)
    assert np.isnan(table.loc[1, "stability"])  # one component cannot disagree
    assert table.loc[3, "stability"] > 0.8
    assert table.loc[1, "exclusivity"] == pytest.approx(1)  # it has every feature to itself
    assert 1 / 3 < table.loc[3, "exclusivity"] < 0.999
    assert table["evidence"].isna().all()
    assert (table["converged"] > 0).all()
    assert "Recommended: 3 components." in found.summary
    assert "3 is the largest number that was tried" in found.summary
    assert len(str(found).splitlines()) == 6
    # Every document is scored once, by fits that have not seen it: the unigram model is chain-wise.
    direct = 0.0
    plan = select_chains.Plan.build(
        counts,
        None,
        model="DM",
        algorithm="auto",
        priors={"alpha": "auto", "beta": "auto", "rho": "auto", "gamma": 0.05},
        n_chains=4,
        n_starts=2,
        max_iter=200,
        tol=1e-4,
        seed=0,
        keep=None,
    )
    assert np.array_equal(np.sort(np.concatenate(plan.parts)), np.arange(80))
    tokens = 0.0
    for part in plan.parts:
        others = np.setdiff1d(np.arange(80), part)
        p = counts.rows(others).feature_totals + 0.05
        _, second = dcomp.data.halves(counts.rows(part), 0.5, 0)
        direct += second.feature_totals @ np.log(p / p.sum())
        tokens += second.n_tokens
    assert table.loc[1, "log_likelihood"] == pytest.approx(direct / tokens, rel=1e-4)


def test_the_number_of_threads_changes_nothing():
    counts = planted_counts(2, 1, n_docs=40, n_features=30)
    options = {**QUICK, "n_chains": 3, "n_starts": 1}
    one, four = (
        select_components(counts, [1, 2], **options | {"n_jobs": n}).candidates for n in (1, 4)
    )
    np.testing.assert_equal([vars(c) for c in one], [vars(c) for c in four])


def test_a_selection_that_was_stopped_goes_on(tmp_path, monkeypatch):
    counts = planted_counts(2, 2, n_docs=40, n_features=30)
    options = {**QUICK, "n_chains": 3, "n_starts": 1, "n_jobs": 1}
    whole = select_components(counts, [1, 2], **options)
    calls, real = [], select_chains._fit_and_score

    def counting(plan, K, chain, folder):
        calls.append((K, chain))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(plan, K, chain, folder)

    monkeypatch.setattr(select_chains, "_fit_and_score", counting)
    folder = tmp_path / "chains"
    with pytest.raises(KeyboardInterrupt):
        select_components(counts, [1, 2], keep=folder, **options)
    kept = sorted(path.name for path in folder.iterdir())
    assert kept[:3] == ["K1-chain0.npz", "K1-chain1.npz", "K1-chain2.npz"]
    monkeypatch.setattr(select_chains, "_fit_and_score", real)
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*.npz")}
    again = select_components(counts, [1, 2], keep=folder, **options)
    np.testing.assert_equal(
        [vars(c) for c in again.candidates], [vars(c) for c in whole.candidates]
    )
    assert all(path.stat().st_mtime_ns == then for path, then in before.items())
    assert not list(folder.glob("*.run"))  # of chains that are done
    with pytest.raises(dcomp.InvalidFile, match="of other counts or settings"):
        select_components(counts, [1, 2], keep=folder, **options | {"gamma": 0.1})
    (folder / "K1-chain0.npz").write_bytes(b"half a file")
    with pytest.raises(dcomp.InvalidFile, match="not what a selection keeps"):
        select_components(counts, [1, 2], keep=folder, **options)


def test_a_chain_under_way_and_evidences_are_kept(tmp_path, monkeypatch):
    counts = planted_counts(2, 2, n_docs=20, n_features=12, length=20)
    options = {"n_chains": 2, "n_starts": 2, "n_jobs": 1, "max_iter": 20, "tol": 0}
    whole = select_components(counts, [1, 2], **options, with_evidence=True)
    swept, real = [], select_chains.fit

    def killed(*args, callbacks=(), **how):
        def look(info):
            swept.append(info.sweep)
            if len(swept) == 30:
                raise SystemExit

        return real(*args, callbacks=[look], **how)

    monkeypatch.setattr(select_chains, "fit", killed)
    how = {**options, "with_evidence": True, "keep": tmp_path}
    with pytest.raises(SystemExit):
        select_components(counts, [1, 2], **how)
    assert (tmp_path / "K1-chain0.run" / "chain-0.dcomp").exists()  # its first start is done
    again = select_components(counts, [1, 2], **how)
    assert len(swept) == 30 + 20 + 3 * 40  # and of the ladder, which has a fit of its own, none
    monkeypatch.setattr("dcomp.evaluate.select_evidence.at_fit", None)  # it is not asked again
    third = select_components(counts, [1, 2], **how)
    for found in (again, third):
        np.testing.assert_equal(
            [vars(c) for c in found.candidates], [vars(c) for c in whole.candidates]
        )


def test_evidence_stands_beside_it():
    counts = planted_counts(2, 3, n_docs=30, n_features=20, length=30)
    options = {"gamma": 0.1, "alpha": 0.2, "n_chains": 2, "n_starts": 1}
    found = select_components(counts, [1, 2, 3], **options)
    values = {c.n_components: c.evidence for c in found.candidates}
    assert values[2] > values[1] + 10
    assert all(c.evidence_error < 5 for c in found.candidates)
    assert found.decided_by == "evidence"
    assert found.recommended == 2
    assert "Held-out words" in found.summary


def test_a_corpus_too_large_for_evidence_says_so(monkeypatch):
    counts = planted_counts(2, 4, n_docs=20, n_features=20)
    monkeypatch.setattr(select_evidence, "BUDGET", 1e3)
    found = select_components(counts, [1, 2], n_chains=2, n_starts=1)
    assert np.isnan([c.evidence for c in found.candidates]).all()
    assert "too large for a quick estimate of the evidence" in found.summary


def test_gamma_poisson_with_an_exposure_per_document():
    truth = GammaPoisson.build(2, alpha=0.3, beta=0.02, gamma=0.1)
    features = Counts.from_matrix(np.ones((1, 30), int)).features
    e = np.linspace(0.5, 2, 60)
    counts, *_ = truth.simulate(features, e, np.random.default_rng(5))
    options = {"model": "GP", "n_chains": 3, "n_starts": 2, **QUICK}
    assert select_components(counts, [1, 2], exposure=e, **options).recommended == 2


def test_a_feature_that_no_component_has():
    """Maximum likelihood gives nothing to a word that is in held-out documents alone."""
    X = np.random.default_rng(0).poisson(2.0, (12, 6))
    X[:, 5] = 0
    X[3, 5] = 2
    options = {"model": "GP", "algorithm": "ml", "alpha": 1, "beta": 0, "gamma": 1.0}
    found = select_components(X, [1, 2], n_chains=3, n_starts=1, with_evidence=False, **options)
    # K = 1 has all of five features in every chain, and of the sixth all or, in one chain, nothing.
    assert found.candidates[0].exclusivity == pytest.approx((1 + 1 + 5 / 6) / 3)
    assert 0 < found.candidates[1].exclusivity < 1


def candidate(K, behind, error, **more):
    values = {"evidence": np.nan, "evidence_error": np.nan, "evidence_is_sound": False}
    values |= {"coherence": 0.1, "exclusivity": 0.5, "stability": 0.9, "converged": 1.0} | more
    return Candidate(K, -3.0 - behind, 0.01, behind, error, **values)


def fenced(value, half):
    fences = {"evidence_lower": value - half, "evidence_upper": value + half}
    return {"evidence": value, "evidence_is_sound": True, **fences}


@pytest.mark.parametrize("error", [0.02, 3.1e-4, 4.2e-5, 1.2e-6])
@pytest.mark.parametrize("evidence", [np.nan, -123_456.0, -98_765_432.0])
def test_a_difference_has_two_digits_of_its_error(error, evidence):
    more = {"evidence": evidence, "evidence_lower": evidence - 93, "evidence_upper": evidence + 93}
    tried = (candidate(9, 0.0, 0.0, **more), candidate(10, 3.5 * error, error, **more))
    table = str(Selection(tried, 9, (9,), "npmi", ())).splitlines()[:3]
    assert max(map(len, table)) <= 80
    assert len({len(line) for line in table}) == 1
    shown = table[2].split()
    assert float(shown[2]) == pytest.approx(3.5 * error, rel=0.02)
    assert float(shown[4]) == pytest.approx(error, rel=1e-6)
    if np.isnan(evidence):  # there is room to see it in the scores, too
        assert float(table[1].split()[1]) > float(shown[1])


@pytest.mark.parametrize(
    ("candidates", "words"),
    [
        (
            [candidate(2, 0.5, 0.01), candidate(3, 0.0, 0.0), candidate(4, 0.1, 0.01)],
            [
                "Recommended: 3 components.",
                "Its held-out score is the best, clearly: 4 comes nearest, 0.1000 ± 0.0100",
            ],
        ),
        (
            [candidate(2, 0.5, 0.01), candidate(3, 0.0, 0.0), candidate(4, 0.025, 0.01)],
            [
                "but not clearly: 4 comes nearest, 0.0250 ± 0.0100 per token behind, which is 2.5 "
                "standard errors, and clear is from 3."
            ],
        ),
        (  # 16 is nearest, though 12 is told apart by fewer errors; 20 is only an end
            [
                candidate(8, 0.06, 0.005),
                candidate(12, 0.0181, 0.0024),
                candidate(16, 0.0083, 0.0008),
                candidate(20, 0.0, 0.0),
            ],
            [
                "Its held-out score is the best of those that were tried, by 7.5 standard errors "
                "or more: 16 comes nearest, 0.00830 ± 0.00080 per token behind. 20 is the largest "
                "number that was tried: more may be as good, or better."
            ],
        ),
        (
            [
                candidate(8, 0.06, 0.005),
                candidate(12, 0.0, 0.0),
                candidate(16, 0.0083, 0.0012),
                candidate(20, 0.0181, 0.0073),
            ],
            [
                "but not clearly: 16 comes nearest, 0.0083 ± 0.0012 per token behind, and 20 "
                "0.0181 ± 0.0073, which is 2.5 standard errors"
            ],
        ),
        (
            [candidate(2, 0.1, 0.0), candidate(3, 0.0, 0.0), candidate(4, 0.2, 0.0)],
            ["the best: 2 comes nearest, 0.1000 ± 0.0000 per token behind, without a standard"],
        ),
        (
            [candidate(8, 3e-4, 2e-6), candidate(9, 0.0, 0.0), candidate(10, 3.2e-5, 1.23e-6)],
            ["clearly: 10 comes nearest, 0.0000320 ± 0.0000012 per token behind."],
        ),
        (
            [candidate(2, 0.5, 0.01), candidate(3, 0.01, 0.02), candidate(4, 0.0, 0.0)],
            [
                "The data cannot tell between 3 and 4",
                "highest at 4",
                "3 is the smallest of them",
                "4 is the largest number that was tried",
            ],
        ),
        (
            [candidate(1, 1.0, 0.01), candidate(2, 0.06, 0.01), candidate(7, 0.0, 0.0)],
            ["2 components have 94 % of the gain of 7 in held-out score over 1."],
        ),
        ([candidate(5, 0.0, 0.0, stability=0.3)], ["the only number", "agree little"]),
        (
            [
                candidate(1, 0.0, 0.0, **fenced(-20.0, 0.4)),
                candidate(2, 0.1, 0.01, **fenced(-9.0, 0.4)),
            ],
            [
                "Recommended: 2 components. Its evidence is the highest, 11.0 nats above that of "
                "1, but not beyond doubt.",
                "Held-out words are told better by 1, by 0.1000 ± 0.0100 per token.",
            ],
        ),
        (
            [
                candidate(1, 0.3, 0.01, **fenced(-20.0, 0.4)),
                candidate(2, 0.0, 0.0, **fenced(-9.0, 0.4)),
                candidate(3, 0.0, 0.1, **fenced(-9.1, 0.4)),
            ],
            [
                "Its evidence is the highest, clearly: 1 comes nearest, 11.0 nats behind, and more "
                "components gain nothing. Held-out words say the same."
            ],
        ),
        (
            [candidate(K, 0.1 * (3 - K), 0.01, **fenced(-5.0 + 3 * K, 4)) for K in (1, 2, 3)],
            [
                "The data cannot tell between 1, 2 and 3: the evidence is highest at 3, and the "
                "others reach it within their intervals or within 20 to 1; 1 is the smallest of "
                "them."
            ],
        ),
        (  # chains of 2 and 5 have not settled, but the evidence is not for them
            [
                candidate(2, 0.1, 0.01, **fenced(-120.0, 27) | {"evidence_is_sound": False}),
                candidate(3, 0.0, 0.0, **fenced(-5.0, 6)),
                candidate(4, 0.0, 0.1, **fenced(-3.0, 8)),
                candidate(5, 0.1, 0.01, **fenced(-60.0, 11) | {"evidence_is_sound": False}),
            ],
            [
                "Recommended: 3 components. The data cannot tell between 3 and 4: the evidence is "
                "highest at 4",
                "The chains of 2 and 5 have not settled: their evidence decides nothing. Held-out "
                "words are told best by 3.",
            ],
        ),
        (  # the evidence of 5 may be as high, when its chains have settled: words decide
            [
                candidate(3, 0.1, 0.01, **fenced(-180_000.0, 7)),
                candidate(4, 0.0, 0.0, **fenced(-710.0, 14)),
                candidate(5, 0.0, 0.1, **fenced(-714.0, 222) | {"evidence_is_sound": False}),
            ],
            [
                "Recommended: 4 components. The data cannot tell between 4 and 5: the held-out",
                "The evidence is highest at 4, but the chains of 5 have not settled: it decides "
                "nothing.",
            ],
        ),
        (  # less than 20 to 1 below what is certain, which is not enough to decide otherwise
            [
                candidate(3, 0.1, 0.01, **fenced(-90.0, 7)),
                candidate(4, 0.0, 0.0, **fenced(-10.0, 4)),
                candidate(
                    5,
                    0.0,
                    0.1,
                    **fenced(-30.0, 5) | {"evidence_is_sound": False, "evidence_in_use": 5},
                ),
            ],
            ["Its evidence is the highest, but not beyond doubt: 5 may reach it where chains"],
        ),
        (
            [
                candidate(2, 0.1, 0.01, **fenced(-30.0, 1), evidence_spread=40.0),
                candidate(3, 0.0, 0.0, **fenced(-10.0, 1)),
                candidate(4, 0.1, 0.01, **fenced(-60.0, 1)),
            ],
            [
                "not beyond doubt: starts of 2 ended too far apart to be sure that the best was "
                "found. Held-out words say the same."
            ],
        ),
        (
            [
                candidate(2, 0.1, 0.01, **fenced(-14.5, 1)),
                candidate(3, 0.0, 0.0, **fenced(-10.0, 1)),
                candidate(4, 0.1, 0.01, **fenced(-60.0, 1)),
            ],
            ["not beyond doubt: 2 comes nearest, 4.5 nats behind."],
        ),
        (  # by evidence alone they cannot be told
            [
                candidate(2, 0.1, 0.01, **fenced(-90.0, 1)),
                candidate(3, 0.0, 0.0, **fenced(-11.0, 1)),
                candidate(4, 0.0158, 0.0045, **fenced(-10.0, 1), evidence_in_use=4),
            ],
            ["Held-out words are told best by 3: 4 is 0.0158 ± 0.0045 per token behind."],
        ),
        (  # where no chains have settled, words decide
            [
                candidate(2, 0.1, 0.01, **fenced(-2.0, 1) | {"evidence_is_sound": False}),
                candidate(3, 0.0, 0.0, **fenced(-9.0, 1) | {"evidence_is_sound": False}),
            ],
            ["Recommended: 3 components. Its held-out score is the best"],
        ),
        (
            [candidate(2, 0.0, 0.0), candidate(3, 0.1, 0.01, **fenced(-9.0, 1))],
            ["by 10.0 standard errors or more: 3 comes", "2 is the smallest number that was tried"],
        ),
    ],
)
def test_words(candidates, words):
    near, clear, by = select.decided(candidates)
    text = Selection(tuple(candidates), near[0], near, "npmi", (), by, clear).summary
    for sentence in words:
        assert sentence in text


@pytest.mark.parametrize(
    ("lead", "spread", "is_sound", "clear"),
    [
        (10.0, 0.0, True, True),
        (4.0, 0.0, True, False),  # less than 20 to 1 beyond both intervals
        (10.0, 6.0, True, False),  # starts of the other differ by as much
        (10.0, 6.0, False, False),
    ],
)
def test_clearly_means_beyond_all_doubt_that_is_known_of(lead, spread, is_sound, clear):
    fewer = fenced(-10.0 - lead, 1.0) | {"evidence_spread": spread, "evidence_is_sound": is_sound}
    table = [candidate(2, 0.1, 0.01, **fewer), candidate(3, 0.0, 0.0, **fenced(-10.0, 1.0))]
    assert not select.decided(table)[1]  # 3 is the largest that was tried
    table.append(candidate(4, 0.1, 0.01, **fenced(-14.0, 1.0)))
    near, found, by = select.decided(table)
    assert (near[-1], found, by) == (3, clear, "evidence")


@pytest.mark.parametrize(
    ("used", "gain", "clear"),
    [
        (3, 0.0, True),  # the fourth is empty
        (4, 0.0, False),  # as good with words in all four: the data cannot tell
        (4, -12.0, True),
        (3, 2.9, True),
        (3, 3.1, False),
    ],
)
def test_more_components_are_rivals_where_they_have_words_or_gain(used, gain, clear):
    table = [
        candidate(2, 0.1, 0.01, **fenced(-60.0, 1.0)),
        candidate(3, 0.0, 0.0, **fenced(-10.0, 2.0)),
        candidate(4, 0.1, 0.01, **fenced(-10.0 + gain, 2.0), evidence_in_use=used),
    ]
    near, found, _ = select.decided(table)
    assert (near[0], found) == (3, clear)


@pytest.mark.parametrize(("gain", "half", "near"), [(2.9, 0.01, 2), (3.1, 0.01, 3), (3.1, 2.0, 2)])
def test_fewer_components_are_given_up_for_twenty_to_one(gain, half, near):
    table = [
        candidate(2, 0.0, 0.0, **fenced(-10.0, half)),
        candidate(3, 0.0, 0.1, **fenced(-10.0 + gain, half)),
    ]
    assert select.decided(table)[0][0] == near


def test_what_more_components_gain_is_said():
    table = [
        candidate(1, 0.5, 0.1, **fenced(-90.0, 0.01)),
        candidate(2, 0.0, 0.0, **fenced(-10.0, 0.01), evidence_in_use=2),
        candidate(3, 0.1, 0.2, **fenced(-9.1, 0.01), evidence_in_use=2),
    ]
    near, clear, by = select.decided(table)
    text = Selection(tuple(table), near[0], near, "npmi", (), by, clear).summary
    assert (
        "Clearly: 1 comes nearest, 80.0 nats behind in evidence, and more components gain" in text
    )
    assert "at most 0.9, which is less than 20 to 1" in text


@pytest.mark.parametrize(("in_use", "is_clear"), [(1, False), (2, True)])
def test_one_component_is_clear_only_where_a_second_had_words_and_lost(in_use, is_clear):
    """Where none was found one with few words may be missing: so it was in 5 of 36 such tables."""
    table = [
        candidate(1, 0.0, 0.0, **fenced(-10.0, 0.01)),
        candidate(2, 0.1, 0.02, **fenced(-20.0, 0.01), evidence_in_use=in_use),
    ]
    near, clear, by = select.decided(table)
    assert (near[0], clear) == (1, is_clear)
    text = Selection(tuple(table), near[0], near, "npmi", (), by, clear).summary
    assert ("one with few words would not be found" in text) is not is_clear
    assert ("clearly" in text) is is_clear


def test_components_that_stay_empty_are_no_rivals_in_words():
    """Two blocs: three and four components have no more of them, and held-out votes doubt it."""
    table = [
        candidate(1, 0.3, 0.01, **fenced(-90.0, 1.0)),
        candidate(2, 0.01, 0.005, **fenced(-10.0, 1.0), evidence_in_use=2),
        candidate(3, 0.0, 0.0, **fenced(-10.1, 1.0), evidence_in_use=2),
        candidate(4, 0.0, 0.1, **fenced(-10.2, 1.0), evidence_in_use=2),
    ]
    near, clear, by = select.decided(table)
    assert (near, clear) == ((2, 3, 4), False)  # three tell held-out words better
    text = Selection(tuple(table), near[0], near, "npmi", (), by, clear).summary
    assert "less than 20 to 1 in evidence, and leave all but 2 of theirs empty" in text
    assert "cannot tell" not in text
    assert "largest number" not in text
    table[3] = candidate(4, 0.0, 0.1, **fenced(-10.2, 1.0), evidence_in_use=4)
    text = Selection(tuple(table), near[0], near, "npmi", (), by, clear).summary
    assert "The data cannot tell between 2 and 4" in text
    assert "4 is the largest number that was tried" in text
    # Nobody needs to try five where held-out words speak against four.
    table[3] = candidate(4, 0.5, 0.1, **fenced(-10.2, 1.0), evidence_in_use=4)
    text = Selection(tuple(table), near[0], near, "npmi", (), by, clear).summary
    assert "largest number" not in text


def test_votes_are_not_called_words():
    table = (candidate(1, 0.1, 0.01, **fenced(-20.0, 0.4)), candidate(2, 0.0, 0.0, **fenced(-9, 1)))
    said = Selection(table, 2, (2,), "npmi", (), "evidence", False, (), "entries").summary
    assert "Held-out entries say the same." in said
    assert "words" not in said
    votes = dcomp.datasets.votes(12, 8, seed=1).counts
    found = select_components(votes, [1, 2], n_chains=2, n_starts=1, max_iter=5, **QUICK)
    assert found.hidden == "entries"


class _Fences:
    """Evidences whose fences come closer when they are asked for again."""

    def __init__(self, values, budget=True, unsettled=()):
        self.values, self.budget, self.asked = values, budget, []
        self.unsettled = unsettled

    def first(self, half=8.0):
        return {K: self._known(K, half) for K in self.values}

    def sweeps_left(self, K, width):
        return int(10 * width) if self.budget else 0

    def kept(self, K, n_sweeps, n_runs):
        self.asked.append((K, n_sweeps, n_runs))
        return self._known(K, 1.0)

    def _known(self, K, half):
        value, is_sound = self.values[K], float(K not in self.unsettled or half < 8)
        return select_chains.KnownEvidence(value, 1.0, is_sound, value - half, value + half)


@pytest.mark.parametrize(
    ("values", "budget", "asked"),
    [
        ({2: -90.0, 3: -20.0, 4: -10.0, 5: -12.0}, True, [3, 4]),
        ({2: -90.0, 3: -12.0, 4: -10.0}, True, []),  # not 20 to 1 apart: nothing to be parted
        ({2: -90.0, 3: -40.0, 4: -10.0}, True, []),  # parted already
        ({2: -90.0, 3: -10.0, 4: -20.0}, True, []),  # more components have less
        ({2: -22.0, 3: -18.0, 4: -10.0}, True, [2, 4, 3]),
        ({2: -90.0, 3: -20.0, 4: -10.0}, False, []),  # no budget is left
    ],
)
def test_rivals_are_measured_again_until_they_part(values, budget, asked):
    measured, told = _Fences(values, budget), []
    steps = select._Steps(0, lambda *done: told.append(done))
    found = select_evidence.parted(measured.first(), measured, steps, steps.more)
    assert [K for K, *_ in measured.asked] == asked
    assert steps.done == steps.total == 2 * len(asked)  # 160 sweeps of 8 runs for 200 of 4
    assert all(done < total for done, total in told[:1])  # it is said before it is done
    assert all(call[1:] == (160, select_evidence.AGAIN_RUNS) for call in measured.asked)
    for K, one in found.items():
        assert one.upper - one.lower == (2 if K in asked else 16)


@pytest.mark.parametrize(
    ("unsettled", "asked"), [((3,), [3]), ((2,), []), ((3, 4), [3, 4]), ((2, 3, 4), [3, 4])]
)
def test_chains_that_have_not_settled_are_measured_again_where_they_may_be_highest(
    unsettled, asked
):
    measured = _Fences({2: -90.0, 3: -10.0, 4: -11.0}, unsettled=unsettled)
    found = select_evidence.parted(measured.first(), measured)
    assert [K for K, *_ in measured.asked] == asked
    assert all(found[K].is_sound for K in asked)


@pytest.mark.parametrize(("evidence", "chosen"), [(-5.0, 3), (-10.5, 3), (-30.0, 4)])
def test_where_an_unsettled_evidence_may_be_the_highest_words_decide(evidence, chosen):
    """Or the smallest K of a grid is recommended because it alone has settled."""
    table = [
        candidate(2, 0.3, 0.01, **fenced(-40.0, 1)),
        candidate(3, 0.0, 0.0, **fenced(evidence, 1) | {"evidence_is_sound": False}),
        candidate(4, 0.1, 0.01, **fenced(-9.0, 1)),
        candidate(5, 0.2, 0.01, **fenced(-60.0, 1)),
    ]
    near, clear, by = select.decided(table)
    assert (near, by) == ((chosen,), "held-out" if chosen == 3 else "evidence")
    assert not clear
    text = Selection(tuple(table), near[0], near, "npmi", (), by, clear).summary
    assert "have not settled" in text


def test_narrow_fences_are_not_measured_again():
    measured = _Fences({2: -13.5, 3: -10.0})
    select_evidence.parted(measured.first(half=1.4), measured)
    assert measured.asked == []


def test_a_second_measure_needs_a_budget(monkeypatch):
    plan = select_chains.Plan.build(
        Counts.from_matrix(np.ones((12, 5), int)),
        None,
        model="DM",
        algorithm="auto",
        priors={},
        n_chains=2,
        n_starts=1,
        max_iter=None,
        tol=0.05,
        seed=0,
        keep=None,
    )
    measured = select_evidence.Measured(plan, (1, 2), 200, None)
    assert measured.n_runs == select_evidence.FIRST_RUNS
    assert measured.sweeps_left(2, 11 * select_evidence.CLEAR) == 2000
    for runs, left in ((1.0, 0), (2.005, 200), (3.005, 300)):  # of what the first measure took
        monkeypatch.setattr(select_evidence, "BUDGET", 60 * 2 * 8 * 100 * runs)
        assert measured.sweeps_left(2, 10 * select_evidence.CLEAR) == left


def test_more_components_that_gain_are_no_clear_case():
    table = [
        candidate(2, 0.0, 0.0, **fenced(-10.0, 1.0)),
        candidate(3, 0.1, 0.2, **fenced(-8.9, 5.0)),
    ]
    assert select.decided(table) == ((2, 3), False, "evidence")


def test_empty_components_do_not_agree(flat_chains):
    """Two chains with one component in use each, of three: the two that have no words are alike,
    and count for nothing."""
    rng = np.random.default_rng(0)
    full = rng.dirichlet(np.full(5, 0.2), 3).T
    n = full * [100, 100, 0]
    scores = [
        ChainScore(np.arange(2), np.zeros(2), np.ones(2), T.astype(np.float32), 1.0, n=used)
        for T, used in [
            (full, n),
            (full, n),
            (full[:, [0, 2, 1]], full[:, [0, 2, 1]] * [100, 0, 0]),
        ]
    ]
    counts = Counts.from_matrix(np.ones((2, 5), int))
    assert select._stability(scores[:2], counts) == pytest.approx(1, abs=1e-6)
    assert select._stability(scores[::2], counts) <= 0.5  # one of two has a partner


def test_the_ratio_and_its_error_by_hand():
    """As of document completion: residuals 1.2 and −1.2, and a document without tokens."""
    mean, error = select._ratio(np.array([-1.4, -11.6, 0.0]), np.array([1.0, 4.0, 0.0]))
    assert mean == pytest.approx(-2.6)
    assert error == pytest.approx(np.sqrt(2 * (1.2**2 + 1.2**2)) / 5)
    _, error = select._ratio(np.array([-1.0, -2.0, -6.0]), np.ones(3))  # plain s / √n
    assert error == pytest.approx(np.std([1, 2, 6], ddof=1) / np.sqrt(3))


def test_a_difference_counts_what_chains_do():
    """One chain that got stuck makes the difference doubtful, however many documents it has."""
    tokens, parts = np.full(100, 10.0), [np.arange(0, 50), np.arange(50, 100)]
    best = _OfOneK(np.zeros(100), tokens, 0.0, 0.0, 0.0, 1.0)
    gap = np.where(np.arange(100) < 50, 0.0, 1.0)
    stuck = _OfOneK(-gap, tokens, 0.0, 0.0, 0.0, 1.0)
    behind, error = select._difference(best, stuck, parts)
    assert behind == pytest.approx(0.05)
    assert error == pytest.approx(0.05)  # 0 and 0.1 per token: deviation 0.1/√2, over √2


@pytest.mark.parametrize(
    ("errors", "near"), [(0.9, (2, 3)), (1.1, (3,)), (1.9, (3,)), (-0.9, (2, 3)), (-1.1, (2,))]
)
def test_one_standard_error_is_the_rule(monkeypatch, errors, near):
    """K = 2 is `errors` standard errors behind K = 3, over 12 documents of one token each."""
    noise = np.random.default_rng(0).normal(size=12)
    noise -= noise.mean()

    def run_chain(plan, K, chain):
        own = plan.parts[chain]
        by_chain = [noise[part].mean() for part in plan.parts]
        error = max(noise.std(ddof=1) / np.sqrt(12), np.std(by_chain, ddof=1) / np.sqrt(3))
        score = -2.0 - (noise[own] + errors * error if K == 2 else 0.0 * own)
        return ChainScore(own, score, np.ones(4), np.full((5, K), 0.2, np.float32), 1.0)

    monkeypatch.setattr(select, "run_chain", run_chain)
    monkeypatch.setattr(select, "run_ladder", lambda plan, chain, scores: dict(scores))
    X = np.ones((12, 5), int)
    found = select_components(X, [2, 3], n_chains=3, with_evidence=False, n_jobs=1)
    assert found.indistinct == near
    assert found.recommended == near[0]
    second = found.candidates[0 if errors > 0 else 1]
    assert second.behind / second.behind_error == pytest.approx(abs(errors))
    assert found.best.behind == found.best.behind_error == 0


@pytest.fixture
def flat_chains(monkeypatch):
    """Chains that are not run: all scores are equal, and components are as they are given."""
    Theta = {}

    def run_chain(plan, K, chain):
        own = plan.parts[chain]
        loadings = Theta.get((K, chain), np.full((5, K), 0.2)).astype(np.float32)
        return ChainScore(own, -2.0 * np.ones(len(own)), np.ones(len(own)), loadings, chain % 2)

    monkeypatch.setattr(select, "run_chain", run_chain)
    monkeypatch.setattr(select, "run_ladder", lambda plan, chain, scores: dict(scores))
    return Theta


def test_components_of_the_chains_by_hand(flat_chains):
    """Exclusivity is the mean share that a component has of its top features, stability the
    agreement of matched components, both over chains."""
    theta = np.array([[0.6, 0.1], [0.3, 0.1], [0.1, 0.8], [0, 0], [0, 0]])
    flat_chains[2, 0], flat_chains[2, 1] = theta, theta[:, ::-1]
    flat_chains[2, 2] = np.array([[0.6, 0.1], [0.4, 0.1], [0, 0], [0, 0], [0, 0.8]])
    X = np.random.default_rng(0).poisson(0.7, (12, 5))
    options = {"n_chains": 3, "with_evidence": False, "n_jobs": 1}
    found = select_components(X, [2], n_top=2, **options).candidates[0]
    # The first: features 0 and 1. The second: its own and, of two with 0.1, the one numbered first.
    each = [6 / 7, 3 / 4, 8 / 9, 1 / 7], [6 / 7, 4 / 5, 8 / 8, 1 / 7]
    assert found.exclusivity == pytest.approx((2 * np.mean(each[0]) + np.mean(each[1])) / 3)
    root = np.sqrt(theta)
    same, other = root.T @ root, root.T @ np.sqrt(flat_chains[2, 2])
    agreement = (np.trace(other) / 2 - other.mean()) / (1 - other.mean())
    assert np.trace(same) == pytest.approx(2)
    assert found.stability == pytest.approx((1 + 2 * agreement) / 3, rel=1e-5)
    assert found.converged == pytest.approx(1 / 3)
    two, three = ([[0, 1], [2, 0]], [[0, 1], [4, 0]])
    each = [coherence(top, X, "npmi", 2).mean for top in (two, two, three)]
    assert found.coherence == pytest.approx(np.mean(each))
    assert len(set(each)) == 2
    flat_chains.update({(1, chain): np.ones((1, 1)) for chain in range(3)})
    alone = select_components(np.ones((12, 1), int), [1], **options).candidates[0]
    assert np.isnan(alone.coherence)  # one feature is with no other


@pytest.fixture
def asked_evidence(flat_chains, monkeypatch):
    """Evidence that is not estimated: −10, −20, …, and what was asked for."""
    asked = []

    class Measured(select_evidence.Measured):
        def of(self, K, n_sweeps, n_runs):
            asked.append((K, n_sweeps, self.model_of(K)))
            value = -10.0 * K
            known = {"is_sound": K < 3, "lower": value - K, "upper": value + K}
            found = Evidence(value, 0.5 * K, "two-sided", 4.0, (), np.zeros(4), None, **known)
            return found, 0.25, K

    monkeypatch.setattr(select_evidence, "Measured", Measured)
    return asked


@pytest.mark.parametrize(
    ("budget", "wanted", "sweeps"),
    [
        (60 * 3 * 2 * 100, "auto", [100, 100, 100]),  # 60 tokens, 3 components, 2 runs
        (60 * 3 * 2 * 100 - 1, "auto", []),
        (60 * 3 * 2 * 2000, "auto", [200, 200, 200]),
        (1.0, True, [200, 200, 200]),
        (1e9, False, []),
    ],
)
def test_sweeps_of_the_evidence(asked_evidence, monkeypatch, budget, wanted, sweeps):
    """As many as the budget pays for, from 100 to 200; fewer for the largest K, and none is."""
    monkeypatch.setattr(select_evidence, "BUDGET", budget)
    X = np.ones((12, 5), int)
    found = select_components(
        X, [1, 2, 3], n_chains=3, with_evidence=wanted, alpha=0.7, random_state=5, n_jobs=1
    )
    assert [n_sweeps for _, n_sweeps, _ in asked_evidence] == sweeps
    assert all((model.scores.alpha == 0.7).all() for *_, model in asked_evidence)
    assert ("too large" in found.summary) == (wanted == "auto" and not sweeps)
    if sweeps:
        assert [c.evidence for c in found.candidates] == [-10, -20, -30]
        assert [c.evidence_error for c in found.candidates] == [0.5, 1.0, 1.5]
        assert [c.evidence_is_sound for c in found.candidates] == [True, True, False]
        assert [c.evidence_upper for c in found.candidates] == [-9, -18, -27]
        assert [c.evidence_spread for c in found.candidates] == [0.25] * 3
        assert [c.evidence_in_use for c in found.candidates] == [1, 2, 3]
        assert (
            "Its evidence is the highest, clearly: more components gain nothing." in found.summary
        )
        assert "? -30 ± 3" in str(found)
        assert "? -20" not in str(found)


def test_evidence_is_not_asked_of_models_that_have_none(asked_evidence):
    found = select_components(np.ones((12, 5), int), [2], model="LN", n_chains=3, n_jobs=1)
    assert asked_evidence == []
    assert "Model LN has no evidence." in found.summary


def test_evidence_decides_and_held_out_words_stand_beside(asked_evidence):
    found = select_components(np.ones((12, 5), int), [1, 2], n_chains=3, n_jobs=1)
    assert found.indistinct == (1,)
    assert found.decided_by == "evidence"
    assert "Held-out words say the same." in found.summary


def test_a_picture():
    pytest.importorskip("matplotlib").use("Agg")
    one = Selection((candidate(2, 0.0, 0.0), candidate(3, 0.1, 0.02)), 2, (2,), "npmi", ())
    axes = one.plot()
    assert [axis.get_title().split()[0] for axis in axes] == ["held-out", "coherence", "stability"]
    assert len(axes[0].containers) == 1
    known = {"evidence": -10.0, "evidence_error": 0.1}
    whole = Selection((candidate(2, 0.0, 0.0, **known),), 2, (2,), "npmi", ()).plot()
    assert [axis.get_title().split()[0] for axis in whole][:2] == ["held-out", "log"]
    assert len(whole) == 4


def test_a_picture_on_axes_of_ones_own():
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib.figure import Figure

    one = Selection((candidate(2, 0.0, 0.0),), 2, (2,), "npmi", ())
    axes = one.plot(Figure().subplots(2, 2))
    assert [axis.axison for axis in axes] == [True, True, True, False]
    with pytest.raises(dcomp.InvalidParameter, match="axes must be at least 3; got 2"):
        one.plot(Figure().subplots(1, 2))


def test_what_it_asks_for(tmp_path):
    X = np.random.default_rng(0).poisson(2.0, (12, 5))
    with pytest.raises(dcomp.InvalidParameter, match="ks must name at least one"):
        select_components(X, [])
    with pytest.raises(dcomp.InvalidParameter, match=r"each of ks must be a whole number.*got 0"):
        select_components(X, [2, 0])
    with pytest.raises(dcomp.InvalidCounts, match="7 chains need at least 14 documents"):
        select_components(X, [1], n_chains=7)
    with pytest.raises(dcomp.InvalidParameter, match="with_evidence must be"):
        select_components(X, [1], with_evidence="perhaps")
    with pytest.raises(dcomp.UnsupportedCombination, match="no model 'LDA2'"):
        select_components(X, [1], model="LDA2")
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(NotADirectoryError, match="a folder is needed"):
        select_components(X, [1], keep=file)


@pytest.mark.parametrize(("times", "is_said"), [(1, False), (4, True)])
def test_counts_that_vary_more_than_the_model_has_it_are_said_to(times, is_said, tmp_path):
    """Each word said four times: nothing is clear, and what is kept says the same."""
    X = times * planted_counts(3, 1, n_docs=60, n_features=30).to_scipy().toarray()
    options = {**QUICK, "n_chains": 3, "n_starts": 1, "keep": tmp_path}
    found = select_components(X, [1, 3, 5], **options)
    assert ("as much as the model has it" in found.summary) is is_said
    assert found.dispersion == pytest.approx(times, rel=0.4)
    assert not (is_said and found.is_clear)
    again = select_components(X, [1, 3, 5], **options)
    assert again.dispersion == found.dispersion
    assert again.summary == found.summary


def test_nothing_is_clear_where_counts_vary_much_more():
    plan = select_chains.Plan.build(
        Counts.from_matrix(np.ones((12, 5), int)),
        None,
        model="DM",
        algorithm="auto",
        priors={"gamma": 0.05},
        n_chains=2,
        n_starts=1,
        max_iter=None,
        tol=0.05,
        seed=0,
        keep=None,
    )
    table = (candidate(2, 0.0, 0.0), candidate(3, 0.1, 0.02))
    own = ChainScore(np.arange(6), np.zeros(6), np.ones(6), np.full((5, 2), 0.2, np.float32), 1.0)
    for value, is_clear in [(1.9, True), (2.1, False), (float("nan"), True)]:
        clear = Selection(table, 2, (2,), "npmi", (), "held-out", True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(select, "least_dispersion", lambda *_, value=value: value)
            judged = select._judged(clear, plan, {2: [own] * 2})
        assert judged.is_clear is is_clear
        assert ("clearly: 3" in judged.summary) is is_clear
    assert judged.gamma == 0.05
    assert np.isnan(judged.gamma_suited)  # no words are known


def test_shares_have_no_dispersion():
    X = np.random.default_rng(0).dirichlet(np.ones(8), 20)
    counts = Counts.from_matrix(30 * X, fractional=True)
    found = select_components(counts, [1, 2], n_chains=2, n_starts=1, max_iter=5, n_jobs=1)
    assert np.isnan(found.dispersion)
    assert "as much as the model has it" not in found.summary


@pytest.mark.parametrize(
    ("gamma", "words"),
    [(0.05, "γ = 0.05, and look like"), (1.0, "Loadings have γ = 1."), ("empirical", None)],
)
def test_the_prior_of_loadings_is_said_and_whether_it_suits(gamma, words):
    rng = np.random.default_rng(0)
    X = rng.multinomial(60, rng.dirichlet(np.ones(40)), 80)
    found = select_components(X, [1], **{**QUICK, "gamma": gamma}, n_chains=2, n_starts=1)
    assert ("γ" in found.summary) is (words is not None)
    assert (words or "") in found.summary
    if words is not None:
        assert 0.4 < found.gamma_suited < 2.5


def test_without_a_prior_there_is_no_word_of_it():
    X = planted_counts(2, 0, n_docs=20, n_features=10)
    found = select_components(X, [2], model="plsa", gamma=None, n_chains=2, n_starts=1, max_iter=9)
    assert np.isnan(found.gamma)
    assert "γ" not in found.summary
