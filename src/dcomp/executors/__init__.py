"""Where work runs."""

from dcomp.executors.base import Executor, Task, pairwise_sum
from dcomp.executors.local import LocalExecutor, SideBySide, is_of_this_process, resolve_executor

__all__ = [
    "Executor",
    "LocalExecutor",
    "SideBySide",
    "Task",
    "is_of_this_process",
    "pairwise_sum",
    "resolve_executor",
]
