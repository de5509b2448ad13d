"""One target, in child processes: started, started again after a crash, and their findings read."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzzing.child import HEAD, PATIENCE, ROOM, name_of
from fuzzing.files import SCRATCH, memory_folder
from fuzzing.guard import SECONDS
from fuzzing.known import KNOWN
from fuzzing.targets import TARGETS, Target

KEPT = Path(__file__).parents[2] / "tests" / "fuzz" / "corpus"
MOST_CRASHES = 20  # of one target, until it is given up
LONG = 30 * PATIENCE  # seconds on the clock for an input that is run again alone


@dataclass(frozen=True)
class Budget:
    """How much of each target is run, and from where."""

    inputs: int
    seconds: float
    seed: int
    engine: str


@dataclass
class Result:
    """What came of a target."""

    name: str
    inputs: int = 0
    seconds: float = 0.0
    processor: float = 0.0  # seconds of it
    coverage: int = 0  # lines and branches, as atheris counts them
    features: int = 0
    findings: list[str] = field(default_factory=list)


def begin(name: str, corpus: Path) -> None:
    """The seeds and the kept inputs, beside those that are there from the last time."""
    corpus.mkdir(parents=True, exist_ok=True)
    kept = (path.read_bytes() for path in sorted((KEPT / name).glob("*")))
    known = (data for _, data in KNOWN.get(name, tuple)())
    for data in (*TARGETS[name].seeds(), *kept, *known):
        if len(data) <= TARGETS[name].max_len:
            (corpus / name_of(data)).write_bytes(data)


def fuzz(name: str, budget: Budget, corpus: Path, findings: Path) -> Result:
    """Run a target until its inputs or its seconds are used up."""
    begin(name, corpus)
    findings.mkdir(parents=True, exist_ok=True)
    for old in findings.iterdir():
        old.unlink()
    result, crashed = Result(name), []
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dcomp-fuzz-", dir=memory_folder()) as folder:
        while result.inputs < budget.inputs and len(crashed) < MOST_CRASHES:
            left = budget.seconds - (time.monotonic() - start)
            if left < 1:
                break
            job = {
                "target": name, "engine": budget.engine, "inputs": budget.inputs - result.inputs,
                "seed": budget.seed + 1000 * len(crashed), "skip": [name_of(x) for x in crashed],
                "corpus": str(corpus), "findings": str(findings),
            }  # fmt: skip
            ended = _child(job, Path(folder), left)
            result.inputs += ended.inputs
            result.processor += ended.processor
            result.coverage = max(result.coverage, ended.coverage)
            result.features = max(result.features, ended.features)
            if ended.crash is None:
                break
            crashed.append(ended.crash)
            _note_crash(name, ended, findings, Path(folder))
    result.seconds = time.monotonic() - start
    notes = [json.loads(path.read_text()) for path in sorted(findings.glob("*.json"))]
    result.findings = [f"{name}: {note['short']}" for note in notes]
    return result


@dataclass(frozen=True)
class Ended:
    """How a child ended."""

    inputs: int
    processor: float
    coverage: int
    features: int
    crash: bytes | None  # the input that was its last
    code: int
    log: str


def _child(job: dict[str, Any], folder: Path, seconds: float) -> Ended:
    target = TARGETS[job["target"]]
    shared, log = folder / "shared", folder / "log"
    shared.write_bytes(bytes(ROOM))
    told = {**job, "shared": str(shared), "options": _options(job, target, folder, seconds)}
    with log.open("wb") as stream:
        process = subprocess.Popen(
            _command(told), stdout=stream, stderr=stream, env=_environment(folder)
        )
        try:
            # libFuzzer ends by itself; a blind loop, or one that is stuck, does not.
            code, late = process.wait(seconds + 2 * PATIENCE * (job["engine"] == "guided")), False
        except subprocess.TimeoutExpired:
            process.kill()
            code, late = process.wait(), True
    memory = shared.read_bytes()
    count, length, seconds_used = HEAD.unpack_from(memory)
    last = memory[HEAD.size : HEAD.size + length]
    text = log.read_text(errors="replace")
    over = code == 0 or (late and job["engine"] == "blind")
    if not over and not count and not length:
        raise RuntimeError(f"{job['target']}: the process could not begin:\n{text[-2000:]}")
    seen = re.findall(r"cov: (\d+) ft: (\d+)", text) or [(0, 0)]
    coverage, features = (max(int(pair[place]) for pair in seen) for place in (0, 1))
    crash = None if over else last
    return Ended(count, seconds_used, coverage, features, crash, code, text[-4000:])


def _options(job: dict[str, Any], target: Target, folder: Path, seconds: float) -> list[str]:
    """Of libFuzzer."""
    words = folder / "words"
    words.write_text("".join(f'"{_escaped(token)}"\n' for token in target.tokens))
    return [
        f"-runs={job['inputs']}", f"-max_total_time={int(seconds)}", f"-seed={job['seed']}",
        f"-max_len={target.max_len}", f"-timeout={PATIENCE}", "-rss_limit_mb=0", "-reload=0",
        f"-artifact_prefix={folder}/", *([f"-dict={words}"] if target.tokens else []),
    ]  # fmt: skip


def _escaped(token: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in token)


def _command(job: dict[str, Any]) -> list[str]:
    return [sys.executable, "-m", "fuzzing.child", json.dumps(job)]


def _environment(scratch: Path) -> dict[str, str]:
    """This folder to import from, another for files, one thread for what would take all."""
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            SCRATCH: str(scratch), "PYTHONHASHSEED": "0",
            "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # fmt: skip


def _note_crash(name: str, ended: Ended, findings: Path, folder: Path) -> None:
    """A crash as a finding, unless it was the clock of a busy machine: alone, in a process of its
    own, an input must take long as processor time goes, or crash again."""
    assert ended.crash is not None
    place = findings / name_of(ended.crash)[:12]
    place.with_suffix(".input").write_bytes(ended.crash)
    shared = folder / "again"
    shared.write_bytes(bytes(ROOM))
    job = {"target": name, "engine": "replay", "inputs": 1, "skip": [], "findings": str(findings),
           "shared": str(shared), "input": str(place.with_suffix(".input"))}  # fmt: skip
    start = time.monotonic()
    try:
        code = subprocess.run(
            _command(job), capture_output=True, env=_environment(folder), check=False,
            timeout=LONG,
        ).returncode  # fmt: skip
    except subprocess.TimeoutExpired:  # waits, and takes nothing of the processor
        code = -9
    seconds = time.monotonic() - start
    stuck = "timeout" in ended.log or ended.code in (-14, -9)
    if code == 0 and stuck:
        place.with_suffix(".input").unlink()
        return
    how = "again" if code else "not again alone"
    kind = f"stuck for more than {SECONDS:.0f} s" if stuck else f"crash, code {ended.code}"
    note = {"short": f"{kind}, {how} ({seconds:.0f} s): {place.name}", "full": ended.log}
    place.with_suffix(".json").write_text(json.dumps(note))
