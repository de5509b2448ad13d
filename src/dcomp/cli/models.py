"""dcomp models: which model is fitted by which algorithm."""

from __future__ import annotations

from dcomp.cli.common import print_json
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
                "algorithms": list(names),
                "default": registry.algorithm_name(key),
                "exposure": bool(MODELS[key].has_exposure),  # of ST, what its leaves may have
            }
            for key, names in cells.items()
        ]
        print_json({"models": rows})
        return
    print("\n".join(_lines()))


def _lines() -> list[str]:
    """Two tables that fit a terminal of 80 columns: what models are called, and what fits them."""
    from dcomp import registry
    from dcomp.inference import ALGORITHMS
    from dcomp.models import MODELS

    cells = registry.supported()
    lines = ["model  name"]
    lines += [f"{key:<5}  {MODELS[key].long_name}" for key in cells]
    width = max(map(len, ALGORITHMS))
    lines += ["", f"{'algorithm':<{width}}" + "".join(f"{key:>6}" for key in cells)]
    usual = {key: registry.algorithm_name(key) for key in cells}
    for name in ALGORITHMS:
        marks = [
            "auto" if name == usual[key] else "yes" if name in names else "-"
            for key, names in cells.items()
        ]
        lines.append(f"{name:<{width}}" + "".join(f"{mark:>6}" for mark in marks))
    return [*lines, "", "auto: what fits the model unless --algorithm says otherwise"]
