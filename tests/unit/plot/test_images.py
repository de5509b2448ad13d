"""Every picture of `dcomp.plot` beside the image of it that was kept.

From one minor version of matplotlib to the next letters change their shapes and widths, and legends
their places: so pictures are compared with the version that the images were kept with, and skipped
with others. `python tests/support/pictures.py NAME` keeps an image that is meant to be another.
"""

import matplotlib
import numpy as np
import pytest
from PIL import Image
from support.pictures import KEPT, NAMES, apart, drawn, figure_of

from dcomp import plot

CLOSE = 8.0  # a mean over 16 pixels, of 255: an instruction set may round otherwise, no more


def minor(version):
    return version.split(".")[:2]


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_looks_as_the_one_that_was_kept(name, tmp_path):
    with Image.open(KEPT / f"{name}.png") as image:
        made = image.text["matplotlib"]
        then = np.asarray(image.convert("RGB"))
    figure = figure_of(name)
    now = drawn(figure)
    if minor(made) != minor(matplotlib.__version__):
        pytest.skip(f"images are of matplotlib {made}; this one draws other letters")
    Image.fromarray(now).save(tmp_path / f"{name}.png")
    distance = apart(now, then)
    assert distance < CLOSE, f"{distance:.0f} apart: look at {tmp_path / name}.png"
    # And a picture with one thing less is told from it.
    hide_one(figure)
    assert apart(drawn(figure), then) > CLOSE


def hide_one(figure):
    """Take away one thing that was drawn from data: an image, a bar, points or a line."""
    axes = figure.axes[0]
    bars = sorted(axes.patches, key=lambda bar: -np.prod(bar.get_window_extent().size))
    next(iter([*axes.images, *bars, *axes.lines, *axes.collections])).set_visible(False)


def test_every_picture_has_one():
    known = set(plot.__all__) - {"FitPlots"}
    assert {name.partition("-")[0] for name in NAMES} == known
    assert {path.stem for path in KEPT.glob("*.png")} == set(NAMES)


def test_they_are_small():
    assert sum(path.stat().st_size for path in KEPT.iterdir()) < 1_000_000
