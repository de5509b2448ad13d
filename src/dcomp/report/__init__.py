"""One file for a reader: everything a fit says, on a page that needs no network and no server.

`dcomp.report(fit, counts, "report.html")` writes it; `dcomp report` does so in the shell. The room
can be called because it has the name of what it does.

>>> import dcomp
>>> X = [[4, 3, 0], [0, 1, 6], [5, 2, 1]]
>>> path = dcomp.report(dcomp.LDA(2, verbose=0).fit(X), X, "report.html")
>>> path.read_text().startswith("<!doctype html>")
True
"""

import sys
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any

from dcomp.report.build import report
from dcomp.report.chains import read_selection

__all__ = ["read_selection", "report"]


class _Room(ModuleType):
    """A room that does what it is called."""

    @wraps(report)
    def __call__(self, *given: Any, **options: Any) -> Path:
        return report(*given, **options)


sys.modules[__name__].__class__ = _Room
