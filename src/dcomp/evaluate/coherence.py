"""Whether the top features of a component appear together in the documents, and in it alone.

The measures are those of Röder, Both and Hinneburg (2015) as gensim computes them. Let p(a) be the
share of windows that hold feature a, p(a, b) of those that hold both, ε = 1e-12, and a component's
top features be f_1, ..., f_n, heaviest first:

    umass  mean over i > j of  log (p(f_i, f_j) + ε) / p(f_j)          Mimno et al. 2011
    uci    mean over i ≠ j of  PMI(f_i, f_j) = log (p(f_i, f_j) + ε) / (p(f_i) p(f_j))
    npmi   mean over i ≠ j of  PMI(f_i, f_j) / −log(p(f_i, f_j) + ε)
    c_v    mean over i of the cosine between the row (NPMI(f_i, f_j))_j and the sum of all rows

Windows are documents for umass. For the others they are stretches of the text, 10 positions for uci
and npmi and 110 for c_v, where the counts have a reading order, and documents where they have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcomp.data import Counts, FeatureSpace, as_counts
from dcomp.errors import InvalidCounts, InvalidParameter
from dcomp.evaluate.cooccurrence import Numbers, in_documents, in_windows
from dcomp.models.arrays import FloatArray, read_only
from dcomp.printable import printable
from dcomp.result import Fit
from dcomp.result.of_estimator import as_fit
from dcomp.result.tables import top_numbers

EPSILON = 1e-12
WINDOWS = {"umass": None, "uci": 10, "npmi": 10, "c_v": 110}
_OTHER_NAMES = {"u_mass": "umass", "c_uci": "uci", "c_npmi": "npmi"}


@dataclass(frozen=True, eq=False)
class Coherence:
    """Coherence of each component; higher is better.

    A feature that is in no window says nothing: its pairs count 0, and `n_absent` says how many of
    a component's features are such.
    """

    measure: str  # "umass", "uci", "npmi" or "c_v"
    values: FloatArray  # (K)
    features: tuple[tuple[str, ...], ...]  # per component, those that were looked at
    window: int | None  # positions, or None where windows are whole documents
    n_windows: int
    n_absent: tuple[int, ...]  # per component

    @property
    def mean(self) -> float:
        """The mean over components."""
        return float(self.values.mean())

    def __len__(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        where = "documents" if self.window is None else f"windows of {self.window} positions"
        lines = [f"coherence {self.measure}: {self.mean:.4f} over {self.n_windows:,} {where}"]
        for k, (value, words) in enumerate(zip(self.values, self.features, strict=True)):
            lines.append(f"{k:>3} {value:9.4f}  {' '.join(map(printable, words))}")
        return "\n".join(lines)


def coherence(
    fit_or_topics: Fit | Sequence[Sequence[str | int]],
    counts: Any,
    measure: str = "npmi",
    n_top: int = 10,
    *,
    window: int | str = "auto",
    exact_windows: bool = False,
    block: int | str | None = None,
) -> Coherence:
    """Coherence of the `n_top` heaviest features of each component of a fit, or of given lists.

    measure: "npmi", "umass", "uci" or "c_v" (also under gensim's names), defined above.
    window: "auto" (see above), "document", or a number of positions in reading order.
    exact_windows: whether a word stays in a sliding window while any copy of it does, which is the
    definition. gensim forgets it as soon as one copy leaves; so does the default, to be equal.
    block: look at the features of this block only, given by its name or number.

    Where a pair is in every window, NPMI is 0/0; ε makes −1 of it, here as in gensim.

    >>> texts = [["cat", "dog", "cat"], ["cat", "dog"], ["sun", "sky"], ["sun", "sky", "dog"]]
    >>> found = coherence([["cat", "dog"], ["cat", "sun"]], texts, "npmi")
    >>> found.values.round(3), found.window
    (array([ 0.415, -0.95 ]), 10)
    >>> print(coherence([["cat", "dog"]], Counts.from_tokens(texts).without_order(), "umass"))
    coherence umass: 0.0000 over 4 documents
      0    0.0000  cat dog
    """
    measure = check_measure(measure)
    counts = as_counts(counts)
    if hasattr(fit_or_topics, "fit"):  # an estimator: lists of words have none
        fit_or_topics = as_fit(fit_or_topics)
    if isinstance(fit_or_topics, Fit):
        counts, _ = counts.aligned_to(fit_or_topics.features)
        topics = list(top_numbers(fit_or_topics.Theta, counts.features, n_top, block))
    else:
        topics = _as_numbers(fit_or_topics, counts.features, n_top)
    for k, topic in enumerate(topics):
        if topic.size < 2:
            raise InvalidParameter(
                f"coherence is of pairs: component {k} must have 2 features; it has {topic.size}"
            )
    size = _window(window, measure, counts)
    if size is None:
        found = in_documents(counts, topics)
    else:
        assert counts.sequences is not None
        found = in_windows(counts.sequences, topics, size, exact=exact_windows)
    values = [_value(together, found.n_windows, measure) for together in found.together]
    return Coherence(
        measure,
        read_only(np.array(values)),
        tuple(tuple(counts.features.name(int(j)) for j in topic) for topic in topics),
        size,
        found.n_windows,
        tuple(int((np.diag(together) == 0).sum()) for together in found.together),
    )


def exclusivity(fit: Fit, n_top: int = 10, *, block: int | str | None = None) -> FloatArray:
    """How far each component has its top features to itself, (K), between 1/K and 1.

    The mean over its `n_top` heaviest features of θ_jk / Σ_k' θ_jk': the probability that such a
    feature is of the component when all components are equally likely. It is the measure of
    MALLET's topic diagnostics; FREX (Bischof and Airoldi 2012) ranks features by the same ratio.

    >>> import dcomp
    >>> X = [[9, 8, 0, 0], [7, 9, 0, 0], [0, 0, 8, 9], [0, 0, 7, 7]]
    >>> bool((exclusivity(dcomp.LDA(2, alpha=0.1, verbose=0).fit(X).fit_, n_top=2) > 0.9).all())
    True
    """
    fit = as_fit(fit)
    numbers = top_numbers(fit.Theta, fit.features, n_top, block)
    Theta = fit.Theta.astype(np.float64)
    share = Theta / np.maximum(Theta.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(np.take_along_axis(share.T, numbers, axis=1).mean(axis=1))


def check_measure(measure: str) -> str:
    """The measure's short name; an error that lists them all for one that does not exist.

    >>> check_measure("u_mass")
    'umass'
    """
    measure = _OTHER_NAMES.get(measure, measure)
    if measure not in WINDOWS:
        raise InvalidParameter(f"measure must be one of {', '.join(WINDOWS)}; got {measure!r}")
    return measure


def _value(together: FloatArray, n_windows: int, measure: str) -> float:
    """One component's coherence from its (n, n) counts of windows."""
    p = together / max(n_windows, 1)
    alone = np.diag(p)
    n = len(p)
    if measure == "umass":
        later, earlier = np.tril_indices(n, -1)
        given = np.where(alone > 0, alone, 1.0)[earlier]
        logs = np.log((p[later, earlier] + EPSILON) / given)
        return float(np.where(alone[earlier] > 0, logs, 0.0).mean())
    product = np.outer(alone, alone)
    pmi = np.log((p + EPSILON) / np.where(product > 0, product, 1.0))
    pmi = np.where(product > 0, pmi, 0.0)
    if measure == "uci":
        return float(pmi[~np.eye(n, dtype=np.bool_)].mean())
    npmi = pmi / -np.log(p + EPSILON)
    if measure == "npmi":
        return float(npmi[~np.eye(n, dtype=np.bool_)].mean())
    whole = npmi.sum(axis=0)
    size = np.linalg.norm(npmi, axis=1) * np.linalg.norm(whole)
    return float(np.where(size > 0, npmi @ whole / np.where(size > 0, size, 1.0), 0.0).mean())


def _window(window: int | str, measure: str, counts: Counts) -> int | None:
    """Positions of a window, or None for documents."""
    usual = WINDOWS[measure]
    if window == "document":
        return None
    if window == "auto":
        return usual if counts.sequences is not None else None
    if isinstance(window, bool) or not isinstance(window, int) or window < 1:
        raise InvalidParameter(
            f"window must be 'auto', 'document' or a number of positions from 1; got {window!r}"
        )
    if counts.sequences is None:
        raise InvalidCounts(
            f"a window of {window} positions needs the reading order, and these counts have none: "
            "make them from tokens or text, or use window='document'"
        )
    return window


def _as_numbers(topics: Sequence[Any], features: FeatureSpace, n_top: int) -> list[Numbers]:
    if n_top < 1:
        raise InvalidParameter(f"n_top must be at least 1; got {n_top}")
    if isinstance(topics, str) or not len(topics):
        raise InvalidParameter("topics must be lists of features, one list per component")
    known = features.numbers_by_name()
    return [
        np.array([_number(f, k, known, features) for f in list(topic)[:n_top]], dtype=np.int64)
        for k, topic in enumerate(topics)
    ]


def _number(feature: Any, k: int, known: dict[str, int], features: FeatureSpace) -> int:
    if isinstance(feature, str) and feature in known:
        return known[feature]
    if not isinstance(feature, str) and 0 <= feature < features.n_features:
        return int(feature)
    raise InvalidParameter(
        f"the features of a component must be among those of the counts; {feature!r} of component "
        f"{k} is not"
    )
