"""The data of every model: a table of counts, documents by features, checked once and immutable."""

from __future__ import annotations

import hashlib
import json
import operator
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import gammaln

from dcomp.data import frames, longform
from dcomp.data.attributes import Attributes
from dcomp.data.canonical import (
    LIMIT,
    Rows,
    as_table,
    canonical_rows,
    compressed,
    rows_ascend,
)
from dcomp.data.features import FeatureSpace, frozen_array
from dcomp.data.mapped import Mapped, runs
from dcomp.data.reading import Reading
from dcomp.data.sequences import Sequences
from dcomp.data.text_options import TextOptions, Vocabulary, check_max_docs
from dcomp.errors import InvalidCounts, InvalidParameter

_CHUNK = 1 << 18  # bounds the float64 temporaries of a sum over entries


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Counts:
    """Counts w of I documents (rows) by J features (columns), in compressed rows; immutable.

    Make one with `from_matrix`, `from_frame`, `from_table`, `from_tokens`, `from_ids` or
    `as_counts`.
    The arrays are read-only and canonical: columns ascend within a row, none repeats, no zeros.
    They share memory with the input where it has that form already.

    Counts made from tokens remember their reading order in `sequences` (4 bytes per token). It goes
    along with documents and features that are selected, moved or renamed; what splits documents
    leaves it behind. Equality and fingerprint are of the bag alone, which is all that a model sees.

    Counts are whole numbers unless they were made with `fractional=True`: then they are float64,
    and go where expectations are taken (mean field, map, ml, laplace, `transform`, bounds,
    completion), not where tokens are drawn one by one. What is called tokens is then their sum.

    A corpus is a sequence of parts, runs of documents that are worked on apart: one, unless it was
    cut by `in_parts`.

    What else is known of documents (a party, a year) is in `attributes`, by name, and goes along
    with them; see `with_attributes`.

    In tables of votes, answers and genotypes a block without counts was not observed: the member
    was absent, the answer not given. They are made with `empty_is_missing`, from which models of
    lengths (GP, CGP) take that such a block has no exposure. The others need not be told.

    >>> counts = Counts.from_matrix([[2, 0, 1], [0, 0, 3]], feature_names=["a", "b", "c"])
    >>> counts.doc_totals.tolist(), counts.feature_totals.tolist()
    ([3, 3], [2, 0, 4])
    """

    indptr: NDArray[np.int64]  # (I + 1,)
    indices: NDArray[np.int32]  # (nnz,)
    data: NDArray[Any]  # (nnz,): int32, or float64 where counts are fractional
    features: FeatureSpace
    doc_ids: tuple[str, ...] | None = None
    sequences: Sequences | None = None  # the reading order, where there is one
    firsts: tuple[int, ...] = (0,)  # the first document of each part
    attributes: Attributes = field(default_factory=Attributes)  # what else is known of documents
    text: TextOptions | None = None  # how its words were found, where they are of text
    vocabulary: Vocabulary | None = None  # which words were kept then, and why others were not
    empty_is_missing: bool = False  # whether a block without counts was not observed
    mapped: Mapped | None = None  # the file that the arrays lie in, where they do
    reading: Reading | None = None  # how its table was read, where that had to be said

    def __post_init__(self) -> None:
        object.__setattr__(self, "indptr", frozen_array(self.indptr, np.int64))
        object.__setattr__(self, "indices", frozen_array(self.indices, np.int32))
        kind = np.float64 if self.data.dtype.kind == "f" else np.int32
        object.__setattr__(self, "data", frozen_array(self.data, kind))
        if self.n_docs < 1 or self.n_features < 1:
            raise InvalidCounts(
                "counts must have at least one document and one feature; "
                f"found {self.n_docs} documents and {self.n_features} features"
            )
        object.__setattr__(self, "doc_ids", _as_ids(self.doc_ids, self.n_docs))
        own = Rows(self.indptr, self.indices, self.data)
        if self.mapped is not None and not self.mapped.vouches_for(own, self.n_features):
            object.__setattr__(self, "mapped", None)
        # Native code reads these arrays unchecked, so nothing malformed may get past here.
        if self.mapped is None and not self._well_formed():
            raise InvalidCounts("the arrays are not canonical compressed rows; use Counts.from_*")
        order = self.sequences
        if order is not None and not order.is_of(self.indptr, self.indices, self.data):
            raise InvalidCounts("sequences must hold the tokens of each document; they do not")
        about = self.attributes or Attributes(self.n_docs)
        if not isinstance(about, Attributes) or about.n_docs != self.n_docs:
            raise InvalidParameter(
                f"attributes must be Attributes of {self.n_docs} documents; got {about!r}"
            )
        object.__setattr__(self, "attributes", about)
        if not cuts(self.firsts, self.n_docs):
            raise InvalidParameter(
                f"firsts must ascend from 0 and stay below {self.n_docs}, the number of documents; "
                f"got {self.firsts}"
            )

    def _well_formed(self) -> bool:
        indptr, indices, data = self.indptr, self.indices, self.data
        if not (indptr.ndim == indices.ndim == data.ndim == 1 and indices.size == data.size):
            return False
        if indptr[0] != 0 or indptr[-1] != data.size or (np.diff(indptr) < 0).any():
            return False
        if not data.size:
            return True
        in_range = indices.min() >= 0 and indices.max() < self.n_features and data.min() > 0
        # Written so that NaN, of which nothing is true, is refused.
        return bool(in_range) and bool(data.max() <= LIMIT) and rows_ascend(indptr, indices)

    @classmethod
    def from_matrix(
        cls,
        X: Any,
        *,
        feature_names: Iterable[object] | None = None,
        doc_ids: Iterable[object] | None = None,
        blocks: Iterable[Hashable] | ArrayLike | None = None,
        fractional: bool = False,
    ) -> Counts:
        """Take counts from a scipy sparse matrix of any format, or from any dense table.

        Repeated entries of a sparse matrix are summed. Whole numbers stored as floats are counts.
        With `fractional`, counts need not be whole (dosages, corrected counts, tf-idf).

        >>> Counts.from_matrix(sparse.coo_array(([1, 1], ([0, 0], [1, 1])), shape=(1, 2))).data
        array([2], dtype=int32)
        >>> Counts.from_matrix([[1, -1]], feature_names=["of", "the"], doc_ids=["d17"])
        Traceback (most recent call last):
        dcomp.errors.InvalidCounts: counts must be non-negative whole numbers; \
found -1 at document 'd17', feature 'the'
        >>> Counts.from_matrix([[0.5, 1]], fractional=True).doc_totals
        array([1.5])
        """
        table = as_table(X)
        features = FeatureSpace.build(table.shape[1], feature_names, blocks)
        ids = _as_ids(doc_ids, table.shape[0])

        def cell(i: int, j: int) -> str:
            document = f"document {i}" if ids is None else f"document {ids[i]!r}"
            feature = features.name(j)
            return f"{document}, {feature if features.names is None else f'feature {feature!r}'}"

        return cls(*canonical_rows(table, cell, fractional), features, ids)

    @classmethod
    def from_frame(
        cls,
        df: Any,
        *,
        feature_names: Iterable[object] | None = None,
        doc_ids: Iterable[object] | None = None,
        blocks: Iterable[Hashable] | ArrayLike | None = None,
        fractional: bool = False,
    ) -> Counts:
        """Take counts from a pandas or polars frame: a row per document, a column per feature.

        Columns name the features. A pandas index names the documents, unless it is the default.
        `fractional`: whether counts need not be whole. A first or last column that only numbers
        the documents, or is called "label", "year" and the like, is refused, unless
        `feature_names` says that it is a feature.

        >>> import pandas
        >>> frame = pandas.DataFrame({"cat": [1, 0], "dog": [2, 5]}, index=["d1", "d2"])
        >>> Counts.from_frame(frame).doc_ids
        ('d1', 'd2')
        """
        if (
            frames.is_frame(df) and feature_names is None and blocks is None
        ):  # a name may come again in another block
            frames.check_unique(df)
        values, names, ids = frames.wide(df, are_features=feature_names is not None)
        if feature_names is None:
            frames.say_of_odd(df)
        return cls.from_matrix(
            values,
            feature_names=names if feature_names is None else feature_names,
            doc_ids=ids if doc_ids is None else doc_ids,
            blocks=blocks,
            fractional=fractional,
        )

    @classmethod
    def from_table(
        cls,
        documents: Any,
        features: Iterable[Any] | None = None,
        counts: ArrayLike | None = None,
        *,
        blocks: Iterable[Hashable] | None = None,
        fractional: bool = False,
    ) -> Counts:
        """Take counts in long form: one (document, feature, count) per row, or a frame of those.

        Repeated pairs are summed; without `counts` every row counts once. Documents come in the
        order of first appearance, and so do features, unless they are strings: then sorted.
        With `blocks`, one per row, a feature is identified by its block and its name.
        `fractional`: whether counts need not be whole.

        >>> table = Counts.from_table(["d1", "d2", "d1"], ["b", "a", "b"], [1, 4, 2])
        >>> table.features.names, table.to_scipy().toarray().tolist()
        (('a', 'b'), [[0, 3], [4, 0]])
        """
        if frames.is_frame(documents):
            if features is not None or counts is not None:
                raise InvalidParameter("a frame must be given alone, without features and counts")
            documents, features, counts = _long_columns(documents)
        if features is None:
            raise InvalidParameter("features must be given, one per row")
        long = longform.from_columns(documents, features, counts, blocks, fractional)
        return cls._from_long(long, fractional)

    @classmethod
    def from_tokens(
        cls,
        docs: Iterable[Iterable[str]],
        *,
        vocabulary: Sequence[str] | None = None,
        doc_ids: Iterable[object] | None = None,
        watch: Callable[[int, int, int], None] | None = None,
    ) -> Counts:
        """Count the tokens of each document, given as a list of strings, or of (bag, token) pairs:
        then the features of each bag (a part of speech, links beside words) are a block.

        A `vocabulary` fixes the features and their order, and tokens outside it are not counted;
        without one, the features are all distinct tokens, sorted. `sequence` has the reading order.
        `watch` is told the documents, tokens and distinct tokens so far, after each document.

        >>> counts = Counts.from_tokens([["b", "a", "b"], []])
        >>> counts.to_scipy().toarray().tolist(), counts.sequence(0).tolist()
        ([[1, 2], [0, 0]], [1, 0, 1])
        >>> Counts.from_tokens([[("noun", "watch"), ("verb", "watch")]]).features.labels
        ('noun=watch', 'verb=watch')
        """
        ids = None if doc_ids is None else list(doc_ids)
        return cls._from_long(longform.from_token_lists(docs, vocabulary, ids, watch))

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        *,
        doc_ids: Iterable[object] | None = None,
        like: Any = None,
        **options: Any,
    ) -> Counts:
        """Count the words of texts. The options are those of `dcomp.TextOptions`; with `like`, a
        fit or counts of text, they are theirs, and words are not left out for being rare.

        `vocabulary` says which words were kept, `sequence` has the reading order.

        >>> counts = Counts.from_texts(["The cat sat.", "A cat, in 1984!"], numbers="years")
        >>> counts.features.names
        ('1984', 'cat', 'sat')
        >>> Counts.from_texts(["1985"], like=counts).features.names
        ('1985',)
        """
        from dcomp.data.text import bag, count_texts

        if like is None:
            return bag(texts, doc_ids=doc_ids, **options)
        return count_texts(texts, options_of(like).for_new(**options), doc_ids)

    @classmethod
    def from_ids(
        cls,
        docs: Iterable[ArrayLike],
        *,
        n_features: int | None = None,
        feature_names: Iterable[object] | None = None,
        doc_ids: Iterable[object] | None = None,
        blocks: Iterable[Hashable] | ArrayLike | None = None,
    ) -> Counts:
        """Count the features of each document, given as a list or array of their numbers from 0.

        The features are as many as `n_features` or the names say, else up to the largest number.
        -1 marks a position that is no feature: it keeps its place in `sequence` and is not counted.

        >>> counts = Counts.from_ids([[2, 0, -1, 2], []])
        >>> counts.to_scipy().toarray().tolist(), counts.sequence(0).tolist()
        ([[1, 0, 2], [0, 0, 0]], [2, 0, -1, 2])
        """
        long = longform.from_id_lists(docs, n_features, feature_names, doc_ids, blocks)
        return cls._from_long(long)

    @classmethod
    def join(cls, parts: Mapping[str, Counts]) -> Counts:
        """Put counts of the same documents side by side, each a block of its own, named by its key
        (BJ04 3.1): titles and bodies, words and links.

        The components of a fit then have a distribution over each block, and the documents one
        score for all. A part that has blocks already keeps them, as "key:block". Attributes go
        along, and the reading order where all parts have one.

        >>> title, body = Counts.from_texts(["A cat"]), Counts.from_texts(["The cat sat."])
        >>> both = Counts.join({"title": title, "body": body})
        >>> both.features.labels, both.to_scipy().toarray().tolist()
        (('title=cat', 'body=cat', 'body=sat'), [[1, 1, 1]])
        """
        from dcomp.data.joining import joined

        return joined(parts)

    @classmethod
    def _from_long(cls, long: longform.LongForm, fractional: bool = False) -> Counts:
        counts = cls.from_matrix(
            long.matrix,
            feature_names=long.feature_names,
            doc_ids=long.doc_ids,
            blocks=long.blocks,
            fractional=fractional,
        )
        return counts if long.sequences is None else replace(counts, sequences=long.sequences)

    @property
    def n_docs(self) -> int:
        """The number of documents, I.

        >>> Counts.from_matrix([[1, 2]]).n_docs
        1
        """
        return int(self.indptr.size) - 1

    @property
    def n_features(self) -> int:
        """The number of features, J.

        >>> Counts.from_matrix([[1, 2]]).n_features
        2
        """
        return self.features.n_features

    @property
    def shape(self) -> tuple[int, int]:
        """Documents and features, (I, J).

        >>> Counts.from_matrix([[1, 2]]).shape
        (1, 2)
        """
        return self.n_docs, self.n_features

    @property
    def nnz(self) -> int:
        """The number of non-zero cells.

        >>> Counts.from_matrix([[1, 0]]).nnz
        1
        """
        return int(self.data.size)

    @property
    def is_fractional(self) -> bool:
        """Whether counts need not be whole, as they were made: data and totals are then float64.

        >>> Counts.from_matrix([[1, 2]], fractional=True).is_fractional
        True
        """
        return bool(self.data.dtype == np.float64)

    @property
    def _sums(self) -> type[np.generic]:
        """What sums of counts are."""
        return np.float64 if self.is_fractional else np.int64

    @property
    def n_tokens(self) -> int:
        """The sum of all counts; a float where they are fractional.

        >>> Counts.from_matrix([[1, 2]]).n_tokens
        3
        """
        total: Any = self.data.sum(dtype=self._sums)
        return total.item()  # type: ignore[no-any-return]

    @property
    def doc_totals(self) -> NDArray[np.int64]:
        """The sum of each row, (I,); float64 where counts are fractional, as all totals then are.

        >>> Counts.from_matrix([[1, 2], [0, 0]]).doc_totals
        array([3, 0])
        """
        totals: NDArray[np.int64] = self._row_sums(self.data, self._sums)
        return totals

    @property
    def feature_totals(self) -> NDArray[np.int64]:
        """The sum of each column, (J,).

        >>> Counts.from_matrix([[1, 2], [0, 3]]).feature_totals
        array([1, 5])
        """
        self._check_file()
        totals: NDArray[Any] = np.zeros(self.n_features, self._sums)
        for start in range(0, self.nnz, _CHUNK):
            part = slice(start, start + _CHUNK)
            # Sums of a chunk are below 2^53, hence exact in the float64 that bincount adds in.
            sums = np.bincount(self.indices[part], self.data[part], self.n_features)
            totals += sums.astype(self._sums)
        return totals

    def _check_file(self) -> None:
        """An error where rows that lie in a file are wrong; they are looked at once."""
        if self.mapped is not None:
            self.mapped.check()

    @property
    def feature_docs(self) -> NDArray[np.int64]:
        """The number of documents that hold each feature, (J,).

        >>> Counts.from_matrix([[1, 2], [0, 3]]).feature_docs
        array([1, 2])
        """
        self._check_file()
        docs = np.zeros(self.n_features, np.int64)
        for start in range(0, self.nnz, _CHUNK):  # bincount makes a copy of twice the size
            docs += np.bincount(self.indices[start : start + _CHUNK], minlength=self.n_features)
        return docs

    @property
    def block_totals(self) -> NDArray[np.int64]:
        """The sum of each row within each block, (I, G); computed at every call.

        >>> Counts.from_matrix([[1, 2, 3]], blocks=[0, 0, 1]).block_totals
        array([[3, 3]])
        """
        G = self.features.n_blocks
        if G == 1:
            return self.doc_totals[:, np.newaxis]
        totals: NDArray[Any] = np.zeros((self.n_docs, G), self._sums)
        # Some documents at a time: temporaries that stay in the cache are five times as fast.
        for first, end in runs(self.indptr, _CHUNK):
            row = np.repeat(np.arange(end - first) * G, np.diff(self.indptr[first : end + 1]))
            part = slice(self.indptr[first], self.indptr[end])
            cell = row + self.features.blocks[self.indices[part]]
            sums = np.bincount(cell, self.data[part], (end - first) * G)
            totals[first:end] = sums.reshape(-1, G)
        return totals

    def _row_sums(self, values: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
        sums = np.zeros(self.n_docs, dtype)
        filled = np.flatnonzero(np.diff(self.indptr))
        if filled.size:
            sums[filled] = np.add.reduceat(values, self.indptr[filled], dtype=dtype)
        return sums

    def doc_name(self, i: int) -> str:
        """Give the id of document `i`, or "document i" where documents have no ids.

        >>> Counts.from_matrix([[1], [2]]).doc_name(1)
        'document 1'
        """
        return f"document {i}" if self.doc_ids is None else self.doc_ids[i]

    def sequence(self, i: int) -> NDArray[np.int32]:
        """Give the features of document `i` in reading order, x of BJ06 III.A; bag(x) is row i.

        Tokens that are no feature, such as stop words, keep their places as -1.

        >>> Counts.from_tokens([["to", "be", "or"]], vocabulary=["be", "to"]).sequence(0)
        array([ 1,  0, -1], dtype=int32)
        """
        if self.sequences is None:
            raise InvalidCounts(
                "these counts have no reading order: they were not made from tokens or text, "
                "or were split since"
            )
        return self.sequences.of_document(i)

    def without_order(self) -> Counts:
        """Give the same counts without the reading order, to have its memory back.

        >>> Counts.from_tokens([["a"]]).without_order().sequences is None
        True
        """
        return self if self.sequences is None else replace(self, sequences=None)

    def to_scipy(self) -> sparse.csr_array:
        """Give the counts as a scipy array that shares these read-only buffers: of int32, or of
        float64 where they are fractional.

        >>> Counts.from_matrix([[1, 0]]).to_scipy().toarray().tolist()
        [[1, 0]]
        """
        matrix = compressed(Rows(self.indptr, self.indices, self.data), self.shape)
        matrix.indptr.flags.writeable = False
        matrix.has_canonical_format = True
        return matrix  # type: ignore[no-any-return]

    def rows(self, selection: Any) -> Counts:
        """Choose documents by slice, positions or mask; ids and the reading order go along.

        >>> Counts.from_matrix([[1], [2], [3]]).rows([2, 0]).data.tolist()
        [3, 1]
        """
        chosen = np.atleast_1d(np.arange(self.n_docs)[selection])
        if not chosen.size:
            raise InvalidCounts(f"at least one of the {self.n_docs} documents must be selected")
        if chosen.size == self.n_docs and np.array_equal(chosen, np.arange(self.n_docs)):
            return self
        self._check_file()
        if self.mapped is not None and (np.diff(chosen) == 1).all():
            return self._run(int(chosen[0]), int(chosen[-1]) + 1)
        ids = self.doc_ids
        if ids is not None:
            ids = tuple(ids[i] for i in chosen.tolist())
        matrix: Any = self.to_scipy()[chosen]
        order = None if self.sequences is None else self.sequences.rows(chosen)
        about = self.attributes.rows(chosen)
        rows: Any = {name: getattr(matrix, name) for name in ("indptr", "indices", "data")}
        known: Any = {"doc_ids": ids, "sequences": order, "attributes": about}
        return replace(self, **rows, **known, firsts=(0,))

    def _run(self, first: int, end: int) -> Counts:
        """Documents of a file that follow each other, where they lie."""
        assert self.mapped is not None
        mapped = self.mapped.run(first, end)
        rows: Any = dict(zip(("indptr", "indices", "data"), mapped.rows, strict=True))
        known: Any = {
            "doc_ids": None if self.doc_ids is None else self.doc_ids[first:end],
            "sequences": None,
            "attributes": self.attributes.rows(np.arange(first, end)),
        }
        return replace(self, **rows, **known, firsts=(0,), mapped=mapped)

    def in_parts(self, n: int) -> Counts:
        """Give the same counts, cut into `n` parts of about as many entries each.

        The cut depends on the counts alone. The same parts give the same numbers to the last bit
        wherever they are worked on (docs/guides/parts.md has what another cut may change). It goes
        along while all documents do; `rows` of some of them are one part again.

        >>> Counts.from_matrix([[1, 1], [2, 0], [0, 3], [4, 0]]).in_parts(2).firsts
        (0, 2)
        """
        whole = isinstance(n, int | np.integer) and not isinstance(n, bool)
        if not whole or not 1 <= n <= self.n_docs:
            raise InvalidParameter(
                f"in_parts needs a whole number from 1 to the number of documents, {self.n_docs}; "
                f"got {n!r}"
            )
        return self.cut_at(even_cut(self.indptr, n))

    def cut_at(self, firsts: Sequence[int]) -> Counts:
        """Give the same counts, cut before these documents; the first of them is 0.

        >>> Counts.from_matrix([[1], [2], [3]]).cut_at((0, 1)).parts[1].data.tolist()
        [2, 3]
        """
        try:
            wanted = tuple(operator.index(first) for first in firsts)
        except TypeError:
            raise InvalidParameter(
                f"firsts must be the numbers of documents, the first of each part; got {firsts!r}"
            ) from None
        return self if wanted == self.firsts else replace(self, firsts=wanted)

    @property
    def parts(self) -> tuple[Counts, ...]:
        """The parts, each as counts of its own.

        >>> [part.n_docs for part in Counts.from_matrix([[1], [2], [3]]).in_parts(3).parts]
        [1, 1, 1]
        """
        if len(self.firsts) == 1:
            return (self,)
        return tuple(self.rows(slice(*ends)) for ends in pairwise((*self.firsts, self.n_docs)))

    def columns(self, selection: ArrayLike | slice) -> Counts:
        """Choose features by slice, positions (each once) or mask; every document stays.

        >>> Counts.from_matrix([[1, 2, 3]]).columns([2, 0]).data.tolist()
        [3, 1]
        """
        chooser = selection if isinstance(selection, slice) else np.asarray(selection)
        chosen = np.arange(self.n_features)[chooser]
        position = np.full(self.n_features, -1, np.int32)
        position[chosen] = np.arange(chosen.size, dtype=np.int32)
        return self._moved(position, self.features.select(chosen))

    def _moved(self, position: NDArray[np.int32], features: FeatureSpace) -> Counts:
        """Move feature j to position[j], or drop it where that is -1."""
        moved = position[self.indices]
        kept = moved >= 0
        before = np.zeros(self.nnz + 1, np.int64)
        np.cumsum(kept, out=before[1:])
        parts = Rows(before[self.indptr], moved[kept], self.data[kept])
        matrix = compressed(parts, (self.n_docs, max(features.n_features, 1)))
        matrix.sort_indices()
        order = None if self.sequences is None else self.sequences.moved(position)
        rows: Any = {name: getattr(matrix, name) for name in ("indptr", "indices", "data")}
        return replace(self, **rows, features=features, sequences=order)

    def with_features(self, features: FeatureSpace | Iterable[object]) -> Counts:
        """Give the same counts with another feature space, or with other names of the features.

        >>> Counts.from_matrix([[1, 2]]).with_features(["a", "b"]).features.names
        ('a', 'b')
        """
        if not isinstance(features, FeatureSpace):
            names = tuple(str(name) for name in features)
            features = replace(self.features, names=names)
        if features.n_features != self.n_features:
            raise InvalidParameter(
                f"features must be as many as the columns: {self.n_features} columns, "
                f"{features.n_features} features"
            )
        return replace(self, features=features)

    def with_attributes(
        self, attributes: Mapping[str, Iterable[Any]] | Any = None, **named: Iterable[Any]
    ) -> Counts:
        """Give the same counts with more known of their documents, a value per document: a mapping
        or a frame, names as keywords, or both. Those of the same name are replaced.

        >>> counts = Counts.from_matrix([[1], [2]]).with_attributes(party=["D", "R"])
        >>> counts.rows([1]).attributes["party"].tolist()
        ['R']
        """
        given: Any = {} if attributes is None else attributes
        if frames.is_frame(given):
            given = dict(zip(map(str, given.columns), frames.columns(given), strict=True))
        return replace(self, attributes=self.attributes.with_columns({**given, **named}))

    def with_blocks(self, blocks: Iterable[Hashable] | ArrayLike | None) -> Counts:
        """Give the same counts with features put into blocks, one id per feature.

        >>> Counts.from_matrix([[1, 2]]).with_blocks(["title", "body"]).features.n_blocks
        2
        """
        space = FeatureSpace.build(self.n_features, self.features.names, blocks)
        return replace(self, features=space)

    def aligned_to(self, features: FeatureSpace) -> tuple[Counts, int]:
        """Reorder the columns to another feature space; also give the number of tokens dropped.

        Features are matched by block and name; those that are missing here become zero columns,
        and those that the other space lacks are dropped (-1 in `sequence`). Without names on both
        sides, columns are matched by position and their number must be the same.

        >>> counts = Counts.from_matrix([[1, 2]], feature_names=["a", "b"])
        >>> aligned, dropped = counts.aligned_to(FeatureSpace.build(2, ["b", "c"]))
        >>> aligned.to_scipy().toarray().tolist(), dropped
        ([[2, 0]], 1)
        """
        if features == self.features:
            return self, 0
        aligned = self._moved(self.features.positions_in(features), features)
        return aligned, self.n_tokens - aligned.n_tokens

    def drop_rare(
        self,
        min_count: int = 4,
        min_docs: int = 3,
        max_docs: float = 1.0,
        max_features: int | None = None,
    ) -> Counts:
        """Leave out features with fewer than `min_count` tokens, in under `min_docs` documents or
        in more than `max_docs` (a share if it is a float); keep the `max_features` most frequent.

        >>> Counts.from_matrix([[5, 1], [5, 0]]).drop_rare(min_count=4, min_docs=2).n_features
        1
        """
        check_max_docs(max_docs)
        most = max_docs * self.n_docs if isinstance(max_docs, float) else max_docs
        totals, docs = self.feature_totals, self.feature_docs
        kept = (totals >= min_count) & (docs >= min_docs) & (docs <= most)
        if max_features is not None and kept.sum() > max_features:
            ranked = np.argsort(np.where(kept, -totals, np.inf), kind="stable")
            kept[ranked[max_features:]] = False
        if not kept.any():
            raise InvalidCounts(
                f"no feature has {min_count} tokens in {min_docs} documents; lower the limits"
            )
        return self if kept.all() else self.columns(kept)

    def log_combinatoric(self) -> NDArray[np.float64]:
        """Give each document's ln of the number of its orderings, (I,): BJ06 III.A.

        It is the sum over blocks g of ln L_ig! less the sum over features of ln w_ij!; ln Γ(x + 1)
        stands for ln x! where counts are fractional, and goes on from the whole numbers smoothly.

        >>> Counts.from_matrix([[2, 1]]).log_combinatoric().round(6)  # ln 3
        array([1.098612])
        """
        whole = gammaln(self.block_totals + 1.0).sum(axis=1)
        repeated: NDArray[np.float64] = self._row_sums(gammaln(self.data + 1.0), np.float64)
        return np.asarray(whole - repeated, np.float64)

    def fingerprint(self) -> str:
        """Give the SHA-256 of the shape, the counts, and the names and blocks of the features.

        >>> len(Counts.from_matrix([[2, 1]]).fingerprint())
        64
        """
        digest = hashlib.sha256(repr(self.shape).encode())
        kind = "<f8" if self.is_fractional else "<i4"
        for values, dtype in ((self.indptr, "<i8"), (self.indices, "<i4"), (self.data, kind)):
            digest.update(values.astype(dtype, copy=False).data)
        digest.update(json.dumps([self.features.names, self.features.block_names]).encode())
        digest.update(self.features.blocks.astype("<i4", copy=False).data)
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return (
            self.features == other.features
            and self.doc_ids == other.doc_ids
            and self.data.dtype == other.data.dtype
            and np.array_equal(self.indptr, other.indptr)
            and np.array_equal(self.indices, other.indices)
            and np.array_equal(self.data, other.data)
        )

    def __reduce__(self) -> tuple[type[Counts], tuple[Any, ...]]:
        # A restored array is writeable again unless the constructor freezes it.
        parts = (self.indptr, self.indices, self.data)
        about = (self.doc_ids, self.sequences, self.firsts, self.attributes)
        words = (self.text, self.vocabulary, self.empty_is_missing)
        return Counts, (*parts, self.features, *about, *words, None, self.reading)

    @property
    def in_words(self) -> str:
        """The sum of all counts in words.

        >>> Counts.from_matrix([[1200]]).in_words
        '1,200 tokens'
        >>> Counts.from_matrix([[0.5]], fractional=True).in_words
        'fractional counts of 0.5 in all'
        """
        if self.is_fractional:
            return f"fractional counts of {amount(self.n_tokens)} in all"
        return f"{amount(self.n_tokens)} tokens"

    def __repr__(self) -> str:
        share = 100 * self.nnz / (self.n_docs * self.n_features)
        shown = "<0.1" if 0 < share < 0.05 else f"{share:.1f}"
        cut = "" if len(self.firsts) == 1 else f", in {len(self.firsts):,} parts"
        return (
            f"Counts({self.n_docs:,} documents \N{MULTIPLICATION SIGN} "
            f"{self.n_features:,} features, {self.in_words}, {shown} % non-zero{cut})"
        )


def amount(tokens: float) -> str:
    """A sum of counts for people: whole ones to the last, fractional ones to a tenth.

    >>> amount(1200), amount(1200.25)
    ('1,200', '1,200.2')
    """
    return f"{tokens:,}" if isinstance(tokens, int) else f"{tokens:,.1f}"


def options_of(like: Any) -> TextOptions:
    """How the words of a fit or of counts were found.

    >>> options_of(Counts.from_texts(["cat"], stop_words=None)).stop_words is None
    True
    """
    found = getattr(like, "text", None)
    if not isinstance(found, TextOptions):
        raise InvalidParameter(
            "like must be a fit or counts that were read from text, for it says what a word is; "
            f"this was not: {like!r}"
        )
    return found


def cuts(firsts: Sequence[int], n_docs: int) -> bool:
    """Whether these are the first documents of parts.

    >>> cuts((0, 2), 3), cuts((0, 3), 3), cuts((1, 2), 3)
    (True, False, False)
    """
    ascend = all(before < after for before, after in pairwise(firsts))
    return bool(firsts) and firsts[0] == 0 and ascend and firsts[-1] < n_docs


def even_cut(indptr: NDArray[np.int64], n: int) -> tuple[int, ...]:
    """The first document of each of `n` parts of about as many entries.

    >>> even_cut(np.array([0, 2, 3, 4, 5]), 2)
    (0, 2)
    """
    n_docs = len(indptr) - 1
    # A document counts for one beside its entries: empty ones are work, too.
    work = indptr + np.arange(n_docs + 1)
    ends = work[-1] * np.arange(1, n) / n
    firsts = np.r_[0, np.searchsorted(work, ends)]
    # Every part has a document at least, also where a few of them hold most entries.
    steps = np.arange(n)
    firsts = np.maximum.accumulate(firsts - steps) + steps
    return tuple(np.minimum(firsts, n_docs - n + steps).tolist())


def _as_ids(doc_ids: Iterable[object] | None, n_docs: int) -> tuple[str, ...] | None:
    if doc_ids is None:
        return None
    ids = tuple(str(name) for name in doc_ids)
    if isinstance(doc_ids, str) or len(ids) != n_docs:
        raise InvalidParameter(
            f"doc_ids must be one per document: {n_docs} documents, {len(ids)} ids"
        )
    return ids


def _long_columns(frame: Any) -> tuple[Any, Any, Any]:
    columns = frames.columns(frame)
    if len(columns) not in (2, 3):
        raise InvalidCounts(
            "a frame in long form must have 2 or 3 columns (document, feature, count); "
            f"found {len(columns)}"
        )
    return columns[0], columns[1], columns[2] if len(columns) == 3 else None
