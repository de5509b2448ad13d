"""A corpus that is always at hand: the documentation of the libraries that dcomp builds on."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import pkgutil
import re
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from dcomp.data.counts import Counts
from dcomp.data.languages import english_stop_words
from dcomp.data.text import bag

_PACKAGES = ("numpy", "scipy", "sklearn")
_SHORTEST = 200  # characters; shorter docstrings say too little to have a theme
# Deprecated modules are named here: they warn at their first import only.
_NOT_PUBLIC = re.compile(
    r"_|tests?$|testing$|conftest$|setup$|externals$|experimental$|f2py$|distutils$|matlib$|odr$"
)
_CLUTTER = """
    parameter parameters param return returns returned raise raises array arrays like default
    defaults optional int float bool str string none true false see also note notes example
    examples reference references attribute attributes method methods function functions object
    objects class classes instance value values given used using use uses type types dtype ndarray
    shape specified otherwise set must new following section user guide read versionadded
    versionchanged version added changed deprecated ref func meth attr mod math obj term doi http
    https www org np numpy scipy sklearn input output out ignored default_value passed pass api
    standard support supported cupy jax dask pytorch backend device python library compatible
    argument arguments information details provided computed corresponding compute
"""


def docstrings() -> tuple[Counts, list[str]]:
    """Count the words in the docstrings of NumPy, SciPy and scikit-learn, as installed.

    A document is a public function, class or method, its id the qualified name; the labels tell
    its package. Code examples and words that every docstring has are left out. The corpus depends
    on the installed versions, on nothing else.

    >>> counts, labels = docstrings()
    >>> sorted(set(labels))
    ['numpy', 'scipy', 'sklearn']
    """
    texts: dict[str, str] = {}
    with _silence():
        # All imports come first: importing one library can add names to another.
        modules = [_public_modules(package) for package in _PACKAGES]
        for of_package in modules:
            texts.update(_package_docstrings(of_package))
    names = sorted(texts)
    counts = bag(
        (prose(texts[name]) for name in names),
        stop_words=english_stop_words() | set(_CLUTTER.split()),
        min_count=10,
        min_docs=5,
        max_docs=0.3,
        doc_ids=names,
    )
    return counts, [name.partition(".")[0] for name in names]


def prose(docstring: str) -> str:
    """Leave out the code examples with their output, and the lines under section titles.

    >>> prose("Add.\\n\\nNotes\\n-----\\nFast.\\n\\n>>> 1 + 1\\n2\\n\\nEnd.")
    'Add.\\n\\nNotes\\nFast.\\n\\n\\nEnd.'
    """
    kept, in_example = [], False
    for line in docstring.splitlines():
        text = line.strip()
        in_example = text.startswith((">>>", "...")) or (in_example and bool(text))
        if not in_example and not (text and set(text) <= set("-=~^")):
            kept.append(line)
    return "\n".join(kept)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    sink = io.StringIO()
    with (
        contextlib.redirect_stdout(sink),
        contextlib.redirect_stderr(sink),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


def _package_docstrings(modules: list[ModuleType]) -> dict[str, str]:
    """Give the docstrings by qualified name: each object, and each text, once."""
    found: dict[str, str] = {}
    seen_objects: set[int] = set()
    seen_texts: set[str] = set()
    candidates = [pair for module in modules for pair in _members(module)]
    for name, thing in sorted(candidates, key=_familiarity):
        if id(thing) in seen_objects:
            continue
        seen_objects.add(id(thing))
        for path, text in _texts(name, thing):
            if len(text) >= _SHORTEST and text not in seen_texts:
                seen_texts.add(text)
                found[path] = text
    return found


def _familiarity(candidate: tuple[str, Any]) -> tuple[int, bool, str]:
    """Order names so that the one users know an object by is first: short, and its own."""
    name, thing = candidate
    is_alias = name.rpartition(".")[2] != getattr(thing, "__name__", "")
    return name.count("."), is_alias, name


def _public_modules(package: str) -> list[ModuleType]:
    modules, waiting = [], [package]
    while waiting:
        name = waiting.pop()
        try:
            module = importlib.import_module(name)
        except (Exception, SystemExit):
            continue
        modules.append(module)
        for info in pkgutil.iter_modules(getattr(module, "__path__", ())):
            if not _NOT_PUBLIC.match(info.name):
                waiting.append(f"{name}.{info.name}")
    return modules


def _quietly(function: Any, *args: Any) -> Any:
    """Call a function; give None if it fails or warns, since what warns is deprecated."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = function(*args)
        except (Exception, SystemExit):
            return None
    return None if caught else value


def _members(module: ModuleType) -> list[tuple[str, Any]]:
    package = module.__name__.partition(".")[0]
    names = _quietly(getattr, module, "__all__") or dir(module)
    members = []
    for name in sorted({str(name) for name in names}):
        thing = None if name.startswith("_") else _quietly(getattr, module, name)
        is_public = inspect.isclass(thing) or inspect.isroutine(thing)
        if not (is_public or isinstance(thing, np.ufunc)):
            continue
        home = getattr(thing, "__module__", None) or package
        if home.partition(".")[0] == package:
            members.append((f"{module.__name__}.{name}", thing))
    return members


def _texts(name: str, thing: Any) -> Iterator[tuple[str, str]]:
    holders = [(name, thing)]
    if inspect.isclass(thing):
        own = sorted(vars(thing).items())
        holders += [(f"{name}.{key}", value) for key, value in own if _is_method(key, value)]
    for path, holder in holders:
        text = _quietly(inspect.getdoc, holder)
        if isinstance(text, str) and not text.startswith("DEPRECATED"):
            yield path, text


def _is_method(name: str, value: Any) -> bool:
    kinds = (classmethod, staticmethod)
    return not name.startswith("_") and (inspect.isroutine(value) or isinstance(value, kinds))
