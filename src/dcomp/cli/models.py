"""dcomp models: which model is fitted by which algorithm."""

from __future__ import annotations

from dcomp.cli.common import console, print_json
from dcomp.cli.options import Json


def models(as_json: Json = False) -> None:
    """Show the models and the algorithms that fit them.

    \b
    Example:
      dcomp models
      dcomp models --json
    """
    from dcomp import registry
    from dcomp.inference import ALGORITHMS
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
    from rich import box
    from rich.table import Table

    table = Table("model", "name", *ALGORITHMS, box=box.SIMPLE_HEAD, pad_edge=False)
    for key, names in cells.items():
        marks = ["yes" if name in names else "–" for name in ALGORITHMS]
        table.add_row(key, MODELS[key].long_name, *marks)
    console().print(table)
