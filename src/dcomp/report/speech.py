"""What things are called on the page: in the words of a field where the table is one of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from dcomp.data import Counts
from dcomp.data.mutations import is_type, type_name
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
    token: str = "token"
    blocks: str = "blocks of features"  # where there are several
    model: str = ""  # what the field calls DM

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

    def feature_name(self, name: str) -> str:
        """A feature as the field writes it, whatever the file does.

        >>> MUTATIONS.feature_name("C>T ACG"), VOTES.feature_name("v1=yea")
        ('A[C>T]G', 'v1=yea')
        """
        return type_name(name) if self.field == "mutations" else name

    def told(self, line: str) -> str:
        """What the library says of any table, in these words.

        >>> VOTES.told("component 3 is all but empty; one more sweep moves 1 % of the words")
        'bloc 3 is all but empty; one more sweep moves 1 % of the votes'
        """
        own = {
            "component": self.component,
            "components": self.components,
            "document": self.document,
            "documents": self.documents,
            "words": self.tokens,
        }
        return re.sub(rf"\b({'|'.join(own)})\b", lambda found: own[found[0]], line)


TEXT = Speech("text", feature="word", features="words", tokens="words", token="word")
VOTES = Speech(
    field="votes",
    document="voter",
    documents="voters",
    component="bloc",
    components="blocs",
    feature="vote",
    features="votes",
    tokens="votes",
    token="vote",
    blocks="roll calls",
)
GENOTYPES = Speech(
    field="genotypes",
    document="person",
    documents="people",
    component="ancestry",
    components="ancestries",
    feature="allele",
    features="alleles",
    tokens="allele copies",
    token="allele copy",
    blocks="loci",
    model="the admixture model of STRUCTURE and ADMIXTURE",
)
MUTATIONS = Speech(
    field="mutations",
    document="tumour",
    documents="tumours",
    component="signature",
    components="signatures",
    feature="mutation type",
    features="mutation types",
    tokens="mutations",
    token="mutation",
)


def _are_genotypes(counts: Counts) -> bool:
    """Whether everyone has the same number of copies, two or more, wherever there is one at all:
    answers and votes have one."""
    if counts.features.n_blocks < 2:
        return False
    some = counts.rows(slice(_LOOKED_AT)).block_totals
    copies = np.unique(some[some > 0])
    return copies.size == 1 and copies[0] >= 2
