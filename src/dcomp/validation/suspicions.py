"""Tables that can be fitted, and are probably not what was meant: a function per suspicion.

Each gives one line, or None, in time linear in the entries. `tell_suspicions` warns of all that
hold, once, at the beginning of a fit. What is certainly wrong is an error instead (`dcomp.data`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from dcomp.data import Counts
from dcomp.data.counts import amount
from dcomp.errors import DataWarning, warn
from dcomp.models import Model, Observations
from dcomp.models.options import in_words

_LARGEST_CODE = 9  # of votes; counts go on beyond
_CODED_FEATURES = 5  # fewer are a toy, of which nothing is said
_SURPRISING = 10.0  # entries that counts would have beyond the largest: none is e⁻¹⁰ likely
_SAME = 1e-4  # relative difference of sums that were made equal
_ROUNDED = 0.01  # how far a sum of shares is from 1 where they were rounded
_MILLION = 1e6  # of counts per million
_SCALES = (1e2, 1e3, 1e4, 1e5, 1e6)  # by which shares are multiplied
_NEAR = 0.005  # how far sums of percentages with decimals are from 100, relatively
_EVEN = 0.3  # standard deviation of sums that were made equal and rounded; 1 is that of counts
_ROWS, _ROWS_OF_WHOLE = 10, 20  # documents from which on such sums are no chance
_SOME = 50  # entries from which on a pattern is no chance


def tell_suspicions(observed: Observations, model: Model, stacklevel: int = 2) -> None:
    """Warn of everything that looks wrong in a table for this model, a line each."""
    for line in suspicions(observed, model):
        warn(line, DataWarning, stacklevel + 1)


def suspicions(observed: Observations, model: Model) -> Iterator[str]:
    """What looks wrong in a table for this model.

    >>> from dcomp.models import DirichletMultinomial
    >>> observed = Observations.build(Counts.from_matrix([[0, 0], [0, 0]]))
    >>> list(suspicions(observed, DirichletMultinomial.build(2)))
    ['every count is 0: components are what their priors say, and nothing else']
    """
    counts = observed.counts
    yield from of_table(counts)
    for found in (too_many_components(counts, model), missing_without_exposure(observed, model)):
        if found is not None:
            yield found


def of_table(counts: Counts) -> tuple[str, ...]:
    """What looks wrong in a table, whatever the model.

    >>> of_table(Counts.from_matrix([[2, 0, 1], [0, 1, 3]]))
    ()
    """
    found = [all_zero(counts), repeated_ids(counts), lonely_features(counts)]
    if found[0] is None:
        same = all_equal(counts)
        found += [codes(counts), normalised(counts)] if same is None else [same]
    return tuple(line for line in found if line is not None)


def all_zero(counts: Counts) -> str | None:
    """Nothing was counted.

    >>> all_zero(Counts.from_matrix([[0, 1]])) is None
    True
    """
    if counts.nnz:
        return None
    return "every count is 0: components are what their priors say, and nothing else"


def all_equal(counts: Counts) -> str | None:
    """All documents are the same.

    >>> print(all_equal(Counts.from_matrix([[7, 7], [7, 7], [7, 7]])))
    every count is 7: there is nothing by which components could differ
    """
    n_docs, n_features = counts.shape
    size, rest = divmod(counts.nnz, n_docs)
    if min(n_docs, n_features) < 2 or rest or (np.diff(counts.indptr) != size).any():
        return None
    features, data = (x.reshape(n_docs, size) for x in (counts.indices, counts.data))
    if (features != features[0]).any() or (data != data[0]).any():
        return None
    same = "there is nothing by which components could differ"
    if size == n_features and (data == data[0, 0]).all():
        return f"every count is {data[0, 0]:g}: {same}"
    return f"all {n_docs:,} documents are the same: {same}"


def repeated_ids(counts: Counts) -> str | None:
    """Two documents have one id. A text is whole, whatever it is called: of texts nothing is said.

    >>> repeated_ids(Counts.from_matrix([[1], [2]], doc_ids=["a", "a"]))
    "1 id of documents comes again, 'a' 2 times: are rows of one document apart?"
    """
    ids = counts.doc_ids
    if ids is None or counts.text is not None or len(distinct := set(ids)) == len(ids):
        return None
    name, times = Counter(ids).most_common(1)[0]
    again = len(ids) - len(distinct)
    what = "1 id of documents comes" if again == 1 else f"{again:,} ids of documents come"
    return f"{what} again, {name!r} {times} times: are rows of one document apart?"


def lonely_features(counts: Counts) -> str | None:
    """Most blocks hold one feature, which then has the loading 1 in every component.

    >>> print(lonely_features(Counts.from_matrix([[1, 2]], blocks=["yea", "nay"])))
    2 of 2 blocks hold one feature, whose loading is 1 in every component whatever the counts: a \
