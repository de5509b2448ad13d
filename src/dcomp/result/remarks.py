"""What a reader of a fit should know of its components, priors and chains, in one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dcomp.inference.ascent import EMPTY, alike
from dcomp.models.options import in_words

if TYPE_CHECKING:
    from dcomp.result.fit import Fit

UNIFORM = 0.1  # of the standard deviation that shares could have; documents that differ have more
MOST_SHARES = 50_000_000  # scores that are looked at for this
NEAR = 0.1  # nats per document between ends that may be one: each may have tol left to gain
_LEARNED = 10  # sweeps of a sampler among which one has learned the priors


def remarks(fit: Fit) -> tuple[str, ...]:
    """Components without words, components that are the same, documents that have the same shares
    of them, learned priors at a limit, and a best end that no other chain has found.

    >>> import dcomp
    >>> from dcomp.models import DirichletMultinomial
    >>> model = DirichletMultinomial.build(2, alpha=5.0)
    >>> remarks(dcomp.fit([[3, 1], [3, 1], [6, 2]], model))  # one kind of documents, cut in two
    ('components 0 and 1 are all but the same',)
    """
    empty = _empty(fit)
    said = []
    if empty.any():
        said.append(f"{_named(np.flatnonzero(empty), fit.component_labels)} all but empty")
    groups = _groups(fit, ~empty)
    said += [f"{_named(group, fit.component_labels)} all but the same" for group in groups]
    n_kinds = int((~empty).sum()) - sum(len(group) - 1 for group in groups)
    if n_kinds > 1 and _is_uniform(fit):
        said.append(_of_uniform(fit))
    held = _held(fit)
    if held:
        said.append(f"held at a limit: {', '.join(held)}")
    return (*said, *_lone_best(fit))


def _empty(fit: Fit) -> npt.NDArray[np.bool_]:
    """Components with next to no words and, where one document has most of all words, next to no
    share of the others, either."""
    c = fit.expected_counts
    words = c.sum(axis=0, dtype=np.float64)
    empty: npt.NDArray[np.bool_] = words <= EMPTY * words.mean()
    if not empty.any():
        return empty
    own = c[c.sum(axis=1) >= 1].astype(np.float64)  # documents of a word at least
    shares = (own[:, empty] / own.sum(axis=1, keepdims=True)).sum(axis=0)
    empty[empty] = shares <= EMPTY * len(own) / c.shape[1]
    return empty


def _is_uniform(fit: Fit) -> bool:
    """Whether the documents hardly differ in their shares. Mean field with a learned α ends so
    where they are short: its bound is highest where every word has one component and α is so large
    that documents do not matter (docs/decisions/0062)."""
    if fit.state.c.size > MOST_SHARES:
        return False
    scores = np.asarray(fit.scores, np.float64)
    totals = scores.sum(axis=1)
    if (totals > 0).sum() < 2:
        return False
    shares = scores[totals > 0] / totals[totals > 0, None]
    mean = shares.mean(axis=0)
    most = float((mean * (1 - mean)).sum())  # every document has one component
    return float(shares.var(axis=0).sum()) < UNIFORM**2 * most


def _of_uniform(fit: Fit) -> str:
    said = "all documents have all but the same shares of the components"
    if fit.algorithm.name == "mean-field":
        said += f", as mean field has it of short ones{_apart(fit)}"
    return said


def _apart(fit: Fit) -> str:
    """What may tell documents apart: samplers take whole counts only."""
    if not fit.provenance.fractional:
        return ": collapsed-gibbs tells them apart, if anything"
    is_learned = "alpha" in fit.model.scores.learned
    return ": alpha=0.1, which is not learned then, tells them apart, if anything" * is_learned


def _lone_best(fit: Fit) -> tuple[str, ...]:
    """Of climbs from several starts, that the best end was found once: more starts may find a
    better one. Samplers are judged by R-hat."""
    if fit.algorithm.samples or len(fit.chains) < 2:
        return ()
    ends = np.array([trace.rows[-1].objective for trace in fit.chains]) / len(fit.state.c)
    below = np.sort(ends.max() - ends)[1:]
    if below[0] < NEAR:
        return ()
    far = f"{below[0]:.2g}" if len(below) == 1 else f"{below[0]:.2g} to {below[-1]:.2g}"
    return (
        f"of {len(ends)} chains one ended here, the other{'s' * (len(below) > 1)} {far} nats per "
        "document lower: raise n_chains to see whether more starts find a better end",
    )


def _named(numbers: npt.ArrayLike, labels: tuple[str, ...]) -> str:
    """Components by their names or numbers, and the verb."""
    names = [labels[k] for k in np.asarray(numbers)]
    several = len(names) > 1
    return f"component{'s' * several} {in_words(names)} {'are' if several else 'is'}"


def _groups(fit: Fit, used: npt.NDArray[np.bool_]) -> list[list[int]]:
    """Components with the same loadings, together; those without words have only their prior's."""
    numbers = np.flatnonzero(used)
    same = alike(fit.Theta[:, used])
    groups: list[list[int]] = []
    if len(same) != len(numbers):  # too many to be compared
        return groups
    left = list(range(len(numbers)))
    while left:
        group = [left.pop(0)]
        for member in group:  # which grows
            more = [k for k in left if same[member, k]]
            left = [k for k in left if k not in more]
            group += more
        if len(group) > 1:
            groups.append(sorted(int(numbers[k]) for k in group))
    return groups


def _held(fit: Fit) -> tuple[str, ...]:
    """Learned priors that the last sweep to learn found at a limit. A sampler learns in some
    of its sweeps; a climb that has come to rest ends with sweeps of copies that were pushed, which
    leave the objective as it was, and with one that shows documents as new ones."""
    rows = fit.history.rows
    if fit.algorithm.samples:
        recent = rows[-_LEARNED:]
    else:
        last = max(len(rows) - 1 - fit.at_rest, 0)
        while last > 0 and rows[last].objective == rows[last - 1].objective:
            last -= 1
        recent = (rows[last], rows[-1])
    return tuple(dict.fromkeys(name for row in recent for name in row.capped))
