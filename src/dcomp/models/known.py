"""What is known of components beforehand, as the prior of their loadings has it: seed words, given
loadings, and the names of all these (MODELS §11).

Components are in this order: those that documents' labels name, those whose loadings are given,
those that seed words name, and then those that are found. One name is one component, whoever says
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcomp.data import FeatureSpace
from dcomp.data.components import Components, seed_numbers
from dcomp.errors import InvalidParameter
from dcomp.models.loadings import DirichletLoadings


@dataclass(frozen=True)
class Known:
    """What was said of components; empty where nothing was.

    seed_words: by name of a component the features that it is told to like; strength: what γ has
    more at those, in tokens; None: for each as many as the corpus has of it in a component on
    average, and at least 1. fixed: given loadings. labels: the names that documents' labels give.
    """

    seed_words: Mapping[str, Sequence[Any]] | None = None
    strength: float | None = None
    fixed: Components | None = None
    labels: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.seed_words or self.fixed is not None or self.labels)

    def names(self, own: Sequence[str] | None = None) -> list[str | None]:
        """Of the components of which something is known, in order; None for a given one without a
        name. own: the names that a model's components have already."""
        if own is not None:
            return list(own)
        out: list[str | None] = list(self.labels)
        if self.fixed is not None:
            given = self.fixed.names or (None,) * self.fixed.n_components
            out += [name for name in given if name is None or name not in out]
        return out + [str(name) for name in self.seed_words or () if str(name) not in out]

    def prior(
        self,
        gamma: Any,
        learned: bool,
        n_components: int,
        features: FeatureSpace,
        feature_totals: Any,
        own_names: Sequence[str] | None = None,
    ) -> DirichletLoadings:
        """The prior of the loadings of K components."""
        names = self.names(own_names)
        if len(names) > n_components:
            raise InvalidParameter(
                f"something is known of {len(names)} components, and there are {n_components}: "
                f"n_components must be at least {len(names)}"
            )
        fixed, fixed_at = None, list[int]()
        if self.fixed is not None:
            fixed = self.fixed.aligned_to(features)
            fixed_at = self._places(names)
        if self.seed_words:
            if learned:
                raise InvalidParameter("gamma='auto' and seed_words= do not go together: give one")
            gamma = self._seeded(gamma, names, n_components, features, feature_totals)
        if own_names is not None or not any(names):
            return DirichletLoadings(gamma, learned, fixed, fixed_at)
        names += [None] * (n_components - len(names))
        shown = [_number(k, names) if name is None else name for k, name in enumerate(names)]
        return DirichletLoadings(gamma, learned, fixed, fixed_at, shown)

    def _places(self, names: Sequence[str | None]) -> list[int]:
        """The components that given loadings are of."""
        assert self.fixed is not None
        if self.fixed.names is None:
            first = len(self.labels)
            return list(range(first, first + self.fixed.n_components))
        missing = [name for name in self.fixed.names if name not in names]
        if missing:
            raise InvalidParameter(f"there is no component {missing[0]!r} to be fixed")
        return [names.index(name) for name in self.fixed.names]

    def _seeded(
        self,
        gamma: Any,
        names: Sequence[str | None],
        n_components: int,
        features: FeatureSpace,
        feature_totals: Any,
    ) -> Any:
        """γ_jk = γ_j + s_j [j ∈ seeds_k], (K, J)."""
        shape = (n_components, features.n_features)
        table = np.array(gamma, dtype=np.float64)
        if table.ndim > 2 or (table.ndim and table.shape[-1] != shape[1]):
            DirichletLoadings(table).check(shape[1], shape[0])
        out = np.broadcast_to(table, shape).copy()
        strength = np.maximum(np.asarray(feature_totals) / n_components, 1.0)
        if self.strength is not None:
            strength = np.full(shape[1], float(self.strength))
        for name, words in (self.seed_words or {}).items():
            if str(name) not in names:
                raise InvalidParameter(
                    f"there is no component {str(name)!r} for seed words; there are "
                    f"{', '.join(map(str, names))}"
                )
            chosen = seed_numbers(features, words, str(name))
            out[names.index(str(name)), chosen] += strength[chosen]
        return out


def _number(k: int, names: Sequence[str | None]) -> str:
    """What a component without a name is called beside those that have one."""
    return str(k) if str(k) not in names else f"component {k}"
