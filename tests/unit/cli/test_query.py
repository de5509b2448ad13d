"""dcomp index and dcomp query: by text, by file, by example; runs, measures, what is refused."""

import json

import pytest

TEXTS = [
    "Football fans in Germany sing.",
    "German football and its fans",
    "Rain falls in the hills",
    "Hills, rain and rivers",
] * 6


@pytest.fixture
def fitted(run, tmp_path):
    lines = [json.dumps({"id": f"d{i}", "text": text}) for i, text in enumerate(TEXTS)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines))
    fit = run("fit", "corpus.jsonl", "-k", 2, "-o", "fit.dcomp", "--stem", "english", "-q")
    assert fit.code == 0, fit.err
    return run


def best(outcome):
    assert outcome.code == 0, outcome.err
    return [line.split()[0] for line in outcome.out.splitlines()]


def test_an_index_answers_as_the_documents_do(fitted):
    plain = fitted("query", "fit.dcomp", "corpus.jsonl", "football fans in Germany", "-n", 4)
    assert set(best(plain)) <= {f"d{i}" for i in range(24) if i % 4 < 2}
    assert fitted("index", "fit.dcomp", "corpus.jsonl", "-o", "c.dindex", "--lsa", 3).code == 0
    again = fitted("query", "fit.dcomp", "c.dindex", "football fans in Germany", "-n", 4)
    assert again.out == plain.out
    summed = fitted("query", "fit.dcomp", "c.dindex", "raining", "--by", "bm25 + 2*lsa")
    assert best(summed)[0] in {f"d{i}" for i in range(24) if i % 4 > 1}
    like = fitted("query", "fit.dcomp", "c.dindex", "--like", "d2", "-n", 3)
    assert "d2" not in best(like)


def test_documents_are_shown_as_they_begin(fitted, monkeypatch):
    words = ("football fans in Germany", "-n", 24)
    assert fitted("index", "fit.dcomp", "corpus.jsonl", "-o", "c.dindex", "-q").code == 0
    monkeypatch.setenv("COLUMNS", "30")
    for where in ("corpus.jsonl", "c.dindex"):
        lines = fitted("query", "fit.dcomp", where, *words).out.splitlines()
        shown = {line.split()[0]: line.split(None, 2)[2] for line in lines}
        assert shown["d0"] == "Football fans i…"
        assert len(shown) == 24
        assert max(map(len, lines)) <= 30
        found = json.loads(fitted("query", "fit.dcomp", where, *words, "--json").out)
        own = {row["document"]: row["text"] for row in found["queries"][0]["documents"]}
        assert own == {f"d{i}": text for i, text in enumerate(TEXTS)}


def test_what_was_left_out_of_mail_is_not_shown(run, tmp_path):
    mails = [f"From: a{i}@b\nSubject: x\n\n> old\n{text}\n" for i, text in enumerate(TEXTS)]
    lines = [json.dumps({"id": f"d{i}", "text": mail}) for i, mail in enumerate(mails)]
    (tmp_path / "mail.jsonl").write_text("\n".join(lines))
    how = ("-k", 2, "-o", "fit.dcomp", "-q", "--without", "headers,quotes")
    assert run("fit", "mail.jsonl", *how).code == 0
    found = json.loads(run("query", "fit.dcomp", "mail.jsonl", "rain", "-n", 1, "--json").out)
    assert found["queries"][0]["documents"][0]["text"] in TEXTS
    like = json.loads(run("similar", "fit.dcomp", "mail.jsonl", "d2", "-n", 1, "--json").out)
    assert like["similar"][0]["text"] in TEXTS


def test_a_document_without_an_id_is_named_by_its_number(run, tmp_path):
    (tmp_path / "corpus.txt").write_text("\n".join(TEXTS))
    assert run("fit", "corpus.txt", "-k", 2, "-o", "fit.dcomp", "-q").code == 0
    like = run("query", "fit.dcomp", "corpus.txt", "--like", "2", "-n", 23)
    assert sorted(map(int, best(like))) == [i for i in range(24) if i != 2]
    wrong = run("query", "fit.dcomp", "corpus.txt", "--like", "24")
    assert wrong.code == 2
    assert "[0, 24)" in wrong.err


