"""dcomp transform: scores and expected words, to a file or to stdout."""

import csv
import io

import numpy as np
import pytest

import dcomp
from dcomp.cli.transform import whole


def rows_of(text):
    rows = list(csv.reader(io.StringIO(text)))
    return rows[0], [row[0] for row in rows[1:]], np.array([row[1:] for row in rows[1:]], float)


def test_scores_on_stdout(run, corpus, fitted):
    done = run("transform", fitted, corpus)
    header, ids, values = rows_of(done.out)
    assert done.err == ""
    assert header == ["document", "component_0", "component_1"]
    assert ids[:2] == ["d0", "d1"]
    expected = dcomp.load(fitted).transform(dcomp.read(corpus))
    np.testing.assert_allclose(values, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["scores.csv", "scores.npy"])
def test_scores_to_a_file(run, corpus, fitted, name):
    done = run("transform", fitted, corpus, "-o", name)
    assert (done.code, done.out) == (0, "")
    path = corpus.parent / name
    values = np.load(path) if name.endswith("npy") else rows_of(path.read_text())[2]
    assert values.shape == (30, 2)
    np.testing.assert_allclose(values.sum(axis=1), 1, atol=1e-5)
    again = run("transform", fitted, corpus, "-o", name)
    assert again.code == 1
    assert "--force" in again.err


def test_a_dash_is_stdout(run, corpus, fitted):
    done = run("transform", fitted, corpus, "-o", "-")
    assert done.out.startswith("document,")
    assert not (corpus.parent / "-").exists()


def test_expected_words_add_up_to_the_length(run, corpus, fitted):
    totals = dcomp.read(corpus).doc_totals
    _, _, words = rows_of(run("transform", fitted, corpus, "--counts").out)
    np.testing.assert_allclose(words.sum(axis=1), totals, rtol=1e-5)
    text = run("transform", fitted, corpus, "--rounded").out
    assert "." not in text
    _, _, rounded = rows_of(text)
    assert np.array_equal(rounded.sum(axis=1), totals)
    assert np.abs(rounded - words).max() <= 1


def test_whole_numbers_of_nothing():
    assert whole(np.zeros((1, 3)), np.array([0])).tolist() == [[0, 0, 0]]


def test_unknown_features_are_counted(run, fitted, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text("id,cat,dog,unicorn\na,1,2,5\nempty,0,0,0\n")
    done = run("transform", fitted, new)
    assert "5 of 8 tokens (62.5 %) are dropped" in done.err
    assert done.out.count("\n") == 3
    assert run("transform", fitted, new, "--quiet").err == ""


def test_other_data_are_an_error(run, fitted, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text("id,unicorn,griffin,dragon\na,1,2,0\nb,3,4,0\n")
    done = run("transform", fitted, new)
    assert done.code == 1
    assert "shares no feature with the fit: none of its 10 tokens" in done.err
    assert not done.out


def test_documents_without_ids_are_numbered(run, tmp_path):
    lines = tmp_path / "lines.txt"
    lines.write_text("matrix vector\nforest river forest\n")
    assert run("fit", lines, "-k", 2, "-o", "lines.dcomp", "--quiet").code == 0
    assert rows_of(run("transform", "lines.dcomp", lines).out)[1] == ["0", "1"]


def test_the_rule_for_exposure_is_kept_in_the_fit(run, corpus):
    run("fit", corpus, "-k", 2, "--model", "GP", "--exposure", "total", "-o", "gp.dcomp", "-q")
    by_rule = run("transform", "gp.dcomp", corpus)
    assert by_rule.code == 0
    assert by_rule.out == run("transform", "gp.dcomp", corpus, "--exposure", "total").out
