"""dcomp models: which model is fitted by which algorithm."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from dcomp.cli.common import print_json, show
from dcomp.cli.common import width as terminal_width
from dcomp.cli.options import Json


def models(as_json: Json = False) -> None:
    """Show the models and the algorithms that fit them.

    \b
    Example:
      dcomp models
      dcomp models --json
    """
    from dcomp import registry
    from dcomp.models import MODELS

    cells = registry.supported()
    if as_json:
        rows = [
            {
                "model": key,
                "name": MODELS[key].long_name,
                "also_called": list(registry.ALIASES.get(key, ())),
                "algorithms": list(names),
                "default": registry.algorithm_name(key),
                "default_of_large_counts": registry.usual_algorithms(key)[-1],
                "exposure": bool(MODELS[key].has_exposure),  # of ST, what its leaves may have
            }
            for key, names in cells.items()
        ]
        meant = {name: registry.named_model(name) for name in registry.FACTORISATIONS}
        names = {
            name: {"model": named.key, "algorithms": named.algorithms, "priors": named.settings}
            for name, named in meant.items()
        }
        print_json({"models": rows, "without_priors": names})
        return
    show("\n".join(_lines()))


def _lines() -> list[str]:
    """Two tables that fit a terminal of 80 columns: what models are called, and what fits them."""
    from dcomp import registry
    from dcomp.inference import ALGORITHMS
    from dcomp.models import MODELS

    cells, room = registry.supported(), min(terminal_width() or 78, 78)
    wide = max(len(MODELS[key].long_name) for key in cells)
    lines = [f"model  {'name':<{wide}}  also called"]
    for key in cells:
        known = _folded(registry.ALIASES.get(key, ()), max(room - wide - 9, 20))
        lines.append(f"{key:<5}  {MODELS[key].long_name:<{wide}}  {known[0]}".rstrip())
        lines += [" " * (wide + 9) + more for more in known[1:]]
    meanings: dict[str, list[str]] = {}
    for name in registry.FACTORISATIONS:
        meant = registry.named_model(name)
        by = f"{meant.key} without priors, by {' or '.join(meant.algorithms)}"
        meanings.setdefault(by, []).append(name)
    lines += ["", *(f"{', '.join(names)}: {meaning}" for meaning, names in meanings.items())]
    width = max(map(len, ALGORITHMS))
    lines += ["", f"{'algorithm':<{width}}" + "".join(f"{key:>6}" for key in cells)]
    usual = {key: registry.usual_algorithms(key) for key in cells}
    for name in ALGORITHMS:
        marks = [
            "auto" if name in usual[key] else "yes" if name in names else "-"
            for key, names in cells.items()
        ]
        lines.append(f"{name:<{width}}" + "".join(f"{mark:>6}" for mark in marks))
    lines += ["", "auto: what fits the model unless --algorithm says otherwise"]
    for key in (key for key, names in usual.items() if len(names) > 1):
        small, large = usual[key]
        lines += [
            f"of {key}: {large} where counts that are not 0 hold {registry.WORDS_PER_COUNT} words",
            f"or more on average, else {small}",
        ]
    return lines


def _folded(names: Sequence[str], width: int) -> list[str]:
    """Names with commas between, in lines of at most this width."""
    return textwrap.wrap(", ".join(names), width, break_on_hyphens=False) or [""]
