"""dcomp diagnose: the library's numbers, for people and for programs."""

import json
from dataclasses import replace

import numpy as np
import pytest

import dcomp
from dcomp import evaluate


def test_in_words(run, corpus, fitted):
    done = run("diagnose", fitted, corpus, "--top", 4, "--outliers", 3)
    assert done.code == 0
    assert done.out.startswith("converged: about")
    for part in ("one more sweep moves", "coherence npmi", "exclusive", "one correlation", "rank"):
        assert part in done.out
    assert len(done.out.partition("unusual documents")[2].splitlines()) == 5


def test_without_documents(run, fitted):
    done = run("diagnose", fitted)
    assert done.code == 0
    assert "coherence" not in done.out
    assert "unusual" not in done.out
    assert "exclusive" in done.out
    record = json.loads(run("diagnose", fitted, "--json").out)
    assert record["coherence"] is record["outliers"] is record["residual"] is None


def test_no_outliers_are_looked_for(run, corpus, fitted):
    assert "unusual" not in run("diagnose", fitted, corpus, "--outliers", 0).out
    assert (
        json.loads(run("diagnose", fitted, corpus, "--outliers", 0, "--json").out)["outliers"]
        is None
    )


def test_json_equals_the_library(run, corpus, fitted):
    done = run("diagnose", fitted, corpus, "--json", "--coherence", "umass", "-n", 3, "--seed", 2)
    record = json.loads(done.out)
    fit, counts = dcomp.load(fitted), dcomp.read(corpus)
    judged = evaluate.diagnostics(fit, counts)
    assert record["verdict"] == judged.verdict
    assert record["residual"] == judged.residual
    assert record["change"] == judged.change
    coherence = evaluate.coherence(fit, counts, "umass", 3)
    assert record["coherence"]["mean"] == coherence.mean
    assert record["coherence"]["window"] is None
    assert [row["coherence"] for row in record["components"]] == coherence.values.tolist()
    exclusive = evaluate.exclusivity(fit, 3).tolist()
    assert [row["exclusivity"] for row in record["components"]] == exclusive
    assert record["correlation"]["median"] == evaluate.independence(fit).values[0]
    unusual = evaluate.outliers(fit, counts, seed=2).top(5)
    assert [row["document"] for row in record["outliers"]] == list(unusual.doc_ids)
    assert [row["z"] for row in record["outliers"]] == unusual.z.tolist()


def test_json_has_what_the_table_shows(run, corpus, fitted):
    shown = run("diagnose", fitted, corpus, "-n", 4).out.partition("top features")[2]
    record = json.loads(run("diagnose", fitted, corpus, "-n", 4, "--json").out)
    for row in record["components"]:
        line = next(x for x in shown.splitlines() if x.split()[:1] == [str(row["component"])])
        cells = line.split()
        assert cells[1] == f"{100 * row['share']:.1f}"
        assert cells[3:5] == [f"{row['coherence']:.3f}", f"{row['exclusivity']:.2f}"]
        assert cells[-4:] == row["features"]


def test_a_sampler(run, corpus):
    options = ["--algorithm", "collapsed-gibbs", "--chains", 3, "--draws", 20, "--max-iter", 60]
    assert run("fit", corpus, "-k", 2, *options, "-o", "s.dcomp", "-q").code == 0
    done = run("diagnose", "s.dcomp")
    assert "ESS bulk" in done.out
    assert "R-hat" in done.out.partition("top features")[0]
    record = json.loads(run("diagnose", "s.dcomp", "--json").out)
    assert [row["name"] for row in record["quantities"]][:2] == ["log joint", "words"]
    assert record["chains"] == 3
    assert record["stability"] > 0.5
    assert all(row["rhat"] is not None for row in record["components"])


