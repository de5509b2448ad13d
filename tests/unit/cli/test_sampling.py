"""Samplers and the conditional gamma-Poisson model from the shell."""

import json
from dataclasses import replace

import numpy as np
import pytest

import dcomp
from dcomp import registry
from dcomp.cli.fit import was_interrupted
from dcomp.cli.show import summary_lines
from dcomp.inference import CollapsedGibbs
from dcomp.result import Trace

SAMPLERS = ["gibbs", "collapsed-gibbs"]
CELLS = [(model, name) for model, names in registry.supported().items() for name in names]


@pytest.fixture
def cgp(run, corpus):
    """A fit of the model that has no mean field, on disk."""
    words = ("-k", 2, "--model", "CGP", "--max-iter", 40, "-o", "cgp.dcomp", "--quiet")
    assert run("fit", corpus, *words).code == 0
    return corpus.parent / "cgp.dcomp"


def values_of(text):
    rows = [line.split(",")[1:] for line in text.splitlines()[1:]]
    return np.array(rows, dtype=float)


@pytest.mark.parametrize(("model", "algorithm"), CELLS)
def test_every_cell_goes_from_file_to_score(run, corpus, model, algorithm):
    words = ("--model", model, "--algorithm", algorithm, "--max-iter", 30, "--tol", 0)
    assert run("fit", corpus, "-k", 2, *words, "-o", "x.dcomp").code == 0
    assert run("transform", "x.dcomp", corpus).out.count("\n") == 31
    assert json.loads(run("evaluate", "x.dcomp", corpus, "--json").out)["perplexity"] < 8


@pytest.mark.parametrize("algorithm", SAMPLERS)
def test_fit_equals_the_estimator(run, corpus, algorithm):
    words = ("--model", "CGP", "--algorithm", algorithm, "--max-iter", 30, "--rho", 0.25)
    more = ("--burn-in", 11, "--chains", 3, "--seed", 4, "-o", "x.dcomp")
    assert run("fit", corpus, "-k", 2, *words, *more).code == 0
    estimator = dcomp.DCA(
        2,
        model="CGP",
        algorithm=algorithm,
        rho=0.25,
        gamma=0.05,
        max_iter=30,
        burn_in=11,
        n_chains=3,
        random_state=4,
        verbose=0,
    )
    direct = estimator.fit(dcomp.read(corpus)).fit_
    fit = dcomp.load("x.dcomp")
    assert fit.seed == direct.seed
    assert np.array_equal(fit.Theta, direct.Theta)
    assert np.array_equal(fit.scores, direct.scores)
    assert fit.model.scores.rho.tolist() == [0.25, 0.25]


def test_the_summary_of_a_sampler(run, corpus):
    words = ("--algorithm", "gibbs", "--max-iter", 30, "--burn-in", 12, "--chains", 2)
    done = run("fit", corpus, "-k", 2, *words)
    assert (done.code, done.err) == (0, "")
    assert "30 sweeps" in done.out
    assert "complete" in done.out
    assert "means over 18 recorded sweeps, after a burn-in of 12" in done.out
    assert "2 chains" in done.out
    assert "(worst)" in done.out
    assert "not a perplexity" in done.out
    assert "approximate" not in done.out


def test_a_sampler_as_json(run, corpus):
    words = ("--model", "CGP", "--max-iter", 30, "--chains", 2, "--json")
    record = json.loads(run("fit", corpus, "-k", 2, *words).out)
    assert record["algorithm"] == registry.algorithm_name("CGP")
    assert record["reason"] == "complete"
    assert record["converged"] is None
    assert record["recorded_sweeps"] == 15
    assert record["approximate"] is False
    assert len(record["chains"]) == 2
    assert set(record["priors"]) == {"alpha", "beta", "rho"}
    assert set(record["learned"]) == {"alpha", "beta", "rho"}


