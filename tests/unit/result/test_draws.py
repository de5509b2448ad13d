"""Draws that a fit keeps: the chain does not notice, and they are what they say they are."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import dcomp
from dcomp import registry
from dcomp.inference import ALGORITHMS, CollapsedGibbs, Gibbs, Keep, draw_given_counts
from dcomp.inference.keep import KINDS
from dcomp.models import MODELS, Observations
from dcomp.result.fitting import chain_seeds, plan_draws

SAMPLED = [key for key, names in registry.supported().items() if "gibbs" in names]
CELLS = [
    (model, name)
    for model, names in registry.supported().items()
    for name in names
    if ALGORITHMS[name].samples
]


def kinds_of(algorithm):
    return KINDS if algorithm == "collapsed-gibbs" else KINDS[:2]


def make(key, algorithm, **options):
    if options.get("n_draws"):
        options = {"draws_of": kinds_of(algorithm)} | options
    settings = {"max_iter": 20, "burn_in": 8, "gamma": 0.1, "verbose": 0} | options
    if key == "ST":  # three nodes
        settings = {"n_chains": 1, "tree": [2, 2, -1]} | settings
        return dcomp.StructuredDCA(algorithm=algorithm, **settings)
    return dcomp.DCA(3, model=key, algorithm=algorithm, **settings)


def same_draws(a, b):
    fields = ("sweep", "log_joint", "scores", "Theta", "assignments")
    pairs = [(getattr(a, name), getattr(b, name)) for name in fields]
    pairs += [(a.hyper[name], b.hyper[name]) for name in a.hyper]
    return a.kinds == b.kinds and all(np.array_equal(x, y) for x, y in pairs if x is not None)


@pytest.mark.parametrize(("key", "algorithm"), CELLS)
def test_a_chain_is_the_same_with_and_without(key, algorithm, planted):
    without = make(key, algorithm).fit(planted[0]).fit_
    kept = make(key, algorithm, n_draws=5).fit(planted[0]).fit_
    assert np.array_equal(kept.Theta, without.Theta)
    assert np.array_equal(kept.scores, without.scores)
    assert np.array_equal(kept.state.c, without.state.c)
    assert np.array_equal(kept.history["objective"], without.history["objective"])
    if algorithm == "collapsed-gibbs":
        assert np.array_equal(kept.state.z, without.state.z)


@pytest.mark.parametrize(("key", "algorithm"), CELLS)
def test_shapes_and_ranges(key, algorithm, planted):
    fitted = make(key, algorithm, n_draws=5).fit(planted[0]).fit_
    draws = fitted.draws
    assert draws.kinds == kinds_of(algorithm)
    assert draws.sweep.tolist() == [11, 13, 16, 18, 20]
    assert (draws.n_chains, draws.n_draws, draws.best) == (1, 5, 0)
    assert draws.scores.shape == (1, 5, 300, 3)
    assert draws.Theta.shape == (1, 5, 30, 3)
    names = {"DM": {"alpha"}, "GP": {"alpha", "beta"}, "TM": {"a1", "a2", "b"}}
    names["ST"] = {"alpha", "psi"}
    assert set(draws.hyper) == names.get(key, {"alpha", "beta", "rho"})
    assert (draws.beta is None, draws.rho is None) == (key not in ("GP", "CGP"), key != "CGP")
    np.testing.assert_allclose(draws.Theta.sum(axis=2), 1, rtol=1e-5)
    np.testing.assert_array_equal(draws.log_joint[0], fitted.history["objective"][draws.sweep - 1])
    assert (draws.scores == 0).any() == (key == "CGP")
    assert len({draw.tobytes() for draw in draws.Theta[0]}) == 5
    if key not in ("GP", "CGP"):
        np.testing.assert_allclose(draws.scores.sum(axis=3), 1, rtol=1e-5)
    with pytest.raises(ValueError, match="read-only"):
        draws.scores[0, 0, 0, 0] = 1


@pytest.mark.parametrize(("key", "algorithm"), CELLS)
def test_any_number_of_threads(key, algorithm, planted):
    one, seven = (make(key, algorithm, n_draws=3, n_jobs=n).fit(planted[0]).fit_ for n in (1, 7))
    assert same_draws(one.draws, seven.draws)
    assert np.array_equal(one.draw(3, n_jobs=1).scores, one.draw(3, n_jobs=7).scores)


@pytest.mark.parametrize(("key", "algorithm"), CELLS)
def test_resume_after_a_load_is_one_long_run(key, algorithm, planted, tmp_path):
    counts = planted[0]
    keep = Keep(n=2, every=5, kinds=kinds_of(algorithm))
    sampler = {"gibbs": Gibbs, "collapsed-gibbs": CollapsedGibbs}[algorithm](burn_in=4, keep=keep)
    whole = make(key, sampler, burn_in=None, max_iter=30).fit(counts).fit_
    part = make(key, sampler, burn_in=None, max_iter=13).fit(counts).fit_
    dcomp.save(part, tmp_path / "part.dcomp")
    loaded = dcomp.load(tmp_path / "part.dcomp")
    assert same_draws(loaded.draws, part.draws)
    assert loaded.algorithm == part.algorithm
    again = dcomp.fit(counts, loaded.model, max_iter=30, resume=loaded)
    assert whole.draws.n_draws == 10
    assert part.draws.n_draws == 3
    assert same_draws(again.draws, whole.draws)
    assert np.array_equal(again.Theta, whole.Theta)


def test_direct_gibbs_keeps_the_draws_of_its_own_sweeps(planted):
    """Given them, the words have the likelihood that the sweep reported."""
    fitted = make("DM", "gibbs", n_draws=6).fit(planted[0]).fit_
    observed = Observations.build(planted[0])
    for draw in fitted.draws.of_chain(0):
        scores, Theta = draw.scores.astype(float), draw.Theta.astype(float)
        value = fitted.model.log_likelihood(observed, scores, Theta).sum()
        assert value == pytest.approx(fitted.history["documents"][draw.sweep - 1], rel=1e-5)


def test_hyper_parameters_are_those_of_the_sweep(planted):
    """Learned every five sweeps: a draw has what its sweep began with."""
    long = make("GP", "gibbs", n_draws=12).fit(planted[0]).fit_
    assert long.draws.sweep.tolist() == list(range(9, 21))
    short = make("GP", "gibbs", max_iter=10, n_draws=2).fit(planted[0]).fit_
    assert np.array_equal(long.draws.alpha[0, 2], short.model.scores.alpha)  # of sweep 11
    assert not np.array_equal(long.draws.alpha[0, 1], short.model.scores.alpha)  # of sweep 10


@pytest.mark.parametrize("key", SAMPLED)
def test_a_collapsed_draw_is_the_one_given_its_counts(key, planted):
    fitted = make(key, "collapsed-gibbs", n_draws=4).fit(planted[0]).fit_
    # The priors were learned in the last sweep, after its draw.
    model = fitted.model.with_scores(**{k: v[0, -1] for k, v in fitted.draws.hyper.items()})
    features, state = planted[0].features, fitted.state
    again = draw_given_counts(model, features, None, state.c, state.n, seed=fitted.seed, sweep=20)
    assert np.array_equal(again.scores, fitted.draws.scores[0, -1])
    assert np.array_equal(again.Theta, fitted.draws.Theta[0, -1])


@pytest.mark.parametrize("algorithm", ["gibbs", "collapsed-gibbs"])
def test_their_mean_is_the_posterior_mean(algorithm, planted):
    """The same posterior by draws and by recorded expectations."""
    model = make("CGP", algorithm, max_iter=600, burn_in=100, n_draws=500, draws_of=("loadings",))
    fitted = model.fit(planted[0]).fit_
    assert fitted.draws.scores is None
    np.testing.assert_allclose(fitted.draws.Theta[0].mean(axis=0), fitted.Theta, atol=0.002)


@pytest.mark.parametrize("exact", [True, False])
def test_assignments_add_up(planted, exact):
    keep = Keep(n=1, every=4, kinds=KINDS)
    sampler = CollapsedGibbs(burn_in=4, exact=exact, keep=keep)
    fitted = dcomp.fit(planted[0], MODELS["DM"].build(3), sampler, max_iter=12)
    tokens = fitted.assignments(planted[0])
    c, n = np.zeros((300, 3), int), np.zeros((30, 3), int)
    np.add.at(c, (tokens.document, tokens.component), 1)
    np.add.at(n, (tokens.feature, tokens.component), 1)
    assert np.array_equal(c, fitted.state.c)
    assert np.array_equal(n, fitted.state.n)
    words = np.zeros((300, 30), int)
    np.add.at(words, (tokens.document, tokens.feature), 1)
    assert np.array_equal(words, planted[0].to_scipy().toarray())
    assert np.array_equal(fitted.draws.assignments[0, -1], tokens.component)
    assert not np.array_equal(fitted.draws.assignments[0, 0], tokens.component)
    features, components = tokens.of_document(5)
    assert len(features) == len(components) == planted[0].doc_totals[5]
    assert len(tokens.of_document(17)[0]) == 0  # the empty one
    assert len(tokens) == planted[0].n_tokens


def test_assignments_are_refused_elsewhere(planted):
    collapsed = make("DM", "collapsed-gibbs").fit(planted[0]).fit_
    with pytest.raises(dcomp.InvalidCounts, match="has assignments only on the counts"):
        collapsed.assignments(planted[0].rows(slice(0, 100)))
    with pytest.raises(dcomp.UnsupportedCombination, match="this fit is by gibbs"):
        make("DM", "gibbs").fit(planted[0]).fit_.assignments(planted[0])


def test_draw_on_request(planted):
    fitted = make("GP", "collapsed-gibbs", n_draws=1).fit(planted[0]).fit_
    first, second = fitted.draw(), fitted.draw(seed=1)
    assert np.array_equal(first.scores, fitted.draw(seed=0).scores)
    assert not np.array_equal(first.scores, second.scores)
    assert not np.array_equal(first.Theta, second.Theta)
    assert first.sweep == 20
    assert not np.array_equal(first.scores, fitted.draws.scores[0, -1])  # the fit's seed is 0 too
    mean = np.mean([fitted.draw(seed).scores for seed in range(400)], axis=0)
    exposure = np.ones(300)
    a, rate = fitted.model.scores.alpha + fitted.state.c, fitted.model.scores.beta + 1
    expected = fitted.model.scores.posterior_mean(fitted.state.c, exposure)
    assert (np.abs(mean - expected) < 5 * np.sqrt(a) / rate / 20).all()
    with pytest.raises(dcomp.InvalidParameter, match="seed must be a whole number"):
        fitted.draw(seed=-1)
    with pytest.raises(dcomp.UnsupportedCombination, match="this fit is by mean-field"):
        dcomp.LDA(2, verbose=0).fit(planted[0]).fit_.draw()


def test_draws_with_blocks_and_exposure(planted):
    W = planted[0].to_scipy().toarray()[:50]
    blocks = [0] * 12 + [1] * 18
    exposure = np.full((50, 2), 2.0)
    options = {"blocks": blocks, "exposure": exposure, "alpha": 1.0, "beta": 1.0}
    fitted = make("GP", "gibbs", n_draws=12, **options).fit(W).fit_
    np.testing.assert_allclose(fitted.draws.Theta[:, :, :12].sum(axis=2), 1, rtol=1e-5)
    drawn = np.mean([fitted.draw(seed).scores for seed in range(50)], axis=0).sum()
    expected = (W.sum() + 150) / 5  # Σ (α + c) / (β + Σ_g e)
    assert drawn == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("algorithm", ["gibbs", "collapsed-gibbs"])
def test_the_draws_of_all_chains_are_kept(algorithm, planted, tmp_path):
    fitted = make("CGP", algorithm, n_draws=3, n_chains=3, random_state=5).fit(planted[0]).fit_
    draws = fitted.draws
    assert (draws.n_chains, draws.chains) == (3, (0, 1, 2))
    seeds = chain_seeds(5, 3)
    assert seeds[draws.best] == fitted.seed
    for place, seed in enumerate(seeds):
        alone = make("CGP", algorithm, n_draws=3, random_state=seed).fit(planted[0]).fit_.draws
        assert np.array_equal(alone.scores[0], draws.scores[place])
        assert np.array_equal(alone.Theta[0], draws.Theta[place])
        assert np.array_equal(alone.rho[0], draws.rho[place])
        assert np.array_equal(alone.log_joint[0], draws.log_joint[place])
    dcomp.save(fitted, tmp_path / "a.dcomp")
    loaded = dcomp.load(tmp_path / "a.dcomp")
    assert same_draws(loaded.draws, draws)
    assert same_draws(pickle.loads(pickle.dumps(fitted)).draws, draws)
    again = dcomp.fit(planted[0], loaded.model, max_iter=24, resume=loaded)
    assert again.draws.chains == (0,)
    assert np.array_equal(again.draws.Theta[0, :3], draws.Theta[draws.best])
    assert again.draws.n_draws == 4


def best_is(monkeypatch, level):
    monkeypatch.setattr("dcomp.result.chains.chain_value", level)


def test_a_chain_that_was_cut_short_is_left_out(planted, monkeypatch):
    """Ctrl-C in the second of three chains, after its first draw."""
    best_is(monkeypatch, len)
    seen = []

    def interrupt(info):
        seen.append(info.sweep)
        if len(seen) == 20 + 13:
            raise KeyboardInterrupt

    model = make("DM", "gibbs", n_draws=3, n_chains=3, callbacks=[interrupt])
    fitted = model.fit(planted[0]).fit_
    assert len(fitted.chains) == 2
    assert fitted.n_sweeps == 20
    assert fitted.draws.chains == (0,)
    alone = make("DM", "gibbs", n_draws=3, random_state=fitted.seed).fit(planted[0]).fit_
    assert same_draws(fitted.draws, alone.draws)


def test_a_chain_that_goes_on_has_its_own_draws(planted, monkeypatch):
    """Ctrl-C in a second chain that is ahead: its few draws, and as many of the first."""
    best_is(monkeypatch, lambda history: -len(history))
    seen = []

    def interrupt(info):
        seen.append(info.sweep)
        if len(seen) == 20 + 17:
            raise KeyboardInterrupt

    options = {"n_draws": 3, "n_chains": 2}
    fitted = make("DM", "gibbs", **options, callbacks=[interrupt]).fit(planted[0]).fit_
    assert fitted.n_sweeps == 17
    assert fitted.draws.chains == (0, 1)
    assert fitted.draws.sweep.tolist() == [12, 16]
    again = dcomp.fit(planted[0], fitted.model, max_iter=20, resume=fitted)
    alone = make("DM", "gibbs", n_draws=3, random_state=fitted.seed).fit(planted[0]).fit_
    assert same_draws(again.draws, alone.draws)


def test_no_draws_says_why(planted):
    for fitted, message in (
        (make("DM", "gibbs").fit(planted[0]).fit_, "fit with n_draws="),
        (dcomp.LDA(2, verbose=0).fit(planted[0]).fit_, "mean-field has none"),
        (
            dcomp.fit(
                planted[0], MODELS["DM"].build(2), Gibbs(burn_in=9, keep=Keep(1, 2)), max_iter=3
            ),
            "ended in sweep 3, before the first was due",
        ),
    ):
        with pytest.raises(dcomp.InvalidParameter, match=f"no draws were kept: .*{message}"):
            _ = fitted.draws
        assert fitted.kept is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "mean-field", "n_draws": 5}, "mean-field makes none: fit by gibbs"),
        ({"algorithm": "gibbs", "n_draws": 5, "draws_of": KINDS}, "use collapsed-gibbs"),
        ({"algorithm": "gibbs", "n_draws": 101}, "of which there are 100; got 101"),
        ({"algorithm": "gibbs", "n_draws": -1}, "n_draws must be a whole number of at least 0"),
        ({"algorithm": "gibbs", "n_draws": 2, "draws_of": ["words"]}, "got 'words'"),
        ({"algorithm": "gibbs", "draws_of": ["scores"]}, "no effect without n_draws"),
        ({"algorithm": "gibbs", "draw_budget": "much"}, "draw_budget must be .* got 'much'"),
        ({"algorithm": "gibbs", "draw_budget": True}, "draw_budget must be"),
        (
            {"algorithm": "gibbs", "n_draws": 100, "draw_budget": "100 kB"},
            r"100 draws take 386\.7 KiB \(scores 351\.6 KiB, loadings 35\.2 KiB\), more than "
            r"draw_budget = 97\.7 KiB: keep fewer draws, fewer kinds of them, or raise",
        ),
    ],
)
def test_what_cannot_be_kept(planted, options, message):
    with pytest.raises(dcomp.DcompError, match=message):
        dcomp.DCA(3, verbose=0, **options).fit(planted[0])


def test_the_budget_counts_a_resumed_fit_as_a_whole(planted):
    keep = Keep(n=1, every=1)
    first = dcomp.fit(planted[0], MODELS["DM"].build(3), Gibbs(burn_in=1, keep=keep), max_iter=4)
    assert first.draws.n_draws == 3
    size = 4 * 3 * (300 + 30)
    assert first.draws.nbytes == 3 * size
    more = {"max_iter": 6, "resume": first}
    assert dcomp.fit(planted[0], first.model, draw_budget=5 * size, **more).draws.n_draws == 5
    with pytest.raises(dcomp.InvalidParameter, match="5 draws take"):
        dcomp.fit(planted[0], first.model, draw_budget=5 * size - 1, **more)
    assert dcomp.fit(planted[0], first.model, draw_budget=None, **more).draws.n_draws == 5


def test_the_plan_is_what_is_kept(planted):
    options = {"max_iter": 20, "n_chains": 2}
    sampler = CollapsedGibbs(burn_in=6, keep=Keep(3, 7, KINDS))
    plan = plan_draws(planted[0], MODELS["GP"].build(4), sampler, **options)
    fitted = dcomp.fit(planted[0], MODELS["GP"].build(4), sampler, **options)
    assert (plan.n_draws, plan.total) == (fitted.draws.n_draws, fitted.draws.nbytes)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
def test_memory_holds_the_draws_once():
    """Gathering lets go of each piece as it is copied, down to the system. The peak is VmHWM: that
    of getrusage begins with the peak of the process that started this one."""
    code = (
        "import re, numpy as np, dcomp\n"
        "counts = dcomp.Counts.from_matrix(np.eye(20, dtype=int)[np.arange(20_000) % 20])\n"
        "def peak(n_draws):\n"
        "    model = dcomp.LDA(20, algorithm='collapsed-gibbs', max_iter=60, burn_in=0,\n"
        "                      n_draws=n_draws, verbose=0).fit(counts)\n"
        "    status = open('/proc/self/status').read()\n"
        "    return 1024 * int(re.search(r'VmHWM:\\s+(\\d+)', status)[1]), model.fit_.kept\n"
        "before, _ = peak(0)\n"
        "after, kept = peak(60)\n"
        "print((after - before) / kept.nbytes)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0.8 < float(done.stdout) < 1.3


def test_a_terminal_is_told_before_the_fit(planted, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    make("DM", "gibbs", n_draws=6, verbose=1).fit(planted[0])
    assert "keeping 6 draws: scores 21.1 KiB, loadings 2.1 KiB" in capsys.readouterr().err
    make("DM", "gibbs", n_draws=6, verbose=0).fit(planted[0])
    assert capsys.readouterr().err == ""


@pytest.fixture(scope="module")
def labelled():
    counts = dcomp.Counts.from_matrix(
        np.random.default_rng(1).poisson(2.0, (5, 4)),
        feature_names=["yes", "no", "yes", "no"],
        blocks=["a", "a", "b", "b"],
        doc_ids=list("vwxyz"),
    )
    model = make("CGP", "collapsed-gibbs", n_draws=4, n_chains=2)
    return model.fit(counts).fit_


def test_xarray(labelled):
    pytest.importorskip("xarray")
    dataset = labelled.draws.to_xarray()
    T = labelled.provenance.n_tokens
    sizes = {"chain": 2, "draw": 4, "document": 5, "component": 3, "feature": 4, "token": T}
    assert dict(dataset.sizes) == sizes
    assert dataset.scores.dims == ("chain", "draw", "document", "component")
    assert dataset.Theta.dims == ("chain", "draw", "feature", "component")
    assert dataset.assignments.dims == ("chain", "draw", "token")
    assert dataset.rho.dims == ("chain", "draw", "component")
    assert dataset.document.values.tolist() == list("vwxyz")
    assert dataset.feature.values.tolist() == ["a=yes", "a=no", "b=yes", "b=no"]
    assert dataset.block.values.tolist() == ["a", "a", "b", "b"]
    assert dataset.sweep.values.tolist() == labelled.draws.sweep.tolist()
    one = dataset.scores.sel(document="x", chain=1).values
    np.testing.assert_array_equal(one, labelled.draws.scores[1, :, 2])
    np.testing.assert_array_equal(dataset.log_joint.values, labelled.draws.log_joint)


def test_xarray_without_names(planted):
    pytest.importorskip("xarray")
    fitted = make("DM", "gibbs", n_draws=2, draws_of=("loadings",)).fit(planted[0]).fit_
    dataset = fitted.draws.to_xarray()
    assert set(dataset.sizes) == {"chain", "draw", "feature", "component"}
    assert dataset.feature.values.tolist() == list(range(30))


def test_arviz(labelled):
    pytest.importorskip("xarray")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ArviZ announces its next version
        pytest.importorskip("arviz")
    data = labelled.draws.to_arviz()
    assert data["posterior"].alpha.shape == (2, 4, 3)
    assert "log_joint" not in data["posterior"]
    np.testing.assert_array_equal(data["sample_stats"].lp.values, labelled.draws.log_joint)


def test_a_missing_package_says_what_to_install(labelled, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(dcomp.MissingDependency, match=r'pip install "dcomp\[arviz\]"'):
        labelled.draws.to_xarray()
