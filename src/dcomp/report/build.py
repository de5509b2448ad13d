"""From a fit to one file for a reader: what there is to show decides which panels it has."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dcomp.atomic import atomic_write, check_place, is_plain, resolved
from dcomp.data import as_counts
from dcomp.errors import InvalidCounts, InvalidParameter
from dcomp.evaluate import HeldOut, Hierarchy, Selection, independence
from dcomp.evaluate.documents import typical_of
from dcomp.io.calls import Calls
from dcomp.report import chains, fields, overview
from dcomp.report.documents import document_table, opened
from dcomp.report.features import FeatureNames, top_of_components
from dcomp.report.geometry import component_plane, leaf_order
from dcomp.report.groups import groups_of, trends_of
from dcomp.report.material import Material
from dcomp.report.packing import name_on_page, packed, packed_shares
from dcomp.report.render import page
from dcomp.report.speech import GENOTYPES, MUTATIONS, VOTES, Speech
from dcomp.report.views import document_views
from dcomp.result.of_estimator import as_fit
from dcomp.result.special import WEIGHTS
from dcomp.use import Admixture, RollCall, Signatures

TYPICAL = 5  # documents of each component
MANY = 200  # components, from which on they have fewer
SAMPLE = 300  # other documents that can be opened
_SPEECH: dict[type, Speech] = {Admixture: GENOTYPES, RollCall: VOTES, Signatures: MUTATIONS}
TABLE_WORDS = 8  # features of each component in the table that needs no script


@dataclass(frozen=True, eq=False)
class Order:
    """What a report was asked to show beside the fit and its documents."""

    found: Any = None  # a result of a field
    selection: Selection | None = None
    heldout: Any = None
    title: str | None = None
    command: str | None = None
    calls: Calls | None = None
    n_typical: int | None = None
    n_opened: int = SAMPLE


def report(
    fit: Any,
    counts: Any = None,
    path: str | os.PathLike[str] = "report.html",
    *,
    texts: Any = None,
    heldout: Any = None,
    selection: Selection | None = None,
    title: str | None = None,
    calls: Calls | None = None,
    command: str | None = None,
    exposure: Any = None,
    n_typical: int | None = None,
    n_opened: int = SAMPLE,
    dropped: float = 0.0,
    n_jobs: int | None = None,
    overwrite: bool = False,
) -> Path:
    """Write one HTML file that shows a fit to a reader: it needs no network, no server, and no
    other file. The path is given back.

    fit: a Fit, a fitted estimator, or what `use.rollcall`, `use.admixture` or `use.signatures`
    found, which bring their counts and their own panels. counts: the documents to show, those that
    were fitted or others, which are folded in; without any there are scores, and no words.
    texts: of the documents, in their order or by number: they can be read with their words marked.
    heldout: documents that were held out, or the score that `evaluate.completion` gave: without,
    the score is that of the documents that are shown, and says so. selection: what
    `evaluate.select_components` found. calls: what roll calls were about. n_typical: documents
    shown for each component (5; 3 where components are many). n_opened: others that can be opened.
    dropped: tokens that were left out of counts before, because the fit does not know them.

    >>> import dcomp
    >>> texts = ["A cat and a mouse.", "The dog has a bone.", "Cat and dog."]
    >>> counts = dcomp.Counts.from_texts(texts)
    >>> model = dcomp.LDA(2, verbose=0).fit(counts)
    >>> dcomp.report(model, counts, "animals.html", texts=texts).name
    'animals.html'
    """
    target = Path(path)
    if is_plain(target):  # an error now, rather than after the work
        check_place(resolved(target), overwrite=overwrite)
    found = fit if isinstance(fit, Admixture | RollCall | Signatures) else None
    if found is not None:
        counts = found.counts if counts is None else counts
        calls = found.calls if isinstance(found, RollCall) and calls is None else calls
        fit = found.fit
    if selection is not None and not isinstance(selection, Selection):
        raise InvalidParameter(
            "selection must be what evaluate.select_components gives; got a "
            f"{type(selection).__name__}"
        )
    order = Order(found, selection, heldout, title, command, calls, n_typical, n_opened)
    known = _SPEECH.get(type(found))
    material = Material.gather(as_fit(fit), counts, texts, exposure, n_jobs, known, dropped)
    html = page(**contents(material, order))
    with atomic_write(target, overwrite=overwrite) as stream:
        stream.write(html.encode("utf-8", "backslashreplace"))
    return target


def contents(material: Material, order: Order) -> dict[str, Any]:
    """All that the page's template takes."""
    fit, said = material.fit, material.speech
    judged = overview.judged(material)
    data = page_data(material, order, judged)
    top = fit.top_features(min(TABLE_WORDS, fit.features.n_features), **_measure(fit))
    by_size = np.argsort(-material.sizes, kind="stable").tolist()
    return {
        "title": name_on_page(order.title or _title(material), 120),
        "speech": said,
        "verdict": {
            "word": judged.verdict,
            "reasons": [said.told(reason) for reason in judged.reasons],
            "remarks": [name_on_page(said.told(remark), 400) for remark in judged.remarks],
        },
        "score": overview.score(material, _heldout(material, order.heldout)),
        "facts": [
            ("Model", _on_page(overview.model_facts(material))),
            ("Data", _on_page(overview.data_facts(material))),
            ("How it was made", _on_page(overview.making(material, order.command))),
        ],
        "left_out": [name_on_page(line, 600) for line in overview.left_out(material)],
        "table": [
            {
                "k": k,
                "name": material.component_names[k],
                "share": 100 * float(material.sizes[k]),
                "top": [name_on_page(said.feature_name(name), 40) for name in top[k]],
            }
            for k in by_size
        ],
        "ranked_by": top.by,
        "panels": _panels(data),
        "data": data,
    }


