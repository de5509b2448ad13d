"""Counts that need not be whole: who takes them, who refuses them, and that all else is alike."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln

import dcomp
from dcomp import evaluate
from dcomp.data import Counts, document_keys, halves
from dcomp.errors import InvalidCounts, InvalidFile, InvalidParameter
from dcomp.inference import CollapsedGibbs, Gibbs, Laplace, MaximumLikelihood, MeanField
from dcomp.models import (
    ConditionalGammaPoisson,
    DirichletMultinomial,
    GammaPoisson,
    LogisticNormal,
    Observations,
)

RNG = np.random.default_rng(0)
SHARES = RNG.dirichlet(np.full(3, 0.3), 60)
WHOLE = RNG.poisson(30 * SHARES @ RNG.dirichlet(np.full(12, 0.3), 3))
PARTED = WHOLE * RNG.gamma(4.0, 0.25, WHOLE.shape)
QUIET = {"verbose": 0, "max_iter": 30}
CLIMBERS = {
    # One start: of several the one that is best after some sweeps may hang on rounding.
    "mean field DM": lambda **options: dcomp.LDA(3, n_tries=1, **QUIET, **options),
    "mean field GP": lambda **options: dcomp.GaP(3, **QUIET, **options),
    "map": lambda **options: dcomp.DCA(3, algorithm="map", **QUIET, **options),
    "plsa": lambda **options: dcomp.PLSA(3, **QUIET, **options),
    "nmf": lambda **options: dcomp.NMF(3, **QUIET, **options),
    "ctm": lambda **options: dcomp.CTM(3, start="mean-field", **QUIET, **options),
    "tree": lambda **options: dcomp.TreeDCA(2, 2, algorithm="mean-field", **QUIET, **options),
}
pytestmark = pytest.mark.filterwarnings("ignore::dcomp.ConvergenceWarning")


def fractional(X, **names):
    return Counts.from_matrix(X, fractional=True, **names)


def test_counts_keep_what_they_are():
    counts = fractional(PARTED, blocks=[0] * 5 + [1] * 7)
    assert counts.is_fractional
    assert counts.data.dtype == np.float64
    np.testing.assert_allclose(counts.doc_totals, PARTED.sum(axis=1))
    np.testing.assert_allclose(counts.feature_totals, PARTED.sum(axis=0))
    np.testing.assert_allclose(counts.block_totals[:, 1], PARTED[:, 5:].sum(axis=1))
    assert counts.n_tokens == pytest.approx(PARTED.sum())
    for part in (counts.rows([3, 1]), counts.columns([2, 7]), *counts.in_parts(3).parts):
        assert part.is_fractional
    assert "fractional counts of" in repr(counts)
    again = pickle.loads(pickle.dumps(counts))
    assert again == counts
    assert again.fingerprint() == counts.fingerprint()


def test_whole_numbers_that_may_be_parted_are_other_counts():
    """What a sampler takes must not follow from the values alone."""
    whole, parted = Counts.from_matrix(WHOLE), fractional(WHOLE)
    assert whole != parted
    assert whole.fingerprint() != parted.fingerprint()
    np.testing.assert_array_equal(parted.doc_totals, whole.doc_totals)


def test_the_combinatoric_term_goes_on_smoothly():
    expected = gammaln(PARTED.sum(axis=1) + 1) - gammaln(PARTED + 1).sum(axis=1)
    np.testing.assert_allclose(fractional(PARTED).log_combinatoric(), expected)
    whole = Counts.from_matrix(WHOLE).log_combinatoric()
    np.testing.assert_allclose(fractional(WHOLE).log_combinatoric(), whole)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -0.25, 2.0**31])
def test_what_is_no_amount_is_refused(bad):
    X = np.full((2, 2), 0.5)
    X[1, 0] = bad
    with pytest.raises(InvalidCounts, match="at document 1, feature 0"):
        fractional(X)
    with pytest.raises(InvalidCounts, match="not canonical"):
        Counts(np.array([0, 1]), np.array([0]), np.array([bad]), fractional(X[:1]).features)
    if np.isfinite(bad):  # scikit-learn has its own words for the others
        with pytest.raises(InvalidCounts, match="at document 1, feature 0"):
            dcomp.LDA(2, fractional=True, **QUIET).fit(X)


@pytest.mark.parametrize("name", CLIMBERS)
def test_whole_numbers_give_the_same_answer(name):
    plain = CLIMBERS[name]().fit(WHOLE)
    parted = CLIMBERS[name](fractional=True).fit(WHOLE)
    assert parted.fit_.provenance.fractional
    np.testing.assert_allclose(parted.components_, plain.components_, atol=1e-3)
    np.testing.assert_allclose(
        parted.fit_.history["objective"], plain.fit_.history["objective"], rtol=1e-6
    )
    np.testing.assert_allclose(
        parted.transform(WHOLE), plain.transform(WHOLE), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("name", CLIMBERS)
def test_numbers_that_are_not_whole(name):
    with pytest.raises(InvalidCounts, match=r"whole.*\(fractional=True takes corrected counts"):
        CLIMBERS[name]().fit(PARTED)
    model = CLIMBERS[name](fractional=True).fit(PARTED)
    np.testing.assert_allclose(
        model.fit_.expected_counts.sum(axis=1), PARTED.sum(axis=1), rtol=1e-3
    )
    scores = model.fit_.transform(PARTED)  # a fit of such counts takes tables of them
    np.testing.assert_array_equal(scores, model.transform(fractional(PARTED)))
    assert model.perplexity(PARTED) < 12


@pytest.mark.parametrize(
    ("model", "algorithm"),
    [
        (DirichletMultinomial.build(3, alpha=0.5), MeanField()),
        (
            GammaPoisson.build(3, alpha=1.0, beta=0.0, gamma=1.0),
            MaximumLikelihood(solver="multiplicative"),
        ),
    ],
    ids=["mean-field", "ml"],
)
def test_parts_agree(model, algorithm):
    one, cut = (
        dcomp.fit(counts, model, algorithm, max_iter=10, tol=0).history["objective"]
        for counts in (fractional(PARTED), fractional(PARTED).in_parts(3))
    )
    np.testing.assert_allclose(cut, one, rtol=1e-6)


def test_a_scale_of_counts_is_one_of_scores():
    """GP with all counts times c: scores times c where β is by c smaller. α stays, so that the two
    fits differ by what prior and counts weigh; with counts of millions that is next to nothing."""
    c = 3.7
    model = GammaPoisson.build(3, alpha=1.0, beta=1e-9, gamma=0.001)
    scaled = GammaPoisson.build(3, alpha=1.0, beta=1e-9, gamma=0.001)
    one = dcomp.fit(fractional(1e6 * PARTED), model, max_iter=60, tol=0, warn=False)
    other = dcomp.fit(fractional(c * 1e6 * PARTED), scaled, max_iter=60, tol=0, warn=False)
    np.testing.assert_allclose(other.components, one.components, atol=2e-3)
    np.testing.assert_allclose(other.scores.sum(axis=1), c * one.scores.sum(axis=1), rtol=1e-3)


def test_maximum_likelihood_does_not_mind_the_unit():
    one = dcomp.NMF(3, fractional=True, tol=1e-8, verbose=0, max_iter=400).fit(PARTED)
    other = dcomp.NMF(3, fractional=True, tol=1e-8, verbose=0, max_iter=400).fit(0.01 * PARTED)
    assert other.loss_ == pytest.approx(0.01 * one.loss_, rel=1e-3)


REFUSALS = {
    "gibbs": lambda X: dcomp.LDA(2, algorithm="gibbs", fractional=True, **QUIET).fit(X),
    "collapsed-gibbs": lambda X: dcomp.fit(
        fractional(X), DirichletMultinomial.build(2), CollapsedGibbs()
    ),
    "gibbs of CGP": lambda X: dcomp.fit(fractional(X), ConditionalGammaPoisson.build(2), Gibbs()),
    "structured": lambda X: dcomp.StructuredDCA(2, n_chains=1, **QUIET).fit(fractional(X)),
    "start='mean-field' of a sampler": lambda X: dcomp.DCA(
        2, algorithm="gibbs", start="mean-field", fractional=True, **QUIET
    ).fit(X),
    "start='collapsed-gibbs'": lambda X: dcomp.fit(
        fractional(X), LogisticNormal.build(2), Laplace(start="collapsed-gibbs")
    ),
    "sampling": lambda X: fitted().sample_scores(fractional(X)),
    "transform": lambda X: fitted().transform(X, method="sampling"),
    "score_posterior": lambda X: evaluate.score_posterior(fitted(), X),
    "left_to_right": lambda X: evaluate.left_to_right(fitted(), X),
    "evidence": lambda X: evaluate.evidence(
        fractional(X), n_components=2, alpha=0.5, gamma=0.5, n_sweeps=10
    ),
    "predictive_check": lambda X: evaluate.predictive_check(fitted(), X),
}


def fitted():
    return dcomp.LDA(2, fractional=True, **QUIET).fit(PARTED).fit_


@pytest.mark.parametrize("what", REFUSALS)
def test_what_draws_for_single_tokens_refuses(what):
    X = WHOLE[:6].astype(float)
    X[4, 7] = 2.5
    with pytest.raises(InvalidCounts) as caught:
        REFUSALS[what](X)
    message = str(caught.value)
    assert "counts must be whole numbers; found 2.5 at document 4, feature 7." in message
    assert "fractional counts" in message.split("feature 7.")[1]  # what takes them


def test_whole_numbers_that_were_said_to_be_parted_are_refused_too():
    with pytest.raises(InvalidCounts, match="made with fractional=True: make them without it"):
        dcomp.fit(fractional(WHOLE), DirichletMultinomial.build(2), Gibbs())


@pytest.mark.parametrize("fraction", [0.5, 0.2])
def test_a_split_by_shares(fraction):
    """Mean f w and variance f (1 − f) w² / (w + 1), each document by numbers of its own."""
    w = np.array([0.05, 0.7, 3.0, 40.5])
    many = fractional(np.tile(w, (20000, 1)))
    first, second = halves(many, fraction, seed=3)
    one, two = first.to_scipy().toarray(), second.to_scipy().toarray()
    np.testing.assert_allclose(one + two, np.tile(w, (20000, 1)), rtol=1e-12)
    assert one.min() >= 0
    assert two.min() >= 0
    variance = fraction * (1 - fraction) * w**2 / (w + 1)
    assert (np.abs(one.mean(axis=0) - fraction * w) < 4 * np.sqrt(variance / 20000)).all()
    np.testing.assert_allclose(one.var(axis=0), variance, rtol=0.06)
    for f in (0.0, 1.0):
        assert halves(many, f)[0 if f else 1] == many


def test_a_split_does_not_depend_on_the_company():
    counts = fractional(PARTED)
    alone, _ = halves(counts.rows([17]), 0.5, seed=1)
    together, _ = halves(counts, 0.5, seed=1)
    assert alone == together.rows([17])
    assert len(set(document_keys(counts).tolist())) == len(PARTED)
    assert halves(counts, 0.5, seed=2)[0] != together
    whole = dcomp.LDA(3, fractional=True, **QUIET).fit(PARTED).fit_
    score = evaluate.completion(whole, counts)
    assert evaluate.completion(whole, counts.in_parts(4)).per_document.tolist() == (
        score.per_document.tolist()
    )
    assert score.n_tokens == pytest.approx(score.tokens.sum())


def test_completion_is_no_copy_of_what_was_seen():
    """Fixed shares would let many components look better than they are."""
    rng = np.random.default_rng(3)
    X = rng.gamma(0.4, 1.0, (150, 40))  # nothing to be found
    score = [dcomp.PLSA(K, fractional=True, **QUIET).fit(X[:100]).score(X[100:]) for K in (1, 12)]
    assert score[0] > score[1]


@pytest.mark.filterwarnings("ignore")  # of chains as short as these
def test_choosing_components():
    counts = fractional(PARTED)
    chosen = evaluate.select_components(counts, [1, 3], n_chains=2, random_state=0)
    assert chosen.recommended == 3
    assert "Fractional counts have no evidence." in chosen.summary
    with pytest.raises(InvalidCounts, match="evidence draws for single tokens"):
        evaluate.select_components(counts, [1, 3], n_chains=2, with_evidence=True)


def test_held_out_words_of_tempered_em():
    model = dcomp.PLSA(3, held_out=0.2, fractional=True, verbose=0).fit(PARTED)
    assert 0 < model.temper_ <= 1


def test_a_fit_of_such_counts_is_kept_in_a_file(tmp_path):
    model = dcomp.LDA(3, fractional=True, **QUIET).fit(PARTED)
    dcomp.save(model, tmp_path / "fit.dcomp")
    loaded = dcomp.load(tmp_path / "fit.dcomp")
    assert loaded.provenance == model.fit_.provenance
    assert loaded.provenance.n_tokens == pytest.approx(PARTED.sum())
    np.testing.assert_array_equal(loaded.transform(PARTED), model.transform(PARTED))
    longer = dcomp.fit(fractional(PARTED), loaded.model, max_iter=40, tol=0, resume=loaded)
    assert longer.n_sweeps == 40
    with pytest.raises(InvalidCounts, match="a fit can be resumed only on the counts"):
        dcomp.fit(fractional(WHOLE), loaded.model, max_iter=50, resume=loaded)


def test_files_of_counts(tmp_path):
    names, ids = [f"w{j}" for j in range(12)], [f"d{i}" for i in range(60)]
    counts = fractional(PARTED, feature_names=names, doc_ids=ids)
    sparse.save_npz(tmp_path / "table.npz", counts.to_scipy())
    assert dcomp.read(tmp_path / "table.npz", fractional=True, vocab=names) == fractional(
        PARTED, feature_names=names
    )
    rows = [
        ",".join([i, *(repr(float(x)) for x in row)]) for i, row in zip(ids, PARTED, strict=True)
    ]
    (tmp_path / "wide.csv").write_text("\n".join(["doc," + ",".join(names), *rows]))
    assert dcomp.read(tmp_path / "wide.csv", fractional=True) == counts
    (tmp_path / "long.csv").write_text("doc,word,count\nd1,cat,0.5\nd1,cat,0.25\nd2,ant,1\n")
    assert dcomp.read(tmp_path / "long.csv", fractional=True).data.tolist() == [0.75, 1.0]
    (tmp_path / "table.mtx").write_text(
        "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 0.5\n2 2 1e-3\n"
    )
    assert dcomp.read(tmp_path / "table.mtx", fractional=True).data.tolist() == [0.5, 0.001]
    for name in ("table.npz", "wide.csv", "long.csv", "table.mtx"):
        with pytest.raises(InvalidFile, match=r"fractional=True takes corrected"):
            dcomp.read(tmp_path / name)
    (tmp_path / "bad.csv").write_text("doc,word,count\nd1,cat,-0.5\n")
    with pytest.raises(InvalidFile, match=r"bad.csv:2: counts must be non-negative numbers"):
        dcomp.read(tmp_path / "bad.csv", fractional=True)
    (tmp_path / "docs.dat").write_text("1 0:2\n")
    with pytest.raises(InvalidParameter, match="'fractional' has no effect on the format 'ldac'"):
        dcomp.read(tmp_path / "docs.dat", fractional=True)


def test_frames_and_long_tables():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(PARTED)
    assert Counts.from_frame(frame, fractional=True) == fractional(PARTED)
    assert dcomp.as_counts(frame, fractional=True) == fractional(PARTED)
    long = Counts.from_table(["a", "a"], ["x", "x"], [0.25, 0.5], fractional=True)
    assert long.data.tolist() == [0.75]


def test_exposure_and_blocks():
    model = dcomp.GaP(3, fractional=True, exposure="total", blocks=[0] * 5 + [1] * 7, **QUIET)
    scores = model.fit(PARTED[PARTED.sum(axis=1) > 5]).transform(PARTED[PARTED.sum(axis=1) > 5])
    np.testing.assert_allclose(scores.sum(axis=1), 1, atol=0.25)


def test_counts_below_one_in_all():
    """Weights such as tf-idf may sum to less than a single word."""
    X = 1e-6 * PARTED
    for name in ("mean field DM", "nmf", "plsa"):
        model = CLIMBERS[name](fractional=True).fit(X)
        assert np.isfinite(model.components_).all()
    one, other = (
        dcomp.PLSA(3, fractional=True, tol=0, **QUIET).fit(x).components_ for x in (X, PARTED)
    )
    np.testing.assert_allclose(one, other, atol=1e-4)


@pytest.mark.parametrize("start", ["seeded", "spectral"])
def test_a_start_does_not_mind_the_unit(start):
    algorithm, model = MeanField(start=start, dtype="float64"), DirichletMultinomial.build(3)
    one, other = (
        algorithm.init(model, Observations.build(fractional(x)), seed=1).n
        for x in (PARTED, 1e-6 * PARTED)
    )
    np.testing.assert_allclose(1e6 * other, one, rtol=1e-6)
