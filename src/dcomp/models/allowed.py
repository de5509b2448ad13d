"""Which components a document may use (MODELS §11): supervised ancestry, labelled topics.

Documents that may use the same are a group. Within it the prior of the scores is that of its
components alone, so that whatever a prior says, it says group by group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import Counts
from dcomp.data.attributes import SEVERAL
from dcomp.errors import InvalidParameter
from dcomp.models.arrays import FloatArray, read_only


@dataclass(frozen=True, eq=False)
class Users:
    """How many documents may use what, and only that; they add."""

    masks: npt.NDArray[np.bool_]  # (groups, K)
    sizes: npt.NDArray[np.int64]  # (groups)

    def __add__(self, other: Users) -> Users:
        return replace(self, sizes=self.sizes + other.sizes)

    @property
    def of_components(self) -> FloatArray:
        """Documents that may use each component, (K); 1 where there is none, to divide by."""
        return np.maximum(self.sizes @ self.masks, 1).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Allowed:
    """The components that each document may use.

    >>> Allowed.from_mask(np.array([[True, False], [True, True], [True, False]])).group
    array([0, 1, 0], dtype=int32)
    """

    group: npt.NDArray[np.int32]  # (I)
    masks: npt.NDArray[np.bool_]  # (groups, K)

    @classmethod
    def from_mask(cls, mask: npt.NDArray[np.bool_]) -> Allowed:
        """From a table (I, K) of truth values."""
        masks, group = np.unique(mask, axis=0, return_inverse=True)
        return cls(read_only(group.ravel().astype(np.int32)), read_only(masks.astype(bool)))

    @classmethod
    def build(
        cls, value: Any, counts: Counts, n_components: int, names: Sequence[str] | None = None
    ) -> Allowed:
        """From what was typed: the name of an attribute, a label per document, a list of labels
        each, or a table (I, K). names: those of the components, all that labels may be; without
        them sorted labels are the first components."""
        value = _of_counts(value, counts)
        mask = _as_mask(value, counts.n_docs, n_components)
        if mask is None:
            sets = _label_sets(value, counts.n_docs)
            labels = labels_in(sets)
            place = _places(labels, n_components, names)
            mask = np.ones((counts.n_docs, n_components), dtype=bool)
            for i, own in enumerate(sets):
                if own:
                    mask[i] = False
                    mask[i, [place[label] for label in own]] = True
        empty = np.flatnonzero(~mask.any(axis=1))
        if empty.size:
            raise InvalidParameter(
                "every document must be allowed a component; document "
                f"{counts.doc_name(int(empty[0]))!r} is allowed none"
            )
        return cls.from_mask(mask)

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """The whole table, (I, K)."""
        return np.asarray(self.masks[self.group])

    @property
    def n_components(self) -> int:
        """K."""
        return int(self.masks.shape[1])

    @property
    def has_choice(self) -> bool:
        """Whether a document may use more than one."""
        return bool((self.masks[np.unique(self.group)].sum(axis=1) > 1).any())

    @property
    def users(self) -> Users:
        """How many documents are in each group."""
        return Users(self.masks, np.bincount(self.group, minlength=len(self.masks)))

    def rows(self, chosen: Any) -> Allowed:
        """Of some documents."""
        return replace(self, group=self.group[chosen])

    @property
    def native(self) -> dict[str, Any]:
        """As `_core.ScorePrior` takes it."""
        return {
            "group": np.ascontiguousarray(self.group),
            "allowed": np.ascontiguousarray(self.masks.astype(np.uint8)),
        }

    def ask(
        self, prior: Any, what: str, c: npt.NDArray[Any], exposure: FloatArray, *more: Any
    ) -> FloatArray:
        """What a prior of scores answers group by group, (I, K) or (I): with the components of each
        alone, and 0 for the others. `more`: further tables (I, K) or plain numbers."""
        out: FloatArray = np.zeros(c.shape)
        for g, may in enumerate(self.masks):
            rows, own = np.flatnonzero(self.group == g), np.flatnonzero(may)
            if not rows.size:
                continue
            cell = np.ix_(rows, own)
            rest = [x[cell] if isinstance(x, np.ndarray) and x.ndim == 2 else x for x in more]
            found = getattr(only(prior, own), what)(c[cell], *rest, exposure[rows])
            if found.ndim == 1:
                out = out if out.ndim == 1 else np.zeros(len(c))
                out[rows] = found
            else:
                out[cell] = found
        return out


def only(prior: Any, components: npt.NDArray[np.int64]) -> Any:
    """A prior of scores of some components alone."""
    return prior.with_values(**{p.name: p.value[components] for p in prior.parameters()})


def answer(
    prior: Any,
    what: str,
    c: npt.NDArray[Any],
    exposure: FloatArray,
    allowed: Allowed | None,
    *more: Any,
) -> FloatArray:
    """What a prior of scores says of documents with the counts c, who may use what they may."""
    if allowed is None:
        return np.asarray(getattr(prior, what)(c, *more, exposure))
    return allowed.ask(prior, what, c, exposure, *more)


def labels_of(value: Any, counts: Counts) -> tuple[str, ...]:
    """The labels that name components, in order; none where a table (I, K) was given."""
    value = _of_counts(value, counts)
    if _is_table(value):
        return ()
    return labels_in(_label_sets(value, counts.n_docs))


def labels_in(sets: Sequence[tuple[Any, ...]]) -> tuple[str, ...]:
    """Sorted: numbers as numbers, the rest as text."""
    found = {label for own in sets for label in own}
    numbers = all(isinstance(label, int) for label in found)
    return tuple(map(str, sorted(found) if numbers else sorted(map(str, found))))


def _of_counts(value: Any, counts: Counts) -> Any:
    """The values of the attribute of that name; lists in it have become one text when read."""
    if not isinstance(value, str):
        if not np.iterable(value) and not hasattr(value, "toarray"):
            raise InvalidParameter(
                "allowed must be the name of an attribute, a label or a list of labels for each "
                f"document, or a table; got {value!r}"
            )
        return value
    column = counts.attributes[value]
    return [x.split(SEVERAL) if isinstance(x, str) else x for x in column.tolist()]


def _is_table(value: Any) -> bool:
    """Whether it has a truth value for every component: an array of numbers, or rows of one length
    that hold nothing but 0 and 1, which as lists of labels would say nothing."""
    if hasattr(value, "toarray"):
        return True
    if hasattr(value, "ndim"):
        if value.ndim != 2 or np.asarray(value).dtype.kind in "biuf":
            return bool(value.ndim == 2)
        value = np.asarray(value).tolist()
    rows = list(value)
    if not rows or not all(isinstance(row, list | tuple | np.ndarray) for row in rows):
        return False
    numbers = (bool, int, float, np.bool_, np.number)
    return {len(row) for row in rows} == {max(len(rows[0]), 1)} and all(
        isinstance(x, bool | np.bool_) or (len(row) > 1 and isinstance(x, numbers) and x in (0, 1))
        for row in rows
        for x in row
    )


def _as_mask(value: Any, n_docs: int, n_components: int) -> npt.NDArray[np.bool_] | None:
    if not _is_table(value):
        return None
    table = np.asarray(value.toarray() if hasattr(value, "toarray") else value)
    if table.shape != (n_docs, n_components):
        raise InvalidParameter(
            f"allowed, as a table, must have shape {(n_docs, n_components)} (documents, "
            f"components); got {table.shape}"
        )
    if not np.isin(table, (0, 1)).all():
        raise InvalidParameter("allowed, as a table, must hold 0 and 1, or truth values")
    return table.astype(bool)


def _label_sets(value: Any, n_docs: int) -> list[tuple[Any, ...]]:
    """The labels of each document; none where it may use all."""
    value = np.asarray(value) if getattr(value, "ndim", 1) == 2 else value  # a frame, too
    items = value.tolist() if hasattr(value, "tolist") else list(value)
    if len(items) != n_docs:
        raise InvalidParameter(
            f"allowed must say something of each of {n_docs} documents; got {len(items)} values"
        )
    return [tuple(_label(x) for x in _listed(item)) for item in items]


def _listed(item: Any) -> list[Any]:
    """The labels of one document; None, NaN, -1 and an empty text are none."""
    if isinstance(item, list | tuple | set | frozenset | np.ndarray):
        return [x for x in item if not _is_missing(x)]
    is_none = _is_missing(item) or (not isinstance(item, str) and item == -1)
    return [] if is_none else [item]


def _is_missing(x: Any) -> bool:
    if isinstance(x, str):
        return not x.strip()
    return x is None or type(x).__name__ == "NAType" or bool(x != x)  # NaN differs from itself


def _label(x: Any) -> Any:
    whole = isinstance(x, int | np.integer) or (isinstance(x, float) and x.is_integer())
    return int(x) if whole and not isinstance(x, bool) else str(x)


def _places(
    labels: tuple[str, ...], n_components: int, names: Sequence[str] | None
) -> dict[Any, int]:
    """The component of each label, as a number and as text."""
    if names is None:
        if len(labels) > n_components:
            raise InvalidParameter(
                f"documents have {len(labels)} labels, and there are {n_components} components: "
                f"n_components must be at least {len(labels)}"
            )
        places = dict(zip(labels, range(len(labels)), strict=True))
    else:
        places = {label: _place(label, names) for label in labels}
    numbers = {int(label): k for label, k in places.items() if label.lstrip("-").isdecimal()}
    return {**places, **numbers}


def _place(label: str, names: Sequence[str]) -> int:
    """The component that has this name; or this number, where no other number is a name."""
    if label in names:
        return names.index(label)
    is_free = all(name == str(k) for k, name in enumerate(names) if name.isdecimal())
    if is_free and label.isdecimal() and int(label) < len(names):
        return int(label)
    shown = ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
    raise InvalidParameter(
        f"labels in allowed must be names of components; there is no {label!r}, there are {shown}"
    )
