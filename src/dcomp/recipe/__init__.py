"""From options to (Model, Algorithm, settings), in one place and from one table."""

from dcomp.recipe.config import Config
from dcomp.recipe.reading import OF_NEW, READING
from dcomp.recipe.recipe import Recipe, Resolved, Settings
from dcomp.recipe.table import USUAL, table

__all__ = [
    "OF_NEW",
    "READING",
    "USUAL",
    "Config",
    "Recipe",
    "Resolved",
    "Settings",
    "table",
]
