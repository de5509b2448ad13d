"""What a model looks at: the counts, and for Poisson links how long each document was watched."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from dcomp import _core
from dcomp.data import Counts
from dcomp.errors import InvalidCounts, InvalidParameter
from dcomp.models.arrays import FloatArray, read_only


@dataclass(frozen=True, eq=False)
class Observations:
    """Counts with their exposure e_ig (MODELS: the Poisson mean is e_ig (Θl)_j), or None for 1.

    >>> from dcomp.data import Counts
    >>> Observations.build(Counts.from_matrix([[2, 1], [0, 3]]), "total").total_exposure
    array([3., 3.])
    """

    counts: Counts
    exposure: FloatArray | None = None  # (I, G)

    @classmethod
    def build(cls, counts: Counts, exposure: Any = None) -> Observations:
        """`exposure`: None (1 everywhere), "total" (document length), or numbers (I,) or (I, G)."""
        if exposure is None:
            return cls(counts)
        if isinstance(exposure, str):
            if exposure != "total":
                raise InvalidParameter(
                    f"exposure must be None, 'total' or an array; got {exposure!r}"
                )
            return cls(counts, read_only(counts.block_totals.astype(np.float64)))
        return cls(counts, _checked_exposure(counts, exposure))

    @cached_property
    def corpus(self) -> _core.Corpus:
        """The counts as the kernels take them; its index by feature is built by the first fit."""
        counts = self.counts
        return _core.Corpus(counts.indptr, counts.indices, counts.data, counts.n_features)

    @cached_property
    def by_feature(self) -> _core.Corpus:
        """The same with features for documents: what solves for the loadings with scores given."""
        turned = self.counts.to_scipy().T.tocsr()
        return _core.Corpus(
            turned.indptr.astype(np.int64),
            turned.indices.astype(np.int32),
            turned.data.astype(np.int32),
            self.counts.n_docs,
        )

    @cached_property
    def block_totals(self) -> npt.NDArray[np.int64]:
        """Tokens per document and block, (I, G)."""
        return self.counts.block_totals

    @cached_property
    def total_exposure(self) -> FloatArray:
        """Σ_g e_ig, length I: what the rate β of a score gains."""
        if self.exposure is None:
            return np.full(self.counts.n_docs, float(self.counts.features.n_blocks))
        return np.ascontiguousarray(self.exposure.sum(axis=1))

    @property
    def is_unit(self) -> bool:
        """Whether every document has a total exposure of exactly 1."""
        return self.exposure is None and self.counts.features.n_blocks == 1

    @property
    def native_exposure(self) -> FloatArray | None:
        """The documents' total exposure as a score prior's `native` takes it: None where it is 1
        everywhere."""
        return None if self.is_unit else self.total_exposure

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
        return Observations(counts, read_only(exposure * fraction))


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
    hidden = np.argwhere((value == 0) & (counts.block_totals > 0))
    if len(hidden):
        i, g = hidden[0]
        raise InvalidCounts(
            "a block with exposure 0 (not observed) must hold no counts; found "
            f"{counts.block_totals[i, g]} at document {counts.doc_name(int(i))!r}, block {g}"
        )
    return read_only(value)