@pytest.mark.parametrize(("words", "chosen"), [(2, "collapsed-gibbs"), (40, "gibbs")])
def test_the_shell_says_which_sampler_the_table_chose(run, tmp_path, words, chosen):
    table = tmp_path / "table.csv"
    rows = [f"d{i},{words},{words * (i + 1)},0" for i in range(8)]
    table.write_text("\n".join(["id,a,b,c", *rows]) + "\n")
    words_of = ("fit", table, "-k", 2, "--model", "CGP", "--max-iter", 8)
    done = run(*words_of, "-o", "x.dcomp")
    assert f"algorithm: {chosen}, because counts that are not 0 hold" in done.err
    assert f"CGP, 2 components, {chosen}: 8 sweeps" in done.out
    assert json.loads(run("show", "x.dcomp", "--json").out)["algorithm"] == chosen
    assert run(*words_of, "-o", "y.dcomp", "--algorithm", chosen).err == ""
    other = next(name for name in SAMPLERS if name != chosen)
    assert run(*words_of, "-o", "z.dcomp", "--algorithm", other, "-q").err == ""
    on = run("fit", table, "--resume", "z.dcomp", "--max-iter", 10)
    assert (on.err, on.code) == ("", 0)
    assert f"CGP, 2 components, {other}: 10 sweeps" in on.out


def test_parallel_token_sampling_is_called_approximate(corpus):
    counts = dcomp.read(corpus)
    algorithm = CollapsedGibbs(burn_in=2, exact=False)
    fit = dcomp.DCA(2, algorithm=algorithm, max_iter=4, verbose=0).fit(counts).fit_
    assert "approximate: parallel token sampling" in summary_lines(fit, counts)


def test_before_the_burn_in_is_over(corpus):
    counts = dcomp.read(corpus)
    algorithm = CollapsedGibbs(burn_in=50)
    fit = dcomp.DCA(2, algorithm=algorithm, max_iter=4, verbose=0).fit(counts).fit_
    assert any("no sweep recorded yet" in line for line in summary_lines(fit, counts))


@pytest.mark.parametrize("algorithm", SAMPLERS)
@pytest.mark.parametrize("model", ["DM", "CGP"])
def test_resume_equals_one_long_run(run, corpus, model, algorithm):
    options = ("-k", 3, "--model", model, "--algorithm", algorithm, "--burn-in", 9, "--seed", 5)
    run("fit", corpus, *options, "--max-iter", 40, "-o", "long.dcomp", "--quiet")
    run("fit", corpus, *options, "--max-iter", 17, "-o", "short.dcomp", "--quiet")
    went_on = ("--resume", "short.dcomp", "--max-iter", 40, "--quiet")
    assert run("fit", corpus, *went_on).code == 0
    long, short = dcomp.load("long.dcomp"), dcomp.load("short.dcomp")
    assert short.n_sweeps == 40
    assert short.state.recorded.count == long.state.recorded.count == 31
    for name in ("c", "n"):
        assert np.array_equal(getattr(long.state, name), getattr(short.state, name))
    assert np.array_equal(long.Theta, short.Theta)
    assert np.array_equal(long.scores, short.scores)
    assert np.array_equal(long.model.scores.alpha, short.model.scores.alpha)
    assert np.array_equal(long.history["objective"], short.history["objective"])


def test_a_resumed_fit_keeps_its_rule_for_exposure(run, corpus):
    words = ("--model", "CGP", "--exposure", "total", "--max-iter", 10, "-o", "x.dcomp", "-q")
    run("fit", corpus, "-k", 2, *words)
    assert run("fit", corpus, "--resume", "x.dcomp", "--max-iter", 12, "-q").code == 0
    assert dcomp.load("x.dcomp").exposure_rule == "total"


def test_a_resumed_fit_refuses_chains_and_burn_in(run, corpus, cgp):
    done = run("fit", corpus, "--resume", cgp, "--burn-in", 3, "--chains", 2, "--rho", 0.1)
    assert done.code == 2
    assert "leave out --rho, --burn-in, --chains" in done.err


