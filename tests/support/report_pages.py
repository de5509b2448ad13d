"""Small corpora for reports, and what the page's script would read of a page."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import numpy as np

import dcomp

TEXTS = [
    "The cat chased a mouse; the cat slept.",
    "A dog found a bone, and the dog slept.",
    "Cat and dog and mouse, all in one house.",
    "Mouse and cat, cat and mouse: chased again!",
    "Bone for the dog. Dog with bone, found.",
    "The house of the dog, the house of the cat.",
]
_KINDS = {"u1": "<u1", "i1": "<i1", "u2": "<u2", "u4": "<u4", "f4": "<f4", "f8": "<f8"}

# What a file may hold: markup, ends of scripts, marks of direction, emoji, escapes, halves of
# characters, names of properties, and a name without end.
HOSTILE = [
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "<!-- <script>",
    "]]>&amp;&#x3c;script&#x3e;",
    "\u202eright to left\u202c",
    "\u2066isolate\u2028line\u2029",
    "👩\u200d🚀❤\ufe0f",
    "\x1b[2J\x1b]0;title\x07\x00\x9b",
    "half \ud800 of one",
    "__proto__",
    "constructor",
    "\"quotes\" 'and' `ticks` ${window.hacked=1} {{7*7}} {% raw %}",
    "javascript:window.hacked=1",
    "x" * 10_000_000,
]


def animals() -> tuple[dcomp.Counts, dcomp.Fit]:
    """Counts of texts with a party and a year, and a fit of two components."""
    counts = dcomp.Counts.from_texts(TEXTS, doc_ids=[f"t{i}" for i in range(6)]).with_attributes(
        party=["D", "R", "D", "D", "R", None],
        year=[1990 + 5 * i for i in range(6)],
        sent=[f"20{i:02}-03-01" for i in range(6)],
    )
    return counts, dcomp.LDA(2, alpha=0.1, verbose=0, random_state=1).fit(counts).fit_


def hostile() -> tuple[dcomp.Counts, dcomp.Fit]:
    """The same with what is hostile as features, ids, attributes and names of components."""
    n = len(HOSTILE)
    table = np.eye(n, dtype=int) * 4 + 1
    table[: n // 2, : n // 2] += 2
    known = {HOSTILE[0]: [HOSTILE[i % 4] for i in range(n)], HOSTILE[9]: list(range(n))}
    counts = dcomp.Counts.from_matrix(table, feature_names=HOSTILE, doc_ids=HOSTILE)
    counts = counts.with_attributes(**known)
    fit = dcomp.LDA(3, verbose=0).fit(counts).fit_
    return counts, fit.rename([HOSTILE[0], HOSTILE[4], HOSTILE[11]])


def data_of(page: str) -> dict[str, Any]:
    """The data that is in a page; an error if there are none, or two."""
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(found)


def unpacked(packed: dict[str, str]) -> np.ndarray:
    """What the script's `unpack` gives."""
    ((kind, text),) = packed.items()
    raw = base64.b64decode(text)
    if kind == "share":
        return np.frombuffer(raw, "<u2") / 65535
    return np.frombuffer(raw, _KINDS[kind])
