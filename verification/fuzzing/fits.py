"""Fits: files of the golden ones with some things wrong, and what must hold of one that loads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from zlib import crc32

import numpy as np

import dcomp
from dcomp.printable import printable_lines
from dcomp.result.storage import MANIFEST, SEAL, digest
from fuzzing.archives import Members, edited, members_of
from fuzzing.choices import Choices
from fuzzing.files import scratch
from fuzzing.guard import hold

GOLDEN = Path(__file__).parents[2] / "tests" / "golden"
ROWS = 4  # of histories
SELDOM = 8  # one file of so many that load is also saved and loaded again, which takes most time
# The place of a fit in this list is in the kept inputs: new ones come at the end.
BASES = (
    "v4-LDA", "v4-DCA", "v4-GaP", "v4-NMF", "v4-PLSA", "v4-CTM", "v4-StructuredDCA", "v4-TreeDCA",
    "v1-DM", "v1-GP", "v2-CGP", "v2-DM", "v2-GP", "v3-CGP", "v3-DM", "v3-GP", "v3-LN", "v3-ST",
    "v3-TM", "v4-Known",
)  # fmt: skip


@cache
def base(place: int) -> Members:
    """The members of a golden fit, of whose sweeps only the last few are told unless it has draws
    of them: they are all alike, and to read them would take half of the time."""
    members = members_of((GOLDEN / f"{BASES[place]}.dcomp").read_bytes())
    manifest = json.loads(members[MANIFEST])
    if not manifest.get("draws"):
        manifest["history"] = manifest["history"][-ROWS:]
        if "chains" in manifest:
            manifest["chains"] = [rows[-ROWS:] for rows in manifest["chains"]]
    members[MANIFEST] = json.dumps(manifest).encode()
    seal(members)
    return members


def seal(members: Members) -> None:
    """Digests that agree with what the members are now, where the manifest still is one."""
    if SEAL not in members and b'"members"' not in members.get(MANIFEST, b""):
        return  # an old version, without digests
    try:
        manifest = json.loads(members[MANIFEST])
    except (KeyError, ValueError, RecursionError):
        return
    if not isinstance(manifest, dict):
        return
    if isinstance(manifest.get("members"), dict):
        own = {name: digest(text) for name, text in members.items() if name not in (MANIFEST, SEAL)}
        members[MANIFEST] = json.dumps({**manifest, "members": own}).encode()
    if SEAL in members:
        members[SEAL] = digest(members[MANIFEST]).encode()


def build(data: bytes) -> bytes:
    """The fit that the first byte names, with the edits that the others say."""
    choices = Choices(data)
    return edited(base(choices.below(len(BASES))), choices, seal)


def edits() -> Iterator[bytes]:
    """To begin with: each golden fit, once with its numbers and once with its manifest edited."""
    for place in range(len(BASES)):
        for edit in range(8):
            yield bytes([place, 0, edit, *range(place, place + 12)])
    for path in range(48):
        yield bytes([path % 8, 0, 0, 1, path, path * 7 % 256, path * 3 % 256, path % 8, path, 0])


def whole() -> Iterator[bytes]:
    """The golden fits as they are."""
    for name in BASES:
        yield (GOLDEN / f"{name}.dcomp").read_bytes()


def check(content: bytes) -> None:
    """Load a fit and ask it what a user would."""
    path = scratch("fit.dcomp", content)
    fit = dcomp.load(path)
    Theta = np.asarray(fit.Theta)
    hold(bool(np.isfinite(Theta).all() and (Theta >= 0).all()), "Θ: finite and not negative")
    blocks = np.asarray(fit.features.blocks)
    for block in range(fit.features.n_blocks):
        sums = Theta[blocks == block].sum(axis=0, dtype=np.float64)
        # A component without words, and without a prior that gives it any, has no loadings.
        empty = (sums == 0) & (fit.algorithm.treatment == "map")
        whole = np.isclose(sums, 1, atol=5e-3)
        hold(bool((whole | empty).all()), "Θ: sums to 1 in each block", sums)
    hold(bool(np.isfinite(fit.scores).all()), "scores: finite")
    document = np.zeros((1, fit.features.n_features), np.int64)
    document[0, :3] = (2, 1, 0)[: document.shape[1]]
    try:
        transformed = fit.transform(document)
    except dcomp.DcompError:  # such as an exposure that new documents need
        transformed = np.zeros(0)
    hold(bool(np.isfinite(transformed).all()), "transform: finite")
    shown = str(fit)
    hold(printable_lines(shown) == shown, "shown: safe to look at")
    if crc32(content) % SELDOM == 0:
        _check_again(fit, path)


def _check_again(fit: dcomp.Fit, path: Path) -> None:
    """Saved and loaded it is the same, member by member."""
    dcomp.save(fit, path, overwrite=True)
    first = members_of(path.read_bytes())
    dcomp.save(dcomp.load(path), path, overwrite=True)
    second = members_of(path.read_bytes())
    for name in (*first, *second):
        hold(first.get(name) == second.get(name), "saved twice: it differs", name)