def test_an_interrupt_shows_in_any_chain(corpus):
    options = {"algorithm": "gibbs", "max_iter": 10, "n_chains": 2, "verbose": 0}
    fit = dcomp.DCA(2, **options).fit(dcomp.read(corpus)).fit_
    assert not was_interrupted(fit, 2, 10)
    assert was_interrupted(replace(fit, reason="interrupted"), 2, 10)
    assert was_interrupted(replace(fit, chains=fit.chains[:1]), 2, 10)
    cut = (fit.chains[0], Trace(fit.chains[1].rows[:4]))
    assert was_interrupted(replace(fit, chains=cut), 2, 10)


@pytest.mark.parametrize("flags", [(), ("--method", "sampling")], ids=["cgp", "asked"])
def test_transform_by_sampling(run, corpus, cgp, fitted, flags):
    path = cgp if not flags else fitted
    done = run("transform", path, corpus, *flags, "--seed", 3)
    drawn = dcomp.load(path).sample_scores(dcomp.read(corpus), seed=3)
    np.testing.assert_allclose(values_of(done.out), drawn.mean, rtol=1e-6)
    words = values_of(run("transform", path, corpus, *flags, "--seed", 3, "--counts").out)
    np.testing.assert_allclose(words, drawn.c, rtol=1e-6)
    whole = values_of(run("transform", path, corpus, *flags, "--rounded").out)
    assert np.array_equal(whole.sum(axis=1), dcomp.read(corpus).doc_totals)


def test_the_fixed_point_by_name(run, corpus, fitted):
    plain = run("transform", fitted, corpus).out
    assert run("transform", fitted, corpus, "--method", "fixed-point").out == plain
    # Two themes on three components that documents share by their prior: draws differ. A learned
    # prior would part documents, and leave words to one component each.
    shared = ("-k", 3, "--alpha", 0.5)
    assert run("fit", corpus, *shared, "-o", "three.dcomp", "--quiet").code == 0
    three = corpus.parent / "three.dcomp"
    sampled = run("transform", three, corpus, "--method", "sampling").out
    assert sampled != run("transform", three, corpus).out
    assert sampled == run("transform", three, corpus, "--method", "sampling", "-j", 3).out


def test_wrong_methods_are_one_line(run, corpus, cgp, fitted):
    for path, words, said in (
        (fitted, ("--method", "magic"), "fixed-point or sampling"),
        (fitted, ("--seed", 1), "--seed has no effect"),
        (cgp, ("--method", "fixed-point"), "CGP has no fixed point"),
    ):
        done = run("transform", path, corpus, *words)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert said in done.err


def test_evaluate_leaves_out_a_bound_that_does_not_exist(run, corpus, cgp):
    done = run("evaluate", cgp, corpus)
    assert done.code == 0
    assert "perplexity" in done.out
    assert "bound" not in done.out
    record = json.loads(run("evaluate", cgp, corpus, "--json").out)
    assert record["bound_per_token"] is None
    assert np.isfinite(record["perplexity"])


def test_help_names_what_exists(run):
    for name in ("fit", "demo"):
        text = " ".join(run(name, "--help").out.split()).replace("- ", "-")  # lines break there
        for model, algorithms in registry.supported().items():
            assert model in text
            assert all(algorithm in text for algorithm in algorithms)


def test_how_a_chain_begins_and_gamma_learned(run, corpus):
    words = ("--algorithm", "collapsed-gibbs", "--max-iter", 40, "--gamma", "auto")
    more = ("--start", "mean-field", "--anneal", 6, "-o", "x.dcomp")
    shown = run("fit", corpus, "-k", 2, *words, *more)
    assert shown.code == 0
    assert "gamma (learned): " in shown.out
    fit = dcomp.load("x.dcomp")
    assert (fit.algorithm.start, fit.algorithm.anneal) == ("mean-field", 6)
    record = json.loads(run("fit", corpus, "-k", 2, *words, "-o", "y.dcomp", "--json").out)
    assert "gamma" in record["learned"]
    assert record["gamma"] != 0.1  # where learning starts
    wrong = run("fit", corpus, "-k", 2, *words, "--anneal", 30, "-o", "z.dcomp")
    assert wrong.code == 2
    assert "--burn-in 20" in wrong.err
