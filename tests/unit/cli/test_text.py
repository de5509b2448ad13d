"""Text from the shell: which fields, which words, and the same again for new documents."""

import io
import json
import sys

import pytest

import dcomp
from dcomp.data import TextOptions

TEXTS = ["The cat sleeps", "Cats and dogs", "a dog barks", "dogs bark at cats", "cats sleeping"]


@pytest.fixture
def news(tmp_path):
    path = tmp_path / "news.jsonl"
    with path.open("w") as stream:
        for i, text in enumerate(TEXTS * 3):
            split = "train" if i % 5 else "test"
            record = {"id": f"d{i}", "head": text[:8], "body": text, "split": split}
            stream.write(json.dumps(record) + "\n")
    return path


def fitted(run, path, *more):
    done = run("fit", path, "-k", 2, "--max-iter", 3, "--tol", 0, "-o", "f.dcomp", "--force", *more)
    assert done.code == 0, done.err
    return done, dcomp.load("f.dcomp")


def test_options_reach_the_reader_and_stay_with_the_fit(run, news, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stop.txt").write_text("at\nthe\nand\n")
    done, fit = fitted(
        run, news, "--text-field", "head,body", "--text-blocks", "--where", "split=train",
        "--stem", "english", "--stop-words", "stop.txt", "--min-docs", 2, "--max-docs", "0.9",
        "--label-field", "split", "--ngrams", 2, "--max-features", 6,
    )  # fmt: skip
    assert fit.provenance.n_docs == 12
    assert fit.features.block_names == ("head", "body")
    assert fit.text == TextOptions(
        text=("head", "body"), text_blocks=True, stem="english", stop_words=("and", "at", "the"),
        min_docs=2, max_docs=0.9, labels=("split",), ngrams=(1, 2), max_features=6,
    )  # fmt: skip
    assert "dcomp: kept 12 of " in done.err
    assert "beyond the most frequent" in done.err
    done = run("transform", "f.dcomp", news, "--where", "split=test")
    assert [line.split(",")[0] for line in done.out.splitlines()[1:]] == ["d0", "d5", "d10"]
    assert run("evaluate", "f.dcomp", news, "--json").code == 0
    # As in Python.
    counts = dcomp.read(news, like=fit, where={"split": "test"})
    wanted = fit.fold_in(counts.aligned_to(fit.features)[0]).scores
    assert f"d0,{wanted[0, 0]:.7g}" in done.out


def test_a_fit_reads_its_own_documents_as_it_did(run, news, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    fitted(run, news, "--text-field", "body", "--stem", "english", "--min-docs", 2)
    done = run("evaluate", "f.dcomp", news)
    assert "made from these very documents" in done.err


def test_quiet_says_nothing_of_words(run, news, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    done, _ = fitted(run, news, "--text-field", "body", "--quiet", "--max-iter", 200)
    assert "kept" not in done.err


def test_a_table_with_text_and_standard_input(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    lines = ["stars,review", *(f'{i},"{text}"' for i, text in enumerate(TEXTS))]
    (tmp_path / "r.csv").write_text("\n".join(lines))
    _, fit = fitted(run, "r.csv", "--text-field", "review", "--numbers", "years", "--case", "keep")
    assert "Cats" in fit.features.names
    # Without being told: the column is there.
    assert run("transform", "f.dcomp", "r.csv").out.count("\n") == 6
    for name, flags in (("t.txt", ()), ("r.csv", ("--text-field", "review"))):
        (tmp_path / "t.txt").write_text("\n".join(TEXTS))
        content = (tmp_path / name).read_bytes()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        done = run("fit", "-", "-k", 2, *flags, "--quiet", "--force", "--tol", 0, "--max-iter", 3)
        assert done.code == 0, done.err
        assert dcomp.load("stdin.dcomp").provenance.n_docs == 5


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--ngrams", "x"), "--ngrams must be a number, or two as in 2-3; got 'x'"),
        (("--where", "split"), "--where must be FIELD=VALUE, or several; got 'split'"),
        (("--numbers", "some"), "--numbers must be"),
        (("--stop-words", "klingon"), "--stop-words must be 'english'"),
        (("--stop-words", "no/such.txt"), "no/such.txt: No such file"),
        (("--text-blocks", "--text-field", "body"), "--text-blocks needs two fields"),
        (("--text-field", "nothing"), "text in the field 'nothing', found the fields 'id', 'head'"),
        (("--token", "("), "--token must be a regular expression"),
        (("--max-docs", "1.5"), "--max-docs must be a share"),
    ],
)
def test_what_is_wrong_is_one_line(run, news, flags, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("fit", news, "-o", "x.dcomp", *flags)
    assert done.code in (1, 2)
    assert message in done.err
    assert done.err.count("\n") == 1


def test_tables_of_counts_take_no_words(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.csv").write_text("d,f,n\nx,a,3\ny,a,2\ny,b,2\nz,b,9\n")
    done = run("fit", "c.csv", "-k", 2, "--stem", "english")
    assert "--stem is for text: name the column that holds it with --text-field" in done.err
    done = run(
        "fit", "c.csv", "-k", 1, "--max-docs", "0.7", "--max-features", 1, "--json", "--quiet"
    )
    assert json.loads(done.out)["components"][0]["features"] == ["b"]


def test_config_files_say_how_text_is_read(run, news, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    how = ("--text-field", "head,body", "--where", "split=train", "--ngrams", "2")
    fitted(run, news, *how, "--save-config", "run.toml")
    assert 'text = "head,body"' in (tmp_path / "run.toml").read_text()
    first = dcomp.load("f.dcomp")
    _, again = fitted(run, news, "--config", "run.toml")
    assert again.provenance.data_fingerprint == first.provenance.data_fingerprint
    (tmp_path / "list.toml").write_text('[input]\ntext = ["head", "body"]\nwhere = "split=train"\n')
    assert fitted(run, news, "--config", "list.toml")[1].text.text == ("head", "body")
