"""What makes a document good for a query: one small class per way of scoring.

With n_q the times that a word is in the query, x in the document, L the document's length, p1 = x/L,
p2 = Σ_k m_k θ_qk by the components and p3 the word's share of the corpus:

    BM25             Σ n_q idf x (k1 + 1) / (x + k1 (1 − b + b L / mean L)), idf = log(1 + (I − df + ½) / (df + ½))
    TfIdf            the cosine of vectors (1 + log x) log(1 + I / df)
    Dirichlet        Σ n_q log((x + μ p3) / (L + μ))
    JelinekMercer    Σ n_q log((1 − λ) p1 + λ p3)
    Components       Σ n_q log(p1 + λ2 p2 + λ3 p3)                      C04 5
    KullbackLeibler  −KL(query ‖ document), the document smoothed by one of the three above
    LSA              the cosine in the space of the leading singular vectors of tf-idf
    ComponentSpace   the cosine of the scores of query and document, or of their square roots

They add up: `BM25() + 2 * Components()`.
"""  # noqa: E501 a table

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts
from dcomp.errors import InvalidParameter, UnsupportedCombination
from dcomp.models.arrays import FloatArray
from dcomp.use.inverted import InvertedIndex


@dataclass(frozen=True)
class Question:
    """A query as the lists are asked: what the native core takes, and what is put to its scores."""

    kind: str
    term: npt.NDArray[np.int32]
    weight: FloatArray
    background: FloatArray
    parameters: FloatArray
    Theta: npt.NDArray[np.float32] | None = None
    constant: float = 0.0
    scale: float = 1.0  # of scores, before the constant is added; positive


class Scorer:
    """A way of scoring; `Sum` of several by + and *."""

    def __add__(self, other: Scorer) -> Sum:
        return Sum((*_parts(self), *_parts(other)))

    def __mul__(self, weight: float) -> Sum:
        return Sum(tuple((scorer, weight * own) for scorer, own in _parts(self)))

    __rmul__ = __mul__


@dataclass(frozen=True)
class Sum(Scorer):
    """Several scores added up, each with its weight."""

    parts: tuple[tuple[Scorer, float], ...]

    def __post_init__(self) -> None:
        for _, weight in self.parts:
            if not (np.isfinite(weight) and weight >= 0):
                raise InvalidParameter(f"a weight must be a number of 0 or more; got {weight!r}")

    def __str__(self) -> str:
        return " + ".join(f"{weight:g} * {scorer}" for scorer, weight in self.parts)


def _parts(scorer: Scorer) -> tuple[tuple[Scorer, float], ...]:
    return scorer.parts if isinstance(scorer, Sum) else ((scorer, 1.0),)


class ListScorer(Scorer):
    """One that the inverted lists answer, so that a query touches few documents."""

    ranks_all = False  # whether documents without any word of the query have a place, too

    def question(self, index: InvertedIndex, query: Counts) -> Question:
        """One query, (1, J), as the lists are asked."""
        raise NotImplementedError


def _asked(query: Counts) -> tuple[npt.NDArray[np.int32], FloatArray]:
    return np.ascontiguousarray(query.indices, np.int32), query.data.astype(np.float64)


def _three(*values: float) -> FloatArray:
    return np.array([*values, 0.0, 0.0, 0.0][:3])


@dataclass(frozen=True)
class BM25(ListScorer):
    """Okapi BM25.

    >>> BM25(k1=-1)
    Traceback (most recent call last):
    dcomp.errors.InvalidParameter: k1 must lie in [0, inf]; got -1
    """

    k1: float = 1.2
    b: float = 0.75

    def __post_init__(self) -> None:
        _check("k1", self.k1, 0, np.inf)
        _check("b", self.b, 0, 1)

    def question(self, index: InvertedIndex, query: Counts) -> Question:
        """With the idf in the weights."""
        term, n = _asked(query)
        df = index.document_frequency[term]
        weight = n * np.log1p((index.n_docs - df + 0.5) / (df + 0.5))
        parameters = _three(self.k1, self.b, index.average_length)
        return Question("bm25", term, weight, np.zeros(len(term)), parameters)


@dataclass(frozen=True)
class TfIdf(ListScorer):
    """Cosine of tf-idf vectors."""

    def question(self, index: InvertedIndex, query: Counts) -> Question:
        """With the query's own norm in the weights."""
        term, n = _asked(query)
        own = (1 + np.log(n)) * index.idf[term]
        weight = own * index.idf[term] / np.sqrt((own**2).sum())
        return Question("tf-idf", term, weight, np.zeros(len(term)), _three())


@dataclass(frozen=True)
class Dirichlet(ListScorer):
    """Query likelihood, smoothed by μ words of the corpus."""

    mu: float = 200.0

    def __post_init__(self) -> None:
        _check("mu", self.mu, 1e-9, np.inf)

    def question(self, index: InvertedIndex, query: Counts) -> Question:
        """Words that no document has make every document impossible alike: they are left out."""
        term, n = _known(index, query)
        p = index.background[term]
        constant = float((n * np.log(p)).sum())
        return Question("dirichlet", term, n, p, _three(self.mu), constant=constant)


@dataclass(frozen=True)
class JelinekMercer(ListScorer):
    """Query likelihood, a share λ of it the corpus'."""

    share: float = 0.5

    def __post_init__(self) -> None:
        _check("share", self.share, 1e-9, 1)

    def question(self, index: InvertedIndex, query: Counts) -> Question:
        """As of `Dirichlet`."""
        term, n = _known(index, query)
        p = index.background[term]
        constant = float((n * np.log(self.share * p)).sum())
        return Question("jelinek-mercer", term, n, p, _three(self.share), constant=constant)


