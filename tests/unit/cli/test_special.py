"""What makes a component special, in the shell: measures, blocks, typical and similar documents."""

import json

import pytest

import dcomp

TITLES = ["cat news", "dog news", "cat milk", "dog bone"] * 5
BODIES = ["the mouse and milk of a cat", "a bone for the dog", "milk milk cat", "bone walk dog"] * 5


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "pets.jsonl"
    rows = zip(TITLES, BODIES, strict=True)
    lines = [{"id": f"n{i}", "title": t, "body": b} for i, (t, b) in enumerate(rows)]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


@pytest.fixture
def fitted(run, corpus):
    done = run(
        *("fit", corpus, "-k", 2, "--alpha", "0.1", "--text-field", "title,body"),
        *("--text-blocks", "--top", 2, "-o", "pets.dcomp"),
    )
    assert done.code == 0, done.err
    return done


def test_blocks_stand_one_below_the_other(run, fitted):
    lines = [line.split() for line in fitted.out.splitlines()]
    assert sum("title:" in line for line in lines) == sum("body:" in line for line in lines) == 2
    assert "title=" not in fitted.out


def test_measures_are_flags_and_in_json(run, fitted):
    shown = run("show", "pets.dcomp", "--top-by", "relevance", "--weight", "0.3", "-n", "2")
    assert "top features by relevance" in shown.out
    record = json.loads(run("show", "pets.dcomp", "--top-by", "lift", "-n", "2", "--json").out)
    assert record["top_by"] == "lift"
    component = record["components"][0]
    assert len(component["values"]) == 2
    assert set(component["blocks"]) == {"title", "body"}


def test_a_measure_that_does_not_exist_is_told_before_the_fit(run, corpus):
    done = run("fit", corpus, "-k", 2, "--text-field", "body", "--top-by", "best")
    assert done.code == 2
    assert "ranked by probability, lift, relevance or frex; got 'best'" in done.err
    done = run("fit", corpus, "-k", 2, "--text-field", "body", "--weight", "0.5")
    assert (done.code, "--weight has no effect" in done.err) == (2, True), done.err


def test_typical_documents_with_their_texts(run, corpus, fitted):
    shown = run("show", "pets.dcomp", corpus, "--documents", "1")
    assert shown.code == 0, shown.err
    assert shown.out.count("typical documents of component") == 2
    assert any(text in shown.out for text in ("the mouse and milk of a cat", "milk milk cat"))
    record = json.loads(run("show", "pets.dcomp", "-d", "2", "--json").out)
    first = record["components"][0]["documents"]
    assert len(first) == 2
    assert set(first[0]) == {"document", "share"}


def test_similar_to_a_document_and_to_a_text(run, corpus, fitted):
    record = json.loads(run("similar", "pets.dcomp", corpus, "n1", "-n", "3", "--json").out)
    assert all("dog" in row["text"] for row in record["similar"])
    shown = run("similar", "pets.dcomp", corpus, "--text", "mouse and milk", "-n", "2")
    assert shown.code == 0, shown.err
    assert all("cat" in line for line in shown.out.splitlines()[1:])


def test_what_similar_needs_is_told(run, corpus, fitted):
    for words, said in (
        ((), "one of the two"),
        (("n1", "--text", "dog"), "one of the two"),
        (("n99",), "no document 'n99'; documents have ids such as 'n0'"),
        (("--text", "zebra"), "no word that the fit knows"),
    ):
        done = run("similar", "pets.dcomp", corpus, *words)
        assert done.code == 2, words
        assert said in done.err


def test_differences_of_one_chain_say_in_flags_why_they_have_no_interval(run, corpus):
    done = run(
        *("fit", corpus, "-k", 2, "--text-field", "body", "--algorithm", "collapsed-gibbs"),
        *("--max-iter", 60, "--draws", 20, "-o", "drawn.dcomp"),
    )
    assert done.code == 0, done.err
    shown = run("show", "drawn.dcomp", "--differences", "0,1")
    assert "no intervals: one chain cannot show that it has settled" in shown.out
    assert "fit with --chains 4" in shown.out
    record = json.loads(run("show", "drawn.dcomp", "--differences", "0", "--json").out)
    assert set(record["differences"]["features"][0]) == {"feature", "effect"}


def test_differences_by_name_and_of_chains_that_have_not_settled(run, corpus):
    done = run(
        *("fit", corpus, "-k", 2, "--text-field", "body", "--algorithm", "collapsed-gibbs"),
        *("--max-iter", 20, "--draws", 8, "--chains", 2, "-o", "drawn.dcomp"),
    )
    assert done.code == 0, done.err
    dcomp.save(dcomp.load("drawn.dcomp").rename({0: "war", 1: "tax, levy"}), "named.dcomp")
    for pair in ("war", "war,1", "0,1"):
        shown = run("show", "named.dcomp", "--differences", pair)
        assert "component 0 against" in shown.out, shown.err
    assert "no intervals: " in shown.out
    assert "raise --max-iter and --draws" in shown.out
    assert "--chains 4" not in shown.out  # there are several
    assert "component 1 against" in run("show", "named.dcomp", "--differences", "tax, levy").out
    for pair, said in (
        ("peace", "there is no component 'peace'; there are war, tax, levy"),
        ("7", "components have numbers from 0 to 1; got 7"),
        ("0,", "--differences must be a component, or two with a comma between; got '0,'"),
    ):
        done = run("show", "named.dcomp", "--differences", pair)
        assert (done.code, said in done.err) == (2, True), done.err


def test_a_component_without_a_name_has_its_number_once(run, fitted):
    dcomp.save(dcomp.load("pets.dcomp").rename({0: "war"}), "named.dcomp")
    rows = [line.split() for line in run("show", "named.dcomp").out.splitlines()]
    named = {row[0]: row[1] for row in rows if row and row[0] in ("0", "1")}
    assert named["0"] == "war"
    assert named["1"].replace(".", "").isdecimal()  # its share
    assert named["1"] != "1"
