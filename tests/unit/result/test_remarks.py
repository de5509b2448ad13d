"""What is said of components and priors at the end of a fit: one line each, the same everywhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dcomp
from dcomp.cli.show import summary_lines
from dcomp.evaluate import diagnostics
from dcomp.inference import CollapsedGibbs
from dcomp.models import MODELS, DirichletMultinomial

RNG = np.random.default_rng(0)
X = dcomp.Counts.from_matrix(RNG.poisson([[9, 9, 0, 0]] * 20 + [[0, 0, 9, 9]] * 20))
FIT = dcomp.fit(X, DirichletMultinomial.build(2, alpha=0.1))
WORDS = np.array([[8.0, 0, 8, 0, 8, 0], [0, 8, 0, 8, 0, 2], [1, 1, 1, 1, 1, 9], [1, 1, 1, 1, 1, 9]])


def made(n, sizes):
    """A fit with these loadings (up to γ) and words by component, one to a document."""
    K = n.shape[1]
    own = np.eye(K)[np.arange(X.n_docs) % K]
    c = own * (np.asarray(sizes, dtype=np.float64) / own.sum(axis=0))
    model = DirichletMultinomial.build(K, alpha=0.1, gamma=1e-3)
    return replace(FIT, state=FIT.state.changed(model=model, c=c, n=n))


def ended(fit, *capped):
    """The fit whose last sweeps held these."""
    pairs = zip(fit.history.rows[-len(capped) :], capped, strict=True)
    rows = [replace(row, capped=names) for row, names in pairs]
    return replace(fit, history=type(fit.history)((*fit.history.rows[: -len(capped)], *rows)))


def test_of_a_good_fit_nothing_is_said():
    assert FIT.remarks == ()
    assert str(FIT) == repr(FIT)


def test_empty_components():
    n = np.eye(4)[:, :3] * 100
    assert made(n, [100, 0, 90]).remarks == ("component 1 is all but empty",)
    assert made(n, [100, 0.3, 0.1]).remarks == ("components 1 and 2 are all but empty",)
    assert made(n, [100, 3, 90]).remarks == ()


def test_a_component_of_all_documents_but_a_giant_one_is_not_empty():
    """By words it is: one document has five thousand times those of all others."""
    rng = np.random.default_rng(0)
    shares = np.vstack([[1.0, 0, 0], rng.dirichlet([0.3] * 3, 199)])
    lengths = np.r_[5_000_000, np.full(199, 100)]
    Theta = rng.dirichlet([0.2] * 40, 3)
    table = [rng.multinomial(n, m @ Theta) for n, m in zip(lengths, shares, strict=True)]
    fitted = dcomp.LDA(3, verbose=0).fit(np.array(table)).fit_
    words = fitted.expected_counts.sum(axis=0)
    assert (words <= 0.01 * words.mean()).any()
    assert not any("empty" in said for said in fitted.remarks)


def test_twins_are_said_by_group():
    said = made(WORDS, [100] * 6).remarks
    assert said == (
        "components 0, 2 and 4 are all but the same",
        "components 1 and 3 are all but the same",
    )


def test_a_chain_of_twins_is_one_group():
    n = 1e6 * np.array([[0.5, 0.58, 0.54], [0.5, 0.42, 0.46], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert made(n, [100] * 3).remarks == ("components 0, 1 and 2 are all but the same",)


def test_empty_components_are_no_twins():
    said = made(WORDS[:, :4], [100, 0, 50, 0]).remarks
    twins = "components 0 and 2 are all but the same"
    assert said == ("components 1 and 3 are all but empty", twins)


def test_documents_with_the_same_shares_are_said():
    """Of short documents mean field with a learned α makes no difference, and converges there."""
    baskets = dcomp.datasets.baskets()
    said = dcomp.DCA(6).fit(baskets.counts).fit_.remarks
    start = "all documents have all but the same shares of the components, as mean"
    assert any(line.startswith(start) for line in said)
    apart = dcomp.DCA(6, algorithm="collapsed-gibbs", max_iter=30).fit(baskets.counts).fit_
    assert not any("documents" in line for line in apart.remarks)


def test_what_tells_documents_of_fractional_counts_apart_takes_them():
    """Samplers do not; a fixed α does."""
    half = dcomp.as_counts(dcomp.datasets.baskets().counts.to_scipy() * 0.5, fractional=True)
    said = dcomp.DCA(6, verbose=0).fit(half).fit_.remarks[-1]
    assert said.endswith(": alpha=0.1, which is not learned then, tells them apart, if anything")
    assert dcomp.DCA(6, alpha=0.1, verbose=0).fit(half).fit_.remarks == ()


@pytest.mark.parametrize("empty", [0, 5])
def test_shares_that_differ_a_little_are_enough(empty):
    """From a tenth of the standard deviation that there could be."""
    for deviation, is_said in ((0.04, True), (0.06, False)):  # of 0.5
        share = 0.5 + deviation * np.where(np.arange(X.n_docs) % 2, 1, -1)
        c = 1e6 * np.stack([share, 1 - share], axis=1)
        c[:empty] = 0
        fit = replace(FIT, state=FIT.state.changed(c=c))
        assert any("all documents" in line for line in fit.remarks) == is_said


def test_fits_that_have_too_many_components_say_so():
    one = np.tile([20, 10, 5], (30, 1))
    fit = dcomp.fit(one, DirichletMultinomial.build(2, alpha=5.0))
    assert fit.remarks == ("components 0 and 1 are all but the same",)


def test_priors_at_a_limit_are_remembered_where_they_were_learned_last():
    sampled = dcomp.fit(X, MODELS["DM"].build(2), CollapsedGibbs(burn_in=5), max_iter=30)
    assert ended(sampled, ("alpha",), (), (), ()).remarks == ("held at a limit: alpha",)
    assert ended(sampled, ("alpha",), *[()] * 10).remarks == ()
    # A climb ends with sweeps of a copy that was pushed: the objective is as it was.
    rows = FIT.history.rows
    pushed = replace(rows[-1], sweep=rows[-1].sweep + 1)
    moved = [replace(row, objective=float(s), capped=("beta",)) for s, row in enumerate(rows)]
    rest = [replace(moved[-1], capped=())] * 3
    assert replace(FIT, history=type(FIT.history)((*moved, *rest))).remarks == (
        "held at a limit: beta",
    )
    later = replace(pushed, objective=1e9, capped=())
    assert replace(FIT, history=type(FIT.history)((*moved, later, later))).remarks == ()


def test_learned_priors_at_a_limit():
    even = np.full((40, 2), 500)  # every document the same: α grows without bound
    model = MODELS["GP"].build(1, alpha=1.0, beta=0.01, learn_alpha=True, learn_beta=True)
    assert "held at a limit: alpha" in dcomp.fit(even, model, warn=False).remarks


@pytest.mark.parametrize("where", ["print", "shell", "diagnostics"])
def test_it_is_said_everywhere(where):
    fit = made(WORDS, [100, 100, 100, 100, 0, 100])
    said = {
        "print": lambda: str(fit).splitlines()[1:],
        "shell": lambda: summary_lines(fit, X),
        "diagnostics": lambda: diagnostics(fit).remarks,
    }[where]()
    assert len(fit.remarks) == 3
    assert [line for line in said if line in fit.remarks] == list(fit.remarks)


def ending_at(*ends):
    """A fit of chains with these ends, in nats per document below its own."""
    trace = FIT.history
    last = trace.rows[-1]
    rows = [replace(last, objective=last.objective - end * X.n_docs) for end in ends]
    return replace(FIT, chains=tuple(type(trace)((*trace.rows[:-1], row)) for row in rows))


def test_a_best_end_that_one_chain_found_is_said():
    """Two that agree are evidence for each other, however low the others are."""
    (said,) = ending_at(0.0, 2.5, 0.8).remarks
    assert said.startswith("of 3 chains one ended here, the others 0.8 to 2.5 nats per document")
    assert "raise n_chains" in said
    assert (
        ending_at(0.0, 0.3).remarks[0].startswith("of 2 chains one ended here, the other 0.3 nats")
    )
    assert ending_at(0.0, 0.04, 2.5).remarks == ()
    assert ending_at(0.0).remarks == ()


def test_chains_of_a_sampler_are_judged_by_their_spread():
    chains = dcomp.fit(X, FIT.model, CollapsedGibbs(burn_in=2), max_iter=4, n_chains=3, warn=False)
    assert not any("chains" in said for said in chains.remarks)


def test_climbs_of_real_tables_say_it_where_it_is_so(tmp_path):
    mutations = dcomp.datasets.mutations(60, seed=0).counts
    model = dcomp.DCA(3, n_tries=1, start="seeded", n_chains=3, random_state=1, verbose=0)
    fit = model.fit(mutations).fit_
    ends = np.sort([trace.rows[-1].objective / mutations.n_docs for trace in fit.chains])
    assert any("chains one ended here" in said for said in fit.remarks) == (
        ends[-1] - ends[-2] >= 0.1
    )
    dcomp.save(fit, tmp_path / "a.dcomp")
    assert dcomp.load(tmp_path / "a.dcomp").remarks == fit.remarks


@pytest.mark.parametrize("K", [1, 2, 3])
def test_a_climb_that_rested_beside_copies_says_what_is_at_a_limit(K):
    """Gammas of documents that are all alike have no shape that is large enough."""
    X = np.random.default_rng(3).multinomial(60, np.full(40, 1 / 40), 100)
    fit = dcomp.GaP(K, verbose=0).fit(X).fit_
    assert fit.reason == "converged"
    assert (fit.model.scores.alpha == 5).all()
    assert "held at a limit: alpha" in fit.remarks
