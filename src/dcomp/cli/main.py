"""dcomp on the command line: the commands, and the one place where errors become a line.

Exit codes: 0 fine, 1 failed (a file, the data, the numbers), 2 wrong usage, 130 interrupted.
`DCOMP_TRACEBACK=1` shows where an error comes from.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer

from dcomp.cli.commands import Commands
from dcomp.cli.common import INTERRUPTED, say
from dcomp.cli.wording import in_shell_words, speak_for
from dcomp.errors import DcompError, InvalidParameter, UnsupportedCombination

app = typer.Typer(cls=Commands, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.callback(invoke_without_command=True)
def dcomp(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Discrete component analysis: the hidden components behind tables of counts.

    \b
    Example:
      dcomp demo
      dcomp fit corpus.jsonl -k 50 -o fit.dcomp
      dcomp transform fit.dcomp new.jsonl -o scores.csv

    Exit codes: 0 fine, 1 failed, 2 wrong usage, 130 interrupted.
    """
    if version:
        from dcomp import __version__

        print(f"dcomp {__version__}")
        raise typer.Exit(0)
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(2)
    group: Any = context.command
    speak_for(lambda name: group.get_command(context, name), context.invoked_subcommand)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; give the exit code."""
    _prepare_streams()
    if arguments is None:  # this process is ours
        _leave_nothing_when_ended()
    try:
        words = None if arguments is None else list(arguments)
        code = app(args=words, prog_name="dcomp", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except SystemExit as end:  # how typer leaves a broken pipe
        _forget_stdout()
        return end.code if isinstance(end.code, int) else 1
    except BrokenPipeError:  # the reader has seen enough
        _forget_stdout()
        return 1
    except Exception as error:
        if os.environ.get("DCOMP_TRACEBACK"):
            raise
        say(f"error: {explain(error)}")
        if isinstance(error, OSError):
            _forget_stdout()
        return exit_code(error)


def _leave_nothing_when_ended() -> None:
    """Go on the ways of Python where others would end us at once, so that temporary files go, too.
    Exit codes are those of shells."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _leave)


def _leave(number: int, frame: object) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)  # who is in a hurry sends it twice
    raise SystemExit(128 + number)


def _prepare_streams() -> None:
    """Give every command streams to write to, and a terminal with a width."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever has started us: nobody will look
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 until the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a word that the terminal cannot show is no error
            stream.reconfigure(errors="backslashreplace")
    if os.environ.get("COLUMNS", "").strip("0") == "":
        os.environ.pop("COLUMNS", None)  # some terminals say 0 for what they do not know


def explain(error: Exception) -> str:
    """One line that says what is wrong.

    >>> explain(PermissionError(13, "Permission denied", "fit.dcomp"))
    'fit.dcomp: Permission denied'
    """
    usage = getattr(error, "format_message", None)  # typer's own errors
    if usage is not None:
        place = getattr(getattr(error, "ctx", None), "command_path", "dcomp")
        text = f"{usage()} (see {place} --help)"
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    elif isinstance(error, DcompError):
        text = in_shell_words(error)
    elif isinstance(error, OSError):
        text = str(error)
    elif isinstance(error, MemoryError):
        text = "not enough memory"
    else:
        text = f"{type(error).__name__}: {error} (unexpected; DCOMP_TRACEBACK=1 shows where)"
    return " ".join(text.split())


def exit_code(error: Exception) -> int:
    """2 for what was typed, 1 for files, data and numbers."""
    typed = isinstance(error, InvalidParameter | UnsupportedCombination)
    return 2 if typed else int(getattr(error, "exit_code", 1))


def _forget_stdout() -> None:
    """Let nothing that is still in the buffer fail again when the interpreter ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