def _known(
    index: InvertedIndex, query: Counts, also: npt.NDArray[np.bool_] | None = None
) -> tuple[npt.NDArray[np.int32], FloatArray]:
    """The words that documents have, or may have by their components."""
    term, n = _asked(query)
    there = index.background[term] > 0
    if also is not None:
        there |= also
    if not there.any():
        raise InvalidParameter("a query must have a word that one of the documents has")
    return np.ascontiguousarray(term[there]), np.ascontiguousarray(n[there])


@dataclass(frozen=True)
class Components(ListScorer):
    """Query likelihood smoothed by components and corpus: Σ n_q log(p1 + λ2 p2 + λ3 p3), C04 5.

    C04 has (0.2, 0) for large corpora and (0.5, 0.5) for small ones.
    """

    components: float = 0.5
    corpus: float = 0.5
    ranks_all = True

    def __post_init__(self) -> None:
        _check("components", self.components, 0, np.inf)
        _check("corpus", self.corpus, 0, np.inf)
        if not self.components + self.corpus > 0:
            raise InvalidParameter("components or corpus must be above 0; both are 0")

    def question(self, index: InvertedIndex, query: Counts) -> Question:
        """With the loadings of the query's words, but for words that no document can have."""
        if not index.has_components:
            raise UnsupportedCombination("scores by components need a Retriever that has a fit")
        loaded = np.asarray(index.arrays["Theta"])[query.indices].max(axis=1) > 0
        term, n = _known(index, query, loaded & (self.components > 0))
        Theta = np.ascontiguousarray(np.asarray(index.arrays["Theta"])[term])
        parameters = _three(self.components, self.corpus)
        return Question("mixture", term, n, index.background[term].copy(), parameters, Theta)


@dataclass(frozen=True)
class KullbackLeibler(ListScorer):
    """−KL(query ‖ document): the query's words by their shares, the document smoothed."""

    smoothing: ListScorer = field(default_factory=Dirichlet)

    def __post_init__(self) -> None:
        if not isinstance(self.smoothing, Dirichlet | JelinekMercer | Components):
            raise InvalidParameter(
                "smoothing must be Dirichlet, JelinekMercer or Components; got "
                f"{type(self.smoothing).__name__}"
            )

    @property
    def ranks_all(self) -> bool:  # type: ignore[override]
        """As the smoothing does."""
        return self.smoothing.ranks_all

    def question(self, index: InvertedIndex, query: Counts) -> Question:
        """The log likelihood per word, and the query's entropy."""
        asked = self.smoothing.question(index, query)
        _, n = _asked(query)
        shares = n / n.sum()
        entropy = float(-(shares * np.log(shares)).sum())
        scale = 1 / float(n.sum())
        Theta, constant = asked.Theta, asked.constant * scale + entropy
        rest = (asked.kind, asked.term, asked.weight, asked.background, asked.parameters)
        return Question(*rest, Theta, constant, scale)


@dataclass(frozen=True)
class LSA(Scorer):
    """Cosine in the space of LSA on tf-idf; `Retriever(..., lsa=100)` makes it."""


@dataclass(frozen=True)
class ComponentSpace(Scorer):
    """Cosine of the query's scores and the document's: retrieval in the components alone (C04 2).

    similarity: "cosine", or "hellinger" for the cosine of their square roots, which for shares is
    the Bhattacharyya coefficient Σ √(m m').
    """

    similarity: str = "hellinger"

    def __post_init__(self) -> None:
        if self.similarity not in ("cosine", "hellinger"):
            raise InvalidParameter(
                f"similarity must be 'cosine' or 'hellinger'; got {self.similarity!r}"
            )


NAMES: Mapping[str, Any] = {
    "bm25": BM25,
    "tf-idf": TfIdf,
    "dirichlet": Dirichlet,
    "jelinek-mercer": JelinekMercer,
    "components": Components,
    "kl": KullbackLeibler,
    "lsa": LSA,
    "component-space": ComponentSpace,
}


def as_scorer(thing: Any) -> Scorer:
    """A scorer, or one that a text names: "bm25", "dirichlet:500", "bm25:2,0.75 + 3*components".

    >>> as_scorer("bm25:2,0.5 + 3 * components")
    Sum(parts=((BM25(k1=2.0, b=0.5), 1.0), (Components(components=0.5, corpus=0.5), 3.0)))
    """
    if isinstance(thing, Scorer):
        return thing
    if not isinstance(thing, str):
        raise InvalidParameter(f"by must be a scorer or its name; got {thing!r}")
    parts = [_named(part.strip(), thing) for part in thing.split("+")]
    if len(parts) == 1 and parts[0][1] == 1.0:
        return parts[0][0]
    return Sum(tuple(parts))


def _named(text: str, whole: str) -> tuple[Scorer, float]:
    weight, star, name = (word.strip() for word in text.rpartition("*"))
    name, _, options = (word.strip() for word in name.partition(":"))
    if name not in NAMES:
        raise InvalidParameter(f"by must name {', '.join(NAMES)}; got {whole!r}")
    try:
        values = [float(word) for word in options.split(",")] if options else []
        return NAMES[name](*values), float(weight) if star else 1.0
    except (ValueError, TypeError) as error:
        if isinstance(error, InvalidParameter):
            raise
        raise InvalidParameter(
            f"by must be NAME:NUMBERS, as in bm25:2,0.75; got {whole!r}"
        ) from None


def _check(name: str, value: float, low: float, high: float) -> None:
    if not (low <= value <= high and np.isfinite(value)):
        raise InvalidParameter(f"{name} must lie in [{low:g}, {high:g}]; got {value!r}")