def _on_page(facts: overview.Facts) -> overview.Facts:
    """Versions, dates and the like are what the file of the fit says."""
    return [(name, name_on_page(value, 600)) for name, value in facts]


def _heldout(material: Material, heldout: Any) -> Any:
    if heldout is None or isinstance(heldout, HeldOut):
        return heldout
    given = as_counts(heldout, fractional=material.fit.provenance.fractional)
    return given.aligned_to(material.fit.features)[0]


def _title(material: Material) -> str:
    said, fit = material.speech, material.fit
    n = f"{fit.n_components:,} {said.components if fit.n_components != 1 else said.component}"
    return f"{n} behind {material.n_fitted:,} {said.documents}"


def _measure(fit: Any) -> dict[str, Any]:
    """By what features are ranked at first: where blocks are many, probability says little."""
    return {"by": "probability" if fit.features.n_blocks <= 4 else "relevance"}


def page_data(material: Material, order: Order, judged: Any) -> dict[str, Any]:
    """What the page's script draws from."""
    fit, K = material.fit, material.n_components
    names = FeatureNames(fit.features, material.speech.feature_name)
    n = order.n_typical or (TYPICAL if K < MANY else 3)
    examples = typical_of(fit, material.counts, material.shares, n)
    shown = {int(i) for documents in examples for i in documents.numbers}
    data: dict[str, Any] = {
        "version": 1,
        "id": name_on_page(fit.provenance.data_fingerprint[:16]) + f"-{fit.seed}-{K}",
        "speech": asdict(material.speech),
        "names": material.component_names,
        "sizes": packed_shares(material.sizes),
        "lambda": WEIGHTS["relevance"],
        "top": top_of_components(fit, names),
        "typical": [
            {"number": d.numbers.tolist(), "share": [round(float(v), 4) for v in d.values]}
            for d in examples
        ],
        "groups": groups_of(material.shares, material.attributes),
        "trends": trends_of(material.shares, material.attributes),
        "map": _map(material),
        "correlation": _correlation(material),
        "documents": document_table(material),
        "views": document_views(material, opened(material, shown, order.n_opened), names),
        "tree": _tree(material),
        "chains": chains.traces(fit, judged, material.speech),
        "blocs": fields.blocs(material, _only(RollCall, order.found), order.calls),
        "bars": fields.bars(material, _only((Admixture, Signatures), order.found)),
        "profiles": fields.profiles(material, _only(Signatures, order.found)),
        "choice": _choice(order, K),
    }
    notes = {} if order.calls is None else {c: order.calls.title(c) for c in order.calls.about}
    return data | {
        "features": names.as_list(),
        "blocks": names.blocks() if data["top"]["blocks"] else None,
        "about": names.about(notes),
    }


