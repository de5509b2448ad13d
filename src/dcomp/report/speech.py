"""What things are called on the page: in the words of a field where the table is one of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcomp.data import Counts
from dcomp.data.mutations import is_type
from dcomp.result import Fit
from dcomp.use.rollcall import are_votes

_LOOKED_AT = 50  # documents, to tell genotypes from answers


@dataclass(frozen=True)
class Speech:
    """One and many of each; `tokens` are what is counted."""

    field: str = "counts"
    document: str = "document"
    documents: str = "documents"
    component: str = "component"
    components: str = "components"
    feature: str = "feature"
    features: str = "features"
    tokens: str = "tokens"
    blocks: str = "blocks of features"  # where there are several

    @classmethod
    def of(cls, fit: Fit, counts: Counts | None) -> Speech:
        """By what is there: the names of features, and how often each is counted.

        >>> import dcomp
        >>> Speech.of(dcomp.LDA(2, verbose=0).fit([["a", "cat"], ["cat"]]).fit_, None).document
        'document'
        """
        if are_votes(fit.features):
            return VOTES
        if all(map(is_type, fit.features.names or ("",))):
            return MUTATIONS
        if counts is not None and _are_genotypes(counts):
            return GENOTYPES
        if fit.text is not None:
            return TEXT
        return cls()


TEXT = Speech("text", feature="word", features="words", tokens="words")
VOTES = Speech("votes", "voter", "voters", "bloc", "blocs", "vote", "votes", "votes", "roll calls")
GENOTYPES = Speech(
    "genotypes",
    "person",
    "people",
    "ancestry",
    "ancestries",
    "allele",
    "alleles",
    "allele copies",
    "loci",
)
MUTATIONS = Speech(
    "mutations",
    "tumour",
    "tumours",
    "signature",
    "signatures",
    "mutation type",
    "mutation types",
    "mutations",
)


def _are_genotypes(counts: Counts) -> bool:
    """Whether everyone has the same number of copies, two or more, wherever there is one at all:
    answers and votes have one."""
    if counts.features.n_blocks < 2:
        return False
    some = counts.rows(slice(_LOOKED_AT)).block_totals
    copies = np.unique(some[some > 0])
    return copies.size == 1 and copies[0] >= 2
