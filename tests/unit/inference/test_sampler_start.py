"""How a chain begins: from mean field, annealed; and what it may learn of the loadings."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln

import dcomp
from dcomp.data import Counts
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.executors import LocalExecutor
from dcomp.inference import ALGORITHMS, CollapsedGibbs, Gibbs, MeanField
from dcomp.inference.sampler_start import HEAT, heated
from dcomp.models import (
    MODELS,
    DirichletLoadings,
    DirichletMultinomial,
    Observations,
    Structure,
    Tree,
)
from dcomp.models.learning import polya_gamma
from dcomp.recipe import Recipe
from dcomp.result import fit
from dcomp.result.fitting import chain_seeds

KEYS = ("DM", "GP", "CGP")


@pytest.fixture(scope="module")
def planted():
    """Four components that are easy to tell apart."""
    rng = np.random.default_rng(5)
    Theta = np.kron(np.eye(4), np.full(15, 1.0)) + 0.02
    scores = rng.dirichlet(np.full(4, 0.2), size=300)
    rates = scores @ (Theta / Theta.sum(axis=1, keepdims=True))
    return Counts.from_matrix(np.array([rng.multinomial(40, p) for p in rates]))


def model_of(key, K=4):
    return MODELS[key].build(K, alpha=0.3, gamma=0.05)


@pytest.mark.parametrize("algorithm", [Gibbs, CollapsedGibbs])
@pytest.mark.parametrize("key", KEYS)
def test_a_mean_field_start_is_near_a_mode(planted, key, algorithm):
    observed = Observations.build(planted)
    first = {}
    for start in ("random", "mean-field"):
        sampler = algorithm(start=start)
        state = sampler.init(model_of(key), observed, 3)
        _, info = sampler.step(observed, state, LocalExecutor(1))
        first[start] = info.objective / planted.n_tokens
    assert first["mean-field"] > first["random"] + 0.3


@pytest.mark.parametrize("algorithm", [Gibbs, CollapsedGibbs])
def test_a_mean_field_start_does_not_depend_on_threads(planted, algorithm):
    observed, sampler = Observations.build(planted), algorithm(start="mean-field")
    states = [
        sampler.finish(
            observed, sampler.init(model_of("GP"), observed, 3, LocalExecutor(n)), LocalExecutor(n)
        )
        for n in (1, 3)
    ]
    np.testing.assert_array_equal(states[0].c, states[1].c)
    np.testing.assert_array_equal(states[0].n, states[1].n)
    assert states[0].c.sum() == states[0].n.sum() == planted.n_tokens


@pytest.fixture(scope="module")
def genotypes():
    """Dense, with 237 alleles a person."""
    return dcomp.datasets.genotypes(80, 120, seed=1).counts


def first_rows(counts, sampler, seed=3, sweeps=3, **options):
    fitted = fit(counts, model_of("DM", 3), sampler, seed=seed, max_iter=sweeps, **options)
    return [row.objective for row in fitted.history.rows]


@pytest.mark.parametrize("algorithm", [Gibbs, CollapsedGibbs])
def test_auto_begins_near_a_mode_where_documents_are_long_and_the_table_is_dense(
    planted, genotypes, algorithm
):
    def begins_like(counts, start, **options):
        told = first_rows(counts, algorithm(start=start, **options))
        return first_rows(counts, algorithm(**options)) == told

    assert begins_like(genotypes, "mean-field")
    assert not begins_like(genotypes, "random")
    assert begins_like(genotypes, "random", anneal=2)  # it would only be shaken
    assert begins_like(planted, "random")  # 40 words a document
    sparse = dcomp.datasets.text(60, 1500, length=200.0).counts
    assert sparse.n_tokens > 100 * sparse.n_docs
    assert begins_like(sparse, "random")


def test_trees_begin_at_random_unless_told(genotypes):
    tree = MODELS["TM"].build(Tree.regular(branching=2, depth=2))
    rows = [
        fit(genotypes, tree, CollapsedGibbs(start=start), seed=3, max_iter=2).history.rows
        for start in ("auto", "random")
    ]
    assert [row.objective for row in rows[0]] == [row.objective for row in rows[1]]


@pytest.mark.parametrize("algorithm", [Gibbs, CollapsedGibbs])
def test_chains_after_the_first_begin_apart(genotypes, planted, algorithm):
    """Each is the fit of its seed from a start of its own, and the fit that is kept says which."""
    sampler, seeds = algorithm(burn_in=2), chain_seeds(3, 3)
    both = fit(genotypes, model_of("DM", 3), sampler, seed=3, max_iter=4, n_chains=3)
    for number, (seed, trace) in enumerate(zip(seeds, both.chains, strict=True)):
        own = algorithm(burn_in=2, start="seeded" if number else "auto")
        assert [row.objective for row in trace.rows] == first_rows(genotypes, own, seed, 4)
    assert both.algorithm.start == ("auto" if both.seed == 3 else "seeded")
    again = fit(genotypes, model_of("DM", 3), both.algorithm, seed=both.seed, max_iter=4)
    assert np.array_equal(again.scores, both.scores)
    told = algorithm(burn_in=2, start="mean-field")
    observed = Observations.build(genotypes)
    assert told.apart(model_of("DM", 3), observed) == told  # who says where is obeyed
    assert sampler.apart(model_of("DM"), Observations.build(planted)) == sampler


def test_chains_that_rest_apart_are_told_of():
    """People of weak structure: near the mode of the spectrum, and where seeds lead."""
    counts = dcomp.datasets.genotypes(120, 300, seed=0).counts
    model = DirichletMultinomial.build(3, learn_alpha=True)
    with pytest.warns(dcomp.ConvergenceWarning, match="not settled.*of 3 chains"):
        fit(counts, model, CollapsedGibbs(burn_in=50), max_iter=100, n_chains=3)


@pytest.mark.parametrize("algorithm", [Gibbs, CollapsedGibbs])
def test_a_chain_by_default_is_the_same_on_any_threads_and_resumes(genotypes, algorithm, tmp_path):
    model, sampler = model_of("DM", 3), algorithm(burn_in=2)
    whole = fit(genotypes, model, sampler, seed=5, max_iter=6, n_jobs=1)
    first = fit(genotypes, model, sampler, seed=5, max_iter=3, n_jobs=3)
    dcomp.save(first, tmp_path / "first.dcomp")
    resumed = fit(genotypes, model, max_iter=6, resume=dcomp.load(tmp_path / "first.dcomp"))
    assert np.array_equal(resumed.scores, whole.scores)
    assert np.array_equal(resumed.Theta, whole.Theta)


def test_a_mode_of_people_who_are_all_alike_is_not_taken_over():
    """Where mean field learns that all shares are even, a chain would never leave such a prior."""
    rng = np.random.default_rng(0)
    counts = Counts.from_matrix(rng.multinomial(150, np.full(12, 1 / 12), size=60))
    model = DirichletMultinomial.build(3, alpha=0.3, learn_alpha=True)
    observed = Observations.build(counts)
    state = CollapsedGibbs(start="mean-field").init(model, observed, 0)
    assert state.model.scores.alpha.sum() <= model.scores.alpha.sum()


def test_mean_field_hands_over_what_it_has_learned(planted):
    learning = DirichletMultinomial.build(4, alpha=1.0, gamma=0.05, learn_alpha=True)
    state = CollapsedGibbs(start="mean-field").init(learning, Observations.build(planted), 0)
    assert state.model.scores.learn_alpha
    assert state.model.scores.alpha.sum() < 2  # planted: 0.8 in all


@pytest.mark.parametrize("key", KEYS)
def test_annealing_ends_at_the_model_itself(key):
    model = model_of(key)
    steps = [heated(model, sweep, 10) for sweep in (1, 5, 10, 11)]
    strengths = [float(step.scores.alpha[0] / model.scores.alpha[0]) for step in steps]
    assert strengths[0] == pytest.approx(HEAT)
    assert strengths == sorted(strengths, reverse=True)
    assert steps[-1] is model
    gammas = [float(step.loadings.gamma / model.loadings.gamma) for step in steps]
    np.testing.assert_allclose(gammas, strengths)
    if key != "DM":
        means = [float((step.scores.alpha / step.scores.beta)[0]) for step in steps]
        np.testing.assert_allclose(means, means[0])


@pytest.mark.parametrize("algorithm", [Gibbs, CollapsedGibbs])
def test_annealed_sweeps_are_freer_and_learn_nothing(planted, algorithm):
    """The same seed: what differs is the heat."""
    model = DirichletMultinomial.build(4, alpha=0.3, gamma=0.05, learn_alpha=True)
    runs = {
        anneal: fit(planted, model, algorithm(burn_in=30, anneal=anneal), max_iter=12)
        for anneal in (0, 30)
    }
    early = {anneal: run.history.rows[3].objective for anneal, run in runs.items()}
    assert early[30] < early[0]
    np.testing.assert_array_equal(runs[30].model.scores.alpha, model.scores.alpha)
    assert (runs[0].model.scores.alpha != model.scores.alpha).all()


def test_an_annealed_chain_resumes_bit_for_bit(planted):
    sampler, model = CollapsedGibbs(burn_in=10, anneal=8), model_of("CGP")
    whole = fit(planted, model, sampler, max_iter=14)
    part = fit(planted, model, sampler, max_iter=5)
    assert (fit(planted, model, max_iter=14, resume=part).state.z == whole.state.z).all()


def test_wrong_ways_to_begin():
    with pytest.raises(InvalidParameter, match="auto, random, mean-field, seeded; got 'lda'"):
        CollapsedGibbs(start="lda")
    with pytest.raises(InvalidParameter, match=r"between 0 and burn_in = 10.*got 11"):
        Gibbs(burn_in=10, anneal=11)
    with pytest.raises(InvalidParameter, match="one of auto, seeded, spectral; got 'random'"):
        MeanField(start="random")
    with pytest.raises(UnsupportedCombination, match="anneal= is an option of the samplers"):
        Recipe(model=model_of("DM"), algorithm="mean-field", anneal=3)


def log_p(gamma, n, blocks):
    """log p(n | γ), symmetric Dirichlets integrated out."""
    value = (gammaln(gamma + n) - gammaln(gamma)).sum()
    for g in np.unique(blocks):
        total, own = gamma * (blocks == g).sum(), n[blocks == g].sum(axis=0)
        value += (gammaln(total) - gammaln(total + own)).sum()
    return value


@pytest.mark.parametrize(
    "blocks",
    [np.zeros(30, np.int32), np.repeat([0, 1, 2], 10), np.minimum(np.arange(30), 2)],
    ids=["one", "equal", "two of a single feature"],
)
def test_each_step_for_gamma_raises_its_likelihood(blocks):
    rng = np.random.default_rng(0)
    n = rng.poisson(rng.gamma(0.2, 20.0, size=(30, 4)))
    for begin in (1e-3, 0.2, 30.0):
        path = [begin]
        for _ in range(200):
            path.append(polya_gamma(path[-1], n, blocks.astype(np.int32), n_steps=1)[0])
        values = np.array([log_p(gamma, n, blocks) for gamma in path])
        assert (np.diff(values) > -1e-9 * abs(values[0])).all()
        grid = np.exp(np.linspace(-4, 2, 200)) * path[-1]
        assert values[-1] >= max(log_p(gamma, n, blocks) for gamma in grid) - 1e-6


@pytest.mark.parametrize("algorithm", ["gibbs", "collapsed-gibbs"])
def test_gamma_is_learned_on_request(algorithm):
    """Loadings drawn with γ = 0.1: from a start of 5 it comes back."""
    rng = np.random.default_rng(1)
    truth = DirichletMultinomial.build(4, alpha=0.2, gamma=0.1)
    features = dcomp.Counts.from_matrix(np.ones((1, 200), int)).features
    counts, *_ = truth.simulate(features, np.full(300, 80), rng)
    far = DirichletMultinomial.build(4, alpha=0.2).with_loadings(DirichletLoadings(5.0, True))
    sampler = Recipe(model=far, algorithm=algorithm).resolve(counts).algorithm
    learned = fit(counts, far, sampler, max_iter=200)
    assert 0.05 < float(learned.model.loadings.gamma) < 0.2
    still = fit(counts, truth, max_iter=3, tol=0, algorithm=CollapsedGibbs(burn_in=1))
    assert float(still.model.loadings.gamma) == 0.1


def test_a_learned_gamma_is_kept_drawn_saved_and_refused(tmp_path, planted):
    model = dcomp.DCA(
        4, algorithm="collapsed-gibbs", gamma="auto", max_iter=40, n_draws=5, verbose=0
    )
    fitted = model.fit(planted).fit_
    assert fitted.draws.hyper["gamma"].shape == (1, 5)
    dcomp.save(fitted, tmp_path / "a.dcomp")
    again = dcomp.load(tmp_path / "a.dcomp")
    assert again.model.loadings.learned
    assert again.model.loadings.gamma == fitted.model.loadings.gamma
    np.testing.assert_array_equal(again.draws.hyper["gamma"], fitted.draws.hyper["gamma"])
    resumed = fit(planted, again.model, max_iter=50, resume=again)
    direct = fit(planted, fitted.model, max_iter=50, resume=fitted)
    assert resumed.model.loadings.gamma == direct.model.loadings.gamma
    with pytest.raises(UnsupportedCombination, match="mean-field needs a number"):
        dcomp.LDA(2, gamma="auto", verbose=0).fit(planted)
    with pytest.raises(InvalidParameter, match="one number for all features; got 2"):
        DirichletLoadings([0.1, 0.2], learned=True)
    with pytest.raises(InvalidParameter, match="gamma must be 'empirical', 'auto'"):
        Recipe(gamma="learned")
    assert (
        not MeanField().init(model_of("DM"), Observations.build(planted), 0).model.loadings.learned
    )


@pytest.mark.parametrize("name", ["gibbs", "collapsed-gibbs"])
@pytest.mark.parametrize("key", ["DM", "ST"])
def test_a_documents_tokens_begin_alike_whatever_follows_it(planted, name, key):
    """Random numbers are named by the document's number, not by the tokens before it."""
    if (key, name) == ("ST", "gibbs"):
        pytest.skip("ST has no direct sampler")
    model = MODELS[key].build(3 if key == "DM" else Structure.from_parents([2, 2, -1]))
    algorithm, found = ALGORITHMS[name](), []
    for last in (300, 100):
        observed = Observations.build(planted.rows(slice(0, last)))
        state = algorithm.finish(observed, algorithm.init(model, observed, 4), LocalExecutor(1))
        found.append(state.c[:100])
    assert np.array_equal(*found)
    words = found[0].sum(axis=0) / found[0].sum()
    if key == "DM":  # and evenly: 6,000 tokens, five standard errors
        np.testing.assert_allclose(words, 1 / 3, atol=0.031)


def test_annealing_makes_zeros_as_rare_as_it_makes_priors_strong():
    """Means stay, α / β among them; ρ times the heat would be no probability."""
    model = MODELS["CGP"].build(2, alpha=0.4, beta=[0.5, 2.0], rho=0.6)
    first, later = heated(model, 1, 10).scores, heated(model, 8, 10).scores
    np.testing.assert_allclose(first.rho, 0.6 / HEAT)
    np.testing.assert_allclose(first.alpha, 0.4 * HEAT)
    np.testing.assert_allclose(first.alpha / first.beta, model.scores.alpha / model.scores.beta)
    assert (first.rho < later.rho).all()
    assert (later.rho < 0.6).all()
    assert heated(model, 11, 10) == model
