"""Panels in the words of a field: blocs of voters, ancestries of people, signatures of tumours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data.mutations import type_name
from dcomp.io.calls import OUTCOME, Calls
from dcomp.models.arrays import FloatArray
from dcomp.report.groups import are_names
from dcomp.report.material import Material
from dcomp.report.packing import name_on_page, packed_shares
from dcomp.use import Admixture, RollCall, Signatures
from dcomp.use.rollcall import blocs_of, positions_of

VOTERS = 1_500  # in the grid
DIVIDING = 10  # votes of each pair of blocs
BARS = 2_000  # documents that are bars
MOST_COLOURS = 24  # components that bars can tell apart
_SIZE = 0.01  # share of voters below which a bloc is nobody's


def blocs(material: Material, found: RollCall | None, calls: Calls | None) -> dict[str, Any] | None:
    """Memberships in the order of binary PCA, and the votes that divide neighbouring blocs; with
    intervals and errors where draws were kept."""
    counts = material.counts
    if counts is None or material.speech.field != "votes":
        return None
    about = calls or Calls({})
    if found is None and _has_draws(material):
        found = blocs_of(material.fit, counts, about, n_jobs=material.n_jobs)
    if found is not None:
        return _sampled(material, found)
    positions = positions_of(counts)
    order = np.argsort(positions, kind="stable")
    line = _line(material, positions)
    yea = np.asarray(material.fit.Theta, np.float64)[0::2]
    pairs = []
    for first, second in pairwise(line):
        effect = yea[:, first] - yea[:, second]
        best = np.argsort(-np.abs(effect), kind="stable")[:DIVIDING].tolist()
        names = {g: counts.features.block_name(g) for g in best}
        rows = [
            {
                "call": name_on_page(names[g]),
                "title": name_on_page(about.title(names[g]), 200),
                "effect": float(effect[g]),
                "yea": yea[g, [first, second]].tolist(),
            }
            for g in best
        ]
        pairs.append({"blocs": [first, second], "votes": rows})
    return {
        "voters": _voters(material, order, material.shares, None),
        "columns": line,
        "pairs": pairs,
        "lines": [],
    }


def _has_draws(material: Material) -> bool:
    kept = material.fit.kept
    return material.are_fitted and kept is not None and "loadings" in kept.kinds


def _line(material: Material, positions: FloatArray) -> list[int]:
    """Blocs that are someone's, by the mean position of their members."""
    weight = material.shares
    place = positions @ weight / np.maximum(weight.sum(axis=0), 1e-12)
    real = weight.mean(axis=0) >= _SIZE
    return [k for k in np.argsort(place, kind="stable").tolist() if real[k]]


def _sampled(material: Material, found: RollCall) -> dict[str, Any]:
    real = [k for k in found.bloc_order if found.sizes[k] >= _SIZE]
    pairs = [
        {"blocs": list(pair), "votes": [_vote(d) for d in found.dividing(*pair, n=DIVIDING)]}
        for pair in found.neighbours
    ]
    lines = [" ".join(found.classification.lines()) + "."]
    goes_with = found.influence
    if goes_with is not None:
        best = max(goes_with, key=lambda k: goes_with[k][0])
        m, low, high = goes_with[best]
        lines.append(
            f"The outcome goes with bloc #{best} most: {100 * m:.0f} % "
            f"({100 * low:.0f} to {100 * high:.0f} %)."
        )
    n_chains = len(material.fit.chains)
    if n_chains > 1:
        lines.append(
            f"Shares in this panel are means over all {n_chains} chains, with blocs matched; the "
            "other panels show the best chain alone."
        )
    hidden = material.n_components - len(real)
    if hidden:
        few = "is nobody's, and is" if hidden == 1 else "are nobody's, and are"
        lines.append(f"{hidden} of {material.n_components} blocs {few} not shown.")
    shown = found.intervals
    lines.append(
        f"Intervals hold {100 * shown.level:g} % of the posterior; chains agree on "
        f"{100 * shown.settled:.0f} % of them."
    )
    return {
        "voters": _voters(material, found.order, found.memberships, (shown.low, shown.high)),
        "columns": real,
        "pairs": pairs,
        "lines": [line.strip() for line in lines],
    }


def _vote(division: Any) -> dict[str, Any]:
    record = asdict(division)
    return {
        **record,
        "call": name_on_page(record["call"]),
        "title": name_on_page(record["title"], 200),
        "yea": list(record["yea"]),
    }


