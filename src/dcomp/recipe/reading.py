"""How the shell and config files say how an input is read: no part of a recipe."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from dcomp.data.text_options import CASES, MAIL, NUMBERS, TextOptions
from dcomp.models.options import Kind, Option
from dcomp.recipe.fields import FIELDS

_INPUT, _TEXT = "Input", "Text"
_USUAL = {field.name: field.default for field in fields(TextOptions)}


def _of_text(name: str, kind: Kind, help: str, **more: Any) -> Option:
    usual = _USUAL[name]
    default = ",".join(usual) if isinstance(usual, tuple) and name == "text" else usual
    default = None if isinstance(default, tuple) else default
    return Option(name, kind, help, **{"default": default, "panel": _TEXT, **more})


TEXT = (
    _of_text(
        "text",
        "kinds",
        "Fields (of JSON lines) or columns (of CSV, parquet) that hold the text, with commas "
        "between.",
        flags=("--text-field",),
        metavar="NAMES",
    ),
    _of_text(
        "text_blocks", "switch", "Each text field is a block of its own, such as title and body."
    ),
    _of_text(
        "id",
        "word",
        "Field or column that names a document.",
        flags=("--id-field", "--id"),
        metavar="NAME",
        shown="id, if there",
    ),
    _of_text(
        "labels",
        "kinds",
        "Fields that become attributes of documents, with commas between.",
        flags=("--label-field", "--labels"),
        metavar="NAMES",
    ),
    Option(
        "where",
        "kinds",
        "Only documents with this value in this field; several with commas, all must hold; of one "
        "field any.",
        metavar="FIELD=VALUE",
        panel=_TEXT,
    ),
    _of_text(
        "without",
        "kinds",
        f"Parts of mail and news to leave out: {', '.join(MAIL)}.",
        metavar="PARTS",
    ),
    _of_text(
        "stop_words",
        "word",
        "A language, a file with a word per line, or none.",
        metavar="WORD",
    ),
    _of_text("numbers", "word", f"{', '.join(NUMBERS)} (1000 to 2099).", metavar="WORD"),
    _of_text("case", "word", f"{' or '.join(CASES)}.", metavar="WORD"),
    _of_text(
        "token",
        "word",
        "Regular expression of a word, in place of runs of letters; its group, if it has one.",
        metavar="REGEX",
    ),
    _of_text("min_length", "whole", "Drop words of fewer characters.", least=1),
    _of_text("max_length", "whole", "Drop words of more characters.", least=1),
    _of_text(
        "stem", "word", "Language of Snowball: words of one stem are one.", metavar="LANGUAGE"
    ),
    _of_text(
        "ngrams",
        "word",
        "Up to so many words in a row are a feature too; 2-3 is only rows of two and three.",
        metavar="N",
        default="1",
    ),
)
READING = (
    Option(
        "format",
        "word",
        "docword, ldac, matrix-market, npz, table, text-table, parquet, text, jsonl, voteview, "
        "plink, vcf, structure, 10x, h5ad, dcounts, votes or categories. Told from the name and "
        "the first lines unless given; the last two must be given once, and a fit remembers them.",
        metavar="NAME",
        panel=_INPUT,
    ),
    Option("vocab", "file", "Names of the features, one per line.", panel=_INPUT),
    Option(
        "min_count", "whole", "Drop features with fewer tokens.", default=1, least=1, panel=_INPUT
    ),
    Option(
        "min_docs", "whole", "Drop features in fewer documents.", default=1, least=1, panel=_INPUT
    ),
    Option(
        "max_docs",
        "number",
        "Drop features in more documents: a share up to 1, or a number.",
        default=1.0,
        least=0,
        panel=_INPUT,
    ),
    Option(
        "max_features", "whole", "Keep so many features, the most frequent.", least=1, panel=_INPUT
    ),
    Option("blocks", "file", "A block id per line, in feature order.", panel=_INPUT),
    Option(
        "fractional",
        "switch",
        "Whether counts need not be whole, as corrected counts and dosages are; not for samplers.",
        default=False,
        panel=_INPUT,
    ),
    Option(
        "limit",
        "word",
        "What files may cost: memory=, decompressed= or depth=, with commas between.",
        metavar="NAME=SIZE",
        shown="by the size of the file",
        panel=_INPUT,
    ),
    Option(
        "scratch",
        "file",
        "Folder for what is known of documents while a .dcounts corpus is fitted.",
        metavar="FOLDER",
        shown="beside the corpus",
        panel=_INPUT,
    ),
    *TEXT,
    *FIELDS,
)
# What is said of new documents for a fit: the rest is as it was for the fit.
_SAID_AGAIN = ("format", "vocab", "limit", "scratch", "text", "id", "where")
OF_NEW = tuple(o for o in READING if o.name in _SAID_AGAIN or o in FIELDS)
