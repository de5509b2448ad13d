"""Where work runs."""

from dcomp.executors.base import Executor, Task, pairwise_sum
from dcomp.executors.dask import DaskExecutor
from dcomp.executors.dask_input import from_dask
from dcomp.executors.filed import FiledExecutor
from dcomp.executors.local import LocalExecutor, SideBySide, is_of_this_process, resolve_executor

__all__ = [
    "DaskExecutor",
    "Executor",
    "FiledExecutor",
    "LocalExecutor",
    "SideBySide",
    "Task",
    "from_dask",
    "is_of_this_process",
    "pairwise_sum",
    "resolve_executor",
]
