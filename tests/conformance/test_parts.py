"""A corpus in parts, over every cell of the registry: the same parts give the same bits wherever
they are worked on, and another cut agrees to rounding, or to the bit where it can."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from support.cells import CELLS, make, same
from support.processes import Processes

import dcomp
from dcomp import evaluate
from dcomp.executors import LocalExecutor
from dcomp.inference import ALGORITHMS, CollapsedGibbs
from dcomp.models import DirichletMultinomial, Observations, Tree, TreeMultinomial, scratch
from dcomp.recipe import Recipe

pytestmark = pytest.mark.usefixtures("short_starts_of_laplace")
every_cell = pytest.mark.parametrize(("key", "algorithm"), CELLS)
left_to_right = partial(evaluate.left_to_right, particles=2)
ONE, SEVEN = LocalExecutor(1), LocalExecutor(7)
# What the priors of each model are where they are given, so that nothing is learned.
GIVEN = {
    "DM": {"alpha": 0.3},
    "GP": {"alpha": 0.3, "beta": 0.02},
    "CGP": {"alpha": 0.4, "beta": 0.02, "rho": 0.3},
    "TM": {},
}


@pytest.fixture(scope="module")
def processes():
    with Processes() as executor:
        yield executor


@pytest.fixture(scope="module")
def counts(planted) -> dcomp.Counts:
    """With copies of documents far apart, and some that are empty."""
    return planted[0].rows([*range(120), *range(20), 17])


def estimator(key, algorithm, **options):
    if (key, algorithm) == ("GP", "ml"):  # by coordinate descent it takes one part
        kept = {name: options[name] for name in ("max_iter", "random_state") if name in options}
        settings = {"max_iter": 8, "tol": 0, "verbose": 0} | kept
        return dcomp.NMF(4, solver="multiplicative", **settings)
    return make(key, algorithm, **options)


def fitted(chosen, counts, executor=ONE, **more):
    """What the estimator would fit, wherever the parts are worked on."""
    recipe = Recipe.from_options(**chosen._given()).resolve(counts)
    settings = vars(recipe.settings) | more
    return dcomp.fit(counts, recipe.model, recipe.algorithm, **settings, executor=executor)


@every_cell
def test_the_same_parts_give_the_same_bits_anywhere(key, algorithm, counts, processes):
    """Long enough for a sampler to learn its priors, to record and to keep a draw, and for mean
    field to learn."""
    samples = ALGORITHMS[algorithm].samples
    how = {"max_iter": 7 if samples else 13} | ({"n_draws": 1} if samples else {})
    cut, before = counts.in_parts(3), processes.n_calls
    one, seven, apart = (
        fitted(estimator(key, algorithm, **how), cut, where) for where in (ONE, SEVEN, processes)
    )
    assert same(one, seven)
    assert same(one, apart)
    assert processes.n_calls >= before + how["max_iter"]
    assert apart.state.firsts == cut.firsts
    if samples:
        for name in ("scores", "Theta", "assignments"):
            first, other = (getattr(fit.draws, name) for fit in (one, apart))
            assert (first is None) == (other is None)
            assert first is None or np.array_equal(first, other)


@every_cell
def test_a_file_gives_the_bits_of_its_parts(key, algorithm, counts, tmp_path, monkeypatch):
    """With every array of the documents in scratch files."""
    monkeypatch.setattr(scratch, "SMALL", 1)
    samples = ALGORITHMS[algorithm].samples
    how = {"max_iter": 7 if samples else 13} | ({"n_draws": 1} if samples else {})
    cut = counts.in_parts(3)
    dcomp.write(cut, tmp_path / "x.dcounts")
    plain, filed = (
        fitted(estimator(key, algorithm, **how), X)
        for X in (cut, dcomp.open(tmp_path / "x.dcounts"))
    )
    assert same(plain, filed)
    assert filed.state.firsts == cut.firsts
    assert not filed.state.c.size or scratch.owner_of(filed.state.c) is not None


@pytest.mark.filterwarnings("ignore::dcomp.errors.ConvergenceWarning")  # of documents of ST
@every_cell
def test_judging_parts_gives_the_same_bits_anywhere(key, algorithm, counts, processes):
    fit = fitted(estimator(key, algorithm), counts)
    cut = counts.in_parts(3)
    asked = [
        lambda X, where: fit.transform(X, executor=where),
        lambda X, where: evaluate.completion(fit, X, executor=where).per_document,
    ]
    can = fit.model.scores.capabilities
    if can.sampling:
        asked.append(lambda X, where: fit.sample_scores(X, n_draws=3, executor=where).mean)
    if can.left_to_right and can.proper and not key.startswith("ST document"):
        asked.append(
            lambda X, where: (
                evaluate.left_to_right(fit, X, particles=2, executor=where).per_document
            )
        )
    if can.bound:
        asked.append(lambda X, where: fit.bound(X, executor=where))
    for ask in asked:
        whole = ask(counts, ONE)
        for where in (ONE, SEVEN, processes):
            assert np.array_equal(ask(cut, where), whole)


@pytest.mark.parametrize("key", GIVEN)
def test_no_cut_changes_direct_gibbs_with_given_priors(key, counts):
    """Counts are whole numbers and random numbers are named by document."""
    chosen = make(key, "gibbs", **GIVEN[key], n_draws=2, max_iter=9)
    whole, cut = fitted(chosen, counts), fitted(chosen, counts.in_parts(4))
    for name in ("Theta", "scores", "expected_counts"):
        assert np.array_equal(getattr(whole, name), getattr(cut, name))
    assert np.array_equal(whole.draws.scores, cut.draws.scores)
    np.testing.assert_allclose(whole.history["objective"], cut.history["objective"], rtol=1e-12)


@pytest.mark.parametrize(
    ("key", "algorithm"), [cell for cell in CELLS if cell[1] != "collapsed-gibbs"]
)
def test_one_step_agrees_with_the_uncut(key, algorithm, counts):
    chosen = estimator(key, algorithm, max_iter=12)
    fit = fitted(chosen, counts)
    whole, cut = Observations(counts), Observations(counts.in_parts(3))
    straight, info = fit.algorithm.step(whole, fit.state, ONE)
    in_parts, other = fit.algorithm.step(cut, fit.state.cut(cut.parts), ONE)
    assert info.objective == pytest.approx(other.objective, rel=1e-6)
    np.testing.assert_allclose(in_parts.n, straight.n, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(in_parts.c, straight.c, rtol=1e-5, atol=1e-5)
    for one, same_one in zip(
        straight.model.scores.parameters(), in_parts.model.scores.parameters(), strict=True
    ):
        np.testing.assert_allclose(one.value, same_one.value, rtol=1e-5)


@pytest.mark.filterwarnings("ignore::dcomp.errors.ConvergenceWarning")  # of documents of ST
@pytest.mark.filterwarnings("ignore::dcomp.errors.FlatTreeWarning")
@pytest.mark.parametrize("key", [key for key, name in CELLS if name == "collapsed-gibbs"])
def test_stale_counts_predict_as_well(key, planted):
    """The collapsed sampler of several parts is approximate, says so, and judged by its completion
    of other documents it is none the worse."""
    train, test = dcomp.data.train_test(planted[0], 0.3, seed=1)
    chosen = make(key, "collapsed-gibbs", max_iter=80, burn_in=40)
    whole, cut = fitted(chosen, train), fitted(chosen, train.in_parts(5))
    assert not whole.is_approximate
    assert cut.is_approximate
    score, other = (evaluate.completion(fit, test) for fit in (whole, cut))
    assert abs(score.log_likelihood - other.log_likelihood) < 2 * score.standard_error
    assert cut.state.n.sum() == cut.state.c.sum() == train.n_tokens


@every_cell
def test_resuming_parts_is_one_long_run(key, algorithm, counts, tmp_path, processes):
    cut = counts.in_parts(3)
    whole = fitted(estimator(key, algorithm, max_iter=20), cut)
    part = fitted(estimator(key, algorithm, max_iter=9), cut, processes)
    dcomp.save(part, tmp_path / "part.dcomp")
    loaded = dcomp.load(tmp_path / "part.dcomp")
    assert loaded.state.firsts == cut.firsts
    assert loaded.is_approximate == (algorithm == "collapsed-gibbs")
    # The uncut counts will do: a fit knows its parts.
    again = dcomp.fit(counts, part.model, max_iter=20, tol=0, resume=loaded)
    assert same(whole, again)
    with pytest.raises(dcomp.InvalidParameter, match="in the parts it was begun with, 3; these"):
        dcomp.fit(counts.in_parts(2), part.model, max_iter=20, resume=loaded)


@every_cell
def test_estimators_take_parts(key, algorithm, counts):
    if (key, algorithm) == ("GP", "ml"):
        with pytest.raises(dcomp.UnsupportedCombination, match="in 3 parts: give solver='multip"):
            make(key, algorithm).fit(counts.in_parts(3))
    chosen = estimator(key, algorithm)
    assert same(chosen.fit(counts.in_parts(3)).fit_, fitted(chosen, counts.in_parts(3)))


def test_chains_of_a_selection_run_anywhere_and_are_kept(counts, processes, tmp_path, monkeypatch):
    counts = counts.rows(slice(0, 40))
    how = {"n_chains": 2, "max_iter": 20, "with_evidence": True, "keep": tmp_path}
    seen: list[tuple[int, int]] = []
    apart = evaluate.select_components(
        counts, [1, 3], **how, executor=processes, on_progress=lambda *done: seen.append(done)
    )
    # Of two K two chains each, which then meet, and two steps of the evidence of each.
    assert seen == [(n + 1, 10) for n in range(10)]
    grid = evaluate.select_chains.grid_name([1, 3])
    names = {f"K{K}-{n}" for K in (1, 3) for n in ("chain0", "chain1", f"evidence-200x4-{grid}")}
    names |= {f"ladder{grid}-chain{chain}" for chain in (0, 1)}
    assert {path.stem for path in tmp_path.iterdir()} == names
    for name in ("_fit_and_score", "_climb"):  # all are found
        monkeypatch.setattr(evaluate.select_chains, name, None)
    steps: list[tuple[int, int]] = []
    kept = evaluate.select_components(
        counts, [1, 3], **how, n_jobs=2, on_progress=lambda *done: steps.append(done)
    )
    assert steps == seen
    monkeypatch.undo()
    cut = counts.in_parts(3)
    here = evaluate.select_components(cut, [1, 3], **how | {"keep": None}, n_jobs=2)
    assert str(apart) == str(kept) == str(here)


def test_the_evidence_does_not_depend_on_where_its_chains_run(processes):
    X = [[4, 3, 0, 0], [5, 2, 0, 1], [0, 0, 6, 3], [0, 1, 4, 4]]
    how = {"alpha": 0.5, "gamma": 0.5, "n_sweeps": 60, "n_chains": 5, "n_starts": 1}
    found = [
        evaluate.evidence(X, 2, **how, executor=where).per_chain
        for where in (ONE, SEVEN, processes)
    ]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_tempered_em_needs_tokens_on_both_sides_of_its_split(planted):
    with pytest.raises(dcomp.InvalidParameter, match="leaves nothing on one side"):
        dcomp.PLSA(2, held_out=0.01, verbose=0).fit([[1, 0], [0, 1]])


@pytest.mark.parametrize(
    "model",
    [
        DirichletMultinomial.build(40, alpha=0.1, gamma=0.1),
        TreeMultinomial.build(Tree.complete(41, 3), gamma=0.1),
    ],
    ids=["DM", "TM"],
)
def test_lists_of_components_follow_from_the_state_alone(counts, processes, model):
    """What a sparse sweep draws must not depend on the sweeps that led to its counts: a worker that
    has lost them, and a fit that goes on, draw what the others do."""
    sampler = CollapsedGibbs(burn_in=3, sparse=True)
    for corpus in (counts, counts.in_parts(3)):
        here, apart = (
            dcomp.fit(corpus, model, sampler, max_iter=12, executor=where)
            for where in (ONE, processes)
        )
        part = dcomp.fit(corpus, model, sampler, max_iter=7)
        again = dcomp.fit(corpus, model, max_iter=12, resume=part)
        assert np.array_equal(here.state.z, apart.state.z)
        assert np.array_equal(here.state.z, again.state.z)
        assert same(here, apart)
