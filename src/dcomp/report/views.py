"""Documents to read: their text with the words that were counted marked by component; without texts
the words in their order, or how often each is there."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from dcomp.data.languages import stemmer
from dcomp.data.mail import without_parts
from dcomp.data.text_options import TextOptions, pattern
from dcomp.data.words import PATTERNS, plain
from dcomp.printable import on_page
from dcomp.report.documents import word_components
from dcomp.report.features import FeatureNames
from dcomp.report.material import Material

_BUDGET = 4_000_000  # characters of all texts together
_SHORTEST, _LONGEST = 600, 12_000  # characters of a text, before it is cut
_WORDS = 400  # features of a document without text


def document_views(material: Material, numbers: list[int], names: FeatureNames) -> dict[str, Any]:
    """What is shown of each of these documents, by number: nothing where there are no counts."""
    if material.counts is None:
        return {}
    limit = min(max(_BUDGET // max(len(numbers), 1), _SHORTEST), _LONGEST)
    texts = material.texts(numbers)
    split = _splitter(material.fit.text or TextOptions())
    out: dict[str, Any] = {}
    for i in numbers:
        if i in texts:
            out[str(i)] = _text(material, i, texts[i], split, limit)
        elif material.counts.sequences is not None:
            out[str(i)] = _in_order(material, i, names, limit // 8)
        else:
            out[str(i)] = _bag(material, i, names)
    return out


Split = Callable[[str], list[tuple[int, int, str]]]  # begin, end and feature of every word


def _splitter(options: TextOptions) -> Split:
    """Finds the words of a text as they were found for the fit, and where they are."""
    found = PATTERNS[options.numbers] if options.token is None else pattern(options.token)
    stems = None if options.stem is None else stemmer(options.stem).stemWords
    group = found.groups

    def split(text: str) -> list[tuple[int, int, str]]:
        spans = [match.span(group) for match in found.finditer(text) if match[group]]
        words = [plain(text[a:b], lower=options.case == "lower") for a, b in spans]
        words = words if stems is None else stems(words)
        return [(a, b, word) for (a, b), word in zip(spans, words, strict=True)]

    return split


def _text(material: Material, i: int, text: str, split: Split, limit: int) -> dict[str, Any]:
    """The text in pieces: what stands between words, a word, its component, and so on."""
    options = material.fit.text
    if options is not None and options.without:
        text = without_parts(text[: 50 * limit], options.without)
    cut = len(text) > limit
    shown = plain(_whole_words(text, limit), lower=False)
    component = _by_word(material, i)
    pieces: list[Any] = []
    last = 0
    for begin, end, word in split(shown):
        if word in component:
            pieces += [on_page(shown[last:begin]), on_page(shown[begin:end]), component[word]]
            last = end
    pieces.append(on_page(shown[last:]))
    return {"text": pieces, "cut": cut}


def _whole_words(text: str, limit: int) -> str:
    """The beginning of a text, to the last blank before the limit where there is one near."""
    if len(text) <= limit:
        return text
    blanks = [match.start() for match in re.finditer(r"\s", text[limit - 80 : limit])]
    return text[: limit - 80 + blanks[-1]] if blanks else text[:limit]


def _by_word(material: Material, i: int) -> dict[str, int]:
    """The component of each word of a document; of a word that is in several blocks, that of the
    first."""
    features, _, component = word_components(material, i)
    names = material.fit.features.names
    if names is None:
        return {}
    found: dict[str, int] = {}
    for j, k in zip(features.tolist(), component.tolist(), strict=True):
        for part in (names[j], *names[j].split(" ")):  # words in a row mark each of them
            found.setdefault(part, k)
    return found


def _in_order(material: Material, i: int, names: FeatureNames, limit: int) -> dict[str, Any]:
    """Features in reading order, -1 for words that were left out, and the component of each."""
    assert material.counts is not None
    tokens = material.counts.sequence(i)
    shown = tokens[:limit]
    features, _, component = word_components(material, i)
    of = np.full(len(shown), -1)
    here = shown >= 0
    of[here] = component[np.searchsorted(features, shown[here])]
    places = np.full(len(shown), -1)
    places[here] = names.numbers(shown[here])
    return {"order": places.tolist(), "component": of.tolist(), "cut": len(tokens) > limit}


def _bag(material: Material, i: int, names: FeatureNames) -> dict[str, Any]:
    """The features that speak most for the component that each is given, with their counts."""
    features, count, component = word_components(material, i)
    theta = material.fit.Theta[features].astype(np.float64)
    own = theta[np.arange(len(features)), component]
    mean = np.maximum(theta.mean(axis=1), 1e-300)
    says = np.asarray(count, np.float64) * np.log1p(own / mean)
    best = np.argsort(-says, kind="stable")[:_WORDS]
    return {
        "words": names.numbers(features[best]),
        "count": [_plain(value) for value in count[best].tolist()],
        "component": component[best].tolist(),
        "cut": len(features) > _WORDS,
    }


def _plain(value: float) -> float:
    return int(value) if float(value).is_integer() else round(value, 3)
