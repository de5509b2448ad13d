"""Which components come together, and what two say of a third thing that neither says alone.

Jakulin and Bratko (2003), as BJ04 5 and 6 use them. A component is present in a document that has
`least` of its words or more. With A, B the presence of two components and C that of a third, or a
label of the document,

    pairs:   I(A; B)                                        mutual information
    threes:  I(A; B; C) = I(A; B | C) − I(A; B)             interaction information
                        = I(A, B; C) − I(A; C) − I(B; C)

Above 0 two of them say more of the third together than apart (synergy); below 0 they say the same
(redundancy). All in bits. Estimates from counts are too large by about (cells − 1) / 2N of each
entropy, which is taken off (Miller and Madow).

Noise is no interaction: one is called clear only where, after Bonferroni for all that are looked
at, (1) none of the two or three is independent of the rest, by the likelihood-ratio test of each;
(2) the value differs from 0 by its own standard error, sd(pointwise value) / √N; and (3) it is
larger than the largest in documents whose components and labels were shuffled, each on its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from dcomp.errors import InvalidParameter, MissingDependency
from dcomp.models.arrays import FloatArray, read_only
from dcomp.models.prior import Nodes
from dcomp.result import Fit
from dcomp.result.of_estimator import as_fit

LEAST = 1.0  # words; the 0.01 of BJ06 IX is for sparse tables, and less than a word
SHUFFLES = 20
SHOWN = 10
UP, FURTHER, BESIDE, APART = "parent and child", "further up", "siblings", "apart"


class Interaction(NamedTuple):
    """Two or three components, or two and the label, and what they have to do with each other."""

    components: tuple[int, ...]
    bits: float
    error: float
    is_clear: bool
    relation: str | None

    def __str__(self) -> str:
        names = ", ".join(f"#{k}" for k in self.components)
        where = f", {self.relation}" if self.relation else ""
        sure = "" if self.is_clear else ", not clear"
        return f"{names}: {self.bits:+.4f} ± {self.error:.4f} bits{where}{sure}"


@dataclass(frozen=True, eq=False)
class Interactions:
    """All pairs or threes of components; arrays of one length."""

    components: npt.NDArray[np.intp]  # (M, 2) or (M, 3)
    bits: FloatArray  # less their bias
    error: FloatArray
    is_clear: npt.NDArray[np.bool_]
    relation: tuple[str, ...] | None  # in the tree, of pairs
    with_label: bool
    n_docs: int
    least: float
    largest_by_chance: float  # bits, of shuffled documents

    def __len__(self) -> int:
        return len(self.bits)

    def strongest(self, n: int = SHOWN, *, clear: bool = True) -> list[Interaction]:
        """The n of largest size, of those that are clear unless told otherwise."""
        order = np.argsort(-np.abs(self.bits), kind="stable")
        chosen = order[self.is_clear[order]] if clear else order
        return [self._one(i) for i in chosen[:n].tolist()]

    def _one(self, i: int) -> Interaction:
        return Interaction(
            tuple(self.components[i].tolist()),
            float(self.bits[i]),
            float(self.error[i]),
            bool(self.is_clear[i]),
            None if self.relation is None else self.relation[i],
        )

    def by_relation(self) -> dict[str, tuple[int, int, float]]:
        """Pairs, clear ones, and mean size in bits, by their place in the tree: whether what is
        there of interaction goes up and down it (BJ04 5). Empty without a tree."""
        out = {}
        places = np.array(self.relation or ())
        for name in (UP, FURTHER, BESIDE, APART):
            own = np.flatnonzero(places == name)
            if own.size:
                size = float(np.abs(self.bits[own]).mean())
                out[name] = (own.size, int(self.is_clear[own].sum()), size)
        return out

    def to_frame(self) -> Any:
        """As a pandas DataFrame, a row each (`dcomp[frames]`)."""
        try:
            import pandas
        except ImportError:
            raise MissingDependency(
                'a frame needs pandas, which is not installed: pip install "dcomp[frames]"'
            ) from None
        names = [f"component_{i}" for i in range(self.components.shape[1])]
        frame = pandas.DataFrame(self.components, columns=names)
        frame["bits"], frame["error"], frame["clear"] = self.bits, self.error, self.is_clear
        if self.relation is not None:
            frame["relation"] = self.relation
        return frame

    def __str__(self) -> str:
        kind = "pairs" if self.components.shape[1] == 2 else "threes"
        kind += " with the label" if self.with_label else ""
        lines = [
            f"{int(self.is_clear.sum()):,} clear interactions in {len(self):,} {kind} of "
            f"components, {self.n_docs:,} documents; by chance up to "
            f"{self.largest_by_chance:.4f} bits"
        ]
        lines += [f"  {one}" for one in self.strongest()]
        for name, (n, clear, size) in self.by_relation().items():
            lines.append(f"  {name}: {clear:,} of {n:,} clear, mean size {size:.4f} bits")
        return "\n".join(lines)


def interactions(
    fit: Fit,
    labels: Sequence[Any] | npt.NDArray[Any] | None = None,
    *,
    order: int = 2,
    least: float = LEAST,
    level: float = 0.05,
    seed: int = 0,
) -> Interactions:
    """Interactions between components over the training documents, as this module defines them.

    labels: one per document (None, NaN: left out): what each pair of components says of it,
    together against apart. Without them pairs, or with order=3 all threes of components. least:
    expected words from which on a component is present. level: about the chance, at most, that
    anything is called clear where nothing is.

    Longer documents have more of everything: components then come together for their length alone.

    >>> import dcomp
    >>> X = np.random.default_rng(0).poisson([[4, 4, 0, 0]] * 20 + [[0, 0, 4, 4]] * 20)
    >>> found = interactions(dcomp.LDA(2, alpha=0.1, verbose=0).fit(X).fit_)
    >>> found.bits.round(1).tolist(), found.is_clear.tolist()
    ([1.0], [True])
    """
    fitted = as_fit(fit)
    if order not in (2, 3) or (order == 3 and labels is not None):
        raise InvalidParameter(
            f"order must be 2, or 3 without labels (a label is the third); got {order!r}"
        )
    if not 0 < level < 1:
        raise InvalidParameter(f"level must lie between 0 and 1; got {level}")
    if fitted.n_components < order:
        raise InvalidParameter(
            f"there must be {order} components; the fit has {fitted.n_components}"
        )
    present = np.asarray(fitted.expected_counts) >= least
    codes = None
    if labels is not None:
        known, codes = _codes(labels, len(present))
        present = present[known]
    nodes = fitted.model.scores.nodes
    return of_presence(
        present, codes, order=order, least=least, level=level, seed=seed, nodes=nodes
    )


def of_presence(
    present: npt.NDArray[np.bool_],
    codes: npt.NDArray[np.intp] | None = None,
    *,
    order: int = 2,
    least: float = LEAST,
    level: float = 0.05,
    seed: int = 0,
    nodes: Nodes | None = None,
) -> Interactions:
    """The same of a table of presence, (I, K), and of labels as numbers."""
    members, found = _measured(present, codes, order)
    rng, by_chance = np.random.default_rng(seed), 0.0
    for _ in range(SHUFFLES):
        shuffled = rng.permuted(present, axis=0)
        others = None if codes is None else rng.permutation(codes)
        by_chance = max(by_chance, float(np.abs(_measured(shuffled, others, order)[1].bits).max()))
    tests = len(members)
    far = np.abs(found.bits) > stats.norm.isf(level / (2 * tests)) * found.error
    clear = (found.p * tests <= level) & far & (np.abs(found.bits) > by_chance)
    is_tree = nodes is not None and bool(nodes.edges) and nodes.parents is not None
    relation = None
    if is_tree and members.shape[1] == 2 and nodes is not None and nodes.parents is not None:
        relation = tuple(_relation(nodes.parents, *pair) for pair in members.tolist())
    return Interactions(
        members,
        read_only(found.bits),
        read_only(found.error),
        clear,
        relation,
        codes is not None,
        len(present),
        least,
        by_chance,
    )


class _Measured(NamedTuple):
    bits: FloatArray  # less the bias
    error: FloatArray
    p: FloatArray  # the largest of the tests that one is independent of the rest


def _measured(
    present: npt.NDArray[np.bool_], codes: npt.NDArray[np.intp] | None, order: int
) -> tuple[npt.NDArray[np.intp], _Measured]:
    """All pairs or threes, and their measures."""
    parts: list[_Measured] = []
    members: list[npt.NDArray[np.intp]] = []
    for chosen, tables in _tables(present.astype(np.float64), codes, order):
        members.append(chosen)
        parts.append(measure(tables))
    joined = [np.concatenate([part[i] for part in parts]) for i in range(3)]
    return np.concatenate(members), _Measured(*joined)


def _tables(
    P: FloatArray, codes: npt.NDArray[np.intp] | None, order: int
) -> Iterator[tuple[npt.NDArray[np.intp], FloatArray]]:
    """Contingency tables (M, 2, 2) or (M, 2, 2, C) with the components that they are of."""
    K = P.shape[1]
    first, second = np.triu_indices(K, 1)
    if order == 2:
        groups = [P] if codes is None else [P[codes == c] for c in range(int(codes.max()) + 1)]
        both = [_crossed(part, first, second) for part in groups]
        table = both[0] if codes is None else np.stack(both, axis=-1)
        yield np.stack([first, second], axis=1), table
        return
    for k in range(K - 2):
        a, b = first[first > k], second[first > k]
        there = P[:, k] > 0
        table = np.stack([_crossed(P[~there], a, b), _crossed(P[there], a, b)], axis=1)
        yield np.stack([np.full(len(a), k), a, b], axis=1), table


def _crossed(
    P: FloatArray, first: npt.NDArray[np.intp], second: npt.NDArray[np.intp]
) -> FloatArray:
    """Documents by absence and presence of two components, (M, 2, 2)."""
    together, single = (P.T @ P)[first, second], P.sum(axis=0)
    a, b = single[first], single[second]
    cells = [len(P) - a - b + together, b - together, a - together, together]
    return np.stack(cells, axis=-1).reshape(-1, 2, 2)


def measure(tables: npt.ArrayLike) -> _Measured:
    """Mutual information of tables (M, A, B), or interaction information of (M, A, B, C)."""
    n = np.asarray(tables, np.float64)
    axes = tuple(range(1, n.ndim))
    N = n.sum(axis=axes)[0]
    p, full = n / N, frozenset(axes)
    plain, cells, log_p = {}, {}, {}
    for size in range(1, len(axes) + 1):
        for kept in combinations(axes, size):
            margin = p.sum(axis=tuple(full - set(kept)), keepdims=True)
            own = np.log2(np.where(margin > 0, margin, 1.0))
            plain[kept] = -(margin * own).sum(axis=axes)
            cells[kept] = (margin > 0).sum(axis=axes)
            log_p[kept] = own
    # H(A) + H(B) − H(AB) for two, and with the other sign for three: its first line above.
    sign = {kept: (-1.0) ** (len(kept) + len(axes) + 1) for kept in plain}
    bits = sum(sign[kept] * (plain[kept] + _bias(cells[kept], N)) for kept in plain)
    pointwise = sum(-sign[kept] * log_p[kept] for kept in plain)
    mean = (p * pointwise).sum(axis=axes, keepdims=True)
    variance = (p * (pointwise - mean) ** 2).sum(axis=axes)
    worst = np.zeros(len(n))
    for axis in axes:
        one, rest = (axis,), tuple(sorted(full - {axis}))
        shared = plain[one] + plain[rest] - plain[axes]
        df = np.maximum((cells[one] - 1) * (cells[rest] - 1), 1)
        worst = np.maximum(worst, stats.chi2.sf(2 * N * np.log(2) * np.maximum(shared, 0.0), df))
    return _Measured(np.asarray(bits), np.sqrt(variance / N), worst)


def _bias(cells: npt.NDArray[np.intp], N: float) -> FloatArray:
    """What an entropy in bits is underestimated by: Miller and Madow."""
    return np.asarray((cells - 1) / (2 * N * np.log(2)))


def _codes(
    labels: Sequence[Any] | npt.NDArray[Any], n_docs: int
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.intp]]:
    """Which documents have a label, and its number."""
    values = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    if len(values) != n_docs:
        raise InvalidParameter(
            f"labels must be one per document: {n_docs} documents, {len(values)} labels"
        )
    known = np.array([value is not None and value == value for value in values], bool)
    names = [str(value) for value, is_known in zip(values, known, strict=True) if is_known]
    if len(set(names)) < 2:
        raise InvalidParameter(f"labels must have two values or more; found {len(set(names))}")
    return known, np.unique(names, return_inverse=True)[1]


def _relation(parents: Sequence[int], first: int, second: int) -> str:
    """What two nodes of a tree are to each other."""
    above = [_above(parents, node) for node in (first, second)]
    for node, other in ((first, above[1]), (second, above[0])):
        if node in other:
            return UP if other[0] == node else FURTHER
    return BESIDE if parents[first] == parents[second] else APART


def _above(parents: Sequence[int], node: int) -> list[int]:
    out = []
    while parents[node] >= 0:
        node = parents[node]
        out.append(node)
    return out
