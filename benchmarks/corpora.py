"""The corpora of the benchmarks, from ../shared/data or the folder in DCOMP_DATA."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path

import dcomp


def data_folder() -> Path:
    """Where the real data are; stops with a message when they are not there."""
    folder = Path(os.environ.get("DCOMP_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        sys.exit("the benchmarks need the data sets: ../shared/data or DCOMP_DATA")
    return folder


def newsgroups() -> dcomp.Counts:
    """20 Newsgroups: lower-cased words, stop words out, at least 4 occurrences in 3 documents."""
    path = data_folder() / "newsgroups20.jsonl.xz"
    return dcomp.read(path, min_count=4, min_docs=3)


def reset_peak() -> Callable[[], int]:
    """Forget this process's peak memory (Linux); the result tells the bytes above now, later."""

    def status(key: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))

    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    return lambda: status("VmHWM") - before


def machine() -> str:
    """One line about where the figures come from."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":")[1].strip() if names else model
    from dcomp import _core

    return f"{model}, {os.cpu_count()} cores, {_core.instruction_set()}, Python {sys.version[:6]}"
