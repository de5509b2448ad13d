"""A fit as a notebook shows it: one small table, without scripts, in the colours of its page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from dcomp.printable import printable

if TYPE_CHECKING:
    from dcomp.result.fit import Fit

SHOWN = 20  # components
WORDS = 8  # of each
LONGEST = 60  # characters of a name
# Nothing here has a colour of its own: pages are light or dark.
_LINE = "border:0;border-top:1px solid color-mix(in srgb, currentColor 20%, transparent)"
_CELL = f"{_LINE};padding:0.25em 1em 0.25em 0;vertical-align:top;background:none;text-align:"


def shown(name: object, longest: int = LONGEST) -> str:
    """A name that may come from anywhere, as text of a page: nothing in it is obeyed.

    >>> shown("<b>a\\x1b[2J & b")
    '&lt;b&gt;a\\\\x1b[2J &amp; b'
    >>> len(shown("x" * 1000))
    61
    """
    # What is long is cut first: a name may be a line of ten million characters.
    text = str(name)[: longest + 1]
    text = text if len(text) <= longest else text[:longest] + "…"
    return escape(printable(text))


def fit_html(fit: Fit) -> str:
    """The fit in one line, what a reader should know of it, and its largest components.

    >>> import dcomp
    >>> page = fit_html(dcomp.LDA(2, verbose=0).fit([[4, 3, 0], [0, 1, 6]]).fit_)
    >>> "2 documents" in page, "<script" in page
    (True, False)
    """
    known = "".join(f"<li>{shown(remark, 400)}</li>" for remark in fit.remarks)
    return (
        '<div class="dcomp-fit" style="color:inherit;font-size:0.9em">'
        f'<p style="margin:0.3em 0"><strong>{_head(fit)}</strong><br>{_made(fit)}</p>'
        f"{f'<ul>{known}</ul>' if known else ''}{_components(fit)}</div>"
    )


def _head(fit: Fit) -> str:
    model = fit.model
    return (
        f"{escape(model.key)} ({escape(model.long_name)}), {fit.n_components:,} components by "
        f"{escape(fit.algorithm.name)}"
    )


def _made(fit: Fit) -> str:
    chains = f"the best of {len(fit.chains)} chains, " if len(fit.chains) > 1 else ""
    return (
        f"{len(fit.state.c):,} documents × {fit.features.n_features:,} features, "
        f"{fit.provenance.n_tokens:,.10g} tokens; {chains}{fit.n_sweeps:,} sweeps, "
        f"{escape(fit.reason)}; {escape(fit.algorithm.objective_name)} {fit.objective:,.1f}; "
        f"seed {fit.seed}"
    )


def _components(fit: Fit) -> str:
    """A row per component, the largest first: its name, its share of the words, top features."""
    words = fit.expected_counts.sum(axis=0, dtype=np.float64)
    total = words.sum()
    # Most of what a bloc votes is sure, and says little of it.
    by = "relevance" if fit.features.n_blocks > 1 else "probability"
    top = fit.top_features(WORDS, by=by)
    order = np.argsort(-words, kind="stable")
    rows = [
        _row(
            fit.component_labels[k],
            f"{words[k] / total:.1%}" if total > 0 else "",
            ", ".join(map(shown, top.names[k])),
        )
        for k in order[:SHOWN]
    ]
    left = len(words) - SHOWN
    more = f'<p style="margin:0.3em 0">and {left:,} smaller ones</p>' if left > 0 else ""
    return (
        '<table style="border-collapse:collapse;color:inherit;margin:0.3em 0">'
        f"<thead><tr>{_cells('th', 'component', 'words', f'top features by {by}')}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>{more}"
    )


def _row(label: str, share: str, features: str) -> str:
    return f"<tr>{_cells('td', shown(label), share, features)}</tr>"


def _cells(kind: str, *values: str) -> str:
    """Cells of a row; the second column has numbers."""
    sides = ("left", "right", "left")
    return "".join(
        f'<{kind} style="{_CELL}{side}">{value}</{kind}>'
        for side, value in zip(sides, values, strict=True)
    )