block needs a feature per answer (as_counts(frame, categories=True)), plain counts no blocks
    """
    features = counts.features
    lonely = int((np.bincount(features.blocks, minlength=features.n_blocks) == 1).sum())
    # Calls that were unanimous and SNPs that do not vary are such blocks: a few are no mistake.
    if features.n_blocks < 2 or 2 * lonely <= features.n_blocks:
        return None
    return (
        f"{lonely:,} of {features.n_blocks:,} blocks hold one feature, whose loading is 1 in every "
        "component whatever the counts: a block needs a feature per answer "
        "(as_counts(frame, categories=True)), plain counts no blocks"
    )


def codes(counts: Counts) -> str | None:
    """Numbers that stand for something: genotypes 0/1/2, votes 1/6/9, answers 1 to 5.

    Counts have no upper limit and leave out no number below it: of those with the same mean some
    would be there. They are compared with documents of even loadings, which spread the least.

    >>> rng = np.random.default_rng(0)
    >>> genotypes, plain = rng.binomial(2, 0.3, (30, 40)), rng.poisson(0.6, (30, 40))
    >>> codes(Counts.from_matrix(plain)) is None
    True
    >>> print(codes(Counts.from_matrix(genotypes)))
    counts are 0, 1 and 2 alone, like codes of genotypes, and a code is no count: dcomp.read takes \
genotypes, votes and answers as they are, as_counts(frame, categories=True, codes=True) a frame
    """
    n_docs, n_features = counts.shape
    if counts.features.n_blocks > 1 or counts.is_fractional or n_features < _CODED_FEATURES:
        return None
    largest, length = int(counts.data.max()), int(counts.n_tokens / n_docs)
    if not 2 <= largest <= min(_LARGEST_CODE, length - 1):
        return None
    beyond = n_docs * n_features * bdtrc(np.arange(largest + 1), length, 1 / n_features)
    frequency = np.bincount(counts.data, minlength=largest + 1)
    absent = [beyond[v - 1] - beyond[v] for v in range(1, largest) if not frequency[v]]
    if max([beyond[largest], *absent]) < _SURPRISING:
        return None
    frequency[0] = n_docs * n_features - counts.nnz
    values = [str(v) for v in np.flatnonzero(frequency)]
    kind = "genotypes" if values == ["0", "1", "2"] else "votes or answers"
    return (
        f"counts are {in_words(values)} alone, like codes of {kind}, and a code is no count: "
        "dcomp.read takes genotypes, votes and answers as they are, "
        "as_counts(frame, categories=True, codes=True) a frame"
    )


def normalised(counts: Counts) -> str | None:
    """Counts that were divided by a document's sum, and perhaps a logarithm taken.

    >>> shares = np.array([[3, 1], [1, 1], [2, 7]]) / [[4], [2], [9]]
    >>> print(normalised(Counts.from_matrix(shares, fractional=True)))
    every document sums to 1 and counts are fractional, like shares or counts per million: give \
