"""dcomp select."""

import json

import pytest


def test_select_shows_a_table_and_words(run, corpus):
    shown = run("select", corpus, "-k", "1-3", "--chains", 3, "--starts", 1)
    assert shown.code == 0
    assert shown.err == ""
    assert "Recommended: 2 components." in shown.out
    table = shown.out.partition("\n\n")[0].splitlines()
    assert table[0].split()[:2] == ["K", "per"]
    assert "–" in table[1]  # one component has no stability
    assert max(map(len, table)) < 80


def test_select_json_and_picture(run, corpus, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    words = ("-k", "1,2", "--chains", 2, "--starts", 1, "--evidence", "no", "--json")
    shown = run("select", corpus, *words, "--plot", "k.png", "--keep", "kept")
    record = json.loads(shown.out)
    assert record["recommended"] == 2
    assert [row["n_components"] for row in record["candidates"]] == [1, 2]
    assert record["candidates"][0]["evidence"] is None
    assert (tmp_path / "k.png").stat().st_size > 1000
    assert (
        len(list((tmp_path / "kept").iterdir())) == 6
    )  # four chains, and for each of two folds what they made of each other
    again = run("select", corpus, *words, "--keep", "kept")
    assert json.loads(again.out) == record
    taken = run("select", corpus, *words, "--plot", "k.png")
    assert taken.code == 1
    assert "--force" in taken.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-k", "two"), "-k must be numbers of at least 1 with commas between"),
        (("-k", "5-2"), "got '5-2'"),
        (("-k", "0"), "got '0'"),
        (("-k", "2", "--evidence", "maybe"), "--evidence must be auto, yes or no"),
        (("-k", "2", "--coherence", "pmi2"), "--coherence must be one of"),
        (("-k", "2", "--plot", "k.doc"), "--plot must end in .png, .svg or .pdf; got 'k.doc'"),
        (("-k", "2", "--model", "LSA"), "there is no model 'LSA'"),
        ((), "Missing option '-k'"),
    ],
)
def test_wrong_usage(run, corpus, words, message):
    shown = run("select", corpus, *words)
    assert shown.code == 2
    assert message in shown.err
    assert len(shown.err.splitlines()) == 1


def test_select_by_an_algorithm_without_priors(run, corpus):
    words = ("-k", "2", "--chains", 2, "--starts", 1, "--evidence", "no")
    shown = run("select", corpus, *words, "--model", "GP", "--algorithm", "ml")
    assert shown.code == 0, shown.err


def test_the_evidence_of_one_number_is_compared_with_none(run, corpus):
    shown = run("select", corpus, "-k", "2", "--chains", 2, "--starts", 1, "--evidence", "yes")
    assert "It is the only number that was tried." in shown.out, shown.err
    assert "evidence is highest" not in shown.out


@pytest.mark.parametrize("ks", ["1-999999999", "2,70000", "9" * 5000, "1-" + "9" * 18])
def test_more_components_than_there_can_be_are_refused_before_they_are_listed(run, corpus, ks):
    done = run("select", corpus, "-k", ks)
    assert done.code == 2
    assert "-k must be" in done.err or "must be at most 65,535" in done.err
    assert len(done.err) < 300
