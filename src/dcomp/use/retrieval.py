"""Retriever: the documents of a corpus that answer a query, best first (C04 5, BJ04 7).

Scores are those of `use.scorers`. What inverted lists can answer they answer, and most documents
are not looked at; what lies in a dense space, or is a sum of several, is computed for all
documents, or for the best N of a first stage.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import svds

from dcomp import validation
from dcomp.data import Counts
from dcomp.errors import InvalidCounts, InvalidParameter, UnsupportedCombination
from dcomp.io import Limits
from dcomp.models.arrays import FloatArray, read_only
from dcomp.result import Fit
from dcomp.result.fingerprint import fingerprint
from dcomp.result.of_estimator import as_fit
from dcomp.use.index_file import open_index, save_index
from dcomp.use.inverted import Arrays, InvertedIndex
from dcomp.use.queries import QueryLikelihood
from dcomp.use.query_words import QueryWords
from dcomp.use.ranking import Ranking, packed, unpacked
from dcomp.use.scorers import (
    BM25,
    LSA,
    Components,
    ComponentSpace,
    ListScorer,
    Question,
    Scorer,
    Sum,
    as_scorer,
)

_TINY = 1e-30


class Retriever:
    """Finds documents by Σ n_q log(p1 + λ2 p2 + λ3 p3) (C04 5) with any fit as the smoother p2, by
    words alone, in the space of components, or by sums of these.

    fit: None for words alone. counts: the documents, of the fit or others in its features. lsa: the
    dimensions of a space of LSA on tf-idf, where scores by it are wanted. texts: those of the
    documents, whose beginnings are then kept and shown.

    >>> import dcomp
    >>> texts = ["football fans sing", "fans of football", "rain in the hills", "hills and rain"]
    >>> counts = dcomp.Counts.from_texts(texts, doc_ids=["a", "b", "c", "d"])
    >>> fitted = dcomp.LDA(2, alpha=0.3, verbose=0).fit(counts).fit_
    >>> Retriever(fitted, counts).search("fans sing", n=2).ids
    ('a', 'b')
    >>> Retriever(None, counts).search("rain", by="bm25").ids
    ('c', 'd')
    """

    def __init__(
        self,
        fit: Fit | Any | None,
        counts: Any,
        *,
        lsa: int | None = None,
        texts: Sequence[str] | None = None,
        exposure: Any = None,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.fit = None if fit is None else as_fit(fit)
        if self.fit is None:
            documents, shares, Theta = _plain(counts), None, None
        else:
            observed = self.fit.observe(counts, exposure)
            documents, Theta = observed.counts, self.fit.Theta
            shares = _shares(self.fit.transform(observed, seed=seed, n_jobs=n_jobs))
        more: dict[str, Any] = {}
        if lsa is not None:
            more |= _lsa(documents, validation.whole_number("lsa", lsa, 1), seed)
        if texts is not None:
            more["beginnings"] = _beginnings(texts, documents.n_docs)
        if not documents.n_tokens:
            raise InvalidCounts(
                "one of the documents must have a word that the index knows; none has"
            )
        own = None if self.fit is None else fingerprint(self.fit)
        self.index = InvertedIndex.build(documents, shares, Theta, more, fit=own)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        fit: Fit | Any | None = None,
        *,
        check: bool | None = None,
        limits: Limits | None = None,
    ) -> Retriever:
        """What `save` wrote, its lists mapped into memory and read as queries ask for them. fit:
        for scores that need it, "component-space" and `QueryLikelihood`: the one that the index
        was made with; for an index of words alone any with its features. check: whether all digests
        are compared first, which reads the file through; if None, where it has less than 256 MB.
        """
        self = cls.__new__(cls)
        self.index = open_index(path, check=check, limits=limits)
        self.fit = None if fit is None else as_fit(fit)
        if self.fit is not None and self.fit.features != self.index.features:
            raise InvalidParameter(f"{path} is an index of other features than the fit's")
        its_own = self.fit is None or fingerprint(self.fit) == self.index.fit
        if self.index.has_components and not its_own:
            raise InvalidParameter(
                f"{path} is an index made with another fit: open it with that one, or make one "
                "with this fit"
            )
        return self

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the index to one file, whole or not at all."""
        save_index(self.index, path, overwrite=overwrite)

    @property
    def n_docs(self) -> int:
        """Documents that can be found."""
        return self.index.n_docs

    def queries(self, queries: Any) -> Counts:
        """Queries in the features of the index: texts, lists of tokens, counts or a table."""
        return self._words.read(queries)

    @cached_property
    def _words(self) -> QueryWords:
        text = self.index.text if self.fit is None else self.fit.text or self.index.text
        return QueryWords(self.index.features, text)

    def search(
        self,
        query: Any,
        n: int = 10,
        *,
        by: Scorer | QueryLikelihood | str | None = None,
        rerank: int | None = None,
        first: Scorer | str = "bm25",
    ) -> Ranking:
        """The n best documents for one query.

        by: a scorer, its name, a sum of several ("bm25 + 2*components"), or a `QueryLikelihood`;
        `Components()` where there is a fit, else `BM25()`, unless given. Scorers by words alone
        rank documents that have a word of the query, the others all. rerank: score only so many,
        the best by `first`.
        """
        asked = self.queries(query)
        if asked.n_docs != 1:
            raise InvalidParameter(f"search takes one query; got {asked.n_docs}, see rank")
        return self._search(asked, validation.whole_number("n", n, 1), by, rerank, first)

    def rank(
        self,
        queries: Any,
        n: int = 1000,
        *,
        by: Scorer | QueryLikelihood | str | None = None,
        rerank: int | None = None,
        first: Scorer | str = "bm25",
    ) -> list[Ranking]:
        """The same for several queries."""
        asked = self.queries(queries)
        size = validation.whole_number("n", n, 1)
        return [self._search(asked.rows([q]), size, by, rerank, first) for q in range(asked.n_docs)]

    def score(self, queries: Any, by: Scorer | QueryLikelihood | str | None = None) -> FloatArray:
        """The score of every document for every query, (queries, documents)."""
        asked = self.queries(queries)
        if isinstance(by, QueryLikelihood):
            return by.score(asked, self.index.counts())
        how = self._by(by)
        rows = [self._scores(how, asked.rows([q]))[0] for q in range(asked.n_docs)]
        return read_only(np.stack(rows)[:, self.index.place])

    def more_like(
        self,
        document: int | str,
        n: int = 10,
        *,
        terms: int = 25,
        by: Scorer | str | None = None,
    ) -> Ranking:
        """Documents like one of the corpus, itself left out: its `terms` words of the largest
        tf-idf are the query, each as often as it is there."""
        number = self._number(document)
        whole = self.index.counts(np.array([number]))
        if not whole.n_tokens:
            raise InvalidParameter(f"document {document!r} has no words to look for")
        weight = (1 + np.log(whole.data)) * self.index.idf[whole.indices]
        kept = np.sort(
            np.argsort(-weight, kind="stable")[: validation.whole_number("terms", terms, 1)]
        )
        query = Counts(
            np.array([0, len(kept)]), whole.indices[kept], whole.data[kept], whole.features
        )
        found = self._search(query, validation.whole_number("n", n, 1) + 1, by, None, "bm25")
        others = np.flatnonzero(found.documents != number)[:n]
        return self._ranking(found.documents[others], found.scores[others], found.n_evaluated)

    def _number(self, document: int | str) -> int:
        names = self.index.doc_ids
        if isinstance(document, str) and names is None and document.isdecimal():
            document = int(document)
        if isinstance(document, str):
            if names is None or document not in names:
                known = "there are numbers only" if names is None else f"such as {names[0]!r}"
                raise InvalidParameter(
                    f"document must be one of the document ids, {known}; got {document!r}"
                )
            return names.index(document)
        if not -self.n_docs <= document < self.n_docs:
            raise InvalidParameter(f"document must lie in [0, {self.n_docs}); got {document}")
        return int(document) % self.n_docs

    def _by(self, by: Scorer | str | None) -> Scorer:
        if by is None:
            return Components() if self.index.has_components else BM25()
        return as_scorer(by)

    def _search(
        self,
        query: Counts,
        n: int,
        by: Scorer | QueryLikelihood | str | None,
        rerank: int | None,
        first: Scorer | str,
    ) -> Ranking:
        if rerank is not None:
            return self._rerank(query, n, by, rerank, first)
        if isinstance(by, QueryLikelihood):
            scores = by.score(query, self.index.counts())[0]
            return self._ranking(*_best(scores, np.arange(self.n_docs), n), self.n_docs)
        how = self._by(by)
        if isinstance(how, ListScorer):
            asked = how.question(self.index, query)
            places, scores, seen = self.index.lists.top(**_native(asked), n=min(n, self.n_docs))
            return self._ranking(places, scores * asked.scale + asked.constant, seen, placed=True)
        scores, counts = self._scores(how, query)
        return self._ranking(*_best(scores, np.flatnonzero(counts), n), self.n_docs, placed=True)

    def _rerank(
        self,
        query: Counts,
        n: int,
        by: Scorer | QueryLikelihood | str | None,
        rerank: int,
        first: Scorer | str,
    ) -> Ranking:
        """The best of a first stage by another score (BJ04 7)."""
        size = validation.whole_number("rerank", rerank, 1)
        chosen = self._search(query, size, as_scorer(first), None, first)
        if isinstance(by, QueryLikelihood):
            if not len(chosen):
                return chosen
            scores = by.score(query, self.index.counts(chosen.documents))[0]
            documents, best = _best(scores, np.arange(len(chosen)), n)
            return self._ranking(chosen.documents[documents], best, len(chosen))
        scores, _ = self._scores(self._by(by), query)
        places, best = _best(scores, np.sort(self.index.place[chosen.documents]), n)
        return self._ranking(places, best, len(chosen), placed=True)

    def _scores(self, how: Scorer, query: Counts) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Scores of all documents as the lists have them, and which of them count."""
        if isinstance(how, Sum):
            total, counts = np.zeros(self.n_docs), np.zeros(self.n_docs, np.bool_)
            for scorer, weight in how.parts:
                scores, own = self._scores(scorer, query)
                if weight:  # 0 of −∞ is nothing
                    total += weight * scores
                counts |= own
            return total, counts
        if isinstance(how, ListScorer):
            asked = how.question(self.index, query)
            out, matches = np.empty(self.n_docs), np.empty(self.n_docs, np.uint8)
            self.index.lists.score(**_native(asked), out=out, matches=matches)
            counts = np.ones(self.n_docs, np.bool_) if how.ranks_all else matches.astype(np.bool_)
            return out * asked.scale + asked.constant, counts
        dense = self._lsa_scores(query) if isinstance(how, LSA) else self._space(how, query)
        return dense, np.ones(self.n_docs, np.bool_)

    def _lsa_scores(self, query: Counts) -> FloatArray:
        if "lsa_documents" not in self.index.arrays:
            raise UnsupportedCombination("scores by LSA need Retriever(..., lsa=DIMENSIONS)")
        weight = (1 + np.log(query.data)) * self.index.idf[query.indices]
        vector = weight @ np.asarray(self.index.arrays["lsa_features"])[query.indices]
        return _cosine(np.asarray(self.index.arrays["lsa_documents"]), vector)

    def _space(self, how: Scorer, query: Counts) -> FloatArray:
        if not isinstance(how, ComponentSpace):
            raise InvalidParameter(f"there is no way to score by {how!r}")
        if self.fit is None or not self.index.has_components:
            raise UnsupportedCombination("scores in the space of components need the fit")
        given = 1.0 if self.fit.predictor.asks_exposure else None
        asked = np.array([given]) if given is not None else None
        own = _shares(self.fit.transform(query, exposure=asked, n_jobs=1))[0]
        shares = np.asarray(self.index.arrays["shares"])
        if how.similarity == "hellinger":
            return _cosine(np.sqrt(shares), np.sqrt(own))
        return _cosine(shares, own)

    def _ranking(
        self,
        documents: npt.NDArray[Any],
        scores: FloatArray,
        n_evaluated: int,
        *,
        placed: bool = False,
    ) -> Ranking:
        can = np.isfinite(scores)  # a document that cannot have the query's words has no place
        numbers, scores = np.asarray(documents, np.int64)[can], np.asarray(scores)[can]
        if placed:
            numbers = np.asarray(self.index.arrays["order"])[numbers].astype(np.int64)
        names: Sequence[Any] | None = self.index.doc_ids
        ids = tuple(str(i) if names is None else names[i] for i in numbers.tolist())
        begins = None
        if "beginnings" in self.index.arrays:
            begins = unpacked(self.index.arrays["beginnings"][self.index.place[numbers]])
        return Ranking(numbers, read_only(scores), ids, int(n_evaluated), begins)


def _plain(counts: Any) -> Counts:
    from dcomp.data import as_counts

    return as_counts(counts)


def _beginnings(texts: Sequence[str], n_docs: int) -> npt.NDArray[np.uint8]:
    if isinstance(texts, str) or len(texts) != n_docs:
        given = "one text" if isinstance(texts, str) else f"{len(texts)}"
        raise InvalidParameter(f"texts must have one for each of {n_docs} documents; got {given}")
    return packed(texts)


def _native(asked: Question) -> dict[str, Any]:
    names = ("kind", "term", "weight", "background", "parameters", "Theta")
    return {name: getattr(asked, name) for name in names}


def _shares(scores: npt.NDArray[Any]) -> FloatArray:
    values = np.asarray(scores, np.float64)
    total = values.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, values / np.maximum(total, _TINY), 1 / values.shape[1]))


def _best(
    scores: FloatArray, chosen: npt.NDArray[Any], n: int
) -> tuple[npt.NDArray[Any], FloatArray]:
    """The n best of the chosen, best first; of equals those that come first."""
    values = scores if len(scores) == len(chosen) else scores[chosen]
    if n < len(chosen):
        least = np.partition(values, len(values) - n)[len(values) - n]
        kept = np.flatnonzero(values >= least)
        chosen, values = chosen[kept], values[kept]
    order = np.lexsort((chosen, -values))[:n]
    return chosen[order], values[order]


def _cosine(rows: npt.NDArray[Any], vector: FloatArray) -> FloatArray:
    """Of every row with one vector; 0 where either is nothing."""
    own = np.linalg.norm(rows, axis=1).astype(np.float64) * np.linalg.norm(vector)
    product = (rows @ vector.astype(rows.dtype)).astype(np.float64)
    return np.asarray(product / np.maximum(own, _TINY))


def _lsa(counts: Counts, dimensions: int, seed: int) -> Arrays:
    """Leading singular vectors of tf-idf with rows of length 1."""
    n_docs, n_features = counts.n_docs, counts.n_features
    smaller = min(n_docs, n_features)
    if dimensions >= smaller:
        raise InvalidParameter(
            f"lsa must be below the number of documents and of features, {smaller}; got "
            f"{dimensions}"
        )
    frequency = np.bincount(counts.indices, minlength=n_features)
    idf = np.log1p(n_docs / np.maximum(frequency, 1))
    values = (1 + np.log(counts.data)) * idf[counts.indices]
    row = np.repeat(np.arange(n_docs), np.diff(counts.indptr))
    values /= np.sqrt(np.bincount(row, values**2, minlength=n_docs))[row]
    parts = (values, counts.indices, counts.indptr)
    table: Any = sparse.csr_array(parts, shape=(n_docs, n_features))
    start = np.random.default_rng(seed).normal(size=smaller)
    U, s, Vt = svds(table, k=dimensions, v0=start)
    U[np.diff(counts.indptr) == 0] = 0  # where rounding would point anywhere
    order = np.argsort(-s)
    signs = np.sign(Vt[np.arange(dimensions), np.abs(Vt).argmax(axis=1)])
    return {"lsa_documents": ((U * s) * signs)[:, order], "lsa_features": (Vt.T * signs)[:, order]}
