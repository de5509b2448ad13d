"""Blocs behind votes: what is found of those that were planted, and what is said of them."""

import json
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import dcomp
from dcomp.errors import InvalidCounts, InvalidFile, InvalidParameter
from dcomp.evaluate.modes import left_out_lines, pooled_chains
from dcomp.printable import columns
from dcomp.use import Classification, rollcall
from dcomp.use.agreement import agreement_lines
from dcomp.use.binary_pca import binary_pca
from dcomp.use.rollcall import blocs_of

module = sys.modules["dcomp.use.rollcall"]  # the function has the name of its file
SHORT = {"max_iter": 200, "n_draws": 40, "n_chains": 2}


def planted(seed=0):
    """30 members of three blocs, 80 calls; the outcome goes with bloc c, the largest."""
    rng = np.random.default_rng(seed)
    bloc = np.repeat([0, 1, 2], [8, 8, 14])
    chance = np.where(rng.random((80, 3)) < 0.5, 0.05, 0.95)
    votes = rng.random((30, 80)) < chance[:, bloc].T
    away = rng.random((30, 80)) < 0.1
    names = [f"{'abc'[b]}{i}" for i, b in enumerate(bloc)]
    lines = ["name,bloc," + ",".join(f"v{g + 1}" for g in range(80))]
    for i, name in enumerate(names):
        cells = ("-" if away[i, g] else "NY"[int(votes[i, g])] for g in range(80))
        lines.append(f"{name},{'abc'[bloc[i]]}," + ",".join(cells))
    calls = ["number,question,passed"]
    calls += [f"{g + 1},On matter {g + 1},{int(chance[g, 2] > 0.5)}" for g in range(80)]
    return bloc, chance, "\n".join(lines) + "\n", "\n".join(calls) + "\n"


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    bloc, chance, votes, calls = planted()
    folder = tmp_path_factory.mktemp("votes")
    (folder / "votes.csv").write_text(votes)
    (folder / "rollcalls.csv").write_text(calls)
    return rollcall(folder / "votes.csv", 3, **SHORT), bloc, chance


def test_planted_blocs_are_found(found):
    result, bloc, _ = found
    best = result.memberships.argmax(axis=1)
    members = best[:30]
    assert all(len(set(members[bloc == b])) == 1 for b in range(3))
    assert len(set(members.tolist())) == 3
    assert (result.intervals.low <= result.memberships).all()
    assert result.sizes[members[-1]] == pytest.approx(14 / 30, abs=0.1)


def test_the_outcome_goes_with_the_bloc_that_decides(found):
    result, bloc, _ = found
    decides = int(result.memberships[:30][bloc == 2].mean(axis=0).argmax())
    share, low, high = result.influence[decides]
    assert 0.7 < low < share < high


def test_votes_of_blocs_and_those_that_divide_them(found):
    result, bloc, chance = found
    place = [int(result.memberships[:30][bloc == b].mean(axis=0).argmax()) for b in range(3)]
    assert np.abs(result.bloc_votes[:, place] - chance).mean() < 0.1
    divisions = result.dividing(place[0], place[1], n=10)
    for division in divisions:
        g = int(division.call[1:]) - 1
        true = chance[g, 0] - chance[g, 1]
        assert abs(true) == pytest.approx(0.9)
        assert np.sign(true) == np.sign(division.effect)
        assert 0 < division.error < 0.3
        assert division.title == f"On matter {g + 1}"
    with pytest.raises(InvalidParameter, match=r"a bloc is a number in \[0, 3\); got 3"):
        result.dividing(0, 3)


def test_classification_is_that_of_the_field(found):
    result, _, _ = found
    W = result.counts.to_scipy().toarray()[:30]
    yea, nay = W[:, 0::2], W[:, 1::2]
    predicted = result.memberships[:30] @ result.bloc_votes.T > 0.5
    wrong = (predicted & (nay > 0)).sum() + (~predicted & (yea > 0)).sum()
    minority = np.minimum(yea.sum(axis=0), nay.sum(axis=0)).sum()
    judged = result.classification
    assert (judged.n_votes, judged.n_wrong, judged.n_minority) == (W.sum(), wrong, minority)
    assert judged.rate > 0.9 > judged.majority
    assert judged.apre == pytest.approx(1 - wrong / minority)
    assert Classification(10, 0, 0).apre == 0


