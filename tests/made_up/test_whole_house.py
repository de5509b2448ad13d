"""A prior that no file of the house has heard of goes through all of it: mean field, both
samplers, draws, storage, resuming, held-out scores, evidence, displays and the shell."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from made_up.exponential import ExponentialPoisson, ExponentialScores

import dcomp
from dcomp import evaluate, registry
from dcomp.data import FeatureSpace
from dcomp.models import Observations
from dcomp.recipe import Recipe
from dcomp.reference.enumeration import Posterior
from dcomp.reference.evidence import exact_log_evidence

SAMPLERS = ("gibbs", "collapsed-gibbs")
ALGORITHMS = ("mean-field", "stochastic-mean-field", *SAMPLERS)


@pytest.fixture(scope="module")
def corpus():
    """Counts of three components with rates that differ."""
    model = ExponentialPoisson.build(3, tau=[0.02, 0.05, 0.1], gamma=0.1)
    counts, _, _ = model.simulate(FeatureSpace.build(40), np.ones(300), np.random.default_rng(3))
    return counts


def make(algorithm, **options):
    defaults = {"max_iter": 30, "tol": 0, "gamma": 0.1, "verbose": 0}
    if algorithm in SAMPLERS:
        defaults |= {"burn_in": 10}
    return dcomp.DCA(3, model="EX", algorithm=algorithm, **(defaults | options))


def test_the_registry_reads_it_from_what_is_compiled():
    assert registry.supported()["EX"] == ALGORITHMS
    assert registry.model_key("exponential-poisson") == "EX"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_it_is_fitted_and_learns(corpus, algorithm):
    fit = make(algorithm, max_iter=60).fit(corpus).fit_
    assert isinstance(fit.model.scores, ExponentialScores)
    # τ was learned: a total of Σ 1/τ words in a document.
    assert (1 / fit.model.scores.tau).sum() == pytest.approx(corpus.doc_totals.mean(), rel=0.15)
    assert len(set(fit.model.scores.tau.round(6))) == 3
    given = Recipe(model="EX", n_components=3, tau=0.3, algorithm=algorithm).resolve(corpus)
    held = dcomp.fit(corpus, given.model, given.algorithm, max_iter=30, tol=0)
    assert held.model.scores.tau.tolist() == [0.3] * 3


def test_the_bound_never_falls(corpus):
    history = make("mean-field", max_iter=60).fit(corpus).history_["objective"]
    assert (np.diff(history) > -1e-6 * np.abs(history[1:])).all()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_files_and_resuming(corpus, algorithm, tmp_path):
    whole = make(algorithm, max_iter=30).fit(corpus).fit_
    part = make(algorithm, max_iter=17).fit(corpus).fit_
    dcomp.save(part, tmp_path / "part.dcomp")
    loaded = dcomp.load(tmp_path / "part.dcomp")
    assert loaded.model == part.model
    again = dcomp.fit(corpus, part.model, max_iter=30, tol=0, resume=loaded)
    assert np.array_equal(again.Theta, whole.Theta)
    assert np.array_equal(again.model.scores.tau, whole.model.scores.tau)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_any_number_of_threads(corpus, algorithm):
    one, three = (make(algorithm, n_jobs=n).fit(corpus).fit_ for n in (1, 3))
    assert np.array_equal(one.Theta, three.Theta)
    assert np.array_equal(one.transform(corpus, n_jobs=1), three.transform(corpus, n_jobs=3))


def test_chains_draws_and_annealing(corpus):
    fit = make("collapsed-gibbs", n_draws=4, n_chains=2, anneal=5, start="mean-field").fit(corpus)
    draws = fit.fit_.draws
    assert set(draws.hyper) == {"tau"}
    assert draws.hyper["tau"].shape == (2, 4, 3)
    assert draws.scores.shape == (2, 4, 300, 3)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_it_is_judged(corpus, algorithm):
    train, test = dcomp.data.train_test(corpus, 0.3, seed=1)
    fit = make(algorithm, max_iter=60).fit(train).fit_
    unigram = np.exp(
        -(test.feature_totals @ np.log((train.feature_totals + 1) / train.n_tokens)) / test.n_tokens
    )
    assert evaluate.completion(fit, test).perplexity < 0.92 * unigram
    assert evaluate.left_to_right(fit, test, particles=5).perplexity < unigram
    assert evaluate.diagnostics(fit, train).verdict
    assert np.isfinite(fit.bound(test)).all()
    assert 0 <= fit.negligible_scores(unit="normalised").share <= 1
    sampled = fit.sample_scores(test, n_draws=200)
    np.testing.assert_allclose(sampled.mean.sum(), fit.transform(test).sum(), rtol=0.05)
    assert evaluate.score_posterior(fit, test).mean_field is not None
    assert evaluate.predictive_check(fit, test, n_simulations=3) is not None


def tiny():
    model = ExponentialPoisson.build(2, tau=[0.5, 2.0], gamma=0.7)
    counts = dcomp.Counts.from_matrix([[2, 1, 0], [0, 1, 2]])
    return model, Observations.build(counts, [1.0, 1.5])


def test_the_evidence_is_that_of_enumeration():
    model, observed = tiny()
    found = evaluate.evidence(
        observed.counts, 2, model=model, exposure=[1.0, 1.5], n_sweeps=300, n_chains=32
    )
    exact = exact_log_evidence(model, observed)
    assert abs(found.log_evidence - exact) < 5 * found.standard_error + 1e-3


def test_the_token_sampler_follows_the_exact_posterior():
    """Means of c over many sweeps, against all assignments listed."""
    model, observed = tiny()
    posterior = Posterior(model, observed)
    p = np.exp(posterior.log_joint - posterior.log_joint.max())
    exact = np.tensordot(p / p.sum(), np.array([c for c, _ in posterior.tables]), axes=1)
    found = {}
    for name in SAMPLERS:
        algorithm = dcomp.inference.ALGORITHMS[name](burn_in=200)
        fit = dcomp.fit(
            observed.counts, model, algorithm, exposure=[1.0, 1.5], max_iter=20_200, tol=0
        )
        found[name] = fit.expected_counts
    for name, c in found.items():
        np.testing.assert_allclose(c, exact, atol=0.06, err_msg=name)


SHELL = """
    import sys
    sys.path.insert(0, {tests!r})
    from dcomp.models import MODELS
    from made_up.exponential import ExponentialPoisson
    MODELS["EX"] = ExponentialPoisson
    from dcomp.cli.main import main
    sys.exit(main(sys.argv[1:]))
