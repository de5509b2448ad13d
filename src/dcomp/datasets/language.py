"""Text: a vocabulary by Zipf's law, and words that, once said, are said again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcomp.data import Counts
from dcomp.datasets.draws import (
    Floats,
    check_positive,
    check_sizes,
    frozen,
    generator,
    normalised,
    numbered,
)
from dcomp.errors import InvalidParameter


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """Words of documents in reading order, and the topics that they are about."""

    counts: Counts  # (I, J), with sequences; words are numbered by Zipf's rank
    memberships: Floats  # (I, K), what each document was to be about; rows sum to 1
    components: Floats  # (K, J), the topics; rows sum to 1


def text(
    n_docs: int = 300,
    n_words: int = 2000,
    *,
    n_topics: int = 10,
    length: float = 100.0,
    zipf: float = 1.1,
    burstiness: float = 0.02,
    seed: int = 0,
) -> Text:
    """Documents about a few topics each, of lognormal length, `length` words on average.

    The word of rank r has a base rate in proportion to (r + 2.7)^−`zipf`; topics change rates by
    lognormal factors. Within a document and topic words come from a Pólya urn: the i-th word is one
    of the earlier ones with probability i·b/(1 + i·b), b = `burstiness`, so that a rare word that
    occurs once is likely to occur again. The frequencies of the whole are the topics' all the same.

    >>> table = text(20, 300, n_topics=3, seed=4)
    >>> table.counts.shape, bool((table.counts.sequence(0) < 300).all())
    ((20, 300), True)
    """
    check_sizes(n_docs=n_docs, n_words=n_words, n_topics=n_topics)
    check_positive(length=length)
    for name, value in (("zipf", zipf), ("burstiness", burstiness)):
        if not 0 <= value < np.inf:
            raise InvalidParameter(f"{name} must be at least 0; got {value!r}")
    rng = generator(seed)
    base = (np.arange(1, n_words + 1) + 2.7) ** -zipf
    topics = normalised(base * rng.lognormal(0, 1.5, (n_topics, n_words)))
    shares = normalised(np.exp(rng.normal(0, 2, (n_docs, n_topics))))
    lengths = np.maximum(length * rng.lognormal(-0.125, 0.5, n_docs), 1).astype(np.int64)
    doc = np.repeat(np.arange(n_docs), lengths)
    topic = _topics_of_tokens(rng, shares, doc)
    words = _words(rng, topics, topic)[_urn(rng, doc * n_topics + topic, burstiness)]
    counts = Counts.from_ids(
        np.split(words, np.cumsum(lengths)[:-1]),
        feature_names=numbered("word", n_words),
        doc_ids=numbered("text", n_docs),
    )
    return Text(counts, frozen(shares), frozen(topics))


def _topics_of_tokens(
    rng: np.random.Generator, shares: Floats, doc: NDArray[np.intp]
) -> NDArray[np.intp]:
    below = np.cumsum(shares, axis=1)[doc, :-1]
    return np.asarray((rng.random((doc.size, 1)) >= below).sum(axis=1))


def _words(rng: np.random.Generator, topics: Floats, topic: NDArray[np.intp]) -> NDArray[np.intp]:
    """A word for each token by the rates of its topic."""
    uniform, words = rng.random(topic.size), np.empty(topic.size, np.intp)
    for k, rates in enumerate(topics):
        mine = topic == k
        words[mine] = np.searchsorted(np.cumsum(rates)[:-1], uniform[mine], side="right")
    return words


def _urn(rng: np.random.Generator, group: NDArray[np.intp], burstiness: float) -> NDArray[np.intp]:
    """The token that each token repeats, in the end: itself where it is new.

    Groups are documents with a topic; the i-th token of one, from 0, points at any earlier one with
    probability i·b/(1 + i·b). Following the pointers gives the urn without a loop over tokens.
    """
    order = np.argsort(group, kind="stable")
    begins = np.r_[True, np.diff(group[order]) > 0]
    position = np.arange(group.size)
    first = np.maximum.accumulate(np.where(begins, position, 0))
    i = position - first  # within the group
    repeats = rng.random(group.size) * (1 + i * burstiness) < i * burstiness
    earlier = first + (rng.random(group.size) * i).astype(np.intp)
    target = np.where(repeats, earlier, position)
    while (target[target] != target).any():
        target = target[target]
    source = np.empty_like(target)
    source[order] = order[target]
    return source