def test_what_is_said_fits_on_a_terminal(found):
    result, _, _ = found
    lines = str(result).splitlines()
    assert max(map(columns, lines)) <= 80
    assert "3 blocs behind" in lines[0]
    assert len(result.voter_lines(None)) == 31
    assert sum(line == "…" for line in result.voter_lines(12)) == 2
    json.dumps(result.as_record())


def test_the_same_seed_is_the_same_answer(found):
    result, _, _ = found
    again = rollcall(result.counts, 3, n_jobs=1, **SHORT)
    np.testing.assert_array_equal(again.memberships, result.memberships)
    np.testing.assert_array_equal(again.yea, result.yea)


def test_binary_pca_finds_the_line():
    table = dcomp.datasets.votes(60, 200, seed=3)
    W = table.counts.to_scipy().toarray()
    votes = np.where(W[:, 0::2] + W[:, 1::2] > 0, W[:, 0::2], np.nan)
    x = binary_pca(votes)
    assert np.corrcoef(x, table.ideal_points)[0, 1] > 0.9
    assert x.std() == pytest.approx(1)
    assert binary_pca(np.ones((3, 2))).tolist() == [0, 0, 0]


def test_sweeps_are_added_while_chains_do_not_agree(monkeypatch):
    """Where none are said; the answer is that of as many from the start."""
    votes = dcomp.datasets.votes(40, 60, seed=3).counts
    how = {"n_draws": 20, "n_chains": 2}
    monkeypatch.setattr(module, "ROUNDS", (40, 80, 160))
    found = rollcall(votes, 3, **how)
    assert found.too_few
    assert found.fit.n_sweeps == {1: 80, 2: 160}[len(found.too_few)]
    tried = " and ".join(map(str, found.too_few))
    last = f"{found.fit.n_sweeps} sweeps of each chain: {tried} left intervals unsettled"
    assert found.lines()[-1] == last
    same = rollcall(votes, 3, max_iter=found.fit.n_sweeps, **how)
    np.testing.assert_array_equal(same.memberships, found.memberships)
    assert same.too_few == ()
    assert rollcall(votes, 3, max_iter=40, **how).fit.n_sweeps == 40  # who says how many is obeyed
    work = votes.n_tokens * 3 * 2 * 80
    monkeypatch.setattr(module, "MOST_WORK", work - 1)
    large = rollcall(votes, 3, **how)
    assert (large.fit.n_sweeps, large.too_few) == (40, ())
    monkeypatch.setattr(module, "MOST_WORK", work)
    assert rollcall(votes, 3, **how).fit.n_sweeps == 80


def test_what_are_no_votes_is_told_so(tmp_path):
    with pytest.raises(InvalidCounts, match="a block of two features, yea and nay, per roll call"):
        rollcall(dcomp.Counts.from_matrix([[1, 2]]), 2)
    with pytest.raises(InvalidParameter, match="takes Counts or a path of votes"):
        rollcall([[1, 2]], 2)
    (tmp_path / "notes.txt").write_text("words of all kinds\n")
    with pytest.raises(InvalidFile, match=r"notes\.txt: blocs are found in votes.* read as text"):
        rollcall(tmp_path / "notes.txt", 2)


@pytest.mark.realdata
def test_the_senate(data_folder):
    path = data_folder / "senate2003" / "S108_votes.csv.xz"
    result = rollcall(path, 3, max_iter=200, n_draws=40, n_chains=2)
    assert result.classification.rate > 0.92
    assert result.classification.apre > 0.75
    nominate = np.asarray(result.counts.attributes["nominate_dim1"], float)
    known = np.isfinite(nominate)
    assert np.corrcoef(nominate[known], result.positions[known])[0, 1] > 0.9
    party = result.by_party
    shares = dict(zip(party.names, party.mean, strict=True))
    assert shares["D"].argmax() != shares["R"].argmax()


