"""Where the words of a leaf come from: υ_ch = p(node h | leaf c), and its priors (B09 2.2, 4.1).

Υ has a row for each leaf, over the leaf's allowed nodes, and every row sums to 1. Three kinds:

    FixedRows      Υ given outright                                                     B09 (2)
    DirichletRows  υ_c ~ Dirichlet(ψ_c) over the allowed nodes                          B09 (3), (5)
    StickRows      υ_ch = φ_h Π_{h' above h} (1 − φ_h'), φ_h ~ Beta(ψ_h0, ψ_h1)         B09 (1), (4)

φ is 1 at leaves, so that rows sum to 1. The last two are one Υ for the whole corpus, or one for
each document. All are conjugate given counts S, one row of them for the corpus or for each
document: of words by pair for the first two kinds, by node for the third.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from dcomp.errors import InvalidParameter
from dcomp.models.arrays import (
    FloatArray,
    equal_fields,
    in_range,
    positive_array,
    read_only,
    stored_flag,
)
from dcomp.models.learning import ALPHA_CAP_DM, ALPHA_FLOOR, at_limit, polya_alpha
from dcomp.models.prior import Parameter
from dcomp.models.pseudo import Pseudo
from dcomp.models.structure import Structure
from dcomp.models.sums import Sums, Tallies

Table = npt.NDArray[Any]  # (R, P) or (R, H): R = 1, or one row per document


@dataclass(frozen=True, eq=False)
class FixedRows:
    """Υ as it was given: B09 (2).

    >>> rows = FixedRows.build(Structure.from_parents([2, 2, -1]), [[0.7, 0, 0.3], [0, 0.5, 0.5]])
    >>> rows.upsilon
    array([0.7, 0.3, 0.5, 0.5])
    """

    structure: Structure
    upsilon: FloatArray  # (P)
    per_document: ClassVar[bool] = False
    learn_psi: ClassVar[bool] = False
    by_node: ClassVar[bool] = False

    __eq__ = equal_fields

    @classmethod
    def build(cls, structure: Structure, upsilon: Any) -> FixedRows:
        """From a table (K, H) whose rows sum to 1, not zero on the allowed pairs alone."""
        table = np.asarray(upsilon.toarray() if hasattr(upsilon, "toarray") else upsilon, float)
        shape = (structure.n_leaves, structure.n_nodes)
        if table.shape != shape:
            raise InvalidParameter(
                f"upsilon must have a row per leaf and a column per node, {shape}; got "
                f"{table.shape}"
            )
        positive_array("upsilon", table, zero=True)
        worst = int(np.abs(table.sum(axis=1) - 1).argmax())
        if abs(table[worst].sum() - 1) > 1e-6:
            raise InvalidParameter(
                f"the rows of upsilon must sum to 1; row {worst} sums to {table[worst].sum():g}"
            )
        if ((table > 0) != structure.mask).any():
            c, h = np.argwhere((table > 0) != structure.mask)[0]
            raise InvalidParameter(
                f"upsilon must be positive on the allowed pairs alone; it is {table[c, h]:g} at "
                f"leaf {c}, node {h}"
            )
        table /= table.sum(axis=1, keepdims=True)
        return cls(structure, read_only(table[structure.leaf, structure.node]))

    @property
    def kind(self) -> str:
        """What users call it."""
        return "fixed"

    @property
    def width(self) -> int:
        """Columns of S."""
        return self.structure.n_pairs

    def parameters(self) -> tuple[Parameter, ...]:
        """None: Υ is no prior."""
        return ()

    def stored(self) -> dict[str, Any]:
        """What a file says."""
        return {"kind": self.kind, "upsilon": self.upsilon.tolist()}

    def seen(self, S: Table) -> None:
        """Nothing that `learn` needs."""

    def learn(self, seen: None) -> tuple[FixedRows, tuple[str, ...]]:
        """Υ is given."""
        return self, ()

    def native(self) -> tuple[FloatArray | None, FloatArray | None, FloatArray | None]:
        """As the token sampler takes them: numbers of the pairs, or of stopping and going on."""
        return np.ascontiguousarray(self.upsilon), None, None

    def mean(self, S: Table) -> FloatArray:
        """Υ itself, (R, P)."""
        return np.broadcast_to(self.upsilon, (len(S), len(self.upsilon)))

    def log_moment(self, S: Table) -> FloatArray:
        """log Π υ^S, (R): B09 (2)."""
        return np.asarray(S @ np.log(self.upsilon))

    def draw(self, S: Table, rng: np.random.Generator) -> FloatArray:
        """Υ itself, (R, P)."""
        return self.mean(S)


@dataclass(frozen=True, eq=False)
class DirichletRows:
    """υ_c ~ Dirichlet(ψ_c) over the allowed nodes of leaf c: B09 (3), per document (5).

    >>> rows = DirichletRows.build(Structure.from_parents([2, 2, -1]), psi=1.0)
    >>> rows.mean(np.array([[3, 0, 0, 0]]))
    array([[0.8, 0.2, 0.5, 0.5]])
    """

    structure: Structure
    psi: FloatArray  # (P)
    per_document: bool = False
    learn_psi: bool = False  # one number for all pairs, where the corpus shares Υ
    pseudo: Pseudo | None = None
    by_node: ClassVar[bool] = False

    __eq__ = equal_fields

    @classmethod
    def build(
        cls,
        structure: Structure,
        psi: npt.ArrayLike = 1.0,
        *,
        per_document: bool = False,
        learn_psi: bool = False,
        pseudo: Pseudo | None = None,
    ) -> DirichletRows:
        """ψ a number, one per node (B09's vector) or a table (K, H) (its matrix Ψ)."""
        value = in_range("psi", positive_array("psi", psi, zero=True))
        shapes: tuple[tuple[int, ...], ...] = (
            (),
            (structure.n_nodes,),
            (structure.n_leaves, structure.n_nodes),
        )
        if value.shape not in shapes:
            raise InvalidParameter(
                f"psi must be a number, one per node ({structure.n_nodes}), or a table of leaves × "
                f"nodes {shapes[2]}; got shape {value.shape}"
            )
        table = np.broadcast_to(value, shapes[2])[structure.leaf, structure.node]
        if learn_psi and not per_document:
            _check_one("one number for all nodes", table)
        return cls(structure, positive_array("psi", table), per_document, learn_psi, pseudo)

    @property
    def kind(self) -> str:
        """What users call it."""
        return "document" if self.per_document else "shared"

    @property
    def width(self) -> int:
        """Columns of S."""
        return self.structure.n_pairs

    def parameters(self) -> tuple[Parameter, ...]:
        """ψ."""
        return (Parameter("psi", self.psi, self.learn_psi),)

    def stored(self) -> dict[str, Any]:
        """What a file says beside ψ."""
        return _stored(self)

    def seen(self, S: Table) -> Sums | None:
        """What `learn` needs of documents with the words S (I, P), or of the corpus with S (1, P);
        it adds."""
        if not self.learn_psi:
            return None
        if not self.per_document:
            return Sums({"rows": OfAll(S)})
        return Sums({first: Tallies.build(S[:, first:last]) for first, last in self._leaves()})

    def _leaves(self) -> list[tuple[int, int]]:
        """The pairs of each leaf, from and to."""
        return list(itertools.pairwise(self.structure.start.tolist()))

    def learn(self, seen: Sums | None) -> tuple[DirichletRows, tuple[str, ...]]:
        """One step of learning ψ from the words of documents S (I, P): a Dirichlet for each leaf,
        monotone in log p(S), with its prior where it has one (B09 5.6). Where the corpus shares Υ
        every leaf has one row, and all of them one ψ.

        >>> rows = DirichletRows.build(
        ...     Structure.from_parents([2, 2, -1]), per_document=True, learn_psi=True
        ... )
        >>> words = np.array([[9, 1, 5, 5], [8, 2, 9, 1], [9, 1, 1, 9]])
        >>> rows.learn(rows.seen(words))[0].psi.round(1)
        array([1.8, 0.6, 1. , 1. ])
        """
        if seen is None:
            return self, ()
        if not self.per_document:
            return self._learn_one(seen["rows"].value)
        psi, capped = self.psi.copy(), False
        for first, last in self._leaves():
            prior = _prior_of(self.pseudo, last - first)
            psi[first:last], is_capped = polya_alpha(psi[first:last], seen[first], **prior)
            capped |= is_capped
        return replace(self, psi=psi), ("psi",) if capped else ()

    def objective(self, S: Table) -> float:
        """log p(S | ψ) with the prior of a ψ that all pairs share: as many rows as it is worth,
        spread over the leaves."""
        value = float(self.log_moment(S).sum())
        if self.pseudo is None:
            return value
        sizes = np.diff(self.structure.start)
        sizes = sizes[sizes > 1]
        a = float(self.psi[0])
        logs = np.array([self.pseudo.logs(n).sum() for n in sizes])
        each = gammaln(sizes * a) - sizes * gammaln(a) + (a - 1) * logs
        return value + self.pseudo.worth * float(each.mean()) if len(sizes) else value

    def _learn_one(self, S: Table) -> tuple[DirichletRows, tuple[str, ...]]:
        """The ψ of all pairs at which `objective` is highest, if it is higher than here."""
        from scipy.optimize import minimize_scalar  # slow to import, and seldom needed

        if (np.diff(self.structure.start) <= 1).all():  # no leaf has a choice
            return self, ()

        def with_one(log_psi: float) -> DirichletRows:
            return replace(self, psi=read_only(np.full(len(self.psi), np.exp(log_psi))))

        limits = (np.log(ALPHA_FLOOR), np.log(ALPHA_CAP_DM))
        best = minimize_scalar(lambda x: -with_one(x).objective(S), bounds=limits, method="bounded")
        found = with_one(float(best.x))
        if not found.objective(S) > self.objective(S):
            found = self
        close = at_limit(found.psi, ALPHA_FLOOR * 1.001, ALPHA_CAP_DM / 1.001)
        return found, ("psi",) if close else ()

    def native(self) -> tuple[FloatArray | None, FloatArray | None, FloatArray | None]:
        """As the token sampler takes them: numbers of the pairs, or of stopping and going on."""
        return np.ascontiguousarray(self.psi), None, None

    def of_leaves(self, values: Table) -> Table:
        """Sums (R, K) over the pairs of each leaf."""
        return np.asarray(np.add.reduceat(values, self.structure.start[:-1], axis=1))

    def mean(self, S: Table) -> FloatArray:
        """E[υ | S] (R, P) = (ψ + S) over its sum in the leaf's row."""
        a = self.psi + S
        return np.asarray(a / self.of_leaves(a)[:, self.structure.leaf])

    def log_moment(self, S: Table) -> FloatArray:
        """log E[Π υ^S], (R): Π_c Z(ψ_c + S_c) / Z(ψ_c) of B09 (3) and (5)."""
        total = self.of_leaves(self.psi[None])[0]
        return rising(self.psi, S) - rising(total, self.of_leaves(S))

    def draw(self, S: Table, rng: np.random.Generator) -> FloatArray:
        """Υ (R, P) from p(Υ | S)."""
        log_draw = log_gamma_draws(self.psi + S, rng)
        top = np.maximum.reduceat(log_draw, self.structure.start[:-1], axis=1)
        draw = np.exp(log_draw - top[:, self.structure.leaf])
        return np.asarray(draw / self.of_leaves(draw)[:, self.structure.leaf])


@dataclass(frozen=True, eq=False)
class StickRows:
    """υ_ch = φ_h Π_{h' above h} (1 − φ_h'), φ_h ~ Beta(ψ_h0, ψ_h1), φ_leaf = 1: B09 (1), (4).

    >>> rows = StickRows.build(Structure.from_parents([2, 2, -1]), psi=(1.0, 3.0))
    >>> rows.mean(np.array([[0, 0, 0]]))
    array([[0.75, 0.25, 0.75, 0.25]])
    """

    structure: Structure
    psi: FloatArray  # (H, 2): stop and go on, 1 at leaves
    per_document: bool = False
    learn_psi: bool = False  # one pair for all nodes, where the corpus shares φ
    pseudo: Pseudo | None = None
    by_node: ClassVar[bool] = True

    __eq__ = equal_fields

    @classmethod
    def build(
        cls,
        structure: Structure,
        psi: npt.ArrayLike = 1.0,
        *,
        per_document: bool = False,
        learn_psi: bool = False,
        pseudo: Pseudo | None = None,
    ) -> StickRows:
        """ψ a number, a pair (stop, go on), or a pair for each node."""
        if structure.parents is None:
            raise InvalidParameter(
                "φ at the nodes needs a strict tree: every leaf a node of its own, and sets of "
                "leaves that are nested or apart; this structure is none, take 'shared' or "
                "'document'"
            )
        value, H = in_range("psi", positive_array("psi", psi)), structure.n_nodes
        if value.shape not in ((), (2,), (H, 2)):
            raise InvalidParameter(
                "psi of a tree with φ must be a number, a pair (stop, go on), or a pair for each "
                f"node ({H}, 2); got shape {value.shape}"
            )
        table = np.broadcast_to(value[..., None] if value.ndim == 0 else value, (H, 2)).copy()
        table[structure.is_leaf] = 1.0
        if learn_psi and not per_document:
            _check_one("one pair for all nodes", table[~structure.is_leaf])
        return cls(structure, read_only(table), per_document, learn_psi, pseudo)

    @property
    def kind(self) -> str:
        """What users call it."""
        return "document-phi" if self.per_document else "phi"

    @property
    def width(self) -> int:
        """Columns of S."""
        return self.structure.n_nodes

    def parameters(self) -> tuple[Parameter, ...]:
        """ψ."""
        return (Parameter("psi", self.psi, self.learn_psi),)

    def stored(self) -> dict[str, Any]:
        """What a file says beside ψ."""
        return _stored(self)

    def seen(self, S: Table) -> Sums | None:
        """What `learn` needs of documents with the words S (I, H); it adds."""
        if not self.learn_psi:
            return None
        below, inner = self.below(S), np.flatnonzero(~self.structure.is_leaf).tolist()
        if not self.per_document:
            return Sums({"rows": OfAll(np.stack([S[0, inner], below[0, inner]], axis=1))})
        return Sums({h: Tallies.build(np.stack([S[:, h], below[:, h]], axis=1)) for h in inner})

    def learn(self, seen: Sums | None) -> tuple[StickRows, tuple[str, ...]]:
        """One step of learning ψ from the words of documents S (I, H): a Beta for each internal
        node, of words that stop there and words that go on, monotone in log p(S), with its prior
        where it has one (B09 5.6). Where the corpus shares φ all nodes have one pair."""
        if seen is None:
            return self, ()
        psi, capped, prior = self.psi.copy(), False, _prior_of(self.pseudo, None)
        if not self.per_document:
            pairs = seen["rows"].value
            if not pairs.size:
                return self, ()
            inner = ~self.structure.is_leaf
            psi[inner], capped = polya_alpha(psi[inner][0], Tallies.build(pairs), **prior)
            return replace(self, psi=psi), ("psi",) if capped else ()
        for h in seen.values:
            psi[h], is_capped = polya_alpha(psi[h], seen[h], **prior)
            capped |= is_capped
        return replace(self, psi=psi), ("psi",) if capped else ()

    def native(self) -> tuple[FloatArray | None, FloatArray | None, FloatArray | None]:
        """As the token sampler takes them: numbers of the pairs, or of stopping and going on."""
        stop, go = (np.ascontiguousarray(self.psi[:, side]) for side in (0, 1))
        return None, stop, go

    def below(self, S: Table) -> Table:
        """M (R, H): words of the strict descendants of each node."""
        parents = self.structure.parents
        assert parents is not None
        M = np.zeros(S.shape, dtype=S.dtype)
        for node in reversed(self.structure.order):
            if parents[node] >= 0:
                M[:, parents[node]] += M[:, node] + S[:, node]
        return M

    def along_paths(self, stop: FloatArray, go: FloatArray) -> FloatArray:
        """υ of the pairs (R, P) from φ and 1 − φ of the nodes (R, H)."""
        parents = self.structure.parents
        assert parents is not None
        reach = np.ones(stop.shape)
        for node in self.structure.order:
            if parents[node] >= 0:
                reach[:, node] = reach[:, parents[node]] * go[:, parents[node]]
        value = np.where(self.structure.is_leaf, reach, reach * stop)
        return np.asarray(value[:, self.structure.node])

    def mean(self, S: Table) -> FloatArray:
        """E[υ | S], (R, P): the φ are independent given S."""
        stop = self.psi[:, 0] + S
        go = self.psi[:, 1] + self.below(S)
        return self.along_paths(stop / (stop + go), go / (stop + go))

    def log_moment(self, S: Table) -> FloatArray:
        """log E[Π υ^S], (R): the Beta ratios of B09 (4), of internal nodes alone."""
        inner = ~self.structure.is_leaf
        N, M = S[:, inner], self.below(S)[:, inner]
        psi = self.psi[inner]
        return rising(psi[:, 0], N) + rising(psi[:, 1], M) - rising(psi.sum(axis=1), N + M)

    def draw(self, S: Table, rng: np.random.Generator) -> FloatArray:
        """Υ (R, P) from p(φ | S)."""
        stop = log_gamma_draws(self.psi[:, 0] + S, rng)
        go = log_gamma_draws(self.psi[:, 1] + self.below(S), rng)
        both = np.logaddexp(stop, go)
        return self.along_paths(np.exp(stop - both), np.exp(go - both))


Rows = FixedRows | DirichletRows | StickRows


def restored_rows(
    structure: Structure, entry: Mapping[str, Any], arrays: Mapping[str, Any]
) -> Rows:
    """Rows from a file: the way back from `stored`; a ValueError where ψ is not theirs."""
    kind = str(entry["kind"])
    if kind == "fixed":
        table = structure.table(np.array(entry["upsilon"], dtype=np.float64))
        return FixedRows.build(structure, table)
    make: Any = StickRows if kind.endswith("phi") else DirichletRows
    psi = arrays["psi"]
    shape = (structure.n_nodes, 2) if make is StickRows else (structure.n_pairs,)
    if psi.shape != shape or psi.dtype != np.float64 or not (psi > 0).all():
        raise ValueError(f"psi must hold positive numbers of shape {shape}; got {psi.shape}")
    make.build(structure)  # an error where the kind needs a tree and there is none
    flags = kind.startswith("document"), stored_flag(entry, "learn_psi")
    rows: Rows = make(structure, psi, *flags, Pseudo.restored(entry.get("pseudo")))
    if rows.kind != kind:
        raise ValueError(f"there is no structure of kind {kind!r}")
    return rows


@dataclass(frozen=True, eq=False)
class OfAll:
    """What every part knows of the whole corpus, but for what the others have moved in this sweep:
    the first speaks for all, so that adding leaves it as it is.

    >>> (OfAll(np.ones(1)) + OfAll(np.zeros(1))).value
    array([1.])
    """

    value: Table

    def __add__(self, other: OfAll) -> OfAll:
        return self


def _stored(rows: DirichletRows | StickRows) -> dict[str, Any]:
    entry: dict[str, Any] = {"kind": rows.kind, "learn_psi": rows.learn_psi}
    return entry if rows.pseudo is None else {**entry, "pseudo": rows.pseudo.stored()}


def _prior_of(pseudo: Pseudo | None, n: int | None) -> dict[str, Any]:
    """The prior of ψ as `polya_alpha` takes it: of n nodes, or of stopping and going on."""
    if pseudo is None:
        return {}
    logs = pseudo.pair_logs() if n is None else pseudo.logs(n)
    return {"worth": pseudo.worth, "logs": logs}


def _check_one(what: str, table: FloatArray) -> None:
    """An error where a ψ that is learned as one begins as several."""
    if len(table) and np.any(table != table[0]):
        raise InvalidParameter(
            f"a psi that is learned for a shared structure is {what}; got several: give a number, "
            "or do not learn it"
        )


def rising(a: FloatArray, counts: Table) -> FloatArray:
    """Σ ln Γ(a + count) − ln Γ(a) over each row; most counts are 0 and cost nothing.

    >>> rising(np.array([1.0, 2.0]), np.array([[3, 0], [0, 1]])).round(4)
    array([1.7918, 0.6931])
    """
    row, column = np.nonzero(counts)
    terms = gammaln(a[column] + counts[row, column]) - gammaln(a)[column]
    return np.asarray(np.bincount(row, weights=terms, minlength=len(counts)), dtype=np.float64)


def log_gamma_draws(a: FloatArray, rng: np.random.Generator) -> FloatArray:
    """log of Gamma(a, 1) draws: small shapes underflow otherwise."""
    return np.asarray(np.log(rng.standard_gamma(a + 1)) + np.log1p(-rng.random(a.shape)) / a)
