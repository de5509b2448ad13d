"""A Fit from what a user has at hand: a Fit itself, or a fitted estimator that holds one."""

from __future__ import annotations

from typing import Any

from dcomp.errors import InvalidParameter
from dcomp.result.fit import Fit


def as_fit(thing: Any) -> Fit:
    """The fit, or that of an estimator; an error that says what is missing.

    >>> import dcomp
    >>> as_fit(dcomp.LDA(2, verbose=0).fit([[3, 1], [0, 4]])).n_components
    2
    >>> as_fit(dcomp.LDA(2))
    Traceback (most recent call last):
    dcomp.errors.InvalidParameter: this LDA is not fitted yet: call its fit first
    """
    held = thing if isinstance(thing, Fit) else _attributes(thing).get("fit_")
    if isinstance(held, Fit):
        return held
    kind = type(thing).__name__
    if not callable(getattr(thing, "fit", None)):
        raise InvalidParameter(f"a Fit or a fitted estimator of dcomp is needed; got a {kind}")
    if any(name.endswith("_") and not name.startswith("_") for name in _attributes(thing)):
        raise InvalidParameter(
            f"this {kind} has no probability model behind it and so no Fit; keep its components_"
        )
    raise InvalidParameter(f"this {kind} is not fitted yet: call its fit first")


def _attributes(thing: Any) -> dict[str, Any]:
    """The attributes of an object; none for one that has no dictionary of them."""
    return getattr(thing, "__dict__", {})
