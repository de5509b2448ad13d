"""Draws: what a sampler kept of its recorded sweeps, as arrays over chains and draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dcomp.data import FeatureSpace
from dcomp.errors import UnsupportedCombination
from dcomp.inference import Draw
from dcomp.inference.keep import KINDS, in_words
from dcomp.models.arrays import FloatArray, read_only
from dcomp.result.trace import Trace

if TYPE_CHECKING:
    import xarray

FIELDS = dict(zip(KINDS, ("scores", "Theta", "assignments"), strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class Draws:
    """Draws from the posterior, (chain, draw, ...); None for what was not kept.

    Component k of one chain need not be component k of another: nothing aligns them. Compare
    chains by what does not depend on the numbering (log_joint, Θ·scores), or take one of them:
    `best` is the place of the fit's own chain.

    Chains that an interrupt cut shorter than the fit's own are left out; `chains` has the numbers
    of those that are here, as in `Fit.chains`.

    >>> import dcomp
    >>> X = [[4, 3, 0], [0, 1, 6], [5, 2, 1]]
    >>> model = dcomp.LDA(2, algorithm="gibbs", max_iter=40, n_draws=5, n_chains=3, verbose=0)
    >>> draws = model.fit(X).fit_.draws
    >>> draws.scores.shape, draws.Theta.shape, draws.alpha.shape
    ((3, 5, 3, 2), (3, 5, 3, 2), (3, 5, 2))
    >>> draws.sweep
    array([24, 28, 32, 36, 40])
    """

    sweep: npt.NDArray[np.int64]  # (S): after which each draw was kept
    chains: tuple[int, ...]  # (C)
    best: int
    hyper: Mapping[str, FloatArray]  # (C, S, K) each, γ (C, S): the priors of the sweep
    log_joint: FloatArray  # (C, S): the objective of the sweep
    scores: npt.NDArray[np.float32] | None  # (C, S, I, K)
    Theta: npt.NDArray[np.float32] | None  # (C, S, J, K)
    assignments: npt.NDArray[np.uint16] | None  # (C, S, T): tokens as in `Fit.assignments`
    features: FeatureSpace
    doc_ids: tuple[str, ...] | None

    @classmethod
    def gather(
        cls,
        chains: list[list[Draw]],
        traces: Sequence[Trace],
        best: int,
        features: FeatureSpace,
        doc_ids: tuple[str, ...] | None,
    ) -> Draws | None:
        """From the draws of each chain, which are used up: as an array grows, its parts are let go,
        so that memory holds everything about once."""
        size = len(chains[best])
        if not size:
            return None
        whole = tuple(number for number, chain in enumerate(chains) if len(chain) >= size)
        parts = [chains[number][:size] for number in whole]
        chains.clear()
        sweep = np.array([draw.sweep for draw in parts[0]])
        names = parts[0][0].hyper
        return cls(
            read_only(sweep),
            whole,
            whole.index(best),
            {name: _hyper(parts, name) for name in names},
            log_joint([traces[number] for number in whole], sweep),
            _stack(parts, "scores"),
            _stack(parts, "Theta"),
            _stack(parts, "assignments"),
            features,
            doc_ids,
        )

    @property
    def n_chains(self) -> int:
        """C."""
        return len(self.chains)

    @property
    def n_draws(self) -> int:
        """S, of each chain."""
        return len(self.sweep)

    @property
    def n_components(self) -> int:
        """K."""
        for array in (self.scores, self.Theta):
            if array is not None:
                return int(array.shape[-1])
        return int(next(v.shape[-1] for name, v in self.hyper.items() if name != "gamma"))

    @property
    def alpha(self) -> FloatArray:
        """α of each draw, (C, S, K); a tree has a1, a2 and b in its place, in `hyper`."""
        if "alpha" not in self.hyper:
            raise UnsupportedCombination(
                f"the model has no alpha; its priors are {', '.join(self.hyper)}, in `hyper`"
            )
        return self.hyper["alpha"]

    @property
    def beta(self) -> FloatArray | None:
        """β of each draw, (C, S, K): GP and CGP."""
        return self.hyper.get("beta")

    @property
    def rho(self) -> FloatArray | None:
        """ρ of each draw, (C, S, K): CGP."""
        return self.hyper.get("rho")

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that were kept, beside the hyper-parameters."""
        return tuple(kind for kind, field in FIELDS.items() if getattr(self, field) is not None)

    @property
    def nbytes(self) -> int:
        """Bytes of the kinds that were kept."""
        return sum(getattr(self, FIELDS[kind]).nbytes for kind in self.kinds)

    def of_chain(self, place: int) -> tuple[Draw, ...]:
        """The draws of one chain one by one, without a copy."""
        return tuple(
            Draw(
                int(sweep),
                {name: values[place, s] for name, values in self.hyper.items()},
                *(
                    None if array is None else array[place, s]
                    for array in (self.scores, self.Theta, self.assignments)
                ),
            )
            for s, sweep in enumerate(self.sweep)
        )

    def to_xarray(self) -> xarray.Dataset:
        """All draws as an xarray Dataset with the dimensions chain, draw, document, component,
        feature and token, labelled by document ids and feature names (`dcomp[arviz]`)."""
        from dcomp.result.exchange import to_xarray

        return to_xarray(self)

    def to_arviz(self) -> Any:
        """The same for ArviZ: the groups posterior and sample_stats (the log joint as `lp`); an
        InferenceData, or from ArviZ 1 on a DataTree (`dcomp[arviz]`)."""
        from dcomp.result.exchange import to_arviz

        return to_arviz(self)

    @property
    def summary(self) -> str:
        """How many there are, of what, and how large."""
        kinds = ", ".join(self.kinds) or "hyper-parameters"
        chains = "chain" if self.n_chains == 1 else "chains"
        return (
            f"{self.n_chains} {chains} × {self.n_draws} draws of {kinds}, {in_words(self.nbytes)}"
        )

    def __repr__(self) -> str:
        return f"Draws({self.summary})"


def log_joint(traces: Sequence[Trace], sweep: npt.NDArray[np.int64]) -> FloatArray:
    """(C, S): the objective that each chain's history has for these sweeps."""
    return read_only(np.array([trace["objective"][sweep - 1] for trace in traces]))


def _hyper(chains: list[list[Draw]], name: str) -> FloatArray:
    return read_only(np.array([[draw.hyper[name] for draw in chain] for chain in chains]))


def _shape(chains: list[list[Draw]], name: str) -> tuple[int, ...]:
    return (len(chains), len(chains[0]), *getattr(chains[0][0], name).shape)


def _stack(chains: list[list[Draw]], name: str) -> Any:
    if getattr(chains[0][0], name) is None:
        return None
    out = np.empty_like(getattr(chains[0][0], name), shape=_shape(chains, name))
    for c, chain in enumerate(chains):
        for s, draw in enumerate(chain):
            out[c, s] = getattr(draw, name)
            emptied: dict[str, Any] = {name: None}
            chain[s] = replace(draw, **emptied)  # nothing else holds it: its memory is free
    return read_only(out)
