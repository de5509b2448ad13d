"""dcomp evaluate and dcomp models."""

import json

import numpy as np
import pytest

import dcomp
from dcomp import registry
from dcomp.inference import ALGORITHMS
from dcomp.models import MODELS


def test_evaluate_in_words(run, corpus, fitted):
    done = run("evaluate", fitted, corpus)
    assert done.code == 0
    assert "perplexity" in done.out
    assert "±" in done.out
    assert "lower bound on log p, not a perplexity" in done.out
    assert "not held-out" in done.err


def test_evaluate_as_json_equals_the_library(run, corpus, fitted):
    done = run("evaluate", fitted, corpus, "--json", "--fraction", 0.3, "--seed", 2, "-q")
    record = json.loads(done.out)
    fit, counts = dcomp.load(fitted), dcomp.read(corpus)
    score = dcomp.evaluate.completion(fit, counts, fraction=0.3, seed=2)
    assert done.err == ""
    assert record["perplexity"] == score.perplexity
    assert record["log_likelihood_standard_error"] == score.standard_error
    assert (record["tokens"], record["documents"]) == (score.n_tokens, score.n_docs)
    assert record["bound_per_token"] == pytest.approx(fit.bound(counts).sum() / counts.n_tokens)
    assert record["training_data"] is True


def test_one_document_has_no_standard_error(run, fitted, tmp_path):
    one = tmp_path / "one.csv"
    one.write_text("id,cat,dog,cow\na,9,9,9\n")
    done = run("evaluate", fitted, one, "--json")
    assert json.loads(done.out)["perplexity_standard_error"] is None
    assert "no error from one document" in run("evaluate", fitted, one).out


@pytest.mark.parametrize("fraction", [0, 1, -2])
def test_a_wrong_fraction(run, corpus, fitted, fraction):
    done = run("evaluate", fitted, corpus, "--fraction", fraction)
    assert done.code == 2
    assert "fraction" in done.err


def test_documents_of_unknown_words_only(run, fitted, tmp_path):
    alien = tmp_path / "alien.csv"
    alien.write_text("id,x,y,z\na,1,2,3\nb,2,2,2\n")
    done = run("evaluate", fitted, alien)
    assert done.code == 1
    assert done.err.splitlines()[-1].startswith("dcomp: error: ")


def test_models_read_whole_at_80_columns(run, monkeypatch):
    done = run("models")
    assert done.code == 0
    assert all(key in done.out for key in registry.supported())
    for whole in (*ALGORITHMS, *(model.long_name for model in MODELS.values())):
        assert whole in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    monkeypatch.setenv("COLUMNS", "80")
    assert run("models").out == done.out
    record = json.loads(run("models", "--json").out)
    found = {row["model"]: tuple(row["algorithms"]) for row in record["models"]}
    assert found == registry.supported()
    usual = {r["model"]: (r["default"], r["default_of_large_counts"]) for r in record["models"]}
    names = {key: registry.usual_algorithms(key) for key in found}
    assert usual == {key: (name[0], name[-1]) for key, name in names.items()}
    assert usual["CGP"] == ("collapsed-gibbs", "gibbs")
    assert "of CGP: gibbs where counts that are not 0 hold 10 words\nor more" in done.out


def test_evaluate_is_the_same_for_any_number_of_threads(run, corpus, fitted):
    scores = {run("evaluate", fitted, corpus, "--json", "-j", n).out for n in (1, 2, 7)}
    assert len(scores) == 1
    assert np.isfinite(json.loads(scores.pop())["perplexity"])


def test_left_to_right(run, corpus, fitted):
    words = ("evaluate", fitted, corpus, "--method", "left-to-right", "--particles", 5)
    record = json.loads(run(*words, "--json").out)
    score = dcomp.evaluate.left_to_right(dcomp.load(fitted), dcomp.read(corpus), particles=5)
    assert record["method"] == "left-to-right"
    assert record["particles"] == 5
    assert record["perplexity"] == score.perplexity
    assert record["monte_carlo_error"] == score.monte_carlo_error
    assert "fraction" not in record
    done = run(*words)
    assert "left to right, 5 particles" in done.out
    assert "Monte Carlo" in done.out


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--method", "harmonic"), "completion or left-to-right"),
        (("--particles", 5), "--method left-to-right"),
        (("--method", "left-to-right", "--fraction", 0.3), "--method completion"),
    ],
)
def test_options_of_the_other_method(run, corpus, fitted, options, word):
    done = run("evaluate", fitted, corpus, *options)
    assert done.code == 2
    assert word in done.err
