"""dcomp report: a page from files, what it says, and what it refuses."""

import json

import pytest

import dcomp

LINES = [
    {"id": f"d{i}", "year": 1990 + i, "text": text}
    for i, text in enumerate(["cat dog cat <script>", "dog bird dog", "fish bird fish"] * 3)
]


@pytest.fixture
def letters(run, tmp_path):
    corpus, fit = tmp_path / "letters.jsonl", tmp_path / "letters.dcomp"
    corpus.write_text("".join(json.dumps(line) + "\n" for line in LINES), encoding="utf-8")
    done = run("fit", corpus, "-k", 2, "--labels", "year", "--max-iter", 300, "-o", fit)
    assert done.code == 0
    return corpus, fit


def test_a_page_with_the_words_of_documents(run, letters, tmp_path):
    corpus, fit = letters
    page = tmp_path / "page.html"
    done = run("report", fit, corpus, "-o", page, "--title", "Cats & dogs")
    assert done.code == 0
    assert "written: " in done.err
    html = page.read_text(encoding="utf-8")
    assert "<title>Cats &amp; dogs</title>" in html
    assert '\\u003c","script"' in html  # a text in pieces: between words, a word, its component
    assert "<script>" not in html.partition('id="data">')[2].partition("</script>")[0]
    assert '"year"' in html
    assert str(tmp_path) not in html  # folders of this machine are no reader's business


def test_json_says_where_it_is(run, letters, tmp_path):
    _, fit = letters
    page = tmp_path / "page.html"
    done = run("report", fit, "-o", page, "--json")
    assert done.code == 0
    assert json.loads(done.out) == {"output": str(page), "bytes": page.stat().st_size}
    assert '\\u003c","script"' not in page.read_text(encoding="utf-8")  # of documents no text


def test_a_page_is_not_replaced_unasked(run, letters, tmp_path):
    _, fit = letters
    page = tmp_path / "page.html"
    page.write_text("mine")
    done = run("report", fit, "-o", page)
    assert done.code != 0
    assert "--force" in done.err
    assert page.read_text() == "mine"
    assert run("report", fit, "-o", page, "--force").code == 0
    assert "<!doctype html>" in page.read_text(encoding="utf-8")


def test_what_needs_documents_says_so(run, letters, tmp_path):
    corpus, fit = letters
    done = run("report", fit, "--heldout", corpus, "-o", tmp_path / "page.html")
    assert done.code == 2
    assert "need INPUT" in done.err
    assert not (tmp_path / "page.html").exists()


def test_the_library_writes_the_same_page(run, letters, tmp_path):
    """Up to the command and the texts, which the library is not given."""
    _, fit = letters
    run("report", fit, "-o", tmp_path / "a.html")
    dcomp.report(dcomp.load(fit), path=tmp_path / "b.html")
    a, b = ((tmp_path / name).read_text(encoding="utf-8") for name in ("a.html", "b.html"))
    assert a.partition('id="data"')[2] == b.partition('id="data"')[2]
