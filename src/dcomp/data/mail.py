"""Mail and news without what repeats: headers, quoted lines, signatures."""

from __future__ import annotations

import re
from collections.abc import Collection

# A message begins with its headers: "Name: value", goes on in lines that begin with a blank, and
# ends in an empty line.
_HEADERS = re.compile(
    r"\A(?:From [^\n]*\n)?(?:[!-9;-~]+:[^\n]*(?:\n[ \t][^\n]*)*\n)+(?:[ \t]*\r?\n|\Z)"
)
_QUOTE = re.compile(
    r"^[ \t]*(?:[>|}].*|[A-Za-z]{0,4}>.*|In (?:article|message|<).*|.*\b(?:writes|wrote|says|said):"
    r"[ \t]*)\r?$\n?",
    re.MULTILINE,
)
_SIGNATURE = re.compile(r"^--[ \t]*\r?$(?s:.*)\Z", re.MULTILINE)


def without_parts(text: str, parts: Collection[str]) -> str:
    """The text without these parts: "headers", "quotes", "signatures".

    >>> mail = "From: a@b.org\\nSubject: cats\\n\\n> all are grey\\nNot mine.\\n-- \\nA. B.\\n"
    >>> without_parts(mail, ("headers", "quotes", "signatures"))
    'Not mine.\\n'
    """
    if "headers" in parts:
        text = _HEADERS.sub("", text, count=1)
    if "signatures" in parts:
        text = _SIGNATURE.sub("", text, count=1)
    if "quotes" in parts:
        text = _QUOTE.sub("", text)
    return text