def test_verdicts_are_folded_on_a_terminal_and_whole_in_a_pipe(run, corpus, monkeypatch):
    options = ["--algorithm", "gibbs", "--chains", 2, "--max-iter", 40, "-o", "g.dcomp", "-q"]
    assert run("fit", corpus, "-k", 3, *options).code == 0
    whole = run("diagnose", "g.dcomp").out
    assert max(map(len, whole.splitlines())) > 80
    monkeypatch.setenv("COLUMNS", "80")
    folded = run("diagnose", "g.dcomp").out
    assert " ".join(folded.split())[:60] == " ".join(whole.split())[:60]
    verdict = folded.partition("R-hat  ESS")[0]
    assert max(map(len, verdict.splitlines())) <= 80


def test_other_documents_have_no_residual(run, fitted, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("id,cat,dog,cow,red\na,3,2,1,0\nb,0,1,1,4\n")
    record = json.loads(run("diagnose", fitted, other, "--json").out)
    assert record["residual"] is None
    assert len(record["outliers"]) == 2


def test_one_component(run, corpus):
    assert run("fit", corpus, "-k", 1, "-o", "one.dcomp", "-q").code == 0
    done = run("diagnose", "one.dcomp", "--json")
    assert done.code == 0
    assert "there must be 2" in done.err
    assert json.loads(done.out)["correlation"] is None
    assert run("diagnose", "one.dcomp", "-q").err == ""


def test_exposure_of_the_fitted_documents(run, corpus):
    counts = dcomp.read(corpus)
    exposure = np.linspace(1, 2, counts.n_docs)
    fit = dcomp.GaP(2, exposure=exposure, verbose=0).fit(counts).fit_
    dcomp.save(fit, corpus.parent / "gap.dcomp")
    done = run("diagnose", "gap.dcomp", corpus, "--json")
    assert done.code == 0
    record = json.loads(done.out)
    assert record["residual"] is not None
    shapes = evaluate.score_shapes(fit).shape.tolist()
    assert [row["score_shape"] for row in record["components"]] == shapes
    assert "shape" in run("diagnose", "gap.dcomp").out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--coherence", "pmi"], "--coherence must be one of umass, uci, npmi, c_v"),
        (["--format", "text"], "about INPUT"),
        (["--top", "1"], "--top"),
    ],
)
def test_wrong_usage(run, fitted, words, message):
    done = run("diagnose", fitted, *words)
    assert done.code == 2
    assert message in done.err


def test_edges_of_a_tree(run, corpus):
    words = ("--model", "tree", "--branching", 2, "--depth", 2, "--algorithm", "collapsed-gibbs")
    fitting = ("fit", corpus, *words, "--max-iter", 40, "-q")
    assert run(*fitting, "--chains", 3, "-o", "t.dcomp").code == 0
    fit = dcomp.load("t.dcomp")
    stability = evaluate.edge_stability(fit)
    shown = run("diagnose", "t.dcomp").out
    assert f"edges, {stability}" in shown
    assert "edges, 3 chains: of the 2 edges of the best one" in shown
    record = json.loads(run("diagnose", "t.dcomp", "--json").out)["edges"]
    assert (record["mean"], record["chance"]) == (stability.mean, stability.chance)
    assert [row["found"] for row in record["edges"]] == [edge.found for edge in stability.edges]
    assert (record["edges_of_others"], record["chains_left_out"]) == ([2, 2], 0)
    assert [row["label"] for row in record["nodes"]] == [node.label for node in stability.nodes]
    cut = dcomp.result.Trace(fit.history.rows[:5])
    chains = tuple(fit.history if e.seed == fit.seed else cut for e in fit.endings)
    dcomp.save(replace(fit, chains=chains, reason="interrupted"), "cut.dcomp")
    done = run("diagnose", "cut.dcomp", "--json")
    assert json.loads(done.out)["edges"] is None
    assert "there must be 2 whole ones" in done.err
    assert run(*fitting, "-o", "one.dcomp").code == 0
    done = run("diagnose", "one.dcomp", "--json")
    assert json.loads(done.out)["edges"] is None
    assert "edges" not in done.err
