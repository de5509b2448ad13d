"""Formulae as MathML, which browsers set themselves: no script, and nothing is fetched.

In running text a letter with an index (θ_jk, q0_k) is set as one, too: pages and docstrings are
written so that they can be read in a terminal.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.transforms.post_transforms import SphinxPostTransform

# One letter (perhaps with a mark above, or a number) that stands alone, and a short index.
INDEX = re.compile(
    r"(?<![\w`.])(?P<letter>[A-Za-zα-ωΑ-ΩΥΨŴ]\d?|log Z)_"
    r"(?P<index>[ijkghlcdvwnp0-9]{1,4}|leaf|below)(?![\w(=])"
)
_AS_IS = (nodes.literal, nodes.literal_block, nodes.doctest_block, nodes.math, nodes.math_block)


_LETTERS = re.compile(r'<mrow>((?:<mi mathvariant="normal">\w</mi>){2,})</mrow>')
_UPRIGHT = re.compile(r"<mi>(&#x000(?:4[1-9A-F]|5[0-9A])|&#x003(?:9[3-9A-F]|A[0-9]));</mi>")
_NAMED = re.compile(r'<mi>(log|exp|diag)</mi>(?=(<mo stretchy="false">&#x00028;)?)')


def mathml(latex: str, display: str) -> str:
    """MathML as TeX would set it: the converter forgets some spaces and shapes."""
    made = convert(latex, display=display)
    made = _LETTERS.sub(lambda found: f"<mi>{re.sub('<[^>]*>', '', found[1])}</mi>", made)
    made = _UPRIGHT.sub(r'<mi mathvariant="normal">\1;</mi>', made)
    made = made.replace("<mi>&#x0007E;</mi>", '<mo lspace="0.28em" rspace="0.28em">&#x0223C;</mo>')
    return _NAMED.sub(_operator, made)


def _operator(found: re.Match[str]) -> str:
    after = "0" if found[2] else "0.17em"
    return f'<mo form="prefix" lspace="0.1em" rspace="{after}">{found[1]}</mo>'


def visit_math(self: Any, node: nodes.Element) -> None:
    self.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.Element) -> None:
    latex = re.sub(r"\\tag\{([^}]*)\}", "", node.astext())
    tag = re.search(r"\\tag\{([^}]*)\}", node.astext())
    number = f'<span class="equation-tag">{escape(tag[1])}</span>' if tag else ""
    self.body.append(f'<div class="equation">{mathml(latex, "block")}{number}</div>\n')
    raise nodes.SkipNode


class Indices(SphinxPostTransform):
    """θ_jk in running text becomes θ with an index."""

    default_priority = 700

    def run(self, **kwargs: Any) -> None:
        for text in list(self.document.findall(nodes.Text)):
            if INDEX.search(text) and not _within(text, _AS_IS):
                text.parent.replace(text, _with_indices(str(text)))


def _within(node: nodes.Node, kinds: tuple[type, ...]) -> bool:
    while node.parent is not None:
        node = node.parent
        # Names and signatures of code are no running text.
        if isinstance(node, kinds) or node.__class__.__name__.startswith("desc_sig"):
            return True
        if node.__class__.__name__ in ("desc_name", "desc_addname", "desc_parameterlist"):
            return True
    return False


def _with_indices(text: str) -> list[nodes.Node]:
    parts: list[nodes.Node] = []
    end = 0
    for found in INDEX.finditer(text):
        parts.append(nodes.Text(text[end : found.start()] + found["letter"]))
        parts.append(nodes.subscript("", found["index"]))
        end = found.end()
    parts.append(nodes.Text(text[end:]))
    return parts


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_block, None))
    app.add_post_transform(Indices)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
