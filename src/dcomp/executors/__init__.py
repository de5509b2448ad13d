"""Where work runs."""

from dcomp.executors.base import Executor
from dcomp.executors.local import LocalExecutor

__all__ = ["Executor", "LocalExecutor"]
