"""Where work runs."""

from dcomp.executors.base import Executor, Task, pairwise_sum
from dcomp.executors.local import LocalExecutor, SideBySide, resolve_executor

__all__ = ["Executor", "LocalExecutor", "SideBySide", "Task", "pairwise_sum", "resolve_executor"]