def _only(kind: Any, found: Any) -> Any:
    return found if isinstance(found, kind) else None


def _map(material: Material) -> dict[str, Any] | None:
    if material.n_components < 3:
        return None
    plane = component_plane(material.fit)
    return {
        "x": plane.places[:, 0].round(4).tolist(),
        "y": plane.places[:, 1].round(4).tolist(),
        "kept": round(plane.kept, 4),
        "features": plane.n_features,
        "of": material.fit.features.n_features,
    }


def _correlation(material: Material) -> dict[str, Any] | None:
    if material.n_components < 2:
        return None
    try:
        found = independence(material.fit)
    except InvalidCounts:  # fewer than two components vary
        return None
    hundredths = np.rint(100 * np.clip(found.correlation, -1, 1)).astype(np.int8)
    return {
        "values": packed(hundredths, "i1"),
        "order": leaf_order(found.correlation),
        "strongest": [[a, b, round(v, 4)] for a, b, v in found.strongest(20)],
        "constant": list(found.constant),
    }


def _tree(material: Material) -> list[dict[str, Any]] | None:
    nodes = material.fit.model.scores.nodes
    if nodes is None or not nodes.edges or nodes.parents is None:
        return None
    tree = Hierarchy.from_fit(material.fit, n=10)
    return [
        {
            "k": node.number,
            "name": name_on_page(node.name, 60),
            "parent": node.parent,
            "level": node.level,
            "share": node.share,
            "subtree": node.subtree,
            "own": [name_on_page(name, 40) for name in node.own],
            "summary": [name_on_page(name, 40) for name in node.summary],
        }
        for node in tree.nodes
    ]


def _choice(order: Order, own: int) -> dict[str, Any] | None:
    if order.selection is not None:
        return chains.choice_of_k(order.selection, own)
    judged = getattr(order.found, "cross_validation", None)
    if judged is None:
        return None
    rows = [
        {"n_components": k, "error": e, "error_of_error": s}
        for k, e, s in zip(judged.ks, judged.errors, judged.standard_errors, strict=True)
    ]
    title = str(judged).splitlines()[0]
    summary = f"{title}: {' '.join(judged.words)}" if judged.words else title
    return {"rows": rows, "recommended": judged.recommended, "own": own, "summary": summary}


def _panels(data: dict[str, Any]) -> list[tuple[str, str]]:
    """The panels that have something to show, and what they are called."""
    said = data["speech"]
    wanted = [
        ("overview", "Overview", True),
        ("components", said["components"].capitalize(), True),
        ("map", "Map", data["map"]),
        ("correlations", "Correlations", data["correlation"]),
        ("tree", "Tree", data["tree"]),
        ("blocs", "Votes", data["blocs"]),
        ("profiles", "Profiles", data["profiles"]),
        ("bars", _BARS.get(said["field"], "Shares"), data["bars"]),
        ("documents", said["documents"].capitalize(), True),
        ("choice", f"How many {said['components']}", data["choice"]),
        ("chains", "Convergence", True),
    ]
    return [(key, name) for key, name, there in wanted if there]


_BARS = {"genotypes": "Ancestry bars", "mutations": "Exposures", "votes": "Shares"}
