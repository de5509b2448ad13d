"""Components that are known: loadings of features, from a frame, an array, a catalogue or a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcomp.data.features import FeatureSpace
from dcomp.data.frames import is_frame, wide
from dcomp.data.languages import stemmer
from dcomp.data.mutations import type_name
from dcomp.data.text_options import TextOptions
from dcomp.errors import DataWarning, InvalidCounts, InvalidParameter, warn

# Of a given loading, as a share of its block: what a component has never shown is rare, not
# impossible.
LEAST = 1e-9


@dataclass(frozen=True, eq=False)
class Components:
    """Loadings (K, J) with the names of components and of features, where these have some.

    >>> import pandas
    >>> table = pandas.DataFrame([[0.9, 0.1]], index=["SBS1"], columns=["C>T", "C>A"])
    >>> known = Components.of(table)
    >>> known.names, known.features
    (('SBS1',), ('C>T', 'C>A'))
    >>> known.aligned_to(FeatureSpace.build(2, ["C>A", "C>T"])).round(3)
    array([[0.1, 0.9]])
    """

    loadings: NDArray[np.float64]
    names: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    of_snps: bool = False  # whether they are frequencies of two alleles for each SNP

    def __post_init__(self) -> None:
        values = np.array(self.loadings, dtype=np.float64)
        if values.ndim != 2 or not values.size:
            raise InvalidParameter(
                f"components must be a table, components × features; got shape {values.shape}"
            )
        bad = np.argwhere(~(np.isfinite(values) & (values >= 0)))
        if len(bad):
            k, j = bad[0]
            raise InvalidParameter(
                "loadings of components must be finite and not negative; found "
                f"{values[k, j]} in component {self.names[k] if self.names else k}, feature "
                f"{self.features[j] if self.features else j}"
            )
        for what, given, size in (
            ("components", self.names, values.shape[0]),
            ("features", self.features, values.shape[1]),
        ):
            if given is None:
                continue
            if len(given) != size:
                raise InvalidParameter(f"{size} {what} need a name each; got {len(given)} names")
            if len(set(given)) < len(given):
                twice = next(name for name in given if given.count(name) > 1)
                raise InvalidParameter(f"{what} must differ in their names; {twice!r} is twice")
        object.__setattr__(self, "loadings", values)

    @classmethod
    def of(cls, thing: Any) -> Components:
        """From a frame (a row per component), an array, a catalogue of signatures, a fit or a
        fitted estimator; or as it is."""
        if isinstance(thing, Components):
            return thing
        thing = getattr(thing, "fit_", thing)
        if is_frame(thing):
            frame = wide(thing, are_features=True)
            names = None if frame.doc_ids is None else tuple(frame.doc_ids)
            features = None if frame.feature_names is None else tuple(frame.feature_names)
            return cls(np.asarray(frame.values, dtype=np.float64), names, features)
        if hasattr(thing, "loadings") and hasattr(thing, "types"):  # a catalogue of signatures
            return cls(thing.loadings, tuple(thing.names), tuple(thing.types))
        if hasattr(thing, "component_names") and hasattr(thing, "features"):  # a fit
            return cls(thing.components, thing.component_names, thing.features.labels)
        try:
            loadings = np.asarray(thing, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidParameter(
                "components must be a frame or an array, components × features, or a fit; got "
                f"{type(thing).__name__}"
            ) from None
        return cls(loadings)

    @property
    def n_components(self) -> int:
        """How many there are."""
        return len(self.loadings)

    def aligned_to(self, space: FeatureSpace) -> NDArray[np.float64]:
        """Loadings (K, J) over the features of a table, matched by name where both have names;
        each sums to 1 in every block. A feature that no component knows is rare in all of them,
        and a warning says how many these are."""
        columns = self._columns(space)
        found = np.flatnonzero(columns >= 0)
        values = np.zeros((self.n_components, space.n_features))
        values[:, found] = self.loadings[:, columns[found]]
        totals = _block_totals(values, space)
        if not totals.all():
            k, g = np.argwhere(totals == 0)[0]
            where = f" in block {space.block_name(int(g))!r}" if space.n_blocks > 1 else ""
            raise InvalidParameter(
                f"given components must have a feature of the table{where}; component "
                f"{self.names[k] if self.names else k} has none there (the table has "
                f"{space.name(int(np.argmax(space.blocks == g)))!r})"
            )
        n_unknown = space.n_features - len(found)
        n_spare = self.loadings.shape[1] - len(found)
        if n_unknown or n_spare:
            warn(
                f"given components are matched by the names of features: they have {len(found):,} "
                f"of the table's {space.n_features:,}, and {n_spare:,} that it has not",
                DataWarning,
            )
        return floored(values / totals[:, space.blocks], space)

    def _columns(self, space: FeatureSpace) -> NDArray[np.int64]:
        """Of each feature of the table, its column here, -1 where there is none."""
        if self.features is None or space.names is None:
            if self.loadings.shape[1] != space.n_features:
                if self.of_snps:
                    raise InvalidParameter(
                        "allele frequencies without names must be of the table's SNPs, in their "
                        f"order: there are {space.n_blocks:,} SNPs here, and "
                        f"{self.loadings.shape[1] // 2:,} in the file"
                    )
                raise InvalidParameter(
                    f"given components must have a loading for each of {space.n_features} features "
                    f"(features without names are matched by their order); got "
                    f"{self.loadings.shape[1]}"
                )
            return np.arange(space.n_features)
        types = tuple(map(type_name, self.features))  # which files write in several ways
        for own, names in (
            (self.features, space.names),
            (self.features, space.labels or ()),
            (types, tuple(map(type_name, space.names))),
        ):
            place = {name: j for j, name in enumerate(own)}
            columns = np.array([place.get(name, -1) for name in names], dtype=np.int64)
            found = columns[columns >= 0]
            if len(found) and len(set(found.tolist())) == len(found):
                return columns
        raise InvalidParameter(
            f"given components have none of the table's features: they have {_some(self.features)},"
            f" the table {_some(space.names)}"
        )


def floored(loadings: NDArray[np.float64], space: FeatureSpace) -> NDArray[np.float64]:
    """Loadings (K, J) none of which is 0, and that sum to 1 in every block.

    >>> floored(np.array([[1.0, 0.0]]), FeatureSpace.build(2)).min() > 0
    np.True_
    """
    raised = np.maximum(loadings, LEAST)
    return np.asarray(raised / _block_totals(raised, space)[:, space.blocks])


def _block_totals(values: NDArray[np.float64], space: FeatureSpace) -> NDArray[np.float64]:
    """Sums of (K, J) values within each block, (K, G)."""
    return np.stack([np.bincount(space.blocks, row, space.n_blocks) for row in values])


def _some(names: Sequence[str], n: int = 3) -> str:
    return ", ".join(map(repr, names[:n])) + (" …" if len(names) > n else "")


def seeds_as_read(
    seeds: Mapping[str, Sequence[Any]], space: FeatureSpace, text: TextOptions
) -> dict[str, list[Any]]:
    """Seed words as the words of a text were read: those that are no features as they stand, in its
    case and by their stems where these are features.

    >>> space, text = FeatureSpace.build(2, ["tax", "war"]), TextOptions(stem="english")
    >>> seeds_as_read({"money": ["Taxes", "cuts"]}, space, text)
    {'money': ['tax', 'cuts']}
    """
    known = {*(space.names or ()), *(space.labels or ())}
    stems = None if text.stem is None else stemmer(text.stem)

    def read(word: Any) -> Any:
        if not isinstance(word, str) or word in known:
            return word
        block, sign, rest = word.rpartition("=")
        parts = (rest.lower() if text.case == "lower" else rest).split()
        form = block + sign + " ".join(parts if stems is None else stems.stemWords(parts))
        return form if form in known else word

    return {name: [read(word) for word in words] for name, words in seeds.items()}


def seed_numbers(space: FeatureSpace, words: Sequence[Any], name: str) -> NDArray[np.int64]:
    """The features that words stand for: their numbers, names, or names in several blocks, all of
    which are meant. An error says which word is none.

    >>> seed_numbers(FeatureSpace.build(3, ["tax", "cuts", "war"]), ["cuts"], "taxes")
    array([1])
    """
    if isinstance(words, str):
        words = [words]
    named: dict[str, list[int]] = {}
    for names in (space.names or (), space.labels or ()):
        for j, label in enumerate(names):
            if j not in named.setdefault(label, []):
                named[label].append(j)
    found, unknown = [], []
    for word in words:
        is_number = isinstance(word, int | np.integer) and not isinstance(word, bool)
        if is_number and 0 <= int(word) < space.n_features:
            found.append(int(word))
        elif not is_number and str(word) in named:
            found += named[str(word)]
        else:
            unknown.append(word)
    if unknown and space.names is None:
        raise InvalidCounts(
            f"seed words are names of features, and these have none: give numbers from 0 to "
            f"{space.n_features - 1}; got {unknown[0]!r} for {name!r}"
        )
    if unknown and not found:
        raise InvalidParameter(
            f"none of the seed words of {name!r} is a feature: {_some(list(map(str, unknown)))} "
            "(reading may have dropped or stemmed them)"
        )
    if unknown:
        warn(
            f"{len(unknown)} of {len(words)} seed words of {name!r} are no features and have no "
            f"effect: {', '.join(map(str, unknown))}",
            DataWarning,
        )
    return np.unique(np.array(found, dtype=np.int64))
