"""Retrieval: every score against its formula in NumPy, the best n against all scores, files."""

from dataclasses import replace

import numpy as np
import pytest

import dcomp
from dcomp.errors import InvalidCounts, InvalidFile, InvalidParameter, UnsupportedCombination
from dcomp.result.fingerprint import fingerprint
from dcomp.use import (
    BM25,
    LSA,
    Components,
    ComponentSpace,
    Dirichlet,
    JelinekMercer,
    KullbackLeibler,
    QueryLikelihood,
    Retriever,
    TfIdf,
)
from dcomp.use.index_file import open_index, save_index
from dcomp.use.inverted import InvertedIndex

N, J = 700, 150
WORDS = [BM25(), BM25(2.0, 0.3), TfIdf(), Dirichlet(50), JelinekMercer(0.3)]
SMOOTHED = [Components(), Components(0.2, 0.0), KullbackLeibler(Components())]
LISTS = [*WORDS, *SMOOTHED, KullbackLeibler(Dirichlet(50))]


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(3)
    topics = rng.dirichlet(np.full(J, 0.1), 6)
    mixed = rng.dirichlet(np.full(6, 0.2), N)
    W = rng.poisson(rng.integers(5, 60, (N, 1)) * (mixed @ topics))
    W[5] = 0  # a document without words
    W[:, 7] = 0  # a word without documents
    names = [f"w{j}" for j in range(J)]
    return dcomp.Counts.from_matrix(W, feature_names=names, doc_ids=[f"d{i}" for i in range(N)])


@pytest.fixture(scope="module")
def fit(counts):
    return dcomp.LDA(6, alpha=0.2, tol=1.0, verbose=0).fit(counts).fit_


@pytest.fixture(scope="module")
def retriever(fit, counts):
    return Retriever(fit, counts, lsa=8)


@pytest.fixture(scope="module")
def queries(counts):
    rng = np.random.default_rng(8)
    rows = np.zeros((12, J), int)
    for q, row in enumerate(rows):
        words = rng.choice(np.flatnonzero(counts.feature_totals), 1 + q)
        np.add.at(row, words, 1)
    return rows


KNOWN = {}


def p2_of(fit, counts):
    """Computed once: all words of all documents."""
    if "p2" not in KNOWN:
        KNOWN["p2"] = fit.predictor.word_probability(counts, range(J))
    return KNOWN["p2"]


