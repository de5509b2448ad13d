"""A selection in words: what is recommended, how sure that is, and what else speaks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dcomp.evaluate.dispersion import STRONG
from dcomp.evaluate.intervals import FAR
from dcomp.evaluate.selection import Candidate, Selection, difference, found_nothing

FLAT = 0.9  # of the gain, from which on fewer components are worth a word
CLOSE = 1e-6
SMALL = 0.05  # nats that are not worth a word


def sentences(selection: Selection) -> Iterator[str]:
    """All of them."""
    chosen = selection.recommended
    yield f"Recommended: {chosen} component{'s' * (chosen > 1)}."
    if len(selection.candidates) == 1:
        yield "It is the only number that was tried."
    elif selection.decided_by == "evidence":
        yield from _by_evidence(selection)
        yield from _unsettled(selection)
        yield _heldout_beside(selection)
    else:
        yield from _by_heldout(selection)
        yield from _evidence_beside(selection)
    yield from _edges(selection)
    yield from _flat(selection)
    yield from _from_above(selection)
    yield from _doubts(selection)
    yield from _of_model(selection)


def _by_evidence(selection: Selection) -> Iterator[str]:
    near, chosen = selection.indistinct, selection.recommended
    sound = [c for c in selection.candidates if c.evidence_is_sound]
    own, rivals = _of(selection, chosen), _not_empty(selection)
    if found_nothing(selection.candidates, own):
        yield (
            "Of more components all but one stay empty. That shows none, but not that there is "
            "none: one with few words would not be found."
        )
        return
    if not selection.is_clear and len(rivals) > 1:
        top = max(rivals, key=lambda K: _of(selection, K).evidence)
        yield (
            f"The data cannot tell between {listed(rivals)}: the evidence is highest at "
            f"{top}, and the others reach it within their intervals or within 20 to "
            f"1; {chosen} is the smallest of them."
        )
        return
    if not selection.is_clear and len(near) > 1:
        yield (
            f"More components gain less than 20 to 1 in evidence, and leave all but {chosen} of "
            "theirs empty; but it is not beyond doubt."
        )
        return
    fewer = [c for c in sound if c.n_components < chosen]
    others = fewer if selection.is_clear else [c for c in sound if c is not own]
    closest = max(others, key=lambda c: c.evidence) if others else None
    if selection.is_clear:
        yield _clearly(selection, own, _nearest(own, closest))
        return
    why = "; ".join(_why_in_doubt(selection, own))
    if why:
        yield f"Its evidence is the highest, but not beyond doubt: {why}."
        return
    above = (
        ""
        if closest is None
        else f", {_nats(own, closest)} nats above that of {closest.n_components}"
    )
    yield f"Its evidence is the highest{above}, but not beyond doubt."


def _why_in_doubt(selection: Selection, own: Candidate) -> Iterator[str]:
    """Who may reach the highest evidence; what else speaks against it has sentences of its own."""
    from dcomp.evaluate.select import doubted

    reaching, apart = doubted(selection.candidates, own)
    settled = [c for c in reaching if c.evidence_is_sound]
    if settled:
        yield _nearest(own, max(settled, key=lambda c: c.evidence))
    if unsettled := [c.n_components for c in reaching if not c.evidence_is_sound]:
        yield f"{listed(unsettled)} may reach it where chains settle"
    if apart:
        yield (
            f"starts of {listed([c.n_components for c in apart])} ended too far apart to be sure "
            "that the best was found"
        )


def _nearest(own: Candidate, closest: Candidate | None) -> str:
    if closest is None:
        return ""
    return f"{closest.n_components} comes nearest, {_nats(own, closest)} nats behind"


def _nats(own: Candidate, other: Candidate) -> str:
    distance = own.evidence - other.evidence
    return f"{distance:,.1f}" if distance < 100 else f"{distance:,.0f}"


def _not_empty(selection: Selection) -> list[int]:
    """The recommended number, and those that cannot be told from it with words in more."""
    chosen, near = selection.recommended, selection.indistinct
    return [K for K in near if chosen == K or not _of(selection, K).evidence_in_use <= chosen]


def _clearly(selection: Selection, own: Candidate, nearest: str) -> str:
    """More components may be ahead by what is less than 20 to 1: that is said, too."""
    more = [c for c in selection.candidates if c.n_components > own.n_components]
    gain = max((c.evidence - own.evidence for c in more if c.evidence_is_sound), default=0.0)
    if gain < SMALL:
        why = ", and ".join(filter(None, [nearest, "more components gain nothing"]))
        return f"Its evidence is the highest, clearly: {why}."
    nearest = nearest and f"{nearest} in evidence"
    why = ", and ".join(filter(None, [nearest, f"more components gain at most {gain:.1f}"]))
    return f"Clearly: {why}{'' if nearest else ' nats of evidence'}, which is less than 20 to 1."


def _unsettled(selection: Selection) -> Iterator[str]:
    doubtful = [c.n_components for c in selection.candidates if not c.evidence_is_sound]
    if doubtful:
        yield f"The chains of {listed(doubtful)} have not settled: their evidence decides nothing."


def _heldout_beside(selection: Selection) -> str:
    own, what = _of(selection, selection.recommended), f"Held-out {selection.hidden}"
    best = selection.best.n_components
    if own.behind <= own.behind_error:
        if best != own.n_components:
            return f"{what} are told best by {best}, within one standard error."
        if len(selection.indistinct) == 1 or selection.is_clear:
            return f"{what} say the same."
        rest = [_of(selection, K) for K in selection.indistinct[1:]]
        rival = min(rest, key=lambda c: c.behind)
        if rival.behind <= rival.behind_error:
            return f"{what} are told best by {best}."
        return (
            f"{what} are told best by {best}: {rival.n_components} is {difference(rival)} per "
            "token behind."
        )
    return f"{what} are told better by {best}, by {difference(own)} per token."


def _by_heldout(selection: Selection) -> Iterator[str]:
    from dcomp.evaluate.select import CLEAR_ERRORS

    best, chosen, near = selection.best, selection.recommended, selection.indistinct
    if len(near) > 1:
        yield (
            f"The data cannot tell between {listed(near)}: the held-out score is highest at "
            f"{best.n_components}, and the others are within one standard error of it; {chosen} is "
            "the smallest of them."
        )
        return
    rest = [c for c in selection.candidates if c.n_components != chosen]
    closest = min(rest, key=lambda c: c.behind)
    nearest = f"{closest.n_components} comes nearest, {difference(closest)} per token behind"
    if selection.is_clear:
        yield f"Its held-out score is the best, clearly: {nearest}."
        return
    least = min(rest, key=_errors)
    if _errors(least) < CLEAR_ERRORS:
        if least is not closest:
            nearest += f", and {least.n_components} {difference(least)}"
        yield (
            f"Its held-out score is the best, but not clearly: {nearest}, which is "
            f"{_errors(least):.1f} standard errors, and clear is from {CLEAR_ERRORS:g}."
        )
    elif np.isfinite(_errors(least)):  # what was not tried is in doubt, as `_edges` says
        yield (
            "Its held-out score is the best of those that were tried, by "
            f"{_errors(least):.1f} standard errors or more: {nearest}."
        )
    else:
        yield f"Its held-out score is the best: {nearest}, without a standard error to judge it by."


def _errors(c: Candidate) -> float:
    """How far a candidate is behind, in standard errors."""
    return c.behind / c.behind_error if c.behind_error > 0 else np.inf


def _evidence_beside(selection: Selection) -> Iterator[str]:
    known = [c for c in selection.candidates if not np.isnan(c.evidence)]
    if len(known) < 2:
        return
    top = max(known, key=lambda c: c.evidence).n_components
    doubtful = [c.n_components for c in known if not c.evidence_is_sound]
    if doubtful:
        yield (
            f"The evidence is highest at {top}, but the chains of {listed(doubtful)} have not "
            "settled: it decides nothing."
        )
    else:
        yield f"The evidence is highest at {top}, of those that have one."


def _edges(selection: Selection) -> Iterator[str]:
    ks = [c.n_components for c in selection.candidates]
    if len(ks) == 1 or selection.is_clear:
        return
    by_evidence = selection.decided_by == "evidence"
    largest = selection.candidates[-1]
    told_worse = largest.behind > 2 * largest.behind_error  # by what was held out
    is_open = ks[-1] in (_not_empty(selection) if by_evidence else selection.indistinct)
    if is_open and (ks[-1] == selection.recommended or not told_worse):
        yield f"{ks[-1]} is the largest number that was tried: more may be as good, or better."
    if 1 < ks[0] == selection.recommended:
        yield f"{ks[0]} is the smallest number that was tried: fewer may do."


def _flat(selection: Selection) -> Iterator[str]:
    """Where the gain flattens: fewer components that have nearly all of it."""
    first, chosen = selection.candidates[0], _of(selection, selection.recommended)
    gain = chosen.log_likelihood - first.log_likelihood
    if not gain > CLOSE:
        return
    for c in selection.candidates[1:]:
        share = (c.log_likelihood - first.log_likelihood) / gain
        if c.n_components >= chosen.n_components:
            return
        if FLAT <= share <= 1:  # more than all of it is said of held-out words themselves
            yield (
                f"{c.n_components} components have {int(100 * share)} % of the gain of "
                f"{chosen.n_components} in held-out score over {first.n_components}."
            )
            return


def _from_above(selection: Selection) -> Iterator[str]:
    if not selection.pruned:
        return
    first, last = selection.pruned[0], selection.pruned[-1]
    agrees = "the same" if last == selection.recommended else f"not {selection.recommended}"
    yield (f"From above, {first} components of which the weak were deleted leave {last}: {agrees}.")


def _doubts(selection: Selection) -> Iterator[str]:
    stability = _of(selection, selection.recommended).stability
    if not np.isnan(stability) and stability < 0.5:
        yield (
            f"Chains of {selection.recommended} components agree little (stability "
            f"{stability:.2f}): read its components with care."
        )


def _of_model(selection: Selection) -> Iterator[str]:
    """What no number of components mends."""
    if selection.dispersion >= STRONG:
        yield (
            f"Counts vary {selection.dispersion:.1f} times as much as the model has it, around "
            "these components: what rests on single words (evidence, held-out scores, a number of "
            "components) is too sure, and the more are tried, the more may be asked for."
        )
    told, found = selection.gamma, selection.gamma_suited
    if np.isnan(told):
        return
    if np.isnan(found) or max(found / told, told / found) <= FAR:
        yield f"Loadings have γ = {told:g}."
        return
    yield (
        f"Loadings have γ = {told:g}, and look like {found:.2g}: with that, another number may be "
        "recommended."
    )


def _of(selection: Selection, K: int) -> Candidate:
    return next(c for c in selection.candidates if c.n_components == K)


def listed(numbers: Sequence[int]) -> str:
    """Numbers in a sentence.

    >>> listed([2, 3, 5])
    '2, 3 and 5'
    """
    *most, last = map(str, numbers)
    return f"{', '.join(most)} and {last}" if most else last
