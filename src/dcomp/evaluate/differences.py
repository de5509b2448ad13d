"""Which features tell components apart, by how much, and how sure that is.

The effect is log2 of θ_ja over θ_jb, or over the mean of all other components, each by its part of
the words. Its error and interval come from draws of the posterior, kept or made by chains that
begin at the fit, where these have settled. Else there is the effect at the fit alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp import validation
from dcomp.errors import InvalidParameter, MissingDependency
from dcomp.evaluate.intervals import Chains, aligned_chains
from dcomp.evaluate.mcmc import SHORTEST, ess_bulk, ess_tail, rhat_of_all
from dcomp.executors import LocalExecutor
from dcomp.inference.rhat import SETTLED
from dcomp.models.arrays import FloatArray, read_only
from dcomp.printable import columns, padded, shortened
from dcomp.result import Fit
from dcomp.result.of_estimator import as_fit
from dcomp.result.special import parts_of_blocks

FAR = 32.0  # of effects: 2^-32 of another loading rests on no word, and may be 0
_ENOUGH = 100  # effective draws, of the centre and of the tails, for an interval
DRAWS, CHAINS = "draws", "chains"
_LONGER = "fit by a sampler with n_chains=4, and raise max_iter and n_draws"
_MORE = "raise max_iter and n_draws"  # of chains that were kept, and are several
_NO_PRIORS = (
    "the fit has no priors, and so no posterior; fit by a sampler with n_chains=4, n_draws=250"
)
# Effect, error, ends of the interval, and why there are none.
_Found = tuple[FloatArray, FloatArray | None, FloatArray | None, FloatArray | None, str | None]


@dataclass(frozen=True, eq=False)
class Differences:
    """Features with log2 of the ratio of their loadings, its standard error and interval.

    effect: at most 32 either way; a loading 2^-32 times another rests on no word, and may be 0.
    method: whose draws, "draws" (kept) or "chains" (that began at the fit); None where there is no
    posterior. sd, low and high are None where the draws have not settled: `note` says why.
    """

    component: int
    against: int | None  # None: all others together
    names: tuple[str, ...]
    numbers: npt.NDArray[np.int64]
    effect: FloatArray
    sd: FloatArray | None
    low: FloatArray | None
    high: FloatArray | None
    loadings: FloatArray  # (n, 2): θ of the component, and of what it is compared with
    level: float
    method: str | None
    note: str | None  # why there are no intervals

    @property
    def clear(self) -> npt.NDArray[np.bool_] | None:
        """Whether the interval is on one side of 0; None where there are no intervals."""
        if self.low is None or self.high is None:
            return None
        return np.asarray((self.low > 0) | (self.high < 0))

    def as_record(self) -> dict[str, Any]:
        """For programs: plain numbers and text."""
        columns = self._columns()
        rows = zip(self.names, *(columns[name].tolist() for name in columns), strict=True)
        return {
            "component": self.component,
            "against": self.against,
            "level": None if self.low is None else self.level,
            "method": self.method,
            "note": self.note,
            "features": [
                {"feature": name, **dict(zip(columns, row, strict=True))} for name, *row in rows
            ],
        }

    def _columns(self) -> dict[str, FloatArray]:
        """Those that there are, by name."""
        named = {"effect": self.effect, "sd": self.sd, "low": self.low, "high": self.high}
        return {name: values for name, values in named.items() if values is not None}

    def to_frame(self) -> Any:
        """As a pandas DataFrame, a row per feature (`dcomp[frames]`)."""
        try:
            import pandas
        except ImportError:
            raise MissingDependency(
                'a frame needs pandas, which is not installed: pip install "dcomp[frames]"'
            ) from None
        both = {"loading": self.loadings[:, 0], "other": self.loadings[:, 1]}
        return pandas.DataFrame({"feature": self.names, **self._columns(), **both})

    def __str__(self) -> str:
        other = "the others" if self.against is None else f"component {self.against}"
        found = self._columns()
        ends = "" if self.low is None else f", with {100 * self.level:g} % intervals"
        named = [shortened(name, 30) for name in self.names]
        width = max([len("feature"), *map(columns, named)])
        head = "".join(f" {'error' if name == 'sd' else name:>8}" for name in found)
        lines = [
            f"component {self.component} against {other}: log2 of the ratio of loadings{ends}",
            *([] if self.note is None else [f"no intervals: {self.note}"]),
            f"{'feature':<{width}}{head}",
        ]
        for place, name in enumerate(named):
            cells = [f" {found[of][place]:>{'' if of == 'sd' else '+'}8.2f}" for of in found]
            lines.append(padded(name, width) + "".join(cells))
        return "\n".join(lines)


def differences(
    fit: Any,
    component: int,
    against: int | None = None,
    *,
    X: Any = None,
    n: int = 20,
    features: Sequence[str | int] | None = None,
    level: float = 0.9,
    method: str | None = None,
    seed: int = 0,
) -> Differences:
    """The features that tell a component from another, or from all others: those of largest
    (θ_a − θ_b) log(θ_a/θ_b), what they add to the divergence of the two; or `features`, by name or
    number.

    method "draws": quantiles of the loadings' kept draws (`n_draws=`). "chains": the same of four
    chains that begin at the fit, as `intervals` has them; they need X, the table that was fitted.
    Of chains, components are put in the order of the fit. There are intervals where R-hat of every
    feature shown is at most 1.05 and 100 draws are effective; else, and of one chain, there is the
    effect at the fit and a note that says what is wrong. So it is of fits without priors. Unless
    said, kept draws are taken where there are any. Chains that begin at the fit say how sure this
    answer is, not whether there is another. How often intervals held in simulations is in
    docs/decisions/0037-what-makes-a-component-special.md.

    >>> import dcomp
    >>> X = np.random.default_rng(0).poisson([[9, 6, 1, 4]] * 30 + [[1, 2, 8, 4]] * 30)
    >>> counts = dcomp.Counts.from_matrix(X, feature_names=["a", "b", "c", "same"])
    >>> model = dcomp.LDA(2, alpha=0.5, verbose=0).fit(counts)
    >>> found = differences(model, 0, 1, X=counts, features=["a", "same"])
    >>> found.clear.tolist()
    [True, False]
    """
    fit = as_fit(fit)
    if not 0 < level < 1:
        raise InvalidParameter(f"level must be between 0 and 1; got {level!r}")
    _check(fit, "component", component)
    if against is not None:
        _check(fit, "against", against)
        if against == component:
            raise InvalidParameter(f"against must be another component than {component}")
    if fit.n_components < 2:
        raise InvalidParameter("differences need two components; the fit has one")
    Theta = np.asarray(fit.Theta, np.float64)
    weights = _weights(fit, component, against)
    own, other = Theta[:, component], (Theta * weights).sum(axis=1)
    chosen = _chosen(fit, own, other, n, features)
    how, found = _found(fit, X, method, seed)
    effect = _log_ratio(own[chosen], other[chosen])
    if how is None:
        values: _Found = (effect, None, None, None, _NO_PRIORS)
    else:
        ratios = _ratios(fit, found, component, weights, chosen)
        values = _of_draws(ratios, effect, level, _MORE if how == DRAWS else _LONGER)
    names = tuple(fit.features.name(int(j)) for j in chosen)
    for value in values[:4]:
        if value is not None:
            read_only(value)
    loadings = read_only(np.stack([own[chosen], other[chosen]], axis=1))
    return Differences(
        component, against, names, chosen, *values[:4], loadings, level, how, values[4]
    )


def _found(fit: Fit, X: Any, method: str | None, seed: int) -> tuple[str | None, Any]:
    """By which method it is told how sure loadings are, and the draws of each chain."""
    if method not in (None, DRAWS, CHAINS):
        raise InvalidParameter(f"method must be {DRAWS!r} or {CHAINS!r}; got {method!r}")
    if method == DRAWS or (method is None and fit.kept is not None and fit.kept.Theta is not None):
        return DRAWS, [fit.draws.of_chain(place) for place in range(fit.draws.n_chains)]
    is_proper = fit.model.scores.capabilities.proper
    if method is None and (fit.algorithm.estimates == "likelihood" or not is_proper):
        return None, ()
    if X is None:
        raise InvalidParameter(
            "the fit has kept no draws of its loadings: give the table that was fitted, X=, or fit "
            "by a sampler with n_draws="
        )
    observed = fit.observe(X, fit.exposure)
    if not fit.is_of(observed.counts):
        raise InvalidParameter("X must be the table that was fitted; these are other counts")
    chains = Chains(4, 250, 100, 2, seed)  # of 100 draws each, most do not reach _ENOUGH
    return CHAINS, chains.run(fit, observed, LocalExecutor.from_jobs(None))


def _check(fit: Fit, name: str, k: Any) -> None:
    validation.whole_number(name, k, 0)
    if k >= fit.n_components:
        raise InvalidParameter(
            f"{name} must be a component from 0 to {fit.n_components - 1}; got {k}"
        )


def _weights(fit: Fit, component: int, against: int | None) -> FloatArray:
    """(J, K): the parts of what a component is compared with."""
    if against is not None:
        return np.broadcast_to(np.eye(fit.n_components)[against], fit.Theta.shape)
    part = np.maximum(parts_of_blocks(fit.state.n, fit.features.blocks), 1e-12)
    part[:, component] = 0.0
    return np.asarray((part / part.sum(axis=1, keepdims=True))[fit.features.blocks])


def _chosen(
    fit: Fit, own: FloatArray, other: FloatArray, n: int, features: Sequence[str | int] | None
) -> npt.NDArray[np.int64]:
    if features is not None:
        known = fit.features.numbers_by_name()
        numbers = [known.get(name, -1) if isinstance(name, str) else int(name) for name in features]
        for name, j in zip(features, numbers, strict=True):
            if not 0 <= j < len(own):
                raise InvalidParameter(f"there is no feature {name!r} in the fit")
        return np.array(numbers, np.int64)
    validation.whole_number("n", n, 1)
    adds = (own - other) * _log_ratio(own, other)
    return np.argsort(-adds, kind="stable")[:n].astype(np.int64)


def _log_ratio(own: FloatArray, other: FloatArray) -> FloatArray:
    """log2 of own over other, at most FAR either way; 0 where both are 0."""
    least = 1e-300
    ratio = np.log2(np.maximum(own, least)) - np.log2(np.maximum(other, least))
    return np.asarray(np.clip(ratio, -FAR, FAR))


def _ratios(
    fit: Fit, chains: Any, component: int, weights: FloatArray, chosen: npt.NDArray[np.int64]
) -> FloatArray:
    """(chain, draw, feature): log2 of the ratios, by the order of components in the fit."""
    size = min(map(len, chains))
    if size < SHORTEST:
        raise InvalidParameter(
            f"differences need {SHORTEST} draws of each chain; there are {size}: raise n_draws"
        )
    out = np.empty((len(chains), size, len(chosen)))
    for c, (chain, match) in enumerate(zip(chains, aligned_chains(fit, chains), strict=True)):
        for s, draw in enumerate(chain[:size]):
            theta = np.asarray(draw.Theta, np.float64)[chosen][:, match.permutation]
            other = (theta * weights[chosen]).sum(axis=1)
            out[c, s] = _log_ratio(theta[:, component], other)
    return out


def _of_draws(ratios: FloatArray, effect: FloatArray, level: float, remedy: str) -> _Found:
    """Of chains that have not settled the effect at the fit alone: their spread is no error."""
    wrong = _unsettled(ratios, remedy)
    if wrong is not None:
        return effect, None, None, None, wrong
    pooled = ratios.reshape(-1, ratios.shape[2])
    low, high = np.quantile(pooled, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return pooled.mean(axis=0), pooled.std(axis=0, ddof=1), low, high, None


def _unsettled(ratios: FloatArray, remedy: str = _MORE) -> str | None:
    """What is wrong with (chain, draw, feature), in which chains should agree, and what helps."""
    n_chains, n_draws, _ = ratios.shape
    if n_chains == 1:
        return "one chain cannot show that it has settled; fit with n_chains=4"
    chains = f"{n_chains} chains of {n_draws} draws"
    worst = float(rhat_of_all(ratios).max())
    if worst > SETTLED:
        return f"R-hat of {chains} is {worst:.2f}, above {SETTLED}: they have not settled; {remedy}"
    each = np.moveaxis(ratios, 2, 0)
    least = min(min(ess_bulk(trace), ess_tail(trace)) for trace in each)
    if least < _ENOUGH:
        return f"of {chains} {least:.0f} are effective, below {_ENOUGH}; {remedy}"
    return None
