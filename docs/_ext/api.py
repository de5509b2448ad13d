"""`.. api:: dcomp.evaluate` is every public name of a room, from its docstrings.

A name that two rooms have is explained in the first of ROOMS and linked from the others. It is
called what users type: `dcomp.LDA`, not `dcomp.estimators.LDA`.
"""

from __future__ import annotations

import importlib
import inspect
from functools import cache
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)

ROOMS = (
    "dcomp.estimators",
    "dcomp.result",
    "dcomp.data",
    "dcomp.io",
    "dcomp.datasets",
    "dcomp.evaluate",
    "dcomp.use",
    "dcomp.plot",
    "dcomp.report",
    "dcomp.models",
    "dcomp.inference",
    "dcomp.predict",
    "dcomp.recipe",
    "dcomp.executors",
    "dcomp.errors",
    "dcomp",
)


def public(room: str) -> dict[str, Any]:
    """Classes and functions by name; of a room without a list, those that it makes itself."""
    try:
        module = importlib.import_module(room)
    except ModuleNotFoundError as error:
        if error.name == room:
            return {}
        raise
    names = getattr(module, "__all__", None)
    if names is None:
        names = [name for name, thing in vars(module).items() if _made_in(thing, room)]
    found = {name: getattr(module, name) for name in names if not name.startswith("_")}
    return {name: thing for name, thing in found.items() if _is_code(thing)}


def _is_code(thing: Any) -> bool:
    return inspect.isclass(thing) or inspect.isroutine(thing)


def _made_in(thing: Any, room: str) -> bool:
    return _is_code(thing) and thing.__module__ == room


@cache
def homes() -> dict[int, tuple[str, str]]:
    """Of every public thing, by its id: the room that explains it, and what it is called."""
    top = {id(thing): f"dcomp.{name}" for name, thing in public("dcomp").items()}
    found: dict[int, tuple[str, str]] = {}
    for room in ROOMS:
        for name, thing in public(room).items():
            found.setdefault(id(thing), (room, top.get(id(thing), f"{room}.{name}")))
    return found


class Api(SphinxDirective):
    """What the first lines of this file say."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        room, lines, elsewhere = self.arguments[0], [], []
        _rooms(self.env).setdefault(self.env.docname, set()).add(room)
        for _name, thing in sorted(public(room).items(), key=lambda pair: _order(*pair)):
            home, path = homes()[id(thing)]
            if home == room:
                lines += [*directive(path, thing), ""]
            else:
                elsewhere.append(f":py:obj:`~{path}`")
        if elsewhere:
            lines = [f"Explained elsewhere: {', '.join(elsewhere)}.", "", *lines]
        parent = nodes.Element()
        self.state.nested_parse(StringList(lines, source=room), self.content_offset, parent)
        return parent.children


def _order(name: str, thing: Any) -> tuple[bool, str]:
    """What one calls comes before what one gets."""
    is_record = inspect.isclass(thing) and not hasattr(thing, "fit")
    return is_record, name.lower()


def directive(path: str, thing: Any) -> list[str]:
    """The line that documents a thing."""
    if not inspect.isclass(thing):
        return [f".. autofunction:: {path}"]
    if issubclass(thing, BaseException):
        return [f".. autoexception:: {path}"]
    return [f".. autoclass:: {path}", "    :members:"]


def _rooms(env: Any) -> dict[str, set[str]]:
    """The rooms that each page has; kept with the pages that are not read again."""
    if not hasattr(env, "api_rooms"):
        env.api_rooms = {}
    found: dict[str, set[str]] = env.api_rooms
    return found


def _forget(app: Any, env: Any, page: str) -> None:
    _rooms(env).pop(page, None)


def _merge(app: Any, env: Any, pages: Any, other: Any) -> None:
    _rooms(env).update({page: of for page, of in _rooms(other).items() if page in pages})


def complete(app: Any, env: Any) -> None:
    """Every public name has a page."""
    there = set().union(*_rooms(env).values())
    missing = {path for room, path in homes().values() if room not in there}
    for path in sorted(missing - {f"dcomp.{name}" for name in public("dcomp")}):
        logger.warning("%s is on no page of docs/api", path)


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("api", Api)
    app.connect("env-purge-doc", _forget)
    app.connect("env-merge-info", _merge)
    app.connect("env-check-consistency", complete)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