def by_formula(scorer, counts, fit, x):
    """Scores of all documents in NumPy, dense, from the formulae of `use.scorers`."""
    W = counts.to_scipy().toarray().astype(float)
    L, p3 = W.sum(1), W.sum(0) / W.sum()
    df = (W > 0).sum(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        p1 = np.where(L[:, None] > 0, W / L[:, None], 0)
        if isinstance(scorer, BM25):
            idf = np.log(1 + (N - df + 0.5) / (df + 0.5))
            k = scorer.k1 * (1 - scorer.b + scorer.b * L / L.mean())
            return (W * (scorer.k1 + 1) / (W + k[:, None])) @ (x * idf)
        if isinstance(scorer, TfIdf):
            vectors = [
                np.where(v > 0, 1 + np.log(v), 0) * np.log(1 + N / df.clip(1)) for v in (W, x)
            ]
            norms = [np.sqrt((v**2).sum(-1)) for v in vectors]
            return np.nan_to_num(vectors[0] @ vectors[1] / norms[0] / norms[1])
        if isinstance(scorer, KullbackLeibler):
            p = x[x > 0] / x.sum()
            return by_formula(scorer.smoothing, counts, fit, x) / x.sum() - (p * np.log(p)).sum()
        if isinstance(scorer, Dirichlet):
            log_p = np.log((W + scorer.mu * p3) / (L[:, None] + scorer.mu))
        elif isinstance(scorer, JelinekMercer):
            log_p = np.log((1 - scorer.share) * p1 + scorer.share * p3)
        else:
            p2 = p2_of(fit, counts)
            log_p = np.log(p1 + scorer.components * p2 + scorer.corpus * p3)
    return log_p[:, x > 0] @ x[x > 0]


@pytest.mark.parametrize("scorer", LISTS, ids=repr)
def test_scores_are_the_formula(retriever, counts, fit, queries, scorer):
    found = retriever.score(queries, scorer)
    for row, x in zip(found, queries, strict=True):
        assert row == pytest.approx(by_formula(scorer, counts, fit, x), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("scorer", LISTS, ids=repr)
@pytest.mark.parametrize("n", [1, 10, N])
def test_the_best_are_the_best_of_all(retriever, queries, scorer, n):
    every = retriever.score(queries, scorer)
    W = retriever.index.counts().to_scipy().toarray()
    for q, ranking in enumerate(retriever.rank(queries, n, by=scorer)):
        counted = np.arange(N) if scorer.ranks_all else np.flatnonzero(W @ queries[q])
        best = np.sort(every[q][counted])[::-1][:n]
        assert (ranking.scores == best).all()  # to the last bit
        assert (every[q][ranking.documents] == ranking.scores).all()
        assert len(set(ranking.documents.tolist())) == len(ranking) == len(best)


def test_few_documents_are_looked_at(retriever, counts):
    rare = int(np.argsort(counts.feature_totals + 10**6 * (counts.feature_totals == 0))[0])
    found = retriever.search([[counts.features.names[rare]]], 5, by=BM25())
    assert found.n_evaluated < N / 2


def test_a_wrong_bound_is_seen(counts, fit, monkeypatch):
    """The control of the test above: bounds that are too low lose documents."""
    made = Retriever(fit, counts)
    arrays = dict(made.index.arrays)
    arrays["envelope"] = arrays["envelope"] * np.float32(0.01)
    arrays["entry_ratio"] = arrays["entry_ratio"] * np.float32(0.01)
    broken = type(made.index)(made.index.features, None, None, arrays)
    asked = np.eye(J, dtype=int)[:5]
    right = [set(r.documents.tolist()) for r in made.rank(asked, 20)]
    monkeypatch.setattr(made, "index", broken)
    assert right != [set(r.documents.tolist()) for r in made.rank(asked, 20)]


def test_dense_spaces_and_sums(retriever, fit, counts, queries):
    shares = fit.transform(counts).astype(float)
    own = fit.transform(queries).astype(float)
    wanted = np.sqrt(own) @ np.sqrt(shares).T
    assert retriever.score(queries, ComponentSpace()) == pytest.approx(wanted, abs=1e-5)
    both = retriever.score(queries, BM25() + 2 * ComponentSpace())
    assert both == pytest.approx(retriever.score(queries, "bm25") + 2 * wanted, abs=1e-4)
    best = retriever.search(queries[:1], 5, by="bm25 + 2*component-space")
    assert best.documents.tolist() == np.argsort(-both[0], kind="stable")[:5].tolist()
    assert retriever.search(queries[:1], N, by=LSA()).scores.max() <= 1 + 1e-6


def test_lsa_is_the_cosine_of_projected_vectors(retriever, counts, queries):
    W = counts.to_scipy().toarray().astype(float)
    idf = np.log(1 + N / (W > 0).sum(0).clip(1))
    with np.errstate(divide="ignore", invalid="ignore"):
        T = np.where(W > 0, 1 + np.log(W), 0) * idf
        T = np.nan_to_num(T / np.linalg.norm(T, axis=1, keepdims=True))
        v = np.where(queries > 0, 1 + np.log(queries), 0) * idf
    _, _, Vt = np.linalg.svd(T, full_matrices=False)
    D, Q = T @ Vt[:8].T, v @ Vt[:8].T
    wanted = Q @ D.T / np.linalg.norm(Q, axis=1)[:, None] / np.linalg.norm(D, axis=1).clip(1e-30)
    assert retriever.score(queries, LSA()) == pytest.approx(wanted, abs=1e-4)


def test_reranking_scores_the_first_stage_alone(retriever, fit, queries):
    first = retriever.search(queries[3:4], 30, by="bm25")
    again = retriever.search(queries[3:4], 5, by=Components(), rerank=30)
    every = retriever.score(queries[3:4], Components())[0]
    assert set(again.documents) <= set(first.documents)
    assert (again.scores == np.sort(every[first.documents])[::-1][:5]).all()
    likelihood = QueryLikelihood(fit, n_draws=50)
    sampled = retriever.search(queries[3:4], 5, by=likelihood, rerank=30)
    assert set(sampled.documents) <= set(first.documents)
    assert sampled.n_evaluated == 30


def test_more_like_a_document(retriever, counts):
    like = retriever.more_like("d10", 5)
    assert "d10" not in like.ids
    assert len(like) == 5
    with pytest.raises(InvalidParameter, match="no words"):
        retriever.more_like(5)
    with pytest.raises(InvalidParameter, match="document ids"):
        retriever.more_like("nobody")


def test_blocks_are_probabilities_together():
    counts = dcomp.Counts.from_matrix(
        np.random.default_rng(0).poisson(2.0, (40, 6)), blocks=[0, 0, 1, 1, 1, 1]
    )
    fit = dcomp.LDA(2, tol=1.0, verbose=0).fit(counts).fit_
    made = Retriever(fit, counts)
    p = sum(
        np.exp(made.score(np.eye(6, dtype=int)[[j]], Components(1.0, 0.0)))[0] for j in range(6)
    )
    assert p == pytest.approx(2.0, abs=1e-5)  # p1 and p2, each of all words together


def test_any_fit_smooths(counts):
    for model in ("GP", "CGP"):
        how = {} if model == "GP" else {"algorithm": "collapsed-gibbs", "max_iter": 20}
        fit = dcomp.DCA(3, model=model, tol=5.0, verbose=0, **how).fit(counts).fit_
        assert len(Retriever(fit, counts).search([["w1", "w2"]], 3)) == 3
    tree = dcomp.TreeDCA(branching=2, depth=2, tol=5.0, verbose=0).fit(counts)
    assert len(Retriever(tree, counts).search([["w1", "w2"]], 3)) == 3


def test_what_cannot_be_done_is_told(retriever, counts):
    plain = Retriever(None, counts)
    assert len(plain.search([["w1"]], 3)) == 3
    for by in ("components", "lsa", "component-space"):
        with pytest.raises(UnsupportedCombination):
            plain.search([["w1"]], by=by)
    for by in ("bm26", "bm25:x", "bm25:-1", "2*", 3):
        with pytest.raises(InvalidParameter):
            plain.search([["w1"]], by=by)
    with pytest.raises(InvalidParameter, match="one query"):
        plain.search([["w1"], ["w2"]])
    with pytest.raises(InvalidParameter, match="one of the documents"):
        plain.search([["w7"]], by="dirichlet")
    assert len(plain.search([["w7"]], by="bm25")) == 0


def test_scores_are_finite_whatever_the_corpus_lacks(fit, counts):
    """Few documents, of few of the words that the fit knows."""
    few = np.zeros((4, J), int)
    few[:3, 1], few[0, 2] = 2, 1  # the last has none
    made = Retriever(fit, dcomp.Counts.from_matrix(few, feature_names=counts.features.names))
    for by in ("components", "components:0,0.5", "components:0.5,0", "bm25 + 0*components"):
        for words in (["w1"], ["w1", "w9"], ["w2"]):
            found = made.search([words], by=by)
            assert len(found)
            assert np.isfinite(found.scores).all()
    with pytest.raises(InvalidParameter, match="one of the documents"):
        made.search([["w9"]], by="components:0,0.5")
    with pytest.raises(InvalidCounts, match="none has"):
        Retriever(fit, np.zeros((2, J), int))


def test_impossible_documents_have_no_place():
    """Loadings with exact zeros and nothing of the corpus: log 0 is no score."""
    counts = dcomp.Counts.from_matrix([[5, 3, 0, 0], [4, 6, 0, 0], [0, 0, 5, 3], [0, 0, 2, 8]])
    made = Retriever(dcomp.PLSA(2, verbose=0).fit(counts), counts)
    arrays = dict(made.index.arrays)
    for name in ("Theta", "shares", "envelope"):
        arrays[name] = np.where(arrays[name] < 1e-3, 0, arrays[name]).astype(np.float32)
    made.index = replace(made.index, arrays=arrays)
    found = made.search(np.eye(4, dtype=int)[[0]], by=Components(1.0, 0.0))
    assert sorted(found.documents.tolist()) == [0, 1]
    both = made.search(np.eye(4, dtype=int)[[0]], by="bm25 + components:1,0")
    assert sorted(both.documents.tolist()) == [0, 1]


def test_index_files_are_the_same_index(retriever, fit, queries, tmp_path):
    path = tmp_path / "a.dindex"
    retriever.save(path)
    again = Retriever.open(path, fit)
    assert isinstance(again.index.arrays["document"], np.memmap)
    for by in ("bm25 + lsa", "components", "component-space"):
        assert (again.score(queries, by) == retriever.score(queries, by)).all()
    assert again.search(queries[:1]).ids == retriever.search(queries[:1]).ids
    with pytest.raises(FileExistsError):
        retriever.save(path)


def test_an_index_knows_its_fit(retriever, counts, fit, tmp_path):
    path, kept = tmp_path / "a.dindex", tmp_path / "a.dcomp"
    retriever.save(path)
    dcomp.save(fit, kept)
    assert Retriever.open(path, dcomp.load(kept)).n_docs == N
    for how in ({"alpha": 0.2, "random_state": 1}, {"alpha": 0.3}):
        other = dcomp.LDA(6, tol=1.0, verbose=0, **how).fit(counts)
        with pytest.raises(InvalidParameter, match="made with another fit"):
            Retriever.open(path, other)
    Retriever(None, counts).save(tmp_path / "words.dindex")
    assert Retriever.open(tmp_path / "words.dindex", fit).fit is fit  # no components, no other fit


def test_samplers_and_trees_are_known_again(counts, tmp_path):
    models = (
        dcomp.DCA(3, model="CGP", algorithm="collapsed-gibbs", max_iter=12, verbose=0),
        dcomp.TreeDCA(branching=2, depth=2, tol=5.0, verbose=0),
    )
    for number, model in enumerate(models):
        fitted = model.fit(counts).fit_
        dcomp.save(fitted, tmp_path / f"{number}.dcomp")
        assert fingerprint(dcomp.load(tmp_path / f"{number}.dcomp")) == fingerprint(fitted)


def test_a_text_is_read_as_the_index_was(tmp_path):
    counts = dcomp.Counts.from_texts(["Cats run", "dogs sleep"], stem="english")
    Retriever(None, counts).save(tmp_path / "a")
    assert Retriever.open(tmp_path / "a").search("RUNNING").documents.tolist() == [0]


def test_damaged_files_are_refused(retriever, tmp_path):
    path, broken = tmp_path / "a.dindex", tmp_path / "b.dindex"
    retriever.save(path)
    whole = path.read_bytes()
    places = np.random.default_rng(0).integers(0, len(whole), 60)
    for place in (*places.tolist(), 3, 9, 20, 30, 50):
        changed = bytearray(whole)
        changed[place] ^= 0x41
        broken.write_bytes(changed)
        try:
            Retriever.open(broken)
        except InvalidFile:
            continue
        assert whole[place] == 0  # between two arrays
    for length in (0, 10, 40, len(whole) // 2, len(whole) - 1):
        broken.write_bytes(whole[:length])
        with pytest.raises(InvalidFile):
            Retriever.open(broken)
    broken.write_bytes(whole + b"\0")
    with pytest.raises(InvalidFile):
        Retriever.open(broken)


def test_a_block_that_has_no_name_is_refused(tmp_path):
    """In a file whose digests are all in order."""
    counts = dcomp.Counts.from_matrix([[2, 0, 1], [1, 3, 0]], blocks=["a", "b", "c"])
    index, path = InvertedIndex.build(counts), tmp_path / "a.dindex"
    object.__setattr__(index.features, "block_names", ("a", "b"))
    save_index(index, path)
    with pytest.raises(dcomp.InvalidFile, match="damaged dcomp index"):
        open_index(path)


@pytest.mark.parametrize(("name", "value"), [("list_start", 10**9), ("entry_start", 10**9)])
def test_lists_outside_of_the_file_are_refused(retriever, name, value):
    arrays = dict(retriever.index.arrays)
    arrays[name] = np.r_[arrays[name][:-1], value]
    index = replace(retriever.index, arrays=arrays)
    with pytest.raises(InvalidFile, match="must lie in"):
        _ = index.document_frequency


def test_lists_that_are_damaged_unseen_do_no_harm(retriever, queries, tmp_path):
    """Without digests: an error or some ranking, and never a place outside of the file."""
    path, broken = tmp_path / "a.dindex", tmp_path / "b.dindex"
    retriever.save(path)
    whole, rng = path.read_bytes(), np.random.default_rng(1)
    for _ in range(60):
        changed = bytearray(whole)
        for place in rng.integers(len(whole) // 4, len(whole), 40):
            changed[place] = rng.integers(256)
        broken.write_bytes(changed)
        try:
            made = Retriever.open(broken, check=False)
            for by in ("bm25", "tf-idf", "dirichlet", "components"):
                made.search(queries[5:6], by=by)
        except (InvalidFile, ValueError):
            pass


def test_beginnings_go_with_their_documents(tmp_path):
    texts = [f"word{i} " + "ä" * (150 * (i % 3)) for i in range(200)]
    counts = dcomp.Counts.from_texts(texts, stop_words=None, token=r"word\d+")
    fitted = dcomp.LDA(3, verbose=0).fit(counts)  # whose index is in another order
    made = Retriever(fitted, counts, texts=texts)
    made.save(tmp_path / "a.dindex")
    for retriever in (made, Retriever.open(tmp_path / "a.dindex", fitted)):
        for i in (0, 1, 2, 77, 199):
            found = retriever.search(f"word{i}", n=1, by="bm25")
            whole = texts[i].strip().encode()[:160].decode(errors="ignore")
            assert found.beginnings == (whole,)
            assert str(found).startswith(f"{i}  ")
            assert len(str(found)) <= 80
    like = made.more_like(5, n=3)
    for i, begin in zip(like.documents, like.beginnings, strict=True):
        assert begin.split()[0] == f"word{i}"
    with pytest.raises(dcomp.InvalidParameter, match="one for each of 200 documents; got 2"):
        Retriever(fitted, counts, texts=texts[:2])
    assert Retriever(None, counts).search("word3").beginnings is None


@pytest.mark.parametrize("query", [None, 5, 2.5])
def test_a_query_that_is_none_is_told_what_one_is(query):
    retriever = Retriever(None, dcomp.Counts.from_texts(["rain in the hills", "fans sing"]))
    with pytest.raises(InvalidParameter, match=f"a query must be a text.*got {query}"):
        retriever.search(query)
