"""What a sampler of structured components carries along: the words of leaves and of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.inference.base import Info, mean_of_last_tenth
from dcomp.inference.state import Carried
from dcomp.models import Model
from dcomp.models.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class PairCounts(Carried):
    """Counts of ST that c and n leave out, read from z when a sampler has finished; and the moves
    of a search, a row each (`structure_search.as_rows`)."""

    leaf_counts: npt.NDArray[np.int32] | None  # (I, K): words of documents by leaf
    # What the rows of Υ know, of the corpus or (I, ...).
    structure_counts: npt.NDArray[np.int32] | None
    moves: FloatArray | None = None  # (M, 6)

    @classmethod
    def of_documents(cls, model: Model) -> tuple[str, ...]:
        """Words by leaf, and those by pair where documents have a Υ of their own."""
        scores: Any = model.scores
        return ("leaf_counts", *(("structure_counts",) if scores.rows.per_document else ()))

    def scores(self, model: Model, exposure: FloatArray) -> FloatArray:
        """E[scores] of the nodes, (I, H)."""
        prior: Any = model.scores
        means = prior.posterior_means(self.leaf_counts, self.structure_counts, exposure)
        return np.asarray(means[1])

    def check(self, model: Model, c: npt.NDArray[Any], n: npt.NDArray[Any]) -> None:
        """A ValueError where they cannot be of these documents and this structure."""
        scores: Any = model.scores
        rows = scores.rows
        shapes = {
            "leaf_counts": (len(c), scores.n_leaves),
            "structure_counts": (len(c) if rows.per_document else 1, rows.width),
        }
        for name, shape in shapes.items():
            array = getattr(self, name)
            if array.shape != shape or array.dtype != np.int32 or (array < 0).any():
                raise ValueError(f"{name} must hold whole numbers of shape {shape}")
        assert self.leaf_counts is not None
        if (self.leaf_counts.sum(axis=1) != c.sum(axis=1)).any():
            raise ValueError("the words of leaves and of nodes must be as many in every document")
        if self.moves is not None and (self.moves.ndim != 2 or self.moves.shape[1] != 6):
            raise ValueError("the moves of a search must have six numbers each")


@dataclass(frozen=True)
class PairInfo(Info):
    """A row of ST. Its log joint is of leaves and nodes of the words too, and is larger where they
    are spread over fewer nodes: chains are compared by how they predict words."""

    comparison = "log p(words, each given the rest)"

    @classmethod
    def chain_value(cls, rows: Any) -> float:
        """The mean of Σ log p(word | all the rest) over the last tenth."""
        return mean_of_last_tenth([row.documents for row in rows])
