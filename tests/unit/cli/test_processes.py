"""Whole processes: pipes, signals, terminals."""

import os
import pty
import re
import signal
import subprocess
import sys
import time

import pytest

import dcomp

ESCAPE = "\x1b"
COMMAND = [sys.executable, "-m", "dcomp.cli.main"]


def test_from_file_to_scores(shell, corpus):
    fit = shell("fit", corpus, "-k", 2, "-o", "fit.dcomp")
    assert (fit.code, fit.err) == (0, "")
    assert ESCAPE not in fit.out
    scores = shell("transform", "fit.dcomp", corpus)
    assert scores.out.count("\n") == 31


def test_errors_of_a_process(shell):
    done = shell("fit", "absent.csv")
    assert (done.code, done.out) == (1, "")
    assert done.err == "dcomp: error: no such file: absent.csv\n"


def test_a_reader_that_leaves_early(fitted, tmp_path, environment):
    many = tmp_path / "many.csv"
    rows = [f"d{i},1,2,3" for i in range(20000)]
    many.write_text("\n".join(["id,cat,dog,cow", *rows]) + "\n")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [*COMMAND, "transform", fitted, many]
    with subprocess.Popen(command, env=environment, **pipes) as process:
        assert process.stdout.readline().startswith(b"document,")
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk(environment):
    with open("/dev/full", "w") as full:
        pipes = {"stdout": full, "stderr": subprocess.PIPE, "text": True}
        done = subprocess.run([*COMMAND, "models"], env=environment, check=False, **pipes)
    assert done.returncode == 1
    assert done.stderr == "dcomp: error: No space left on device\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_streams_that_are_closed(corpus, tmp_path, environment, closed):
    command = f'"$@" {closed}'
    words = ["sh", "-c", command, "sh", *COMMAND, "fit", str(corpus), "-k", "2"]
    done = subprocess.run(
        [*words, "-o", "closed.dcomp"], cwd=tmp_path, env=environment, check=False
    )
    assert done.returncode == 0
    assert dcomp.load(tmp_path / "closed.dcomp").n_components == 2


def test_standard_input_that_is_closed(environment, tmp_path):
    words = ["sh", "-c", '"$@" <&-', "sh", *COMMAND, "fit", "-", "-k", "2"]
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr == "dcomp: error: standard input: it is closed\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_process_that_is_ended_leaves_nothing(environment, tmp_path, number):
    """Standard input is kept in a file while it comes, and may be much."""
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("whoever runs the tests has it ignored")
    environment = environment | {"TMPDIR": str(tmp_path)}
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [*COMMAND, "fit", "-", "-k", "2", "-o", "fit.dcomp"]
    with subprocess.Popen(command, env=environment, cwd=tmp_path, **pipes) as process:
        process.stdin.write(b"cat dog\n" * 1000)
        process.stdin.flush()
        end = time.monotonic() + 60
        while not list(tmp_path.glob("dcomp-*/stdin")):
            assert time.monotonic() < end
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait(60) == 128 + number
        assert process.stderr.read() == b""
    assert list(tmp_path.iterdir()) == []


def test_a_fit_that_is_ended_is_ended_at_once(environment, tmp_path, corpus):
    """In the midst of native work, too."""
    command = [*COMMAND, "fit", str(corpus), "-k", "300", "--algorithm", "collapsed-gibbs"]
    command += ["--max-iter", "1000000", "-o", "fit.dcomp"]
    with subprocess.Popen(
        command, env=environment, cwd=tmp_path, stderr=subprocess.PIPE
    ) as process:
        time.sleep(5)
        start = time.monotonic()
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM
        assert time.monotonic() - start < 10
    assert not list(tmp_path.glob("*.dcomp"))
    assert not list(tmp_path.glob(".dcomp*"))


def test_a_terminal_that_does_not_know_its_width(fitted, environment):
    known, unknown = (
        subprocess.run(
            [*COMMAND, "show", fitted], env=environment | columns, capture_output=True, check=True
        ).stdout
        for columns in ({"COLUMNS": "80"}, {"COLUMNS": "0"})
    )
    assert b"cat" in known
    assert b"cat" in unknown


def until(terminal, pattern, seconds=60):
    """Read from a terminal until the pattern shows."""
    seen, end = b"", time.monotonic() + seconds
    while not re.search(pattern, seen):
        assert time.monotonic() < end, seen
        seen += os.read(terminal, 65536)


def test_ctrl_c_keeps_the_fit(shell, corpus, tmp_path, environment):
    """The bar on the terminal is the sign that sweeps run; then SIGINT comes."""
    terminal, end = pty.openpty()
    words = ["fit", corpus, "-k", "2", "--tol", "0", "--max-iter", "1000000000", "-o", "kept.dcomp"]
    words += ["-j", "1"]
    process = subprocess.Popen(
        [*COMMAND, *words],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=end,
        env={**environment, "TERM": "xterm", "COLUMNS": "120"},
    )
    try:
        os.close(end)
        until(terminal, rb"sweep [1-9]")
        process.send_signal(signal.SIGINT)
        until(terminal, rb"to go on: dcomp fit \S+corpus.csv --resume kept.dcomp [^\n]*--jobs 1")
        assert process.wait(60) == 130
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
    fit = dcomp.load(tmp_path / "kept.dcomp")
    assert fit.reason == "interrupted"
    assert len(fit.history) == fit.n_sweeps
    more = str(fit.n_sweeps + 5)
    went_on = shell("fit", corpus, "--resume", "kept.dcomp", "--max-iter", more, "--tol", 0)
    assert went_on.code == 0
    assert dcomp.load(tmp_path / "kept.dcomp").n_sweeps == fit.n_sweeps + 5
