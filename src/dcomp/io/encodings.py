"""What bytes that are not UTF-8 seem to be, and how they become it."""

from __future__ import annotations

_LOOKED_AT = 1 << 12  # bytes of a line


def not_utf8(raw: bytes, error: object = "it holds a NUL") -> str:
    """What is said of a line that is no UTF-8.

    >>> not_utf8("Zürich,3".encode("latin-1"), "invalid")
    "text is not utf-8: invalid; it seems to be ISO-8859-1 (Latin-1): iconv -f ISO-8859-1 -t UTF-8 \
re-encodes it, spreadsheets save it as 'CSV UTF-8'"
    """
    name, known_as = _seems(raw)
    if not name:
        return f"text is not utf-8: {error}"
    return (
        f"text is not utf-8: {error}; it seems to be {name}{known_as}: iconv -f {name} -t UTF-8 "
        "re-encodes it, spreadsheets save it as 'CSV UTF-8'"
    )


def _seems(raw: bytes) -> tuple[str, str]:
    """The encoding as iconv calls it, and what else it is called; nothing where none is likely."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16", ""
    raw = raw[:_LOOKED_AT]
    if b"\0" in raw:
        # Of UTF-16 without a mark every other byte of plain letters is zero.
        for name, start in (("UTF-16LE", 1), ("UTF-16BE", 0)):
            if 2 * raw[start::2].count(0) > len(raw[start::2]) > 4 * raw[1 - start :: 2].count(0):
                return name, ""
        return "", ""
    if not raw.decode("utf-8", "ignore").isascii():  # some of it is UTF-8: it is damaged
        return "", ""
    if any(0x80 <= byte < 0xA0 for byte in raw):
        return "WINDOWS-1252", ""
    return "ISO-8859-1", " (Latin-1)"