def test_intervals_that_chains_do_not_agree_on_are_spoken_of():
    found = SimpleNamespace(n_chains=4, n_draws=100, settled=0.31)
    climb = SimpleNamespace(kept=None)
    assert agreement_lines(climb, found)[0] == (
        "4 chains of 100 draws agree on 31 % of intervals (R-hat of 1.05 or less)"
    )
    assert "not to be quoted" in agreement_lines(climb, found)[1]
    well = SimpleNamespace(n_chains=4, n_draws=100, settled=0.95)
    assert len(agreement_lines(climb, well)) == 1


def test_a_single_interval_that_chains_do_not_agree_on_is_marked(found):
    result = found[0]
    settled, n = result.intervals, len(result.voters)
    rhat = np.ones_like(settled.rhat)
    well = replace(result, intervals=replace(settled, rhat=rhat))
    assert "do not quote it" not in str(well)
    assert all(all(voter["quotable"]) for voter in well.as_record()["voters"])
    rhat = rhat.copy()
    outcome = result.voters.index("OUTCOME")
    for i in (0, outcome):
        rhat[i, int(settled.mean[i].argmax())] = 1.2
    some = replace(result, intervals=replace(settled, rhat=rhat))
    marked = [line.split()[0] for line in some.voter_lines(None) if line.endswith(") ?")]
    assert sorted(marked) == sorted([result.voters[0], "OUTCOME"])
    assert "do not quote it" in str(some)
    assert max(map(columns, str(some).splitlines())) <= 80
    assert "?" in next(line for line in str(some).splitlines() if "outcome goes with" in line)
    record = some.as_record()
    assert sum(not q for v in record["voters"] for q in v["quotable"]) == 2
    assert list(record["influence_quotable"].values()).count(False) == 1
    assert (~some.intervals.to_frame()["quotable"]).sum() == 2
    assert len(record["voters"]) == n


def test_the_verdict_on_chains_is_that_of_diagnose(found):
    result = found[0]
    judged = dcomp.evaluate.diagnostics(result.fit)
    said = " ".join(agreement_lines(result.fit, result.intervals))
    assert said.startswith(f"chains: {judged.verdict}; {judged.reasons[0]}")
    assert result.as_record()["verdict"] == judged.verdict


def below(fit, nats):
    """The fit with its other chain so many nats lower, all of whose voters are of bloc 0."""
    kept = fit.kept
    other = 1 - kept.best
    log_joint, scores = kept.log_joint.copy(), kept.scores.copy()
    log_joint[other] = log_joint[kept.best] - nats
    scores[other] = [1.0] + [0.0] * (fit.n_components - 1)
    return replace(fit, kept=replace(kept, log_joint=log_joint, scores=scores))


def test_chains_of_other_modes_are_left_out(found):
    found = found[0]
    far = below(found.fit, 600)
    shown = blocs_of(far, found.counts, found.calls)
    own = far.kept.scores[far.kept.best]
    own = own / own.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(shown.memberships, own.mean(axis=0), atol=1e-6)
    assert shown.intervals.n_chains == 1
    assert len(shown.yea) == far.kept.n_draws
    np.testing.assert_allclose(shown.bloc_votes, far.Theta[0::2], atol=0.1)
    text = str(shown)
    assert f"chain {2 - far.kept.best} ended 600 nats lower and is left out" in text
    assert "both halves of one chain of 40 draws agree on" in text
    assert max(map(columns, text.splitlines())) <= 80


def test_chains_beside_the_best_are_pooled(found):
    found = found[0]
    spread = found.fit.kept.log_joint[found.fit.kept.best].std()
    assert pooled_chains(below(found.fit, spread)) == (0, 1)
    assert left_out_lines(below(found.fit, spread)) == []
    assert len(pooled_chains(below(found.fit, 10 * spread))) == 1
