"""The pictures of docs/guides/pictures.md: `python docs/pictures/gallery.py` runs the page's blocks
and keeps the figure of each under the name that the page gives below it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "guides" / "pictures.md"
PIECES = re.compile(r"^```python\n(.*?)^```$|\.\./pictures/(gallery-\w+\.svg)", re.M | re.S)


def main() -> None:
    """Run the page, and write a picture where it shows one."""
    names: dict[str, Any] = {}
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "dcomp", "font.size": 9})
    for code, picture in PIECES.findall(PAGE.read_text(encoding="utf-8")):
        if code:
            exec(compile(code, str(PAGE), "exec"), names)
        else:
            names["figure"].savefig(HERE / picture, metadata={"Date": None}, facecolor="white")
            print(picture)


if __name__ == "__main__":
    main()