def _voters(
    material: Material,
    order: npt.NDArray[np.intp],
    shares: FloatArray,
    ends: tuple[FloatArray, FloatArray] | None,
) -> dict[str, Any]:
    some = order[np.unique(np.linspace(0, len(order) - 1, min(VOTERS, len(order))).astype(int))]
    party = material.attributes.get("party")
    return {
        "number": some.tolist(),
        "names": [material.doc_name(i) for i in some.tolist()],
        "outcome": [material.doc_name(i) == OUTCOME for i in some.tolist()],
        "party": None if party is None else [name_on_page(party[i] or "", 30) for i in some],
        "shares": packed_shares(shares[some]),
        "low": None if ends is None else packed_shares(ends[0][some]),
        "high": None if ends is None else packed_shares(ends[1][some]),
        "of": len(order),
    }


def bars(material: Material, found: Admixture | Signatures | None) -> dict[str, Any] | None:
    """Shares of each document as one bar, by group and then by the largest share: ancestries of
    people, signatures of tumours, or components where they are few enough to tell apart."""
    K = material.n_components
    if not 2 <= K <= MOST_COLOURS or material.n_docs < 2:
        return None
    Q, low, high = material.shares, None, None
    if isinstance(found, Admixture) and found.intervals is not None:
        Q, low, high = found.intervals.mean, found.intervals.low, found.intervals.high
    labels = {name: of for name, of in _labels(material).items() if 1 < len(set(of)) <= BARS / 4}
    rows = np.unique(np.linspace(0, len(Q) - 1, min(BARS, len(Q))).astype(int))
    return {
        "number": rows.tolist(),
        "names": [material.doc_name(i) for i in rows.tolist()],
        "shares": packed_shares(Q[rows]),
        "low": None if low is None else packed_shares(low[rows]),
        "high": None if high is None else packed_shares(high[rows]),
        "length": [float(material.lengths[i]) for i in rows],
        "groups": [
            {"name": name, "of": [of[i] for i in rows], **_means(Q, of)}
            for name, of in sorted(labels.items(), key=lambda pair: -_told(Q, pair[1]))
        ],
        "of": len(Q),
    }


def _labels(material: Material) -> dict[str, list[str]]:
    """Groups of documents: attributes of text that documents share."""
    found = {}
    for name, column in material.attributes.items():
        if column.dtype.kind in "OUSb":
            texts = ["unknown" if v is None else name_on_page(v, 40) for v in column.tolist()]
            if not are_names(len(set(texts)), len(texts)):
                found[name_on_page(name, 40)] = texts
    return found


def _told(Q: FloatArray, of: list[str]) -> float:
    """How much of the shares' variance the groups tell, less what as many random ones would: which
    attribute to show first.

    >>> Q = np.array([[1, 0], [1, 0], [0, 1], [0, 1.0]])
    >>> _told(Q, ["a", "a", "b", "b"]) > _told(Q, ["a", "b", "a", "b"])
    True
    """
    names, codes, sizes = np.unique(of, return_inverse=True, return_counts=True)
    total = float(((Q - Q.mean(axis=0)) ** 2).sum())
    if total == 0 or len(names) == len(of):
        return 0.0
    means = np.stack([np.bincount(codes, q, len(names)) for q in Q.T], axis=1) / sizes[:, None]
    within = float(((Q - means[codes]) ** 2).sum())
    return 1 - (within / (len(of) - len(names))) / (total / (len(of) - 1))


def _means(Q: FloatArray, of: list[str]) -> dict[str, Any]:
    """Mean shares of all documents of each group; all groups, not the eight that are common."""
    names = sorted(set(of))
    place = {name: g for g, name in enumerate(names)}
    codes = np.array([place[name] for name in of])
    sizes = np.bincount(codes, minlength=len(names))
    sums = np.stack([np.bincount(codes, Q[:, k], len(names)) for k in range(Q.shape[1])], axis=1)
    return {"names": names, "sizes": sizes.tolist(), "mean": packed_shares(sums / sizes[:, None])}


def profiles(material: Material, found: Signatures | None) -> dict[str, Any] | None:
    """Each signature as the probabilities of its mutation types, by substitution; with the
    published one that it is like where some were given."""
    if material.speech.field != "mutations":
        return None
    names = [type_name(name) for name in material.fit.features.names or ()]
    order = sorted(range(len(names)), key=lambda j: (names[j][2:5], names[j]))
    near: Mapping[int, tuple[str, float]] = {}
    if found is not None and found.matching is not None and found.reference is not None:
        pairs = zip(found.matching.permutation, found.matching.similarity, strict=True)
        published = found.reference.names
        near = {
            k: (name_on_page(published[int(other)]), float(value))
            for k, (other, value) in enumerate(pairs)
            if other >= 0
        }
    Theta = np.asarray(material.fit.Theta, np.float64)[order].T
    return {
        "types": [names[j] for j in order],
        "change": [names[j][2:5] for j in order],
        "theta": packed_shares(Theta),
        "published": [near.get(k) for k in range(len(Theta))],
    }
