"""Counts from files: `read` knows every format in `FORMATS`.

>>> from dcomp.io import FORMATS
>>> sorted(FORMATS)
['docword', 'jsonl', 'ldac', 'matrix-market', 'npz', 'parquet', 'table', 'text', \
'text-table']
"""

from dcomp.io.limits import Limits
from dcomp.io.read import FORMATS, read

__all__ = ["FORMATS", "Limits", "read"]
