"""What a selection says: a table of all K, a recommendation, and the picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dcomp.errors import InvalidParameter, MissingDependency
from dcomp.evaluate.plotting import axes_or_new

DIGITS, MOST_DIGITS = 4, 7  # of scores, at least and at most
NOTHING = 1e-8  # a standard error below it is one of rounding
ROOM, USUAL = 50, (11, 18, 20)  # columns of scores, differences and evidence in the table


@dataclass(frozen=True)
class Candidate:
    """What is known of one K. NaN where something could not be had."""

    n_components: int
    log_likelihood: float  # held-out, per token
    standard_error: float  # of it, over documents
    behind: float  # the best K's log_likelihood less this one's
    behind_error: float  # the standard error of that difference; 0 for the best itself
    evidence: float  # log p(w), between two fences
    evidence_error: float
    evidence_is_sound: bool  # whether it may be compared
    coherence: float  # mean over components and chains
    exclusivity: float
    stability: float  # agreement of aligned components between chains, 1 for equal ones
    converged: float  # share of chains whose stopping rule was met; NaN for samplers
    evidence_lower: float = float("nan")  # log p(w) lies between these with probability 0.95
    evidence_upper: float = float("nan")
    evidence_spread: float = float("nan")  # nats that the second of all starts ended below the best
    evidence_in_use: float = float("nan")  # components that have words, where it was measured

    @property
    def perplexity(self) -> float:
        """exp(−log_likelihood)."""
        return float(np.exp(-self.log_likelihood))


def found_nothing(candidates: Iterable[Candidate], chosen: Candidate) -> bool:
    """Whether one component is chosen because no fit of more has words in a second."""
    others = [c for c in candidates if c is not chosen]
    is_alone = chosen.n_components == 1 and bool(others)
    return is_alone and all(c.evidence_in_use <= 1 for c in others)


@dataclass(frozen=True)
class Selection:
    """A recommendation for K, and what it rests on."""

    candidates: tuple[Candidate, ...]  # by K
    recommended: int
    indistinct: tuple[int, ...]  # K that cannot be told from the best, the recommended first
    measure: str  # of coherence
    notes: tuple[str, ...]
    decided_by: str = "held-out"  # or "evidence"
    is_clear: bool = False  # whether no other K is anywhere near
    pruned: tuple[int, ...] = ()  # components left at each step from above, where that was asked
    hidden: str = "words"  # what was held out; "entries" of features in many blocks
    algorithm: str = ""  # by which the chains were fitted
    dispersion: float = float("nan")  # times the model's variance that counts have; NaN if unknown
    gamma: float = float("nan")  # that loadings were told; NaN where it is no single number
    gamma_suited: float = float("nan")  # that those of the recommended K look like

    @property
    def best(self) -> Candidate:
        """The K of the highest held-out score."""
        return min(self.candidates, key=lambda candidate: candidate.behind)

    @property
    def table(self) -> Any:
        """One row per K, a pandas DataFrame."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingDependency(
                "the table is a DataFrame and needs pandas, which is not installed: "
                'pip install "dcomp[frames]" (`candidates` has the same numbers)'
            ) from None
        rows = [
            asdict(candidate) | {"perplexity": candidate.perplexity}
            for candidate in self.candidates
        ]
        return pd.DataFrame(rows).set_index("n_components")

    @property
    def summary(self) -> str:
        """The recommendation in words, and how sure it is."""
        from dcomp.evaluate.select_words import sentences

        return " ".join([*sentences(self), *self.notes])

    def plot(self, axes: Any = None) -> Any:
        """Up to four panels over K: held-out score and evidence with error bars, coherence and
        exclusivity, stability; what is not known of any K has none. `axes` may be your own, as
        many as that or more; they are returned."""
        K = [candidate.n_components for candidate in self.candidates]
        panels = self._panels()
        axes = _new_axes(len(panels)) if axes is None else np.ravel(axes)
        if len(axes) < len(panels):
            raise InvalidParameter(f"axes must be at least {len(panels)}; got {len(axes)}")
        for spare in axes[len(panels) :]:
            spare.set_axis_off()
        for axis, (title, names, error) in zip(axes, panels, strict=False):
            for name in names:
                values = [getattr(candidate, name) for candidate in self.candidates]
                bars = error and [getattr(candidate, error) for candidate in self.candidates]
                axis.errorbar(K, values, yerr=bars, marker="o", capsize=3, label=name)
            axis.axvline(self.recommended, color="grey", linestyle=":")
            axis.set(title=title, xlabel="components", xticks=K)
            if len(names) > 1:
                axis.legend()
        return axes

    def _panels(self) -> list[tuple[str, tuple[str, ...], str | None]]:
        """Title, what is drawn, and its error, of every panel that has something to show."""
        panels: list[tuple[str, tuple[str, ...], str | None]] = [
            ("held-out log-likelihood per token", ("log_likelihood",), "behind_error"),
            ("log evidence", ("evidence",), "evidence_error"),
            (f"coherence ({self.measure}), exclusivity", ("coherence", "exclusivity"), None),
            ("stability across chains", ("stability",), None),
        ]
        return [
            panel
            for panel in panels
            if any(np.isfinite(getattr(c, name)) for c in self.candidates for name in panel[1])
        ]

    def __str__(self) -> str:
        digits = digits_of(c.behind_error for c in self.candidates)
        behind = ["behind", *(difference(c, digits) for c in self.candidates)]
        evidence = ["evidence", *map(fences, self.candidates)]
        # A terminal's lines of 80 are not folded: where others need the room, scores are shorter.
        widths = [0, 1 + max(map(len, behind)), 1 + max(map(len, evidence))]
        whole = 2 + max(len(f"{c.log_likelihood:.0f}") for c in self.candidates)
        digits = max(DIGITS, min(digits, ROOM - sum(widths) - whole))
        score = ["per token", *(f"{c.log_likelihood:.{digits}f}" for c in self.candidates)]
        widths[0] = 1 + max(map(len, score))
        for i, usual in enumerate(USUAL):
            widths[i] += max(min(usual - widths[i], ROOM - sum(widths)), 0)
        rest = [f"{self.measure:>8}{'exclusive':>10}{'stable':>7}", *map(_quality, self.candidates)]
        numbers = ["K", *(str(c.n_components) for c in self.candidates)]
        lines = [
            f"{K:>4}" + "".join(map(str.rjust, of_one, widths)) + more
            for K, *of_one, more in zip(numbers, score, behind, evidence, rest, strict=True)
        ]
        return "\n".join([*lines, "", self.summary])


