"""Links to files that are beside the pages and not among them (verification, benchmarks, README).

On the site they are shown as paths of the source tree; that they are there is checked here and by
tests/test_readme.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform


class Outside(SphinxTransform):
    """A link that leaves the folder of pages becomes its text with the path beside it."""

    default_priority = 400  # before references are resolved

    def apply(self, **kwargs: Any) -> None:
        for kind in (addnodes.pending_xref, addnodes.download_reference):
            for node in list(self.document.findall(kind)):
                path = self.path(str(node.get("reftarget", "")))
                if path is not None:
                    node.replace_self(shown(node.astext(), path))

    def path(self, target: str) -> str | None:
        """The path within the source tree of a file that is no page; None for everything else."""
        pages = Path(self.env.srcdir)
        root = pages.parent
        if not target:
            return None
        # Pages that are included from the root link from there.
        for start in ((pages / self.env.docname).parent, root):
            for ending in ("", ".md"):
                place = (start / (target + ending)).resolve()
                inside = place.is_relative_to(root) and not place.is_relative_to(pages)
                if inside and place.is_file():
                    return place.relative_to(root).as_posix()
        return None


def shown(text: str, path: str) -> list[nodes.Node]:
    """The text of a link, and where it would lead."""
    if not text or text == path:
        return [nodes.literal("", path)]
    return [nodes.Text(f"{text} ("), nodes.literal("", path), nodes.Text(")")]


def setup(app: Any) -> dict[str, bool]:
    app.add_transform(Outside)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
