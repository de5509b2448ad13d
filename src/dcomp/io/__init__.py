"""Counts from and to files: `read` knows every format in `FORMATS`, `write` those in `OUT_FORMATS`.

>>> from dcomp.io import FORMATS
>>> {"docword", "table", "text", "voteview"} <= set(FORMATS)
True
"""

from dcomp.io.anndata import from_anndata
from dcomp.io.conversion import convert
from dcomp.io.dcounts import open_corpus as open
from dcomp.io.limits import Limits
from dcomp.io.read import FORMATS, read
from dcomp.io.write import OUT_FORMATS, write

__all__ = ["FORMATS", "OUT_FORMATS", "Limits", "convert", "from_anndata", "open", "read", "write"]
