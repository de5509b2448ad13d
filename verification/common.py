"""What the checks of the samplers share: settings, samplers, and where results go."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from dcomp import _core, registry
from dcomp.data import FeatureSpace
from dcomp.executors import LocalExecutor
from dcomp.inference import CollapsedGibbs, Gibbs
from dcomp.models import MODELS, Tree
from dcomp.reference.sampler_tests import LAYOUTS, Setting, native, small_setting

SAMPLED = [key for key, names in registry.supported().items() if "gibbs" in names]
RESULTS = Path(__file__).parent / "results"
NEVER = 10**6  # burn-in: nothing is recorded
SAMPLERS = {
    "direct": Gibbs(burn_in=NEVER),
    "collapsed": CollapsedGibbs(burn_in=NEVER, sparse=False),
    "sparse": CollapsedGibbs(burn_in=NEVER, sparse=True),
}


def plotting() -> Any:
    """matplotlib's pyplot, drawing to files; an exit that says what is missing."""
    try:
        import matplotlib
    except ImportError:
        sys.exit('plots need matplotlib: pip install "dcomp[plot]"')
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"font.size": 7, "axes.linewidth": 0.5, "lines.linewidth": 0.5})
    return pyplot


def save(figure: Any, name: str, colours: int = 16) -> None:
    """As a small PNG: few colours, which is all that lines and bars need."""
    from PIL import Image  # comes with matplotlib

    RESULTS.mkdir(exist_ok=True)
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=80)
    image = Image.open(drawn).convert("RGB").quantize(colours, dither=Image.Dither.NONE)
    image.save(RESULTS / f"{name}.png", optimize=True)
    plotting().close(figure)


def sampler(name: str) -> Any:
    """Chains of one of the samplers on one thread."""
    return native(SAMPLERS[name], LocalExecutor(1))


def setting(key: str, layout: str) -> Setting:
    """The small settings of the tests, and one with more of everything: 12 documents of two blocks
    with 6 features each, K = 5, γ = 0.2."""
    if layout != "larger":
        return small_setting(key, layout)
    options: dict[str, Any] = {"alpha": [0.1, 0.3, 0.5, 0.7, 0.9], "gamma": 0.2}
    if key == "TM":
        options = {"a1": [0.4, 2.0, 1, 1, 1], "a2": [3.0, 5.0, 1, 1, 1], "gamma": 0.2}
    if MODELS[key].has_exposure:
        options["beta"] = [0.02, 0.3, 0.1, 0.5, 0.2]
    if key == "CGP":
        options["rho"] = [0.1, 0.5, 0.3, 0.7, 0.4]
    features = FeatureSpace.build(12, blocks=[0] * 6 + [1] * 6)
    across = np.arange(12)[:, None]
    size = (across * [2, 1]) % 14
    if MODELS[key].has_exposure:
        size = 0.2 + (across * [0.3, 0.7]) % 2.0
    shape: Any = Tree.complete(5, 2) if key == "TM" else 5
    return Setting(MODELS[key].build(shape, **options), features, size.astype(float))


def cells(name: str) -> list[tuple[str, str]]:
    """Model and layout, where the sampler has code of its own for them."""
    layouts = [*LAYOUTS, "larger"]
    if name == "direct":
        layouts = ["plain", "blocks", "larger"]
    return [
        (key, layout)
        for key in SAMPLED
        for layout in layouts
        # With an exposure for each document, or a tree, the lists of components are not used.
        if not (name == "sparse" and key != "DM" and layout in ("blocks", "larger"))
        and not (name == "sparse" and key == "TM")
    ]


def data_file(*parts: str) -> Path:
    """A real data set, or an exit that says where it was looked for."""
    usual = Path(__file__).parents[2] / "shared" / "data"
    path = Path(os.environ.get("DCOMP_DATA", usual)).joinpath(*parts)
    if not path.exists():
        sys.exit(f"{path} is not there; DCOMP_DATA can point to the data sets")
    return path


def write(name: str, lines: list[str]) -> None:
    """The summary, with the kernels that it is of."""
    RESULTS.mkdir(exist_ok=True)
    text = "\n".join([*lines, f"Instruction set: {_core.instruction_set()}."]) + "\n"
    (RESULTS / f"{name}.md").write_text(text)
    print(text)


def row(*values: Any) -> str:
    """A line of a Markdown table."""
    return "| " + " | ".join(str(value) for value in values) + " |"