"""


def test_the_shell(corpus, tmp_path):
    lines = [",".join(["id", *(f"w{j}" for j in range(40))])]
    table = corpus.to_scipy().toarray()
    lines += [f"d{i}," + ",".join(map(str, row)) for i, row in enumerate(table)]
    (tmp_path / "counts.csv").write_text("\n".join(lines))
    program = textwrap.dedent(SHELL.format(tests=str(Path(__file__).parents[1])))

    def dcomp_(*arguments):
        paths = [os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(":") if p]
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": ":".join(paths), "COLUMNS": "80"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    out = dcomp_("fit", "counts.csv", "-k", "3", "--model", "EX", "--save-config", "run.toml")
    assert "EX" in out
    assert "tau" in out
    assert "counts.dcomp" in out
    dcomp_("fit", "counts.csv", "--config", "run.toml", "--tau", "0.25", "-q", "-o", "b.dcomp")
    assert dcomp.load(tmp_path / "b.dcomp").model.scores.tau.tolist() == [0.25] * 3
    assert "--tau" in dcomp_("fit", "--help")
    assert "perplexity" in dcomp_("evaluate", "counts.dcomp", "counts.csv")
    assert "EX" in dcomp_("models")
    dcomp_("transform", "counts.dcomp", "counts.csv", "-o", "scores.csv")
    assert len((tmp_path / "scores.csv").read_text().splitlines()) == 301
