"""The columns of a table of counts: their names, and the blocks that they belong to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcomp.errors import InvalidCounts, InvalidParameter


def frozen_array(values: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
    """Give a read-only, aligned, contiguous array; it shares memory with `values` if it can.

    >>> frozen_array(np.arange(3), np.int32).flags.writeable
    False
    """
    view = np.require(values, dtype, ["C", "A"]).view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FeatureSpace:
    """Names and blocks of J features; immutable. Build one with `FeatureSpace.build`.

    A feature is identified by its block and its name together: a name may appear once per block.

    >>> space = FeatureSpace.build(3, ["red", "blue", "red"], blocks=["title", "title", "body"])
    >>> space.n_features, space.n_blocks, space.block_names
    (3, 2, ('title', 'body'))
    >>> space.name(1), space.name(2)
    ('title=blue', 'body=red')
    """

    names: tuple[str, ...] | None
    blocks: NDArray[np.int32]  # (J,), values 0..G-1, each of them present
    block_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        blocks = np.asarray(self.blocks)
        if blocks.ndim != 1:
            raise InvalidParameter(f"blocks must be one-dimensional; found shape {blocks.shape}")
        object.__setattr__(self, "blocks", frozen_array(blocks, np.int32))
        self._check_blocks()
        if self.names is not None:
            self._check_names(self.names)

    def _check_blocks(self) -> None:
        if not self.blocks.size:
            return
        # Looked at first: counting up to a large number takes as much memory.
        in_range = self.blocks.min() >= 0 and self.blocks.max() < self.blocks.size
        if not in_range or not np.bincount(self.blocks).all():
            raise InvalidParameter("blocks must use every number from 0 to the largest one")
        n_blocks = int(self.blocks.max()) + 1
        if self.block_names is not None and len(self.block_names) != n_blocks:
            raise InvalidParameter(
                f"block_names must hold one name per block: {n_blocks} blocks, "
                f"{len(self.block_names)} names"
            )

    def _check_names(self, names: tuple[str, ...]) -> None:
        if len(names) != self.n_features:
            raise InvalidParameter(
                "feature names must be one per feature: "
                f"{self.n_features} features, {len(names)} names"
            )
        if len(set(names)) == len(names):
            return
        seen: set[tuple[int, str]] = set()
        for key in zip(self.blocks.tolist(), names, strict=True):
            if key in seen:
                place = f" in block {self.block_name(key[0])!r}" if self.n_blocks > 1 else ""
                raise InvalidParameter(
                    f"feature names must be unique; {key[1]!r} appears more than once{place}"
                )
            seen.add(key)

    @classmethod
    def build(
        cls,
        n_features: int,
        names: Iterable[object] | None = None,
        blocks: Iterable[Hashable] | ArrayLike | None = None,
    ) -> FeatureSpace:
        """Make a feature space; block ids are any hashables, numbered by first appearance and
        known by their text.

        >>> space = FeatureSpace.build(3, blocks=[7, 7, 2])
        >>> space.blocks.tolist(), space.block_names
        ([0, 0, 1], ('7', '2'))
        """
        if isinstance(names, str):
            raise InvalidParameter(f"feature names must be a sequence of names; found {names!r}")
        labels = None if names is None else tuple(str(name) for name in names)
        if blocks is None:
            return cls(labels, np.zeros(n_features, np.int32))
        numbers, block_names = _number_blocks(blocks)
        if numbers.size != n_features:
            raise InvalidParameter(
                f"blocks must hold one id per feature: {n_features} features, {numbers.size} ids"
            )
        return cls(labels, numbers, block_names)

    @property
    def n_features(self) -> int:
        """The number of features, J.

        >>> FeatureSpace.build(4).n_features
        4
        """
        return int(self.blocks.size)

    @property
    def n_blocks(self) -> int:
        """The number of blocks, G; 1 where none were given.

        >>> FeatureSpace.build(4).n_blocks
        1
        """
        if self.block_names is not None:
            return len(self.block_names)
        return int(self.blocks.max()) + 1 if self.blocks.size else 0

    def name(self, j: int) -> str:
        """Give the name of feature `j`, or "feature j" where features have no names; with several
        blocks it is block=feature, since a name may be in each of them.

        >>> FeatureSpace.build(2).name(1)
        'feature 1'
        >>> FeatureSpace.build(2, ["nay", "nay"], ["RC5", "RC6"]).name(1)
        'RC6=nay'
        """
        name = f"feature {j}" if self.names is None else self.names[j]
        if self.n_blocks <= 1:
            return name
        block = self.block_name(int(self.blocks[j])) + "="
        # The columns of a file are often called so already.
        return name if name.startswith(block) else block + name

    @property
    def labels(self) -> tuple[str, ...] | None:
        """The names of all features as `name` gives them; None where they have none.

        >>> FeatureSpace.build(2, ["nay", "nay"], ["RC5", "RC6"]).labels
        ('RC5=nay', 'RC6=nay')
        """
        if self.names is None or self.n_blocks <= 1:
            return self.names
        return tuple(self.name(j) for j in range(self.n_features))

    def numbers_by_name(self) -> dict[str, int]:
        """Give the number of each feature by its name, as `name` gives it; with blocks also by the
        name alone where one block only has it.

        >>> FeatureSpace.build(3, ["nay", "nay", "yea"], ["RC5", "RC6", "RC6"]).numbers_by_name()
        {'yea': 2, 'RC5=nay': 0, 'RC6=nay': 1, 'RC6=yea': 2}
        """
        often = Counter(self.names or ())
        alone = {name: j for j, name in enumerate(self.names or ()) if often[name] == 1}
        one = self.n_blocks <= 1  # asked once: it looks at all features
        unnamed = (f"feature {j}" if one else self.name(j) for j in range(self.n_features))
        labels = self.labels or unnamed
        return alone | {name: j for j, name in enumerate(labels)}

    def block_name(self, g: int) -> str:
        """Give the name of block `g`, or its number as text.

        >>> FeatureSpace.build(2, blocks=["a", "b"]).block_name(1)
        'b'
        """
        return str(g) if self.block_names is None else self.block_names[g]

    def block_number(self, block: int | str) -> int:
        """Give the number of a block that is named, or numbered from 0.

        >>> FeatureSpace.build(2, blocks=["RC5", "RC6"]).block_number("RC6")
        1
        """
        names = [self.block_name(g) for g in range(self.n_blocks)]
        if isinstance(block, str) and block in names:
            return names.index(block)
        whole = isinstance(block, int | np.integer) and not isinstance(block, bool)
        if whole and 0 <= int(block) < len(names):
            return int(block)
        among = f" or a name of one ({_some(names)})" if self.block_names is not None else ""
        raise InvalidParameter(
            f"block must be a number in [0, {self.n_blocks}){among}; got {block!r}"
        )

    @property
    def block_ids(self) -> tuple[str, ...] | tuple[int, ...] | None:
        """The block of each feature, by name or, where blocks have none, by number: what `build`
        takes to make the same blocks again. None where no blocks were given.

        >>> FeatureSpace.build(3, blocks=[7, 7, 2]).block_ids
        ('7', '7', '2')
        """
        numbers, names = self.blocks.tolist(), self.block_names
        if names is not None:
            return tuple(names[g] for g in numbers)
        return tuple(numbers) if self.n_blocks > 1 else None

    def select(self, idx: ArrayLike | slice) -> FeatureSpace:
        """Keep some features, by position or mask; blocks left without a feature disappear.

        >>> FeatureSpace.build(3, names=["a", "b", "c"]).select([2, 0]).names
        ('c', 'a')
        """
        chooser: Any = idx if isinstance(idx, slice) else np.asarray(idx)
        if not isinstance(chooser, slice) and not chooser.size:
            chooser = chooser.astype(np.intp)
        chosen = np.arange(self.n_features)[chooser]
        kept, blocks = np.unique(self.blocks[chosen], return_inverse=True)
        names = None if self.names is None else tuple(self.names[j] for j in chosen.tolist())
        labels = self.block_names
        if labels is not None:
            labels = tuple(labels[g] for g in kept.tolist())
        return FeatureSpace(names, blocks.astype(np.int32), labels)

    def positions_in(self, other: FeatureSpace) -> NDArray[np.int32]:
        """Find each feature, by block and name, in another space: its position there, or -1.

        Blocks are matched by name, or by number where a side does not name them. A table without
        blocks is matched by the names of its columns alone, plain ("nay") or with their blocks
        ("RC6=nay"). Without feature names on both sides, features are matched by position and must
        be as many.

        >>> FeatureSpace.build(2, ["a", "b"]).positions_in(FeatureSpace.build(2, ["b", "c"]))
        array([-1,  0], dtype=int32)
        """
        if self.names is None or other.names is None:
            return self._same_positions(other)
        if self.block_names is None and self.n_blocks == 1 < other.n_blocks:
            named = {name: j for j, name in enumerate(other._names_without_blocks(self.names))}
            return np.array([named.get(name, -1) for name in self.names], np.int32)
        own = self._identities(other)
        place = {key: j for j, key in enumerate(other._identities(self))}
        return np.array([place.get(key, -1) for key in own], np.int32)

    def _names_without_blocks(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """What a table without blocks, of these columns, calls the features: block=feature where it
        says so, or where the names alone would not tell them apart."""
        names, labels = self.names or (), self.labels or ()
        says_so = not set(labels).isdisjoint(columns)
        return labels if says_so or len(set(names)) < len(names) else names

    def _same_positions(self, other: FeatureSpace) -> NDArray[np.int32]:
        if self.n_features != other.n_features:
            raise InvalidCounts(
                "features without names must be as many on both sides; "
                f"found {self.n_features} where {other.n_features} are expected"
            )
        if self.n_blocks > 1 and not np.array_equal(self.blocks, other.blocks):
            raise InvalidCounts("features without names must be in the same blocks on both sides")
        return np.arange(self.n_features, dtype=np.int32)

    def _identities(self, other: FeatureSpace) -> Iterable[tuple[int | str, str]]:
        names = self.names or ()
        if self.n_blocks == other.n_blocks == 1:
            return ((0, name) for name in names)
        if self.block_names is not None and other.block_names is not None:
            if not set(self.block_names) & set(other.block_names):
                raise InvalidCounts(
                    "blocks must have names in common on both sides; found "
                    f"{_some(self.block_names)} and {_some(other.block_names)}"
                )
            return zip(self.block_ids or (), names, strict=True)
        if self.n_blocks == other.n_blocks:
            return zip(self.blocks.tolist(), names, strict=True)
        raise InvalidCounts(
            "blocks must have names on both sides, or be as many on both; "
            f"found {self.n_blocks} and {other.n_blocks} blocks"
        )

    def difference(self, other: FeatureSpace) -> str | None:
        """Say in what another space differs: size, names or blocks; None where they are equal.

        >>> FeatureSpace.build(2, ["a", "b"]).difference(FeatureSpace.build(2))
        'the first has names of features and the second has none'
        """
        if self.n_features != other.n_features:
            return f"the first has {self.n_features} and the second {other.n_features}"
        for what, mine, theirs in (
            ("names of features", self.names, other.names),
            ("blocks of features", self.block_ids, other.block_ids),
        ):
            if mine is None or theirs is None:
                if mine is not theirs:
                    has = ("has none", f"has {what}")
                    return f"the first {has[mine is not None]} and the second {has[mine is None]}"
                continue
            for j, pair in enumerate(zip(mine, theirs, strict=True)):
                if pair[0] != pair[1]:
                    both = f"{pair[0]!r} in the first and {pair[1]!r} in the second"
                    return f"the {what} differ, at number {j} {both}"
        return None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FeatureSpace):
            return NotImplemented
        return (
            self.names == other.names
            and self.block_names == other.block_names
            and np.array_equal(self.blocks, other.blocks)
        )

    def __hash__(self) -> int:
        return hash((self.names, self.block_names, self.blocks.tobytes()))

    def __reduce__(self) -> tuple[type[FeatureSpace], tuple[Any, ...]]:
        # A restored array is writeable again unless the constructor freezes it.
        return (FeatureSpace, (self.names, self.blocks, self.block_names))

    def __repr__(self) -> str:
        named = "named" if self.names is not None else "unnamed"
        blocks = f", {self.n_blocks:,} blocks" if self.n_blocks > 1 else ""
        return f"FeatureSpace({self.n_features:,} {named} features{blocks})"


def _number_blocks(
    blocks: Iterable[Hashable] | ArrayLike,
) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    if isinstance(blocks, str):
        raise InvalidParameter(f"blocks must be a sequence of ids; found {blocks!r}")
    if isinstance(blocks, np.ndarray):
        blocks = blocks.tolist()
    if not isinstance(blocks, Iterable):
        raise InvalidParameter(f"blocks must be a sequence of ids; found {blocks!r}")
    ids: Sequence[Any] = list(blocks)
    number: dict[Hashable, int] = {}
    try:
        codes = [number.setdefault(block, len(number)) for block in ids]
    except TypeError as error:
        raise InvalidParameter(f"blocks must be hashable ids, one per feature: {error}") from None
    names = tuple(str(block) for block in number)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidParameter(f"blocks must differ in their names; two ids are called {twice!r}")
    return np.array(codes, np.int32), names


def _some(names: Sequence[str], n: int = 3) -> str:
    """The first few names, and whether there are more."""
    return ", ".join(map(repr, names[:n])) + (", …" if len(names) > n else "")
