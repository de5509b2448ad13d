"""dcomp fit: what it prints, keeps and refuses."""

import json

import numpy as np
import pytest

import dcomp


def test_fit_prints_a_summary_and_keeps_the_fit(run, corpus):
    done = run("fit", corpus, "-k", 2)
    assert done.code == 0
    assert "30 documents, 8 features" in done.out
    assert "cat" in done.out
    assert "saved in corpus.dcomp" in done.out
    assert "not a perplexity" in done.out
    assert dcomp.load("corpus.dcomp").n_components == 2


def test_fit_equals_the_estimator(run, corpus, fitted):
    model = dcomp.LDA(2, verbose=0).fit(dcomp.read(corpus))
    assert np.array_equal(dcomp.load(fitted).Theta, model.fit_.Theta)


def test_fit_as_json(run, corpus):
    done = run("fit", corpus, "-k", 3, "--model", "GP", "--top", 2, "--json", "-o", "x.dcomp")
    record = json.loads(done.out)
    assert record["output"] == "x.dcomp"
    assert record["model"] == "GP"
    assert len(record["components"]) == 3
    assert all(len(row["features"]) == 2 for row in record["components"])
    assert sum(row["share"] for row in record["components"]) == pytest.approx(1)
    assert set(record["priors"]) == {"alpha", "beta"}


def test_quiet_prints_nothing(run, corpus):
    done = run("fit", corpus, "-k", 2, "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_priors_reach_the_model(run, corpus):
    words = ("--alpha", 0.3, "--beta", 2, "--gamma", "empirical", "--loadings", "vb")
    assert run("fit", corpus, "-k", 2, "--model", "GP", *words, "-o", "p.dcomp").code == 0
    fit = dcomp.load("p.dcomp")
    assert fit.model.scores.alpha.tolist() == [0.3, 0.3]
    assert fit.model.scores.beta.tolist() == [2.0, 2.0]
    assert fit.model.loadings.gamma.sum() == pytest.approx(1)
    assert fit.algorithm.loadings == "vb"


def test_rare_features_are_dropped_and_blocks_follow_the_features(run, corpus, tmp_path):
    blocks = tmp_path / "blocks.txt"
    blocks.write_text("animal\n" * 4 + "colour\n" * 4)
    done = run("fit", corpus, "-k", 2, "--blocks", blocks, "--min-count", 2, "-o", "b.dcomp")
    assert "animal=cat" in done.out
    fit = dcomp.load("b.dcomp")
    assert fit.features.block_names == ("animal", "colour")
    assert fit.model.loadings.gamma == 0.5
    new = tmp_path / "new.csv"
    new.write_text("id,pink,cat,dog,x\na,3,0,0,0\nb,0,2,2,0\n")
    scores = run("transform", "b.dcomp", new)
    assert scores.code == 0
    assert scores.out.count("\n") == 3


def test_too_high_a_limit_for_rare_features(run, corpus):
    done = run("fit", corpus, "--min-count", 100000)
    assert done.code == 1
    assert "lower the limits" in done.err


def test_limit_of_sweeps_is_one_line_on_stderr(run, corpus):
    done = run("fit", corpus, "-k", 2, "--max-iter", 3)
    assert done.code == 0
    assert done.err.startswith("dcomp: warning: mean-field reached --max-iter 3")
    assert done.err.count("\n") == 1
    assert "stopped at the limit" in done.out


@pytest.mark.parametrize("model", ["DM", "GP"])
def test_resume_equals_one_long_fit(run, corpus, model):
    more = ("--exposure", "total") if model == "GP" else ()
    options = ("-k", 3, "--model", model, "--seed", 5, "--tol", 0, "--quiet", *more)
    run("fit", corpus, *options, "--max-iter", 50, "-o", "long.dcomp")
    run("fit", corpus, *options, "--max-iter", 17, "-o", "short.dcomp")
    went_on = ("--resume", "short.dcomp", "--tol", 0, "--max-iter", 50, "--quiet")
    assert run("fit", corpus, *went_on).code == 0
    long, short = dcomp.load("long.dcomp"), dcomp.load("short.dcomp")
    assert short.n_sweeps == 50
    assert np.array_equal(long.state.n, short.state.n)
    assert np.array_equal(long.state.c, short.state.c)
    assert np.array_equal(long.model.scores.alpha, short.model.scores.alpha)
    assert np.array_equal(long.history["objective"], short.history["objective"])


def test_resume_with_other_data(run, fitted, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("id,cat,dog,cow\na,1,2,3\nb,3,0,1\n")
    before = fitted.read_bytes()
    done = run("fit", other, "--resume", fitted)
    assert done.code == 1
    assert "only on the counts that it was fitted to" in done.err
    assert fitted.read_bytes() == before


def test_resume_keeps_its_own_settings(run, corpus, fitted):
    done = run("fit", corpus, "--resume", fitted, "-k", 4, "--alpha", 1)
    assert done.code == 2
    assert "leave out -k, --alpha" in done.err


def test_resume_of_an_absent_fit(run, corpus):
    done = run("fit", corpus, "--resume", "absent.dcomp")
    assert done.code == 1
    assert "absent.dcomp" in done.err


def test_an_existing_file_needs_force(run, corpus, fitted):
    before = fitted.read_bytes()
    done = run("fit", corpus, "-k", 4, "-o", fitted)
    assert done.code == 1
    assert "--force" in done.err
    assert fitted.read_bytes() == before
    assert run("fit", corpus, "-k", 4, "-o", fitted, "--force").code == 0
    assert dcomp.load(fitted).n_components == 4


def test_the_input_is_never_the_output(run, corpus):
    before = corpus.read_bytes()
    done = run("fit", corpus, "-o", corpus, "--force")
    assert done.code == 1
    assert corpus.read_bytes() == before


def test_default_output_of_a_folder_of_texts(run, tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    for i in range(4):
        (folder / f"{i}.txt").write_text("matrix vector tensor matrix")
    assert run("fit", folder, "-k", 2).code == 0
    assert (tmp_path / "texts.dcomp").exists()


def test_models_by_the_names_that_fields_know(run, corpus):
    for name, options, cousin in (
        ("lda", (), dcomp.LDA),
        ("plsa", (), dcomp.PLSA),
        ("nmf", (), dcomp.NMF),
        ("nmf", ("--algorithm", "ml"), dcomp.NMF),
    ):
        done = run("fit", corpus, "-k", 2, "--model", name, *options, "-o", "n.dcomp", "--force")
        assert done.code == 0, done.err
        expected = cousin(2, verbose=0).fit(dcomp.read(corpus)).fit_
        fit = dcomp.load("n.dcomp")
        assert fit.algorithm == expected.algorithm
        np.testing.assert_array_equal(fit.Theta, expected.Theta)
    wrong = run("fit", corpus, "--model", "plsa", "--algorithm", "gibbs")
    assert wrong.code == 2
    assert "leave out --algorithm gibbs, or give --model DM" in wrong.err
    assert "leave out --alpha" in run("fit", corpus, "--model", "plsa", "--alpha", 0.3).err
    quick = ("--chains", 2, "--starts", 1, "--model", "plsa")
    assert run("select", corpus, "-k", 2, *quick).code == 0
