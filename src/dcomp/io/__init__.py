"""Counts from files: `read` knows every format in `FORMATS`.

>>> from dcomp.io import FORMATS
>>> {"docword", "table", "text", "voteview"} <= set(FORMATS)
True
"""

from dcomp.io.anndata import from_anndata
from dcomp.io.limits import Limits
from dcomp.io.read import FORMATS, read

__all__ = ["FORMATS", "Limits", "from_anndata", "read"]
