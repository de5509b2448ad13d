"""Estimators as a notebook shows them: scikit-learn's own diagram, and below it what was fitted."""

from __future__ import annotations

from typing import Any


class NotebookMixin:
    """Puts the fit below scikit-learn's diagram. What scikit-learn calls for it differs by version:
    these two are there in all of them."""

    def _repr_html_inner(self) -> str:
        inner: Any = super()
        return str(inner._repr_html_inner()) + self._fit_html()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        inner: Any = super()
        bundle: dict[str, Any] = inner._repr_mimebundle_(**options)
        if "text/html" in bundle:  # not where scikit-learn is told to show text
            bundle["text/html"] += self._fit_html()
        return bundle

    def _fit_html(self) -> str:
        """Of the fit; nothing before there is one."""
        fit = getattr(self, "fit_", None)
        return "" if fit is None else str(fit._repr_html_())
