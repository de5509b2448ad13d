"""What a report is made of: a fit, the documents to show, and what is known of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dcomp.data import Attributes, Counts, as_counts
from dcomp.errors import InvalidParameter
from dcomp.evaluate.documents import shares_of
from dcomp.evaluate.hierarchy import node_shares
from dcomp.io.calls import OUTCOME
from dcomp.models.arrays import FloatArray
from dcomp.report.packing import name_on_page
from dcomp.report.speech import Speech
from dcomp.result import Fit

Texts = Callable[[Collection[int]], Mapping[int, str]]


@dataclass(frozen=True, eq=False)
class Material:
    """A fit with the documents that are shown: those that were fitted unless others are given."""

    fit: Fit
    counts: Counts | None  # in the features of the fit
    shares: FloatArray  # (I, K)
    attributes: Attributes
    dropped: float  # tokens of features that the fit does not know
    speech: Speech
    texts: Texts
    n_jobs: int | None = None
    notes: Mapping[str, str] = field(default_factory=dict)  # what blocks are about, by name

    @classmethod
    def gather(
        cls,
        fit: Fit,
        X: Any,
        texts: Any = None,
        exposure: Any = None,
        n_jobs: int | None = None,
        speech: Speech | None = None,
        dropped: float = 0.0,
    ) -> Material:
        """From what was given; documents that were not fitted are folded in. The words of a field
        are told from the table unless they are known. dropped: tokens that were left out of X
        before, because the fit does not know them."""
        counts = None
        if X is not None:
            given = as_counts(X, fractional=fit.provenance.fractional)
            counts, more = given.aligned_to(fit.features)
            dropped += more
        shares = shares_of(fit, counts, exposure=exposure, n_jobs=n_jobs)
        about = fit.attributes if counts is None else counts.attributes
        if counts is not None and not about and fit.is_of(counts):
            about = fit.attributes
        speech = speech or Speech.of(fit, counts)
        ids = fit.doc_ids if counts is None else counts.doc_ids
        if speech.field == "votes" and ids is not None and OUTCOME in ids:
            about = _with_outcome(about, ids.index(OUTCOME))
        about = _with_kinds(about, ids, len(shares))
        found = as_texts(texts, len(shares))
        return cls(fit, counts, shares, about, dropped, speech, found, n_jobs)

    @property
    def n_docs(self) -> int:
        """Documents that are shown."""
        return len(self.shares)

    @property
    def n_components(self) -> int:
        """K."""
        return self.fit.n_components

    @cached_property
    def n_fitted(self) -> int:
        """Documents that were fitted; the outcome of roll calls, which is a voter to the fit, is
        none to a reader."""
        return self.fit.provenance.n_docs - self.has_outcome

    @cached_property
    def has_outcome(self) -> bool:
        """Whether the outcome of roll calls was fitted as one more voter."""
        return self.speech.field == "votes" and OUTCOME in (self.fit.doc_ids or ())

    @cached_property
    def are_fitted(self) -> bool:
        """Whether the documents are those that were fitted."""
        return self.counts is None or self.fit.is_of(self.counts)

    @cached_property
    def lengths(self) -> FloatArray:
        """Tokens of each document, (I)."""
        if self.counts is not None:
            return np.asarray(self.counts.doc_totals, np.float64)
        return np.asarray(self.fit.expected_counts.sum(axis=1, dtype=np.float64))

    @cached_property
    def sizes(self) -> FloatArray:
        """The share of all tokens that each component has, (K); of the documents that were
        fitted."""
        return node_shares(self.fit)

    def doc_name(self, i: int) -> str:
        """The id of a document, or its number."""
        ids = self.fit.doc_ids if self.counts is None else self.counts.doc_ids
        return name_on_page(ids[i]) if ids else f"{self.speech.document} {i}"

    @cached_property
    def component_names(self) -> list[str]:
        """The names that components were given; empty where there is none but the number."""
        labels = self.fit.component_labels
        return ["" if n == str(k) else name_on_page(n, 60) for k, n in enumerate(labels)]

    def component_label(self, k: int) -> str:
        """Its number, and its name where it has one."""
        name = self.component_names[k]
        return f"#{k} {name}" if name else f"#{k}"


def _with_kinds(about: Attributes, ids: Sequence[str] | None, n_docs: int) -> Attributes:
    """What stands before "::" in all ids, as tables of tumours have it, is their kind."""
    if not ids or "kind" in about or not all("::" in name for name in ids):
        return about
    kinds = [name.partition("::")[0] for name in ids]
    return Attributes(n_docs, {"kind": kinds, **about})


def _with_outcome(about: Attributes, row: int) -> Attributes:
    """The outcome of roll calls is of no party, and no voter whose party is unknown either."""
    columns: dict[str, Any] = {}
    for name, column in about.items():
        values = column.tolist()
        if column.dtype.kind == "O" and values[row] is None:
            values[row] = "the outcome"
        columns[name] = values
    return Attributes(about.n_docs, columns)


def as_texts(texts: Any, n_docs: int) -> Texts:
    """Whatever holds the texts of documents as a function of their numbers.

    >>> as_texts(["a", "b"], 2)({1})
    {1: 'b'}
    """
    if texts is None:
        return lambda numbers: {}
    if callable(texts):
        asked: Texts = texts
        return asked
    if isinstance(texts, Mapping):
        return lambda numbers: {i: str(texts[i]) for i in sorted(numbers) if i in texts}
    if isinstance(texts, str) or not isinstance(texts, Sequence) or len(texts) != n_docs:
        raise InvalidParameter(
            f"texts must be one for each of the {n_docs} documents, or a mapping from their "
            f"numbers; got {type(texts).__name__}"
            + (f" of {len(texts)}" if isinstance(texts, Sequence) else "")
        )
    return lambda numbers: {i: str(texts[i]) for i in sorted(numbers)}