def _quality(c: Candidate) -> str:
    stable = "–" if np.isnan(c.stability) else f"{c.stability:.2f}"
    return f"{c.coherence:>8.3f}{c.exclusivity:>10.3f}{stable:>7}"


def digits_of(errors: Iterable[float]) -> int:
    """Digits behind the point that show two of the smallest standard error.

    >>> digits_of([0.0, 0.02]), digits_of([0.00079]), digits_of([0.02, 0.0000123])
    (4, 5, 6)
    """
    known = [error for error in errors if error >= NOTHING]  # not NaN
    wanted = 1 - int(np.floor(np.log10(min(known)))) if known else DIGITS
    return min(max(wanted, DIGITS), MOST_DIGITS)


def difference(c: Candidate, digits: int | None = None) -> str:
    """How far a candidate is behind, with the standard error of that."""
    digits = digits_of([c.behind_error]) if digits is None else digits
    return f"{c.behind:.{digits}f} ± {c.behind_error:.{digits}f}"


def fences(c: Candidate) -> str:
    """The evidence with half of its interval."""
    if np.isnan(c.evidence):
        return "–"
    sign = "" if c.evidence_is_sound else "? "
    return f"{sign}{c.evidence:,.0f} ± {(c.evidence_upper - c.evidence_lower) / 2:.0f}"


def _new_axes(n: int) -> Any:
    """Axes for up to four panels: two rows for four, else one."""
    axes_or_new_figure = axes_or_new()  # says what to install where matplotlib is missing
    figure = axes_or_new_figure.figure
    axes_or_new_figure.remove()
    rows, columns = (2, 2) if n == 4 else (1, n)
    figure.set_size_inches(5 * columns, 3.5 * rows)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    figure.set_layout_engine("constrained")
    return axes
