"""What a model looks at: the counts, and for Poisson links how long each document was watched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, overload
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from dcomp import _core
from dcomp.data import Attributes, Counts, document_keys
from dcomp.errors import InvalidCounts, InvalidParameter
from dcomp.models.allowed import Allowed, answer
from dcomp.models.arrays import FloatArray, read_only

EXPOSURE_RULES = ("total", "observed")  # that say it of new documents, too
EXPOSURE = 1e-18, 1e15  # between which an exposure lies that is not 0; lengths of documents do


@dataclass(frozen=True, eq=False)
class Observations:
    """Counts with their exposure e_ig (MODELS: the Poisson mean is e_ig (Θl)_j), or None for 1.

    A part of a corpus knows the number of its first document in the whole, by which its random
    numbers are keyed, and the names that its documents have there. What kernels take is made where
    it is needed, and never travels.

    >>> from dcomp.data import Attributes, Counts, document_keys
    >>> Observations.build(Counts.from_matrix([[2, 1], [0, 3]]), "total").total_exposure
    array([3., 3.])
    """

    counts: Counts
    exposure: FloatArray | None = None  # (I, G)
    first: int = 0  # number of the first document
    keys: npt.NDArray[np.uint64] | None = None  # (I): the documents' names, where this is a part
    allowed: Allowed | None = None  # the components that documents may use; None: all

    @classmethod
    def build(cls, counts: Counts, exposure: Any = None) -> Observations:
        """`exposure`: None (1 everywhere), "total" (document length), "observed" (1 where a block
        has counts, 0 where it has none and so was not observed), or numbers (I,) or (I, G)."""
        if exposure is None:
            return cls(counts)
        if isinstance(exposure, str):
            if exposure not in EXPOSURE_RULES:
                raise InvalidParameter(
                    f"exposure must be None, 'total', 'observed' or an array; got {exposure!r}"
                )
            totals = counts.block_totals
            seen = totals if exposure == "total" else totals > 0
            return cls(counts, read_only(seen.astype(np.float64)))
        return cls(counts, _checked_exposure(counts, exposure))

    @cached_property
    def parts(self) -> Sequence[Observations]:
        """As the counts are cut; itself where they are not. Those of a file are made when they are
        asked for, and let go, with what kernels build of them, when nobody has them any more."""
        if self.counts.mapped is not None:
            return _PartsOfFile(self)
        if len(self.counts.firsts) == 1:
            return (self,)
        ends = pairwise((*self.counts.firsts, self.counts.n_docs))
        both = zip(self.counts.parts, ends, strict=True)
        return tuple(self._part(part, *which) for part, which in both)

    def _part(self, counts: Counts, first: int, end: int) -> Observations:
        return Observations(
            counts,
            None if self.exposure is None else self.exposure[first:end],
            first,
            self.document_keys[first:end],
            None if self.allowed is None else self.allowed.rows(slice(first, end)),
        )

    @cached_property
    def document_keys(self) -> npt.NDArray[np.uint64]:
        """The names by which documents are split at random (`data.document_keys`), (I)."""
        return document_keys(self.counts) if self.keys is None else self.keys

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @cached_property
    def corpus(self) -> _core.Corpus:
        """The counts as the kernels take them; its index by feature is built by the first fit."""
        counts = self.counts
        rows = (counts.indptr, counts.indices, counts.data)
        return _core.Corpus(*rows, counts.n_features, self.first)

    @cached_property
    def by_feature(self) -> _core.Corpus:
        """The same with features for documents: what solves for the loadings with scores given."""
        turned = self.counts.to_scipy().T.tocsr()
        return _core.Corpus(
            turned.indptr.astype(np.int64),
            turned.indices.astype(np.int32),
            turned.data,
            self.counts.n_docs,
        )

    @cached_property
    def doc_totals(self) -> npt.NDArray[np.int64]:
        """Tokens per document, (I): kept, because every sweep of a climb asks for them."""
        return self.counts.doc_totals

    @cached_property
    def block_totals(self) -> npt.NDArray[np.int64]:
        """Tokens per document and block, (I, G)."""
        return self.counts.block_totals

    @cached_property
    def feature_totals(self) -> npt.NDArray[np.int64]:
        """Tokens per feature, (J)."""
        return self.counts.feature_totals

    @cached_property
    def total_exposure(self) -> FloatArray:
        """Σ_g e_ig, length I: what the rate β of a score gains."""
        if self.exposure is None:
            return np.full(self.counts.n_docs, float(self.counts.features.n_blocks))
        return np.ascontiguousarray(self.exposure.sum(axis=1))

    @cached_property
    def has_one_exposure(self) -> bool:
        """Whether all documents have the same total exposure."""
        return self.exposure is None or bool(np.all(self.total_exposure == self.total_exposure[0]))

    @property
    def is_unit(self) -> bool:
        """Whether every document has a total exposure of exactly 1."""
        return self.exposure is None and self.counts.features.n_blocks == 1

    @property
    def native_exposure(self) -> FloatArray | None:
        """The documents' total exposure as a score prior's `native` takes it: None where it is 1
        everywhere."""
        return None if self.is_unit else self.total_exposure

    def native(self, prior: Any, **how: Any) -> _core.ScorePrior:
        """A score prior as kernels take it, with the exposure of these documents and with what they
        may use."""
        if self.allowed is not None:
            how |= self.allowed.native
        native: _core.ScorePrior = prior.native(self.native_exposure, **how)
        return native

    def ask(self, prior: Any, what: str, c: npt.NDArray[Any], *more: Any) -> FloatArray:
        """What a score prior says of these documents, given their counts c."""
        return answer(prior, what, c, self.total_exposure, self.allowed, *more)

    @cached_property
    def log_sequence_constant(self) -> FloatArray:
        """Σ_j w_ij log e_ig(j) − Σ_g ln L_ig!, length I. Kept: every sweep asks for it, and with
        many blocks (I, G) is as large as the counts."""
        return read_only(
            self.log_exposure_of_words() - gammaln(self.block_totals + 1.0).sum(axis=1)
        )

    def log_exposure_of_words(self) -> FloatArray:
        """Σ_j w_ij log e_ig(j), length I."""
        if self.exposure is None:
            return np.zeros(self.counts.n_docs)
        with np.errstate(divide="ignore", invalid="ignore"):
            term = self.block_totals * np.log(self.exposure)
        return np.asarray(np.where(self.block_totals > 0, term, 0.0).sum(axis=1))

    def thinned(self, counts: Counts, fraction: float) -> Observations:
        """The same watch over a share of the tokens: exposure f·e, for document completion."""
        exposure = self.exposure
        if exposure is None:
            exposure = np.ones((counts.n_docs, counts.features.n_blocks))
        return replace(self, counts=counts, exposure=read_only(exposure * fraction))


class _PartsOfFile(Sequence[Observations]):
    """The parts of counts that lie in a file, without the names and attributes of documents, which
    no task asks for."""

    def __init__(self, whole: Observations) -> None:
        counts = whole.counts
        self._whole = whole
        self._bare = replace(counts, doc_ids=None, attributes=Attributes(counts.n_docs))
        self._ends = list(pairwise((*counts.firsts, counts.n_docs)))
        # By number, while anybody has them: an executor knows by the part what lies on a worker.
        self._made: WeakValueDictionary[int, Observations] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, number: int) -> Observations: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Observations]: ...
    def __getitem__(self, number: int | slice) -> Observations | Sequence[Observations]:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        first, end = self._ends[number]
        place = number % len(self._ends)
        part = self._made.get(place)
        if part is None:
            part = self._whole._part(self._bare.rows(slice(first, end)), first, end)
            self._made[place] = part
        return part


def _checked_exposure(counts: Counts, exposure: npt.ArrayLike) -> FloatArray:
    shape = (counts.n_docs, counts.features.n_blocks)
    value = np.array(exposure, dtype=np.float64)
    if value.shape == shape[:1]:
        value = np.repeat(value[:, None], shape[1], axis=1)
    if value.shape != shape:
        raise InvalidParameter(
            f"exposure must have shape {shape[:1]} or {shape} (documents, blocks); "
            f"got {np.shape(exposure)}"
        )
    bad = np.argwhere(~(np.isfinite(value) & (value >= 0)))
    if len(bad):
        i, g = bad[0]
        raise InvalidParameter(
            f"exposure must be non-negative and finite; found {value[i, g]} at document "
            f"{counts.doc_name(int(i))!r}, block {g}"
        )
    far = np.argwhere((value > 0) & (value < EXPOSURE[0]) | (value > EXPOSURE[1]))
    if len(far):
        i, g = far[0]
        raise InvalidParameter(
            f"exposure must be 0 or lie between {EXPOSURE[0]:g} and {EXPOSURE[1]:g}; found "
            f"{value[i, g]:g} at document {counts.doc_name(int(i))!r}, block {g}: give it in other "
            "units"
        )
    hidden = np.argwhere((value == 0) & (counts.block_totals > 0))
    if len(hidden):
        i, g = hidden[0]
        raise InvalidCounts(
            "a block with exposure 0 (not observed) must hold no counts; found "
            f"{counts.block_totals[i, g]} at document {counts.doc_name(int(i))!r}, block {g}"
        )
    return read_only(value)
