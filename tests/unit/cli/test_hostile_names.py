"""Names from files of strangers: nothing that a terminal obeys, or hides, is ever written raw."""

import csv
import json
import os
import pty
import re
import subprocess
import sys
import unicodedata

import numpy as np
import pytest

import dcomp
from dcomp.printable import columns

FEATURES = [
    "\x1b]0;owned\x07title",
    "clear\x1b[2J\x1b[Hscreen",
    "c1\x9b31mred",
    "over\u202eride",
    "iso\u2066late\u2069",
    "zero\u200bwidth\u200d\ufeff",
    "[bold red]markup[/]",
    "[/]",
    "tab\tnew\nline\rback\x08",
    "日本語の名前",
    "filler\u3164\u115f\ufe0f",
    "x" * 300,
]
DOCUMENTS = [*FEATURES, "=1+1", "tag\U000e0041", "line\u2028sep", "soft\xadhyphen"]
EVIL = "\x1b[2J\u202e\u200b[red]"
STYLE = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[hl]|\x1b\[1?[AK]|\x1b\[2K|\r")  # rich's own


def unsafe(text):
    """What must not reach a terminal; the program's own line ends aside."""
    kinds = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    hidden = "\u3164\u115f\ufe0f"
    return [c for c in text if c != "\n" and (unicodedata.category(c) in kinds or c in hidden)]


@pytest.fixture
def corpus(tmp_path):
    """A wide table of hostile names, in a file with one."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(3.0, (len(DOCUMENTS), len(FEATURES)))
    counts[: len(DOCUMENTS) // 2, len(FEATURES) // 2 :] = 0
    counts[len(DOCUMENTS) // 2 :, : len(FEATURES) // 2] = 0
    path = tmp_path / "cor\x1b[2Jp\u202eus\x9b[red].csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
        writer.writerow(["id", *FEATURES])
        for name, row in zip(DOCUMENTS, counts.tolist(), strict=True):
            writer.writerow([name, *row])
    return path


@pytest.fixture
def narrow(run, monkeypatch):
    """A command with lines of 80 columns."""

    def call(*words):
        monkeypatch.setenv("COLUMNS", "80")
        return run(*words)

    return call


def assert_safe(done, code=0):
    assert done.code == code, done.err
    assert unsafe(done.out) == []
    assert unsafe(done.err) == []


def test_the_reader_keeps_names(corpus):
    counts = dcomp.read(corpus)
    assert counts.features.names == tuple(FEATURES)
    assert counts.doc_ids == tuple(DOCUMENTS)


@pytest.mark.parametrize(
    "options",
    [
        ("-k", 2),
        ("--model", "tree", "--branching", 2, "--depth", 2, "--max-iter", 20),
        ("--model", "CGP", "-k", 2, "--max-iter", 60, "--burn-in", 10, "--draws", 5),
        ("--model", "structured", "-k", 3, "--structure", "phi", "--max-iter", 20),
    ],
)
def test_fit_and_diagnose(narrow, corpus, options):
    fit = narrow("fit", corpus, *options, "-o", "f\x1b[2Jit.dcomp")
    assert_safe(fit)
    assert r"f\x1b[2Jit.dcomp" in fit.out
    assert "[bold red]markup[/]" in fit.out.replace("\n", "")
    judged = narrow("diagnose", "f\x1b[2Jit.dcomp", corpus, "--outliers", 16)
    assert_safe(judged)
    table = judged.out[judged.out.index("  rank") :].splitlines()
    assert len({columns(line) for line in table}) == 1  # aligned
    assert columns(table[0]) <= 80
    assert all(columns(line) <= 80 for line in fit.out.splitlines() if "\\" not in line)


def test_a_file_with_a_line_end_in_its_name(run, corpus, tmp_path):
    target = tmp_path / "two\nlines.dcomp"
    done = run("fit", corpus, "-k", 2, "-o", target)
    assert "two\\nlines.dcomp" in done.out


def test_json_says_the_exact_names(narrow, corpus):
    fit = narrow("fit", corpus, "-k", 2, "-o", "fit.dcomp", "--json", "--top", 12)
    assert_safe(fit)
    record = json.loads(fit.out)
    assert set(record["components"][0]["features"]) == set(FEATURES)
    judged = narrow("diagnose", "fit.dcomp", corpus, "--json", "--outliers", 16)
    assert_safe(judged)
    assert {row["document"] for row in json.loads(judged.out)["outliers"]} == set(DOCUMENTS)
    assert "日本語の名前" in judged.out  # what can be read is left to read


def test_groups_and_names_of_components(narrow, tmp_path):
    """Values of attributes are titles of columns, names that a fit was given stand in front."""
    texts = ("cat dog cat", "dog fish", "fish cat dog", "dog dog")
    rows = [
        {"text": text, EVIL: f"{EVIL} {i % 2}" + "x" * 500, "size": i}
        for i, text in enumerate(texts)
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    given = ("fit", "in.jsonl", "-k", 2, "-o", "fit.dcomp", "-q", "--labels", f"{EVIL},size")
    assert narrow(*given).code == 0
    named = dcomp.load(tmp_path / "fit.dcomp").rename({0: EVIL, 1: f"{EVIL}2"})
    dcomp.save(named, tmp_path / "fit.dcomp", overwrite=True)
    for by in (EVIL, "size"):
        assert_safe(narrow("show", "fit.dcomp", "in.jsonl", "--by", by))
    assert_safe(narrow("diagnose", "fit.dcomp"))


def test_the_other_commands(narrow, corpus):
    assert narrow("fit", corpus, "-k", 2, "-o", "fit.dcomp", "-q").code == 0
    assert_safe(narrow("evaluate", "fit.dcomp", corpus))
    assert_safe(narrow("select", corpus, "-k", "2,3", "--chains", 2, "--max-iter", 20))
    assert_safe(narrow("models"))


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "ab\x1b[2Jsent\n\u202e.csv"),
        ("fit", "CORPUS", "-k", "2", "--model", "D\x1b[2JM"),
        ("fit", "CORPUS", "--opt\x1b[2Jion"),
        ("fit", "CORPUS", "-k", "t\x9bwo"),
        ("fit", "CORPUS", "-k", "2", "-o", "no\x1b[2J/folder"),
        ("fit", "CORPUS", "-k", "2", "--config", "no\x1b[2J.toml"),
        ("fit", "CORPUS", "-k", "2", "--blocks", "no\x1b[2J.txt"),
        ("transform", "CORPUS", "CORPUS"),
        ("evaluate", "ab\x1b[2Jsent\u202e", "CORPUS"),
        ("com\x1b[2Jmand",),
        ("fit", "bad\ud800name"),
    ],
)
def test_errors(narrow, corpus, words):
    done = narrow(*(str(corpus) if word == "CORPUS" else word for word in words))
    assert_safe(done, done.code)
    assert done.code in (1, 2)
    assert done.err.count("\n") == 1


def test_errors_in_python(tmp_path):
    error = dcomp.InvalidParameter("there is no word a\x1b[2J\u202e")
    assert unsafe(str(error)) == []
    assert "\x1b" in error.args[0]  # for programs
    for call in (dcomp.load, dcomp.read):
        with pytest.raises(FileNotFoundError) as caught:
            call(tmp_path / "ab\x1b[2Jsent.csv")
        assert unsafe(str(caught.value)) == []


def test_what_is_printed_in_python(corpus):
    counts = dcomp.read(corpus)
    model = dcomp.LDA(2, verbose=0).fit(counts)
    surrogate = dcomp.Counts.from_tokens([["a\ud800", "b"], ["b"]], doc_ids=["\udc80", "x"])
    fit = model.fit_
    shown = [
        fit.top_features(12),
        fit.word_table(counts, 0),
        dcomp.evaluate.coherence(fit, counts),
        dcomp.evaluate.outliers(fit, counts),
        dcomp.evaluate.independence(fit, groups=["a\x1b[2J", "b\u202e"]),
        dcomp.LDA(1, verbose=0).fit(surrogate).fit_.top_features(2),
        counts.features,
        counts,
    ]
    for value in shown:
        assert unsafe(str(value)) == []
        # Python leaves letters without a shape in a repr; they move nothing.
        assert unsafe(re.sub("[\u3164\u115f\ufe0f]", "", repr(value))) == []
    lines = str(fit.word_table(counts, 0)).splitlines()
    assert len({columns(line) for line in lines}) == 1


def _on_terminal(command, folder, environment):
    """All that a command writes to a terminal of 80 columns."""
    leader, follower = pty.openpty()
    variables = {**environment, "COLUMNS": "80", "TERM": "xterm"}
    whole = [sys.executable, "-m", "dcomp.cli.main", *command]
    streams = {"stdout": follower, "stderr": follower, "stdin": follower}
    with subprocess.Popen(whole, cwd=folder, env=variables, **streams) as process:
        os.close(follower)
        shown = b""
        while True:
            try:
                part = os.read(leader, 1 << 16)
            except OSError:
                break
            if not part:
                break
            shown += part
        assert process.wait() == 0
    os.close(leader)
    return shown.decode()


def test_on_a_terminal(run, corpus, environment):
    folder = corpus.parent
    shown = _on_terminal(["fit", corpus, "-k", "2", "-o", "fit.dcomp"], folder, environment)
    assert unsafe(STYLE.sub("", shown)) == []
    scores = _on_terminal(["transform", "fit.dcomp", corpus], folder, environment)
    assert unsafe(STYLE.sub("", scores)) == []
    assert r"clear\x1b[2J" in scores


def test_csv_keeps_exact_names(run, corpus):
    assert run("fit", corpus, "-k", 2, "-o", "fit.dcomp", "-q").code == 0
    for words in ((), ("--spreadsheet",)):
        assert run("transform", "fit.dcomp", corpus, "-o", "out.csv", "--force", *words).code == 0
        with (corpus.parent / "out.csv").open(newline="", encoding="utf-8") as stream:
            names = [row[0] for row in csv.reader(stream)][1:]
        assert names == ["'=1+1" if words and name == "=1+1" else name for name in DOCUMENTS]


@pytest.mark.parametrize("first", list("=+-@\t\r＝"))
def test_cells_for_a_spreadsheet(run, tmp_path, first):
    documents = [{"id": f'{first}1,"x"', "text": "cat dog"}, {"id": "2", "text": "dog"}]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, documents)))
    assert run("fit", "in.jsonl", "-k", 1, "-o", "fit.dcomp", "-q").code == 0
    run("transform", "fit.dcomp", "in.jsonl", "-o", "out.csv", "--spreadsheet")
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(stream))
    assert rows[1][0] == f'\'{first}1,"x"'
    assert rows[2][0] == "2"
    assert all(float(cell) >= 0 for row in rows[1:] for cell in row[1:])


def test_a_spreadsheet_has_no_arrays(run, corpus):
    assert run("fit", corpus, "-k", 2, "-o", "fit.dcomp", "-q").code == 0
    done = run("transform", "fit.dcomp", corpus, "-o", "out.npy", "--spreadsheet")
    assert done.code == 2
    assert "--spreadsheet has no effect" in done.err