def test_many_queries_make_a_run_and_are_measured(fitted, tmp_path):
    (tmp_path / "topics.tsv").write_text("q1\tfootball fans\nq2\train\n")
    good = [f"q{1 + (i % 4 > 1)} 0 d{i} 1" for i in range(24)]
    (tmp_path / "qrels").write_text("\n".join(good))
    words = ("query", "fit.dcomp", "corpus.jsonl", "--queries", "topics.tsv", "-n", 24)
    done = fitted(*words, "--run", "ours.run")
    assert done.code == 0, done.err
    lines = (tmp_path / "ours.run").read_text().splitlines()
    assert [line.split()[3] for line in lines[:3]] == ["1", "2", "3"]
    assert len(lines) == 48
    assert fitted(*words, "--run", "-").out.splitlines() == lines
    pytest.importorskip("ir_measures")
    measured = json.loads(fitted(*words, "--judgements", "qrels", "--json").out)["measures"]
    assert measured["AP"] > 0.9
    assert list(measured) == ["AP", "nDCG@10", "P@10", "R@1000"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give QUERY, --queries FILE or --like ID"),
        (("  ",), "must not be empty"),
        (("",), "QUERY and ID must not be empty"),
        (("rain", "--by", "lsa"), "need --lsa DIMENSIONS, or for an index dcomp index --lsa D"),
        (("rain", "--judgements", "qrels"), "none of the queries is judged"),
        (("of the",), "a word that the fit knows"),
        (("rain", "--by", "bm26"), "by must name bm25"),
        (("rain", "--like", "d1"), "one of them"),
        (("--like", "d99"), "document ids"),
    ],
)
def test_wrong_usage_is_one_line(fitted, tmp_path, words, said):
    (tmp_path / "qrels").write_text("q7 0 d1 1\n")
    outcome = fitted("query", "fit.dcomp", "corpus.jsonl", *words)
    assert outcome.code == 2
    assert said in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_an_index_is_no_input_of_other_commands(fitted):
    assert fitted("index", "fit.dcomp", "corpus.jsonl", "-o", "c.dindex", "-q").code == 0
    for words in (("similar", "fit.dcomp", "c.dindex", "d1"), ("fit", "c.dindex", "-k", 2)):
        outcome = fitted(*words)
        assert outcome.code != 0
        assert "c.dindex is an index (dcomp query asks it)" in outcome.err


def test_options_without_effect_are_refused(fitted):
    assert fitted("index", "fit.dcomp", "corpus.jsonl", "-o", "c.dindex", "-q").code == 0
    for option in (("--lsa", 2), ("--text-field", "text")):
        outcome = fitted("query", "fit.dcomp", "c.dindex", "rain", *option)
        assert outcome.code == 2
        assert "has no effect on an index" in outcome.err
    assert fitted("index", "fit.dcomp", "corpus.jsonl", "-o", "c.dindex").code == 1


def test_an_index_of_another_fit_is_refused(fitted):
    assert fitted("index", "fit.dcomp", "corpus.jsonl", "-o", "c.dindex", "-q").code == 0
    other = ("-k", 2, "-o", "other.dcomp", "--stem", "english", "--alpha", 0.9, "-q")
    assert fitted("fit", "corpus.jsonl", *other).code == 0
    outcome = fitted("query", "other.dcomp", "c.dindex", "rain")
    assert outcome.code == 2
    assert "made with another fit" in outcome.err


def test_documents_of_other_words_make_no_index(fitted, tmp_path):
    (tmp_path / "other.jsonl").write_text('{"text": "unicorns gallop"}\n')
    outcome = fitted("index", "fit.dcomp", "other.jsonl", "-o", "c.dindex")
    assert outcome.code == 1
    assert "shares no feature with the fit" in outcome.err
    assert not (tmp_path / "c.dindex").exists()


def test_a_file_of_queries_says_where_words_lack(fitted, tmp_path):
    (tmp_path / "topics.tsv").write_text("q1\train\nq2\t \n")
    outcome = fitted("query", "fit.dcomp", "corpus.jsonl", "--queries", "topics.tsv")
    assert outcome.code == 1
    assert "topics.tsv, line 2: a query is a name, a tab and words" in outcome.err


def test_queries_that_nobody_asked_do_not_count(fitted, tmp_path):
    pytest.importorskip("ir_measures")
    (tmp_path / "qrels").write_text("1 0 d2 1\n2 0 d0 1\n3 0 d0 1\n")
    words = ("query", "fit.dcomp", "corpus.jsonl", "rain", "-n", 24, "--judgements", "qrels")
    assert json.loads(fitted(*words, "--json").out)["measures"]["R@1000"] == 1


@pytest.mark.parametrize("command", ["index", "query"])
def test_examples_of_the_help_fit_a_line(run, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    lines = run(command, "--help").out.splitlines()
    assert max(map(len, lines)) <= 80


def test_measures_say_what_to_install(fitted, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ir_measures", None)
    (tmp_path / "qrels").write_text("1 0 d1 1\n")
    outcome = fitted("query", "fit.dcomp", "corpus.jsonl", "rain", "--judgements", "qrels")
    assert outcome.code == 1
    assert "dcomp[retrieval]" in outcome.err