the counts themselves, the models take care of lengths
    """
    if counts.features.n_blocks > 1 or counts.n_docs < 3:
        return None
    sums = counts.doc_totals[counts.doc_totals > 0].astype(np.float64)
    is_whole = not counts.is_fractional or bool((counts.data == np.floor(counts.data)).all())
    if is_whole:
        found = None if counts.text is not None else _of_whole(sums)  # we count texts ourselves
    else:
        found = _of_fractional(sums)
    if found is None and not is_whole and _is_logarithm(counts):
        found = "counts look like logarithms, ln(1 + x), of others"
    if found is None:
        return None
    return f"{found}: give the counts themselves, the models take care of lengths"


def _of_whole(sums: NDArray[np.float64]) -> str | None:
    """Shares that were multiplied and rounded: sums lie on both sides of a power of ten, much
    nearer to each other than counts do. Sums that are all equal are those of tables rarefied to
    one depth, and sums on one side those of counting up to a number, or of rarefied tables
    without some features.

    >>> _of_whole(np.full(40, 1000.0)) is None
    True
    >>> print(_of_whole(1000.0 + np.arange(40) % 5 - 2))
    documents sum to 1,000 but for rounding (998 to 1,002), like shares or percentages
    """
    if len(set(sums)) == 1:
        return None
    if np.abs(sums / _MILLION - 1).max() <= _ROUNDED:
        return "every document sums to a million, rounded, like counts per million"
    if len(sums) < _ROWS_OF_WHOLE:
        return None
    least, most = sums.min(), sums.max()
    for scale in _SCALES:
        is_between = least < scale < most and abs(sums.mean() / scale - 1) <= _ROUNDED
        if is_between and sums.std() <= _EVEN * np.sqrt(scale):
            return (
                f"documents sum to {amount(int(scale))} but for rounding ({amount(int(least))} to "
                f"{amount(int(most))}), like shares or percentages"
            )
    return None


def _of_fractional(sums: NDArray[np.float64]) -> str | None:
    if _are_same(sums):
        return (
            f"every document sums to {sums[0]:.6g} and counts are fractional, like shares or "
            "counts per million"
        )
    if len(sums) > 2 and np.abs(sums - 1).max() <= _ROUNDED:
        return "every document sums to 1, but for rounding, and counts are fractional, like shares"
    for scale in _SCALES:
        if len(sums) >= _ROWS and np.abs(sums / scale - 1).max() <= _NEAR:
            return (
                f"every document sums to {amount(int(scale))}, but for rounding, and counts are "
                "fractional, like percentages or shares that were multiplied"
            )
    return None


def _are_same(sums: NDArray[np.float64]) -> bool:
    return len(sums) > 2 and bool(np.ptp(sums) <= _SAME * sums.max())


def _is_logarithm(counts: Counts) -> bool:
    """Whether undoing a logarithm gives sums that are the same, or multiples within documents."""
    if counts.data.max() > 30:  # of no count per million
        return False
    filled = np.flatnonzero(np.diff(counts.indptr))
    starts = counts.indptr[filled]
    for base in (np.e, 2.0, 10.0):
        undone = np.expm1(counts.data * np.log(base))
        if _are_same(np.add.reduceat(undone, starts)):
            return True
        least = np.repeat(np.minimum.reduceat(undone, starts), np.diff(counts.indptr)[filled])
        times = undone / least
        told = times[(times > 1.5) & (times < 20.0)]  # beyond, rounding hides it
        if len(told) >= _SOME and (np.abs(told - np.rint(told)) < 0.02).mean() > 0.9:
            return True
    return False


def too_many_components(counts: Counts, model: Model) -> str | None:
    """More components than documents.

    >>> from dcomp.models import DirichletMultinomial
    >>> table = Counts.from_matrix([[1, 2], [3, 0]])
    >>> too_many_components(table, DirichletMultinomial.build(3))
    'there are 3 components and 2 documents: give n_components=2 at most, or more documents'
    """
    if model.n_components <= counts.n_docs:
        return None
    return (
        f"there are {model.n_components:,} components and {counts.n_docs:,} documents: give "
        f"n_components={counts.n_docs} at most, or more documents"
    )


def missing_without_exposure(observed: Observations, model: Model) -> str | None:
    """GP and CGP take an empty block for one in which nothing happened.

    Said where filled blocks have the same sum in all documents, as answers and genotypes do:
    there an empty one is missing.

    >>> from dcomp.models import GammaPoisson
    >>> answers = Counts.from_matrix([[1, 0, 1, 0], [0, 1, 0, 0]], blocks=[0, 0, 1, 1])
    >>> missing_without_exposure(Observations.build(answers), GammaPoisson.build(2))
    "1 of 4 answers is missing, and GP takes it for observed: give exposure='observed'"
    """
    counts = observed.counts
    if observed.exposure is not None or not model.has_exposure or counts.features.n_blocks < 2:
        return None
    cells = counts.n_docs * counts.features.n_blocks
    if cells > 4 * counts.nnz + 1000:  # mostly empty: those are no answers
        return None
    totals = counts.block_totals
    filled = totals > 0
    each = np.broadcast_to(totals.max(axis=0), totals.shape)
    empty = int((~filled).sum())
    if not empty or (totals[filled] != each[filled]).any():
        return None
    what, them = ("is", "it") if empty == 1 else ("are", "them")
    return (
        f"{empty:,} of {cells:,} answers {what} missing, and {model.key} takes {them} for "
        "observed: give exposure='observed'"
    )


def unknown_features(dropped: float, tokens: float, n_blocks: int = 1) -> str:
    """What `transform` says of counts in features that a fit does not know. n_blocks: of the fit.

    >>> unknown_features(1, 4)
    '1 of 4 tokens (25.0 %) are dropped: the fit does not know their features'
    """
    share = 100 * dropped / tokens
    # What a new roll call, question or locus says of blocs nobody has learned.
    only = f"; only its own {n_blocks:,} blocks can be scored" if n_blocks > 1 else ""
    return (
        f"{amount(dropped)} of {amount(tokens)} tokens ({share:.1f} %) are dropped: "
        f"the fit does not know their features{only}"
    )
