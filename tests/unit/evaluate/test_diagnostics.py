"""The verdict: right for fits that rest, that still move, that rest apart, and that are alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dcomp
from dcomp.evaluate import diagnostics, rhat
from dcomp.inference import Info
from dcomp.result import Trace


def trace(values):
    return Trace(tuple(Info(t + 1, float(v), float(v), 1.0) for t, v in enumerate(values)))


@pytest.fixture(scope="module")
def sampled():
    """Four chains on a few documents of one component each, prior fixed: they mix fast."""
    rates = np.kron(np.eye(3), np.full((20, 4), 3.0)) + 0.02
    rates[40:] *= 4  # documents of one component are longer
    sampler = dcomp.LDA(
        3,
        algorithm="collapsed-gibbs",
        alpha=0.5,
        gamma=5.0,
        max_iter=1100,
        burn_in=100,
        n_chains=4,
        n_draws=100,
        draws_of=("scores", "loadings", "assignments"),
        verbose=0,
    )
    return sampler.fit(np.random.default_rng(1).poisson(rates)).fit_


def with_chains(fit, chains, burn_in=0):
    """The fit with other histories: its own is the first."""
    traces = tuple(trace(values) for values in chains)
    algorithm = replace(fit.algorithm, burn_in=burn_in)
    many = traces if len(traces) > 1 else ()
    return replace(fit, algorithm=algorithm, history=traces[0], chains=many, kept=None)


def test_chains_that_agree(sampled):
    found = diagnostics(sampled)
    assert (found.verdict, found.converged) == ("converged", True)
    names = [q.name for q in found.quantities]
    assert names == ["log joint", "words", "effective components", "used components"]
    assert (found.n_chains, found.n_sweeps) == (4, 1000)
    joint = found.quantity("log joint")
    expected = np.array([chain["objective"][100:] for chain in sampled.chains])
    assert np.array_equal(joint.trace, expected)
    assert joint.rhat == rhat(expected)
    assert found.quantity("used components").trace.max() == 3
    assert found.component_rhat.shape == (3,)
    assert found.component_rhat.max() < 1.1
    assert found.alignment.mean > 0.99
    assert str(found).startswith("converged: 4 chains agree")
    with pytest.raises(dcomp.InvalidParameter, match="the quantities are log joint"):
        found.quantity("alpha")


def test_sizes_are_those_of_the_tokens(sampled):
    sizes = np.array([np.bincount(z, minlength=3) for z in sampled.draws.assignments[0]])
    share = sizes / sizes.sum(axis=1, keepdims=True)
    expected = np.exp(-(share * np.log(share)).sum(axis=1))
    found = diagnostics(sampled).quantity("effective components").trace[0]
    np.testing.assert_allclose(found, expected)
    without = replace(sampled, kept=replace(sampled.kept, assignments=None))
    from_scores = diagnostics(without).quantity("effective components").trace[0]
    # Scores are drawn given the tokens: each of the 100 is off by some 0.7 %, their mean by less.
    assert (from_scores / expected).mean() == pytest.approx(1, abs=0.0035)
    np.testing.assert_allclose(from_scores, expected, rtol=0.035)


def test_sizes_by_exposure(planted):
    exposure = np.linspace(0.2, 3, 300)
    sampler = dcomp.GaP(3, algorithm="gibbs", max_iter=20, n_draws=5, verbose=0)
    fit = sampler.set_params(exposure=exposure).fit(planted[0]).fit_
    sizes = (fit.draws.scores[0] * exposure[:, None]).sum(axis=1)
    share = sizes / sizes.sum(axis=1, keepdims=True)
    found = diagnostics(fit).quantity("effective components").trace[0]
    np.testing.assert_allclose(found, np.exp(-(share * np.log(share)).sum(axis=1)), rtol=1e-5)


def test_the_components_of_chains_are_aligned_first(sampled):
    """The same draws under other numbers: R-hat of the loadings does not see it."""
    kept = sampled.kept
    Theta = kept.Theta.copy()
    other = (kept.best + 1) % 4
    Theta[other] = Theta[other][:, :, [1, 2, 0]]
    shuffled = replace(sampled, kept=replace(kept, Theta=Theta))
    np.testing.assert_allclose(
        diagnostics(shuffled).component_rhat, diagnostics(sampled).component_rhat
    )
    k, top = 0, np.argsort(-sampled.Theta[:, 0], kind="stable")[:10]
    unaligned = max(rhat(Theta[:, :, j, k]) for j in top)
    assert unaligned > 1.5 > diagnostics(shuffled).component_rhat[k]


def test_learned_priors_are_sorted(planted):
    sampler = dcomp.DCA(
        3, model="CGP", gamma="auto", max_iter=40, n_chains=2, n_draws=10, verbose=0
    )
    fit = sampler.fit(planted[0]).fit_
    found = diagnostics(fit)
    for name in ("alpha", "beta", "rho"):
        expected = np.sort(fit.draws.hyper[name], axis=2)
        assert np.array_equal(found.quantity(f"{name}, sorted").trace, expected)
    assert found.quantity("gamma").trace.shape == (2, 10)
    worst = max(rhat(expected[:, :, i]) for i in range(3))
    assert found.quantity("rho, sorted").rhat == worst


def test_chains_apart(sampled):
    apart = np.random.default_rng(0).normal(size=(4, 500)) + np.array([[0], [0], [0], [9]])
    found = diagnostics(with_chains(sampled, apart))
    assert found.converged is False
    assert "R-hat of log joint is" in found.reasons[0]
    assert "at rest, but in another place" in found.reasons[-1]


def test_chains_that_move(sampled):
    rng = np.random.default_rng(0)
    found = diagnostics(with_chains(sampled, rng.normal(size=(4, 500)) + np.linspace(0, 9, 500)))
    assert found.verdict == "not converged"
    assert "still moving" in found.reasons[-1]
    past = diagnostics(with_chains(sampled, moving_then_still(rng), burn_in=300))
    assert past.verdict == "converged"
    assert past.n_sweeps == 600


def moving_then_still(rng):
    return rng.normal(size=(3, 900)) + np.r_[np.linspace(-50, 0, 300), np.zeros(600)]


def test_a_chain_alone(sampled):
    rng = np.random.default_rng(0)
    still = diagnostics(with_chains(sampled, rng.normal(size=(1, 600))))
    assert (still.verdict, still.converged) == ("cannot tell", None)
    assert "n_chains=4" in still.reasons[0]
    moving = diagnostics(with_chains(sampled, [np.cumsum(rng.normal(size=600))]))
    assert moving.verdict == "not converged"
    assert "still moving" in moving.reasons[-1]


def test_too_little_to_judge(sampled):
    rng = np.random.default_rng(0)
    short = diagnostics(with_chains(sampled, rng.normal(size=(4, 60))))
    assert short.verdict == "cannot tell"
    assert short.reasons == (
        "400 effective draws are needed to judge, which 240 recorded sweeps cannot be, however "
        "many draws are kept: raise max_iter",
    )
    slow = np.repeat(rng.normal(size=(4, 60)), 10, axis=1)
    slow = diagnostics(with_chains(sampled, slow), rhat_limit=2.0)
    assert "400 effective draws are needed to judge, and of 2,400 recorded" in slow.reasons[0]
    assert slow.reasons[0].endswith("however many draws are kept: raise max_iter")
    assert diagnostics(with_chains(sampled, rng.normal(size=(4, 60))), min_ess=20).converged
    none = diagnostics(with_chains(sampled, rng.normal(size=(4, 60)), burn_in=58))
    assert none.verdict == "cannot tell"
    assert "2 recorded sweeps (burn-in 58)" in none.reasons[0]
    assert none.quantities == ()


@pytest.mark.parametrize(("n_chains", "n_draws"), [(1, 40), (2, 60), (4, 25), (4, 400)])
def test_false_alarms_are_rare(sampled, n_chains, n_draws):
    """150 fits of independent draws: "not converged" for at most 3, where 0.15 to 0.3 are expected
    (the values' R-hat, and that of their distances): more happens once in 3,000 runs."""
    rng = np.random.default_rng(5)
    verdicts = [
        diagnostics(with_chains(sampled, rng.normal(size=(n_chains, n_draws)))).verdict
        for _ in range(150)
    ]
    assert verdicts.count("not converged") <= 3


def test_slow_chains(sampled):
    rng = np.random.default_rng(1)
    slow = np.empty((4, 600))
    slow[:, 0] = rng.normal(size=4) * 3
    for t in range(1, 600):
        slow[:, t] = 0.95 * slow[:, t - 1] + rng.normal(size=4)
    found = diagnostics(with_chains(sampled, slow))
    assert found.verdict == "not converged"
    assert "mix slowly" in found.reasons[-1]


def test_interrupted_chains_are_left_out(sampled):
    rng = np.random.default_rng(0)
    fit = with_chains(sampled, rng.normal(size=(3, 500)))
    cut = replace(fit, chains=(*fit.chains[:2], trace(rng.normal(size=40))), reason="interrupted")
    found = diagnostics(cut)
    assert found.n_chains == 2
    assert "1 shorter chains are left out" in found.remarks
    assert "the fit was interrupted" in found.remarks


def test_mean_field_at_rest_and_before(planted):
    counts, _ = planted
    rest = dcomp.LDA(3, tol=1e-3, verbose=0).fit(counts).fit_
    found = diagnostics(rest, counts)
    assert found.verdict == "converged"
    assert found.falls == 0
    assert found.residual < 1e-3
    assert np.array_equal(found.objective, rest.history["objective"])
    assert found.change == rest.history["change"][-1]
    assert found.remaining == rest.remaining
    assert found.remaining.gain < 1e-3
    assert "left to gain, and in one more sweep no share moves by more than" in found.reasons[0]
    assert found.reasons[0].endswith("(over many more, single documents may)")
    assert str(rest.remaining).endswith(" of a share in one more sweep")
    early = dcomp.LDA(3, tol=0, max_iter=4, verbose=0).fit(counts).fit_
    begun = diagnostics(early, counts)
    assert begun.verdict == "not converged"
    assert "raise max_iter" in begun.reasons[0]
    assert begun.residual > 10 * found.residual
    assert diagnostics(early).residual is None
    # tol = 0 never stops by itself, and measures nothing.
    whole = dcomp.LDA(3, tol=0, max_iter=200, verbose=0).fit(counts).fit_
    assert whole.reason == "limit"
    assert diagnostics(whole).verdict == "cannot tell"


def test_the_residual_by_hand(planted):
    """Of a fit by map, against the reference update of one sweep in NumPy."""
    counts, _ = planted
    model = dcomp.GaP(2, algorithm="map", alpha=1.1, beta=0.1, gamma=1.0, max_iter=12, verbose=0)
    model.set_params(tol=0)
    fit = model.fit(counts).fit_
    W = counts.to_scipy().toarray().astype(float)
    Theta, alpha, beta = fit.Theta.astype(float), 1.1, 0.1
    scores = (alpha - 1 + fit.state.c.astype(float)) / (beta + 1)
    for _ in range(fit.algorithm.max_inner):
        y = np.maximum(scores @ Theta.T, 1e-300)
        c = scores * ((W / y) @ Theta)
        n = Theta * ((W / y).T @ scores)
        scores = (alpha - 1 + c) / (beta + 1)
    expected = np.abs(n - fit.state.n).sum() / 2 / W.sum()
    assert expected > 1e-4
    assert diagnostics(fit, counts).residual == pytest.approx(expected, rel=0.1)


def test_documents_shown_as_new_ones_are_no_words_that_move():
    """Short documents with a small α rest in optima of their own while the fit climbs; shown as new
    ones they lie lower. That is neither a sweep that fell nor a fit that has not converged."""
    rng = np.random.default_rng(1)
    Theta = rng.dirichlet(np.full(300, 0.05), 8)
    X = np.array([rng.multinomial(5, m @ Theta) for m in rng.dirichlet(np.full(8, 0.1), 1500)])
    fitted = dcomp.DCA(8, verbose=0).fit(X).fit_
    assert fitted.converged
    assert fitted.remaining.apart > 0.05
    lower = f"as new documents, which is how they are shown, {fitted.remaining.apart:.2g} nats"
    assert any(remark.startswith(lower) for remark in diagnostics(fitted).remarks)
    found = diagnostics(fitted, X)
    assert found.verdict == "converged"
    assert found.falls == 0
    assert found.residual < 1e-3


def test_words_that_still_move(planted, monkeypatch):
    fit = dcomp.LDA(3, verbose=0).fit(planted[0]).fit_
    import sys

    monkeypatch.setattr(sys.modules[diagnostics.__module__], "MOVING", 0.0)
    found = diagnostics(fit, planted[0])
    assert fit.converged
    assert found.verdict == "not converged"
    assert "words still move" in found.reasons[0]


def test_maximum_likelihood_knows_its_breach(planted):
    short, whole = (
        dcomp.NMF(3, max_iter=n, tol=0, verbose=0).fit(planted[0]).fit_ for n in (5, 300)
    )
    first, last = (diagnostics(fit, planted[0]) for fit in (short, whole))
    assert last.kkt == whole.history["residual"][-1]
    assert last.kkt < first.kkt
    assert last.residual is None
    assert "conditions of a maximum" in str(last)


def test_falls_and_starts(planted):
    fit = dcomp.LDA(3, verbose=0, n_chains=3).fit(planted[0]).fit_
    falling = replace(fit, history=trace([-100, -90, -95, -80, -80, -80]), chains=())
    found = diagnostics(falling)
    assert found.falls == 1
    assert "the bound fell in 1 sweep, by up to 0.05" in found.remarks[0]
    assert "3 starts end at a bound from" in diagnostics(fit).remarks[-1]


def test_other_counts_have_no_residual(planted):
    fit = dcomp.LDA(3, verbose=0).fit(planted[0]).fit_
    with pytest.raises(dcomp.InvalidCounts, match="these are others"):
        diagnostics(fit, planted[0].rows(slice(0, 9)))
    with pytest.raises(dcomp.InvalidParameter, match="rhat_limit must be above 1"):
        diagnostics(fit, rhat_limit=0.9)


def test_a_loaded_fit_has_the_same_verdict(sampled, planted, tmp_path):
    dcomp.save(sampled, tmp_path / "fit.dcomp")
    assert str(diagnostics(dcomp.load(tmp_path / "fit.dcomp"))) == str(diagnostics(sampled))
    exposed = dcomp.GaP(2, exposure="total", verbose=0).fit(planted[0]).fit_
    dcomp.save(exposed, tmp_path / "gap.dcomp")
    again = diagnostics(dcomp.load(tmp_path / "gap.dcomp"), planted[0])
    assert again.residual == diagnostics(exposed, planted[0]).residual


def test_the_plot(sampled, planted):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    axes = diagnostics(sampled).plot("words")
    assert len(axes.lines) == 4
    assert axes.get_ylabel() == "words"
    climbed = diagnostics(dcomp.LDA(2, verbose=0).fit(planted[0]).fit_)
    assert len(climbed.plot(pyplot.figure().add_subplot()).lines) == 1
    pyplot.close("all")


@pytest.mark.parametrize("algorithm", ["mean-field", "collapsed-gibbs", "ml"])
def test_counts_that_vary_more_than_the_model_has_it(algorithm):
    """Around means of 40, Poisson counts and such as vary nine times as much (negative binomial of
    size 5)."""
    rng = np.random.default_rng(0)
    means = rng.gamma(1.0, 20.0, (60, 2)) @ rng.dirichlet(np.ones(20), 2) * 20
    how = {"algorithm": algorithm, "max_iter": 60, "tol": 0, "verbose": 0}
    for X, is_said in (
        (rng.poisson(means), False),
        (rng.poisson(means * rng.gamma(5.0, 0.2, means.shape)), True),
    ):
        found = diagnostics(dcomp.DCA(2, **how).fit(X), X)
        assert ("times as much as the model has it" in str(found)) == is_said
        assert found.dispersion > 2 if is_said else 0.7 < found.dispersion < 1.4
        assert diagnostics(dcomp.DCA(2, **how).fit(X)).dispersion is None
