"""From options to (Model, Algorithm, settings), in one place and from one table."""

from dcomp.recipe.config import Config
from dcomp.recipe.recipe import Recipe, Resolved, Settings
from dcomp.recipe.table import FIELDS, READING, USUAL, table

__all__ = ["FIELDS", "READING", "USUAL", "Config", "Recipe", "Resolved", "Settings", "table"]
