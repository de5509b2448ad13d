"""The site: `sphinx-build -W docs site`, from the pages of this folder and the docstrings.

What the pages say in Python is run by tests/test_readme.py; here they are only set.
"""

from __future__ import annotations

import sys
from pathlib import Path

import dcomp

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

project = "dcomp"
author = "The dcomp developers"
copyright = author
release = version = dcomp.__version__  # of pyproject.toml, the one place that has it

extensions = ["myst_parser", "sphinx.ext.autodoc", "api", "docstrings", "mathml", "outside"]
exclude_patterns = ["_ext", "_static"]
templates_path: list[str] = []

myst_enable_extensions = ["dollarmath", "deflist", "attrs_inline"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # what is included from README begins at the second level

# Links that lead nowhere are errors, of pages and of docstrings alike.
nitpicky = True
default_role = "literal"

autodoc_typehints = "none"  # the shapes that docstrings speak of say more
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"

html_theme = "furo"
html_title = f"dcomp {release}"
html_static_path = ["_static"]
html_css_files = ["dcomp.css"]
html_math_renderer = "mathml"
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#1b5e7b",
        "color-brand-content": "#1b5e7b",
    },
    "dark_css_variables": {
        "color-brand-primary": "#8fcbe3",
        "color-brand-content": "#8fcbe3",
    },
    "footer_icons": [],
}
pygments_style = "friendly"
pygments_dark_style = "native"
