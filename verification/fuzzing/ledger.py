"""What all runs of the fuzzer add up to: one entry per run and target, kept in a file of JSON."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict, dataclass, field
from pathlib import Path

from fuzzing.parent import Result
from fuzzing.targets import TARGETS

_TOTALS = ("target", "what", "inputs", "seconds", "of processor", "inputs per such", "coverage",
           "features", "findings")  # fmt: skip
_RUNS = ("commit", "command", "target", "inputs", "seconds", "findings")
_ABOUT = """\
Coverage is that of dcomp's Python code; native code is not seen by it. The promise: no
crash, no hang over 10 s, memory of at most max(64 MB, ten times the file), no error but
those that were made for it, and what reads well is well-formed."""


@dataclass(frozen=True)
class Entry:
    """What came of one target in one run."""

    commit: str
    command: str
    target: str
    inputs: int
    seconds: float
    processor: float
    coverage: int
    features: int
    findings: list[str] = field(default_factory=list)


def commit() -> str:
    """The commit that is checked out, with a + where files differ from it."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(Path(__file__).parent), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":!../results")
    return (git("rev-parse", "--short", "HEAD") or "unknown") + ("+" if changed else "")


def read(path: Path) -> list[Entry]:
    """The entries so far."""
    if not path.exists():
        return []
    return [Entry(**row) for row in json.loads(path.read_text(encoding="utf-8"))]


def add(path: Path, result: Result, where: str, command: str) -> list[Entry]:
    """The entries with one more, which is written down."""
    entry = Entry(where, command, result.name, result.inputs, round(result.seconds, 1),
                  round(result.processor, 1), result.coverage, result.features,
                  result.findings)  # fmt: skip
    entries = [*read(path), entry]
    path.parent.mkdir(exist_ok=True)
    rows = ",\n".join(json.dumps(asdict(row), ensure_ascii=False) for row in entries)
    path.write_text(f"[\n{rows}\n]\n", encoding="utf-8")
    return entries


def report(entries: list[Entry]) -> str:
    """All that was run, target by target and then run by run, and what was found, as Markdown."""
    order = {name: place for place, name in enumerate(TARGETS)}
    names = sorted({entry.target for entry in entries}, key=lambda name: order.get(name, 99))
    totals = [_total(name, [e for e in entries if e.target == name]) for name in names]
    runs = [(e.commit, f"`{e.command}`", e.target, f"{e.inputs:,}", f"{e.seconds:.0f}",
             len(e.findings)) for e in entries]  # fmt: skip
    found = [f"- {e.commit}: {finding}" for e in entries for finding in e.findings]
    told = f"{sum(e.inputs for e in entries):,} inputs in all, {len(found)} findings."
    return "\n".join(["# Fuzzing", "", _ABOUT, "", *_table(_TOTALS, totals), "", told, *found, "",
                      "## Runs", "", *_table(_RUNS, runs), ""])  # fmt: skip


def _total(name: str, entries: list[Entry]) -> tuple[object, ...]:
    inputs, processor = sum(e.inputs for e in entries), sum(e.processor for e in entries)
    about = TARGETS[name].about if name in TARGETS else "is no more"
    return (name, about, f"{inputs:,}", f"{sum(e.seconds for e in entries):.0f}",
            f"{processor:.0f}", f"{inputs / max(processor, 1e-9):,.0f}",
            f"{max(e.coverage for e in entries):,}", f"{max(e.features for e in entries):,}",
            sum(len(e.findings) for e in entries))  # fmt: skip


def _table(columns: tuple[str, ...], rows: list[tuple[object, ...]]) -> list[str]:
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]
