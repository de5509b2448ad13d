"""Random splits of counts: of the tokens of every document, or of the documents."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcomp import _core
from dcomp.data.canonical import Rows, without_zeros
from dcomp.data.counts import Counts
from dcomp.errors import InvalidCounts, InvalidParameter

_STEP = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no two copies of a document meet


def halves(
    counts: Counts,
    fraction: float = 0.5,
    seed: int = 0,
    keys: NDArray[np.uint64] | None = None,
) -> tuple[Counts, Counts]:
    """Send every token to the first part with probability `fraction`, else to the second.

    Tokens are independent, so that Poisson counts give two independent Poisson parts. Both parts
    keep all documents and features, but not the reading order. Every document has random numbers of
    its own, named by the seed and its id, or its counts where it has no id: it is split alike
    whatever other documents it comes with, on every platform. The copies of a document are told
    apart by their order. `keys` are the names of the documents (`document_keys`), where these are a
    part of a larger corpus.

    Fractional counts are split by shares: of w the first part has w·B, B ~ Beta(f w, (1 − f) w),
    which has the mean of a binomial and w/(w + 1) of its variance.

    >>> first, second = halves(Counts.from_matrix([[40, 2]]), fraction=0.5, seed=1)
    >>> first.n_tokens + second.n_tokens
    42
    """
    if not 0 <= fraction <= 1:
        raise InvalidParameter(f"fraction must be between 0 and 1; found {fraction!r}")
    corpus = _corpus(counts)
    keys = document_keys(counts) if keys is None else keys
    first = np.empty_like(counts.data)
    split: Any = _core.split_weights if counts.is_fractional else _core.split_tokens
    split(corpus, keys, fraction, _checked(seed), first, 1)
    return _with_data(counts, first), _with_data(counts, counts.data - first)


def document_keys(counts: Counts) -> NDArray[np.uint64]:
    """A number that names each document: by its id, or by what it holds. Documents of one name are
    counted, because the same split for all of them would be one observation and not many.

    >>> len(set(document_keys(Counts.from_matrix([[1, 2], [0, 3], [1, 2]])).tolist()))
    3
    """
    keys = np.empty(counts.n_docs, np.uint64)
    if counts.doc_ids is None:
        _core.content_keys(_corpus(counts), keys, 1)
    else:
        ids = (
            blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            for name in counts.doc_ids
        )
        keys[:] = np.frombuffer(b"".join(ids), "<u8")
    order = np.argsort(keys, kind="stable")
    same = np.r_[False, keys[order][1:] == keys[order][:-1]]
    place = np.arange(counts.n_docs)
    copy = place - np.maximum.accumulate(np.where(same, 0, place))  # 0 for the first of a name
    keys[order] += copy.astype(np.uint64) * _STEP
    return keys


def _corpus(counts: Counts) -> _core.Corpus:
    return _core.Corpus(counts.indptr, counts.indices, counts.data, counts.n_features)


def _with_data(counts: Counts, data: NDArray[Any]) -> Counts:
    rows = without_zeros(Rows(counts.indptr, counts.indices, data))
    return Counts(
        *rows,
        counts.features,
        counts.doc_ids,
        firsts=counts.firsts,
        attributes=counts.attributes,
        empty_is_missing=counts.empty_is_missing,
    )


def train_test(counts: Counts, test_fraction: float = 0.1, seed: int = 0) -> tuple[Counts, Counts]:
    """Split the documents at random into training and test documents, each in their old order.

    The number of test documents is the nearest to `test_fraction` of them that leaves at least
    one document on either side.

    >>> train, test = train_test(Counts.from_matrix(np.ones((10, 2))), test_fraction=0.3)
    >>> train.n_docs, test.n_docs
    (7, 3)
    """
    if not 0 < test_fraction < 1:
        raise InvalidParameter(f"test_fraction must be between 0 and 1; found {test_fraction!r}")
    if counts.n_docs < 2:
        raise InvalidCounts("a split needs at least two documents; found 1")
    n_test = min(max(round(test_fraction * counts.n_docs), 1), counts.n_docs - 1)
    is_test = np.zeros(counts.n_docs, np.bool_)
    is_test[_generator(seed).permutation(counts.n_docs)[:n_test]] = True
    return counts.rows(~is_test), counts.rows(is_test)


def _generator(seed: Any) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(_checked(seed)))


def _checked(seed: Any) -> int:
    if not isinstance(seed, int | np.integer) or not 0 <= seed < 1 << 64:
        raise InvalidParameter(f"seed must be a whole number from 0, below 2^64; found {seed!r}")
    return int(seed)
