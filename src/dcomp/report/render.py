"""The page itself: a template that escapes all it is given, one script and one style sheet, and a
policy that lets nothing else run or load."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from dcomp.report.packing import script_json

# In this order they are one script: what is used stands before what uses it.
SCRIPTS = (
    "base.js",
    "charts.js",
    "words.js",
    "components.js",
    "relations.js",
    "documents.js",
    "fields.js",
    "course.js",
    "start.js",
)


def page(*, data: dict[str, Any], **contents: Any) -> str:
    """The whole file."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    surroundings = Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script, style = script_text(), _text("report.css")
    # The three that are not escaped are our own files, and JSON without any < > or &.
    return surroundings.get_template("report.html").render(
        **contents,
        policy=policy(script, style),
        style=Markup(style),
        script=Markup(script),
        data=Markup(script_json(data)),
    )


@cache
def script_text() -> str:
    """All scripts as one, in a scope of its own."""
    parts = "\n".join(_text(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}\n}})();\n'


def policy(script: str, style: str) -> str:
    """A Content-Security-Policy under which this script and this style are all that works.

    >>> policy("", "").split("; ")[0]
    "default-src 'none'"
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _template(name: str) -> str:
    return _text(f"{name}.j2")


def _text(name: str) -> str:
    return files("dcomp.report").joinpath("templates", name).read_text(encoding="utf-8")
