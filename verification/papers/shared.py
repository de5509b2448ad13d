"""What the papers' scripts share: where data lie, tables, pictures, and how a page is written."""

from __future__ import annotations

import json
import lzma
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import RESULTS, data_file, plotting, row, save, write

from dcomp.data.mail import without_parts

__all__ = ["RESULTS", "Done", "data_file", "head", "plotting", "records", "row", "save", "write"]


class Done:
    """Results of the parts of a long run, kept in results/NAME.json as they come, so that a run
    that was ended goes on where it was.

    A part is a function without arguments whose result JSON can hold.
    """

    def __init__(self, name: str, settings: dict[str, Any]) -> None:
        self.path, self.settings = RESULTS / f"{name}.json", settings
        self.parts: dict[str, Any] = {}
        if self.path.exists():
            kept = json.loads(self.path.read_text())
            if kept["settings"] != settings:
                sys.exit(f"{self.path} is of other settings, {kept['settings']}: move it away")
            self.parts = kept["parts"]

    def part(self, name: str, make: Callable[[], Any]) -> Any:
        """What is kept under this name, or made and kept."""
        if name not in self.parts:
            self.parts[name] = made = make()
            kept = {"settings": self.settings, "parts": self.parts}
            self.path.write_text(json.dumps(kept, indent=1) + "\n")
            print(name, str(made)[:300], flush=True)
        return self.parts[name]


def head(*columns: Any) -> list[str]:
    """The first two lines of a Markdown table."""
    return [row(*columns), row(*["---"] * len(columns))]


def records(name: str) -> list[dict[str, Any]]:
    """The lines of a packed file of JSON."""
    with lzma.open(data_file(name), "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def newsgroup_texts(with_headers: bool = False) -> tuple[list[str], list[str]]:
    """Posts of 20 Newsgroups, as a rule without their headers, which name the group; the groups."""
    every = records("newsgroups20.jsonl.xz")
    parts = () if with_headers else ("headers",)
    return [without_parts(r["text"], parts) for r in every], [r["group"] for r in every]
