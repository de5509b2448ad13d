"""The way up: extrapolation, what is left to gain, saddles, and documents in the worse optimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import gammaln

import dcomp
from dcomp import datasets
from dcomp.data import train_test
from dcomp.executors import LocalExecutor
from dcomp.inference import MapEM, MaximumLikelihood, MeanField, Rule, Run, ascent, run
from dcomp.inference.ascent import Ascent, has_twins, path_of
from dcomp.inference.momentum import further
from dcomp.inference.path import CLIMB, DONE, MEASURE, PUSH, REFOLD, Path
from dcomp.inference.stopping import NEVER, noise_of, shares_to_come, to_come
from dcomp.models import DirichletMultinomial, DirichletScores, GammaPoisson, Observations

ONE = LocalExecutor(1)


@pytest.fixture(scope="module")
def votes():
    return datasets.votes(seed=3).counts


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (4001, 9)])
def test_the_step_against_numpy(dtype, shape):
    rng = np.random.default_rng(0)
    x0, x1 = (rng.gamma(1.0, 1.0, shape).astype(dtype) for _ in range(2))
    x1[0, 0] = x0[0, 0] / 20  # the floor
    end, step = x1.astype(np.float64), x1.astype(np.float64) - x0
    found = further(x0, x1, 0.9, 1)
    falling = end**2 / (end - 0.9 * np.minimum(step, 0))
    ahead = np.maximum(np.where(step < 0, falling, end + 0.9 * step), 0.1 * end)
    assert found[0, 0] == pytest.approx(0.1 * end[0, 0])
    np.testing.assert_allclose(found, ahead, rtol=1e-6 if dtype == "float32" else 1e-12)
    assert np.array_equal(found, further(x0, x1, 0.9, 3))
    assert (found > 0).all()
    assert further(np.zeros((1, 1)), np.zeros((1, 1)), 0.9, 1) == 0  # and no NaN


def test_points_of_other_shapes_are_refused():
    with pytest.raises(ValueError, match="each of the points must have the shape"):
        further(np.ones((2, 3)), np.ones((2, 2)), 0.5, 1)


def test_what_is_to_come():
    gains = 5.0 * 0.9 ** np.arange(10)
    assert to_come(gains) == pytest.approx(gains[-1] * 0.9 / 0.1)
    assert to_come(np.ones(10)) == NEVER
    assert to_come(1.1 ** np.arange(10)) == NEVER
    assert to_come(np.zeros(10)) == 0
    rng = np.random.default_rng(1)
    noisy = np.array([noise_of(gains + rng.normal(0, 0.01, 10)) for _ in range(300)])
    assert np.median(noisy) == pytest.approx(0.01, rel=0.2)


def test_slow_directions_show_over_many_sweeps():
    """Gains of 1/t² look done beside a geometric rate; twice the last ones are never promised."""
    path = Path()
    for t in range(1, 301):
        path = path.swept_to(-1000.0 / t)
    assert path.to_come(15, 2.0) > 0.5 * 1000.0 / 300 * 0.1
    assert path.to_come(15, 2.0) >= 2 * path.gained(15) > 0
    assert Path().gained(15) == np.inf
    still = path
    for _ in range(40):
        still = still.swept_to(path.objective)
    assert still.to_come(15, 2.0) == 0


FITS = [
    (GammaPoisson.build(4, alpha=0.3, beta=0.1, gamma=0.1), MeanField()),
    (DirichletMultinomial.build(4, alpha=0.3, gamma=0.5, learn_alpha=True), MeanField()),
    (DirichletMultinomial.build(4, alpha=1.0, gamma=1.0), MapEM()),
    (GammaPoisson.build(4, alpha=1.0, beta=0.0, gamma=1.0), MaximumLikelihood()),
]


@pytest.mark.parametrize(("model", "algorithm"), FITS, ids=["GP", "DM", "map", "ml"])
def test_no_sweep_falls_and_ten_times_as_many_gain_little(model, algorithm):
    counts = datasets.cells(seed=1).counts.rows(slice(0, 200))
    fit = dcomp.fit(counts, model, algorithm)
    assert fit.reason in ("converged", "rounding")
    objective = fit.history["objective"]
    size = max(abs(objective[-1]), counts.n_tokens)
    assert np.diff(objective[:-1]).min() > -2e-7 * size
    shown = objective[-2] - fit.remaining.apart * counts.n_docs  # documents as new ones
    assert objective[-1] == pytest.approx(shown, abs=2e-7 * size)
    longer = dcomp.fit(counts, model, tol=0, max_iter=10 * fit.n_sweeps, resume=fit, warn=False)
    assert longer.objective - fit.objective < 0.25 * counts.n_docs
    assert fit.remaining.gain < 0.05 or fit.reason == "rounding"
    assert fit.remaining.shares < 0.01


def test_accelerated_sweeps_are_ahead_of_plain_ones(votes):
    model, observed = FITS[2][0], Observations.build(votes)
    algorithm = MapEM()
    state = algorithm.init(model, observed, 0, ONE)
    for _ in range(60):
        state, info = algorithm.step(observed, state, ONE)
    fast = run(model, algorithm, observed, ONE, max_iter=60, stopping=Rule(0))
    assert fast.history[-1].objective > info.objective


@pytest.mark.parametrize("every", [1, 7])
def test_a_climb_can_stop_and_go_on_at_any_sweep(votes, every):
    """In every stage: what a step carries is in the state."""
    model, observed, rule = FITS[1][0], Observations.build(votes), Rule(0.05)
    whole = run(model, MeanField(), observed, ONE, stopping=rule, max_iter=500)
    kept, stages = None, set()
    for stop in range(every, len(whole.history) + every, every):
        kept = run(
            model,
            MeanField(),
            observed,
            ONE,
            stopping=rule,
            max_iter=min(stop, len(whole.history)),
            resume=kept,
            warn=False,
        )
        stages.add(path_of(kept.state).stage)
    assert {row.objective for row in kept.history} == {row.objective for row in whole.history}
    assert np.array_equal(kept.state.n, whole.state.n)
    assert np.array_equal(kept.state.c, whole.state.c)
    if every == 1:
        assert stages == {CLIMB, MEASURE, REFOLD, PUSH, DONE}


def test_a_saddle_is_left():
    """Where two components are the same, no sweep tells them apart; a push does."""
    counts = datasets.votes(seed=0).counts
    model, observed = (
        DirichletMultinomial.build(2, alpha=0.5, gamma=0.5),
        Observations.build(counts),
    )
    algorithm = MeanField(start="seeded", gentle_sweeps=0, learn_after=0)
    state = algorithm.init(model, observed, 0, ONE)
    half = np.repeat(observed.feature_totals[:, None] / 2.0, 2, axis=1).astype(np.float32)
    c = np.repeat(counts.doc_totals[:, None] / 2.0, 2, axis=1).astype(np.float32)
    state = replace(
        state, shared=replace(state.shared, n=half), locals=[replace(state.locals[0], c=c)]
    )
    after, info = algorithm.step(observed, state, ONE)
    again, same = algorithm.step(observed, after, ONE)
    assert same.objective == pytest.approx(info.objective, abs=1e-3 * counts.n_docs)
    assert has_twins(again.n)
    begun = Run(again, (info, same), "limit")
    found = run(model, algorithm, observed, ONE, max_iter=500, resume=begun)
    assert found.reason == "converged"
    assert not has_twins(found.state.n)
    assert found.history[-1].objective > same.objective + 5 * counts.n_docs


def test_documents_of_a_small_collection_part():
    """A few hundred texts: α learned freely from documents that still look alike keeps them so."""
    counts, _ = train_test(datasets.text(seed=1).counts, 0.1, seed=0)
    gains = []
    for K in (10, 20):
        free, held = (
            dcomp.DCA(K, algorithm=MeanField(part_sweeps=sweeps, n_tries=1), verbose=0)
            .fit(counts)
            .fit_
            for sweeps in (0, MeanField().part_sweeps)
        )
        assert not has_twins(held.state.n)
        assert held.model.scores.alpha.mean() < 0.2
        gains.append(held.history[-1]["objective"] - free.history[-1]["objective"])
    assert max(gains) > 10 * counts.n_docs  # or free ones had parted, too


def test_a_restrained_step_of_alpha_does_not_lower_its_likelihood():
    rng = np.random.default_rng(0)
    logs = np.log(rng.dirichlet([30.0, 20.0, 40.0], 200)).mean(axis=0)

    def likelihood(alpha):
        return gammaln(alpha.sum()) - gammaln(alpha).sum() + (alpha - 1) @ logs

    scores = DirichletScores.build(3, 0.3, learn_alpha=True)
    learned, _ = scores.learn_from_moments(200 * logs, np.zeros(3), 200)
    held = scores.restrained(learned)
    assert held.alpha.mean() == pytest.approx(2.0)
    assert likelihood(scores.alpha) < likelihood(held.alpha) < likelihood(learned.alpha)
    assert held.restrained(learned).alpha.mean() == pytest.approx(2.0)  # and no further


def test_documents_leave_the_worse_of_two_optima():
    """With small α a document may be caught where it began: an even start shows the better end."""
    counts = datasets.text(seed=2).counts
    fit = dcomp.LDA(6, alpha=0.02, verbose=0).fit(counts).fit_
    cold = fit.transform(counts)
    moved = np.abs(cold - fit.scores).max(axis=1) > 0.05
    bound = fit.bound(counts)
    assert moved.mean() < 0.1  # and those have the better end, by the climb: no even start found it
    assert np.isfinite(bound).all()


def test_rounding_is_not_called_converged():
    counts = datasets.mutations(seed=0).counts
    fit = dcomp.GaP(5, tol=1e-4, verbose=0).fit(counts).fit_
    assert fit.reason == "rounding"
    assert not fit.converged
    assert fit.remaining.gain > 1e-4


def test_the_same_on_any_number_of_threads(votes):
    one, two = (dcomp.DCA(4, n_jobs=jobs, verbose=0).fit(votes).fit_ for jobs in (1, 3))
    assert np.array_equal(one.Theta, two.Theta)
    assert one.remaining == two.remaining


def test_a_schedule_without_an_objective_looks_at_shares():
    counts = datasets.text(seed=0).counts.rows(slice(0, 150))
    fit = dcomp.CTM(3, start="seeded", verbose=0).fit(counts).fit_
    if fit.converged:
        assert shares_to_come(fit.history.rows) < 0.01
    assert fit.remaining.gain is None
    assert fit.remaining.shares == fit.history.rows[-1].shares


def test_at_rest_it_can_be_asked_for_more(votes):
    loose = dcomp.DCA(4, tol=2.0, verbose=0).fit(votes).fit_
    tight = dcomp.fit(votes, loose.model, resume=loose, tol=0.001)
    assert loose.converged
    assert tight.n_sweeps > loose.n_sweeps
    assert tight.objective >= loose.objective
    assert path_of(tight.state).stage == DONE


def test_tolerances_below_nothing_are_refused():
    with pytest.raises(dcomp.InvalidParameter, match="tol must be at least 0; got -1"):
        Ascent(MeanField(), Rule(-1.0))


def test_a_sweep_that_falls_is_taken_back_and_loses_half_its_momentum(votes):
    """Documents and loadings stand again where the last sweep had brought them."""
    model, observed = FITS[2][0], Observations.build(votes)
    ascent, state = Ascent(MapEM(), Rule(0)), MapEM().init(model, observed, 0, ONE)
    for _ in range(20):
        state, info = ascent.step(observed, state, ONE)
    path, local = path_of(state), state.locals[0]
    assert path.momentum > 0.5
    assert path.n is not None
    far = {"c": np.repeat(local.c.mean(axis=1, keepdims=True), 4, axis=1)}
    wrong = replace(
        state,
        shared=replace(state.shared, carried=replace(path, n=np.full_like(path.n, 1.0))),
        locals=[replace(local, carried=far)],
    )
    back, row = ascent.step(observed, wrong, ONE)
    assert np.array_equal(back.n, state.n)
    assert np.array_equal(back.locals[0].c, local.c)
    assert row.objective == info.objective
    assert path_of(back).n is None
    assert path_of(back).momentum == path.momentum / 2
    again, row = ascent.step(observed, back, ONE)
    assert row.objective >= info.objective
    assert again.sweep == state.sweep + 2


@pytest.mark.parametrize("power", [1.5, 2.0, 3.0])
def test_a_slow_climb_promises_what_it_has(power):
    """Gains that fall like a power of the sweeps; single ones soon promise nothing."""
    path = Path()
    for t in range(1, 401):
        path = path.climbed_by(t**-power)
    left = (np.arange(401.0, 1e6) ** -power).sum()
    assert 0.4 * left < path.long_run < 3 * left
    for _ in range(400):
        path = path.climbed_by(0.0)
    assert path.long_run == 0
    assert Path().climbed_by(1.0).long_run == np.inf
    falling = Path()
    for t in range(40):  # by rounding, in the last quarter
        falling = falling.climbed_by(-1e-9 if t >= 35 else 0.0)
    assert falling.long_run < 0


@pytest.mark.parametrize(("algorithm", "K"), [("ml", 5), ("map", 5), ("mean-field", 6)])
def test_converged_is_true_of_more_components_than_there_are(algorithm, K):
    """Of three populations; ten times the sweeps gain what was said, or little more."""
    people = datasets.genotypes(60, 200, seed=4).counts
    fit = dcomp.DCA(K, algorithm=algorithm, verbose=0, max_iter=20_000).fit(people).fit_
    assert fit.reason == "converged"
    assert fit.remaining.gain < 0.05
    longer = dcomp.fit(people, fit.model, max_iter=10 * fit.n_sweeps, tol=0, resume=fit, warn=False)
    more = max(longer.history["objective"]) - max(fit.history["objective"])
    assert more < 0.1 * people.n_docs


def test_documents_about_to_lose_a_component_have_lost_it():
    """One document after the other would let go of its weakest component, hundreds of sweeps
    apart; without a push that shows it, five times the sweeps gain 0.17 nats per document."""
    people = datasets.genotypes(150, 200, unmixed=0.8, seed=2).counts
    fit = dcomp.DCA(5, random_state=0, verbose=0).fit(people).fit_
    assert fit.reason == "converged"
    longer = dcomp.fit(people, fit.model, max_iter=5 * fit.n_sweeps, tol=0, resume=fit, warn=False)
    more = max(longer.history["objective"]) - max(fit.history["objective"])
    assert more < 0.08 * people.n_docs


def test_a_rate_that_few_sweeps_do_not_show_is_measured_longer():
    """Gains that rise for ten sweeps, because single documents still move, and fall over more."""
    path = Path(stage=MEASURE)
    for t in range(25):
        path = path.measured(0.9**t * (1.0 if t < 10 else 2.0), objective=0.0, skipped=3)
    assert len(path.gains) == 22
    assert to_come(path.gains) < NEVER


def test_a_climb_goes_on_where_it_was(votes):
    """Not from documents that were shown as new ones, and lie lower."""
    fit = dcomp.DCA(6, verbose=0).fit(votes).fit_
    assert fit.remaining.apart > 0.01
    best = max(fit.history["objective"])
    assert fit.objective == pytest.approx(best - fit.remaining.apart * votes.n_docs, abs=1e-2)
    longer = dcomp.fit(votes, fit.model, max_iter=fit.n_sweeps + 3, tol=0, resume=fit, warn=False)
    assert min(longer.history["objective"][fit.n_sweeps :]) >= best - 1e-3


def test_on_dense_tables_the_long_run_goes_on_through_refolds():
    """Documents lose components one by one there: a run counted from the last refold alone said
    that GaP had converged, a nat per document early."""
    counts = datasets.mutations(seed=4).counts
    model = dcomp.DCA(8, max_iter=1, tol=0, verbose=0).fit(counts).fit_.model
    observed, ascent = Observations.build(counts), Ascent(MeanField(), Rule(0.05))
    state, moved = MeanField().init(model, observed, 0, ONE), 0
    for _ in range(200):
        before = path_of(state)
        state, _ = ascent.step(observed, state, ONE)
        if before.stage == REFOLD and path_of(state).stage == CLIMB:
            moved += path_of(state).moved >= 0.05 * counts.n_docs
            assert path_of(state).sweeps >= before.sweeps
    assert moved  # by more than what matters, at least once


def test_a_small_table_has_converged_when_the_last_half_of_the_sweeps_gained_next_to_nothing():
    """Where there is nothing to be found gains of likelihood fall like a power of the sweeps: by
    their rate less than 0.05 was left, and ten times the sweeps gained up to 0.17."""
    halves = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        counts = dcomp.Counts.from_matrix(rng.multinomial(60, rng.dirichlet(np.ones(100), 200)))
        fit = dcomp.PLSA(5, random_state=seed, verbose=0).fit(counts).fit_
        if fit.reason == "converged":
            halves.append(path_of(fit.state).last_half / counts.n_docs)
            assert fit.remaining.gain >= 3 * halves[-1]
    assert halves
    assert max(halves) < 0.05 / 3


@pytest.mark.parametrize("algorithm", ["mean-field", "ml"])
def test_small_tables_are_pushed_in_every_way(algorithm, monkeypatch):
    """One of the copies has a little of what had come to nothing."""
    lifts = []
    usual = ascent._pushed

    def pushed(state, lift):
        moved = usual(state, lift)
        assert (moved > 0).all() or lift == 0
        lifts.append(lift)
        return moved

    monkeypatch.setattr(ascent, "_pushed", pushed)
    counts = dcomp.Counts.from_matrix(np.kron(np.eye(2, dtype=int), np.full((20, 6), 9)))
    fit = dcomp.DCA(2, algorithm=algorithm, verbose=0).fit(counts).fit_
    assert fit.reason == "converged"
    assert lifts == [0.0, ascent.LIFT]
    monkeypatch.setattr(ascent, "CHEAP", 1)
    lifts.clear()
    dcomp.DCA(2, algorithm=algorithm, verbose=0).fit(counts)
    assert lifts == [0.0]
